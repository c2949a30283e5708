"""Numbers that few rows share, moved: whoever draws from real rows must not repeat somebody's number.

Two ways. ``move_by_kernel`` adds a normal deviate as wide as suits the density of such numbers in a leaf.
``move_between_neighbors`` draws between the two numbers next to it in the leaf, which keeps any shape that
the numbers have, and leaves round numbers as round as they were.
"""

from typing import NamedTuple, Protocol, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Floats, Indices, Numeric
from tabveil.synthesis.generators.trees.growth import Tree
from tabveil.tables.matrices.ordinal import MISSING, Codes, CountedValues
from tabveil.tables.matrices.unshared import Intervals

SILVERMAN = 0.9, -0.2
"""The width of a kernel is 0.9 standard deviations, times the number of values to the power of -1/5."""


class Mover(Protocol):
    """A way to move numbers that few rows share."""

    def __call__(
        self, members: Indices, leaves: Codes, tree: Tree, levels: CountedValues, *, rng: Generator
    ) -> Floats:
        """Return the numbers of members drawn from leaves, by where they stand; missing stays missing."""
        ...


def move_between_neighbors(
    members: Indices, leaves: Codes, tree: Tree, levels: CountedValues, *, rng: Generator
) -> Floats:
    """Draw between the numbers beside it in its leaf, see :mod:`tabveil.tables.matrices.unshared`."""
    del leaves
    assert isinstance(levels.column, Numeric), "labels are not moved"
    present = np.flatnonzero(tree.members != MISSING)
    leaf = np.repeat(np.arange(len(tree.left)), np.diff(tree.first))
    around = Intervals.of(
        levels.column,
        levels.values,
        levels.counts[1:-1],
        places=tree.members[present].astype(np.int64) - 1,
        groups=leaf[present],
    )
    moved = np.full(len(members), np.nan)
    here = tree.members[members] != MISSING
    moved[here] = around.draw(levels.column, np.searchsorted(present, members[here]), rng=rng)
    return moved


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


def move_by_kernel(
    members: Indices, leaves: Codes, tree: Tree, levels: CountedValues, *, rng: Generator
) -> Floats:
    """Move the numbers that few rows share, without spreading them wider than they are.

    Silverman and Young's shrinkage undoes what a kernel adds to the variance. A number that would leave the
    range that was seen is reflected.
    """
    codes = tree.members[members]
    cells = levels.cells(codes)
    mean, spread, width = (part[leaves] for part in _Kernels.of(tree, levels))
    shrinking = spread / np.maximum(np.hypot(spread, width), np.finfo(float).tiny)
    moved = mean + (cells - mean + rng.normal(size=len(cells)) * width) * shrinking
    low, high = levels.values[[0, -1]]
    moved = low + np.abs(moved - low)
    moved = np.clip(high - np.abs(high - moved), low, high)
    return np.where(levels.counts[codes] < LEAST_SHARED, moved, cells)
