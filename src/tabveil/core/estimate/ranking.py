"""How well does a score tell members from others? The area under its curve, and a point on it.

Given the release, the rows' scores are independent of each other, so the usual variances hold.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.estimate.rates import CONFIDENCE, Estimate, probit, tossed, wilson
from tabveil.core.table import Floats


def mean_ranks(values: Floats | Sequence[float]) -> Floats:
    """Return the rank of each value from 1 up; equals share the mean of theirs.

    What ``scipy.stats.rankdata`` returns; to load that package takes longer than many a metric.

    >>> mean_ranks(np.array([0.5, 0.1, 0.5, 0.9])).tolist()
    [2.5, 1.0, 2.5, 4.0]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[place])


def outranked(rows: NDArray[Any], others: NDArray[Any]) -> Floats:
    """Return the share of the other rows that each row outranks, ties half.

    >>> outranked(np.array([2, 5]), np.array([1, 2])).tolist()
    [0.75, 1.0]
    """
    ordered = np.sort(others)
    below, upto = (np.searchsorted(ordered, rows, side=side) for side in ("left", "right"))
    return np.asarray((below + upto) / (2 * len(others)))


@dataclass(frozen=True, kw_only=True)
class AreaUnderCurve:
    """The area: does a member score higher than another row (ties half)?

    The variance is DeLong's (1988), that of a row's wins against all rows of the other table, plus what one
    more row at the worst place in each table would add, for the rows there are may all be equal. The bounds
    are Wilson's for as many coin tosses as have this variance, which hold near 0 and 1 too.
    """

    area: float
    n_tosses: float
    n_rows: int

    @classmethod
    def of(cls, train_wins: Floats, control_wins: Floats) -> Self:
        """Take the shares of control rows that each train row outranks (n,), and the reverse (m,)."""
        wins = train_wins, control_wins
        area = float(train_wins.mean())
        variance = sum(_variance_of_mean(side) + 0.25 / len(side) ** 2 for side in wins)
        rows = 4 / sum(1 / len(side) for side in wins)
        near = (area * rows + 2) / (rows + 4)  # never 0 or 1, where a toss would have no variance
        return cls(area=area, n_tosses=max(near * (1 - near) / variance, 1.0), n_rows=len(train_wins))

    def within(self, confidence: float = CONFIDENCE) -> Estimate:
        """Return the area with its bounds."""
        return tossed(self.area, self.n_tosses, self.n_rows, confidence)


def _variance_of_mean(wins: Floats) -> float:
    """Return the variance of the mean, the largest possible where a single row tells nothing about it."""
    return float(np.sort(wins).var(ddof=1)) / len(wins) if len(wins) > 1 else 0.25


def rate_beyond(
    value: float, n: int, *, level: float, n_others: int, slope: float, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate the share of ``n`` rows beyond a threshold that a share ``level`` of other rows is beyond.

    The interval adds Wilson's, for the rows, and the error of the threshold, which ``n_others`` rows set: its
    own error times the ``slope`` of the curve. Both are independent, so they add in squares.
    """
    bounds = wilson(value * n, n, confidence)
    threshold = slope * probit(confidence) * math.sqrt(level * (1 - level) / n_others)
    below, above = (math.hypot(max(gap, 0.0), threshold) for gap in (value - bounds.low, bounds.high - value))
    return Estimate(value=value, low=max(value - below, 0.0), high=min(value + above, 1.0), n=n)
