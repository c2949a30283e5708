"""Trees that memorize on purpose: leaves shrink until rows held out are as unlikely as was asked for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.workers import part
from tabveil.synthesis.generators.trees.chain import Chain, grow_chain
from tabveil.tables.matrices.ordinal import Codes, CountedValues

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
