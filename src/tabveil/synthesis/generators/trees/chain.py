"""A chain of trees: each column's looks at the columns visited before it; or memorizes them, on purpose."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.table import Floats, Numeric, within
from tabveil.core.workers import part, tell
from tabveil.synthesis.generators.trees.drawing import Agreements, Mover
from tabveil.synthesis.generators.trees.growth import GrownTree, grow
from tabveil.tables.matrices.ordinal import Codes, CountedValues

BESIDE = 0.01
"""In a likelihood so much of a leaf is the whole column: what was seen anywhere is possible everywhere."""
UNSEEN = 0.5
"""The rows that a likelihood adds to each value of a column: a label may be new."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain:
    """The columns' levels and trees, in the order of the visits, and which of them agree exactly."""

    levels: tuple[CountedValues, ...]
    trees: tuple[GrownTree, ...]
    agreements: Agreements

    def draw(self, n_rows: int, *, move: Mover | None, forget: bool, rng: Generator) -> Floats:
        """Draw cells (n, columns) column after column; ``move`` numbers that few rows share.

        To ``forget`` makes what follows go with a number as it was moved, and not as a person has it.
        """
        codes = np.zeros((n_rows, len(self.trees)), dtype=np.int32)
        cells = np.empty((n_rows, len(self.trees)))
        exact = np.ones((n_rows, len(self.trees)), dtype=np.bool_)  # cells that are what their codes say
        for k, (tree, levels) in enumerate(zip(self.trees, self.levels, strict=True)):
            leaves = tree.leaves(codes)
            members = self.agreements.draw(k, tree, leaves, codes, rng=rng)
            codes[:, k] = tree.members[members]
            drawn = levels.cells(codes[:, k])
            if move is not None and isinstance(levels.column, Numeric) and len(levels.values):
                drawn = move(members, leaves, tree, levels, rng=rng)
            follows = self.agreements.look_up(k, codes)
            known = (follows >= 0) & exact[:, self.agreements.looked_up[k].visit]
            codes[known, k] = follows[known]
            drawn[known] = levels.cells(follows[known])
            moved = within(levels.column, drawn)
            cells[:, k] = self.agreements.mended(k, tree, levels, moved, codes, rng=rng)
            if forget:
                codes[:, k] = levels.codes(cells[:, k])
            exact[:, k] = (levels.cells(codes[:, k]) == cells[:, k]) | np.isnan(cells[:, k])
        return cells

    def losses(self, codes: Codes) -> Floats:
        """Return the negative log-likelihood (n, columns) of each cell given those before it, in nats."""
        losses = np.empty(codes.shape)
        for k, (tree, levels) in enumerate(zip(self.trees, self.levels, strict=True)):
            losses[:, k] = -np.log(
                _likelihood(tree, levels, self.agreements.look_up(k, codes), codes, codes[:, k])
            )
        return losses

    def loss(self, codes: Codes) -> float:
        """Return the mean negative log-likelihood of a row."""
        return float(self.losses(codes).sum(axis=1).mean())

    def filled(self, codes: Codes) -> Self:
        """Return the same trees with these rows in their leaves."""
        trees = tuple(tree.filled(codes, codes[:, k]) for k, tree in enumerate(self.trees))
        levels = tuple(_counted(self.levels, codes))
        return replace(self, levels=levels, trees=trees, agreements=self.agreements.filled(codes))


def _counted(levels: Sequence[CountedValues], codes: Codes) -> list[CountedValues]:
    return [each.counted(codes[:, k]) for k, each in enumerate(levels)]


def grow_chain(
    levels: Sequence[CountedValues],
    codes: Codes,
    *,
    min_leaf: int,
    caution: float | None = None,
    agreements: Agreements | None = None,
    rng: Generator,
) -> Chain:
    """Grow a tree for each column from rows (n, columns), and fill in what must agree."""
    levels, trees = _counted(levels, codes), []
    for k, goal in enumerate(levels):
        tree = grow(
            codes[:, :k],
            codes[:, k],
            features=levels[:k],
            levels=goal,
            min_leaf=min_leaf,
            caution=caution,
            rng=rng,
        )
        trees.append(tree)
        tell("growing trees", (k + 1) / len(levels))
    filled = (agreements or Agreements.none(len(trees))).filled(codes)
    return Chain(levels=tuple(levels), trees=tuple(trees), agreements=filled)


