"""Many repeats in a few numbers: means, shares, and how well values follow what was inserted.

Where a number cannot be had (one repeat, one level, a value that never changes) there is a reason in its
place: a report says why, and no file holds a number that is none.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

from tabveil.core.estimate import CONFIDENCE, around, mean_ranks
from tabveil.core.table import Floats

LEAST_PAIRS = 3  # two points lie on a line, and in an order, whatever they are


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean over repeats with Student's interval and the standard deviation; one repeat has neither."""

    value: float
    low: float | None
    high: float | None
    deviation: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many, between Clopper's and Pearson's bounds."""

    count: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.n


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A number, or why there is none."""

    value: float | None = None
    why: str | None = None


def mean(values: Iterable[float], confidence: float = CONFIDENCE) -> Mean | None:
    """Sum up repeats; None without any. What is not a number is no repeat.

    >>> found = mean([1.0, 2.0, 3.0])
    >>> found.value, found.deviation, round(found.low, 3), round(found.high, 3)
    (2.0, 1.0, -0.484, 4.484)
    """
    found = np.array([value for value in values if math.isfinite(value)], dtype=np.float64)
    n = len(found)
    if n == 0:
        return None
    value = float(found.mean())
    if n == 1:
        return Mean(value=value, low=None, high=None, deviation=None, n=1)
    deviation = float(found.std(ddof=1))
    interval = around(value, deviation / math.sqrt(n), n, groups=n, confidence=confidence)
    return Mean(value=value, low=interval.low, high=interval.high, deviation=deviation, n=n)


def share(count: int, n: int, confidence: float = CONFIDENCE) -> Share | None:
    """Return a share with its exact interval (Clopper and Pearson 1934); None where nothing was counted.

    The repeats of a benchmark are few, and all or none of them is the usual answer: an interval that is right
    on average would there be too narrow.

    >>> found = share(5, 5)
    >>> round(found.low, 3), found.high
    (0.478, 1.0)
    """
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Share(count=count, n=n, low=low, high=high)


def repeats_to_show(power: float, confidence: float = CONFIDENCE) -> int:
    """Return how many repeats, all of them seen, it takes for the interval of the chance to begin at power.

    >>> repeats_to_show(0.95), share(72, 72).low > 0.95 > share(71, 71).low
    (72, True)
    """
    return math.ceil(math.log((1 - confidence) / 2) / math.log(power))


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> Reading:
    """Return Spearman's correlation: does one rise where the other does? Ties share their mean rank.

    >>> rank_correlation([0, 0, 1, 1], [0.1, 0.1, 0.5, 0.9]).value.__round__(3)
    0.943
    """
    reason = _unrelatable(x, y)
    if reason is not None:
        return Reading(why=reason)
    return Reading(value=_correlation(mean_ranks(x), mean_ranks(y)))


def linearity(x: Sequence[float], y: Sequence[float]) -> Reading:
    """Return R² of the least-squares line through the points.

    >>> linearity([0, 1, 2], [1, 3, 5]).value
    1.0
    """
    reason = _unrelatable(x, y)
    if reason is not None:
        return Reading(why=reason)
    return Reading(value=_correlation(np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)) ** 2)


def _unrelatable(x: Sequence[float], y: Sequence[float]) -> str | None:
    if len(x) < LEAST_PAIRS:
        return "too few answers"
    if len(set(x)) == 1:
        return "one level only"
    if len(set(y)) == 1:
        return "its value never changes"
    return None


def _correlation(x: Floats, y: Floats) -> float:
    """Return Pearson's correlation, which rounding must not carry beyond its bounds."""
    x, y = _unit(x), _unit(y)
    return float(np.clip((x @ y) / math.sqrt(float(x @ x) * float(y @ y)), -1.0, 1.0))


def _unit(values: Floats) -> Floats:
    """Center values and bring them to a common size: squares of tiny ones would be zero."""
    centered: Floats = values - values.mean()
    scaled: Floats = centered / np.abs(centered).max()
    return scaled


def pooled_deviation(groups: Iterable[Sequence[float]]) -> Reading:
    """Return the standard deviation within groups, of which each may have a mean of its own.

    >>> pooled_deviation([[1.0, 3.0], [10.0, 12.0], [7.0]]).value.__round__(3)
    1.414
    """
    kept = [np.array(values, dtype=np.float64) for values in groups if len(values) > 1]
    freedom = sum(len(values) - 1 for values in kept)
    if freedom == 0:
        return Reading(why="one repeat only")
    return Reading(value=math.sqrt(sum(float(((v - v.mean()) ** 2).sum()) for v in kept) / freedom))
