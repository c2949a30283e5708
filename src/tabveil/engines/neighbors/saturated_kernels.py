"""The compiled search among rows whose columns cost 1 at most: a bound on whole blocks, then exact distances.

Rows stand in blocks of rows that are alike, column after column, in single precision, so that one instruction
works on many rows. What is summed there is below the distance but for a known slack. Rows that may be near
enough by it are measured exactly, as everywhere else: the answers are the same to the last bit.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import float32, njit, uint8

from tabveil.engines.neighbors.search_kernels import offer, split_rows

BLOCK = 128  # rows: what is summed of them stays in the first-level cache
AT_ONCE = 4  # columns of numbers between two looks at whether any row is still near enough
PAIRS = 64  # rows that tell in which column the rows of a node differ most
_DEPTH = 128


@njit(cache=True, nogil=True)
def order_rows(places, block, order):
    """Put rows that are alike side by side: parts at medians, until whole blocks remain.

    ``places`` (n, d) are numbers of which a difference of 1 is as good as any larger one. ``order`` holds all
    rows and is permuted. Each part is split in the column that costs most between some of its rows.
    """
    stack = np.empty((_DEPTH, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = 0, order.size
    depth, d = 1, places.shape[1]
    costs = np.empty(d)
    while depth:
        depth -= 1
        lo, hi = stack[depth, 0], stack[depth, 1]
        if hi - lo <= block:
            continue
        n_pairs = min(PAIRS, (hi - lo) // 2)
        step, half = (hi - lo) // 2 // n_pairs, (hi - lo) // 2
        costs[:] = 0.0
        for i in range(n_pairs):
            a, b = order[lo + i * step], order[lo + i * step + half]
            for j in range(d):
                gap = abs(places[a, j] - places[b, j])
                costs[j] += min(gap * gap, float32(1.0))
        widest, most = -1, 0.0
        for j in range(d):
            if costs[j] > most:
                widest, most = j, costs[j]
        if widest < 0:
            continue
        keys = np.empty(hi - lo, dtype=np.float32)
        for i in range(lo, hi):
            keys[i - lo] = places[order[i], widest]
        middle = lo + split_rows(order[lo:hi], keys, block)
        stack[depth, 0], stack[depth, 1] = lo, middle
        stack[depth + 1, 0], stack[depth + 1, 1] = middle, hi
        depth += 2


@njit(cache=True, nogil=True)
def bound_blocks(low, high, places, bounds):
    """Sum what the rows of each block cost at least from places (q, d): ``low`` and ``high`` are (d, b)."""
    for q in range(places.shape[0]):
        for b in range(bounds.shape[1]):
            bounds[q, b] = float32(0.0)
        for j in range(places.shape[1]):
            x = places[q, j]
            for b in range(bounds.shape[1]):
                gap = max(low[j, b] - x, x - high[j, b], float32(0.0))
                bounds[q, b] += min(gap * gap, float32(1.0))


@njit(cache=True, nogil=True)
def search_saturated(blocks, reference, asked, bounds, visits, slack, best, index):
    """Find the nearest reference rows of some queries.

    ``blocks`` = (labels (b, c', BLOCK) bytes, numbers (b, d', BLOCK), sizes (b,)); ``reference`` = (codes
    (n, c), values (n, d), weights (d,), where the copies of each row begin, the copies), in the order of the
    blocks. ``asked`` = (labels (q, c'), numbers (q, d'), codes (q, c), values (q, d)). ``bounds`` (q, b) is
    what :func:`bound_blocks` says; blocks are visited in the order ``visits``.
    """
    labels, numbers, sizes = blocks
    codes, values, weights, member_start, members = reference
    asked_labels, asked_numbers, asked_codes, asked_values = asked
    last, n_labels, n_numbers = best.shape[1] - 1, labels.shape[1], numbers.shape[1]
    counts, sums = np.empty(BLOCK, dtype=np.uint8), np.empty(BLOCK, dtype=np.float32)
    one = float32(1.0)
    for b in visits:
        for q in range(best.shape[0]):
            limit = float32(best[q, last] + slack)
            if bounds[q, b] > limit:
                continue
            for r in range(BLOCK):
                counts[r] = uint8(0)
            near, j = True, 0
            while near and j < n_labels:
                w, x = asked_labels[q, j], asked_labels[q, j + 1]
                y, z = asked_labels[q, j + 2], asked_labels[q, j + 3]
                fewest = uint8(255)
                for r in range(BLOCK):
                    n = uint8(labels[b, j, r] != w) + uint8(labels[b, j + 1, r] != x)
                    n += uint8(labels[b, j + 2, r] != y) + uint8(labels[b, j + 3, r] != z)
                    counts[r] += n  # beyond 255 it begins anew: still not more than there are
                for r in range(BLOCK):
                    fewest = min(fewest, counts[r])
                near = fewest <= limit
                j += AT_ONCE
            if not near:
                continue
            for r in range(BLOCK):
                sums[r] = float32(counts[r])
            j = 0
            while near and j < n_numbers:
                s, t = asked_numbers[q, j], asked_numbers[q, j + 1]
                u, v = asked_numbers[q, j + 2], asked_numbers[q, j + 3]
                n_near = 0
                for r in range(BLOCK):
                    e, f = numbers[b, j, r] - s, numbers[b, j + 1, r] - t
                    g, h = numbers[b, j + 2, r] - u, numbers[b, j + 3, r] - v
                    sums[r] += (min(e * e, one) + min(f * f, one)) + (min(g * g, one) + min(h * h, one))
                for r in range(BLOCK):
                    n_near += sums[r] <= limit
                near = n_near > 0
                j += AT_ONCE
            if not near:
                continue
            for r in range(sizes[b]):
                if sums[r] <= limit:
                    row = b * BLOCK + r
                    distance = _measure(codes, values, row, asked_codes, asked_values, q, weights)
                    if distance <= best[q, last]:
                        offer(best, index, q, distance, member_start, members, row)
                        limit = float32(best[q, last] + slack)


@njit(cache=True, nogil=True)
def _measure(codes, values, row, asked_codes, asked_values, q, weights):
    """Return the distance, summed in the order of ``search_kernels.sum_row``."""
    level, total = 0, 0.0
    for j in range(codes.shape[1]):
        level += codes[row, j] != asked_codes[q, j]
    for j in range(weights.size):
        x, y = values[row, j], asked_values[q, j]
        if np.isnan(x) or np.isnan(y):
            level += np.isnan(x) != np.isnan(y)
        else:
            gap = abs(x - y) * weights[j]
            total += min(gap * gap, 1.0)
    return float(level) + total
