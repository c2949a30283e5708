"""Compiled loops of the shadow attack: how many rows of a release answer a question about somebody.

A question names some columns and asks for the rows that agree with a target in all of them. Each row is a
pattern, one bit a column; what all patterns answer to all 2^d questions follows in d passes.
"""

# mypy: allow-untyped-defs

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def add_over_supersets(counts):
    """Replace the number of rows of each pattern (2^d,) by that of all patterns which contain it.

    One pass a column: what has the bit is added to what lacks it, everything else equal.
    """
    size = counts.shape[0]
    step = 1
    while step < size:
        for begin in range(0, size, 2 * step):
            for place in range(begin, begin + step):
                counts[place] += counts[place + step]
        step *= 2


@njit(cache=True, nogil=True)
def count_matches(rows, low, high, absent, cell, weight, groups, masks, counts, nearest):
    """Answer the questions about every target, and find how near the nearest row is to it.

    ``rows`` (n, d); a number agrees from ``low`` to ``high`` (t, d), and what is missing where the target's
    cell is ``absent`` (t, d), too. ``cell`` (t, d) and ``weight`` (d,) are for the distance; a weight of -1
    is a category. ``groups`` (g, w) are columns, those of a group first and -1 behind them, ``masks`` (g, q)
    the questions about each. ``counts`` (t, 1 + d + g * q): rows that agree in all columns, in each one, and
    as asked. ``nearest`` (t,) is what the least sum over the columns is to be put into.
    """
    n, d = rows.shape
    n_groups, width = groups.shape
    n_asked = masks.shape[1]
    agrees = np.empty(d, dtype=np.bool_)
    sizes = np.empty(n_groups, dtype=np.int64)
    most = 0
    for g in range(n_groups):
        sizes[g] = 0
        for place in range(width):
            if groups[g, place] >= 0:
                sizes[g] += 1
        most = max(most, sizes[g])
    tables = np.empty((n_groups, 1 << most), dtype=np.int64)
    for t in range(low.shape[0]):
        tables[:] = 0
        for i in range(n):
            matching = 0
            total = 0.0
            for j in range(d):
                value = rows[i, j]
                if np.isnan(value) or absent[t, j]:
                    same = np.isnan(value) and absent[t, j]
                    total += 0.0 if same else 1.0
                elif weight[j] < 0:
                    same = value == cell[t, j]
                    total += 0.0 if same else 1.0
                else:
                    same = low[t, j] <= value <= high[t, j]
                    total += min(abs(value - cell[t, j]) * weight[j], 1.0)
                agrees[j] = same
                if same:
                    matching += 1
                    counts[t, 1 + j] += 1
            if matching == d:
                counts[t, 0] += 1
            for g in range(n_groups):
                pattern = 0
                for place in range(sizes[g]):
                    if agrees[groups[g, place]]:
                        pattern |= 1 << place
                tables[g, pattern] += 1
            nearest[t] = min(nearest[t], total)
        for g in range(n_groups):
            own = tables[g, : 1 << sizes[g]]
            add_over_supersets(own)
            for question in range(n_asked):
                counts[t, 1 + d + g * n_asked + question] = own[masks[g, question]]
