"""When is a guessed value right? (docs/definitions.md, Guesses)"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Column, Floats, Numeric

Bools = NDArray[np.bool_]

TOLERANCE = 0.05
ZERO_TOLERANCE = 0.001
ROUNDING = 1 + 1e-9  # 0.315 is within 5 % of 0.3, whatever floating point makes of it


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """The values that count as right for each row.

    A label must be met exactly. A number must be met within ``tolerance`` times its true size; where that
    size says nothing (a true 0, a date) within ``zero_tolerance`` times the column's range. Where the true
    value is missing, no guess is right: there is nothing to infer.
    """

    low: Floats  # (n,) NaN where the true value is missing
    high: Floats  # (n,)

    @property
    def present(self) -> Bools:
        """Tell for each row whether there is a true value."""
        return ~np.isnan(self.low)

    @classmethod
    def of(cls, cells: Floats, column: Column, *, tolerance: float, zero_tolerance: float) -> Self:
        """Put the bounds around the true cells of a column."""
        if not isinstance(column, Numeric):
            return cls(low=cells, high=cells)
        sizeless = (cells == 0) | column.arbitrary_zero
        slack = np.where(sizeless, zero_tolerance * column.width, tolerance * np.abs(cells)) * ROUNDING
        return cls(low=cells - slack, high=cells + slack)

    def met_by(self, guesses: Floats | float) -> Bools:
        """Tell for each row whether its guess is right."""
        return np.asarray((guesses >= self.low) & (guesses <= self.high))

    def chance(self, pool: Floats) -> Floats:
        """Return for each row the share of a pool of guesses that would be right."""
        ordered = np.sort(pool[~np.isnan(pool)])
        n_met = np.searchsorted(ordered, self.high, side="right") - np.searchsorted(ordered, self.low)
        return np.where(self.present, n_met, 0) / len(pool)
