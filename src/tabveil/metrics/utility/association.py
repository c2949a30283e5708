"""How strongly do two columns of a table go together? Three measures for three kinds of pairs.

Each is a smooth function of the rows, so each row's influence on it is known in closed form; sums of
influences give standard errors of anything built from several associations of the same rows. A column that
does not vary goes with nothing: its association is 0.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tabveil.core.table import Floats, Indices
from tabveil.metrics.utility import association_kernels


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """A column of numbers, NaN for missing."""

    cells: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Codes:
    """A column of labels, missing being one of them; ``n_levels`` counts those of all tables compared."""

    cells: Indices  # (n,)
    n_levels: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Association:
    """A strength and what each row adds to its error; the mean influence is zero."""

    value: float
    influence: Floats  # (n,)

    @cached_property
    def variance(self) -> float:
        """The variance of the value, by the delta method."""
        return float((self.influence**2).sum()) / max(len(self.influence), 1) ** 2


def associate(a: Numbers | Codes, b: Numbers | Codes) -> Association:
    """Measure a pair of columns by the measure that fits them."""
    match a, b:
        case Numbers(), Numbers():
            return pearson(a, b)
        case Numbers(), Codes():
            return correlation_ratio(a, b)
        case Codes(), Numbers():
            return correlation_ratio(b, a)
        case Codes(), Codes():
            return cramers_v(a, b)
    raise AssertionError("a column holds numbers or codes")


def pearson(a: Numbers, b: Numbers) -> Association:
    """Return Pearson's correlation over the rows that have both numbers, in [-1, 1]."""
    influence = np.zeros(len(a.cells))
    return Association(value=association_kernels.pearson(a.cells, b.cells, influence), influence=influence)


def correlation_ratio(numbers: Numbers, codes: Codes) -> Association:
    """Return the root of the share of the numbers' variance that lies between labels, in [0, 1].

    The share is Kelley's (1935) ``1 - (1 - eta²)(n - 1)/(n - k)``, 0 where that is negative: eta² itself
    grows with the number of labels k even where labels tell nothing. Rows without a number are left out.
    """
    influence = np.zeros(len(numbers.cells))
    value = association_kernels.correlation_ratio(numbers.cells, codes.cells, codes.n_levels, influence)
    return Association(value=value, influence=influence)


def cramers_v(a: Codes, b: Codes) -> Association:
    """Return Cramér's V in [0, 1], corrected for chance as by Bergsma (2013).

    ``V² = (phi² - (r - 1)(c - 1)/(n - 1)) / (min(r, c) - 1)``, the numbers of labels corrected too, 0 where
    that is negative: V itself grows with the number of labels even where columns are independent.
    """
    influence = np.zeros(len(a.cells))
    value = association_kernels.cramers_v(a.cells, b.cells, a.n_levels, b.n_levels, influence)
    return Association(value=value, influence=influence)
