"""How far are people from each other by their own rows, and by the sets of their linked rows?

Rows are compared by their mixed distance: numbers by their ranks among all rows looked at, categories by
equality, missing by being missing. Two sets are as far apart as a row of one is from the nearest row of the
other, on average over its rows and over both directions: rows that have no counterpart cost what they cost.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.linked import LinkedRows, LinkedTables
from tabveil.core.table import Floats, Indices, Numeric, Table
from tabveil.engines.set_distance_kernels import compare_sets

Singles = NDArray[np.float32]

MISSING = 2.0
"""Where a missing number stands: 1 from all others, which are between 0 and 1."""

_EACH_PAIR = 12
"""What looking for the nearest of two rows costs in all ways, in columns that are compared."""

_AT_ONCE = 1 << 24  # distances that are held at the same time

OWN, ROWS, GAPS, STRUCTURE = "own", "rows", "gaps", "structure"
"""What of people is compared: their own rows; linked rows with the time of each; with the time since the one
before; and how many rows there are, with these times alone."""

Part = tuple[str, str]
"""One of these, and the linked table that it is about; the person's table for their own rows."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _ComparedRows:
    """Rows of a table as numbers that can be compared."""

    numbers: Singles  # (k, n)
    codes: NDArray[np.int32]  # (c, n)
    times: Singles  # (t, n) when, and how long after the row before; none where there is no order
    weights: Singles  # (ways, 1 + t)
    ways: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, order: str | None, gaps: Floats | None) -> Self:
        columns = [column for column in table.schema.columns if column.name != order]
        numbers = [ranks(table.column(one.name)) for one in columns if isinstance(one, Numeric)]
        codes = [
            np.nan_to_num(table.column(one.name), nan=-1) for one in columns if not isinstance(one, Numeric)
        ]
        times = [] if order is None or gaps is None else [ranks(table.column(order)), ranks(gaps)]
        n = len(table)
        each = 1 / max(len(columns) + (1 if times else 0), 1)
        ways = {ROWS: [each, each, 0.0], GAPS: [each, 0.0, each], STRUCTURE: [0.0, 0.0, 1.0]}
        if not times:
            ways = {ROWS: [each]}
        return cls(
            numbers=np.array(numbers, dtype=np.float32).reshape(len(numbers), n),
            codes=np.array(codes, dtype=np.int32).reshape(len(codes), n),
            times=np.array(times, dtype=np.float32).reshape(len(times), n),
            weights=np.array(list(ways.values()), dtype=np.float32),
            ways=tuple(ways),
        )


def ranks(cells: Floats) -> Floats:
    """Return the share of cells below each, those equal to it half; :data:`MISSING` where there is none."""
    there = ~np.isnan(cells)
    held = np.sort(cells[there])
    ranks = np.full(len(cells), MISSING)
    below, up_to = (np.searchsorted(held, cells[there], side=side) for side in ("left", "right"))
    ranks[there] = (below + up_to) / (2 * max(len(held), 1))
    return ranks


