"""What is kept of a study: its plan, its cells, what they cost, why some failed, and releases.

What differs between equal runs, the time a cell took, stands in a file beside it: the cells of two runs of
one study are equal to the last digit. Releases that took long to make are kept, too; they may hold rows of
real people, and only their owner can read them.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from tabveil.core.storage.arrays import Arrays, Expected, require
from tabveil.core.storage.files import parse_json, read_json, write_text
from tabveil.core.storage.plain import require_plain, to_plain
from tabveil.core.table import LARGEST, Categorical, Floats, Schema, Table, holds
from tabveil.core.wording import clean
from tabveil.errors import ParameterError
from tabveil.protocols import Release
from tabveil.workflows.benchmark.plan import CellPlace, StudyPlan
from tabveil.workflows.benchmark.trials import MetricAnswer, MetricCell, address_of
from tabveil.workflows.cells.store import (
    MADE_AGAIN,
    Damaged,
    GuardedFolder,
    JsonFolder,
    Losses,
    digest,
    is_address,
    naming,
)

PLAN = "plan.json"
_LONGEST_REASON = 500
Kept = Literal["cells", "costs", "failures"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one cell of a plan came to."""

    place: CellPlace
    answer: MetricAnswer
    cpu_seconds: float | None


@dataclass(frozen=True)
class Store:
    """A folder of cells, of what they cost, why some failed, and of releases."""

    folder: Path

    def prepare(self) -> None:
        """Make the folders."""
        for kept in get_args(Kept):
            self._folder(kept).folder.mkdir(parents=True, exist_ok=True)
        self._releases.prepare()

    def write_plan(self, plan: StudyPlan) -> None:
        """Keep what the study is, for the report."""
        write_text(self.folder / PLAN, json.dumps(plan.to_json(), ensure_ascii=False) + "\n")

    def plan(self) -> StudyPlan:
        """Return what the latest run was asked for."""
        path = self.folder / PLAN
        try:
            with naming(path):
                plan = require_plain(StudyPlan, read_json(path), "plan")
                require(all(is_address(item.key) for item in plan.places), "a cell has no address")
                return plan
        except FileNotFoundError:
            raise ParameterError(
                f"{self.folder}: holds no benchmark; run one with 'tabveil benchmark run'."
            ) from None
        except Damaged as damage:
            raise ParameterError(
                f"{damage}: it is not a plan that this version wrote; run the study again."
            ) from None

    def done(self) -> set[str]:
        """Return the addresses of all cells that are there, whatever they hold."""
        return self._folder("cells").keys()

    def failed(self) -> set[str]:
        """Return the addresses of all cells that failed; where nobody can read why, they are run again."""
        losses = Losses()
        keys = self._folder("failures").keys()
        found = {key for key in keys if losses.read(partial(self.failure, key)) is not None}
        losses.tell("its cell is run again")
        return found

    def known(self, cells: Mapping[str, MetricCell]) -> set[str]:
        """Return the addresses of those that need not be run; what cannot be read is named, and is run."""
        losses, done = Losses(), self.done()
        found = {key for key in cells if key in done and losses.read(partial(self._is_known, cells[key]))}
        losses.tell(MADE_AGAIN)
        return found

    def _is_known(self, cell: MetricCell) -> bool:
        self._cost(cell.key)
        answer = self._folder("cells").read(cell.key, partial(_answer, cell.key, cell.trial.description))
        return answer is not None

    def write(self, cell: MetricCell, answer: MetricAnswer, cpu_seconds: float) -> None:
        """Keep a cell: first what it cost, so that no cell is without it."""
        self._folder("costs").write(cell.key, {"cpu_seconds": round(cpu_seconds, 6)})
        told = {"trial": cell.trial.description, "asked": cell.asked_for, "metric": cell.name}
        self._folder("cells").write(cell.key, {**told, "answer": answer.to_json()})
        self._folder("failures").drop(cell.key)

    def write_failure(self, key: str, why: str) -> None:
        """Keep why a cell has no answer."""
        self._folder("failures").write(key, {"why": why})

    def failure(self, key: str) -> str | None:
        """Return why a cell failed, if it did."""
        return self._folder("failures").read(key, _reason)

    def record(self, place: CellPlace) -> Record | None:
        """Return what a cell came to; None if it is not known."""
        trial = {name: getattr(place, name) for name in ("level", "modifier_level", "repeat")}
        answer = self._folder("cells").read(place.key, partial(_answer, place.key, trial))
        if answer is None:
            return None
        return Record(place=place, answer=answer, cpu_seconds=self._cost(place.key))

    def _cost(self, key: str) -> float | None:
        return self._folder("costs").read(key, _seconds)

    def write_release(self, key: str, release: Release) -> None:
        """Keep a release that took long to make."""
        facts = json.dumps(to_plain(release.facts), sort_keys=True).encode()
        values = np.ascontiguousarray(release.rows.values)
        self._releases.write(key, values=values, facts=np.frombuffer(facts, dtype=np.uint8))

    def release(self, key: str, schema: Schema) -> Release | None:
        """Return a release that was kept."""
        kept = self._kept_release(key, len(schema))
        if kept is None:
            return None
        with naming(self._releases.path(key)):
            require(_codes_are_of(schema, kept["values"]), "its values are none of the columns")
            facts = require_plain(dict[str, float], parse_json(kept["facts"].tobytes(), "facts"), "facts")
            return Release(rows=Table(schema=schema, values=kept["values"]), facts=facts)

    def drop_damaged_releases(self, keys: Iterable[str]) -> None:
        """Name the releases that cannot be read, before others need them; they will be made again."""
        losses = Losses()
        for key in dict.fromkeys(keys):
            told = len(losses.told)
            losses.read(partial(self._kept_release, key))
            if len(losses.told) > told:
                with suppress(OSError):  # a folder stays: it may be somebody's
                    self._releases.path(key).unlink(missing_ok=True)
        losses.tell(MADE_AGAIN)

    def _kept_release(self, key: str, n_columns: int | None = None) -> Arrays | None:
        rows = Expected(dtype=np.float64, shape=(None, n_columns), low=-LARGEST, high=LARGEST, missing=True)
        facts = Expected(dtype=np.uint8, shape=(None,))
        return self._releases.read(key, {"values": rows, "facts": facts})

    @property
    def _releases(self) -> GuardedFolder:
        return GuardedFolder(folder=self.folder / "releases")

    def _folder(self, kept: Kept) -> JsonFolder:
        return JsonFolder(folder=self.folder / kept)


def _answer(key: str, trial: Mapping[str, Any], told: Mapping[str, Any]) -> MetricAnswer:
    """Return the answer of a cell, which must be one about a trial like this."""
    if "asked" in told:  # earlier versions did not store it
        belongs = address_of(digest(told["trial"]), told["asked"]) == key
        require(belongs, "it belongs to another address")
    require(all(told["trial"][name] == value for name, value in trial.items()), "it is of another trial")
    require(isinstance(told["metric"], str), "it does not say which metric was asked")
    return MetricAnswer.stored(told["answer"])


def _seconds(told: Mapping[str, Any]) -> float:
    seconds = require_plain(float, told["cpu_seconds"], "cpu_seconds")
    require(seconds >= 0, "nothing takes less than no time")
    return seconds


def _reason(told: Mapping[str, Any]) -> str:
    return clean(require_plain(str, told["why"], "why"), _LONGEST_REASON)


def _codes_are_of(schema: Schema, values: Floats) -> bool:
    """Whether every label is one of its column; numbers may lie anywhere, as those of some risk models do."""
    labels = (item for item in zip(schema.columns, values.T, strict=True) if isinstance(item[0], Categorical))
    return all(holds(column, cells) for column, cells in labels)
