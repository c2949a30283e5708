"""The nearest people, where somebody has several rows: each is as near as the nearest of their rows."""

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Indices, Table
from tabveil.engines.neighbors.engine import NearestRows, Neighbors
from tabveil.engines.neighbors.space import Space

STRIDE = 4
"""How many times as many rows are looked at next, where too many were of the same people."""
MANY_ROWS = 200
"""Whoever has more is searched apart: the next person is too many rows away."""
_SEARCHED_APART = 32  # people
_CELLS_AT_ONCE = 1 << 22  # of queries times rows looked at


class NearPeople:
    """Which people of ``reference`` are nearest, whoever has how many rows?

    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="age", low=0, high=100, decimals=0),))
    >>> rows = Table(schema=schema, values=np.array([[20.0], [21.0], [70.0]]), people=np.array([5, 5, 3]))
    >>> found = NearPeople(Space.gower(schema), rows).nearest(rows.take(np.array([1])), n_people=2)
    >>> found.index, found.distance
    (array([[1, 2]]), array([[0.  , 0.49]]))
    """

    def __init__(self, space: Space, reference: Table) -> None:
        self.reference = reference
        self.whose = np.asarray(reference.people)
        people, place, sizes = np.unique(self.whose, return_inverse=True, return_counts=True)
        many = np.argsort(-sizes, kind="stable")[:_SEARCHED_APART]
        many = many[sizes[many] > MANY_ROWS]
        others = np.flatnonzero(~np.isin(place, many))
        self._apart = [_Part(space, reference, np.flatnonzero(place == person)) for person in many]
        self._others = _Part(space, reference, others)
        self._n_others = len(people) - len(many)

    def nearest(self, queries: Table, n_people: int = 1) -> NearestRows:
        """Find the nearest row of each of the nearest people of every query row; there must be so many.

        Of equally near people those come first whose rows do.
        """
        found = [part.nearest_row(queries) for part in self._apart]
        if self._n_others:
            found.append(self._others.nearest_of_each(queries, min(n_people, self._n_others)))
        distance, index = (
            np.concatenate([getattr(near, name) for near in found], axis=1) for name in ("distance", "index")
        )
        first = np.lexsort((index, distance), axis=1)[:, :n_people]
        return NearestRows(
            distance=np.take_along_axis(distance, first, axis=1),
            index=np.take_along_axis(index, first, axis=1),
        )

    def nearest_other(self, n_people: int = 1) -> NearestRows:
        """Find, for every reference row, the nearest rows of *other* people; there must be one more."""
        near = self.nearest(self.reference, n_people + 1)
        # One of k + 1 people has the row, or all are others just as near: then the last one goes.
        own = self.whose[near.index] == self.whose[:, None]
        own[~own.any(axis=1), -1] = True
        keep = (len(self.reference), n_people)
        return NearestRows(distance=near.distance[~own].reshape(keep), index=near.index[~own].reshape(keep))


class _Part:
    """Some rows of a table, to be searched for others."""

    def __init__(self, space: Space, table: Table, rows: Indices) -> None:
        self.rows, self.whose = rows, np.asarray(table.people)[rows]
        self.engine = Neighbors(space, table.take(rows))

    def nearest_row(self, queries: Table) -> NearestRows:
        near = self.engine.nearest(queries)
        return NearestRows(distance=near.distance, index=self.rows[near.index])

    def nearest_of_each(self, queries: Table, n_people: int) -> NearestRows:
        """Look at more and more rows, until they are of enough people."""
        shape = len(queries), n_people
        distance, index = np.empty(shape), np.empty(shape, dtype=np.int64)
        left, n_asked = np.arange(len(queries)), 2 * n_people
        while len(left):
            n_asked = min(n_asked, len(self.rows))
            too_few = []
            at_once = max(_CELLS_AT_ONCE // n_asked, 1)
            for start in range(0, len(left), at_once):
                asked = left[start : start + at_once]
                near = self.engine.nearest(queries.take(asked), n_asked)
                first = _first_of_each(self.whose[near.index])
                enough = first.sum(axis=1) >= n_people
                counted = (first & (first.cumsum(axis=1) <= n_people))[enough]
                distance[asked[enough]] = near.distance[enough][counted].reshape(-1, n_people)
                index[asked[enough]] = self.rows[near.index[enough][counted]].reshape(-1, n_people)
                too_few.append(asked[~enough])
            left, n_asked = np.concatenate(too_few), STRIDE * n_asked
        return NearestRows(distance=distance, index=index)


def _first_of_each(whose: Indices) -> NDArray[np.bool_]:
    """Flag where each number stands first in its row, (m, k)."""
    order = np.argsort(whose, axis=1, kind="stable")
    sorted_people = np.take_along_axis(whose, order, axis=1)
    new = np.ones(whose.shape, dtype=bool)
    new[:, 1:] = sorted_people[:, 1:] != sorted_people[:, :-1]
    first = np.empty_like(new)
    np.put_along_axis(first, order, new, axis=1)
    return first
