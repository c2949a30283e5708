"""Rows sorted by every column at once, compiled."""

# mypy: allow-untyped-defs
from numba import njit


@njit(cache=True, nogil=True)
def sort_rows(codes, offsets, starts, order):
    """Fill ``starts`` (zeros) and ``order``: sort the rows by each column, rows of one code as they stand."""
    d, n = codes.shape
    for j in range(d):
        first = starts[offsets[j] : offsets[j + 1]]
        for i in range(n):
            first[codes[j, i] + 1] += 1
        for code in range(1, first.size):
            first[code] += first[code - 1]
        filled = first.copy()
        for i in range(n):
            code = codes[j, i]
            order[j, filled[code]] = i
            filled[code] += 1
