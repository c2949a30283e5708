"""The compiled tree over groups of rows: how it is grown, and how groups that differ little are found in it.

A group is a combination of codes. A node of the tree has a *mark*, a bit, for every code that any of its
groups holds; a column of very many labels shares bits. A query has one bit in every column, so the columns
whose bit a node lacks differ in all of its groups: their number bounds what any group there costs, by a few
instructions. Leaves hold *tiles* of groups, column after column, whose mismatches are counted side by side.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
from typing import Any

import numpy as np
from numba import njit, types, uint8, uint64
from numba.extending import intrinsic

TILE = 32  # groups whose mismatches are counted at once
AT_ONCE = 4  # columns that are counted between two looks at memory
SAMPLE = 32  # groups of a node that tell how to part it
MOST_TRIED = 8  # columns to part a node in: the most even cuts
NOTHING = -1


def _count_bits(_, number):  # noqa: ARG001
    """Count the bits of a number."""

    def write(context, builder, signature, arguments):  # noqa: ARG001
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), write


count_bits: Any = intrinsic(_count_bits)


@njit(cache=True, nogil=True)
def grow(codes, order, child, begin, end):
    """Part the groups (c, n) until each part fits into a tile; returns the number of nodes.

    ``order`` holds all groups and is permuted; node i holds ``order[begin[i] : end[i]]``, its children are
    ``child[i]`` and the node after that. A leaf has none, -1. A node is parted in that column in which a cut
    near the middle leaves the most mismatches, in all columns, between one side and the other.
    """
    n_columns = codes.shape[0]
    stack, n_codes = np.empty(128, dtype=np.int64), np.int64(0)
    if codes.size:
        n_codes = np.int64(codes.max()) + 1
    room = (
        np.empty((n_columns, SAMPLE), dtype=codes.dtype),
        np.empty((n_columns, SAMPLE), dtype=np.uint8),
        np.zeros((n_codes, 2), dtype=np.int64),
    )
    cuts = np.empty(n_columns, dtype=codes.dtype)
    begin[0], end[0] = 0, order.size
    stack[0], depth, free = 0, 1, 1
    while depth:
        depth -= 1
        node = stack[depth]
        lo, hi = begin[node], end[node]
        child[node] = NOTHING
        if hi - lo <= TILE:
            continue
        column = _choose_column(codes, order[lo:hi], room, cuts)
        if column < 0:  # none of those looked at differs from another
            continue
        middle = lo + _part(codes[column], order[lo:hi], cuts[column])
        child[node] = free
        # The larger part waits, so that few ever do.
        smaller = free if middle - lo < hi - middle else free + 1
        begin[free], end[free], begin[free + 1], end[free + 1] = lo, middle, middle, hi
        stack[depth], stack[depth + 1] = 2 * free + 1 - smaller, smaller
        depth += 2
        free += 2
    return free


@njit(cache=True, nogil=True)
def _choose_column(codes, groups, room, cuts):
    """Return the column to part groups in, or -1; ``cuts`` (c,) become the last codes of the lower sides."""
    some, kinds, times = room
    n_columns, n = codes.shape[0], min(SAMPLE, groups.size)
    n_lower, n_kinds = np.zeros(n_columns, dtype=np.int64), np.zeros(n_columns, dtype=np.int64)
    found = np.empty(SAMPLE, dtype=codes.dtype)
    for j in range(n_columns):
        for i in range(n):
            x = codes[j, groups[i * groups.size // n]]
            some[j, i] = x
            if times[x, 0] == 0:  # new: put where it belongs among those seen
                at = n_kinds[j]
                while at > 0 and found[at - 1] > x:
                    found[at] = found[at - 1]
                    at -= 1
                found[at] = x
                n_kinds[j] += 1
            times[x, 0] += 1
        below = 0
        for kind in range(n_kinds[j]):
            x = found[kind]
            below += times[x, 0]
            if below < n and abs(2 * below - n) < abs(2 * n_lower[j] - n):
                n_lower[j], cuts[j] = below, x
            times[x, 0], times[x, 1] = 0, kind
        for i in range(n):
            kinds[j, i] = times[some[j, i], 1]
    best, most = -1, 0
    lower, upper = np.empty(SAMPLE, dtype=np.int64), np.empty(SAMPLE, dtype=np.int64)
    is_lower = np.empty(SAMPLE, dtype=np.bool_)
    tried = np.argsort(-n_lower * (n - n_lower), kind="mergesort")
    for j in tried[:MOST_TRIED]:
        differ = n_columns * n_lower[j] * (n - n_lower[j])
        if differ <= most:  # not even if all pairs differed in all columns
            break
        for i in range(n):
            is_lower[i] = some[j, i] <= cuts[j]
        for k in range(n_columns):
            if n_kinds[k] == 1:
                differ -= n_lower[j] * (n - n_lower[j])
                continue
            lower[: n_kinds[k]] = 0
            upper[: n_kinds[k]] = 0
            for i in range(n):
                lower[kinds[k, i]] += is_lower[i]
                upper[kinds[k, i]] += 1
            for kind in range(n_kinds[k]):
                differ -= lower[kind] * (upper[kind] - lower[kind])
        if differ > most:
            best, most = j, differ
    return best


@njit(cache=True, nogil=True)
def _part(column, groups, cut):
    """Put the groups with codes up to ``cut`` first; returns how many they are."""
    i, j = 0, groups.size - 1
    while i <= j:
        if column[groups[i]] <= cut:
            i += 1
        else:
            groups[i], groups[j] = groups[j], groups[i]
            j -= 1
    return i


@njit(cache=True, nogil=True)
def mark_nodes(codes, child, begin, end, offsets, widths, marks):
    """Set the bits of every code that a node's groups (c, n), in the order of the tree, hold."""
    for node in range(child.size - 1, -1, -1):  # children stand after their parents
        if child[node] >= 0:
            for word in range(marks.shape[1]):
                marks[node, word] = marks[child[node], word] | marks[child[node] + 1, word]
            continue
        for j in range(codes.shape[0]):
            for group in range(begin[node], end[node]):
                bit = offsets[j] + codes[j, group] % widths[j]
                marks[node, bit >> 6] |= uint64(1) << uint64(bit & 63)


