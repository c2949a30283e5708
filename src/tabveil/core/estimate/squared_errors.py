"""How good are guesses of numbers? Scores and risks made of squared errors, as shares of a range squared."""

import math

import numpy as np

from tabveil.core.estimate.means import around, student
from tabveil.core.estimate.rates import CONFIDENCE, Estimate
from tabveil.core.estimate.risk import excess
from tabveil.core.table import Floats

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
