"""What is lost by generalizing and suppressing: five measures, each with a bound that a search can use.

A *scorer* is a loss over the combinations at hand. It gives a loss to a node, and bounds it from below before
anything is grouped: ``terms`` are what each column adds at each level where no row is suppressed (for Loss
and entropy, which are sums over columns), and ``ahead`` is a bound on every coarser node that can be read
from a node's classes (for the two measures of class sizes). Formulas are those of ARX 3.9.2.
"""

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

import numpy as np

from tabveil.core import check
from tabveil.core.table import Floats
from tabveil.synthesis.anonymize.class_kernels import suppressed_entropy, suppressed_shares
from tabveil.synthesis.anonymize.lattice import Classes, Keep, Lattice, Node

Mean = Literal["geometric", "arithmetic"]


class Scorer(ABC):
    """A loss over some combinations."""

    terms: list[Floats]  # (n_levels,) for each column

    def bound(self, total: float) -> float:
        """Return the least loss of a node whose columns' terms add up to this."""
        return total

    @abstractmethod
    def at_least(self, node: Node, suppressed: int, least: int) -> float:
        """Return the least loss of a node that suppresses so many rows, or more.

        Classes that are kept have at least ``least`` rows.
        """

    @abstractmethod
    def score(self, classes: Classes, keep: Keep) -> float:
        """Return a node's loss."""

    def ahead(self, classes: Classes, least: int) -> float:  # noqa: ARG002 - of many, the terms say it all
        """Return a bound on the loss of every coarser node, where kept classes have at least so many rows."""
        return 0.0


class LossModel(Protocol):
    """A measure of what is lost."""

    name: ClassVar[str]

    def scorer(self, lattice: Lattice) -> Scorer:
        """Return the measure over the combinations of a lattice."""
        ...


class _ShareScorer(Scorer):
    def __init__(self, lattice: Lattice, *, geometric: bool) -> None:
        self._lattice = lattice
        self._geometric = geometric
        combinations = lattice.combinations
        n_rows, d = combinations.n_rows, len(lattice.heights)
        leaves = np.array([len(hierarchy.leaves) for hierarchy in combinations.hierarchies], dtype=np.float64)
        self._least = n_rows / leaves  # (d,) what is there where nothing is generalized
        # One leaf, or no rows: nothing can be lost.
        self._scale = np.where(n_rows > self._least, 1 / np.maximum(n_rows - self._least, 1e-300), 0.0)
        self._sums = [
            hierarchy.shares @ combinations.leaf_counts(column)
            for column, hierarchy in enumerate(combinations.hierarchies)
        ]  # each (n_levels,)
        self._lines, self.terms = [], []
        for column, hierarchy in enumerate(combinations.hierarchies):
            extra, scale = self._sums[column] - self._least[column], self._scale[column]
            # What is there already, and what a suppressed row adds at least: a pair for each level.
            slack = 1 - hierarchy.shares.max(axis=1)
            self._lines.append(list(zip((extra * scale).tolist(), (slack * scale).tolist(), strict=True)))
            lost = np.maximum(extra * scale, 0.0)
            self.terms.append(np.log1p(lost) / d if geometric else lost / d)

    def bound(self, total: float) -> float:
        return math.expm1(total) if self._geometric else total

    def at_least(self, node: Node, suppressed: int, least: int) -> float:  # noqa: ARG002 - sizes do not matter
        lost = 1.0 if self._geometric else 0.0
        for levels, level in zip(self._lines, node, strict=True):
            base, each = levels[level]
            value = base + suppressed * each
            if value > 0:
                lost = lost * (1 + value) if self._geometric else lost + value
        return lost ** (1 / len(node)) - 1 if self._geometric else lost / len(node)

    def score(self, classes: Classes, keep: Keep) -> float:
        lattice = self._lattice
        places = lattice.places(classes.node)
        lacking = suppressed_shares(
            classes.rows, classes.counts, keep, lattice.combinations.leaves, places, lattice.shares
        )
        sums = np.array([each[level] for each, level in zip(self._sums, classes.node, strict=True)])
        lost = np.maximum((sums + lacking - self._least) * self._scale, 0.0)
        return float(np.expm1(np.log1p(lost).mean()) if self._geometric else lost.mean())


