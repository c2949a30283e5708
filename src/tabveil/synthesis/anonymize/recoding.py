"""How rows are generalized in the end, by one node or by several in turn, and what that loses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices
from tabveil.errors import NotApplicable
from tabveil.synthesis.anonymize.combinations import Combinations
from tabveil.synthesis.anonymize.grouping_kernels import number_rows
from tabveil.synthesis.anonymize.lattice import Lattice, Node
from tabveil.synthesis.anonymize.losses import (
    AverageClassSize,
    Discernibility,
    Entropy,
    GeneralizationLoss,
    LossModel,
)
from tabveil.synthesis.anonymize.privacy_models import PrivacyModel
from tabveil.synthesis.anonymize.search import SearchResult, search

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
        found, firsts = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
        n = number_rows(keys, found, firsts)
        numbers[self.kept] = found
        return numbers, np.bincount(found, weights=self.combinations.counts[self.kept], minlength=n).astype(
            np.int64
        )

    def labels(self, column: int) -> tuple[tuple[str, ...], Indices]:
        """Return what is written in a column, and which of it each combination gets, (m,); -1 for none."""
        hierarchy = self.combinations.hierarchies[column]
        leaves = self.combinations.leaves[column]
        numbers: dict[str, int] = {}
        found = np.full(len(leaves), -1, dtype=np.int64)
        for place, node in enumerate(self.nodes):
            level = node[column]
            chosen = self.rounds == place
            values = hierarchy.codes[level][leaves[chosen]]
            table = np.full(len(hierarchy.labels[level]), -1, dtype=np.int64)
            for value in np.unique(values):
                table[value] = numbers.setdefault(hierarchy.labels[level][value], len(numbers))
            found[chosen] = table[values]
        return tuple(numbers), found

    def shares(self, column: int) -> Floats:
        """Return the share of leaves that each combination's value stands for, (m,); 1 where suppressed."""
        hierarchy = self.combinations.hierarchies[column]
        leaves = self.combinations.leaves[column]
        found = np.ones(len(leaves))
        for place, node in enumerate(self.nodes):
            chosen = self.rounds == place
            found[chosen] = hierarchy.shares[node[column]][leaves[chosen]]
        return found


def of_node(lattice: Lattice, found: SearchResult) -> Recoding:
    """Return the recoding by one node."""
    rounds = np.where(_kept(lattice, found), 0, -1).astype(np.int32)
    return Recoding(combinations=lattice.combinations, nodes=(found.node,), rounds=rounds)


def recode_locally(
    first: Recoding,
    models: Sequence[PrivacyModel],
    loss: LossModel,
    *,
    budget: int,
) -> tuple[Recoding, bool]:
    """Search again for the rows that are left over, until none is left or none can be kept.

    Returns the recoding and whether every round's node is proven to be its best.
    """
    recoding, proven = first, True
    while recoding.n_suppressed > 0:
        left = np.flatnonzero(~recoding.kept)
        lattice = Lattice(recoding.combinations.take(left))
        most = min(int(RESIDUE * recoding.n_suppressed), recoding.n_suppressed - 1)
        try:
            found = search(lattice, models, loss, most_suppressed=most, budget=budget)
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
    numbers, firsts = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    n = number_rows(keys, numbers, firsts)
    keep = np.zeros(n, dtype=np.bool_)
    keep[numbers[found.classes.rows]] = found.keep
    return keep[numbers]


def column_losses(recoding: Recoding) -> Floats:
    """Return the share of its values that a cell of each column stands for, above that of one value, (d,)."""
    combinations = recoding.combinations
    n_rows = combinations.n_rows
    found = []
    for column, hierarchy in enumerate(combinations.hierarchies):
        least = n_rows / len(hierarchy.leaves)
        total = float(recoding.shares(column) @ combinations.counts)
        found.append(max((total - least) / (n_rows - least), 0.0) if n_rows > least else 0.0)
    return np.array(found)


def recoded_loss(loss: LossModel, recoding: Recoding) -> float:
    """Return the loss of a recoding."""
    n_rows, n_suppressed = recoding.combinations.n_rows, recoding.n_suppressed
    match loss:
        case GeneralizationLoss(mean=mean):
            lost = column_losses(recoding)
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
