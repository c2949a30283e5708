"""How far does an attack go from the control's score to the worst case? Differences, and risks made of them.

The value of a risk is always ``(attack - control) / (worst - control)``. Which interval is right depends on
what the two scores are: counts of right guesses (:func:`risk_between`), means of scores with bounds of their
own (:func:`risk_toward`), squared errors (:func:`risk_of_errors`), or anything against a control that is
known (:func:`excess`).

The bounds of two counted rates are exact ones (Clopper and Pearson 1934), and the errors of a difference of
independent rates add in squares, each taken on the side where it moves the difference (MOVER; Newcombe 1998).
Wilson's bounds, or Miettinen and Nurminen's interval, are shorter but fail where sizes differ and levels are
high, as they are for many configurations at once: with 3,000 train and 50 control rows they missed a gain of
three people in a hundred ten times as often as meant. Whether zero is among the differences is decided by
Fisher's exact test, too (docs/definitions.md, Gain).
"""

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaincinv, gammaln, ndtr

from tabveil.core.estimate.means import around, student
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


def smallest_gain(n: int, n_others: int, confidence: float = CONFIDENCE, *, rate: float = 0.5) -> float:
    """Return the smallest difference from ``rate``, that of the others, whose interval leaves out zero.

    About half of them is where rates vary most: elsewhere less can be told.

    >>> [round(smallest_gain(n, n), 3) for n in (100, 2000, 100_000)]
    [0.15, 0.031, 0.004]
    """
    others = round(rate * n_others)
    low, high = round(rate * n), n + 1  # the first tells nothing, the second would tell
    while high - low > 1:
        middle = (low + high) // 2
        if middle <= n and _between(middle, n, others, n_others, confidence)[1] <= 0:
            low = middle
        else:
            high = middle
    return min(high / n - others / n_others, 1.0)


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


