"""The compiled loops that put hashes in order."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

DIGIT = 11  # bits that are sorted by at a time; the places of 2,048 digits stay in the nearest cache
PASSES = 3  # 33 bits tell nearly all hashes of a table apart
_REST = 64 - DIGIT * PASSES


@njit(cache=True, nogil=True)
def order_hashes(hashes, order, spare):
    """Fill ``order`` (n,) with where the hashes stand in ascending order, equals as they stood.

    Sorted by their first 33 bits, digit by digit from the last; what these do not tell apart, and is seldom
    more than a pair, is then moved step by step. ``spare`` is room of the same size.
    """
    n, mask = hashes.size, np.uint64((1 << DIGIT) - 1)
    starts = np.empty((1 << DIGIT) + 1, dtype=np.int64)
    for i in range(n):
        order[i] = i
    for step in range(PASSES):
        shift = np.uint64(_REST + step * DIGIT)
        starts[:] = 0
        for i in range(n):
            starts[((hashes[i] >> shift) & mask) + np.uint64(1)] += 1
        for digit in range(1, starts.size):
            starts[digit] += starts[digit - 1]
        for i in range(n):
            digit = (hashes[order[i]] >> shift) & mask
            spare[starts[digit]] = order[i]
            starts[digit] += 1
        order[:] = spare
    for i in range(1, n):
        at, mine = order[i], hashes[order[i]]
        j = i
        while j > 0 and hashes[order[j - 1]] > mine:
            order[j] = order[j - 1]
            j -= 1
        order[j] = at
