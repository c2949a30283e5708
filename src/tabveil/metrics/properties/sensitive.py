"""What classes tell about sensitive values, from their counts: l-diversity and t-closeness."""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.table import Floats, Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class Entries:
    """How often each class holds each value, sorted by class and value; zeros are left out.

    Values are numbered in ascending order, a missing one last, over the table and its reference.
    """

    classes: Indices  # (e,)
    values: Indices  # (e,)
    counts: Indices  # (e,)
    sizes: Indices  # (c,) rows of each class
    reference: Floats  # (v,) share of each value in the reference
    cells: Floats  # (v,) the values themselves

    @classmethod
    def of(cls, classes: Indices, cells: Floats, reference: Floats) -> Self:
        """Count the cells of each class; ``reference`` are cells, too."""
        known, codes = np.unique(np.concatenate((cells, reference)), return_inverse=True)
        own, others = codes[: len(cells)], codes[len(cells) :]
        pairs, counts = np.unique(classes * len(known) + own, return_counts=True)
        return cls(
            classes=pairs // len(known),
            values=pairs % len(known),
            counts=counts,
            sizes=np.bincount(classes),
            reference=np.bincount(others, minlength=len(known)) / max(len(others), 1),
            cells=known,
        )

    @property
    def shares(self) -> Floats:
        """The share of its class that each entry has, (e,)."""
        return np.asarray(self.counts / self.sizes[self.classes])

    def summed(self, terms: Floats) -> Floats:
        """Add up a number of each entry by class, (c,)."""
        return np.bincount(self.classes, weights=terms, minlength=len(self.sizes)).astype(np.float64)


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


def equal(entries: Entries) -> Floats:
    """Return the distance of each class where all values are equally far apart, (c,)."""
    return entries.summed(np.maximum(entries.shares - entries.reference[entries.values], 0.0))


def ordered(entries: Entries) -> Floats:
    """Return the distance of each class where values are as far apart as their ranks, (c,).

    It is the mean difference of the two cumulative distributions. That of a class is constant between the
    values it holds, and that of the reference rises: so each stretch is a sum up to where they meet, and one
    from there on.
    """
    n_values = len(entries.reference)
    cumulative = np.cumsum(entries.reference)
    sums = np.concatenate(([0.0], np.cumsum(cumulative)))
    totals = np.cumsum(entries.counts)
    starts = np.searchsorted(entries.classes, np.arange(len(entries.sizes)))
    before = np.concatenate(([0], totals))[starts]
    reached = (totals - before[entries.classes]) / entries.sizes[entries.classes]  # from this value on
    ends = np.append(entries.values[1:], n_values)
    ends[np.append(entries.classes[1:] != entries.classes[:-1], True)] = n_values
    moved = entries.summed(_between(reached, entries.values, ends, cumulative, sums))
    moved += sums[entries.values[starts]]  # up to its first value a class has nothing
    return np.maximum(moved, 0.0) / max(n_values - 1, 1)


def _between(level: Floats, start: Indices, end: Indices, cumulative: Floats, sums: Floats) -> Floats:
    """Add up how far a rising sequence is from a level, over each stretch."""
    meeting = np.clip(np.searchsorted(cumulative, level), start, end)
    below = level * (meeting - start) - (sums[meeting] - sums[start])
    return below + (sums[end] - sums[meeting]) - level * (end - meeting)


def hierarchical(entries: Entries, codes: Indices) -> Floats:
    """Return the distance of each class where values are as far apart as the level at which they meet, (c,).

    ``codes`` (n_levels, v) has the value of each level that each value lies under; the first level are the
    values themselves. What a parent's children have too much is moved to those that have too little, at the
    price of its level; the rest goes on to the next. What is not in the class has too little everywhere.
    """
    height = len(codes) - 1
    moved = np.zeros(len(entries.sizes))
    for level in range(1, height + 1):
        owners, over, extra = _under_parents(entries, codes[level - 1], codes[level])
        price = level / height
        moved += np.bincount(
            owners, weights=np.minimum(over, over - extra) * price, minlength=len(entries.sizes)
        )
    return np.maximum(moved, 0.0)


def _under_parents(entries: Entries, below: Indices, above: Indices) -> tuple[Indices, Floats, Floats]:
    """Return for every parent that a class touches: the class, what its children have too much, and itself.

    The second counts only children that have too much; what the others have too little is the difference.
    """
    n_below, n_above = int(below.max()) + 1, int(above.max()) + 1
    parents = np.zeros(n_below, dtype=np.int64)
    parents[below] = above
    children, places = np.unique(entries.classes * n_below + below[entries.values], return_inverse=True)
    owner, child = children // n_below, children % n_below
    mass = np.bincount(places, weights=entries.shares)
    expected = np.bincount(below, weights=entries.reference, minlength=n_below)
    nodes, places = np.unique(owner * n_above + parents[child], return_inverse=True)
    over = np.bincount(places, weights=np.maximum(mass - expected[child], 0.0))
    whole = np.bincount(above, weights=entries.reference, minlength=n_above)
    extra: Floats = np.bincount(places, weights=mass) - whole[nodes % n_above]
    return nodes // n_above, over.astype(np.float64), extra
