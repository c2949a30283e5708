"""Cells as places among the values that were seen: what trees are grown from, and what they draw."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.table import Categorical, Column, Floats, Indices, Numeric

Codes = NDArray[np.int32]

MISSING = 0
"""The code of a missing cell."""
MOST_RANGES = 20
"""Numbers are compared in at most so many ranges."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """The distinct values of a column and how many rows have each.

    A cell's code is 0 if it is missing, else the place of its value, from 1 on. A number that was not seen
    has the code of the next larger one; a label that was not seen has the code after the last.
    """

    column: Column
    values: Floats  # (levels,) ascending
    counts: Indices  # (levels + 2,) rows with each code

    @classmethod
    def of(cls, column: Column, cells: Floats) -> Self:
        """Collect what is seen."""
        values = np.unique(cells[~np.isnan(cells)])
        levels = cls(column=column, values=values, counts=np.zeros(len(values) + 2, dtype=np.int64))
        return levels.counted(levels.codes(cells))

    def counted(self, codes: Codes) -> Self:
        """Return the same levels with the numbers of these rows."""
        counts = np.bincount(codes, minlength=len(self.values) + 2)
        return type(self)(column=self.column, values=self.values, counts=counts)

    @property
    def ordered(self) -> bool:
        """Whether larger codes mean more of something."""
        return isinstance(self.column, Numeric) or self.column.ordered

    def codes(self, cells: Floats) -> Codes:
        """Return the code of each cell."""
        places = np.searchsorted(self.values, cells)  # NaN stands after all others
        if isinstance(self.column, Categorical):
            known = np.append(self.values, np.nan)[places] == cells
            places = np.where(known, places, len(self.values))
        else:
            places = np.minimum(places, len(self.values) - 1)
        return np.where(np.isnan(cells), MISSING, places + 1).astype(np.int32)

    def cells(self, codes: Codes) -> Floats:
        """Return the value that each code stands for."""
        return np.concatenate([[np.nan], self.values])[codes]

    def ranges(self) -> tuple[Indices, Indices]:
        """Return the codes from ``low`` to below ``high`` (codes,) that count as the same as each code.

        Labels count singly; numbers in at most :data:`MOST_RANGES` ranges with about equally many rows.
        """
        n = len(self.counts)
        group = np.arange(n)
        if isinstance(self.column, Numeric) and len(self.values) > MOST_RANGES:
            inside = self.counts[1:-1]
            before = np.cumsum(inside) - inside
            group[1:-1] = 1 + before * MOST_RANGES // max(int(inside.sum()), 1)
            group[-1] = group[-2] + 1
        return np.searchsorted(group, group), np.searchsorted(group, group, side="right")
