"""The rows that a search asks about: equal ones are asked about once, and near ones together."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors.index import Index, SortedRows, encode_codes, encode_values, grow, missing_in
from tabveil.engines.neighbors.space import Space

QUERIES_AT_ONCE = 512


@dataclass(frozen=True, kw_only=True, eq=False)
class Queries:
    """The distinct rows among some, in the codes and values of an index."""

    codes: NDArray[Any]  # (c, q)
    values: Floats  # (q, d)
    absent: NDArray[Any]  # (a, q) whether a cell is missing in a column where the reference always has one
    absent_names: tuple[str, ...]  # (a,) the columns
    run: Indices  # (q,) rows with equal codes share a number: they have the same groups to visit
    kind_of: Indices  # (m,) the distinct row that each row is

    @classmethod
    def of(cls, space: Space, table: Table, index: Index) -> Self:
        """Arrange the rows of a table."""
        absent_names = tuple(name for name in missing_in(space, table) if name not in index.flagged)
        codes = encode_codes(space, table, index.flagged + absent_names)
        values, weights = encode_values(space, table)
        rows = SortedRows.of(codes, values)
        order = grow(values[rows.representatives], weights, rows.group_start).order
        kinds = rows.representatives[order]
        n_codes = len(index.groups[0])
        position = np.empty(len(kinds), dtype=np.int64)
        position[order] = np.arange(len(kinds))
        kind_of = np.empty(len(table), dtype=np.int64)
        kind_of[rows.order] = np.repeat(position, np.diff(rows.row_start))
        return cls(
            codes=np.ascontiguousarray(codes[:n_codes, kinds]),
            values=values[kinds],
            absent=np.ascontiguousarray(codes[n_codes:, kinds]),
            absent_names=absent_names,
            run=np.repeat(np.arange(len(rows.group_hash)), np.diff(rows.group_start)),
            kind_of=kind_of,
        )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def floor(self) -> Indices:
        """Return how many mismatches each has with every reference row, (q,)."""
        return np.asarray(self.absent.sum(axis=0, dtype=np.int64))
