"""What our own synthesizers and their models share: a schema, a way to sample, and a folder to live in.

A model is stored as ``model.json`` (who made it, with which settings, its schema, its state) and
``arrays.npz``, never as a pickle: opening one must not run anybody's code. Models that it is made of stand in
folders of their own below ``parts``. All of it holds what the generator learned from real rows: guard it like
the data, unless the generator was private.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.result import plain
from tabveil.core.settings.registry import describe, rebuild
from tabveil.core.storage.arrays import Arrays, require
from tabveil.core.storage.files import new_folder, opening, read_arrays, read_json, require_format
from tabveil.core.storage.plain import FORBID_OTHERS, require_plain
from tabveil.core.table import Schema, Table
from tabveil.engines.networks import Epoch
from tabveil.errors import ParameterError
from tabveil.protocols import Model
from tabveil.synthesis.generators.models import FORMAT, FORMAT_KEY, GENERATORS, MODEL, load_model, save_model
from tabveil.synthesis.generators.privacy import Privacy, require_own
from tabveil.version import __version__

ARRAYS, PARTS = "arrays.npz", "parts"


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel(ABC):
    """A fitted model; ``made_by`` is the synthesizer with its settings.

    ``parts`` are models that it is made of, of any class, each under a name of letters; they are stored and
    opened with it.
    """

    made_by: Any
    schema: Schema
    parts: Mapping[str, Model] = field(default_factory=dict)
    history: tuple[Epoch, ...] = ()
    privacy: Privacy | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in self.parts:
            if not name.isidentifier():
                raise ParameterError(f"{self.name}: a part's name must be letters, got {name!r}.")

    @property
    def name(self) -> str:
        """The name of the synthesizer."""
        return str(self.made_by.name)

    def sample(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows; any number, also more than were learned from."""
        if n_rows < 1:
            raise ParameterError(f"{self.name}: rows must be >= 1, got {n_rows}.")
        return self.draw(n_rows, rng=rng)

    @abstractmethod
    def draw(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw this many rows."""

    @abstractmethod
    def state(self) -> tuple[dict[str, Any], Arrays]:
        """Return what was learned: plain data and arrays. Parts are not among it."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Arrays, **shared: Any) -> Self:  # noqa: ANN401
        """Rebuild the model; ``shared`` are the fields every model has.

        What comes is as it was read: state and arrays must be required to be what :meth:`state` returns
        (:func:`tabveil.core.storage.plain.require_plain`,
        :func:`tabveil.core.storage.arrays.require_arrays`) before any use.
        """

    def save(self, folder: str | Path) -> None:
        """Write the model into a new folder, whole or not at all."""
        state, arrays = self.state()
        description = plain(describe(self.made_by))
        about = {
            FORMAT_KEY: FORMAT,
            "version": __version__,
            "generator": description["name"],
            "params": description["settings"],
            "schema": self.schema.to_json(),
            "history": [epoch.to_json() for epoch in self.history],
            "privacy": None if self.privacy is None else self.privacy.to_json(),
            "notes": list(self.notes),
            "parts": list(self.parts),
            "state": state,
        }
        with new_folder(Path(folder)) as place:
            place.mkdir()
            (place / MODEL).write_text(json.dumps(about, indent=1, allow_nan=False), encoding="utf-8")
            np.savez(place / ARRAYS, allow_pickle=False, **arrays)
            for name, part in self.parts.items():
                save_model(part, place / PARTS / name)


class Maker:
    """A synthesizer whose models are fitted models of one class, and opens them again."""

    name: ClassVar[str]
    model: ClassVar[type[FittedModel]]

    def promise(self, schema: Schema) -> Privacy | None:
        """Say what these settings promise to the people behind a table of this schema; most: nothing.

        It must follow from settings and schema alone: a stored model whose promise is another is refused.
        """
        del schema
        return None

    @classmethod
    def load(cls, folder: str | Path) -> FittedModel:
        """Open what a model of this synthesizer saved; everything is checked before any of it is used."""
        place = Path(folder)
        with opening(place):
            about = _read(place)
            if about.generator != cls.name:
                raise ParameterError(f"the model is by {about.generator}, not by {cls.name}.")
            made_by, schema = rebuild(cls, about.params, GENERATORS), _schema(about.schema)
            with np.errstate(all="ignore"):  # settings that nobody could have fitted with
                own = made_by.promise(schema)
        require_own(place, cls.name, about.privacy, own)
        parts = {name: load_model(_inside(place, name)) for name in about.parts}
        with opening(place):
            return cls.model.from_state(
                about.state,
                read_arrays(place / ARRAYS),
                made_by=made_by,
                parts=parts,
                schema=schema,
                history=about.history,
                privacy=about.privacy,
                notes=about.notes,
            )


@dataclass(frozen=True, kw_only=True)
class _About:
    """What stands in ``model.json``."""

    __pydantic_config__ = FORBID_OTHERS

    tabveil_model: int
    version: str
    generator: str
    params: dict[str, Any]
    schema: list[Any]
    history: tuple[Epoch, ...]
    privacy: Privacy | None
    notes: tuple[str, ...]
    state: dict[str, Any]
    parts: tuple[str, ...] = ()  # there were none at first


def _read(place: Path) -> _About:
    """Read what :meth:`FittedModel.save` wrote."""
    about = read_json(place / MODEL)
    require_format(about, FORMAT_KEY, FORMAT)
    return require_plain(_About, about, MODEL)


def _schema(data: list[Any]) -> Schema:
    schema = Schema.from_json(data)
    require(len(schema) > 0, f"{MODEL}: the schema has no columns")
    return schema


def _inside(place: Path, name: str) -> Path:
    """Return the folder of a part, which must stand in that of the model, not behind a link."""
    folder = place / PARTS / name
    with opening(place):
        require(name.isidentifier(), f"a part's name must be letters, got {name!r}")
        require(folder.resolve() == place.resolve() / PARTS / name, f"{PARTS}/{name} is a link")
    return folder


def require_rows(generator: str, table: Table, n_rows: int = 1) -> None:
    """Refuse a table with too few rows to learn from."""
    if len(table) < n_rows:
        few = f"{n_rows} row{'s'[: n_rows > 1]}"
        raise ParameterError(f"{generator}: needs at least {few} to learn from, got {len(table)}.")
