"""The compiled search that leaves out a column, for each of several columns at once.

It works on the same arrays as ``search_kernels``. Without a column a row costs what it costs with all of them
less that column's own cost, which is at most 1 for one compared by equality. So one walk through the
reference serves all columns: a row that is too far even without its costliest column is too far without any.
That is told by sums in the order that is fastest; how far rows are, by sums in the order of a search without
the column, to the last bit.
"""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

from tabveil.engines.neighbors.group_listing_kernels import groups_at, start_levels
from tabveil.engines.neighbors.search_kernels import BLOCK, FEW

SLACK = 1e-10  # as a share of what a row costs with all columns: more than the order of a sum can move it


@njit(cache=True, nogil=True, fastmath={"reassoc", "nsz", "nnan"})
def _guess_row(rows, row, missing, group, query, weights, power):
    """Sum the costs of one row of a small block, and find the largest of them."""
    total, top = 0.0, 0.0
    for j in range(query.size):
        cost = 0.0 if missing[group, j] else abs(rows[row, j] - query[j]) * weights[j]
        total += cost if power == 1 else cost * cost
        top = cost if cost > top else top
    return total, top if power == 1 else top * top


@njit(cache=True, nogil=True)
def _guess_block(blocks, base, size, query, weights, power, sums):
    """Sum the costs of a block's rows, and find the largest cost of each: ``sums`` (2, size)."""
    total, top = sums[0, :size], sums[1, :size]
    total[:] = 0.0
    top[:] = 0.0
    if size <= FEW:
        for r in range(size):
            for j in range(query.size):
                cost = abs(blocks[base + r * query.size + j] - query[j]) * weights[j]
                cost = cost if power == 1 else cost * cost
                total[r] += cost
                top[r] = max(top[r], cost)
        return
    for j in range(query.size):
        column = blocks[base + j * size : base + (j + 1) * size]
        x, w = query[j], weights[j]
        for r in range(size):
            cost = abs(column[r] - x) * w
            cost = cost if power == 1 else cost * cost
            total[r] += cost
            top[r] = cost if cost > top[r] else top[r]


@njit(cache=True, nogil=True)
def _gap_to_box(box, node, query, weights, power, level):
    """Return the least that a row in a node's box can cost without its costliest column."""
    total, top = level, min(level, 1.0)
    for j in range(query.size):
        x = query[j]
        gap = max(box[node, 0, j] - x, x - box[node, 1, j], 0.0) * weights[j]
        gap = gap if power == 1 else gap * gap
        total += gap
        top = max(top, gap)
    return total * (1 - SLACK) - top


@njit(cache=True, nogil=True)
def _offer(reference, base, stride, row, group, asked, level, near, power, columns, wanted, answers, q):
    """Take a row into the answers of query ``q``, without each column in turn; returns the farthest answer.

    The row's cells stand ``stride`` apart from ``base`` on; ``near`` is about what it costs with all columns.
    """
    blocks, group_codes, missing = reference
    query, weights, codes, absent = asked
    value_of, code_of, absent_of = columns
    counting, ranks = wanted
    best, found, tied = answers
    worst = 0.0
    for s in range(best.shape[1]):
        # Nobody asks for what starts below 0.
        if best[q, s] >= 0 and (counting.size == 0 or counting[row, s]):
            out, spared, cost = value_of[s], 0.0, 0.0
            if code_of[s] >= 0 and group_codes[group, code_of[s]] != codes[code_of[s]]:
                spared += 1.0
            if absent_of[s] >= 0 and absent[absent_of[s]]:
                spared += 1.0
            if out >= 0 and not missing[group, out]:
                cost = abs(blocks[base + out * stride] - query[out]) * weights[out]
                cost = cost if power == 1 else cost * cost
            if near - spared - cost <= best[q, s] + near * SLACK:
                total = 0.0
                for j in range(query.size):
                    if j != out and not missing[group, j]:
                        gap = abs(blocks[base + j * stride] - query[j]) * weights[j]
                        total += gap if power == 1 else gap * gap
                distance = level - spared + total
                if ranks.size > 0:
                    if distance == best[q, s]:
                        found[q, s] = min(found[q, s], ranks[row, s])
                elif distance < best[q, s]:
                    best[q, s], found[q, s], tied[q, s] = distance, row, False
                elif distance == best[q, s]:
                    tied[q, s] = True
        worst = max(worst, best[q, s])
    return worst


@njit(cache=True, nogil=True, inline="always")
def _is_too_far(level, cost, worst):
    """Tell whether a row is, of which one column's cost is known: that column may be the one left out."""
    return level + min(cost - min(level, 1.0), 0.0) > worst + SLACK * (worst + level + 1)


@njit(cache=True, nogil=True)
def _visit_block(
    reference, start, size, group, asked, effective, level, worst, power, pivot, columns, wanted, answers, q,
    sums,
):  # fmt: skip
    """Offer every row of a block that can still be an answer; returns the farthest answer."""
    d = effective.size
    if size > FEW:  # often all rows are too far in the pivot alone, and the other columns need no look
        base, n_near = start * d + pivot * size, 0
        column = reference[0][base : base + size]
        x, w = asked[0][pivot], effective[pivot]
        for r in range(size):
            gap = abs(column[r] - x) * w
            gap = gap if power == 1 else gap * gap
            n_near += not _is_too_far(level, gap, worst)
        if n_near == 0:
            return worst
    _guess_block(reference[0], start * d, size, asked[0], effective, power, sums)
    along, stride = (d, 1) if size <= FEW else (1, size)
    for r in range(size):
        near = level + sums[0, r]
        if near - max(sums[1, r], min(level, 1.0)) <= worst + near * SLACK:
            worst = _offer(
                reference, start * d + r * along, stride, start + r, group, asked, level, near, power,
                columns, wanted, answers, q,
            )  # fmt: skip
    return worst


