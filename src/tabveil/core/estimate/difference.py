"""How many more of one table's people than of another's? A difference of two counted rates.

See docs/definitions.md, Gain.

The rates' own bounds are exact ones (Clopper and Pearson 1934), and the errors of a difference of independent
rates add in squares, each taken on the side where it moves the difference (MOVER; Newcombe 1998). Wilson's
bounds, or Miettinen and Nurminen's interval, are shorter but fail where sizes differ and levels are high, as
they are for many configurations at once: with 3,000 train and 50 control rows they missed a gain of three
people in a hundred ten times as often as meant. Whether zero is among the differences is decided by Fisher's
exact test, too.
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, gammaln, ndtr

from tabveil.core.estimate.rates import CONFIDENCE, Estimate, level_of
from tabveil.core.table import Floats

ROUNDING = 1e-9
NEAREST, FARTHEST = 0.01, 8.0  # standard errors: nearer is no evidence, beyond no chance is worth a number


def exact_bounds(successes: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the rates that so many successes do not contradict, each tested exactly (Clopper and Pearson).

    >>> low, high = exact_bounds(0, 100)
    >>> low, round(high, 4)
    (0.0, 0.0362)
    """
    tail, failures = (1 - confidence) / 2, n - successes
    low = float(betaincinv(successes, failures + 1, tail)) if successes > 0 else 0.0
    high = float(1 - betaincinv(failures, successes + 1, tail)) if failures > 0 else 1.0
    return low, high


def difference(
    successes: float, n: int, others: float, n_others: int, confidence: float = CONFIDENCE
) -> Estimate:
    """Return by how much the rate of ``successes`` in ``n`` is above that of ``others`` in ``n_others``.

    >>> found = difference(56, 70, 48, 80)
    >>> round(found.low, 3), round(found.value, 3), round(found.high, 3)
    (0.044, 0.2, 0.344)
    """
    value, low, high = _between(successes, n, others, n_others, confidence)
    tail = (1 - confidence) / 2
    if low > 0 and exact_chance(successes, n, others, n_others) > tail:
        low = 0.0
    if high < 0 and exact_chance(others, n_others, successes, n) > tail:
        high = 0.0
    return Estimate(value=value, low=low, high=high, n=n)


def over_all(found: Estimate, tried: float) -> Estimate:
    """Return what a rate, or a difference of rates, of all people comes to if not only this share is tried.

    Somebody who describes a random tenth of the rows of a release finds a tenth of those whom all describe.

    >>> over_all(Estimate(value=0.125, low=-0.25, high=0.75, n=500), 0.5)
    Estimate(value=0.25, low=-0.5, high=1.0, n=500)
    """
    if tried >= 1:
        return found
    value, low, high = (max(min(each / tried, 1.0), -1.0) for each in (found.value, found.low, found.high))
    return Estimate(value=value, low=low, high=high, n=found.n)


def _between(
    successes: float, n: int, others: float, n_others: int, confidence: float
) -> tuple[float, float, float]:
    first, second = successes / n, others / n_others
    low, high = exact_bounds(successes, n, confidence)
    other_low, other_high = exact_bounds(others, n_others, confidence)
    value = first - second
    return (
        value,
        max(value - math.hypot(first - low, other_high - second), -1.0),
        min(value + math.hypot(high - first, second - other_low), 1.0),
    )


def chance_of_difference(successes: float, n: int, others: float, n_others: int) -> float:
    """Return how likely as many more successes would be if both rates were equal.

    It is the tail at which the lower end of :func:`difference` reaches zero.

    >>> round(chance_of_difference(12, 3000, 0, 3000), 5)
    0.00024
    """

    def low(errors: float) -> float:
        return _between(successes, n, others, n_others, level_of(errors))[1]

    return max(tail_beyond_zero(low), exact_chance(successes, n, others, n_others))


def tail_beyond_zero(low: Callable[[float], float]) -> float:
    """Return the chance at which a lower end, given by the standard errors it reaches, comes down to zero."""
    if low(NEAREST) <= 0:
        return 0.5
    if low(FARTHEST) > 0:
        return float(ndtr(-FARTHEST))
    return float(ndtr(-brentq(low, NEAREST, FARTHEST, xtol=1e-4)))


def exact_chance(successes: float, n: int, others: float, n_others: int) -> float:
    """Return the chance of so many of all successes, or more, among ``n`` rows dealt at random (Fisher 1935).

    Counts that are not whole are rounded against the first side.

    >>> round(exact_chance(3, 4, 1, 4), 4)  # the lady who tasted tea
    0.2429
    """
    hits = math.floor(successes + ROUNDING)
    total = hits + math.ceil(others - ROUNDING)
    of_first = np.arange(max(hits, total - n_others), min(total, n) + 1).astype(np.float64)
    ways = (
        _ways(n, of_first) + _ways(n_others, total - of_first) - _ways(n + n_others, np.array(float(total)))
    )
    return min(float(np.exp(ways).sum()), 1.0)


def _ways(n: int, k: Floats) -> Floats:
    """Return the logarithm of the number of ways to choose k of n."""
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))
