"""The rows of one linked table: each drawn given the row it hangs on, and the row before it in its order.

Where there is an order of numbers or dates, the first row of a set has a time, and each other one the time
that has passed since the row before it. Leaves of trees hold so many rows that about twenty people are in
each, for ten rows may be one person's.
"""

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Column, Floats, Indices, Numeric, Schema, Table, within
from tabveil.synthesis.generators.trees.synthesizer import MIN_LEAF, Trees, TreesModel

BEFORE, PLACE, SINCE = "row before: ", "place in the set", "since the row before"
"""How columns are called that are known before a row is drawn, or drawn in the place of its time."""


def beside(*tables: Table) -> Table:
    """Return one table of all columns of several, which have the same rows."""
    columns = tuple(column for table in tables for column in table.schema.columns)
    return Table(schema=Schema(columns), values=np.column_stack([table.values for table in tables]))


def called(table: Table, prefix: str) -> Table:
    """Return the same rows with the names of columns behind a prefix."""
    columns = tuple(replace(column, name=f"{prefix}{column.name}") for column in table.schema.columns)
    return Table(schema=Schema(columns), values=table.values)


def one_column(column: Column, cells: Floats | Indices) -> Table:
    """Return a table of one column."""
    return Table(schema=Schema((column,)), values=np.asarray(cells, dtype=np.float64).reshape(-1, 1))


def least_leaf(sizes: Indices) -> int:
    """Return how many rows a leaf must have for about twenty people to be in it.

    ``sizes`` are how many rows each person has. A row drawn at random is of somebody who has more than most.

    >>> least_leaf(np.array([1, 1, 0, 1])), least_leaf(np.array([24, 24]))
    (20, 480)
    """
    sizes = sizes[sizes > 0]
    if not len(sizes):
        return MIN_LEAF["careful"]
    return MIN_LEAF["careful"] * math.ceil(float((sizes**2).sum() / sizes.sum()))


