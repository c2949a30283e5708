"""Numbers with their uncertainty: success rates, risks, resampled statistics (SPEC 1).

Nothing here is clipped or rounded: a negative risk is noise around zero and is shown as such.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import norm

from tabveil import check

CONFIDENCE = 0.95
N_RESAMPLES = 1000

Floats = NDArray[np.float64]


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
    if not 0 <= successes <= trials:
        check.between("wilson", "successes", successes, 0, trials)
    z = float(norm.ppf((1 + confidence) / 2))
    center = (successes + z * z / 2) / (trials + z * z)
    half = z / (trials + z * z) * math.sqrt(successes * (trials - successes) / trials + z * z / 4)
    return Estimate(value=center, low=center - half, high=center + half, n=int(trials))


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


def percentile_interval(value: float, resampled: Floats, n: int, confidence: float = CONFIDENCE) -> Estimate:
    """Turn a statistic and its resampled values (n_resamples,) into an estimate."""
    low, high = np.quantile(resampled, [(1 - confidence) / 2, (1 + confidence) / 2])
    return Estimate(value=float(value), low=float(low), high=float(high), n=n)


def resample_means(
    values: Floats, weights: Floats | None = None, *, rng: Generator, n_resamples: int = N_RESAMPLES
) -> Floats:
    """Bootstrap the (weighted) mean: resample records, recompute nothing but the mean.

    Records are sorted first, so the answer does not depend on their order, and equal records are drawn
    together: a resample of n records with u different values is one draw of a multinomial, n or u numbers,
    whichever is less. Returns (n_resamples,) means.
    """
    weights = np.ones(len(values)) if weights is None else weights
    pairs = np.column_stack([values, weights])
    kinds, counts = np.unique(pairs, axis=0, return_counts=True) if len(pairs) else (pairs, np.ones(0))
    n = len(values)
    means = np.empty(n_resamples)
    rows_at_once = max(1, 4_000_000 // max(len(kinds), 1))
    for start in range(0, n_resamples, rows_at_once):
        stop = min(start + rows_at_once, n_resamples)
        if len(kinds) * 4 < n:
            drawn = rng.multinomial(n, counts / n, size=stop - start)  # (b, u)
            means[start:stop] = (drawn @ (kinds[:, 0] * kinds[:, 1])) / (drawn @ kinds[:, 1])
        else:
            order = np.lexsort((weights, values))
            picks = order[rng.integers(0, n, size=(stop - start, n))]  # (b, n)
            drawn_weights = weights[picks]
            means[start:stop] = (values[picks] * drawn_weights).sum(axis=1) / drawn_weights.sum(axis=1)
    return means


def sidak(confidence: float, n_intervals: int) -> float:
    """Return the level each of several intervals needs so that all hold together with ``confidence``.

    >>> round(sidak(0.95, 10), 4)
    0.9949
    """
    check.at_least("sidak", "n_intervals", n_intervals, 1)
    check.between("sidak", "confidence", confidence, 0, 1)
    return float(confidence ** (1 / n_intervals))


def strongest(configurations: Mapping[str, Estimate]) -> str:
    """Name the configuration with the largest lower bound (the first of equals).

    The intervals must be simultaneous (:func:`sidak`): the largest of many noisy values is biased upward, the
    largest of many lower bounds that hold together is not.
    """
    return max(configurations, key=lambda name: configurations[name].low)


def shifted(estimate: Estimate, *, scale: float = 1.0, offset: float = 0.0) -> Estimate:
    """Return ``scale * estimate + offset`` for a positive scale."""
    return replace(
        estimate,
        value=scale * estimate.value + offset,
        low=scale * estimate.low + offset,
        high=scale * estimate.high + offset,
    )
