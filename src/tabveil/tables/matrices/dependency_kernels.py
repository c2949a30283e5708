"""Which columns determine others in every row, compiled: most pairs contradict each other within a few."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


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
