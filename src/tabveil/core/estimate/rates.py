"""Shares and success rates with their uncertainty, one at a time or many at once.

All bounds are Wilson's in the end: they hold where nothing was counted and where everything was, which is
where a normal interval has no width at all. They hold on average over the rates there may be; where a bound
is to prove something, it must hold for each, and is an exact one (:func:`exact_rate`; Clopper and Pearson
1934).
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from scipy.special import betainc, betaincinv, ndtr, ndtri

from tabveil.core import check
from tabveil.core.storage.plain import Number

CONFIDENCE = 0.95
FEW = 5  # fewer losses than this say little about how large they are
NOTHING_VARIES = 1e-12  # relative: what rounding leaves of a variance of zero


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value with its confidence interval and the number of observations behind it."""

    value: Number
    low: Number
    high: Number
    n: int

    @property
    def sound(self) -> bool:
        """Whether it can be an estimate: its value lies between its bounds, where they are numbers.

        >>> known(0.5, 3).sound, Estimate(value=0.5, low=0.6, high=0.7, n=3).sound
        (True, False)
        """
        return self.n >= 0 and not (
            self.value < self.low - NOTHING_VARIES
            or self.value > self.high + NOTHING_VARIES
            or self.low > self.high + NOTHING_VARIES
        )

    def each(self, change: Callable[[float], float]) -> "Estimate":
        """Return what a change that never falls makes of the value and of its bounds."""
        return Estimate(value=change(self.value), low=change(self.low), high=change(self.high), n=self.n)


def known(value: float, n: int) -> Estimate:
    """Return a value that is not estimated but given, such as the chance of a coin."""
    return Estimate(value=value, low=value, high=value, n=n)


def probit(confidence: float) -> float:
    """Return how many standard errors a normal interval reaches to either side.

    >>> round(probit(0.95), 3)
    1.96
    """
    return float(ndtri((1 + confidence) / 2))


def level_of(errors: float) -> float:
    """Return the confidence of a normal interval that reaches so many standard errors to either side.

    >>> round(level_of(1.96), 3)
    0.95
    """
    return float(2 * ndtr(errors) - 1)


