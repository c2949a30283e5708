"""Numbers with their uncertainty: success rates, risks, resampled statistics (SPEC 1).

Nothing here is clipped or rounded: a negative risk is noise around zero and is shown as such.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from tabveil import check

CONFIDENCE = 0.95
N_RESAMPLES = 1000
NEVER = 1e-12  # a failure rate that only rounding tells from zero

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]
Key = TypeVar("Key")


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A value with its confidence interval and the number of observations behind it."""

    value: float
    low: float
    high: float
    n: int

    def to_json(self) -> dict[str, float | int]:
        """Return plain data."""
        return {"value": self.value, "low": self.low, "high": self.high, "n": self.n}


def known(value: float, n: int) -> Estimate:
    """Return a value that is not estimated but given, such as the chance of a coin."""
    return Estimate(value=value, low=value, high=value, n=n)


def wilson(successes: float, trials: float, confidence: float = CONFIDENCE) -> Estimate:
    """Estimate a success rate by Wilson's score: its center and half-width, which hold at 0 and at n too.

    >>> wilson(5, 10).value
    0.5
    >>> round(wilson(0, 500).high, 4)
    0.0076
    """
    check.at_least("wilson", "trials", trials, 1)
    check.at_least("wilson", "successes", successes, 0)
    check.at_least("wilson", "failures", trials - successes, 0)
    check.between("wilson", "confidence", confidence, 0, 1)
    z = float(ndtri((1 + confidence) / 2))
    center = (successes + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * math.sqrt(successes * (trials - successes) / trials + z * z / 4)
    return Estimate(value=center, low=center - half, high=center + half, n=int(trials))


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
    bounds = wilson(min(max(value, 0.0), 1.0) * worth, worth, confidence)
    return Estimate(value=value, low=min(bounds.low, value), high=max(bounds.high, value), n=n)


def excess(attack: Estimate, control: Estimate, worst: float = 1.0) -> Estimate | None:
    """How much of the way from the control's score to the worst case does the attack go?

    ``(attack - control) / (worst - control)``, errors propagated from both sides. None where the control is
    already at the worst case, so that nothing is left to measure.

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


def risk_between(attack: Estimate, control: Estimate) -> Estimate:
    """How much of the way from the control's rate to certain success does the attack go?

    ``(attack - control) / (1 - control)``, that is 1 less the ratio of the two failure rates, in the interval
    that Fieller's theorem gives a ratio whose two rates lie in symmetric intervals such as Wilson's (MOVER-R;
    Donner and Zou 2012). It is above zero exactly when the difference of the rates is. Errors propagated by
    derivatives are far too small where control seldom fails, as with a secret that is easily guessed: with
    4,000 train and 1,000 control rows guessed right in 97 % they raise several times the false alarms meant.

    >>> risk = risk_between(wilson(300, 1000), wilson(100, 1000))
    >>> round(risk.low, 3), round(risk.value, 3), round(risk.high, 3)
    (0.186, 0.222, 0.257)
    """
    failed, control_failed = 1 - attack.value, 1 - control.value
    ends = (1 - attack.high) * (1 - attack.low)
    control_ends = (1 - control.high) * (1 - control.low)
    value = 1 - failed / control_failed
    if 1 - control.high < NEVER:  # the ratio has no bound: take the difference, by the room there was
        half = math.hypot(attack.high - attack.value, control.high - control.value) / control_failed
        return Estimate(value=value, low=value - half, high=value + half, n=attack.n)
    middle = failed * control_failed
    half = math.sqrt(max(middle**2 - ends * control_ends, 0.0))
    return Estimate(
        value=value,
        low=1 - (middle + half) / control_ends,
        high=1 - (middle - half) / control_ends,
        n=attack.n,
    )


def percentile_interval(value: float, resampled: Floats, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """Turn a statistic and its resampled values (n_resamples,) into an estimate.

    Where resampling is biased the percentiles can pass by the value itself; the interval is then widened to
    hold it.
    """
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value=float(value), low=min(float(low), value), high=max(float(high), value), n=n)


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


def around(value: float, error: float, n: int, *, groups: int, confidence: float = CONFIDENCE) -> Estimate:
    """Return Student's interval for a value whose standard error was estimated from this many groups."""
    half = float(stdtrit(max(groups - 1, 1), (1 + confidence) / 2)) * error
    return Estimate(value=value, low=value - half, high=value + half, n=n)


def sidak(confidence: float, n_intervals: int) -> float:
    """Return the level each of several intervals needs so that all hold together with ``confidence``.

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
