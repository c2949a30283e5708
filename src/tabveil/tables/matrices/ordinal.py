"""A column's cells on a scale, or as places among its values in ascending order, and back.

Distances and trees need one scale for all columns (single precision is easily lost): a share of the range.
Whoever compares differences, or counts what is possible, needs whole numbers, of the last decimal place: 0.3
is then exactly as far from 0.2 as that is from 0.1.

Among places, missing has two, as results hang on either. Counted or drawn level by level, it comes *after*
the last value (:meth:`OrderedValues.places`): so do the levels of bins, slots and curves in this package, and
sums over levels run in that order. Compared by size, it comes *before* the first, as code 0
(:meth:`OrderedValues.codes`): "at most" is then a range that begins at 1, a tree parts missing from all
numbers at once, and stored trees hold such codes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.storage.arrays import ascending
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table, holds


def unit(table: Table) -> Floats:
    """Return the cells (n, d) with numbers as shares of their column's range; codes and NaN stay."""
    low, width = np.array([_range(column) for column in table.schema.columns]).reshape(-1, 2).T
    return np.ascontiguousarray((table.values - low) / width)


def shares_of_range(column: Column, cells: Floats) -> Floats:
    """Return the cells of one column as :func:`unit` does.

    >>> shares_of_range(Numeric(name="age", low=20, high=60), np.array([20.0, 30.0, np.nan])).tolist()
    [0.0, 0.25, nan]
    """
    low, width = _range(column)
    return (cells - low) / width


def _range(column: Column) -> tuple[float, float]:
    """Return low end and width; those of a constant column and of labels change nothing but the origin."""
    return (column.low, column.width or 1.0) if isinstance(column, Numeric) else (0.0, 1.0)


def places_a_unit(decimals: int | None) -> float:
    """Return how many last decimal places make 1; numbers without such a place are left as they are."""
    return 10.0 ** (decimals or 0)


def in_last_places(cells: Floats, decimals: int | None) -> Floats:
    """Return numbers as whole numbers of their last decimal place, or as they are if they have none.

    >>> in_last_places(np.array([0.1, 0.2, 0.3]), 1).tolist()
    [1.0, 2.0, 3.0]
    """
    return cells if decimals is None else np.rint(cells * places_a_unit(decimals))


def n_steps(column: Numeric) -> float:
    """Return how many last decimal places the range has: no end of them where any number is legal."""
    return np.inf if column.decimals is None else column.width * places_a_unit(column.decimals)


Codes = NDArray[np.int32]

MISSING = 0
"""The code of a missing cell; values begin at 1."""
MOST_RANGES = 20
"""Numbers are counted as the same in at most so many ranges."""
MOST_MARKS = 4_000_000
"""Whole numbers in a range that is counted off rather than sorted."""
MARKS_A_CELL = 16
"""Likewise: with fewer cells, sorting them takes less than looking at every number."""


def find(values: Floats, cells: Floats) -> tuple[Indices, NDArray[np.bool_]]:
    """Return each cell's place among ascending values, and whether it is one of them.

    A cell that is not has the place of the next larger value. NaN stands after all others, and is one of them
    if the values end in it.
    """
    places = np.searchsorted(values, cells)
    here = np.append(values, np.inf)[places]
    return places, (here == cells) | (np.isnan(here) & np.isnan(cells))


def label_codes(column: Categorical, cells: Floats) -> Indices:
    """Return labels as codes of their own and missing as the code after the last label."""
    return np.where(np.isnan(cells), len(column.labels), cells).astype(np.int64)


def label_places(values: Floats, cells: Floats) -> Indices:
    """Return each label's place among some of a column's codes; after the last what is not among them."""
    places, known = find(values, cells)
    return np.where(known, places, len(values))


def at_places(values: Floats, places: Indices) -> Floats:
    """Return the values at these places; missing stands after the last."""
    return np.append(values, np.nan)[places]


def seen_values(column: Column, *cells: Floats) -> Floats:
    """Return the values that occur in the cells of any of the tables, ascending."""
    if isinstance(column, Numeric) and _is_countable(column, sum(map(len, cells))):
        marks = np.zeros(int(column.width) + 1, dtype=np.bool_)
        for part in cells:
            marks[(part[~np.isnan(part)] - column.low).astype(np.int64)] = True
        return np.asarray(np.flatnonzero(marks) + column.low, dtype=np.float64)
    values = np.unique(np.concatenate(cells))
    return np.asarray(values[~np.isnan(values)])


def possible_values(column: Column, *cells: Floats) -> Floats:
    """Return all labels of a column, whether they occur or not; of numbers those that occur."""
    if isinstance(column, Categorical):
        return np.arange(len(column.labels), dtype=np.float64)
    return seen_values(column, *cells)


def _is_countable(column: Numeric, n_cells: int) -> bool:
    """Whether a mark for each whole number in the range costs less than sorting the cells."""
    return column.integer and n_steps(column) <= min(MOST_MARKS, MARKS_A_CELL * n_cells)


def are_values(column: Column, values: Floats) -> bool:
    """Whether these are different values of a column, in ascending order."""
    return ascending(values) and holds(column, values)


