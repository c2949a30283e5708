"""Which rows of a release lie nearer to training rows than fresh people hardly ever do?

The bar is the distance to the nearest training row within which a small share of control rows lies. Rows of
the release below the bar are too near, all of them. Where the table has few different rows, the bar is often
0 and many control rows sit on it, by chance: then only so many rows of the release go that no larger share of
it sits there than of control.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.neighbors import Neighbors, Space
from tabveil.sampling import ROUNDING, in_order, shuffled_rows
from tabveil.table import Floats, Indices, Split
from tabveil.workers import part


@dataclass(frozen=True, kw_only=True, eq=False)
class NearRows:
    """The rows of a release that are too near, ascending, and the bar that says so.

    ``equal`` counts those among them that equal a training row. ``control_near`` counts the control rows that
    lie as near: below the bar or, where rows of the release that sit on it are dropped, on it.
    """

    rows: Indices  # (k,)
    bar: float
    equal: int
    control_near: int


def near_rows(split: Split, *, share: float, rng: Generator) -> NearRows:
    """Find the rows of the release nearer to train than ``share`` of control rows are.

    ``rng`` chooses among rows that sit on the bar; of these the ones that are as near to no control row go
    first: a row that people never seen share as well is more likely to be chance.

    >>> from tabveil.table import Numeric, Schema, Table
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
    space = Space.gower(split.schema)
    to_train = Neighbors(space, in_order(split.train).table)
    with part(0, 1 / 3):
        fresh = np.sort(to_train.nearest(split.control).distance[:, 0])
    with part(1 / 3, 2 / 3):
        distance = to_train.nearest(split.synthetic).distance[:, 0]
    bar = float(fresh[max(math.ceil(share * len(fresh) - ROUNDING), 1) - 1])
    below = distance < bar
    on_bar = np.flatnonzero(distance == bar)
    beyond = int(np.sum(distance > bar))
    room = _room(fresh, bar, beyond, len(on_bar))
    too_many = on_bar[:0]
    if room < len(on_bar):
        to_control = Neighbors(space, in_order(split.control).table)
        with part(2 / 3, 1):
            shared = to_control.nearest(split.synthetic).distance[:, 0] <= bar
        too_many = _first(split, on_bar, shared, len(on_bar) - room, rng=rng)
    rows = np.sort(np.concatenate([np.flatnonzero(below), too_many]))
    return NearRows(
        rows=rows,
        bar=bar,
        equal=int(np.sum(distance[rows] == 0)),
        control_near=int(np.sum(fresh <= bar if len(too_many) else fresh < bar)),
    )


def _room(fresh: Floats, bar: float, beyond: int, on_bar: int) -> int:
    """Count the rows that may sit on the bar: as many beside those beyond it as among control rows."""
    control_beyond = int(np.sum(fresh > bar))
    if control_beyond == 0:  # fresh people are never farther: nothing about these rows is too near
        return on_bar
    return min(beyond * int(np.sum(fresh == bar)) // control_beyond, on_bar)


def _first(split: Split, rows: Indices, shared: NDArray[np.bool_], n: int, *, rng: Generator) -> Indices:
    """Choose some of the rows, first those that are not shared, else at random whatever their order."""
    drawn = shuffled_rows(split.synthetic, rng=rng)
    candidates = drawn[np.isin(drawn, rows)]
    return candidates[np.argsort(shared[candidates], kind="stable")][:n]
