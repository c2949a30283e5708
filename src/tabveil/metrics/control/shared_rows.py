"""Rows that two tables share or nearly share, beyond what duplicates and chance explain."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import gammaln

from tabveil.core.estimate.matching import Matching
from tabveil.core.people import numbered_together
from tabveil.core.sampling import ROUNDING, group_equal_rows, held_chance, in_order, shuffled_rows
from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.core.workers import part
from tabveil.engines.neighbors import Neighbors, Space

_SPLITS = 999
_MOST_ROWS = 8000  # of the duplicates: more would tell the same
_CERTAIN = 1 - 1e-9
_BY_CHANCE = 0.001


def expected_shared(train: Indices, control: Indices) -> float:
    """Return how many control rows equal a training row after a random split, on average."""
    rows = train + control
    return float((rows * _shared_part(rows, int(train.sum()), int(control.sum()))).sum())


def shared_chance(train: Indices, control: Indices, *, rng: Generator) -> float:
    """Return how often a random split shares as many rows or more."""
    rows, n_train, n_control = train + control, int(train.sum()), int(control.sum())
    taken = _undecided(rows, n_train, n_control, rng=rng)
    if len(taken) == 0:
        return 1.0
    sizes = rows[taken]
    shared = int(control[taken] @ (train[taken] > 0))
    n_control_taken = rng.hypergeometric(n_control, n_train, int(sizes.sum()), _SPLITS)
    split = rng.permuted(np.arange(sizes.sum()) < n_control_taken[:, np.newaxis], axis=1)  # (splits, rows)
    in_control = np.add.reduceat(split, np.cumsum(sizes) - sizes, axis=1, dtype=np.int64)
    by_chance = (in_control * (in_control < sizes)).sum(axis=1)  # (splits,)
    return float(1 + np.sum(by_chance >= shared)) / (1 + _SPLITS)


class HeldRows:
    """Who holds which different row of train and control, and how often; those of train come first.

    ``groups`` say which different row each row of train and of control is.
    """

    def __init__(self, train: Table, control: Table, groups: Sequence[Indices]) -> None:
        self.n_train, self.n_control = train.n_people, control.n_people
        n_people = self.n_train + self.n_control
        pairs = np.concatenate(groups) * n_people + numbered_together(train, control)
        pairs, self.count = np.unique(pairs, return_counts=True)  # (n_pairs,)
        self.row, self.person = pairs // n_people, pairs % n_people  # rows ascend, people count from 0
        self.holders = np.bincount(self.row)  # (n_different,) how many people hold each

    def expected_shared(self) -> float:
        """Return how many control rows equal a row of train after people are split at random, on average."""
        return float((self.count * _shared_part(self.holders, self.n_train, self.n_control)[self.row]).sum())

    def shared_chance(self, *, rng: Generator) -> float:
        """Return how often a random split of the people shares as many rows or more."""
        taken = _undecided(self.holders, self.n_train, self.n_control, rng=rng)
        if len(taken) == 0:
            return 1.0
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
        return _same(train, control, n_orders=2)


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


def _shared_part(rows: Indices, n_train: int, n_control: int) -> Floats:
    """Return the share of so many equal rows that stands in control, while others stand in train."""
    n = n_train + n_control
    return np.maximum(n_control / n - (1 - held_chance(rows, n, n_train)), 0.0)


def _undecided(rows: Indices, n_train: int, n_control: int, *, rng: Generator) -> Indices:
    """Draw the different rows that have a twin, and may or may not be parted from it: no others matter.

    Of very many a part is taken, chosen without a look at where they stand.
    """
    undecided = np.flatnonzero((rows > 1) & (_parted(rows, n_train, n_control) < _CERTAIN))
    order = rng.permutation(undecided) if len(undecided) else undecided
    return order[: max(int(np.searchsorted(np.cumsum(rows[order]), _MOST_ROWS, side="right")), 1)]


def same_chance(split: Split, train: Indices, control: Indices) -> float | None:
    """Return how often a random split gives two tables of the same rows, None where they are not the same.

    In the same order, too, where they stand in the same order: that is how often one file is given twice by
    chance.
    """
    in_order = len(split.train) == len(split.control) and all(
        np.array_equal(ours, theirs, equal_nan=True)
        for ours, theirs in zip(split.train.values.T, split.control.values.T, strict=True)
    )
    return _same(train, control, n_orders=1 if in_order else 2)


def _same(train: Indices, control: Indices, *, n_orders: int) -> float | None:
    def orders(counts: Indices) -> float:
        """Return the logarithm of the number of orders in which so many equal rows can stand."""
        return float(gammaln(counts.sum() + 1) - gammaln(counts + 1).sum())

    if not np.array_equal(train, control):
        return None
    return float(np.exp(n_orders * orders(train) - orders(2 * train)))


@dataclass(frozen=True, kw_only=True, eq=False)
class NearRows:
    """The rows of a release that are too near, ascending, and the bar that says so.

    ``equal`` counts those among them that equal a training row. ``control_near`` counts the control rows that
    lie as near: below the bar or, where it is 0, on it.
    """

    rows: Indices  # (k,)
    bar: float
    equal: int
    control_near: int


def near_rows(split: Split, *, share: float, rng: Generator) -> NearRows:
    """Find the rows of the release nearer to train than ``share`` of control rows are.

    ``rng`` chooses among rows that equal training rows, where only some of them are too many.

    >>> from tabveil.core.table import Numeric, Schema, Table
    >>> schema = Schema((Numeric(name="income", low=0, high=1000),))
    >>> train, control, fresh = (
    ...     Table(schema=schema, values=np.arange(0.0, 900, 30)[:, None] + shift) for shift in (0, 10, 20)
    ... )
    >>> release = Table(schema=schema, values=np.concatenate([train.values[:3], fresh.values[3:]]))
    >>> tables = Split(train=train, control=control, synthetic=release)
    >>> found = near_rows(tables, share=0.02, rng=np.random.default_rng(0))
    >>> found.rows.tolist(), found.bar, found.equal
    ([0, 1, 2], 0.01, 3)
    """
    split.require_control("filter")
    to_train = Neighbors(Space.gower(split.schema), in_order(split.train).table)
    with part(0, 0.5):
        fresh = np.sort(to_train.nearest(split.control).distance[:, 0])
    with part(0.5, 1):
        distance = to_train.nearest(split.synthetic).distance[:, 0]
    bar = float(fresh[max(math.ceil(share * len(fresh) - ROUNDING), 1) - 1])
    rows = np.flatnonzero(distance < bar) if bar > 0 else _copies_beyond_chance(split, rng=rng)
    return NearRows(
        rows=rows,
        bar=bar,
        equal=int(np.sum(distance[rows] == 0)),
        control_near=int(np.sum(fresh < bar if bar > 0 else fresh == 0)),
    )


def _copies_beyond_chance(split: Split, *, rng: Generator) -> Indices:
    """Choose so many rows equal to training rows that those left are no more than chance explains.

    Rows that control explains least go first, and among these some at random, whatever their order.
    """
    groups = group_equal_rows(split.synthetic, split.train, split.control)
    n_groups = 1 + max(int(group.max()) for group in groups)
    train, control = (np.bincount(group, minlength=n_groups) for group in groups[1:])
    if equal_rows_kept_together(train, control):
        train, control = np.minimum(train, 1), np.minimum(control, 1)
    matching = Matching(n_train=int(train.sum()), n_control=int(control.sum()))
    gained, lost = (change[groups[0]] for change in matching.changes(train, control))  # (m,) each
    drawn = shuffled_rows(split.synthetic, rng=rng)
    first = drawn[np.argsort(-gained[drawn], kind="stable")]
    left = gained.sum() - np.concatenate([[0.0], np.cumsum(gained[first])])  # once so many are dropped
    chance = matching.scale * float(lost.sum())
    return np.sort(first[: int(np.argmax(left <= chance + ROUNDING))])
