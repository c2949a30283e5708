"""Exact nearest neighbors between tables: one engine, two distances, several strategies behind one call.

Of rows, and of people, where somebody has several rows: each is as near as the nearest of their rows. And how
crowded it is around a row: the distances to the nearest other people, the local outlier factor.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check, workers
from tabveil.core.crew import once
from tabveil.core.sampling import group_equal_rows
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import search_kernels, streamed
from tabveil.engines.neighbors.brute import BruteIndex, TooFarApartError, gpu_for
from tabveil.engines.neighbors.index import NOBODY, QUERIES_AT_ONCE, Index, Queries
from tabveil.engines.neighbors.leaving_out import NearestWithout, NeighborsWithout
from tabveil.engines.neighbors.saturated import SaturatedIndex
from tabveil.engines.neighbors.saturated_kernels import search_saturated
from tabveil.engines.neighbors.space import MeasuredColumn, Space
from tabveil.engines.neighbors.vector_kernels import search_blocks, spread_copies
from tabveil.engines.neighbors.vectors import Turned, VectorIndex, Vectors

__all__ = [
    "N_OTHERS",
    "MeasuredColumn",
    "NearPeople",
    "NearestRows",
    "NearestWithout",
    "Neighbors",
    "NeighborsWithout",
    "Space",
    "local_outlier_factors",
    "to_others",
]

VECTORS_AT_ONCE = 256  # queries that visit the blocks in one order


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestRows:
    """The nearest rows of each query, nearest first; equally near rows in the order they stand."""

    distance: Floats  # (m, k)
    index: Indices  # (m, k)

    def without(self, own: NDArray[np.bool_]) -> "NearestRows":
        """Leave out one of each query's: its own row or person, or where all are others as near, the last."""
        own[~own.any(axis=1), -1] = True
        keep = len(own), own.shape[1] - 1
        return NearestRows(distance=self.distance[~own].reshape(keep), index=self.index[~own].reshape(keep))


