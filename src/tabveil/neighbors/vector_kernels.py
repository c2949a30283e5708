"""The compiled part of the search among vectors: which of many rows are worth an exact distance?"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def search_near(products, queries, squares, reference, reference_squares, weights, slack, first, best, index):
    """Offer reference rows ``first`` … to the lists of queries, by products that may be off by ``slack``.

    ``products`` (m, r) are those of the weighted vectors, of ``queries`` (m, d) and of ``reference`` (r, d),
    whose squared lengths are ``squares`` (m,) and ``reference_squares`` (r,). ``best`` and ``index`` (m, k)
    hold squared distances and rows, nearest first. Sums run in the order of the columns, as in all searches.
    """
    last = best.shape[1] - 1
    for q in range(best.shape[0]):
        # A row is near where reference_squares - 2 * product is below this.
        bar = best[q, last] + slack - squares[q]
        for r in range(reference_squares.size):
            if reference_squares[r] - 2.0 * products[q, r] > bar:
                continue
            distance = 0.0
            for j in range(weights.size):
                gap = (reference[r, j] - queries[q, j]) * weights[j]
                distance += gap * gap
            if distance >= best[q, last]:  # of equally near rows the first stays
                continue
            at = last
            while at > 0 and best[q, at - 1] > distance:
                best[q, at], index[q, at] = best[q, at - 1], index[q, at - 1]
                at -= 1
            best[q, at], index[q, at] = distance, np.int64(first + r)
            bar = best[q, last] + slack - squares[q]
