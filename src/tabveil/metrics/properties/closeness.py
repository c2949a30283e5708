"""t-closeness: how far are the sensitive values of the farthest class from the reference?

The earth mover's distance of Li, Li and Venkatasubramanian (2007), for three distances between values. All
are found from the values that a class holds; those it lacks follow from the reference, so that many values
cost nothing.
"""

import numpy as np

from tabveil.core.table import Floats, Indices
from tabveil.metrics.properties.entries import Entries


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
