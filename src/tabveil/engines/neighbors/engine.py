"""Exact nearest neighbors between tables: one call, whatever the columns are."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check, workers
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import search_kernels
from tabveil.engines.neighbors.index import QUERIES_AT_ONCE, Index, Queries, hashes
from tabveil.engines.neighbors.space import Space
from tabveil.engines.neighbors.vector_kernels import search_blocks, spread_copies
from tabveil.engines.neighbors.vectors import Turned, VectorIndex, Vectors

NOBODY = np.iinfo(np.int64).max
VECTORS_AT_ONCE = 256  # queries that visit the blocks in one order


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestRows:
    """The nearest rows of each query, nearest first; equally near rows in the order they stand."""

    distance: Floats  # (m, k)
    index: Indices  # (m, k)


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
        self._vectors = Vectors.of(space, reference)

    def nearest(self, queries: Table, n_neighbors: int = 1) -> NearestRows:
        """Find the nearest reference rows of every query row."""
        check.at_least("Neighbors", "n_neighbors", n_neighbors, 1)
        check.at_least("Neighbors", "the number of reference rows", self.n_rows, n_neighbors)
        total, index = self._search(queries, n_neighbors)
        return NearestRows(distance=self.space.reported(total), index=index)

    def nearest_other(self, n_neighbors: int = 1) -> NearestRows:
        """Find the nearest *other* rows of every reference row (a row is never its own neighbor)."""
        check.at_least("Neighbors", "n_neighbors", n_neighbors, 1)
        check.at_least("Neighbors", "the number of reference rows", self.n_rows, n_neighbors + 1)
        total, index = self._search(self._reference, n_neighbors + 1)
        # One of k + 1 is the row itself, or all are earlier rows just as near: then the last one goes.
        own = index == np.arange(self.n_rows)[:, None]
        own[~own.any(axis=1), -1] = True
        keep = (self.n_rows, n_neighbors)
        return NearestRows(
            distance=self.space.reported(total[~own].reshape(keep)), index=index[~own].reshape(keep)
        )

    @cached_property
    def _index(self) -> Index:
        workers.announce_compilation(search_kernels.search)
        return Index.of(self.space, self._reference)

    def _search(self, queries: Table, k: int) -> tuple[Floats, Indices]:
        """Return the sums (m, k) to the nearest rows, and the rows, by products of vectors where possible."""
        same = queries is self._reference
        vectors = self._vectors if same or self._vectors is None else Vectors.of(self.space, queries)
        return self._search_rows(queries, k) if vectors is None else self._search_vectors(vectors, k)

    @cached_property
    def _vector_index(self) -> VectorIndex:
        assert self._vectors is not None, "asked before"
        workers.announce_compilation(search_blocks)
        return VectorIndex.of(self._vectors)

    def _search_vectors(self, queries: Vectors, k: int) -> tuple[Floats, Indices]:
        index = self._vector_index
        asked, few = Turned.of(queries, index.axes), min(k, len(index.vectors))
        nearest, first = np.full((len(queries), few), np.inf), np.full((len(queries), few), NOBODY)

        def search(start: int, stop: int) -> None:
            index.search(asked, slice(start, stop), nearest[start:stop], first[start:stop])

        workers.each_chunk(len(queries), VECTORS_AT_ONCE, search, doing="comparing rows")
        best, found = nearest, first
        if len(index.vectors) < self.n_rows:
            best, found = (np.empty((len(queries), k), dtype=kind) for kind in (np.float64, np.int64))
            rows = index.vectors.rows
            spread_copies(nearest, first, index.vectors.kind_of, rows.row_start, rows.order, best, found)
        position = np.empty(len(queries), dtype=np.int64)
        position[asked.order] = np.arange(len(queries))
        kind_of = position[queries.kind_of]
        return best[kind_of], found[kind_of]

    def _search_rows(self, queries: Table, k: int) -> tuple[Floats, Indices]:
        index, asked = self._index, Queries.of(self.space, queries, self._index)
        best = np.full((len(asked), k), np.inf)
        found = np.full((len(asked), k), NOBODY)
        runs = (asked.run, self._home(asked.codes), asked.floor)

        def search(start: int, stop: int) -> None:
            search_kernels.search(
                index.groups, index.tree, index.reference, index.weights, self.space.power,
                self.space.most, index.pivot, (asked.codes, asked.values), runs, index.counters(), start,
                best[start:stop], found[start:stop],
            )  # fmt: skip

        workers.each_chunk(len(asked), QUERIES_AT_ONCE, search, doing="comparing rows")
        return best[asked.kind_of], found[asked.kind_of]

    def _home(self, kind_codes: NDArray[Any]) -> Indices:
        """Find the reference group with exactly these codes (c, q), or -1."""
        group_codes = self._index.groups[0]
        wanted = hashes(kind_codes, np.empty((kind_codes.shape[1], 0), dtype=np.uint64), self._index.salt)
        at = np.searchsorted(self._index.group_hash, wanted)
        at[at == len(self._index.group_hash)] = 0
        same = (group_codes[:, at] == kind_codes).all(axis=0)
        return np.where(same, at, -1)
