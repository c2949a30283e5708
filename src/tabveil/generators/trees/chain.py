"""A chain of trees: each column's tree looks at the columns visited before it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator

from tabveil.disclosure import LEAST_SHARED
from tabveil.encode.ordinal import MISSING, Codes, CountedValues
from tabveil.generators.trees.growth import Tree, grow
from tabveil.table import Floats, Numeric, within
from tabveil.workers import tell

BESIDE = 0.01
"""In a likelihood so much of a leaf is the whole column: what was seen anywhere is possible everywhere."""
UNSEEN = 0.5
"""The rows that a likelihood adds to each value of a column: a label may be new."""
SILVERMAN = 0.9, -0.2
"""The width of a kernel is 0.9 standard deviations, times the number of values to the power of -1/5."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """The columns' levels and trees, in the order of the visits."""

    levels: tuple[CountedValues, ...]
    trees: tuple[Tree, ...]

    def draw(self, n_rows: int, *, smoothing: bool, rng: Generator) -> Floats:
        """Draw cells (n, columns) column after column."""
        codes = np.zeros((n_rows, len(self.trees)), dtype=np.int32)
        cells = np.empty((n_rows, len(self.trees)))
        for k, (tree, levels) in enumerate(zip(self.trees, self.levels, strict=True)):
            leaves = tree.leaves(codes)
            codes[:, k] = tree.draw(leaves, rng=rng)
            smooth = smoothing and isinstance(levels.column, Numeric)
            drawn = (
                _smoothed(codes[:, k], leaves, tree, levels, rng=rng) if smooth else levels.cells(codes[:, k])
            )
            cells[:, k] = within(levels.column, drawn)
        return cells

    def losses(self, codes: Codes) -> Floats:
        """Return the negative log-likelihood (n, columns) of each cell given those before it, in nats."""
        losses = np.empty(codes.shape)
        for k, (tree, levels) in enumerate(zip(self.trees, self.levels, strict=True)):
            losses[:, k] = -np.log(_likelihood(tree, levels, codes, codes[:, k]))
        return losses

    def loss(self, codes: Codes) -> float:
        """Return the mean negative log-likelihood of a row."""
        return float(self.losses(codes).sum(axis=1).mean())

    def filled(self, codes: Codes) -> Self:
        """Return the same trees with these rows in their leaves."""
        trees = tuple(tree.filled(codes, codes[:, k]) for k, tree in enumerate(self.trees))
        return replace(self, levels=tuple(_counted(self.levels, codes)), trees=trees)


def _counted(levels: Sequence[CountedValues], codes: Codes) -> list[CountedValues]:
    return [each.counted(codes[:, k]) for k, each in enumerate(levels)]


def grow_chain(
    levels: Sequence[CountedValues],
    codes: Codes,
    *,
    min_leaf: int,
    rng: Generator,
) -> Chain:
    """Grow a tree for each column from rows (n, columns)."""
    levels, trees = _counted(levels, codes), []
    for k, goal in enumerate(levels):
        tree = grow(codes[:, :k], codes[:, k], features=levels[:k], levels=goal, min_leaf=min_leaf, rng=rng)
        trees.append(tree)
        tell("growing trees", (k + 1) / len(levels))
    return Chain(levels=tuple(levels), trees=tuple(trees))


def _likelihood(tree: Tree, levels: CountedValues, codes: Codes, goal: Codes) -> Floats:
    """Return how likely the goal of each row is: its share in the row's leaf, mixed with that overall."""
    low, high = levels.ranges()
    totals = np.concatenate([[0], np.cumsum(levels.counts)])
    in_range = totals[high] - totals[low] + UNSEEN
    shares = in_range / in_range[np.unique(low)].sum()
    same, size = tree.in_leaf(tree.leaves(codes), low[goal], high[goal])
    return np.asarray((1 - BESIDE) * same / size + BESIDE * shares[goal])


class _Kernels(NamedTuple):
    """The mean, the spread and the width of the kernel of the numbers that few rows share, for each node."""

    mean: Floats
    spread: Floats
    width: Floats

    @classmethod
    def of(cls, tree: Tree, levels: CountedValues) -> Self:
        """Measure the leaves.

        Where a leaf has no two such numbers, the whole column stands in: a single person's number is not
        repeated because nobody resembles them.
        """
        few = (levels.counts < LEAST_SHARED)[tree.members] & (tree.members != MISSING)
        leaf = np.repeat(np.arange(len(tree.left)), np.diff(tree.first))[few]
        cells = levels.cells(tree.members[few])
        if len(cells) == 0:
            return cls(*np.zeros((3, len(tree.left))))
        n = np.maximum(np.bincount(leaf, minlength=len(tree.left)), 1)
        mean = np.bincount(leaf, weights=cells, minlength=len(tree.left)) / n
        spread = np.sqrt(np.bincount(leaf, weights=(cells - mean[leaf]) ** 2, minlength=len(tree.left)) / n)
        alone = spread == 0
        n[alone], mean[alone], spread[alone] = len(cells), cells.mean(), cells.std()
        factor, power = SILVERMAN
        return cls(mean, spread, factor * spread * n**power)


def _smoothed(codes: Codes, leaves: Codes, tree: Tree, levels: CountedValues, *, rng: Generator) -> Floats:
    """Move the numbers that few rows share, without spreading them wider than they are.

    Silverman and Young's shrinkage undoes what a kernel adds to the variance. A number that would leave the
    range that was seen is reflected.
    """
    cells = levels.cells(codes)
    if len(levels.values) == 0:
        return cells
    mean, spread, width = (part[leaves] for part in _Kernels.of(tree, levels))
    shrinking = spread / np.maximum(np.hypot(spread, width), np.finfo(float).tiny)
    moved = mean + (cells - mean + rng.normal(size=len(cells)) * width) * shrinking
    low, high = levels.values[[0, -1]]
    moved = low + np.abs(moved - low)
    moved = np.clip(high - np.abs(high - moved), low, high)
    return np.where(levels.counts[codes] < LEAST_SHARED, moved, cells)