def even_groups(counts: Indices, n_groups: int) -> Indices:
    """Divide values with so many rows each into groups of neighbors with about equally many, 0 … n - 1.

    >>> even_groups(np.array([1, 1, 5, 1]), 2).tolist()
    [0, 0, 0, 1]
    """
    before = np.cumsum(counts) - counts
    return np.asarray(before * n_groups // max(int(counts.sum()), 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class OrderedValues:
    """The values of a column in ascending order, by which its cells are numbered.

    A number that is not among them counts as the next larger one (or the largest), a label that is not
    stands after all values and comes back as missing.
    """

    column: Column
    values: Floats  # (k,)

    def __len__(self) -> int:
        return len(self.values)

    def places(self, cells: Floats) -> Indices:
        """Return the place of each cell's value, 0 … k - 1; k for missing cells and for strange labels."""
        match self.column:
            case Categorical() as column if len(self) == len(column.labels):
                return label_codes(column, cells)
            case Categorical():
                return label_places(self.values, cells)
            case Numeric() as column:
                if _is_countable(column, len(cells)):  # how many values are smaller is looked up by the cell
                    marks = np.zeros(int(column.width) + 1, dtype=np.bool_)
                    marks[(self.values - column.low).astype(np.int64)] = True
                    smaller = np.cumsum(marks, dtype=np.int64) - marks
                    steps = np.clip(np.nan_to_num(cells - column.low), 0, column.width)
                    found = smaller[steps.astype(np.int64)]
                else:
                    found = np.searchsorted(self.values, cells)
                return np.where(np.isnan(cells), len(self), np.minimum(found, len(self) - 1))

    def codes(self, cells: Floats) -> Codes:
        """Return 1 + the place of each cell's value, 0 for missing cells and k + 1 for strange labels."""
        return np.where(np.isnan(cells), MISSING, self.places(cells) + 1).astype(np.int32)

    def cells(self, codes: Codes) -> Floats:
        """Return the value that each code stands for."""
        return np.concatenate([[np.nan], self.values, [np.nan]])[codes]


@dataclass(frozen=True, kw_only=True, eq=False)
class CountedValues(OrderedValues):
    """The values of a column that were seen, and how many rows have each: what trees are grown from."""

    counts: Indices  # (k + 2,) rows with each code

    @classmethod
    def of(cls, column: Column, cells: Floats) -> Self:
        """Collect and count what is seen."""
        values = seen_values(column, cells)
        found = cls(column=column, values=values, counts=np.zeros(len(values) + 2, dtype=np.int64))
        return found.counted(found.codes(cells))

    def counted(self, codes: Codes) -> Self:
        """Return the same values with the numbers of these rows."""
        return replace(self, counts=np.bincount(codes, minlength=len(self) + 2))

    @property
    def fits(self) -> bool:
        """Whether these can be values of the column, with a count for each code."""
        return len(self.counts) == len(self) + 2 and are_values(self.column, self.values)

    @property
    def ordered(self) -> bool:
        """Whether larger codes mean more of something."""
        return isinstance(self.column, Numeric) or self.column.ordered

    def ranges(self) -> tuple[Indices, Indices]:
        """Return the codes from ``low`` to below ``high`` (codes,) that count as the same as each code.

        Labels count singly; numbers in at most :data:`MOST_RANGES` ranges with about equally many rows.
        """
        group = np.arange(len(self.counts))
        if isinstance(self.column, Numeric) and len(self) > MOST_RANGES:
            group[1:-1] = 1 + even_groups(self.counts[1:-1], MOST_RANGES)
            group[-1] = group[-2] + 1
        return np.searchsorted(group, group), np.searchsorted(group, group, side="right")


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedLevels:
    """A column of several tables: the values of any of them, and which of these each row has."""

    values: Floats  # (k,) ascending
    rows: tuple[Indices, ...]  # of each table (n,), in 0 … k; k stands for missing

    @classmethod
    def of(cls, column: Column, tables: Sequence[Table]) -> Self:
        """Give one number to equal values of any of the tables."""
        cells = [table.column(column.name) for table in tables]
        found = OrderedValues(column=column, values=possible_values(column, *cells))
        return cls(values=found.values, rows=tuple(map(found.places, cells)))

    def __len__(self) -> int:
        return len(self.values) + 1  # missing is a level, too

    def merged(self, groups: Indices) -> "ComparedLevels":
        """Give the same level to all levels (missing excepted) of a group; groups are 0 … g - 1."""
        n_groups = int(groups.max(initial=-1)) + 1
        of = np.append(groups, n_groups)
        return ComparedLevels(
            values=np.arange(n_groups, dtype=np.float64), rows=tuple(of[rows] for rows in self.rows)
        )

    def in_bins(self, n_bins: int) -> "ComparedLevels":
        """Merge neighboring levels into about equally full ones, where there are more than asked for."""
        if len(self.values) <= n_bins:
            return self
        counts = np.bincount(np.concatenate(self.rows), minlength=len(self))[:-1]
        return self.merged(np.unique(even_groups(counts, n_bins), return_inverse=True)[1])