@njit(cache=True, nogil=True)
def _visit_tree(
    reference, tree, root, group, asked, effective, level, worst, power, pivot, columns, wanted, answers, q,
    sums,
):  # fmt: skip
    """Descend to the nearer child first and skip every box that is too far; returns the farthest answer."""
    left, right, begin, end, box = tree
    stack, gaps = np.empty(128, dtype=np.int64), np.empty(128)
    stack[0], gaps[0], depth = root, 0.0, 1
    while depth:
        depth -= 1
        node, gap = stack[depth], gaps[depth]
        while gap <= worst and left[node] >= 0:
            near, far = left[node], right[node]
            gap = _gap_to_box(box, near, asked[0], effective, power, level)
            far_gap = _gap_to_box(box, far, asked[0], effective, power, level)
            if far_gap < gap:
                near, far, gap, far_gap = far, near, far_gap, gap
            stack[depth], gaps[depth] = far, far_gap
            depth += 1
            node = near
        if gap <= worst:
            for start in range(begin[node], end[node], BLOCK):
                worst = _visit_block(
                    reference, start, min(BLOCK, end[node] - start), group, asked, effective, level, worst,
                    power, pivot, columns, wanted, answers, q, sums,
                )  # fmt: skip
    return worst


@njit(cache=True, nogil=True)
def search(
    groups,
    group_codes,
    tree,
    blocks,
    weights,
    power,
    pivot,
    queries,
    runs,
    finder,
    room,
    columns,
    wanted,
    first,
    answers,
):
    """Find the nearest reference row of consecutive distinct queries, without each column in turn.

    ``columns`` = (value_of, code_of, absent_of), each (s,): which of the values, of the codes and of the
    flags in ``absent`` belong to the column left out, or -1. ``queries`` = (codes (c, q), values (q, d),
    absent (a, q): whether a cell is missing where the reference never is); ``runs`` = (run (q,): queries with
    equal codes share one, base (q,): mismatches with every group). ``wanted`` = (counting (n_distinct, s):
    which rows count, or empty; ranks (n_distinct, s) or empty).

    The queries are ``first`` … ``first + len(best) - 1``; ``answers`` = (best, found, tied), each (rows, s):
    distance, distinct row, and whether another is as near; ``best`` holds infinity at the start,
    or where nobody asks less than 0. With ranks,
    ``best`` holds the distances, and ``found`` becomes the lowest rank of a row at exactly that distance.
    """
    codes, missing, group_start, root = groups
    query_codes, query_values, query_absent = queries
    run, base = runs
    best = answers[0]
    reference = (blocks, group_codes, missing)
    rows = blocks.reshape((group_start[-1], weights.size))
    sums = np.empty((2, BLOCK))
    query, weighed, effective = np.empty(weights.size), np.empty(weights.size), np.empty(weights.size)
    asked_run, shared = -1, False  # the run that groups are listed for, and whether it goes on
    for q in range(best.shape[0]):
        at = first + q
        for j in range(weights.size):
            blank = np.isnan(query_values[at, j])
            query[j] = 0.0 if blank else query_values[at, j]
            weighed[j] = 0.0 if blank else weights[j]
        asked = (query, weighed, query_codes[:, at].copy(), query_absent[:, at].copy())
        floor, level, worst = base[at], np.int64(0), best[q].max()
        if asked_run != run[at]:
            asked_run = run[at]
            start_levels(finder, codes, asked[2], room)
            # Queries of one run share the lists, and the next may look farther.
            shared = at + 1 < run.size and run[at + 1] == run[at]
        while level <= codes.shape[0] and floor + level - 1 <= worst:
            most = codes.shape[0] if shared else int(min(worst + 1 - floor, codes.shape[0]))
            base_level = float(floor + level)
            for g in groups_at(finder, asked[2], level, most, room):
                start, stop = group_start[g], group_start[g + 1]
                if stop - start <= FEW:
                    for row in range(start, stop):
                        if pivot >= 0 and not missing[g, pivot]:
                            gap = abs(rows[row, pivot] - query[pivot]) * weighed[pivot]
                            gap = gap if power == 1 else gap * gap
                            if _is_too_far(base_level, gap, worst):
                                continue
                        total, top = _guess_row(rows, row, missing, g, query, weighed, power)
                        near = base_level + total
                        if near - max(top, min(base_level, 1.0)) <= worst + near * SLACK:
                            worst = _offer(
                                reference, row * weights.size, 1, row, g, asked, base_level, near, power,
                                columns, wanted, answers, q,
                            )  # fmt: skip
                    continue
                for j in range(weights.size):
                    effective[j] = 0.0 if missing[g, j] else weighed[j]
                if root[g] < 0:
                    worst = _visit_block(
                        reference, start, stop - start, g, asked, effective, base_level, worst, power,
                        pivot, columns, wanted, answers, q, sums,
                    )  # fmt: skip
                else:
                    worst = _visit_tree(
                        reference, tree, root[g], g, asked, effective, base_level, worst, power, pivot,
                        columns, wanted, answers, q, sums,
                    )  # fmt: skip
            level += 1
