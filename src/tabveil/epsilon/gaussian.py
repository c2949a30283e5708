"""Privacy as the distance μ of two normal curves: what Gaussian noise costs.

Noise of standard deviation σ on what one row changes by 1 makes the worlds with and without the row two
normal curves, ``μ = 1/σ`` apart, and no guess can do better than between those. From μ follows an ε at
every δ, and the reverse.

References
----------
- Dong, J., Roth, A. and Su, W. J. (2022). Gaussian Differential Privacy. JRSS B 84(1).
"""

import math
from collections.abc import Callable

from scipy.special import log_ndtr, ndtr, ndtri

_STEPS = 200  # halvings at most: below the last digit of a double
_MOST = 1e6


def delta_of(mu: float, epsilon: float) -> float:
    """Return the δ at which a distance of μ keeps ε.

    >>> round(delta_of(1.0, 1.0), 4)
    0.1269
    """
    if mu <= 0:
        return 0.0
    below = float(ndtr(-epsilon / mu + mu / 2))
    return max(below - math.exp(min(epsilon + float(log_ndtr(-epsilon / mu - mu / 2)), 0.0)), 0.0)


def epsilon_of(mu: float, delta: float) -> float:
    """Return the ε that a distance of μ costs at this δ; 0 where even none is kept.

    >>> round(epsilon_of(0.5, 1e-5), 2)
    1.99
    """
    return _least(lambda epsilon: delta_of(mu, epsilon) <= delta)


def mu_of(epsilon: float, delta: float) -> float:
    """Return the distance that costs ε at this δ.

    >>> round(mu_of(1.0, 1e-5), 3)
    0.268
    """
    return _least(lambda mu: delta_of(mu, epsilon) >= delta)


def _least(holds: Callable[[float], bool]) -> float:
    """Return the least number from 0 on at which something holds that holds ever after."""
    if holds(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(high) and high < _MOST:
        low, high = high, 2 * high
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def mu_of_area(area: float) -> float:
    """Return how far apart two normal curves are whose scores rank right with this chance.

    >>> round(mu_of_area(0.76), 2)
    1.0
    """
    return max(math.sqrt(2) * float(ndtri(min(max(area, 0.0), 1.0))), 0.0)
