"""Any model, ours or a user's: what it must be, what it may tell, and how it is stored and opened again.

Everything here knows generators and models by their protocols only. A stored model's folder says by name who
made it, and that synthesizer opens it: ours write the name into their own ``model.json``, beside the files of
any other model it is put into ``generator.json``.
"""

import json
import os
from abc import abstractmethod
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.check import quoted
from tabveil.core.settings.registry import Registry, completed, describe
from tabveil.core.storage.arrays import Arrays, require
from tabveil.core.storage.files import Unreadable, new_folder, opening, read_arrays, read_json, require_format
from tabveil.core.storage.plain import FORBID_OTHERS, rebuild, require_plain, to_plain
from tabveil.core.table import Schema, Table
from tabveil.engines.networks import Epoch
from tabveil.errors import ParameterError
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators.privacy import Privacy, require_own
from tabveil.version import __version__

GENERATORS: Registry[Synthesizer] = Registry("generator", (), Synthesizer)
"""Every registered synthesizer by its name; one of your own joins with ``GENERATORS.add(Mine)``."""

FORMAT, FORMAT_KEY = 1, "tabveil_model"
MODEL, MAKER = "model.json", "generator.json"


@dataclass(frozen=True, kw_only=True)
class Account:
    """What a model tells about itself. Nothing of it is required; here stands what its absence means."""

    notes: tuple[str, ...] = ()
    privacy: Privacy | None = None
    history: tuple[Epoch, ...] = ()

    @classmethod
    def of(cls, model: Model) -> Self:
        """Ask a model."""
        completed(model, Model)
        notes, privacy = model.notes, model.privacy
        if not (privacy is None or isinstance(privacy, Privacy)):
            raise ParameterError(model.name, f"privacy must be a Privacy, got {type(privacy).__name__}.")
        return cls(
            notes=(notes,) if isinstance(notes, str) else tuple(notes),
            privacy=privacy,
            history=tuple(model.history),
        )


def require_synthesizer(thing: Any) -> Synthesizer:  # noqa: ANN401 - it is what is found out
    """Return it if it is a synthesizer, or say what it lacks."""
    if isinstance(thing, type):
        raise ParameterError("generator", f"expected an object, got the class {thing.__name__}.")
    owner = f"generator {type(thing).__name__}"
    if not isinstance(getattr(thing, "name", None), str):
        raise ParameterError(owner, "must have a name, such as name = 'my_own'.")
    _require_methods(owner, thing, ("fit", "load"))
    if GENERATORS.get(thing.name, type(thing)) is not type(thing):
        raise ParameterError(owner, f"there is a generator called {thing.name!r} already; rename it.")
    return completed(thing, Synthesizer)  # type: ignore[no-any-return]


def require_model(name: str, thing: Any) -> Model:  # noqa: ANN401 - it is what is found out
    """Return it if it is a model that the synthesizer of this name made, or say what it lacks."""
    owner = f"{name}: the model {type(thing).__name__}"
    _require_methods(owner, thing, ("sample", "save"))
    if not isinstance(getattr(thing, "schema", None), Schema):
        raise ParameterError(owner, "must have the schema of the table it learned from.")
    if getattr(thing, "name", None) != name:
        raise ParameterError(owner, f"must have the name of its generator, {name!r}.")
    return completed(thing, Model)  # type: ignore[no-any-return]


def _require_methods(owner: str, thing: object, names: tuple[str, ...]) -> None:
    for name in names:
        if not callable(getattr(thing, name, None)):
            raise ParameterError(owner, f"must have a method {name}; see tabveil.protocols.")


def save_model(model: Model, folder: Path) -> None:
    """Store a model in a new folder, whole or not at all, such that :func:`load_model` opens it."""
    with new_folder(folder) as place:
        model.save(place)
        if not place.is_dir():
            raise ParameterError(model.name, "save must make the folder it is given.")
        if (place / MAKER).exists():
            raise ParameterError(model.name, f"save must not write {MAKER}, which says who made it.")
        try:
            said = _maker(place)
        except (OSError, ValueError):  # a user's own files, of whatever form
            said = None
        if said != model.name:
            about = {FORMAT_KEY: FORMAT, "version": __version__, "generator": model.name}
            (place / MAKER).write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")


def load_model(folder: str | Path) -> Model:
    """Read a model that was saved, to draw more rows from it."""
    place, depth = Path(folder), _depth.get()
    with opening(place):
        require(depth <= MOST_DEEP, "parts lie too deep in each other")
        name = _maker(place)
        if name not in GENERATORS:
            raise ParameterError(
                f"the model is by {name!r}, which is no generator here; one of your own joins with "
                "tabveil.synthesis.generators.GENERATORS.add."
            )
    token = _depth.set(depth + 1)
    try:
        return require_model(name, GENERATORS[name].load(place))
    finally:
        _depth.reset(token)


MOST_DEEP = 8
"""Levels of models that are parts of models; a pipeline and its generator are one."""
_depth: ContextVar[int] = ContextVar("tabveil_model_depth", default=0)


