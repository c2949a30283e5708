"""Zero-concentrated differential privacy: what Gaussian noise and exponential choices cost together.

A mechanism's cost is one number, ``rho``; the costs of steps that follow each other add up, also where a step
is chosen after looking at the answers of earlier ones. Only at the end is the sum turned into the usual
(ε, δ), by a bound: the promise made is never smaller than what was spent.

References
----------
- Bun, M. and Steinke, T. (2016). Concentrated Differential Privacy: Simplifications, Extensions, and Lower
  Bounds. TCC. (Composition; Gaussian noise.)
- Cesar, M. and Rogers, R. (2021). Bounding, Concentrating, and Truncating: Unifying Privacy Loss Composition
  for Data Analytics. ALT. (The exponential mechanism.)
- Canonne, C., Kamath, G. and Steinke, T. (2020). The Discrete Gaussian for Differential Privacy. NeurIPS.
  (From rho to ε and δ.)
"""

import math
from collections.abc import Callable
from functools import lru_cache

from scipy.optimize import minimize_scalar

_STEPS = 60  # halvings: below the last digit of a double


def of_gaussian(sigma: float) -> float:
    """Return the cost of adding noise of this standard deviation to counts where a row counts once.

    >>> of_gaussian(5.0)
    0.02
    """
    return 1 / (2 * sigma**2)


def of_choice(epsilon: float) -> float:
    """Return the cost of one choice by the exponential mechanism.

    >>> of_choice(0.5)
    0.03125
    """
    return epsilon**2 / 8


def sigma_for(rho: float) -> float:
    """Return the noise that costs ``rho``: the inverse of :func:`of_gaussian`."""
    return math.sqrt(1 / (2 * rho))


def choice_for(rho: float) -> float:
    """Return the ε of a choice that costs ``rho``: the inverse of :func:`of_choice`."""
    return math.sqrt(8 * rho)


def delta_of(rho: float, epsilon: float) -> float:
    """Return a δ for which a cost of ``rho`` keeps (ε, δ)-differential privacy.

    Every order above 1 gives a bound that holds; the best of them is searched for, so a search that ends
    early costs accuracy, never truth.
    """
    if rho <= 0:
        return 0.0

    def bound(log_above: float) -> float:  # the logarithm of δ, at the order 1 + exp(log_above)
        above = math.exp(log_above)
        order = 1 + above
        return above * (order * rho - epsilon) + order * (log_above - math.log(order)) - log_above

    best = minimize_scalar(bound, bounds=(-20.0, math.log((epsilon + 1) / (2 * rho) + 10)), method="bounded")
    return min(math.exp(min(best.fun, 0.0)), 1.0)


@lru_cache
def epsilon_of(rho: float, delta: float) -> float:
    """Return the smallest ε found that holds at this δ for a cost of ``rho``."""
    most = rho + 2 * math.sqrt(rho * math.log(1 / delta))  # the bound of Bun and Steinke
    return _last(lambda epsilon: delta_of(rho, epsilon) > delta, most)[1]


@lru_cache
def rho_of(epsilon: float, delta: float) -> float:
    """Return the largest cost found that keeps (ε, δ).

    >>> 0.0 < rho_of(1.0, 1e-9) < rho_of(2.0, 1e-9)
    True
    """
    most = epsilon + 1.0  # of that cost, no order keeps ε at any δ below 1
    return _last(lambda rho: delta_of(rho, epsilon) <= delta, most)[0]


def _last(fits: Callable[[float], bool], high: float) -> tuple[float, float]:
    """Return the last number from 0 on that fits, and the first that does not."""
    low = 0.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low, high
