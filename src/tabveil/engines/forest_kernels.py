"""The compiled loop that sends many rows through many trees."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit

ROWS_AT_ONCE = 1024  # their masks stay in the nearest cache
MOST_LEAVES = 64  # of a tree, one bit each

# The highest six bits of this number times a power of two differ for all 64 powers (de Bruijn): they tell
# which it is.
SEQUENCE = np.uint64(0x03F79D71B4CB0A89)
TOP = np.uint64(58)
POSITION = np.zeros(MOST_LEAVES, dtype=np.uint8)
POSITION[[((int(SEQUENCE) << power) % 2**64) >> int(TOP) for power in range(MOST_LEAVES)]] = np.arange(64)


@njit(cache=True, nogil=True)
def add_leaves(codes, n_codes, trees, nodes, labels, margins):
    """Add to ``margins`` (k, n), for each row, the values of the leaves it falls into.

    ``codes`` (d, n) has the code of every row in every column, ``n_codes`` (d,) how many there are; the last
    one is that of missing values. ``trees`` has the margin each adds to and where its ``nodes`` are;
    ``labels`` those that nodes send to the right.

    No row walks down a tree. For each code of each column, a mask has the leaves that rows with this code can
    reach: none of those on the other side of a node that asks for this column. The one leaf that is in the
    masks of all columns is the row's (after QuickScorer; Lucchese et al. 2015).
    """
    n_columns, n_rows = codes.shape
    starts = np.zeros(n_columns + 1, dtype=np.int64)
    starts[1:] = np.cumsum(n_codes)
    reach = np.empty(starts[-1], dtype=np.uint64)
    values = np.zeros(MOST_LEAVES, dtype=np.float32)
    left_over = np.empty(ROWS_AT_ONCE, dtype=np.uint64)
    for tree in trees:
        used, leaves = _find_reach(nodes[tree.first : tree.end], labels, starts, reach, values)
        for start in range(0, n_rows, ROWS_AT_ONCE):
            stop = min(start + ROWS_AT_ONCE, n_rows)
            left_over[:] = leaves
            for column in used:
                masks, mine = reach[starts[column] :], codes[column, start:stop]
                for row in range(stop - start):
                    left_over[row] &= masks[mine[row]]
            sums = margins[tree.margin, start:stop]
            for row in range(stop - start):
                sums[row] += values[POSITION[(left_over[row] * SEQUENCE) >> TOP]]


@njit(cache=True, nogil=True)
def _find_reach(nodes, labels, starts, reach, values):
    """Write down what the leaves of one tree add and which of them each code can reach.

    ``reach`` has the codes of column j from ``starts[j]`` on. Returned are the columns that the tree asks for
    and the mask of all its leaves.
    """
    below = np.zeros(len(nodes), dtype=np.uint64)
    n_leaves = 0
    for number in range(len(nodes) - 1, -1, -1):  # children come after their parents
        node = nodes[number]
        if node.column < 0:
            below[number] = np.uint64(1) << np.uint64(n_leaves)
            values[n_leaves] = node.value
            n_leaves += 1
        else:
            below[number] = below[node.left] | below[node.right]
    asked = np.zeros(len(starts) - 1, dtype=np.bool_)
    sides = np.empty(np.diff(starts).max(), dtype=np.bool_)
    for node in nodes:
        if node.column < 0:
            continue
        masks = reach[starts[node.column] : starts[node.column + 1]]
        if not asked[node.column]:
            asked[node.column] = True
            masks[:] = below[0]
        goes_left = sides[: len(masks)]
        goes_left[: node.n_left] = True
        goes_left[node.n_left :] = False
        for label in labels[node.first_label : node.end_of_labels]:
            goes_left[label] = False
        goes_left[-1] = node.missing_left
        for code in range(len(masks)):
            masks[code] &= ~below[node.right] if goes_left[code] else ~below[node.left]
    return np.flatnonzero(asked), below[0]