class Neighbors:
    """Which rows of ``reference`` are nearest?

    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="age", low=0, high=100, decimals=0),))
    >>> people = Table(schema=schema, values=np.array([[20.0], [30.0], [70.0]]))
    >>> asked = Table(schema=schema, values=np.array([[31.0]]))
    >>> found = Neighbors(Space.gower(schema), people).nearest(asked, n_neighbors=2)
    >>> found.index, found.distance
    (array([[1, 0]]), array([[0.01, 0.11]]))
    """

    def __init__(self, space: Space, reference: Table) -> None:
        self.space = space
        self.n_rows = len(reference)
        self._reference = reference
        self._brute_index: BruteIndex | None = None

    def nearest(self, queries: Table, n_neighbors: int = 1) -> NearestRows:
        """Find the nearest reference rows of every query row."""
        check.at_least("Neighbors", "n_neighbors", n_neighbors, 1)
        check.at_least("Neighbors", "the number of reference rows", self.n_rows, n_neighbors)
        at_once = streamed.rows_at_once(max(self.n_rows, len(queries)), len(self._reference.schema))
        if at_once is None:
            total, index = self.totals(queries, n_neighbors)
        else:
            total, index = streamed.search(
                self._reference,
                queries,
                n_neighbors,
                at_once,
                lambda part: Neighbors(self.space, part).totals,
            )
        return NearestRows(distance=self.space.reported(total), index=index)

    def totals(self, queries: Table, n_neighbors: int) -> tuple[Floats, Indices]:
        """Find the same without reporting distances: sums over the columns, and rows; all at once."""
        return self._search_pairs(queries, n_neighbors) or self._search_arranged(queries, n_neighbors)

    def _search_arranged(self, queries: Table, n_neighbors: int) -> tuple[Floats, Indices]:
        """Search where rows are arranged so that most need no look."""
        same = queries is self._reference
        vectors = self._vectors if same or self._vectors is None else Vectors.of(self.space, queries)
        if vectors is not None:  # by their products
            return self._search_vectors(vectors, n_neighbors)
        if self.space.saturated:
            return self._search_saturated(queries, n_neighbors)
        return self._search_rows(queries, n_neighbors)

    def nearest_other(self, n_neighbors: int = 1) -> NearestRows:
        """Find the nearest *other* rows of every reference row (a row is never its own neighbor)."""
        check.at_least("Neighbors", "n_neighbors", n_neighbors, 1)
        near = self.nearest(self._reference, n_neighbors + 1)
        return near.without(near.index == np.arange(self.n_rows)[:, None])

    def _search_pairs(self, queries: Table, n_neighbors: int) -> tuple[Floats, Indices] | None:
        """Search on a GPU; None where there is none, or it is not worth it, or its numbers are too small."""
        device = gpu_for(len(queries), self.n_rows)
        if device is None:
            return None
        try:
            self._brute_index = self._brute_index or BruteIndex(self.space, self._reference, device)
            return self._brute_index.search(queries, n_neighbors)
        except TooFarApartError:
            return None

    @once
    def _vectors(self) -> Vectors | None:
        return Vectors.of(self.space, self._reference)

    @once
    def _index(self) -> Index:
        workers.announce_compilation(search_kernels.search)
        return Index(self.space, self._reference)

    @once
    def _vector_index(self) -> VectorIndex:
        assert self._vectors is not None, "asked before"
        workers.announce_compilation(search_blocks)
        return VectorIndex(self._vectors)

    @once
    def _saturated_index(self) -> SaturatedIndex:
        workers.announce_compilation(search_saturated)
        return SaturatedIndex(self.space, self._reference)

    def _search_saturated(self, queries: Table, k: int) -> tuple[Floats, Indices]:
        index = self._saturated_index
        asked = index.rows if queries is self._reference else index.asked(queries)
        best, found = np.full((len(asked), k), np.inf), np.full((len(asked), k), NOBODY)

        def search(start: int, stop: int) -> None:
            index.search(asked, slice(start, stop), best[start:stop], found[start:stop])

        workers.each_chunk(len(asked), QUERIES_AT_ONCE, search, doing="comparing rows")
        return best[asked.kind_of], found[asked.kind_of]

    def _search_vectors(self, queries: Vectors, k: int) -> tuple[Floats, Indices]:
        index = self._vector_index
        asked, few = Turned(queries, index.axes), min(k, len(index.vectors))
        nearest, first = np.full((len(queries), few), np.inf), np.full((len(queries), few), NOBODY)

        def search(start: int, stop: int) -> None:
            index.search(asked, slice(start, stop), nearest[start:stop], first[start:stop])

        workers.each_chunk(len(queries), VECTORS_AT_ONCE, search, doing="comparing rows")
        best, found = nearest, first
        if len(index.vectors) < self.n_rows:
            best, found = (np.empty((len(queries), k), dtype=kind) for kind in (np.float64, np.int64))
            rows = index.vectors.rows
            spread_copies(nearest, first, index.vectors.kind_of, rows.row_start, rows.order, best, found)
        kind_of = queries.rows.places_in(asked.order)
        return best[kind_of], found[kind_of]

    def _search_rows(self, queries: Table, k: int) -> tuple[Floats, Indices]:
        index, asked = self._index, Queries(self.space, queries, self._index)
        best = np.full((len(asked), k), np.inf)
        found = np.full((len(asked), k), NOBODY)
        runs = (asked.run, index.homes(asked.codes), asked.floor)

        def search(start: int, stop: int) -> None:
            search_kernels.search(
                index.groups, index.tree, index.reference, index.weights, self.space.power,
                index.pivot, (asked.codes, asked.values), runs, index.finder.arrays, index.finder.room(),
                start, best[start:stop], found[start:stop],
            )  # fmt: skip

        workers.each_chunk(len(asked), QUERIES_AT_ONCE, search, doing="comparing rows")
        return best[asked.kind_of], found[asked.kind_of]


STRIDE = 4
"""How many times as many rows are looked at next, where too many were of the same people, or one's own."""
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
        found = [part.nearest_of_each(queries, 1) for part in self._apart]
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
        return near.without(self.whose[near.index] == self.whose[:, None])


class _Part:
    """Some rows of a table, to be searched for others."""

    def __init__(self, space: Space, table: Table, rows: Indices) -> None:
        self.rows, self.whose = rows, np.asarray(table.people)[rows]
        self.engine = Neighbors(space, table.take(rows))

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


N_OTHERS = 5
"""Real neighbors that say how crowded it is around a person."""
MOST_ASKED = 500
"""Where more rows would have to be looked at, those of others are searched alone: memory is bounded so."""


def to_others(space: Space, people: Table, n_others: int = N_OTHERS) -> Floats:
    """Return how far other people are from each: the first, and the mean of the nearest (n, 2).

    A row is never its own neighbor, nor is another row of the same person, but an equal one is another
    person's, at no distance. Where there are fewer others than asked for, all of them count.
    """
    engine = Neighbors(space, people)
    if people.people is not None:
        return _past_own_rows(engine, people, n_others)
    near = engine.nearest_other(min(n_others, len(people) - 1)).distance
    return np.column_stack([near[:, 0], near.mean(axis=1)])


