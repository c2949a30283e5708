"""What every fitted model is: a schema, a way to sample, and a folder to live in.

A model is stored as ``model.json`` (who made it, with which settings, its schema, its state) and
``arrays.npz``, never as a pickle: opening one must not run anybody's code. Both hold what the generator
learned from real rows: guard them like the data, unless the generator was private.
"""

import json
import os
import shutil
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.errors import ParameterError, TabveilError
from tabveil.generators.privacy import Privacy
from tabveil.networks import Epoch
from tabveil.result import params_of, plain
from tabveil.table import Schema, Table
from tabveil.version import __version__

FORMAT = 1
MODEL, ARRAYS = "model.json", "arrays.npz"

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel(ABC):
    """A fitted model; ``made_by`` is the synthesizer with its settings."""

    made_by: Any
    schema: Schema
    history: tuple[Epoch, ...] = ()
    privacy: Privacy | None = None
    notes: tuple[str, ...] = field(default=())

    def sample(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows; any number, also more than were learned from."""
        if n_rows < 1:
            raise ParameterError(f"{self.made_by.name}: rows must be >= 1, got {n_rows}.")
        return self.draw(n_rows, rng=rng)

    @abstractmethod
    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw this many rows."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return what was learned: plain data and arrays."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model; ``shared`` are the fields every model has."""

    def save(self, folder: str | Path) -> None:
        """Write the model into a new folder, whole or not at all."""
        target = Path(folder)
        if target.exists():
            raise ParameterError(f"{target} is already there; choose another folder.")
        state, arrays = self.state()
        about = {
            "tabveil_model": FORMAT,
            "version": __version__,
            "generator": self.made_by.name,
            "params": plain(params_of(self.made_by)),
            "schema": self.schema.to_json(),
            "history": [epoch.to_json() for epoch in self.history],
            "privacy": None if self.privacy is None else self.privacy.to_json(),
            "notes": list(self.notes),
            "state": state,
        }
        temporary = target.with_name(f".{target.name}.{os.getpid()}")
        temporary.mkdir(parents=True)
        try:
            (temporary / MODEL).write_text(json.dumps(about, indent=1, allow_nan=False), encoding="utf-8")
            np.savez(temporary / ARRAYS, allow_pickle=False, **arrays)
            temporary.rename(target)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredModel:
    """What stands in a model's folder, checked but not yet a model."""

    generator: str
    params: dict[str, Any]
    shared: dict[str, Any]
    state: dict[str, Any]
    arrays: Arrays


def read_folder(folder: str | Path) -> StoredModel:
    """Read what :meth:`Fitted.save` wrote."""
    place = Path(folder)
    try:
        about = json.loads((place / MODEL).read_text(encoding="utf-8"))
        if about["tabveil_model"] != FORMAT:
            raise ParameterError(
                f"{place}: stored by tabveil {about['version']} in a form this version does not read; "
                "fit the model again."
            )
        with np.load(place / ARRAYS, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        return StoredModel(
            generator=about["generator"],
            params=about["params"],
            shared={
                "schema": Schema.from_json(about["schema"]),
                "history": tuple(Epoch(**item) for item in about["history"]),
                "privacy": None if about["privacy"] is None else Privacy.from_json(about["privacy"]),
                "notes": tuple(about["notes"]),
            },
            state=about["state"],
            arrays=arrays,
        )
    except FileNotFoundError:
        raise ParameterError(f"{place}: there is no model in this folder.") from None
    except TabveilError:
        raise
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile):
        raise ParameterError(f"{place}: the model cannot be read; fit it again.") from None


def require_rows(generator: str, table: Table, n_rows: int = 1) -> None:
    """Refuse a table with too few rows to learn from."""
    if len(table) < n_rows:
        few = f"{n_rows} row{'s'[: n_rows > 1]}"
        raise ParameterError(f"{generator}: needs at least {few} to learn from, got {len(table)}.")
