"""Exact nearest neighbors where one column is not known, for each of many columns in one search."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.crew import once
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import leaving_out_kernels
from tabveil.engines.neighbors.brute import BruteIndex, RowsTied, TooFarApartError, gpu_for
from tabveil.engines.neighbors.index import NOBODY, QUERIES_AT_ONCE, Index, Queries, lowest_ranks, of_copies
from tabveil.engines.neighbors.space import Space
from tabveil.errors import ParameterError

Bools = NDArray[np.bool_]

NO_RANKS = np.empty((0, 0), dtype=np.int64)
ALL_COUNT = np.empty((0, 0), dtype=np.bool_)
NEARER_THAN_ALL = -1.0  # what a distance starts from that nobody asks for: no row is as near


class NeighborsWithout:
    """Which rows of ``reference`` are nearest to somebody who does not know one of the columns?

    ``spaces`` are the distances to search by: each is ``space``, or ``space`` without one of its columns. One
    search answers for all of them, exactly as :class:`Neighbors` would for each.

    >>> from tabveil.core.table import Numeric, Schema
    >>> schema = Schema(tuple(Numeric(name=name, low=0, high=100, decimals=0) for name in ("age", "weight")))
    >>> people = Table(schema=schema, values=np.array([[20.0, 80.0], [70.0, 50.0]]))
    >>> asked = Table(schema=schema, values=np.array([[25.0, 51.0]]))
    >>> parts = [Space.gower(schema.select([name])) for name in schema.names]  # by age alone, by weight alone
    >>> found = NeighborsWithout(Space.gower(schema), people, parts).nearest(asked)
    >>> found.distance, found.first([np.array([0, 1])] * 2)
    (array([[0.05, 0.01]]), array([[0, 1]]))
    """

    def __init__(self, space: Space, reference: Table, spaces: Sequence[Space]) -> None:
        self.space, self.spaces = space, tuple(spaces)
        self.left_out = tuple(_left_out(space, part) for part in spaces)
        self.n_rows = len(reference)
        self._reference = reference
        self._brute_index: BruteIndex | None = None

    @once
    def index(self) -> Index:
        """The reference as the loops walk through it."""
        workers.announce_compilation(leaving_out_kernels.search)
        return Index(self.space, self._reference)

    def nearest(
        self, queries: Table, among: Sequence[Bools] | None = None, sought: Bools | None = None
    ) -> "NearestWithout | NearestByPairs":
        """Find how near the nearest reference row of every query row is, by each of the spaces.

        ``among`` says for each space which reference rows (n,) count; there must be one. ``sought`` (m, s)
        says by which spaces it is asked of which query row; what nobody asks may be answered by 0.
        """
        device = gpu_for(len(queries), self.n_rows, len(self.spaces))
        if device is not None:
            with suppress(TooFarApartError):
                self._brute_index = self._brute_index or BruteIndex(self.space, self._reference, device)
                sums, nearest = self._brute_index.search_without(queries, self.left_out, among)
                return NearestByPairs(spaces=self.spaces, total=sums, tied=nearest)
        asked = Queries(self.space, queries, self.index)
        shape = (len(asked), len(self.spaces))
        wanted = np.ones(shape, dtype=np.bool_)
        if sought is not None:
            wanted[:] = False
            rows, spaces = np.nonzero(sought)
            wanted[asked.kind_of[rows], spaces] = True
        kinds = np.flatnonzero(wanted.any(axis=1))
        total, tied, row = np.zeros(shape), np.zeros(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
        answers = (np.where(wanted[kinds], np.inf, NEARER_THAN_ALL), row[kinds], tied[kinds])
        counting = ALL_COUNT
        if among is not None:
            copies = self.index.reference[1:]
            counting = np.column_stack([of_copies(np.logical_or, rows, *copies) for rows in among])
        self.search(asked, kinds, counting, NO_RANKS, answers)
        total[kinds], row[kinds], tied[kinds] = np.maximum(answers[0], 0.0), *answers[1:]
        return NearestWithout(engine=self, asked=asked, total=total, row=row, tied=tied)

    def search(
        self,
        asked: Queries,
        kinds: Indices,
        counting: Bools,
        ranks: Indices,
        answers: tuple[Floats, Indices, Bools],
    ) -> None:
        """Search for these of the distinct queries; what is found is written into the answers."""
        index = self.index
        group_codes = np.ascontiguousarray(index.groups[0].T)
        queries = (
            np.ascontiguousarray(asked.codes[:, kinds]),
            asked.values[kinds],
            np.ascontiguousarray(asked.absent[:, kinds]),
        )
        runs = (asked.run[kinds], asked.floor[kinds])
        # Where the columns left out stand among the values, the codes and the absent, or -1, (s,).
        measured = tuple(column.name for column in self.space.measured if column.weight > 0)
        columns = tuple(
            np.array([names.index(name) if name in names else -1 for name in self.left_out])
            for names in (measured, (*self.space.matched, *index.flagged), asked.absent_names)
        )

        def search(start: int, stop: int) -> None:
            leaving_out_kernels.search(
                index.groups, group_codes, index.tree, index.reference[0], index.weights, self.space.power,
                index.pivot, queries, runs, index.finder.arrays, index.finder.room(), columns,
                (counting, ranks), start, tuple(answer[start:stop] for answer in answers),
            )  # fmt: skip

        workers.each_chunk(len(kinds), QUERIES_AT_ONCE, search, doing="comparing rows")


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestWithout:
    """How near the nearest rows are by each of several spaces, and which they are."""

    engine: NeighborsWithout
    asked: Queries
    total: Floats  # (q, s) the sum over the columns
    row: Indices  # (q, s) a distinct row at this distance
    tied: Bools  # (q, s) whether others are as near

    @property
    def distance(self) -> Floats:
        """The distances (m, s)."""
        return _reported(self.engine.spaces, self.total)[self.asked.kind_of]

    def first(self, orders: Sequence[Indices]) -> Indices:
        """Return which row is nearest, as its place in each space's order of the rows (n,), (m, s).

        Of equally near rows it is the first in that order.
        """
        ranks = lowest_ranks(orders, *self.engine.index.reference[1:])
        found = np.take_along_axis(ranks.T, self.row, axis=0)
        again = np.flatnonzero(self.tied.any(axis=1))
        if len(again):
            lowest = np.full((len(again), len(orders)), NOBODY)
            total = np.where(self.tied[again], self.total[again], NEARER_THAN_ALL)
            answers = (total, lowest, np.empty(total.shape, dtype=np.bool_))
            self.engine.search(self.asked, again, ALL_COUNT, np.ascontiguousarray(ranks.T), answers)
            found[again] = np.where(self.tied[again], lowest, found[again])
        return found[self.asked.kind_of]


@dataclass(frozen=True, kw_only=True, eq=False)
class NearestByPairs:
    """The same, where a GPU went through all pairs."""

    spaces: Sequence[Space]
    total: Floats  # (m, s)
    tied: RowsTied

    @property
    def distance(self) -> Floats:
        """The distances (m, s)."""
        return _reported(self.spaces, self.total)

    def first(self, orders: Sequence[Indices]) -> Indices:
        """Return which row is nearest, as its place in each space's order of the rows (n,), (m, s)."""
        return self.tied.first(orders)


def _reported(spaces: Sequence[Space], total: Floats) -> Floats:
    return np.column_stack([space.reported(sums) for space, sums in zip(spaces, total.T, strict=True)])


def _left_out(space: Space, part: Space) -> str | None:
    """Return the column of a space that is not in a part of it; None where they are the same."""
    fewer = space.names - part.names
    name = next(iter(fewer), None)
    matched = tuple(other for other in space.matched if other != name)
    measured = tuple(column for column in space.measured if column.name != name)
    unbounded = not (space.saturated or part.saturated)  # what is left out may cost any amount
    same = (part.matched, part.measured, part.power) == (matched, measured, space.power)
    if len(fewer) > 1 or not (same and unbounded):
        raise ParameterError("NeighborsWithout", "a space must be the whole one, or lack one column of it.")
    return name
