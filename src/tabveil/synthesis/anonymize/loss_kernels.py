"""Compiled sums over the classes of a node, for what generalizing and suppressing loses."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def suppressed_shares(rows, counts, keep, leaves, offsets, shares):
    """Return per column what the suppressed classes' rows lack to a share of 1, (d,).

    ``rows`` (c,) is a combination that stands for each class; ``shares`` has at ``offsets[column] + leaf``
    the share of leaves under a leaf's value.
    """
    lacking = np.zeros(len(offsets))
    for number in range(len(rows)):
        if not keep[number]:
            for column in range(len(offsets)):
                share = shares[offsets[column] + leaves[column, rows[number]]]
                lacking[column] += counts[number] * (1.0 - share)
    return lacking


@njit(cache=True, nogil=True)
def suppressed_entropy(rows, counts, keep, leaves, offsets, codes, n_values):
    """Return the entropy, in bits times rows, of the suppressed rows' generalized values over all columns.

    ``codes`` has at ``offsets[column] + leaf`` a leaf's value, one of ``n_values[column]``.
    """
    total = 0
    for number in range(len(rows)):
        if not keep[number]:
            total += counts[number]
    lost = 0.0
    for column in range(len(offsets)):
        held = np.zeros(n_values[column], np.int64)
        for number in range(len(rows)):
            if not keep[number]:
                held[codes[offsets[column] + leaves[column, rows[number]]]] += counts[number]
        for value in range(n_values[column]):
            if held[value] > 0:
                lost -= held[value] * np.log2(held[value] / total)
    return lost
