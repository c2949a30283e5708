"""Rows of a table in an order, or a sample, that depends on what they hold and not on where they stand.

Of several equally near rows the neighbor engine names the first. Tables are therefore put in an order of
their content (indicators) or in a random one (attacks that depend on *which* of equally near rows is taken):
no answer changes when a file is sorted differently. Outcomes whose chances depend on a row are drawn by
:func:`draw_given`, as evenly as their number allows.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammaln

from tabveil.core.people import by_first_row
from tabveil.core.table import Floats, Indices, Table

ROUNDING = 1e-9  # 0.29 × 100 is a little less than 29


@dataclass(frozen=True, kw_only=True, eq=False)
class Sample:
    """Rows of a table, and where they stood."""

    table: Table
    rows: Indices

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Indices) -> "Sample":
        """Keep these of the rows, in this order."""
        return Sample(table=self.table.take(rows), rows=self.rows[rows])


def count_share(level: float, n_rows: int) -> int:
    """Count the rows that are a share ``level`` of ``n_rows``: never more than it says.

    >>> count_share(0.29, 100), count_share(0.2, 9)
    (29, 1)
    """
    return math.floor(level * n_rows + ROUNDING)


def draw(table: Table, n_rows: int, *, rng: Generator) -> Sample:
    """Sample rows without replacement, all where there are no more, in the order of their content."""
    rows = table.sample(n_rows, rng=rng)
    if len(rows) == len(table):
        return in_order(table)
    rows = rows[np.argsort(table.row_hash()[rows], kind="stable")]
    return Sample(table=table.take(rows), rows=rows)


def random_order(table: Table, *, rng: Generator) -> Indices:
    """Return where all rows stand, in a random order that depends on what they hold.

    Rows that leave the house in this order tell nothing about where they stood, not even to somebody who
    knows the seed: a shuffle of places alone could be undone.
    """
    return table.content_order[rng.permutation(len(table))]


def draw_people(table: Table, n_people: int, *, rng: Generator) -> Sample:
    """Sample people without replacement, with all of their rows, in the order of their content."""
    if table.people is None:
        return draw(table, n_people, rng=rng)
    rows = rows_of_people(table, n_people, rng=rng)
    return Sample(table=table.take(rows), rows=rows)


def rows_of_people(table: Table, n_people: int, *, rng: Generator) -> Indices:
    """Draw people, all where there are no more, and return where their rows stand.

    Whom depends on what their rows hold, and not on their numbers or on where the rows stand.
    """
    if table.people is None:
        return table.sample(n_people, rng=rng)
    order = table.content_order
    if n_people >= table.n_people:
        return order
    drawn = np.zeros(table.n_people, dtype=bool)
    drawn[rng.choice(table.n_people, n_people, replace=False)] = True
    return np.asarray(order[drawn[by_first_row(table.people[order])]])


def surest_rows(people: Indices | None, key: Floats, *keys: Floats | None) -> Indices:
    """Return the row of each person that is highest by the keys, the first key first; ascending.

    Of rows that are equal by all keys it is the last: put tables in an order of their content before. Without
    people all rows are somebody's only one.

    >>> surest_rows(np.array([7, 7, 3, 7]), np.array([0.1, 0.9, 0.5, 0.9]), np.array([0.0, 2.0, 0.0, 1.0]))
    array([1, 2])
    """
    if people is None:
        return np.arange(len(key))
    given = [key, *(other for other in keys if other is not None)]
    order = np.lexsort((*reversed(given), people))
    last = np.ones(len(order), dtype=bool)
    last[:-1] = np.diff(people[order]) != 0
    return np.sort(order[last])


def exchanged(table: Table, places: Indices, others: Table) -> Table:
    """Return the table with these rows in the place of its own, and what is linked to them."""
    at = np.arange(len(table))
    at[places] = len(table) + np.arange(len(others))
    return table.joined(others).take(at)


def in_order(table: Table) -> Sample:
    """Put all rows in the order of their content."""
    rows = table.content_order
    return Sample(table=table.take(rows), rows=rows)


def shuffled(table: Table, *, rng: Generator) -> Sample:
    """Put all rows in a random order, so that "the first of equals" is one of them at random."""
    rows = shuffled_rows(table, rng=rng)
    return Sample(table=table.take(rows), rows=rows)


def shuffled_rows(table: Table, *, rng: Generator) -> Indices:
    """Return where all rows stand, in a random order that depends on what they hold."""
    return rng.permutation(table.content_order)


def group_equal_rows(*tables: Table) -> tuple[NDArray[np.int64], ...]:
    """Give one number to equal rows of any of the tables. Missing equals missing."""
    hashes = np.concatenate([table.row_hash() for table in tables])
    _, first, numbers = np.unique(hashes, return_index=True, return_inverse=True)
    columns = (_bits(tables, position) for position in range(tables[0].values.shape[1]))
    if not all(np.array_equal(bits, bits[first[numbers]]) for bits in columns):
        # Two rows share a hash: compare the rows themselves.
        parts = [_bits(tables, position) for position in range(tables[0].values.shape[1])]
        if all(table.linked is not None for table in tables):
            parts.append(hashes)
        whole = np.column_stack(parts)
        _, numbers = np.unique(whole, axis=0, return_inverse=True)
    ends = np.cumsum([len(table) for table in tables])
    return tuple(np.split(numbers.reshape(-1).astype(np.int64), ends[:-1]))


def _bits(tables: Sequence[Table], position: int) -> NDArray[np.uint64]:
    """Return a column of all tables as numbers that are equal where cells are."""
    cells = (
        np.concatenate([table.values[:, position] for table in tables]) + 0.0
    )  # -0.0 and 0.0 are one value
    cells[np.isnan(cells)] = np.nan  # and so are all NaNs
    return cells.view(np.uint64)


def held_chance(copies: Indices, total: int, size: int) -> Floats:
    """Return the chance that ``size`` of ``total`` rows, drawn without replacement, hold one of the copies.

    >>> held_chance(np.array([0, 1, 2, 4]), total=4, size=2).round(3).tolist()
    [0.0, 0.5, 0.833, 1.0]
    """
    if size == total:
        return (copies > 0).astype(np.float64)
    others = np.maximum(total - copies, size)  # where the others are fewer, every sample holds the row
    log_missed = (
        gammaln(others + 1) - gammaln(others - size + 1) - gammaln(total + 1) + gammaln(total - size + 1)
    )
    chance = np.where(total - copies < size, 1.0, -np.expm1(np.minimum(log_missed, 0.0)))
    return np.where(copies > 1, chance, np.where(copies > 0, size / total, 0.0))  # exact for one


def draw_given(chances: Floats, conditions: Indices, *, rng: Generator) -> Indices:
    """Draw an outcome for each row from its condition's chances, (n_conditions, n_outcomes)."""
    n_rows, n_outcomes = len(conditions), chances.shape[1]
    shuffled = rng.permutation(n_rows)
    order = shuffled[np.argsort(conditions[shuffled], kind="stable")]  # by condition, else at random
    counts = np.bincount(conditions, minlength=len(chances))
    starts = np.cumsum(counts) - counts
    ranks = np.arange(n_rows) - starts[conditions[order]]
    places = (ranks + rng.random(n_rows)) / counts[conditions[order]]  # evenly spread over [0, 1)
    edges = np.cumsum(chances, axis=1)
    edges /= edges[:, -1:]
    edges += np.arange(len(chances))[:, np.newaxis]  # one rising sequence: condition by condition
    found = np.searchsorted(edges.ravel(), conditions[order] + places, side="right")
    outcomes = np.empty(n_rows, dtype=np.int64)
    outcomes[order] = np.clip(found - conditions[order] * n_outcomes, 0, n_outcomes - 1)
    return outcomes
