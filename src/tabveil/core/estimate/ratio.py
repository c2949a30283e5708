"""How large is one uncertain number beside another? A ratio that says when it means nothing.

The interval holds every ratio r for which ``over - r · under`` may be zero, as its bounds are put together
from those of the two numbers (Fieller 1954; for bounds that are not symmetric, MOVER: Donner and Zou 2012).
Where the lower number may itself be zero, no ratio is contradicted, however large: then there is no interval,
and the ratio of the two values is chance. At 95 %, one comparison in twenty at most shows an interval that
misses the truth, those counted that show none: among the shown ones there are more, the less often one is.
"""

import math

from tabveil.core.estimate.rates import Estimate


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
