"""l-diversity (Machanavajjhala et al. 2007): how varied are sensitive values in the least varied class?"""

from bisect import bisect_left

import numpy as np

from tabveil.core.table import Floats, Indices
from tabveil.metrics.properties.entries import Entries


def distinct(entries: Entries) -> int:
    """Return the least number of different values that a class has."""
    return int(np.bincount(entries.classes).min())


def entropy(entries: Entries) -> float:
    """Return how many equally frequent values have the entropy of the class that has least of it."""
    return float(np.exp(entropies(entries).min()))


def entropies(entries: Entries) -> Floats:
    """Return the entropy of each class, in nats."""
    shares = entries.shares
    return np.maximum(entries.summed(-shares * np.log(shares)), 0.0)


def recursive_factor(entries: Entries, l: int) -> float:  # noqa: E741 - its name everywhere
    """Return the c that (c, l)-diversity must be above: the largest ratio of first value to the l-th and on.

    Infinity where a class has fewer than l values.
    """
    ranked, ranks = _ranked(entries)
    first = np.zeros(len(entries.sizes))
    first[entries.classes[ranks == 0]] = ranked[ranks == 0]
    rest = entries.summed(np.where(ranks >= l - 1, ranked, 0.0))
    with np.errstate(divide="ignore"):
        return float(np.max(first / rest))


def recursive(entries: Entries, c: float) -> int:
    """Return the largest l for which every class is (c, l)-diverse; 1 where it is so for none above.

    The factor rises with l, so halving finds it: a number has as many values as there are rows.
    """
    above_one = range(2, distinct(entries) + 1)
    return 1 + bisect_left(above_one, True, key=lambda l: recursive_factor(entries, l) >= c)  # noqa: E741 - as above


def _ranked(entries: Entries) -> tuple[Floats, Indices]:
    """Return the counts of each class, largest first, and their ranks from 0; classes stay where they are."""
    order = np.lexsort((-entries.counts, entries.classes))
    starts = np.searchsorted(entries.classes, entries.classes)
    return entries.counts[order].astype(np.float64), np.arange(len(order)) - starts
