"""The compiled loops over ranked tables: rows sorted by every column, columns that others determine."""

import numpy as np
from numba import njit

# mypy: allow-untyped-defs


@njit(cache=True, nogil=True)
def find_determined(codes, sizes, tried):
    """Return (d, d) whether column a determines column b, of the pairs ``tried`` (d, d).

    ``codes`` are (d, n), those of each column below its entry in ``sizes`` (d,).
    """
    d, n = codes.shape
    holds = np.zeros((d, d), dtype=np.bool_)
    for a in range(d):
        for b in range(d):
            if not tried[a, b]:
                continue
            first = np.full(sizes[a], -1, dtype=np.int32)
            fine = True
            for row in range(n):
                key = codes[a, row]
                if first[key] < 0:
                    first[key] = codes[b, row]
                elif first[key] != codes[b, row]:
                    fine = False
                    break
            holds[a, b] = fine
    return holds


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