def _past_own_rows(engine: Neighbors, table: Table, n_others: int) -> Floats:
    """Look past the rows of the same person: farther for those who have many, until enough others are found.

    There must be a second person.
    """
    whose = np.asarray(table.people)
    found = np.empty((len(table), 2))
    left, n_asked = np.arange(len(table)), 2 * n_others
    while len(left) and n_asked <= MOST_ASKED:
        n_asked = min(n_asked, len(table))
        near = engine.nearest(table.take(left), n_asked)
        of_others = whose[near.index] != whose[left, None]
        counted = of_others & (of_others.cumsum(axis=1) <= n_others)
        enough = (of_others.sum(axis=1) >= n_others) | (n_asked == len(table))
        sums = (near.distance * counted).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
        first = near.distance[np.arange(len(left)), of_others.argmax(axis=1)]
        found[left[enough]] = np.column_stack([first, sums])[enough]
        left, n_asked = left[~enough], STRIDE * n_asked
    for person in np.unique(whose[left]):  # who has so many rows; there are few such people
        rows, others = left[whose[left] == person], np.flatnonzero(whose != person)
        to_others = Neighbors(engine.space, table.take(others))
        near = to_others.nearest(table.take(rows), min(n_others, len(others)))
        found[rows] = np.column_stack([near.distance[:, 0], near.distance.mean(axis=1)])
    return found


SMALLEST_REACH = 1e-12  # distances are rounded to so many places; nothing is denser


def local_outlier_factors(space: Space, table: Table, *, n_neighbors: int = 20) -> Floats:
    """Return for every row how much sparser its place is than the places of its neighbors, (n,).

    Near 1 is a row among its like; 2 stands twice as far from its neighbors as these from theirs. A person
    far from all others is an outlier only where the others are close together, hence "local".

    Parameters
    ----------
    space
        The distance between rows.
    table
        The rows, each compared with all others.
    n_neighbors
        How many distinct rows a neighborhood has; all others where there are fewer.

    Notes
    -----
    The reach of a neighbor is the distance to it, or its own distance to the last of its neighbors where that
    is more. The density at a row is one over the mean reach of its neighbors, and its factor is their mean
    density over its own.

    Tables repeat rows. Were each copy a neighbor, a row that comes often would have only itself around it, at
    no distance: an infinite density, beside which everybody who differs in one cell is an extreme outlier. As
    the authors propose, a neighborhood therefore reaches to the ``n_neighbors``-th *distinct* row, and copies
    count in its means. Without copies this is the common definition, that of scikit-learn. Equal rows have
    equal factors, and where all rows are equal nobody is an outlier: all factors are 1. Which of equally near
    rows come last into a neighborhood depends on what they hold, not on where they stand.

    References
    ----------
    - Breunig, M. M., Kriegel, H.-P., Ng, R. T. and Sander, J. (2000). LOF: Identifying Density-Based Local
      Outliers. SIGMOD.

    Examples
    --------
    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema((Numeric(name="age", low=0, high=100, decimals=0),))
    >>> people = Table(schema=schema, values=np.array([[20.0], [21.0], [22.0], [23.0], [24.0], [90.0]]))
    >>> local_outlier_factors(Space.gower(schema), people, n_neighbors=2).round(2).tolist()
    [1.25, 1.25, 0.67, 1.25, 1.25, 44.33]
    """
    check.at_least("local_outlier_factors", "n_neighbors", n_neighbors, 1)
    (number,) = group_equal_rows(table)  # (n,) which distinct row each row is
    _, first, copies = np.unique(number, return_index=True, return_counts=True)  # (m,) of the distinct rows
    n_neighbors = min(n_neighbors, len(first) - 1)
    if n_neighbors < 1:
        return np.ones(len(table))
    found = Neighbors(space, table.take(first)).nearest_other(n_neighbors)
    farthest = found.distance[:, -1]  # (m,)
    times = copies[found.index]  # (m, k) as often as each neighbor stands there
    others = copies - 1  # (m,) a row's own copies, whose reach is its own
    size = times.sum(axis=1) + others
    reach = np.maximum(found.distance, farthest[found.index])  # (m, k)
    mean_reach = ((times * reach).sum(axis=1) + others * farthest) / size
    density = 1 / np.maximum(mean_reach, SMALLEST_REACH)
    around = ((times * density[found.index]).sum(axis=1) + others * density) / size
    return np.asarray((around / density)[number])
