"""Rows that stand in train and in control, beyond the duplicates the data itself has.

Had the rows been split at random, how many control rows would equal a training row? Given the rows, all
splits are equally likely, and a sample of them is drawn: an exact test, whatever the duplicates are. Where
every row is common, rows are shared however they are split; but two tables of the same rows are still rare.

``train`` and ``control`` count each different row of the two tables, (n_different,). Where somebody has
several rows, people are split, each with all of theirs (``HeldRows``).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammaln

from tabveil.core.people import numbered_together
from tabveil.core.sampling import held_chance
from tabveil.core.table import Floats, Indices, Split, Table

_SPLITS = 999
_MOST_ROWS = 8000  # of the duplicates: more would tell the same
_CERTAIN = 1 - 1e-9
_BY_CHANCE = 0.001


def expected_shared(train: Indices, control: Indices) -> float:
    """Return how many control rows equal a training row after a random split, on average."""
    rows, n_train, n_control = train + control, int(train.sum()), int(control.sum())
    all_control = 1 - held_chance(rows, n_train + n_control, n_train)
    return float((rows * np.maximum(n_control / (n_train + n_control) - all_control, 0.0)).sum())


def shared_chance(train: Indices, control: Indices, *, rng: Generator) -> float:
    """Return how often a random split shares as many rows or more.

    Only rows that have a twin, and may or may not be parted from it, matter. Of very many a part is taken,
    chosen without a look at where they stand.
    """
    rows, n_train, n_control = train + control, int(train.sum()), int(control.sum())
    undecided = np.flatnonzero((rows > 1) & (_parted(rows, n_train, n_control) < _CERTAIN))
    if len(undecided) == 0:
        return 1.0
    order = rng.permutation(undecided)
    taken = order[: max(int(np.searchsorted(np.cumsum(rows[order]), _MOST_ROWS, side="right")), 1)]
    sizes = rows[taken]
    shared = int(control[taken] @ (train[taken] > 0))
    n_control_taken = rng.hypergeometric(n_control, n_train, int(sizes.sum()), _SPLITS)
    split = rng.permuted(np.arange(sizes.sum()) < n_control_taken[:, np.newaxis], axis=1)  # (splits, rows)
    in_control = np.add.reduceat(split, np.cumsum(sizes) - sizes, axis=1, dtype=np.int64)
    by_chance = (in_control * (in_control < sizes)).sum(axis=1)  # (splits,)
    return float(1 + np.sum(by_chance >= shared)) / (1 + _SPLITS)


@dataclass(frozen=True, kw_only=True, eq=False)
class HeldRows:
    """Who holds which different row of train and control, and how often; those of train come first."""

    row: Indices  # (n_pairs,) ascending
    person: Indices  # (n_pairs,) numbered from 0
    count: Indices  # (n_pairs,)
    n_train: int  # people
    n_control: int

    @classmethod
    def of(cls, train: Table, control: Table, groups: Sequence[Indices]) -> Self:
        """Count; ``groups`` say which different row each row of train and of control is."""
        whose = numbered_together(train, control)
        n_people = train.n_people + control.n_people
        pairs, count = np.unique(np.concatenate(groups) * n_people + whose, return_counts=True)
        return cls(
            row=pairs // n_people,
            person=pairs % n_people,
            count=count,
            n_train=train.n_people,
            n_control=control.n_people,
        )

    @property
    def holders(self) -> Indices:
        """How many people hold each different row."""
        return np.bincount(self.row)

    def expected_shared(self) -> float:
        """Return how many control rows equal a row of train after people are split at random, on average."""
        n_people = self.n_train + self.n_control
        all_control = 1 - held_chance(self.holders, n_people, self.n_train)
        parted = np.maximum(self.n_control / n_people - all_control, 0.0)
        return float((self.count * parted[self.row]).sum())

    def shared_chance(self, *, rng: Generator) -> float:
        """Return how often a random split of the people shares as many rows or more."""
        undecided = np.flatnonzero(
            (self.holders > 1) & (_parted(self.holders, self.n_train, self.n_control) < _CERTAIN)
        )
        if len(undecided) == 0:
            return 1.0
        order = rng.permutation(undecided)
        taken = order[
            : max(int(np.searchsorted(np.cumsum(self.holders[order]), _MOST_ROWS, side="right")), 1)
        ]
        pairs = np.flatnonzero(np.isin(self.row, taken))
        people, person = np.unique(self.person[pairs], return_inverse=True)
        starts = np.flatnonzero(np.diff(self.row[pairs], prepend=-1))
        n_held, count = np.diff(starts, append=len(pairs)), self.count[pairs]

        def shared(in_control: NDArray[np.bool_]) -> Indices:
            """Count the shared rows; ``in_control`` says of each split who is, (splits, people)."""
            there = in_control[:, person]
            held = np.add.reduceat(there, starts, axis=1, dtype=np.int64)
            rows = np.add.reduceat(there * count, starts, axis=1, dtype=np.int64)
            return np.asarray((rows * (held < n_held)).sum(axis=1))

        n_control = rng.hypergeometric(self.n_control, self.n_train, len(people), _SPLITS)
        dealt = rng.permuted(np.arange(len(people)) < n_control[:, np.newaxis], axis=1)
        observed = int(shared((people >= self.n_train)[np.newaxis])[0])
        return float(1 + np.sum(shared(dealt) >= observed)) / (1 + _SPLITS)

    def same_chance(self, *, rng: Generator) -> float | None:
        """Return how often a random split of the people gives two tables with the same rows of each.

        None where they are not the same.
        """
        keys = rng.integers(0, 2**63, len(self.holders), dtype=np.uint64)
        content = np.zeros(self.n_train + self.n_control, dtype=np.uint64)
        np.add.at(content, self.person, keys[self.row] * self.count.astype(np.uint64))
        kinds, kind = np.unique(content, return_inverse=True)
        train, control = (np.bincount(side, minlength=len(kinds)) for side in np.split(kind, [self.n_train]))
        return (
            float(np.exp(2 * _orders(train) - _orders(2 * train))) if np.array_equal(train, control) else None
        )


def equal_rows_kept_together(train: Indices, control: Indices) -> bool:
    """Tell whether equal rows were kept on one side: far fewer stand on both than after a random split.

    The number of different rows on both sides is a sum of events that hinder each other, so Chernoff's bound
    holds for it.
    """
    rows = train + control
    parted = _parted(rows, int(train.sum()), int(control.sum()))
    expected = float(np.maximum(parted[rows > 1], 0.0).sum())
    found = int(np.sum((train > 0) & (control > 0)))
    if 2 * found >= expected:
        return False
    log_chance = found - expected - (found * np.log(found / expected) if found else 0.0)
    return bool(log_chance < np.log(_BY_CHANCE))


def _parted(rows: Indices, n_train: int, n_control: int) -> Floats:
    """Return the chance that so many equal rows do not all fall to one side."""
    return (
        held_chance(rows, n_train + n_control, n_train)
        + held_chance(rows, n_train + n_control, n_control)
        - 1
    )


def same_chance(split: Split, train: Indices, control: Indices) -> float | None:
    """Return how often a random split gives two tables of the same rows, None where they are not the same.

    In the same order, too, where they stand in the same order: that is how often one file is given twice by
    chance.
    """
    if not np.array_equal(train, control):
        return None
    in_order = np.array_equal(split.train.values, split.control.values, equal_nan=True)
    return float(np.exp((1 if in_order else 2) * _orders(train) - _orders(2 * train)))


def _orders(counts: Indices) -> float:
    """Return the logarithm of the number of orders in which so many equal rows can stand."""
    return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())
