"""The walk from a tree's root to a leaf, compiled."""

# mypy: allow-untyped-defs
import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def find_leaves(codes, feature, threshold, left, right, first_place, places):
    """Return the leaf (n,) that each row of codes (n, d) ends in.

    ``places[first_place[c] + code]`` is where a code of column c stands; with a negative first place the code
    itself is the place.
    """
    leaves = np.zeros(codes.shape[0], dtype=np.int32)
    for row in range(codes.shape[0]):
        node = 0
        while left[node] >= 0:
            column = feature[node]
            place = codes[row, column]
            if first_place[column] >= 0:
                place = places[first_place[column] + place]
            node = left[node] if place <= threshold[node] else right[node]
        leaves[row] = node
    return leaves
