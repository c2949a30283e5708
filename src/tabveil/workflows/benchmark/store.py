"""Where a benchmark keeps what it found: one file a cell, at an address made of all that decides it.

A cell is written at one stroke the moment it is known, so whatever ends a run loses nothing that was done.
What differs between equal runs, the time a cell took, stands in a file beside it: the cells of two runs of
one study are equal to the last digit. Releases that took long to make are kept, too; they may hold rows of
real people, and only their owner can read them.
"""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.result import plain
from tabveil.core.storage.files import OWNER_FOLDER, replacing, write_text
from tabveil.core.table import Schema, Table
from tabveil.errors import ParameterError
from tabveil.protocols import Release
from tabveil.workflows.benchmark.plan import Place, Plan
from tabveil.workflows.benchmark.trials import Answer, Cell

PLAN = "plan.json"
_CELLS, _COSTS, _FAILURES, _RELEASES = "cells", "costs", "failures", "releases"


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one cell of a plan came to."""

    place: Place
    answer: Answer
    cpu_seconds: float | None


@dataclass(frozen=True)
class Store:
    """A folder of cells; several processes, on several machines, may write into it at once."""

    folder: Path

    def prepare(self) -> None:
        """Make the folders."""
        for name in (_CELLS, _COSTS, _FAILURES, _RELEASES):
            (self.folder / name).mkdir(parents=True, exist_ok=True)
        (self.folder / _RELEASES).chmod(OWNER_FOLDER)

    def write_plan(self, plan: Plan) -> None:
        """Keep what the study is, for the report."""
        write_text(self.folder / PLAN, json.dumps(plan.to_json(), ensure_ascii=False) + "\n")

    def plan(self) -> Plan:
        """Return what the latest run was asked for."""
        path = self.folder / PLAN
        try:
            return Plan.from_json(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise ParameterError(
                self.folder, "holds no benchmark; run one with 'tabveil benchmark run'."
            ) from None
        except (OSError, ValueError):
            raise ParameterError(
                path, "is not a plan that this version wrote; run the study again."
            ) from None

    def done(self) -> set[str]:
        """Return the addresses of all cells that are known."""
        return _keys(self.folder / _CELLS)

    def failed(self) -> set[str]:
        """Return the addresses of all cells that failed."""
        return _keys(self.folder / _FAILURES)

    def write(self, cell: Cell, answer: Answer, cpu_seconds: float) -> None:
        """Keep a cell: first what it cost, so that no cell is without it."""
        key = cell.key
        write_text(self.folder / _COSTS / f"{key}.json", f'{{"cpu_seconds": {cpu_seconds:.6f}}}\n')
        data = {"trial": cell.trial.description, "metric": cell.name, "answer": answer.to_json()}
        text = json.dumps(plain(data), sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_text(self.folder / _CELLS / f"{key}.json", text + "\n")
        (self.folder / _FAILURES / f"{key}.json").unlink(missing_ok=True)

    def write_failure(self, key: str, why: str) -> None:
        """Keep why a cell has no answer."""
        write_text(self.folder / _FAILURES / f"{key}.json", json.dumps({"why": why}) + "\n")

    def failure(self, key: str) -> str | None:
        """Return why a cell failed, if it did."""
        data = _read(self.folder / _FAILURES / f"{key}.json")
        return None if data is None else str(data.get("why", "unknown"))

    def record(self, place: Place) -> Record | None:
        """Return what a cell came to; None if it is not known."""
        data = _read(self.folder / _CELLS / f"{place.key}.json")
        if data is None:
            return None
        cost = _read(self.folder / _COSTS / f"{place.key}.json") or {}
        try:
            answer = Answer.from_json(data["answer"])
            seconds = cost.get("cpu_seconds")
            return Record(place=place, answer=answer, cpu_seconds=None if seconds is None else float(seconds))
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                self.folder, f"the cell {place.key} is not one that this version wrote; delete its file."
            ) from None

    def write_release(self, key: str, release: Release) -> None:
        """Keep a release that took long to make."""
        facts = json.dumps(dict(release.facts))
        with replacing(self.folder / _RELEASES / f"{key}.npz", guarded=True) as temporary:
            np.savez_compressed(temporary, values=release.rows.values, facts=np.array(facts))

    def release(self, key: str, schema: Schema) -> Release | None:
        """Return a release that was kept; one that cannot be read is made again."""
        path = self.folder / _RELEASES / f"{key}.npz"
        try:
            with np.load(path, allow_pickle=False) as arrays:
                rows = Table(schema=schema, values=arrays["values"])
                return Release(rows=rows, facts=json.loads(str(arrays["facts"])))
        except (OSError, ValueError, KeyError, zipfile.BadZipFile):
            return None


def _keys(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("[!.]*.json")}


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError):
        raise ParameterError(path, "cannot be read; delete it, and run the study again.") from None
    if not isinstance(data, Mapping):
        raise ParameterError(path, "cannot be read; delete it, and run the study again.")
    return data
