"""TEMPORARY brute force; the real engine replaces it behind the same interface."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil import check
from tabveil.neighbors.space import Space
from tabveil.table import Table


@dataclass(frozen=True, kw_only=True, eq=False)
class Found:
    """The nearest rows of each query, nearest first; equally near rows in the order they stand."""

    distance: NDArray[np.float64]  # (m, k)
    index: NDArray[np.int64]  # (m, k)


class Neighbors:
    """Which rows of ``reference`` are nearest?"""

    def __init__(self, space: Space, reference: Table) -> None:
        self.space = space
        self.reference = reference

    def nearest(self, queries: Table, n_neighbors: int = 1) -> Found:
        """Find the nearest reference rows of every query row."""
        return self._search(queries, n_neighbors, skip_self=False)

    def nearest_other(self, n_neighbors: int = 1) -> Found:
        """Find the nearest *other* rows of every reference row (a row is never its own neighbor)."""
        return self._search(self.reference, n_neighbors, skip_self=True)

    def _search(self, queries: Table, n_neighbors: int, *, skip_self: bool) -> Found:
        check.at_least("Neighbors", "n_neighbors", n_neighbors, 1)
        check.at_least("Neighbors", "reference rows", len(self.reference) - skip_self, n_neighbors)
        distance = np.empty((len(queries), n_neighbors))
        index = np.empty((len(queries), n_neighbors), dtype=np.int64)
        for start in range(0, len(queries), 256):
            stop = min(start + 256, len(queries))
            total = np.zeros((stop - start, len(self.reference)))
            for name in self.space.matched:
                total += _cost(queries, self.reference, name, slice(start, stop), None, 1)
            for name, weight in zip(self.space.measured, self.space.weights, strict=True):
                total += _cost(queries, self.reference, name, slice(start, stop), weight, self.space.power)
            if skip_self:
                total[np.arange(stop - start), np.arange(start, stop)] = np.inf
            index[start:stop] = np.argsort(total, axis=1, kind="stable")[:, :n_neighbors]
            distance[start:stop] = np.take_along_axis(total, index[start:stop], axis=1)
        distance = np.sqrt(distance) if self.space.power == 2 else distance
        return Found(distance=distance / self.space.divisor, index=index)


def _cost(queries, reference, name, rows, weight, power):
    a = queries.column(name)[rows, None]
    b = reference.column(name)[None, :]
    missing_a, missing_b = np.isnan(a), np.isnan(b)
    cost = (a != b).astype(float) if weight is None else (np.abs(a - b) * weight) ** power
    cost = np.where(missing_a & missing_b, 0.0, cost)
    return np.where(missing_a != missing_b, 1.0, cost)