def excess(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How much of the way from the control's score to the worst case does the attack go?

    ``(attack - control) / (worst - control)``, errors propagated from both sides by the derivatives, as
    Anonymeter does (Giomi et al. 2023). None where the control is already at the worst case, so that nothing
    is left to measure. Right where the control is given (a coin) or the risk is small; where both sides are
    estimated and control is near the worst case, the derivatives say too little (:func:`risk_between`).

    >>> from tabveil.core.estimate import wilson
    >>> round(excess(wilson(300, 1000), wilson(100, 1000)).value, 3)
    0.222
    """
    room = worst - control.value
    if room == 0:
        return None
    value = (attack.value - control.value) / room
    by_attack = 1 / room
    by_control = (attack.value - worst) / room**2
    below = math.hypot(
        _error(attack, upward=by_attack < 0) * by_attack, _error(control, upward=by_control < 0) * by_control
    )
    above = math.hypot(
        _error(attack, upward=by_attack > 0) * by_attack, _error(control, upward=by_control > 0) * by_control
    )
    return Estimate(value=value, low=value - below, high=value + above, n=attack.n)


def _error(estimate: Estimate, *, upward: bool) -> float:
    """Return the half of the interval on one side: bootstrap intervals are not symmetric."""
    return estimate.high - estimate.value if upward else estimate.value - estimate.low


def risk_between(
    successes: float, n: int, others: float, n_others: int, confidence: float = CONFIDENCE
) -> Estimate | None:
    """How much of the way from the control's rate to certain success does the attack go?

    ``(attack - control) / (1 - control)``, that is 1 less the ratio of the two failure rates, each in its
    exact bounds; the errors of a ratio's logarithm add in squares, each on the side where it moves the ratio
    (MOVER; Donner and Zou 2012). Never above 1, and above zero exactly when the :func:`difference` of the
    rates is. None where control never fails, so that nothing is left to measure.

    >>> risk = risk_between(300, 1000, 100, 1000)
    >>> round(risk.low, 3), round(risk.value, 3), round(risk.high, 3)
    (0.186, 0.222, 0.258)
    """
    failed, control_failed = 1 - successes / n, 1 - others / n_others
    if control_failed <= 0:
        return None
    low, high = exact_bounds(n - successes, n, confidence)
    control_low, control_high = exact_bounds(n_others - others, n_others, confidence)
    ratio = failed / control_failed
    if failed > 0:
        least = ratio * math.exp(-math.hypot(math.log(failed / low), math.log(control_high / control_failed)))
        most = ratio * math.exp(math.hypot(math.log(high / failed), math.log(control_failed / control_low)))
    else:
        least, most = 0.0, high / control_low
    gain = difference(successes, n, others, n_others, confidence)
    return Estimate(
        value=1 - ratio, low=_same_side(1 - most, gain.low), high=_same_side(1 - least, gain.high), n=n
    )


def _same_side(bound: float, gain: float) -> float:
    """Move a bound to zero where it says otherwise than the gain's: one cannot be without the other."""
    return bound if bound * gain > 0 else 0.0


def risk_toward(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How far does the attack go from the control's score to the worst one? None where that is no way at all.

    Errors are those at no risk, where both sides weigh alike. Propagated at the value itself, the control's
    would vanish as the attack nears the worst case, and a handful of guesses that happen to be right in train
    would pass for proof.
    """
    room = worst - control.value
    if room <= 0:
        return None
    return part_of_room((attack.value - control.value) / room, attack, control, room)


def part_of_room(value: float, gained: Estimate, lost: Estimate, room: float) -> Estimate:
    """Put bounds around what was gained less what was lost, as a part of the room there was.

    The errors of a difference of two independent estimates add in squares, each taken on the side where it
    moves the difference (Newcombe 1998, method 10; MOVER). Nothing exceeds all of the room.
    """
    below = math.hypot(gained.value - gained.low, lost.high - lost.value) / room
    above = math.hypot(gained.high - gained.value, lost.value - lost.low) / room
    return Estimate(value=value, low=value - below, high=min(value + above, max(value, 1.0)), n=gained.n)


ENOUGH = 10  # squared errors on either side, for their logarithms to be near normal


def error_score(squares: Floats, confidence: float = CONFIDENCE) -> Estimate:
    """Return 1 less the root mean square error, which must be a share of the column's range.

    >>> error_score(np.array([0.04, 0.04])).value
    0.8
    """
    return root_score(*_mean(squares), len(squares), confidence)


def root_score(mean: float, error: float, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return 1 less the root of a mean square, whose standard error is known.

    A root moves by ``1 / (2 root)`` of what its square moves (the delta method).
    """
    root = math.sqrt(mean)
    return around(1 - root, error / (2 * root) if root > 0 else 0.0, n, groups=n, confidence=confidence)


def _mean(squares: Floats) -> tuple[float, float]:
    """Return the mean and its standard error, the same for any order."""
    squares = np.sort(squares)
    mean = float(squares.mean())
    return mean, float(squares.std(ddof=1)) / math.sqrt(len(squares)) if len(squares) > 1 else mean


def risk_of_errors(train: Floats, control: Floats, confidence: float = CONFIDENCE) -> Estimate | None:
    """Return by which share the error about train is smaller than about control.

    That is the risk between the two scores: ``1 - RMSE(train) / RMSE(control)``. Errors of errors are skewed;
    their logarithms are less so, and the bounds are taken there.
    """
    (mean_train, error_train), (mean_control, error_control) = _mean(train), _mean(control)
    n = min(len(train), len(control))
    if mean_train == 0 or mean_control == 0 or n < ENOUGH:
        return excess(error_score(train, confidence), error_score(control, confidence))
    ratio = math.sqrt(mean_train / mean_control)
    error = math.hypot(error_train / mean_train, error_control / mean_control) / 2
    half = student(n, confidence) * error
    return Estimate(
        value=1 - ratio, low=1 - ratio * math.exp(half), high=1 - ratio * math.exp(-half), n=len(train)
    )