class _EntropyScorer(Scorer):
    def __init__(self, lattice: Lattice) -> None:
        self._lattice = lattice
        self.terms = []
        self._fillings: list[list[tuple[list[int], list[float]]]] = []
        for column, hierarchy in enumerate(lattice.combinations.hierarchies):
            counts = lattice.combinations.leaf_counts(column)
            held = counts > 0
            totals = [np.bincount(codes, weights=counts).astype(np.float64) for codes in hierarchy.codes]
            self._fillings.append([_filling(total) for total in totals])
            bits = [
                np.sum(counts[held] * np.log2(total[codes][held] / counts[held]))
                for total, codes in zip(totals, hierarchy.codes, strict=True)
            ]
            self.terms.append(np.array(bits))

    def at_least(self, node: Node, suppressed: int, least: int) -> float:  # noqa: ARG002 - sizes do not matter
        total = 0.0
        for column, level in enumerate(node):
            total += self.terms[column][level] + self._fewest_bits(column, level, suppressed)
        return float(total)

    def _fewest_bits(self, column: int, level: int, suppressed: int) -> float:
        """Return what suppressed rows lose at least: least where they fill the most frequent values."""
        filled, bits = self._fillings[column][level]
        place = bisect_right(filled, suppressed)
        rest = suppressed - (filled[place - 1] if place else 0)
        held = (bits[place - 1] if place else 0.0) + (rest * math.log2(rest) if rest > 0 else 0.0)
        return suppressed * math.log2(suppressed) - held if suppressed > 0 else 0.0

    def score(self, classes: Classes, keep: Keep) -> float:
        lattice = self._lattice
        hierarchies = lattice.combinations.hierarchies
        sizes = [len(item.labels[level]) for item, level in zip(hierarchies, classes.node, strict=True)]
        generalized = sum(float(term[level]) for term, level in zip(self.terms, classes.node, strict=True))
        leaves, places = lattice.combinations.leaves, lattice.places(classes.node)
        n_values = np.array(sizes, dtype=np.int64)
        suppressed = suppressed_entropy(
            classes.rows, classes.counts, keep, leaves, places, lattice.codes, n_values
        )
        return generalized + float(suppressed)


def _filling(counts: Floats) -> tuple[list[int], list[float]]:
    """Return how many rows the most frequent values hold together, and the sums of their c log2 c."""
    ranked = np.sort(counts[counts > 0])[::-1]
    filled = np.cumsum(ranked).astype(np.int64)
    return filled.tolist(), np.cumsum(ranked * np.log2(ranked)).tolist()


class _SizeScorer(Scorer):
    def __init__(self, lattice: Lattice) -> None:
        self._n_rows = lattice.combinations.n_rows
        self.terms = [np.zeros(height + 1) for height in lattice.heights]


class _DiscernibilityScorer(_SizeScorer):
    def at_least(self, node: Node, suppressed: int, least: int) -> float:  # noqa: ARG002 - alike at all nodes
        kept = self._n_rows - suppressed
        return float(self._n_rows * suppressed + kept * min(least, self._n_rows))

    def score(self, classes: Classes, keep: Keep) -> float:
        kept = classes.counts[keep].astype(np.float64)
        return float(kept @ kept + self._n_rows * (self._n_rows - kept.sum()))

    def ahead(self, classes: Classes, least: int) -> float:
        """Let each row share its class with as many as now, or as a kept class must have: they only grow."""
        counts = classes.counts.astype(np.float64)
        return float(counts @ np.maximum(counts, min(least, self._n_rows)))


class _ClassSizeScorer(_SizeScorer):
    def at_least(self, node: Node, suppressed: int, least: int) -> float:  # noqa: ARG002 - alike at all nodes
        return self._n_rows / ((self._n_rows - suppressed) // least + 1)

    def score(self, classes: Classes, keep: Keep) -> float:  # noqa: ARG002 - only how many there are
        n_classes = int(keep.sum())
        return self._n_rows / (n_classes + (n_classes < len(keep))) if len(keep) else 0.0

    def ahead(self, classes: Classes, least: int) -> float:
        """Count what coarser classes hold at least: one large class, or enough rows of small ones."""
        large = classes.counts >= least
        most = int(large.sum()) + int(classes.counts[~large].sum()) // least + 1
        return self._n_rows / most


@dataclass(frozen=True, kw_only=True)
class GeneralizationLoss:
    """Which share of its column's values does a cell stand for, on average? (Iyengar's Loss)

    A suppressed cell stands for all. 0 where nothing is changed, 1 where all is suppressed; columns are
    joined by their geometric or arithmetic mean.
    """

    name: ClassVar[str] = "loss"
    mean: Mean = "geometric"

    def __post_init__(self) -> None:
        check.one_of("loss", "mean", self.mean, ("geometric", "arithmetic"))

    def scorer(self, lattice: Lattice) -> Scorer:
        """Return the measure over the combinations of a lattice."""
        return _ShareScorer(lattice, geometric=self.mean == "geometric")


@dataclass(frozen=True, kw_only=True)
class Entropy:
    """How many bits about the original values are lost? (non-uniform entropy)"""

    name: ClassVar[str] = "entropy"
    scorer: ClassVar[type[Scorer]] = _EntropyScorer


@dataclass(frozen=True, kw_only=True)
class Discernibility:
    """With how many rows does each row share its class, summed over all rows? Suppressed ones with all."""

    name: ClassVar[str] = "discernibility"
    scorer: ClassVar[type[Scorer]] = _DiscernibilityScorer


@dataclass(frozen=True, kw_only=True)
class AverageClassSize:
    """How many rows does a class have on average, the suppressed ones together being one?"""

    name: ClassVar[str] = "class_size"
    scorer: ClassVar[type[Scorer]] = _ClassSizeScorer


LOSSES: dict[str, LossModel] = {
    "geometric loss": GeneralizationLoss(mean="geometric"),
    "arithmetic loss": GeneralizationLoss(mean="arithmetic"),
    "discernibility": Discernibility(),
    "entropy": Entropy(),
    "class size": AverageClassSize(),
}
"""Every measure by the name it has in files."""
