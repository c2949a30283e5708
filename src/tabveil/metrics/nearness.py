"""Which rows of a release lie nearer to training rows than fresh people hardly ever do?

The bar is the distance to the nearest training row within which a small share of control rows lies. Rows of
the release below the bar are too near, all of them. Where the table has few different rows, many control rows
equal a training row by chance, and the bar is 0: then only so many rows of the release go that it equals
training rows no more often than chance explains (``matching``). Which of them chance made, nobody can tell.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate.matching import Matching
from tabveil.core.sampling import ROUNDING, group_equal_rows, in_order, shuffled_rows
from tabveil.core.table import Indices, Split
from tabveil.core.workers import part
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.metrics.control.shared_rows import equal_rows_kept_together


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
