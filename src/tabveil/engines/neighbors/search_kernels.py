"""The compiled search, and the loops that arrange its reference: hashing, trees, blocks.

It works on arrays prepared by ``index``. The layout of the reference:

- Distinct rows stand in *blocks*: a block holds rows of one group (one combination of matched values and
  missing cells), column after column, so that one instruction works on several rows. Of ``FEW`` rows or less
  it holds row after row, so that one instruction works on several columns.
- A group of up to ``BLOCK`` rows is one block. A larger group is a tree whose leaves are blocks and whose
  nodes carry bounding boxes.

A distance is ``level + sum of column costs``, the level being the number of mismatches. Sums run in the same
order everywhere and rounding is monotone, so a bound computed from a box never exceeds the distance of a row
in the box, not even by one bit: pruning is exact, and ties are real ties. A sum in another order is faster
and may differ in its last bits; it only ever tells which rows are worth the exact one.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit, uint64

from tabveil.engines.neighbors.group_listing_kernels import groups_at, start_levels

BLOCK = 64  # rows of a block; a tree is worth its overhead beyond that
FEW = 8  # rows of a block that are summed one by one; vector instructions over rows pay off beyond that
SLACK = 1 + 1e-10  # more than the order of a sum of however many columns can move it


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
        middle = split_rows(order[lo:hi], keys, BLOCK) + lo
        left[node], right[node] = free, free + 1
        begin[free], end[free] = lo, middle
        begin[free + 1], end[free + 1] = middle, hi
        stack[depth], stack[depth + 1] = free, free + 1
        depth += 2
        free += 2
    return free


@njit(cache=True, nogil=True)
def split_rows(order, keys, block):
    """Put the smaller half of the rows first (Hoare's selection); returns the size of that half.

    The half is rounded to whole blocks, so that blocks are full.
    """
    blocks = (keys.size + block - 1) // block
    target = (blocks // 2) * block
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


@njit(cache=True, nogil=True, inline="always")
def sum_row(rows, row, blank, query, weights, power):
    """Sum the costs of one row of a small block, but for the columns that are ``blank`` (d,)."""
    total = 0.0
    for j in range(query.size):
        gap = 0.0 if blank[j] else abs(rows[row, j] - query[j]) * weights[j]
        total += gap if power == 1 else gap * gap
    return total


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz"})
def guess_row(rows, row, missing, group, query, weights, power):
    """Sum the same costs, in whatever order is fastest."""
    total = 0.0
    if power == 1:
        for j in range(query.size):
            total += 0.0 if missing[group, j] else abs(rows[row, j] - query[j]) * weights[j]
    else:
        for j in range(query.size):
            gap = 0.0 if missing[group, j] else (rows[row, j] - query[j]) * weights[j]
            total += gap * gap
    return total


@njit(cache=True, nogil=True)
def _sum_block(blocks, base, size, query, weights, power, sums):
    """Sum the costs of a block's rows into ``sums``, column by column, in the order of `sum_row`."""
    for r in range(size):
        sums[r] = 0.0
    if size <= FEW:
        for r in range(size):
            for j in range(query.size):
                gap = abs(blocks[base + r * query.size + j] - query[j]) * weights[j]
                sums[r] += gap if power == 1 else gap * gap
        return
    for j in range(query.size):
        column = blocks[base + j * size : base + (j + 1) * size]
        x, w = query[j], weights[j]
        if power == 1:
            for r in range(size):
                sums[r] += abs(column[r] - x) * w
        else:
            for r in range(size):
                gap = (column[r] - x) * w
                sums[r] += gap * gap


@njit(cache=True, nogil=True, inline="always")
def _gap_to_box(box, node, query, weights, power):
    """Sum the least costs that any row in a node's box can have."""
    total = 0.0
    for j in range(query.size):
        x = query[j]
        gap = max(box[node, 0, j] - x, x - box[node, 1, j], 0.0) * weights[j]
        total += gap if power == 1 else gap * gap
    return total


@njit(cache=True, nogil=True)
def offer(best, index, q, distance, member_start, members, row):
    """Insert the copies of a distinct row, all at one distance, into the sorted list of query ``q``."""
    last = best.shape[1] - 1
    for m in range(member_start[row], member_start[row + 1]):
        i = members[m]
        if distance > best[q, last] or (distance == best[q, last] and i > index[q, last]):
            return
        j = last
        while j > 0 and (best[q, j - 1] > distance or (best[q, j - 1] == distance and index[q, j - 1] > i)):
            best[q, j], index[q, j] = best[q, j - 1], index[q, j - 1]
            j -= 1
        best[q, j], index[q, j] = distance, i


@njit(cache=True, nogil=True)
def _visit_block(
    blocks, member_start, members, start, size, level, query, weights, power, pivot, best, index, q,
    sums,
):  # fmt: skip
    """Offer every row of a block that can still enter the query's list."""
    last = best.shape[1] - 1
    limit, n_near = best[q, last], 0
    if size > FEW:  # often all rows are too far in the pivot alone, and the other columns need no look
        base = start * query.size + pivot * size
        column = blocks[base : base + size]
        x, w = query[pivot], weights[pivot]
        for r in range(size):
            gap = abs(column[r] - x) * w
            n_near += level + (gap if power == 1 else gap * gap) <= limit
        if n_near == 0:
            return
        n_near = 0
    _sum_block(blocks, start * query.size, size, query, weights, power, sums)
    for r in range(size):
        n_near += level + sums[r] <= limit
    if n_near == 0:
        return
    for r in range(size):
        distance = level + sums[r]
        if distance <= best[q, last]:
            offer(best, index, q, distance, member_start, members, start + r)


@njit(cache=True, nogil=True)
def _visit_tree(
    blocks, member_start, members, left, right, begin, end, box, root, level, query, weights, power,
    pivot, best, index, q, sums, stack, gaps,
):  # fmt: skip
    """Descend to the nearer child first and skip every box that lies beyond the query's worst neighbor."""
    last = best.shape[1] - 1
    stack[0], gaps[0] = root, _gap_to_box(box, root, query, weights, power)
    depth = 1
    while depth:
        depth -= 1
        node, gap = stack[depth], gaps[depth]
        while level + gap <= best[q, last] and left[node] >= 0:
            near, far = left[node], right[node]
            gap = _gap_to_box(box, near, query, weights, power)
            far_gap = _gap_to_box(box, far, query, weights, power)
            if far_gap < gap:
                near, far, gap, far_gap = far, near, far_gap, gap
            stack[depth], gaps[depth] = far, far_gap
            depth += 1
            node = near
        if level + gap <= best[q, last]:
            start = begin[node]
            while start < end[node]:  # rows too near to be told apart by a box may fill several blocks
                size = min(BLOCK, end[node] - start)
                _visit_block(
                    blocks, member_start, members, start, size, level, query, weights, power, pivot,
                    best, index, q, sums,
                )  # fmt: skip
                start += size


@njit(cache=True, nogil=True)
def search(groups, tree, reference, weights, power, pivot, queries, runs, finder, room, first, best, index):
    """Find the nearest reference rows of consecutive distinct queries.

    ``queries`` = (codes (c, q), values (q, d)); ``runs`` = (run (q,): queries with equal codes share one,
    home (q,): the reference group with those codes or -1, base (q,): mismatches with every group). The
    queries are ``first`` … ``first + len(best) - 1``; answers go to ``best`` and ``index`` (rows, k), which
    hold infinity and a large index at the start. ``finder`` and ``room`` are those of a ``GroupTree``.
    ``pivot`` is the column of the values that rows are looked at in first, -1 where there are none: what it
    costs alone is never more than the distance, so a row too far in it is too far.
    """
    codes, missing, group_start, root = groups
    left, right, begin, end, box = tree
    blocks, member_start, members = reference
    rows = blocks.reshape((member_start.size - 1, weights.size))
    query_codes, query_values = queries
    run, home, base = runs
    last = best.shape[1] - 1
    sums, stack, gaps = np.empty(BLOCK), np.empty(128, dtype=np.int64), np.empty(128)
    query, asked, effective = np.empty(weights.size), np.empty(weights.size), np.empty(weights.size)
    wanted = np.empty(codes.shape[0], dtype=codes.dtype)
    asked_run, shared = -1, False  # the run that groups are listed for, and whether it goes on
    for q in range(best.shape[0]):
        at = first + q
        floor, level = base[at], np.int64(0)
        for j in range(weights.size):
            blank = np.isnan(query_values[at, j])
            query[j] = 0.0 if blank else query_values[at, j]
            asked[j] = 0.0 if blank else weights[j]  # what is missing is counted in the level, not here
        while level <= codes.shape[0] and floor + level <= best[q, last]:
            to_visit = home[at : at + (home[at] >= 0)]
            if level > 0:
                if asked_run != run[at]:
                    asked_run, wanted[:] = run[at], query_codes[:, at]
                    start_levels(finder, codes, wanted, room)
                    # Queries of one run share the lists, and the next may look farther.
                    shared = at + 1 < run.size and run[at + 1] == run[at]
                most = codes.shape[0] if shared else int(min(best[q, last] - floor, codes.shape[0]))
                to_visit = groups_at(finder, wanted, level, most, room)
            base_level = float(floor + level)
            for g in to_visit:
                start, stop = group_start[g], group_start[g + 1]
                if stop - start <= FEW:
                    for row in range(start, stop):
                        if pivot >= 0 and not missing[g, pivot]:
                            gap = abs(rows[row, pivot] - query[pivot]) * asked[pivot]
                            if base_level + (gap if power == 1 else gap * gap) > best[q, last]:
                                continue
                        near = base_level + guess_row(rows, row, missing, g, query, asked, power)
                        if near <= best[q, last] * SLACK:
                            distance = base_level + sum_row(rows, row, missing[g], query, asked, power)
                            if distance <= best[q, last]:
                                offer(best, index, q, distance, member_start, members, row)
                    continue
                for j in range(weights.size):
                    effective[j] = 0.0 if missing[g, j] else asked[j]
                if root[g] < 0:
                    _visit_block(
                        blocks, member_start, members, start, stop - start, base_level, query, effective,
                        power, pivot, best, index, q, sums,
                    )  # fmt: skip
                else:
                    _visit_tree(
                        blocks, member_start, members, left, right, begin, end, box, root[g], base_level,
                        query, effective, power, pivot, best, index, q, sums, stack, gaps,
                    )  # fmt: skip
            level += 1
