"""Exact nearest neighbors where one column is not known, for each of many columns in one search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors import leaving_out_kernels
from tabveil.engines.neighbors.index import NOBODY, QUERIES_AT_ONCE, Index, Queries
from tabveil.engines.neighbors.space import Space
from tabveil.errors import ParameterError

Bools = NDArray[np.bool_]

NO_RANKS = np.empty((0, 0), dtype=np.int64)
ALL_COUNT = np.empty((0, 0), dtype=np.bool_)


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
        workers.announce_compilation(leaving_out_kernels.search)
        self.space, self.spaces = space, tuple(spaces)
        self.left_out = tuple(_left_out(space, part) for part in spaces)
        self.n_rows = len(reference)
        self.index = Index(space, reference)

    def nearest(self, queries: Table, among: Sequence[Bools] | None = None) -> "NearestWithout":
        """Find how near the nearest reference row of every query row is, by each of the spaces.

        ``among`` says for each space which reference rows (n,) count; there must be one.
        """
        asked = Queries(self.space, queries, self.index)
        shape = (len(asked), len(self.spaces))
        answers = (np.full(shape, np.inf), np.full(shape, NOBODY), np.zeros(shape, dtype=np.bool_))
        counting = ALL_COUNT if among is None else np.stack([self._distinct(np.logical_or, a) for a in among])
        self.search(asked, np.arange(len(asked)), counting, NO_RANKS, answers)
        return NearestWithout(engine=self, asked=asked, total=answers[0], row=answers[1], tied=answers[2])

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
                queries, runs, index.counters(), columns, (counting, ranks), start,
                tuple(answer[start:stop] for answer in answers),
            )  # fmt: skip

        workers.each_chunk(len(kinds), QUERIES_AT_ONCE, search, doing="comparing rows")

    def lowest_ranks(self, orders: Sequence[Indices]) -> Indices:
        """Return (s, n_distinct): where the first copy of each distinct row stands in each order of rows."""
        ranks = np.empty((len(orders), len(self.index.reference[1]) - 1), dtype=np.int64)
        for position, order in enumerate(orders):
            rank = np.empty(self.n_rows, dtype=np.int64)
            rank[order] = np.arange(self.n_rows)
            ranks[position] = self._distinct(np.minimum, rank)
        return ranks

    def _distinct(self, summarize: np.ufunc, of_rows: NDArray[Any]) -> NDArray[Any]:
        """Bring together what is known of the copies of each distinct row."""
        _, start, members = self.index.reference
        return np.asarray(summarize.reduceat(of_rows[members], start[:-1]))


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
        reported = [
            space.reported(total) for space, total in zip(self.engine.spaces, self.total.T, strict=True)
        ]
        return np.column_stack(reported)[self.asked.kind_of]

    def first(self, orders: Sequence[Indices]) -> Indices:
        """Return which row is nearest, as its place in each space's order of the rows (n,), (m, s).

        Of equally near rows it is the first in that order.
        """
        ranks = self.engine.lowest_ranks(orders)
        found = np.take_along_axis(ranks.T, self.row, axis=0)
        again = np.flatnonzero(self.tied.any(axis=1))
        if len(again):
            lowest = np.full((len(again), len(orders)), NOBODY)
            total = np.where(self.tied[again], self.total[again], -1.0)  # nobody is as near as that
            answers = (total, lowest, np.empty(total.shape, dtype=np.bool_))
            self.engine.search(self.asked, again, ALL_COUNT, ranks, answers)
            found[again] = np.where(self.tied[again], lowest, found[again])
        return found[self.asked.kind_of]


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
