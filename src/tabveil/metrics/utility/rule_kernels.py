"""Which columns stand in an order in every row, compiled: most pairs break it within a few rows."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def find_ordered(cells, kinds, least):
    """Return (d, d) whether column a is nowhere above column b; ``cells`` are (d, n), NaN for missing.

    Columns of one of the ``kinds`` (d,) are compared, where at least so many rows have both.
    """
    d, n = cells.shape
    holds = np.zeros((d, d), dtype=np.bool_)
    for a in range(d):
        for b in range(d):
            if a == b or kinds[a] < 0 or kinds[a] != kinds[b]:
                continue
            both = 0
            fine = True
            for row in range(n):
                low, high = cells[a, row], cells[b, row]
                if low > high:
                    fine = False
                    break
                if low <= high:
                    both += 1
            holds[a, b] = fine and both >= least
    return holds
