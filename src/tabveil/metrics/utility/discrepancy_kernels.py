"""Sums of a kernel over pairs of rows, compiled."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def kernel_sum(a, b, numeric, width):
    """Add up ``exp(-Gower sum / width)`` over all pairs of rows of a (n, d) and b (m, d), missing as NaN."""
    columns = b.T.copy()  # (d, m): a row of a meets all rows of b column by column, several at once
    total = 0.0
    for i in range(a.shape[0]):
        distances = np.zeros(b.shape[0])
        for c in range(a.shape[1]):
            x, cells = a[i, c], columns[c]
            if np.isnan(x):
                for j in range(b.shape[0]):
                    distances[j] += 0.0 if np.isnan(cells[j]) else 1.0
            elif numeric[c]:
                for j in range(b.shape[0]):
                    gap = abs(x - cells[j])
                    distances[j] += 1.0 if np.isnan(gap) else gap
            else:
                for j in range(b.shape[0]):
                    distances[j] += 1.0 if x != cells[j] else 0.0
        for j in range(b.shape[0]):
            total += np.exp(-distances[j] / width)
    return total
