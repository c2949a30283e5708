"""Means, ratios and resampled statistics with their uncertainty.

Standard errors come from each record's influence, the amount by which it moves the statistic (the delta
method): exact to first order, and without resampling.

A ratio of two uncertain numbers (:func:`ratio`) says when it means nothing. Its interval holds every ratio r
for which ``over - r · under`` may be zero, as its bounds are put together from those of the two numbers
(Fieller 1954; for bounds that are not symmetric, MOVER: Donner and Zou 2012). Where the lower number may
itself be zero, no ratio is contradicted, however large: then there is no interval, and the ratio of the two
values is chance. At 95 %, one comparison in twenty at most shows an interval that misses the truth, those
counted that show none: among the shown ones there are more, the less often one is.
"""

import math

import numpy as np
from scipy.special import stdtrit

from tabveil.core.estimate.rates import CONFIDENCE, Estimate
from tabveil.core.table import Floats, Indices

N_RESAMPLES = 1000
MOST_RESAMPLES = 1_000_000
IN_A_TAIL = 5  # resamples beyond either end of an interval: fewer leave the end to chance


def around(value: float, error: float, n: int, *, groups: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return Student's interval for a value whose standard error was estimated from this many groups."""
    half = student(groups, confidence) * error
    return Estimate(value=value, low=value - half, high=value + half, n=n)


def student(groups: int, confidence: float) -> float:
    """Return how many standard errors an interval reaches, where the error rests on this many groups.

    Student's quantile (1908): a normal one would forget that the error itself is estimated.
    """
    return float(stdtrit(max(groups - 1, 1), (1 + confidence) / 2))


def grouped_error(influence: Floats, *groupings: Indices) -> float:
    """Return the standard error of ``influence.sum()`` when records of one group stand or fall together.

    Records near one real row are all near or all far when that row is replaced, so errors computed (or
    resampled) record by record are too small. With two groupings, records that share a group in either are
    dependent: variances add, what both count is taken off (Cameron, Gelbach and Miller 2011).
    """
    first = _grouped_variance(influence, groupings[0])
    if len(groupings) == 1:
        return math.sqrt(first)
    second = _grouped_variance(influence, groupings[1])
    both = _grouped_variance(influence, groupings[0] * (groupings[1].max(initial=0) + 1) + groupings[1])
    return math.sqrt(max(first + second - both, first, second))


def _grouped_variance(influence: Floats, groups: Indices) -> float:
    _, positions = np.unique(groups, return_inverse=True)
    order = np.lexsort((influence, positions))  # sums must not depend on the order of the records
    sums = np.sort(np.bincount(positions[order], weights=influence[order]))
    return float((sums**2).sum()) * len(sums) / max(len(sums) - 1, 1)


def mean_of(values: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Return a mean with Student's interval, never narrower than one more row at the worst place makes it.

    The rows there are may all be equal, and would then seem to leave no doubt.
    """
    n = len(values)
    error = math.sqrt(float(values.var()) / n + 1 / n**2)
    return around(float(values.mean()), error, n, groups=n, confidence=confidence)


def ratio_of_means(
    above: Floats, below: Floats, *, offset: float = 0.0, sign: float = 1.0, confidence: float = CONFIDENCE
) -> Estimate:
    """Return ``offset + sign · mean(above) / mean(below)`` with the delta method's interval.

    Both means are over the same rows, so a row moves the ratio by ``(above - ratio · below) / mean(below)``.
    """
    n, scale = len(above), float(below.mean())
    ratio = float(above.mean()) / scale
    error = math.sqrt(float(((above - ratio * below) ** 2).sum())) / (n * scale)
    return around(offset + sign * ratio, error, n, groups=n, confidence=confidence)


def bounded_distance(
    value: float, floor: float, variance: float, sizes: tuple[int, int], confidence: float = CONFIDENCE
) -> Estimate:
    """Return a distance between 0 and what it could be, given its floor, its variance and the sizes.

    ``floor`` is what two samples of one population are expected to score: noise never cancels in a distance.
    The true one is at most the observed one plus its scatter, at least the observed one minus scatter and
    floor. To the variance is added what one more row at the worst place of each table would change, for the
    rows that are there may all be equal.
    """
    variance += sum(1 / n**2 for n in sizes)
    spread = around(value, math.sqrt(variance), sizes[1], groups=min(sizes), confidence=confidence)
    return Estimate(value=value, low=min(max(spread.low - floor, 0.0), value), high=spread.high, n=spread.n)


def percentile_interval(value: float, resampled: Floats, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """Turn a statistic and its resampled values (n_resamples,) into an estimate (Efron 1981).

    Where resampling is biased the percentiles can pass by the value itself; the interval is then widened to
    hold it.
    """
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value=float(value), low=min(float(low), value), high=max(float(high), value), n=n)


def resamples_for(confidence: float) -> int:
    """Return how many resamples an interval at this level needs: its two ends rest on a few of them.

    >>> resamples_for(0.95), resamples_for(0.999)
    (1000, 10000)
    """
    in_each_tail = (1 - confidence) / 2
    return int(np.clip(np.ceil(round(IN_A_TAIL / in_each_tail, 6)), N_RESAMPLES, MOST_RESAMPLES))


def ratio(over: Estimate, under: Estimate) -> Estimate | None:
    """Return how many times ``under`` there is in ``over``; None where ``under`` may be zero or below.

    The two count as independent. Where they rest on the same rows, and so err alike, that makes the interval
    wider than it had to be.

    >>> over = Estimate(value=0.1, low=0.08, high=0.12, n=9)
    >>> halved = ratio(over, Estimate(value=0.2, low=0.18, high=0.22, n=9))
    >>> round(halved.low, 3), halved.value, round(halved.high, 3)
    (0.393, 0.5, 0.618)
    """
    known = (over.value, over.low, over.high, under.value, under.low, under.high)
    if not all(map(math.isfinite, known)) or under.low <= 0:
        return None
    mirrored = Estimate(value=-over.value, low=-over.high, high=-over.low, n=over.n)
    return Estimate(
        value=over.value / under.value, low=_least(over, under), high=-_least(mirrored, under), n=over.n
    )


def _least(over: Estimate, under: Estimate) -> float:
    """Return the smallest r at which the lower bound of ``over - r · under`` is not above zero.

    That bound is ``over - r · under - hypot(error, r · other)``, the errors on the sides that move it down:
    of ``under`` the upper one for r above zero, and the lower one for r below.
    """
    value, below = over.value, under.value
    left = over.low * (2 * value - over.low)  # value² - error²
    if over.low >= 0:
        other = under.high - below
        room = (below - other) * (below + other)
        return left / (value * below + _root(value, below, room, left)) if over.low > 0 else 0.0
    other = below - under.low
    room = (below - other) * (below + other)  # above zero, as all of the lower number is
    return -(_root(value, below, room, left) - value * below) / room


def _root(value: float, below: float, room: float, left: float) -> float:
    return math.sqrt(max((value * below) ** 2 - room * left, 0.0))
