"""The different combinations of quasi-identifying and sensitive values, and how many rows have each.

All work is done on them: rows that are equal in these columns are never told apart.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Table
from tabveil.errors import SchemaError
from tabveil.synthesis.anonymize.grouping_kernels import number_rows
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

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
    """Every different combination, with its rows."""

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
    table: Table,
    hierarchies: Sequence[Hierarchy],
    sensitive: Mapping[str, Hierarchy | None],
) -> tuple[Combinations, NDArray[np.int32]]:
    """Find the different combinations; return them and the number of each row's."""
    keys = _Keys(len(table))
    for hierarchy in hierarchies:
        found = hierarchy.encode(table.column(hierarchy.column))
        lacking = found < 0
        if lacking.any():
            raise SchemaError(
                f"Column {hierarchy.column!r}: {lacking.sum():,} rows hold values that its hierarchy lacks."
            )
        keys.add(found, len(hierarchy.leaves))
    columns = []
    for name, tree in sensitive.items():
        cells, codes, counts = np.unique(table.column(name), return_inverse=True, return_counts=True)
        columns.append(
            SensitiveColumn(name=name, cells=cells, reference=counts / max(len(table), 1), hierarchy=tree)
        )
        keys.add(codes.astype(np.int64), len(cells))
    numbers, firsts = keys.numbers()
    leaves = np.empty((len(hierarchies) + len(columns), len(firsts)), dtype=np.int32)
    for place, hierarchy in enumerate(hierarchies):
        leaves[place] = hierarchy.encode(table.column(hierarchy.column)[firsts])
    for place, column in enumerate(columns, start=len(hierarchies)):
        found = np.searchsorted(column.cells, table.column(column.name)[firsts])
        leaves[place] = found
    combinations = Combinations(
        hierarchies=tuple(hierarchies),
        sensitive=tuple(columns),
        leaves=leaves,
        counts=np.bincount(numbers, minlength=len(firsts)),
    )
    return combinations, numbers


class _Keys:
    """One key for each row, grown column by column; where a number is full, what is there is numbered."""

    def __init__(self, n_rows: int) -> None:
        self._keys = np.zeros((n_rows, 1), dtype=np.int64)
        self._size = 1

    def add(self, codes: Indices, n_codes: int) -> None:
        """Tell rows apart by one more column."""
        if self._size * max(n_codes, 1) >= LARGEST_KEY:
            numbers, firsts = self.numbers()
            self._keys[:, 0] = numbers
            self._size = max(len(firsts), 1)
        self._keys[:, 0] *= max(n_codes, 1)
        self._keys[:, 0] += codes
        self._size *= max(n_codes, 1)

    def numbers(self) -> tuple[NDArray[np.int32], Indices]:
        """Give equal keys one number; return each row's number and the first row of each."""
        numbers = np.empty(len(self._keys), dtype=np.int32)
        firsts = np.empty(len(self._keys), dtype=np.int32)
        n = number_rows(self._keys, numbers, firsts)
        return numbers, firsts[:n].astype(np.int64)
