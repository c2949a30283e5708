"""A tree over the groups of an index: which combinations of codes differ from a query's in few columns?

To count the mismatches with every group takes as long as there are groups. Where columns hang together, as
they do in real tables, whole parts of the tree differ in more columns than the nearest row costs, and are not
looked at: the wider the table, the more so.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Indices
from tabveil.engines.neighbors import group_tree_kernels
from tabveil.engines.neighbors.group_count_kernels import STRIP
from tabveil.engines.neighbors.group_tree_kernels import TILE

Array = NDArray[Any]
Finder = tuple[Indices, Indices, Indices, NDArray[np.uint64], Indices, Indices, Indices, Array]
"""First child or -1, first and last group, marks (nodes, words) of each node; where the bits of each column
begin, and how many they are (c,); the first tile of each leaf; tiles (tiles, c, TILE)."""
Chains = tuple[Indices, Indices]
"""The first of each level (c + 1,), and what comes after each."""
Room = tuple[NDArray[np.uint64], Chains, Chains, Array, Array, Array, Indices, Indices, Indices]
"""What a search notes for one query: its marks, the nodes that wait, the groups found, counts of a tile; or
its mismatches with every group, and the lowest of each strip; groups, and where those of each level begin;
and what was done."""

MOST_BITS = 128  # of a column: labels beyond share them


class GroupTree:
    """Groups (c, n) arranged so that those that differ much from a query are passed over together."""

    def __init__(self, codes: Array) -> None:
        """Arrange groups, of which there must be one."""
        n_columns, n = codes.shape
        self.order = np.arange(n)  # which group stands at each place
        child, begin, end = (np.empty(2 * n, dtype=np.int64) for _ in range(3))
        n_nodes = group_tree_kernels.grow(codes, self.order, child, begin, end)
        child, begin, end = (np.ascontiguousarray(part[:n_nodes]) for part in (child, begin, end))
        self.codes = np.ascontiguousarray(codes[:, self.order])
        widths = np.minimum(self.codes.max(axis=1).astype(np.int64) + 1, MOST_BITS)
        offsets = np.cumsum(widths) - widths
        marks = np.zeros((n_nodes, -(-int(widths.sum()) // 64)), dtype=np.uint64)
        group_tree_kernels.mark_nodes(self.codes, child, begin, end, offsets, widths, marks)
        n_tiles = np.where(child < 0, -(-(end - begin) // TILE), 0)
        tiles = np.zeros((int(n_tiles.sum()), n_columns, TILE), dtype=codes.dtype)
        first_tile = np.cumsum(n_tiles) - n_tiles
        group_tree_kernels.lay_tiles(self.codes, child, begin, end, first_tile, tiles)
        self.arrays: Finder = (child, begin, end, marks, offsets, widths, first_tile, tiles)

    def leaves(self, codes: Array) -> Indices:
        """Return a leaf of groups that are like each query (c, q): who shares one searches alike."""
        leaves = np.empty(codes.shape[1], dtype=np.int64)
        group_tree_kernels.find_leaves(self.arrays, codes, leaves)
        return leaves

    def room(self) -> Room:
        """Return room for what a search notes."""
        child, _, _, marks, *_ = self.arrays
        n_columns, n_groups = self.codes.shape
        waiting, listed = (
            (np.empty(n_columns + 1, dtype=np.int64), np.empty(n, dtype=np.int64))
            for n in (len(child), n_groups)
        )
        counts, mismatches, lowest = (
            np.empty(n, dtype=np.min_scalar_type(n_columns)) for n in (TILE, n_groups, -(-n_groups // STRIP))
        )
        return (
            np.empty(marks.shape[1], dtype=np.uint64), waiting, listed, counts, mismatches, lowest,
            np.empty(n_groups + 1, dtype=np.int64),  # a place is written before it is known to count
            np.zeros(n_columns + 2, dtype=np.int64),
            np.zeros(5, dtype=np.int64),
        )  # fmt: skip
