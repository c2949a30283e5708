"""Exact bounds of a rate (Clopper and Pearson 1934): they hold at every number of trials.

Wilson's are shorter, and hold on average over the rates there may be. Where a bound is to prove something,
it must hold for each.
"""

from scipy.special import betainc, betaincinv

from tabveil.core import check
from tabveil.core.estimate.rates import CONFIDENCE, Estimate


def least_rate(successes: int, trials: int, tail: float) -> float:
    """Return the smallest rate by which so many successes have a chance of ``tail`` or more.

    >>> round(least_rate(100, 100, 0.025), 4), least_rate(0, 100, 0.025)
    (0.9638, 0.0)
    """
    _check(successes, trials)
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


def _check(successes: int, trials: int) -> None:
    check.at_least("exact rate", "trials", trials, 1)
    check.at_least("exact rate", "successes", successes, 0)
    check.at_least("exact rate", "failures", trials - successes, 0)
