"""Many intervals at once: what each must promise so that all hold together, and which of them to show."""

from collections.abc import Mapping
from typing import TypeVar

from tabveil.core import check
from tabveil.core.estimate.rates import Estimate

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
