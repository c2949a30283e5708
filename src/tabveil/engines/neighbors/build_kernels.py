"""The compiled loops that arrange a reference: hashing, trees, blocks."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit, uint64

BLOCK = 64  # rows of a block; a tree is worth its overhead beyond that
FEW = 8  # rows of a block that are summed one by one; vector instructions over rows pay off beyond that


@njit(cache=True, nogil=True)
def hash_rows(codes, values, salt, out):
    """Hash each row's codes (c, n) and the bits of its values (n, d) into ``out`` (n,)."""
    for i in range(out.size):
        h = uint64(salt)
        for j in range(codes.shape[0]):
            h = _mix(h ^ uint64(codes[j, i]))
        for j in range(values.shape[1]):
            h = _mix(h ^ uint64(values[i, j]))
        out[i] = h


@njit(cache=True, nogil=True, inline="always")
def _mix(x):
    x += uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> uint64(30))) * uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> uint64(27))) * uint64(0x94D049BB133111EB)
    return x ^ (x >> uint64(31))


@njit(cache=True, nogil=True)
def grow_tree(values, weights, order, start, stop, left, right, begin, end, box, first):
    """Split rows ``order[start:stop]`` at medians of the widest column until blocks remain.

    Permutes ``order`` and fills the node arrays from node ``first`` on; returns the next free node. A node
    without children has ``left`` -1. ``box`` is (nodes, 2, d): lowest and highest values.
    """
    stack = np.empty(128, dtype=np.int64)
    stack[0] = first
    begin[first], end[first] = start, stop
    free, depth = first + 1, 1
    d = values.shape[1]
    while depth:
        depth -= 1
        node = stack[depth]
        lo, hi = begin[node], end[node]
        widest, spread = -1, 0.0
        for j in range(d):
            low, high = np.inf, -np.inf
            for i in range(lo, hi):
                x = values[order[i], j]
                low, high = min(low, x), max(high, x)
            if low > high:  # the whole group is missing here
                low, high = 0.0, 0.0
            elif (high - low) * weights[j] > spread:
                widest, spread = j, (high - low) * weights[j]
            box[node, 0, j], box[node, 1, j] = low, high
        left[node] = -1
        if hi - lo <= BLOCK or widest < 0:
            continue
        keys = np.empty(hi - lo)
        for i in range(lo, hi):
            keys[i - lo] = values[order[i], widest]
        middle = _split(order[lo:hi], keys) + lo
        left[node], right[node] = free, free + 1
        begin[free], end[free] = lo, middle
        begin[free + 1], end[free + 1] = middle, hi
        stack[depth], stack[depth + 1] = free, free + 1
        depth += 2
        free += 2
    return free


@njit(cache=True, nogil=True)
def _split(order, keys):
    """Put the smaller half of the rows first (Hoare's selection); returns the size of that half.

    The half is rounded to whole blocks, so that blocks are full.
    """
    blocks = (keys.size + BLOCK - 1) // BLOCK
    target = (blocks // 2) * BLOCK
    lo, hi = 0, keys.size - 1
    while lo < hi:
        pivot = keys[(lo + hi) // 2]
        i, j = lo, hi
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if target <= j:
            hi = j
        elif target >= i:
            lo = i
        else:
            break
    return target


@njit(cache=True, nogil=True)
def lay_blocks(values, order, bounds, blocks):
    """Copy rows ``order`` of values (n, d) to ``blocks`` (n * d,), block by block.

    Within a block column stands after column, in a block of few rows row after row.
    """
    d = values.shape[1]
    for b in range(bounds.size - 1):
        start, size = bounds[b], bounds[b + 1] - bounds[b]
        across, along = (1, d) if size <= FEW else (size, 1)
        for r in range(size):
            for j in range(d):
                x = values[order[start + r], j]
                blocks[start * d + j * across + r * along] = 0.0 if np.isnan(x) else x