@dataclass(frozen=True, kw_only=True, eq=False)
class SetModel:
    """How the rows of a set are drawn: the first, or all where there is no order; and those that follow."""

    schema: Schema  # of the rows
    time: str | None  # the column of numbers that is the order
    latest: float  # no row is drawn after it
    first: TreesModel | None  # None: the rows have no columns
    following: TreesModel | None  # None: there is no order

    @classmethod
    def fit(
        cls,
        rows: Table,
        known: Table,
        hub: Indices,
        *,
        order: str | None,
        sizes: Indices,
        rng: Generator,
    ) -> Self:
        """Learn rows (n,) given what is ``known`` of each, and the ``hub`` that it hangs on.

        ``sizes`` are how many rows each person has.
        """
        least = least_leaf(sizes)
        if not len(rows.schema):
            return cls(schema=rows.schema, time=None, latest=np.inf, first=None, following=None)
        place = np.zeros(len(rows), dtype=np.int64)
        if order is not None:
            arranged = np.lexsort((rows.row_hash(), rows.column(order), hub))
            rows, known, hub = rows.take(arranged), known.take(arranged), hub[arranged]
            place = np.arange(len(rows)) - np.searchsorted(hub, hub)
        later = np.flatnonzero(place > 0)
        if order is None or len(later) < LEAST_SHARED:
            first = _fitted(known, rows, least, rng=rng)
            return cls(schema=rows.schema, time=None, latest=np.inf, first=first, following=None)
        numeric = isinstance(rows.schema[order], Numeric)
        time = order if numeric else None
        before = called(rows.take(later - 1), BEFORE)
        at = one_column(_whole(PLACE, int(place.max())), place[later])
        new = rows.take(later)
        if time is not None:
            new = _with(new, time, rows.column(time)[later] - rows.column(time)[later - 1])
        begin = np.flatnonzero(place == 0)
        return cls(
            schema=rows.schema,
            time=time,
            latest=_latest(rows.column(order), hub) if numeric else np.inf,
            first=_fitted(known.take(begin), rows.take(begin), MIN_LEAF["careful"], rng=rng),
            following=_fitted(beside(known.take(later), at, before), new, least, rng=rng),
        )

    def draw(self, known: Table, hub: Indices, *, rng: Generator) -> Table:
        """Draw a row for each of those that are ``known``; rows of one hub stand together, in their order."""
        n_rows = len(known)
        values = np.full((n_rows, len(self.schema)), np.nan)
        if self.first is None or not n_rows:
            return Table(schema=self.schema, values=values)
        place = np.arange(n_rows) - np.searchsorted(hub, hub)
        begin = np.arange(n_rows) if self.following is None else np.flatnonzero(place == 0)
        values[begin] = _drawn(self.first, known.take(begin), rng=rng)
        if self.following is not None:
            by_place = np.argsort(place, kind="stable")
            for now in np.split(by_place, np.searchsorted(place[by_place], np.arange(1, place.max() + 1)))[
                1:
            ]:
                before = Table(schema=self.schema, values=values[now - 1])
                at = one_column(_whole(PLACE, 0), place[now])
                given = beside(known.take(now), at, called(before, BEFORE))
                values[now] = self._after(_drawn(self.following, given, rng=rng), before)
            if self.time is not None:
                self._end_in_time(values, hub)
        return Table(schema=self.schema, values=values)

    def _after(self, drawn: Floats, before: Table) -> Floats:
        """Return rows with the time that they stand at, not that which has passed."""
        if self.time is not None:
            k = self.schema.position(self.time)
            drawn[:, k] = before.values[:, k] + drawn[:, k]
        return drawn

    def _end_in_time(self, values: Floats, hub: Indices) -> None:
        """Draw sets together that would go on after the latest time; times keep their decimals."""
        assert self.time is not None
        k = self.schema.position(self.time)
        column, cells = self.schema[self.time], values[:, k]
        begins = np.searchsorted(hub, hub)
        begin = cells[begins]
        last = np.full(int(hub.max()) + 1, -np.inf)
        np.maximum.at(last, hub, np.where(np.isnan(cells), -np.inf, cells))
        end = last[hub]
        late = np.isfinite(end) & (end > self.latest) & ~np.isnan(begin)
        shrunk = begin + (cells - begin) * np.divide(
            np.maximum(self.latest - begin, 0.0), end - begin, out=np.zeros(len(cells)), where=end > begin
        )
        values[:, k] = within(column, np.where(late, shrunk, cells))


def _fitted(known: Table, rows: Table, least: int, *, rng: Generator) -> TreesModel:
    order = known.schema.names
    return Trees(order=order, min_leaf=least).fit(beside(known, rows), rng=rng)


def _drawn(model: TreesModel, known: Table, *, rng: Generator) -> Floats:
    """Return the cells of rows that were drawn, without what was known."""
    drawn = model.draw_given(known, rng=rng)
    return np.array(drawn.values[:, len(known.schema) :])


def _latest(times: Floats, hub: Indices) -> float:
    """Return a time that ten sets reach, so that it is of nobody alone; no end where fewer have any."""
    known = ~np.isnan(times)
    ends = np.full(int(hub.max()) + 1, -np.inf)
    np.maximum.at(ends, hub[known], times[known])
    ends = np.sort(ends[np.isfinite(ends)])
    return float(ends[-LEAST_SHARED]) if len(ends) >= LEAST_SHARED else np.inf


def _whole(name: str, high: int) -> Numeric:
    return Numeric(name=name, low=0.0, high=float(high), decimals=0)


def _with(rows: Table, name: str, cells: Floats) -> Table:
    """Return rows with other numbers in a column, under another name."""
    k = rows.schema.position(name)
    values, columns = np.array(rows.values), list(rows.schema.columns)
    values[:, k] = cells
    column = columns[k]
    assert isinstance(column, Numeric)
    known = cells[~np.isnan(cells)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
    columns[k] = Numeric(name=SINCE, low=low, high=high, decimals=column.decimals)
    return Table(schema=Schema(tuple(columns)), values=values)
