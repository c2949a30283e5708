"""What each value of a column may be generalized to, level by level: the leaves, and groups of them.

Level 0 are the values themselves. Every value of a level has exactly one above it, so generalizing further
only ever joins groups. All levels cover all leaves.

All work is done on the different combinations of quasi-identifying and sensitive values: rows that are equal
in these columns are never told apart.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Table
from tabveil.errors import SchemaError
from tabveil.synthesis.anonymize.class_kernels import number_rows

MISSING = ""
"""How a missing value is written among the leaves: it is one of its own."""
EVERYTHING = "*"
"""What stands for all values together."""
NOT_IN_TABLE = np.inf
"""The cell of a leaf that the table's schema does not know."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Hierarchy:
    """The generalization hierarchy of one column.

    ``edges`` hold, for levels made of intervals, where each value begins and ends; None for other levels.
    """

    column: str
    leaves: tuple[str, ...]  # as they are written
    cells: Floats  # (n_leaves,) what stands for each in the table: a number, a label's code; NaN for missing
    codes: Indices  # (n_levels, n_leaves) position of a leaf's value among the values of each level
    labels: tuple[tuple[str, ...], ...]  # the values of each level
    edges: tuple[Floats | None, ...] = ()  # each (n_values, 2)

    def __post_init__(self) -> None:
        n_leaves = len(self.leaves)
        if self.codes.shape != (len(self.labels), n_leaves) or len(self.cells) != n_leaves or n_leaves == 0:
            raise SchemaError(f"Column {self.column!r}: its levels must cover its leaves.")
        if len(set(self.leaves)) != n_leaves:
            raise SchemaError(f"Column {self.column!r}: a leaf occurs twice.")
        if not np.array_equal(self.codes[0], np.arange(n_leaves)):
            raise SchemaError(f"Column {self.column!r}: level 0 must be the leaves.")
        for labels, (below, above) in zip(self.labels, pairwise(self.codes), strict=False):
            parents = np.full(len(labels), -1, dtype=np.int64)
            parents[below] = above
            torn = np.unique(below[parents[below] != above])
            if len(torn):
                raise SchemaError(
                    f"Column {self.column!r}: {len(torn):,} of the {len(labels):,} values of a level lie "
                    "under several values of the next."
                )

    @property
    def n_levels(self) -> int:
        """How many levels there are, the values themselves among them."""
        return len(self.labels)

    @cached_property
    def shares(self) -> Floats:
        """The share of all leaves that lie under a leaf's value at each level, (n_levels, n_leaves)."""
        return np.array([np.bincount(codes)[codes] for codes in self.codes]) / len(self.leaves)

    @cached_property
    def missing(self) -> int | None:
        """Which leaf stands for a missing value, if one does."""
        found = np.flatnonzero(np.isnan(self.cells))
        return int(found[0]) if len(found) else None

    def members(self, level: int, value: int) -> Indices:
        """Return the leaves under a value of a level: those that it may be drawn back to.

        >>> sizes = Hierarchy(
        ...     column="size",
        ...     leaves=("S", "M", "L"),
        ...     cells=np.arange(3.0),
        ...     codes=np.array([[0, 1, 2], [0, 1, 1], [0, 0, 0]]),
        ...     labels=(("S", "M", "L"), ("small", "large"), ("*",)),
        ... )
        >>> sizes.members(1, 1)
        array([1, 2])
        """
        return np.flatnonzero(self.codes[level] == value)

    def encode(self, cells: Floats) -> Indices:
        """Return the leaf of each cell; -1 where there is none."""
        known = np.flatnonzero(np.isfinite(self.cells))
        order = known[np.argsort(self.cells[known], kind="stable")]
        found = np.full(len(cells), -1, dtype=np.int64)
        if len(order):
            sorted_cells = self.cells[order]
            low, high = sorted_cells[0], sorted_cells[-1]
            whole = low == np.floor(low) and high - low == len(order) - 1
            if whole and np.array_equal(sorted_cells, low + np.arange(len(order))):
                inside = (cells >= low) & (cells <= high) & (cells == np.floor(cells))
                found[inside] = order[(cells[inside] - low).astype(np.int64)]
            else:
                places = np.minimum(np.searchsorted(sorted_cells, cells), len(order) - 1)
                equal = sorted_cells[places] == cells
                found[equal] = order[places[equal]]
        if self.missing is not None:
            found[np.isnan(cells)] = self.missing
        return found