def wilson(successes: float, trials: float, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a success rate by Wilson's score: its center and half-width, which hold at 0 and at n too.

    The interval holds every rate that the count does not contradict, each tested with the variance it would
    itself have (Wilson 1927). Counts need not be whole: weighted observations have effective numbers.

    >>> wilson(5, 10).value
    0.5
    >>> round(wilson(0, 500).high, 4)
    0.0076
    """
    check.at_least("wilson", "trials", trials, 1)
    check.at_least("wilson", "successes", successes, 0)
    check.at_least("wilson", "failures", trials - successes, 0)
    check.between("wilson", "confidence", confidence, 0, 1)
    z = probit(confidence)
    center = (successes + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * math.sqrt(successes * (trials - successes) / trials + z * z / 4)
    return Estimate(value=center, low=center - half, high=center + half, n=int(trials))


def tossed(value: float, tosses: float, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """Put Wilson's bounds for so many coin tosses around a share of ``n`` observations.

    For a share whose observations depend on each other or count differently: it varies as much as the share
    of heads in this many independent tosses (Kish 1965, the effective sample size).
    """
    bounds = wilson(min(max(value, 0.0), 1.0) * tosses, tosses, confidence)
    return Estimate(value=value, low=min(bounds.low, value), high=max(bounds.high, value), n=n)


def rate(successes: float, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a success rate by the observed one, between Wilson's bounds.

    Wilson's center is pulled toward one half by as much as trials are few: the difference of two centers is
    biased where the numbers of trials differ.

    >>> rate(0, 500).value, round(rate(0, 500).high, 4)
    (0.0, 0.0076)
    """
    return tossed(successes / trials, trials, trials, confidence)


def share(
    value: float, n: int, *, effective: float | None = None, confidence: float = CONFIDENCE
) -> Estimate:
    """Estimate a share by the observed value itself, between Wilson's bounds.

    For shares that are facts about the tables at hand (a copy must read 1, not Wilson's 0.999). ``effective``
    is the number of independent observations the ``n`` observed ones are worth.

    >>> share(1.0, 500).value
    1.0
    """
    worth = float(n) if effective is None else max(min(effective, float(n)), 1.0)
    return tossed(value, worth, n, confidence)


def mean_share(value: float, variance: float, n: int, confidence: float, *, independent: float) -> Estimate:
    """Put bounds around a mean of ``n`` scores between 0 and 1 whose variance is known.

    Wilson's, for as many observations as the variance makes it worth: they hold where few scores are not
    zero. Where nothing varies, it is worth the ``independent`` observations. A mean near 1 can vary more than
    any share does (each of its few losses may be large); there the bounds are at least the normal ones.
    """
    spread = max(value * (1 - value), 0.0)  # rounding can carry a mean past 1
    worth = spread / variance if variance > spread * NOTHING_VARIES else independent
    if 2 * value <= 1 or worth * (1 - value) >= FEW:
        return tossed(value, max(worth, 1.0), n, confidence)
    bounds = wilson(min(value, 1.0) * independent, independent, confidence)
    half = probit(confidence) * variance**0.5
    high = min(max(value + half, bounds.high), max(value, 1.0))  # no mean of such scores exceeds 1
    return Estimate(value=value, low=min(value - half, bounds.low), high=high, n=n)


def least_rate(successes: int, trials: int, tail: float) -> float:
    """Return the smallest rate by which so many successes have a chance of ``tail`` or more.

    >>> round(least_rate(100, 100, 0.025), 4), least_rate(0, 100, 0.025)
    (0.9638, 0.0)
    """
    check.at_least("exact rate", "trials", trials, 1)
    check.at_least("exact rate", "successes", successes, 0)
    check.at_least("exact rate", "failures", trials - successes, 0)
    return float(betaincinv(successes, trials - successes + 1, tail)) if successes else 0.0


def largest_rate(successes: int, trials: int, tail: float) -> float:
    """Return the largest rate by which so few successes have a chance of ``tail`` or more.

    >>> round(largest_rate(0, 100, 0.025), 4), largest_rate(100, 100, 0.025)
    (0.0362, 1.0)
    """
    return 1.0 - least_rate(trials - successes, trials, tail)


def chance_of_at_least(successes: int, trials: int, rate: float) -> float:
    """Return the chance of so many successes or more: the upper tail of the binomial law.

    >>> chance_of_at_least(2, 2, 0.5), chance_of_at_least(0, 2, 0.5), chance_of_at_least(3, 2, 0.5)
    (0.25, 1.0, 0.0)
    """
    if successes <= 0:
        return 1.0
    return float(betainc(successes, trials - successes + 1, rate)) if successes <= trials else 0.0


def exact_rate(successes: int, trials: int, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a rate by the observed one, between exact bounds.

    >>> found = exact_rate(8, 10)
    >>> found.value, round(found.low, 3), round(found.high, 3)
    (0.8, 0.444, 0.975)
    """
    check.between("exact_rate", "confidence", confidence, 0, 1)
    tail = (1 - confidence) / 2
    return Estimate(
        value=successes / trials,
        low=least_rate(successes, trials, tail),
        high=largest_rate(successes, trials, tail),
        n=trials,
    )


Key = TypeVar("Key")


def sidak(confidence: float, n_intervals: int) -> float:
    """Return the level each of several intervals needs so that all hold together with ``confidence``.

    Exact where they are independent; where they go together, as attacks on the same rows do, all hold even
    more often (Šidák 1967).

    >>> round(sidak(0.95, 10), 4)
    0.9949
    """
    check.at_least("sidak", "n_intervals", n_intervals, 1)
    check.between("sidak", "confidence", confidence, 0, 1)
    return float(confidence ** (1 / n_intervals))


def strongest(configurations: Mapping[Key, Estimate]) -> Key:
    """Return the configuration with the largest lower bound (the first of equals).

    The intervals must be simultaneous (:func:`sidak`): the largest of many noisy values is biased upward, the
    largest of many lower bounds that hold together is not.
    """
    return max(configurations, key=lambda key: configurations[key].low)
