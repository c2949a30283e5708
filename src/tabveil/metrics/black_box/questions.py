"""Which questions are asked about a target: some of all the sets of columns that a row may agree in."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.table import Indices

MOST_QUESTIONS = 1500
WIDEST = 18
"""Up to so many columns all sets of them are counted; of more, several sets of ``NARROW`` are drawn."""
NARROW, GROUPS = 12, 10


@dataclass(frozen=True, kw_only=True, eq=False)
class Questions:
    """Groups of columns, and the sets of columns of each that are asked about, as bits.

    Each column by itself, and all of them together, are asked about besides.
    """

    groups: Indices  # (g, w) columns of each group, -1 where there is none
    masks: Indices  # (g, q)

    @classmethod
    def draw(cls, n_columns: int, *, rng: Generator, most: int = MOST_QUESTIONS) -> Self:
        """Draw them: sets of all sizes are as likely, for those of half the columns are by far the most."""
        if n_columns <= WIDEST:
            groups = np.arange(n_columns)[None, :]
        else:
            drawn = [rng.choice(n_columns, NARROW, replace=False) for _ in range(GROUPS)]
            groups = np.sort(np.stack(drawn), axis=1)
        asked = max((most - n_columns - 1) // len(groups), 1)
        masks = np.stack([_masks(groups.shape[1], asked, rng) for _ in groups])
        return cls(groups=groups, masks=masks)

    def __len__(self) -> int:
        return int(self.masks.size)


def _masks(width: int, n_asked: int, rng: Generator) -> NDArray[np.int64]:
    """Draw different sets of two columns and more; all of them where there are no more than asked for."""
    sizes = np.array([int(mask).bit_count() for mask in range(1 << width)])
    some = np.flatnonzero(sizes >= 2)  # noqa: PLR2004 - single columns are asked about besides
    if len(some) <= n_asked:
        return some if len(some) else np.zeros(1, dtype=np.int64)
    chance = 1 / np.bincount(sizes)[sizes[some]]
    return np.sort(rng.choice(some, n_asked, replace=False, p=chance / chance.sum()))
