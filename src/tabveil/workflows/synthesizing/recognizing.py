"""Which whole numbers are no quantities: codes, such as those of wards or diagnoses, and times such as 1430.

A generator that takes a code for a quantity draws codes between two codes, and one that takes 1430 for a
thousand and more draws minutes that no clock has. Looking at rows to tell breaks a promise of ε, so this is
done for generators without one only.
"""

import re
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Numeric, Table
from tabveil.tables.matrices.ordinal import CountedValues
from tabveil.tables.reading import Layout
from tabveil.tables.reading.raw_column import Kind

CALLED_CODES = frozenset(
    ("id", "code", "codes", "recode", "cd", "zip", "zipcode", "postcode", "plz", "fips", "icd", "drg", "ccs")
)
"""Words of a column's name that say of whole numbers that they stand for something."""
COVERED = 0.5
"""Of the rows that have a value, so many must have one that enough rows share: else it is no catalog."""
COVERED_WITHOUT_NAME = 0.95
MOST_CODES = 200
"""Different values of a column that is no quantity by its looks alone."""
FEWEST_CODES = 5
UNORDERED = 1.0
"""Neighbors among values differ so many times as much as any two, on average over the other columns; of a
quantity, much less: of 60 in the shared tables none reached 0.91, the source of an admission has 1.5."""
CHANCE = 5
"""Values differ in another column only if they do by so many standard errors."""
MOST_LABELS = 8
"""So many labels of another column are looked at, the most frequent ones."""

MINUTES, LAST = 60, 2400
FEWEST_MINUTES = 20
"""So many different minutes must be among numbers that are to be times: chance leaves 40 in 100 out."""
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def whole_numbers(table: Table, layout: Layout, *, besides: Collection[str]) -> list[int]:
    """Return the columns of whole numbers, dates and times excepted, but for those in ``besides``."""
    return [
        k
        for k, column in enumerate(table.schema.columns)
        if isinstance(column, Numeric)
        and column.integer
        and layout.columns[column.name].kind is Kind.NUMBER
        and column.name not in besides
    ]


def is_clock(cells: Floats) -> bool:
    """Whether numbers are hours and minutes, such as 1430 for half past two.

    >>> is_clock(np.array([60.0 * (minute % 2) + 100 * hour for hour in range(24) for minute in range(60)]))
    False
    >>> is_clock(np.array([100.0 * hour + minute for hour in range(24) for minute in range(60)]))
    True
    """
    held = cells[~np.isnan(cells)]
    minutes = held % 100
    return bool(
        len(held)
        and (held >= 0).all()
        and (held <= LAST).all()
        and (minutes < MINUTES).all()
        and len(np.unique(minutes)) >= FEWEST_MINUTES
        and len(np.unique(held // 100)) > 2  # noqa: PLR2004 - else hundreds of something
    )


def to_minutes(cells: Floats) -> Floats:
    """Return minutes since midnight.

    >>> to_minutes(np.array([1430.0, 5.0])).tolist(), to_clock(np.array([870.0, 5.0])).tolist()
    ([870.0, 5.0], [1430.0, 5.0])
    """
    return cells // 100 * MINUTES + cells % 100


def to_clock(minutes: Floats) -> Floats:
    """Return hours and minutes as one number again."""
    return minutes // MINUTES * 100 + minutes % MINUTES


def called_code(name: str) -> bool:
    """Whether a column's name says that its numbers stand for something.

    >>> [called_code(name) for name in ("CCS Diagnosis Code", "admission_type_id", "zipCode", "paid")]
    [True, True, True, False]
    """
    return not CALLED_CODES.isdisjoint(word.lower() for word in _WORDS.findall(name))


def is_code(table: Table, position: int) -> bool:
    """Whether whole numbers that nobody explained stand for something, by their name or by their looks."""
    column = table.schema.columns[position]
    cells = table.values[:, position]
    levels = CountedValues.of(column, cells)
    counts = levels.counts[1:-1]
    shared = counts[counts >= LEAST_SHARED].sum() / max(counts.sum(), 1)
    if called_code(column.name):
        return bool(shared >= COVERED)
    if not (shared >= COVERED_WITHOUT_NAME and FEWEST_CODES <= len(counts) <= MOST_CODES):
        return False
    return unlikeness_of_neighbors(table, position) >= UNORDERED


def unlikeness_of_neighbors(table: Table, position: int) -> float:
    """Return how much neighbors among a column's values differ in the other columns, beside any two values.

    About 1 where the order of the values means nothing, near 0 where they are a scale, and 0 where values
    differ in nothing. What differs by chance is taken off.
    """
    cells = table.values[:, position]
    held = ~np.isnan(cells)
    _, code, counts = np.unique(cells[held], return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts >= LEAST_SHARED)
    if len(kept) < FEWEST_CODES:
        return 0.0
    every = np.triu_indices(len(kept), 1)
    beside = (np.arange(len(kept) - 1), np.arange(1, len(kept)))
    near = far = 0.0
    for k, column in enumerate(table.schema.columns):
        for goal in _as_numbers(column, table.values[held, k]) if k != position else ():
            means, spread = np.bincount(code, weights=goal) / counts, float(goal.var())
            noise = float(((goal - means[code]) ** 2).mean())
            between = counts[kept] @ (means[kept] - np.average(means[kept], weights=counts[kept])) ** 2
            if between > noise * (len(kept) + CHANCE * np.sqrt(2 * len(kept))):
                near += _difference(means[kept], counts[kept], noise, beside) / spread
                far += _difference(means[kept], counts[kept], noise, every) / spread
    return near / far if far > 0 else 0.0


def _difference(
    means: Floats, counts: NDArray[np.int64], noise: float, pairs: tuple[NDArray[np.int64], ...]
) -> float:
    """Return the mean squared difference of pairs of means, without what chance adds to it."""
    one, other = pairs
    expected = 1 / counts[one] + 1 / counts[other]
    return float(np.average((means[one] - means[other]) ** 2 - noise * expected, weights=1 / expected))


def _as_numbers(column: Column, cells: Floats) -> list[Floats]:
    """Return a column as numbers whose means can be compared: ranks, or whether it is a label."""
    if isinstance(column, Categorical):
        labels, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        return [(cells == label).astype(float) for label in labels[np.argsort(-counts)][:MOST_LABELS]]
    held = ~np.isnan(cells)
    ranks = np.full(len(cells), 0.5)
    ranks[held] = np.argsort(np.argsort(cells[held], kind="stable")) / max(int(held.sum()), 1)
    return [ranks]
