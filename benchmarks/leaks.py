"""Tables with a known leak: train rows among released ones, as they are or behind noise (SPEC 5)."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from tabveil.table import Categorical, Column, Floats, Numeric, Schema, Split, Table


@dataclass(frozen=True, kw_only=True)
class Noise:
    """How far leaked rows are moved before they are released.

    ``sigma`` moves real numbers by a normal draw of so many standard deviations of their column, ``rate``
    whole numbers by a Poisson draw up or down, and ``swap`` is the chance of a category to become another.
    A column of whole numbers in which most rows have their own value (a sampling weight) counts as real, and
    stays whole. With ``every_number``, ``sigma`` moves all other columns of whole numbers as well: a far
    harder setting, as the many zeros of a gain or a loss then become something else.
    """

    sigma: float = 0.0
    rate: float = 0.0
    swap: float = 0.0
    every_number: bool = False


def leaky(train: Table, release: Table, level: float, *, rng: Generator) -> Table:
    """Return as many rows as ``release`` has: a share ``level`` drawn from train, the rest from release.

    Rows are drawn without replacement, and for one state of ``rng`` a higher level leaks the rows of a lower
    one and more.
    """
    n_leaked = round(level * len(release))
    if n_leaked > len(train):
        raise ValueError(f"leaky: {n_leaked} rows cannot be drawn from {len(train)} train rows.")
    leaked = rng.permutation(len(train))[:n_leaked]
    fresh = rng.permutation(len(release))[: len(release) - n_leaked]
    return Table(schema=release.schema, values=np.concatenate([train.values[leaked], release.values[fresh]]))


def noisy(table: Table, noise: Noise, *, rng: Generator) -> Table:
    """Return the rows moved by the noise; what is missing stays missing."""
    # A generator for each column: settings then differ in nothing but the noise they switch on.
    columns = zip(table.schema.columns, table.values.T, rng.spawn(len(table.schema)), strict=True)
    values = np.column_stack([_moved(column, cells, noise, own) for column, cells, own in columns])
    return Table(schema=table.schema, values=values)


def _moved(column: Column, cells: Floats, noise: Noise, rng: Generator) -> Floats:
    match column:
        case Numeric():
            real, moved = is_real(column, cells), cells.copy()
            normal = rng.normal(size=len(cells))
            if real or noise.every_number:
                moved += noise.sigma * _deviation(cells) * normal
            if not real:
                moved += rng.choice([-1, 1], len(cells)) * rng.poisson(noise.rate, len(cells))
            return moved if column.decimals is None else np.round(moved, column.decimals)
        case Categorical(labels=labels):
            others = len(labels) - 1
            if others < 1:
                return cells
            swapped = rng.random(len(cells)) < noise.swap
            another = (cells + rng.integers(1, others, len(cells), endpoint=True)) % len(labels)
            return np.where(swapped, another, cells)


def is_real(column: Numeric, cells: Floats) -> bool:
    """Tell a column of real numbers, or of whole ones so fine that most rows have their own."""
    known = cells[~np.isnan(cells)]
    return not column.integer or 2 * len(np.unique(known)) > len(known)


def _deviation(cells: Floats) -> float:
    known = cells[~np.isnan(cells)]
    return float(known.std()) if len(known) else 0.0


def split_of(train: Table, control: Table, synthetic: Table) -> Split:
    """Put three tables under one schema whose numeric ranges span all of them: noise may have left them."""
    columns = tuple(
        _spanning(column, [table.column(column.name) for table in (train, control, synthetic)])
        for column in train.schema.columns
    )
    tables = (Table(schema=Schema(columns), values=table.values) for table in (train, control, synthetic))
    return Split(**dict(zip(("train", "control", "synthetic"), tables, strict=True)))


def _spanning(column: Column, parts: list[Floats]) -> Column:
    cells = np.concatenate(parts)
    if isinstance(column, Categorical) or np.isnan(cells).all():
        return column
    return replace(column, low=float(np.nanmin(cells)), high=float(np.nanmax(cells)))
