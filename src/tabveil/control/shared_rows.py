"""Rows that stand in train and in control, beyond the duplicates the data itself has.

Had the rows been split at random, how many control rows would equal a training row? Given the rows, all
splits are equally likely, and a sample of them is drawn: an exact test, whatever the duplicates are. Where
every row is common, rows are shared however they are split; but two tables of the same rows are still rare.

``train`` and ``control`` count each different row of the two tables, (n_different,).
"""

import numpy as np
from numpy.random import Generator
from scipy.special import gammaln

from tabveil.sampling import held_chance
from tabveil.table import Floats, Indices, Split

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
    orders = gammaln(len(split.train) + 1) - gammaln(train + 1).sum()  # of one table's rows, a logarithm
    orders_of_both = gammaln(2 * len(split.train) + 1) - gammaln(2 * train + 1).sum()
    in_order = np.array_equal(split.train.values, split.control.values, equal_nan=True)
    return float(np.exp((1 if in_order else 2) * orders - orders_of_both))