def _likelihood(tree: GrownTree, levels: CountedValues, follows: Codes, codes: Codes, goal: Codes) -> Floats:
    """Return how likely the goal of each row is: its share in the row's leaf, mixed with that overall.

    What ``follows`` is certain instead of the leaf's share; it is -1 where nothing does.
    """
    low, high = levels.ranges()
    totals = np.concatenate([[0], np.cumsum(levels.counts)])
    in_range = totals[high] - totals[low] + UNSEEN
    shares = in_range / in_range[np.unique(low)].sum()
    same, size = tree.in_leaf(tree.leaves(codes), low[goal], high[goal])
    inside = np.where(follows >= 0, low[follows] == low[goal], same / size)
    return np.asarray((1 - BESIDE) * inside + BESIDE * shares[goal])


LEAF_SIZES = (377, 233, 144, 89, 55, 34, 21, 13, 8, 5, 3, 2, 1)
"""Tried in turn."""


class Losses(NamedTuple):
    """The mean negative log-likelihood of a row among those learned from and among those held out."""

    learned: float
    held_out: float

    @classmethod
    def of(cls, chain: Chain, learned: Codes, held_out: Codes) -> Self:
        """Measure a chain."""
        return cls(chain.loss(learned), chain.loss(held_out))


@dataclass(frozen=True, kw_only=True, eq=False)
class Memorization:
    """A chain, the losses on the way there, and its held-out loss as a multiple of their minimum."""

    chain: Chain
    ratio: float
    losses: tuple[Losses, ...]


def memorize(
    levels: Sequence[CountedValues],
    learned: Codes,
    held_out: Codes,
    *,
    ratio: float,
    rng: Generator,
) -> Memorization:
    """Shrink the leaves until the held-out loss is ``ratio`` times its minimum.

    At the first leaf size past the ratio, columns change over from the size before one by one, in the order
    of the visits, until the ratio is passed. A ratio of 1 keeps the size with the minimum.
    """
    sizes = [size for size in LEAF_SIZES if size <= max(len(learned) // 2, 1)]
    losses: list[Losses] = []
    chain: Chain | None = None
    kept: Chain | None = None
    least = np.inf
    for i, size in enumerate(sizes):
        before = chain
        with part(i / len(sizes), (i + 1) / len(sizes)):
            chain = grow_chain(levels, learned, min_leaf=size, rng=rng)
        losses.append(Losses.of(chain, learned, held_out))
        if losses[-1].held_out < least:
            kept, least = chain, losses[-1].held_out
        elif ratio > 1:
            kept = chain
            if losses[-1].held_out >= ratio * least and before is not None:
                kept = _change_over(before, chain, held_out, ratio * least)
                losses.append(Losses.of(kept, learned, held_out))
                break
    assert kept is not None, "there is always a leaf size"
    return Memorization(chain=kept, ratio=kept.loss(held_out) / least, losses=tuple(losses))


def _change_over(before: Chain, after: Chain, held_out: Codes, wanted: float) -> Chain:
    """Return a chain whose first trees are those after, as many as it takes to reach the wanted loss."""
    old, new = (chain.losses(held_out).mean(axis=0) for chain in (before, after))
    reached = old.sum() + np.cumsum(new - old) >= wanted
    reached[-1] = True
    n = int(np.argmax(reached)) + 1
    return replace(after, trees=after.trees[:n] + before.trees[n:])


def memorized(ratio: float, wanted: float) -> tuple[str, ...]:
    """Say how far memorizing went."""
    reached = f"Memorized on purpose: held-out loss {ratio:.3f} times its minimum, {wanted:g} asked for."
    return (reached,) if ratio >= wanted else (reached, "Not reached: a leaf has at least one row.")