def _maker(place: Path) -> str:
    """Return the name of the generator that a folder says it is from."""
    file = MAKER if os.path.lexists(place / MAKER) else MODEL
    about = read_json(place / file)
    require_format(about, FORMAT_KEY, FORMAT)
    name = about.get("generator")
    if not isinstance(name, str):
        raise Unreadable(f"{file} does not say who made the model")
    return name


ARRAYS, PARTS = "arrays.npz", "parts"


@dataclass(frozen=True, kw_only=True, eq=False)
class FittedModel(Model):
    """A fitted model; ``made_by`` is the synthesizer with its settings.

    ``parts`` are models that it is made of, of any class, each under one of ``part_names``, which are of
    letters; they are stored and opened with it.
    """

    part_names: ClassVar[tuple[str, ...]] = ()

    made_by: Any
    schema: Schema
    parts: Mapping[str, Model] = field(default_factory=dict)
    history: tuple[Epoch, ...] = ()
    privacy: Privacy | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        for name in self.parts:
            if not name.isidentifier():
                raise ParameterError(self.name, f"a part's name must be letters, got {name!r}.")
            if name not in self.part_names:
                raise ParameterError(self.name, f"{name!r} is not among the part_names of its class.")

    @property
    def name(self) -> str:
        """The name of the synthesizer."""
        return str(self.made_by.name)

    def sample(self, n_rows: int, *, rng: Generator) -> Table:
        """Draw rows; any number, also more than were learned from."""
        if n_rows < 1:
            raise ParameterError(self.name, f"rows must be >= 1, got {n_rows}.")
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
        description = to_plain(describe(self.made_by))
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


@dataclass(frozen=True, kw_only=True)
class PlainState:
    """What is stored beside arrays, as plain data: these fields and no others."""

    __pydantic_config__ = FORBID_OTHERS


class Maker(Synthesizer):
    """A synthesizer whose models are fitted models of one class, and opens them again.

    Settings of several generators mean the same in all of them:

    - ``epsilon``, ``delta``: the promise, (ε, δ)-differential privacy. Smaller is stronger. δ should be far
      below one over the number of people. If a person may have several rows, the promise to that person is
      weaker. Noise is drawn (by ``aim`` and ``dpctgan`` in floating point) by a generator that is made for
      repeatable experiments, not for secrecy: keep the seed to yourself. An interrupted training has spent
      less than it states.
    - ``public``: the columns whose labels or bounds were declared, not read from the data. The promise rests
      on them: of all other columns, the labels and bounds in the rows drawn are those of real people.
    - ``partly``: what was read of columns of which a part was declared: each name, and then what.
    - ``n_bins``: into how many bins a number's range is cut; its two bounds are counted by themselves.
    - ``dropout``: the share of the network that is switched off at random in training.
    - ``learning_rate``, ``weight_decay``: the size of a step, and how strongly weights are drawn to zero.
    - ``averaging``: the weights that are kept are a running average: this share of it stays at each step. 0
      keeps the last weights.
    - ``smoothing``: learn numbers that fewer than ten rows share as numbers near them, none beyond what ten
      rows reach; without, rows may repeat somebody's number, the largest above all.
    - ``device``: ``"cuda"`` trains and draws on a GPU. The same seed gives the same rows on the same machine;
      another device adds up in another order, and small differences grow.
    """

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
            found = read_json(place / MODEL)
            require_format(found, FORMAT_KEY, FORMAT)
            about = require_plain(_StoredModel, found, MODEL)
            if about.generator != cls.name:
                raise ParameterError(f"the model is by {about.generator}, not by {cls.name}.")
            made_by, schema = rebuild(cls, about.params, GENERATORS), Schema.from_json(about.schema)
            require(len(schema) > 0, f"{MODEL}: the schema has no columns")
            for name in about.parts:
                require(name in cls.model.part_names, f"{MODEL}: {cls.name} stores no part {quoted(name)}")
            require(len(set(about.parts)) == len(about.parts), f"{MODEL}: a part stands there twice")
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
class _StoredModel(PlainState):
    """What stands in ``model.json``, as :meth:`FittedModel.save` wrote it."""

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


def _inside(place: Path, name: str) -> Path:
    """Return the folder of a part, which must stand in that of the model, not behind a link."""
    folder = place / PARTS / name
    with opening(place):
        require(folder.resolve() == place.resolve() / PARTS / name, f"{PARTS}/{name} is a link")
    return folder


def memorized(ratio: float, wanted: float, otherwise: str) -> tuple[str, ...]:
    """Say how far memorizing on purpose went, and ``otherwise`` why no further."""
    reached = f"Memorized on purpose: held-out loss {ratio:.3f} times its minimum, {wanted:g} asked for."
    return (reached,) if ratio >= wanted else (reached, otherwise)


def require_rows(generator: str, table: Table, n_rows: int = 1) -> None:
    """Refuse a table with too few rows to learn from."""
    if len(table) < n_rows:
        few = f"{n_rows} row{'s'[: n_rows > 1]}"
        raise ParameterError(generator, f"needs at least {few} to learn from, got {len(table)}.")
