"""Learn a table and draw new rows that look like it, in the kind of table that came in."""

import operator
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabveil import check, frame
from tabveil.errors import ParameterError
from tabveil.frame import Layout, load_table
from tabveil.frame.unused import without_unused_labels
from tabveil.generators import GENERATORS, FittedModel
from tabveil.protocols import Synthesizer
from tabveil.rng import stream
from tabveil.synthesizing import storage as storing
from tabveil.synthesizing.choice import choose, is_private, settings_of, with_public
from tabveil.table import Table
from tabveil.workers import Listener, working

__all__ = [
    "GENERATORS",
    "Drawn",
    "Learned",
    "choose",
    "learn",
    "sample",
    "settings_of",
    "stored",
    "synthesize",
]

MOST_ROWS = 1_000_000_000
_EXTRA = {"torch", "opacus", "dp_accounting"}


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """Synthetic rows and the form they leave in."""

    table: Table
    layout: Layout

    def native(self) -> Any:  # noqa: ANN401 - whichever library the user works with
        """Return the rows as pandas, polars or Arrow, as the data came (Arrow where they were a file)."""
        return frame.to_native(self.table, self.layout)

    def write(self, path: str | Path) -> None:
        """Write the rows to a file of the kind its suffix says, whole or not at all."""
        frame.write(self.table, self.layout, path)


@dataclass(frozen=True, kw_only=True, eq=False)
class Learned:
    """A fitted model and the form of the data it learned from.

    ``declared`` names the columns whose domain a schema gave; of all others, labels and ranges were read from
    the rows.
    """

    model: FittedModel
    layout: Layout
    declared: frozenset[str]
    notes: tuple[str, ...] = ()  # about reading the data
    n_rows: int | None = None  # learned from; None once stored

    def draw(self, rows: int, *, seed: int = 0) -> Drawn:
        """Draw rows; the same seed draws the same."""
        rows, seed = _rows(rows), _seed(seed)
        table = self.model.sample(rows, rng=stream(seed, "draw", self.model.made_by.name))
        table, layout = without_unused_labels(table, self.layout, keep=self.declared)
        return Drawn(table=table, layout=layout)

    def save(self, folder: str | Path) -> None:
        """Store the model and the form of its rows in a new folder, whole or not at all."""
        storing.save(Path(folder), self.model, self.layout, self.declared)


def synthesize(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    generator: str | Synthesizer = "trees",
    rows: int | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    save: str | Path | None = None,
    threads: int | None = None,
    progress: Listener | None = None,
) -> Any:  # noqa: ANN401 - the kind of table that came in
    """Learn a table and return new rows that look like it: the same columns, types and order.

    A synthetic table can still betray the people it was learned from: audit it before it leaves the house.

    Parameters
    ----------
    data
        The real rows: a path (CSV, Parquet, Feather) or a pandas, polars or Arrow table. New rows come back
        as the same kind of table; those of a file as an Arrow table.
    generator
        A name (``tabveil synthesize --help`` lists them) or a synthesizer object.
    rows
        How many rows to draw; None draws as many as there are in ``data``.
    settings
        The generator's settings by name; what is left out keeps its default.
    seed
        The same seed gives the same rows. None is 0; but private generators are then fitted with a secret
        seed, because their promise holds only while nobody can guess it.
    schema
        A file or mapping that overrides the types found and declares labels and bounds. Private generators
        count what is declared as public; everything else they read from the rows, outside their promise.
    missing
        Texts that stand for a missing value, such as ``"?"``.
    save
        A new folder for the fitted model, to draw more rows later with :func:`sample`. Guard it like the
        data.
    threads
        How many threads to use; None takes all cores.
    progress
        Told what is being done and which share of the training is complete.

    Examples
    --------
    >>> from tabveil.datasets import hospital
    >>> people = hospital(50, seed=1)
    >>> rows = synthesize(people, generator="marginals", rows=3)
    >>> list(rows.columns) == list(people.columns), len(rows)
    (True, 3)
    """
    rows = None if rows is None else _rows(rows)
    if save is not None:
        storing.refuse_existing(Path(save))
    with working(threads=threads):
        learned = learn(
            data,
            generator=generator,
            settings=settings,
            seed=seed,
            schema=schema,
            missing=missing,
            progress=progress,
        )
        if save is not None:
            learned.save(save)
        assert learned.n_rows is not None, "just learned"
        return learned.draw(learned.n_rows if rows is None else rows, seed=seed or 0).native()


def learn(
    data: Any,  # noqa: ANN401 - a path or a table of any dataframe library
    *,
    generator: str | Synthesizer = "trees",
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    schema: Any = None,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str] = (),
    threads: int | None = None,
    progress: Listener | None = None,
) -> Learned:
    """Fit a generator; see :func:`synthesize`. What is returned can be drawn from, stored, and asked."""
    synthesizer = choose(generator, settings)
    fit_seed = _fit_seed(synthesizer, seed)
    if progress:
        progress("reading the table", 0.0)
    with working(threads=threads):
        loaded = load_table(data, schema=schema, missing=missing)
        declared = [name for name in loaded.table.schema.names if name in loaded.declared]
        synthesizer = with_public(synthesizer, declared)
        model = _fit(synthesizer, loaded.table, fit_seed, progress)
    return Learned(
        model=model,
        layout=loaded.layout,
        declared=loaded.declared,
        notes=loaded.notes,
        n_rows=len(loaded.table),
    )


def stored(folder: str | Path) -> Learned:
    """Open what :meth:`Learned.save` wrote."""
    opened = storing.open_folder(Path(folder))
    return Learned(model=opened.model, layout=opened.layout, declared=opened.declared)


def sample(folder: str | Path, rows: int, *, seed: int = 0) -> Any:  # noqa: ANN401 - an Arrow table
    """Draw rows from a stored model, as an Arrow table.

    The seed that the model was fitted with draws the same rows again; another one draws fresh rows.
    """
    return stored(folder).draw(rows, seed=seed).native()


def _fit(synthesizer: Synthesizer, table: Table, seed: int, progress: Listener | None) -> FittedModel:
    try:
        model = synthesizer.fit(table, rng=stream(seed, "fit", synthesizer.name), progress=progress)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] not in _EXTRA:
            raise
        raise ParameterError(
            f"{synthesizer.name}: {error.name} is not installed; install tabveil[deep] to use this generator."
        ) from None
    assert isinstance(model, FittedModel), "every registered synthesizer makes one"
    return model


def _rows(rows: int) -> int:
    rows = _whole("rows", rows)
    check.at_least("synthesize", "rows", rows, 1)
    if rows > MOST_ROWS:
        raise ParameterError(f"synthesize: rows must be <= {MOST_ROWS:,}, got {rows:,}.")
    return rows


def _fit_seed(synthesizer: Synthesizer, seed: int | None) -> int:
    """Return the seed to fit with; who can guess that of a private generator can take its noise away."""
    if seed is None:
        return secrets.randbits(128) if is_private(synthesizer) else 0
    return _seed(seed)


def _seed(seed: int) -> int:
    seed = _whole("seed", seed)
    check.at_least("synthesize", "seed", seed, 0)
    return seed


def _whole(name: str, value: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        kind = type(value).__name__
        raise ParameterError(f"synthesize: {name} must be a whole number, got {kind}.") from None
