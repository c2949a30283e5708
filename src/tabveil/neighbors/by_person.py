"""The nearest people, where somebody has several rows: each is as near as the nearest of their rows."""

import numpy as np
from numpy.typing import NDArray

from tabveil.neighbors.engine import NearestRows, Neighbors
from tabveil.table import Indices, Table

STRIDE = 4
"""How many times as many rows are looked at next, where too many were of the same people."""
_CELLS_AT_ONCE = 1 << 22  # of queries times rows looked at


def nearest_people(engine: Neighbors, whose: Indices, queries: Table, n_people: int = 1) -> NearestRows:
    """Find the nearest row of each of the nearest people.

    ``whose`` says whose each reference row is, (n_rows,). There must be so many people.

    >>> from tabveil.neighbors import Space
    >>> from tabveil.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="age", low=0, high=100, decimals=0),))
    >>> rows, asked = (Table(schema=schema, values=np.array(v)) for v in ([[20.0], [21], [70]], [[20.0]]))
    >>> nearest_people(Neighbors(Space.gower(schema), rows), np.array([5, 5, 3]), asked, 2).index
    array([[0, 2]])
    """
    shape = len(queries), n_people
    distance, index = np.empty(shape), np.empty(shape, dtype=np.int64)
    left, n_asked = np.arange(len(queries)), 2 * n_people
    while len(left):
        n_asked = min(n_asked, engine.n_rows)
        too_few = []
        at_once = max(_CELLS_AT_ONCE // n_asked, 1)
        for start in range(0, len(left), at_once):
            rows = left[start : start + at_once]
            near = engine.nearest(queries.take(rows), n_asked)
            first = _first_of_each(whose[near.index])
            enough = first.sum(axis=1) >= n_people
            counted = (first & (first.cumsum(axis=1) <= n_people))[enough]
            distance[rows[enough]] = near.distance[enough][counted].reshape(-1, n_people)
            index[rows[enough]] = near.index[enough][counted].reshape(-1, n_people)
            too_few.append(rows[~enough])
        left, n_asked = np.concatenate(too_few), STRIDE * n_asked
    return NearestRows(distance=distance, index=index)


def nearest_other_people(engine: Neighbors, table: Table, n_people: int = 1) -> NearestRows:
    """Find, for every row of the reference ``table``, the nearest rows of *other* people.

    There must be one person more than are asked for.
    """
    whose = np.asarray(table.people)
    near = nearest_people(engine, whose, table, n_people + 1)
    # One of k + 1 people has the row, or all are others just as near: then the last one goes.
    own = whose[near.index] == whose[:, None]
    own[~own.any(axis=1), -1] = True
    keep = (len(table), n_people)
    return NearestRows(distance=near.distance[~own].reshape(keep), index=near.index[~own].reshape(keep))


def _first_of_each(whose: Indices) -> NDArray[np.bool_]:
    """Flag where each number stands first in its row, (m, k)."""
    order = np.argsort(whose, axis=1, kind="stable")
    sorted_people = np.take_along_axis(whose, order, axis=1)
    new = np.ones(whose.shape, dtype=bool)
    new[:, 1:] = sorted_people[:, 1:] != sorted_people[:, :-1]
    first = np.empty_like(new)
    np.put_along_axis(first, order, new, axis=1)
    return first
