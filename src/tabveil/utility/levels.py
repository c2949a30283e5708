"""A column of several tables as levels: which values occur, and which of them each row has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.table import Categorical, Column, Floats, Indices, Numeric, Table

MISSING_LEVELS = 1  # missing is a level of its own, always the last one


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """The values of a column in ascending order, and the level of each row of each table."""

    values: Floats  # (k,) numbers, or codes of labels
    rows: tuple[Indices, ...]  # of each table (n,), in 0 … k; k stands for missing

    @classmethod
    def of(cls, column: Column, tables: Sequence[Table]) -> Self:
        """Give one number to equal values of any of the tables."""
        cells = [table.column(column.name) for table in tables]
        match column:
            case Categorical(labels=labels):
                values = np.arange(len(labels), dtype=np.float64)
                return cls(
                    values=values,
                    rows=tuple(np.nan_to_num(c, nan=len(labels)).astype(np.int64) for c in cells),
                )
            case Numeric():
                joined = np.concatenate(cells)
                present = ~np.isnan(joined)
                values, found = np.unique(joined[present], return_inverse=True)
                codes = np.full(len(joined), len(values), dtype=np.int64)
                codes[present] = found
                return cls(
                    values=values, rows=tuple(np.split(codes, np.cumsum([len(c) for c in cells])[:-1]))
                )

    def __len__(self) -> int:
        return len(self.values) + MISSING_LEVELS

    def merged(self, groups: Indices) -> "Levels":
        """Give the same level to all levels (missing excepted) of a group; groups are 0 … g - 1."""
        n_groups = int(groups.max(initial=-1)) + 1
        of = np.append(groups, n_groups)
        return Levels(
            values=np.arange(n_groups, dtype=np.float64), rows=tuple(of[rows] for rows in self.rows)
        )

    def in_bins(self, n_bins: int) -> "Levels":
        """Merge neighboring levels into about equally full ones, where there are more than asked for."""
        if len(self.values) <= n_bins:
            return self
        counts = np.bincount(np.concatenate(self.rows), minlength=len(self))[:-1]
        before = np.cumsum(counts) - counts
        bins = before * n_bins // counts.sum()
        return self.merged(np.unique(bins, return_inverse=True)[1])