@njit(cache=True, nogil=True)
def lay_tiles(codes, child, begin, end, first_tile, tiles):
    """Copy the groups of each leaf to its tiles (tiles, c', TILE)."""
    for node in range(child.size):
        if child[node] < 0:
            for group in range(begin[node], end[node]):
                tile = first_tile[node] + (group - begin[node]) // TILE
                for j in range(codes.shape[0]):
                    tiles[tile, j, (group - begin[node]) % TILE] = codes[j, group]


@njit(cache=True, nogil=True)
def _mark_query(query, offsets, widths, asked):
    """Set the bit of each code of a query (c,) in ``asked``, and no other."""
    asked[:] = 0
    for j in range(query.size):
        bit = offsets[j] + query[j] % widths[j]
        asked[bit >> 6] |= uint64(1) << uint64(bit & 63)


@njit(cache=True, nogil=True)
def start_listing(finder, query, asked, waiting, listed):
    """Begin to list groups for a query (c,), whose marks are written to ``asked``."""
    _mark_query(query, finder[4], finder[5], asked)
    waiting[0][:] = NOTHING
    listed[0][:] = NOTHING
    waiting[0][0], waiting[1][0] = 0, NOTHING  # the root


@njit(cache=True, nogil=True, inline="always")
def _least(marks, child, asked, n_columns):
    """Return in how many columns all groups of a node, and of the one after it, differ from the query."""
    n, n_next = uint64(0), uint64(0)
    for word in range(asked.size):
        n += count_bits(marks[child, word] & asked[word])
        n_next += count_bits(marks[child + 1, word] & asked[word])
    return n_columns - np.int64(n), n_columns - np.int64(n_next)


@njit(cache=True, nogil=True)
def find_leaves(finder, codes, leaves):
    """Follow each query (c, q) to a leaf that differs in few columns: queries of one leaf are alike."""
    child, marks = finder[0], finder[3]
    offsets, widths = finder[4], finder[5]
    asked = np.empty(marks.shape[1], dtype=np.uint64)
    for q in range(leaves.size):
        _mark_query(codes[:, q], offsets, widths, asked)
        node = 0
        while child[node] >= 0:
            gap, next_gap = _least(marks, child[node], asked, codes.shape[0])
            node = child[node] + (next_gap < gap)
        leaves[q] = node


@njit(cache=True, nogil=True)
def list_level(finder, query, asked, level, most, waiting, listed, counts):
    """List the groups that differ from the query (c,) in ``level`` columns; lower levels were listed before.

    ``waiting`` = (first (c + 1,), next (nodes,)) are the nodes of which no group differs in fewer columns, as
    chains; ``listed`` = (first (c + 1,), next (n_groups,)) the groups found so far that differ in so many.
    Nobody will ask for levels beyond ``most``. Returns how many tiles were counted.
    """
    child, begin, end, marks = finder[0], finder[1], finder[2], finder[3]
    first_tile, tiles = finder[6], finder[7]
    head, after = waiting
    first, following = listed
    n_tiles = 0
    while head[level] >= 0:
        node = head[level]
        head[level] = after[node]
        while child[node] >= 0:
            near, far = child[node], child[node] + 1
            gap, far_gap = _least(marks, near, asked, query.size)
            if far_gap < gap:
                near, far, gap, far_gap = far, near, far_gap, gap
            if far_gap <= most:
                after[far], head[far_gap] = head[far_gap], far
            if gap > level:
                if gap <= most:
                    after[near], head[gap] = head[gap], near
                break
            node = near
        if child[node] >= 0:
            continue
        tile = first_tile[node]
        for start in range(begin[node], end[node], TILE):
            count_tile(tiles[tile], query, counts)
            for r in range(min(TILE, end[node] - start)):
                if counts[r] <= most:
                    following[start + r], first[counts[r]] = first[counts[r]], start + r
            tile += 1
            n_tiles += 1
    return n_tiles


@njit(cache=True, nogil=True)
def gather_level(listed, level, found):
    """Write the groups listed for a level to ``found``; returns how many they are."""
    first, following = listed
    group, n = first[level], 0
    while group >= 0:
        found[n] = group
        group = following[group]
        n += 1
    return n


@njit(cache=True, nogil=True)
def count_tile(tile, query, counts):
    """Count in how many columns each group of a tile (c', TILE) differs from the query (c,)."""
    for r in range(TILE):
        counts[r] = 0
    j = 0
    while j + AT_ONCE <= query.size:
        a, b, c, d = tile[j], tile[j + 1], tile[j + 2], tile[j + 3]
        w, x, y, z = query[j], query[j + 1], query[j + 2], query[j + 3]
        for r in range(TILE):
            counts[r] += (uint8(a[r] != w) + uint8(b[r] != x)) + (uint8(c[r] != y) + uint8(d[r] != z))
        j += AT_ONCE
    while j < query.size:
        a, w = tile[j], query[j]
        for r in range(TILE):
            counts[r] += uint8(a[r] != w)
        j += 1