Leaves = NDArray[np.int32]
LARGEST_KEY = 2**62
"""Keys of combinations are whole numbers below this; where there are more combinations, they have parts."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SensitiveColumn:
    """The values of a sensitive column, ascending, and how they are distributed in the whole table."""

    name: str
    cells: Floats  # (v,), a missing value last
    reference: Floats  # (v,) shares of the rows of the original table
    hierarchy: Hierarchy | None = None  # for distances by levels

    @property
    def n_values(self) -> int:
        """How many different values there are."""
        return len(self.cells)

    @cached_property
    def codes(self) -> Indices:
        """What each value lies under at each level of the hierarchy, (n_levels, v)."""
        if self.hierarchy is None:
            raise SchemaError(f"Column {self.name!r}: a hierarchical distance needs a hierarchy.")
        found = self.hierarchy.encode(self.cells)
        if (found < 0).any():
            raise SchemaError(f"Column {self.name!r}: {(found < 0).sum():,} values are not in its hierarchy.")
        codes = self.hierarchy.codes[:, found]  # (n_levels, v)
        codes[0] = np.arange(self.n_values)
        return codes

    @cached_property
    def levels(self) -> tuple[Indices, Indices]:
        """Each value's parent, level by level, (height, v), and the sizes of the levels, (height + 1,)."""
        codes = self.codes
        sizes = np.array([self.n_values, *(int(level.max()) + 1 for level in codes[1:])])
        parents = np.zeros((len(sizes) - 1, max(sizes)), dtype=np.int64)
        for level, row in enumerate(parents):
            row[codes[level]] = codes[level + 1]
        return parents, sizes


@dataclass(frozen=True, kw_only=True, eq=False)
class Combinations:
    """Every different combination of values, and how many rows have each."""

    hierarchies: tuple[Hierarchy, ...]
    sensitive: tuple[SensitiveColumn, ...]
    leaves: Leaves  # (d + s, m) leaf of each quasi-identifier, then value of each sensitive column
    counts: Indices  # (m,)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def n_rows(self) -> int:
        """How many rows there are in all."""
        return int(self.counts.sum())

    def leaf_counts(self, column: int) -> Indices:
        """Return how many rows have each leaf of a quasi-identifier."""
        n_leaves = len(self.hierarchies[column].leaves)
        return np.bincount(self.leaves[column], weights=self.counts, minlength=n_leaves).astype(np.int64)

    def take(self, chosen: NDArray[np.bool_] | Indices) -> Self:
        """Keep some combinations; the reference distributions stay those of the whole table."""
        return replace(self, leaves=np.ascontiguousarray(self.leaves[:, chosen]), counts=self.counts[chosen])


def combine(
    table: Table, hierarchies: Sequence[Hierarchy], sensitive: Mapping[str, Hierarchy | None]
) -> tuple[Combinations, NDArray[np.int32]]:
    """Find the different combinations; return them and the number of each row's."""
    columns: list[SensitiveColumn] = []

    def coded() -> Iterator[tuple[Indices, int]]:
        for hierarchy in hierarchies:
            found = hierarchy.encode(table.column(hierarchy.column))
            if n_lacking := int((found < 0).sum()):
                raise SchemaError(
                    f"Column {hierarchy.column!r}: {n_lacking:,} rows hold values that its hierarchy lacks."
                )
            yield found, len(hierarchy.leaves)
        for name, tree in sensitive.items():
            cells, codes, counts = np.unique(table.column(name), return_inverse=True, return_counts=True)
            shares = counts / max(len(table), 1)
            columns.append(SensitiveColumn(name=name, cells=cells, reference=shares, hierarchy=tree))
            yield codes.astype(np.int64), len(cells)

    numbers, firsts = _numbered(len(table), coded())
    leaves = np.empty((len(hierarchies) + len(columns), len(firsts)), dtype=np.int32)
    for place, hierarchy in enumerate(hierarchies):
        leaves[place] = hierarchy.encode(table.column(hierarchy.column)[firsts])
    for place, column in enumerate(columns, start=len(hierarchies)):
        leaves[place] = np.searchsorted(column.cells, table.column(column.name)[firsts])
    combinations = Combinations(
        hierarchies=tuple(hierarchies),
        sensitive=tuple(columns),
        leaves=leaves,
        counts=np.bincount(numbers, minlength=len(firsts)),
    )
    return combinations, numbers


def _numbered(n_rows: int, columns: Iterable[tuple[Indices, int]]) -> tuple[NDArray[np.int32], Indices]:
    """Give rows with equal codes one number; return each row's number and the first row of each.

    Rows have one key, grown column by column; where a number is full, what is there is numbered.
    """
    keys, size = np.zeros((n_rows, 1), dtype=np.int64), 1
    for codes, n_codes in columns:
        if size * max(n_codes, 1) >= LARGEST_KEY:
            keys[:, 0], firsts = number_rows(keys)
            size = max(len(firsts), 1)
        keys[:, 0] *= max(n_codes, 1)
        keys[:, 0] += codes
        size *= max(n_codes, 1)
    numbers, firsts = number_rows(keys)
    return numbers, firsts.astype(np.int64)
