"""Where the groups of a node are found from: the cheapest finer node whose groups are still there.

Groups are kept as long as a coarser neighbor may need them and memory allows. Where no neighbor's are there,
those of the node with its last column ungeneralized are found first: a tree in which each step changes one
column.
"""

from collections.abc import Iterator

import numpy as np

from tabveil.synthesis.anonymize.lattice import Groups, Lattice, Node, below

CACHE_BYTES = 600_000_000
"""Memory for the groups of nodes that coarser nodes may be found from."""


class Sources:
    """The groups of nodes and of their shadows."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._cache: dict[Node, Groups] = {}
        self._cached_bytes = 0
        self._order = _by_variety(lattice)
        self._bases = [lattice.bottom()]  # each with one column less

    def groups(self, node: Node) -> tuple[Groups, int]:
        """Return the groups of a node, and how many others had to be looked at to find them."""
        return self._find(node, len(node))

    def shadow(self, node: Node) -> tuple[Groups, int]:
        """Return the groups of a shadow, and how many others had to be looked at."""
        heights = self._lattice.heights
        n_left = 1 + max(rank for rank, place in enumerate(self._order) if node[place] != heights[place])
        return self._find(node, n_left)

    def _find(self, node: Node, n_left: int) -> tuple[Groups, int]:
        """Return the groups of a node in which all but the first columns are at their top."""
        root = self._base(n_left)
        if node == root.node:
            return root, len(root)
        found = self._cache.get(node)
        if found is not None:
            return found, len(found)
        near = [self._cache[lower] for lower in below(node) if lower in self._cache]
        if near:
            source, work = min(near, key=len), 0
        else:
            last = next(place for place in reversed(self._order[:n_left]) if node[place])
            source, work = self._find((*node[:last], 0, *node[last + 1 :]), n_left)
        found = self._lattice.roll_up(source, node)
        self._remember(node, found)
        return found, work + len(source)

    def _base(self, n_left: int) -> Groups:
        """Return the groups of the first columns alone, ungeneralized."""
        heights = self._lattice.heights
        while len(self._bases) <= len(heights) - n_left:
            before = self._bases[-1]
            last = self._order[len(heights) - len(self._bases)]
            node = (*before.node[:last], heights[last], *before.node[last + 1 :])
            self._bases.append(self._lattice.roll_up(before, node))
        return self._bases[len(heights) - n_left]

    def _remember(self, node: Node, groups: Groups) -> None:
        if node == self._lattice.heights or groups.nbytes > CACHE_BYTES:
            return
        self._cache[node] = groups
        self._cached_bytes += groups.nbytes
        while (
            self._cached_bytes > CACHE_BYTES
        ):  # the oldest are the finest: what is coarser is well past them
            self._cached_bytes -= self._cache.pop(next(iter(self._cache))).nbytes

    def shadows_of(self, node: Node) -> Iterator[Node]:
        """Yield the shadows of a node: its levels in the first columns, the others at their top."""
        shadow = list(self._lattice.heights)
        for place in self._order[:-1]:
            if node[place] != shadow[place]:
                shadow[place] = node[place]
                yield tuple(shadow)


def _by_variety(lattice: Lattice) -> list[int]:
    """Order the columns by how much they tell rows apart: by entropy, the most telling first."""
    entropies = []
    for column in range(len(lattice.heights)):
        counts = lattice.combinations.leaf_counts(column)
        shares = counts[counts > 0] / max(counts.sum(), 1)
        entropies.append(float(-np.sum(shares * np.log(shares))))
    return sorted(range(len(entropies)), key=lambda column: -entropies[column])
