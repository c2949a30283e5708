"""Sums of a kernel over pairs of rows, compiled."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def kernel_sum(a, b, numeric, width):
    """Add up ``exp(-Gower sum / width)`` over all pairs of rows of a (n, d) and b (m, d), missing as NaN."""
    total = 0.0
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            distance = 0.0
            for c in range(a.shape[1]):
                x, y = a[i, c], b[j, c]
                if x != y and (x == x or y == y):  # noqa: PLR0124 - NaN is what differs from itself
                    gap = abs(x - y) if numeric[c] else 1.0
                    distance += gap if gap == gap else 1.0  # noqa: PLR0124
            total += np.exp(-distance / width)
    return total