def gaps_of(rows: LinkedRows, order: str) -> Floats:
    """Return how long after the person's row before each row comes, (n_pairs,); missing for the first."""
    when = rows.table.column(order)[rows.rows]
    gaps = np.full(len(when), np.nan)
    gaps[1:] = np.where(np.diff(rows.whose) == 0, np.diff(when), np.nan)
    return gaps


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedPeople:
    """People who can be compared with each other, in all parts of what they are."""

    n_people: int
    rows: Mapping[str, _ComparedRows]  # by table
    starts: Mapping[str, Indices]  # (n_people + 1,) by table
    counts: Mapping[str, Singles]  # (n_people,) the rank of the number of linked rows, by table

    @classmethod
    def of(cls, people: LinkedTables) -> Self:
        """Prepare all people who will be compared: numbers are ranked among them."""
        rows: dict[str, _ComparedRows] = {}
        starts: dict[str, Indices] = {}
        if len(people.own.schema):
            rows[people.linkage.person] = _ComparedRows.of(people.own, None, None)
            starts[people.linkage.person] = np.arange(len(people) + 1)
        for name, linked in people.linked.items():
            if len(linked.table.schema) == 0:
                continue
            order = people.linkage[name].order
            order = order if order in linked.table.schema.names else None
            gaps = None if order is None else gaps_of(linked, order)
            rows[name] = _ComparedRows.of(linked.table.take(linked.rows), order, gaps)
            starts[name] = linked.starts
        counts = {
            name: ranks(each.sizes.astype(np.float64)).astype(np.float32)
            for name, each in people.linked.items()
        }
        return cls(n_people=len(people), rows=rows, starts=starts, counts=counts)

    @staticmethod
    def cost(people: LinkedTables, n_asked: int, n_compared: int) -> float:
        """Return about how many operations it takes to compare so many people like these with others."""
        total = float(len(people.own.schema)) + _EACH_PAIR
        for linked in people.linked.values():
            mean = len(linked.rows) / max(len(people), 1)
            total += mean**2 * (len(linked.table.schema) + _EACH_PAIR)
        return total * n_asked * n_compared

    def distances(self, asked: Indices, people: Indices) -> Iterator[tuple[Indices, dict[Part, Singles]]]:
        """Compare some people with others: whom, and how far apart in each part, (block, people) each."""
        at_once = max(_AT_ONCE // max(len(people) * 3 * max(len(self.rows), 1), 1), 1)
        placed = {name: places_of(starts, people) for name, starts in self.starts.items()}
        for first in range(0, len(asked), at_once):
            workers.tell("comparing people", first / len(asked))
            block = asked[first : first + at_once]
            found: dict[Part, Singles] = {}
            for name, each in self.rows.items():
                own, starts = places_of(self.starts[name], block)
                others, starts_of_others = placed[name]
                by_way = np.empty((len(each.ways), len(block), len(people)), dtype=np.float32)
                compare_sets(
                    each.numbers,
                    each.codes,
                    each.times,
                    own,
                    starts,
                    others,
                    starts_of_others,
                    each.weights,
                    by_way,
                )
                for way, distance in zip(each.ways, by_way, strict=True):
                    found[OWN if name not in self.counts else way, name] = distance
            for name, counts in self.counts.items():
                apart = np.abs(counts[block][:, None] - counts[people][None, :])
                times = found.get((STRUCTURE, name))
                found[STRUCTURE, name] = apart if times is None else (apart + times) / 2
            yield block, found


def places_of(starts: Indices, people: Indices) -> tuple[Indices, Indices]:
    """Return where the rows of these people stand, and where each person's begin among them."""
    sizes = np.diff(starts)[people]
    begins = np.concatenate([[0], np.cumsum(sizes)])
    places = np.arange(begins[-1]) + np.repeat(starts[:-1][people] - begins[:-1], sizes)
    return places, begins


@dataclass(frozen=True, kw_only=True)
class PeopleView:
    """One way to look at people: the parts that are compared, and how much each counts."""

    name: str
    parts: Mapping[Part, float]

    def of(self, found: Mapping[Part, Singles]) -> Singles:
        """Return the distances in this view."""
        weight = sum(self.parts.values())
        total = np.zeros_like(next(iter(found.values())))
        for part, share in self.parts.items():
            total += np.float32(share / weight) * found[part]
        return total


def views(people: ComparedPeople, person: str) -> Sequence[PeopleView]:
    """Return the ways to look at people: own rows, linked rows, both; by gaps; and structure alone."""
    linked = [name for name in people.rows if name in people.counts]
    timed = [name for name in linked if GAPS in people.rows[name].ways]
    own = {(OWN, person): 1.0} if person in people.rows else {}
    each = 1 / max(len(linked), 1)
    rows = {(ROWS, name): each for name in linked}
    gaps = {(GAPS if name in timed else ROWS, name): each for name in linked}
    found = []
    if own and rows:
        found.append(PeopleView(name="own row and linked rows", parts={**own, **rows}))
    if rows:
        found.append(PeopleView(name="linked rows", parts=rows))
    if own:
        found.append(PeopleView(name="own row", parts=own))
    if timed:
        found.append(PeopleView(name="linked rows by the gaps between events", parts=gaps))
    if len(linked) > 1:
        found += [PeopleView(name=f"rows of {name}", parts={(ROWS, name): 1.0}) for name in linked]
    if people.counts:
        structure = {(STRUCTURE, name): 1.0 for name in people.counts}
        found.append(PeopleView(name="numbers and times of rows alone", parts=structure))
    return found
