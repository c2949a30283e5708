"""How rows are generalized in the end, by one node or by several in turn, and what that loses."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices
from tabveil.errors import NotApplicable
from tabveil.synthesis.anonymize.class_kernels import number_rows
from tabveil.synthesis.anonymize.hierarchy import Combinations
from tabveil.synthesis.anonymize.lattice import Lattice, Node
from tabveil.synthesis.anonymize.losses import (
    AverageClassSize,
    Discernibility,
    Entropy,
    GeneralizationLoss,
    LossModel,
)
from tabveil.synthesis.anonymize.search import LatticeSearch, SearchResult

Searching = partial[LatticeSearch]
"""A search to which a lattice, and how many rows may be suppressed, are still to be said."""
RESIDUE = 0.99
"""Of what one round left over, the next may leave at most this share: it must be worth its while."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Which node generalizes each combination."""

    combinations: Combinations
    nodes: tuple[Node, ...]  # one for each round
    rounds: NDArray[np.int32]  # (m,) the round of each combination; -1 where it is suppressed

    @property
    def kept(self) -> NDArray[np.bool_]:
        """The combinations that are released, (m,)."""
        return self.rounds >= 0

    @property
    def n_suppressed(self) -> int:
        """How many rows are not released."""
        return int(self.combinations.counts[~self.kept].sum())

    @cached_property
    def classes(self) -> tuple[Indices, Indices]:
        """The number of each kept combination's class, -1 for others, (m,), and the rows of each class."""
        columns = range(len(self.combinations.hierarchies))
        keys = np.stack([self.labels(column)[1] for column in columns], axis=1)[self.kept]
        numbers = np.full(len(self.combinations), -1, dtype=np.int64)
        found, firsts = number_rows(keys)
        numbers[self.kept] = found
        counts = self.combinations.counts[self.kept]
        return numbers, np.bincount(found, weights=counts, minlength=len(firsts)).astype(np.int64)

    def labels(self, column: int) -> tuple[tuple[str, ...], Indices]:
        """Return what is written in a column, and which of it each combination gets, (m,); -1 for none."""
        hierarchy = self.combinations.hierarchies[column]
        leaves = self.combinations.leaves[column]
        numbers: dict[str, int] = {}
        found = np.full(len(leaves), -1, dtype=np.int64)
        for place, node in enumerate(self.nodes):
            level = node[column]
            chosen = self.rounds == place
            values, places = np.unique(hierarchy.codes[level][leaves[chosen]], return_inverse=True)
            own = [numbers.setdefault(hierarchy.labels[level][value], len(numbers)) for value in values]
            found[chosen] = np.array(own, dtype=np.int64)[places.ravel()]
        return tuple(numbers), found

    @cached_property
    def column_losses(self) -> Floats:
        """The share of its values that a cell of each column stands for, above that of one value, (d,)."""
        n_rows, found = self.combinations.n_rows, []
        for column, hierarchy in enumerate(self.combinations.hierarchies):
            leaves = self.combinations.leaves[column]
            shares = np.ones(len(leaves))  # of leaves that a combination's value stands for; 1 if suppressed
            for place, node in enumerate(self.nodes):
                chosen = self.rounds == place
                shares[chosen] = hierarchy.shares[node[column]][leaves[chosen]]
            least = n_rows / len(hierarchy.leaves)
            total = float(shares @ self.combinations.counts)
            found.append(max((total - least) / (n_rows - least), 0.0) if n_rows > least else 0.0)
        return np.array(found)


def of_node(lattice: Lattice, found: SearchResult) -> Recoding:
    """Return the recoding by one node."""
    rounds = np.where(_kept(lattice, found), 0, -1).astype(np.int32)
    return Recoding(combinations=lattice.combinations, nodes=(found.node,), rounds=rounds)


def recode_locally(first: Recoding, searching: Searching) -> tuple[Recoding, bool]:
    """Search again for the rows that are left over, until none is left or none can be kept.

    Returns the recoding and whether every round's node is proven to be its best.
    """
    recoding, proven = first, True
    while recoding.n_suppressed > 0:
        left = np.flatnonzero(~recoding.kept)
        lattice = Lattice(recoding.combinations.take(left))
        most = min(int(RESIDUE * recoding.n_suppressed), recoding.n_suppressed - 1)
        try:
            found = searching(lattice, most_suppressed=most).run()
        except NotApplicable:  # nothing more can be kept
            break
        rounds = recoding.rounds.copy()
        rounds[left[_kept(lattice, found)]] = len(recoding.nodes)
        recoding = replace(recoding, nodes=(*recoding.nodes, found.node), rounds=rounds)
        proven = proven and found.proven
    return recoding, proven


def _kept(lattice: Lattice, found: SearchResult) -> NDArray[np.bool_]:
    """Return which combinations lie in classes that are kept, (m,)."""
    combinations = lattice.combinations
    levels = zip(combinations.hierarchies, found.node, combinations.leaves, strict=False)
    keys = np.stack([item.codes[level][leaves] for item, level, leaves in levels], axis=1)
    numbers, firsts = number_rows(keys)
    keep = np.zeros(len(firsts), dtype=np.bool_)
    keep[numbers[found.classes.rows]] = found.keep
    kept: NDArray[np.bool_] = keep[numbers]
    return kept


def recoded_loss(loss: LossModel, recoding: Recoding) -> float:
    """Return the loss of a recoding."""
    n_rows, n_suppressed = recoding.combinations.n_rows, recoding.n_suppressed
    match loss:
        case GeneralizationLoss(mean=mean):
            lost = recoding.column_losses
            return float(np.expm1(np.log1p(lost).mean()) if mean == "geometric" else lost.mean())
        case Discernibility():
            sizes = recoding.classes[1].astype(np.float64)
            return float(sizes @ sizes + n_rows * n_suppressed)
        case AverageClassSize():
            return n_rows / (len(recoding.classes[1]) + (n_suppressed > 0))
        case Entropy():
            return sum(_lost_bits(recoding, column) for column in range(len(recoding.nodes[0])))
    raise TypeError(f"no such loss: {loss!r}")


def _lost_bits(recoding: Recoding, column: int) -> float:
    """Return the bits that a column loses; suppressed rows count as the last round generalizes them."""
    combinations = recoding.combinations
    hierarchy, leaves = combinations.hierarchies[column], combinations.leaves[column]
    counts = combinations.leaf_counts(column).astype(np.float64)
    lost = 0.0
    for place, node in enumerate(recoding.nodes):
        codes = hierarchy.codes[node[column]]
        chosen = recoding.rounds == place
        if place == len(recoding.nodes) - 1:
            chosen |= ~recoding.kept
        totals = np.bincount(codes, weights=counts)[codes]  # rows with each leaf's value
        own = leaves[chosen]
        lost += float(combinations.counts[chosen] @ np.log2(totals[own] / counts[own]))
    hidden = ~recoding.kept
    values = hierarchy.codes[recoding.nodes[-1][column]][leaves[hidden]]
    held = np.bincount(values, weights=combinations.counts[hidden])
    held = held[held > 0]
    return lost - float(held @ np.log2(held / held.sum())) if len(held) else lost
