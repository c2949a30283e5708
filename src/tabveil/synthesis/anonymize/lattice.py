"""The lattice of generalizations: a node says how far each column is generalized, and has classes of rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices
from tabveil.synthesis.anonymize.class_kernels import gather, number_rows, roll_up
from tabveil.synthesis.anonymize.hierarchy import LARGEST_KEY, Combinations

Node = tuple[int, ...]
"""The level of each quasi-identifier."""
Keep = NDArray[np.bool_]
"""Which classes of a node are released, (c,)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Groups:
    """Rows that a node does not tell apart, sensitive values among what it looks at."""

    node: Node
    keys: Indices  # (g, n_parts)
    rows: NDArray[np.int32]  # (g,) a combination that stands for each group
    counts: Indices  # (g,)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def nbytes(self) -> int:
        """The memory they take."""
        return self.keys.nbytes + self.rows.nbytes + self.counts.nbytes


@dataclass(frozen=True, kw_only=True, eq=False)
class Classes:
    """The equivalence classes of a node, and the groups that each is made of."""

    node: Node
    rows: NDArray[np.int32]  # (c,) a combination that stands for each class
    counts: Indices  # (c,)
    groups: Groups
    order: Indices  # (g,) groups by class
    starts: Indices  # (c + 1,)

    def __len__(self) -> int:
        return len(self.counts)


class Lattice:
    """All nodes over the combinations of a table."""

    def __init__(self, combinations: Combinations) -> None:
        self.combinations = combinations
        hierarchies = combinations.hierarchies
        self.heights: Node = tuple(hierarchy.n_levels - 1 for hierarchy in hierarchies)
        self.bottom_node: Node = (0,) * len(hierarchies)
        self._n_leaves = np.array([len(hierarchy.leaves) for hierarchy in hierarchies], dtype=np.int64)
        sizes = [hierarchy.codes.size for hierarchy in hierarchies]
        self._starts = np.cumsum([0, *sizes], dtype=np.int64)[:-1]
        self.shares: Floats = _joined([hierarchy.shares for hierarchy in hierarchies])
        self.codes: Indices = _joined([hierarchy.codes for hierarchy in hierarchies])
        parts, factors = _digits([len(hierarchy.leaves) for hierarchy in hierarchies])
        self._parts = np.array(parts, dtype=np.int64)
        self._n_parts = max(parts, default=0) + 1
        self._places: Indices = _joined(
            [hierarchy.codes * factor for hierarchy, factor in zip(hierarchies, factors, strict=True)]
        )

    @property
    def n_nodes(self) -> int:
        """How many nodes there are."""
        return int(np.prod([height + 1 for height in self.heights], dtype=object))

    def bottom(self) -> Groups:
        """Return the groups of the node that generalizes nothing: the combinations themselves."""
        combinations = self.combinations
        d, places = len(self.heights), self.places(self.bottom_node)
        sensitive_parts, factors = _digits([column.n_values for column in combinations.sensitive])
        n_more = max(sensitive_parts, default=-1) + 1
        keys = np.zeros((len(combinations), self._n_parts + n_more), dtype=np.int64)
        for column in range(d):
            keys[:, self._parts[column]] += self._places[places[column] + combinations.leaves[column]]
        for place, (part, factor) in enumerate(zip(sensitive_parts, factors, strict=True)):
            keys[:, self._n_parts + part] += combinations.leaves[d + place].astype(np.int64) * factor
        rows = np.arange(len(combinations), dtype=np.int32)
        return Groups(node=self.bottom_node, keys=keys, rows=rows, counts=combinations.counts)

    def roll_up(self, groups: Groups, node: Node) -> Groups:
        """Return the groups of a node that is coarser than that of the groups."""
        changed = [place for place, level in enumerate(node) if level != groups.node[place]]
        columns, leaves = np.array(changed, dtype=np.int64), self.combinations.leaves
        before, after = self.places(groups.node), self.places(node)
        keys, rows, counts = roll_up(
            groups.keys, groups.rows, groups.counts, leaves, columns, self._parts, before, after, self._places
        )
        return Groups(node=node, keys=keys, rows=rows, counts=counts)

    def places(self, node: Node) -> Indices:
        """Return where the tables of a node's levels begin, (d,): leaf x of a column is found x later."""
        return self._starts + np.array(node, dtype=np.int64) * self._n_leaves

    def classes(self, groups: Groups) -> Classes:
        """Bring the groups together that differ in sensitive values alone."""
        if groups.keys.shape[1] == self._n_parts:
            order, starts = np.arange(len(groups)), np.arange(len(groups) + 1)
            rows, counts = groups.rows, groups.counts
        else:
            numbers, firsts = number_rows(groups.keys[:, : self._n_parts])
            order, starts, counts = gather(numbers, len(firsts), groups.counts)
            rows = groups.rows[firsts]
        return Classes(node=groups.node, rows=rows, counts=counts, groups=groups, order=order, starts=starts)


def above(node: Node, heights: Node) -> Iterator[tuple[int, Node]]:
    """Yield the neighbors that are one level coarser in one column, with that column."""
    for column, height in enumerate(heights):
        if node[column] < height:
            yield column, (*node[:column], node[column] + 1, *node[column + 1 :])


def below(node: Node) -> Iterator[Node]:
    """Yield the neighbors that are one level finer in one column."""
    for column, level in enumerate(node):
        if level > 0:
            yield (*node[:column], level - 1, *node[column + 1 :])


def _joined(tables: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Lay the tables of all columns end to end."""
    return np.concatenate([table.ravel() for table in tables])


def _digits(sizes: Sequence[int]) -> tuple[list[int], list[int]]:
    """Spread digits over as few whole numbers as hold them: return the part and the factor of each."""
    parts, factors, part, factor = [], [], 0, 1
    for size in sizes:
        if factor * size >= LARGEST_KEY:
            part, factor = part + 1, 1
        parts.append(part)
        factors.append(factor)
        factor *= max(size, 1)
    return parts, factors


CACHE_BYTES = 600_000_000
"""Memory for the groups of nodes that coarser nodes may be found from."""


class GroupSources:
    """The groups of nodes and of their shadows."""

    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self._cache: dict[Node, Groups] = {}
        self._cached_bytes = 0
        entropies = []
        for column in range(len(lattice.heights)):
            counts = lattice.combinations.leaf_counts(column)
            shares = counts[counts > 0] / max(counts.sum(), 1)
            entropies.append(float(-np.sum(shares * np.log(shares))))
        # The columns by how much they tell rows apart, the most telling first.
        self._order = sorted(range(len(entropies)), key=lambda column: -entropies[column])
        self.bottom = lattice.bottom()
        self._bases = [self.bottom]  # each with one column less

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
        if node != self._lattice.heights and found.nbytes <= CACHE_BYTES:
            self._cache[node] = found
            self._cached_bytes += found.nbytes
            while self._cached_bytes > CACHE_BYTES:
                # The oldest are the finest: what is coarser is well past them.
                self._cached_bytes -= self._cache.pop(next(iter(self._cache))).nbytes
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

    def shadows_of(self, node: Node) -> Iterator[Node]:
        """Yield the shadows of a node: its levels in the first columns, the others at their top."""
        shadow = list(self._lattice.heights)
        for place in self._order[:-1]:
            if node[place] != shadow[place]:
                shadow[place] = node[place]
                yield tuple(shadow)
