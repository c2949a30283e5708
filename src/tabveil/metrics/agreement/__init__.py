"""Who is alone among all real people with what stands in a released row?

The scan over sets of columns: which columns, taken together, does the release keep of training people?

And copies but for a column or two: released rows that agree so with one real person, and with nobody else. A
copy with one value made up lies as far from its original as that value is; by distance it is often no nearer
than a stranger. By the other values it is the original, if nobody else has them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.crew import once
from tabveil.core.estimate import CONFIDENCE, difference
from tabveil.core.estimate.ranking import chances_of_hits, log_ways
from tabveil.core.linked import people_behind
from tabveil.core.sampling import in_order
from tabveil.core.table import Floats, Indices, Numeric, Split
from tabveil.core.wording import PEOPLE, ROWS, begin, joined, name, plural
from tabveil.metrics.agreement.cells import ComparedCells, Hashes
from tabveil.metrics.agreement.lone_kernels import count_hits
from tabveil.metrics.traces import Trace

__all__ = ["ColumnScan", "ComparedCells", "Hits", "draw_sets", "hits", "nearly_copied", "scan", "union"]

ROWS_AT_ONCE = 2_000_000
"""So many rows are looked up before another thread takes over, in one set or in many."""

Columns = Sequence[Sequence[int]]
"""Sets of cells, by their places."""


class Hits(NamedTuple):
    """How many people of train and of control are hit, and how many released rows hit either."""

    train: int
    control: int
    rows_train: int
    rows_control: int


def hits(cells: ComparedCells, sets: Columns, *, left_out: bool = False) -> Indices:
    """Count for every set: people hit of train, of control, and rows that hit train, control; (n_sets, 4).

    Sets may name the cells that are ``left_out`` of all, which is faster where they are few.
    """
    totals, counts = _totals(cells, left_out=left_out), np.zeros((len(sets), 4), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        _count(cells, totals, sets[start:stop], counts[start:stop])

    workers.announce_compilation(count_hits)
    n_rows = cells.real.shape[1] + cells.released.shape[1]
    workers.each_chunk(len(sets), max(ROWS_AT_ONCE // max(n_rows, 1), 1), work, doing="sets of columns")
    return counts


def union(cells: ComparedCells, sets: Columns, *, left_out: bool = False) -> Hits:
    """Count whom any of the sets hits.

    A row that points at train by one set and at control by another is evidence for neither.
    """
    workers.announce_compilation(count_hits)
    counts = np.zeros((len(sets), 4), dtype=np.int64)
    people, rows = _count(cells, _totals(cells, left_out=left_out), sets, counts)
    return Hits(
        train=int(np.sum(people[: cells.n_train] >= 0)),
        control=int(np.sum(people[cells.n_train :] >= 0)),
        rows_train=int(np.sum(rows == 1)),
        rows_control=int(np.sum(rows == 2)),  # noqa: PLR2004 - the mark of control
    )


def _totals(cells: ComparedCells, *, left_out: bool) -> tuple[Hashes, Hashes]:
    if not left_out:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64)
    return cells.real.sum(axis=0, dtype=np.uint64), cells.released.sum(axis=0, dtype=np.uint64)


def _count(
    cells: ComparedCells, totals: tuple[Hashes, Hashes], sets: Columns, counts: Indices
) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """Fill in the counts of the sets. Return the marks of people and of released rows."""
    members = np.array([place for columns in sets for place in columns], dtype=np.int64)
    starts = np.cumsum([0, *(len(columns) for columns in sets)]).astype(np.int64)
    people = np.full(cells.n_people, -1, dtype=np.int32)
    rows = np.zeros(cells.released.shape[1], dtype=np.uint8)
    split = cells.real, cells.released, totals, cells.whose, cells.n_train
    count_hits(*split, members, starts, counts, people, rows)
    return people, rows


FEW_HIT = 2000
"""The chances of no more hits than that are kept for whoever asks again: 16 MB at most."""
ROUNDING = 1 + 1e-9  # chances that differ by less are one chance


@dataclass(frozen=True, kw_only=True, eq=False)
class Family:
    """Sets of columns by one way to compare cells, and whom they hit."""

    cells: ComparedCells
    sets: Sequence[Any]  # each what its finder calls a set
    counts: Indices  # (n_sets, 4)
    coarse: bool = False

    @once
    def chances(self) -> Floats:
        """How often each set shows as much by chance, (n_sets,)."""
        n_hits, train = self.counts[:, :2].sum(axis=1).tolist(), self.counts[:, 0].tolist()
        laws = {n_hit: self._law(n_hit) for n_hit in set(n_hits)}
        return np.array([laws[n_hit][of_train] for n_hit, of_train in zip(n_hits, train, strict=True)])

    def reached(self, chance: float) -> float:
        """Return how many sets are expected to show something so rare by chance: each what it can reach."""
        expected = 0.0
        for n_hit, n_sets in zip(*np.unique(self.counts[:, :2].sum(axis=1), return_counts=True), strict=True):
            law = self._law(int(n_hit))
            expected += int(n_sets) * float(law[law <= chance * ROUNDING].max(initial=0.0))
        return expected

    def _law(self, n_hit: int) -> Floats:
        """Return the chance that 0, 1, ... or more of those hit are training people, (n_hit + 1,)."""
        if n_hit > FEW_HIT:
            return chances_of_hits(n_hit, self.cells.n_train, self.cells.n_people)
        if n_hit not in self._laws:
            self._laws[n_hit] = chances_of_hits(n_hit, self.cells.n_train, self.cells.n_people)
        return self._laws[n_hit]

    @once
    def _laws(self) -> dict[int, Floats]:
        return {}

    @property
    def smallest(self) -> float:
        """The smallest of these chances."""
        return float(self.chances.min(initial=1.0))

    @property
    def surest(self) -> int:
        """The place of the set that shows most surely that something leaks."""
        return int(np.argmin(self.chances))


PAIRS = (780, 5000)
"""At least and at most so many pairs of columns are tried; all of up to 40 columns."""
SETS_OF_SIZE = 150
SIZES = (3, 4, 5, 6)
ROWS_AT_MOST = 40_000_000
"""About so many rows are looked at for pairs, or with two columns left out: a second of one core."""
LARGE = 100_000
"""Of more people, or released rows, a sample says which sets are worth a look at all of them."""
LOOKED_AT = 40
LIKELY = 0.005
"""A scan that chance explains so often is not looked into."""
STEPS = 12
BETTER = 1.0
"""A set is grown and shrunk where that makes chance less likely by this in its logarithm."""


@dataclass(frozen=True, kw_only=True)
class ColumnScan:
    """What the scan showed most surely, and how often chance shows as much in any of ``n_sets`` sets."""

    p_value: float
    n_sets: int
    columns: tuple[str, ...]
    coarse: bool  # numbers in parts, not equal ones
    hits: Hits


def scan(split: Split, *, rng: Generator) -> ColumnScan | None:
    """Try the sets; None where there are no control people, or no set hits anybody."""
    if not len(split.control) or not len(split.synthetic):
        return None
    families = [family for family in _families(split, rng=rng) if len(family.sets)]
    if not families:
        return None
    best = min(families, key=lambda family: family.smallest)
    if best.smallest >= 1:
        return None
    p_value = min(sum(family.reached(best.smallest) for family in families), 1.0)
    columns = best.sets[best.surest]
    if p_value <= LIKELY:
        columns = _grown(best.cells, columns)
    return ColumnScan(
        p_value=p_value,
        n_sets=sum(len(family.sets) for family in families),
        columns=tuple(dict.fromkeys(best.cells.columns[place] for place in columns)),
        coarse=best.coarse,
        hits=Hits(*hits(best.cells, [columns])[0].tolist()),
    )


def _families(split: Split, *, rng: Generator) -> Iterator[Family]:
    if max(len(split.train) + len(split.control), len(split.synthetic)) > LARGE:
        tables = (split.train, split.control, split.synthetic)
        train, control, synthetic = (in_order(table).table for table in tables)
        split = Split(train=train, control=control, synthetic=synthetic)
    d, n_people = len(split.schema), split.train.n_people + split.control.n_people
    n_pairs = int(np.clip(ROWS_AT_MOST / (n_people + len(split.synthetic)), *PAIRS))
    exact = ComparedCells.exact(split, rng=rng)
    c = len(exact.columns)
    sets = [
        *((place,) for place in range(c)),
        *draw_sets(c, 2, n_pairs, rng=rng),
        *(columns for size in SIZES for columns in draw_sets(d, size, SETS_OF_SIZE, rng=rng)),
        *(tuple(np.delete(np.arange(d), place).tolist()) for place in range(d if d > 2 else 0)),  # noqa: PLR2004
        tuple(range(d)),
    ]
    yield _counted(exact, list(dict.fromkeys(sets)), coarse=False, rng=rng)
    names = sorted(split.schema.names)
    numbers = {place for place, name in enumerate(names) if isinstance(split.schema[name], Numeric)}
    for size, most in ((2, n_pairs), (3, SETS_OF_SIZE)):
        sets = [columns for columns in draw_sets(d, size, most, rng=rng) if numbers.intersection(columns)]
        if sets:  # as many parts as give each person a cell of their own, if columns had nothing in common
            cells = ComparedCells.coarse(split, max(round(n_people ** (1 / size)), 2), rng=rng)
            yield _counted(cells, sets, coarse=True, rng=rng)


def draw_sets(n: int, size: int, most: int, *, rng: Generator) -> list[tuple[int, ...]]:
    """Return all sets of so many of ``n`` places, or some at random where they are too many."""
    if size > n:
        return []
    if comb(n, size) <= most:
        return list(combinations(range(n), size))
    drawn = (tuple(sorted(rng.choice(n, size, replace=False).tolist())) for _ in range(most))
    return list(dict.fromkeys(drawn))


def _counted(cells: ComparedCells, sets: list[tuple[int, ...]], *, coarse: bool, rng: Generator) -> Family:
    """Count whom the sets hit; of very many rows, by a sample first, and then by all rows where it matters.

    Who is alone in a sample need not be alone among all: both are exact tests, and each is paid for.
    """
    n_real, n_released = cells.real.shape[1], cells.released.shape[1]
    if max(n_real, n_released) <= LARGE:
        return Family(cells=cells, sets=sets, counts=hits(cells, sets), coarse=coarse)
    people = np.zeros(cells.n_people, dtype=bool)
    people[rng.permutation(cells.n_people)[: max(LARGE * cells.n_people // n_real, 1)]] = True
    rows = rng.permutation(n_released)[:LARGE]
    sample = cells.take(people, rows)
    sampled = Family(cells=sample, sets=sets, counts=hits(sample, sets), coarse=coarse)
    promising = np.argsort(sampled.chances, kind="stable")[:LOOKED_AT]
    alone = [place for place, columns in enumerate(sets) if len(columns) == 1]
    looked_at = [sets[place] for place in dict.fromkeys([*alone, *promising.tolist()])]
    return Family(
        cells=cells,
        sets=[*looked_at, *sets],
        counts=np.concatenate([hits(cells, looked_at), np.zeros((len(sets), 4), dtype=np.int64)]),
        coarse=coarse,
    )


def _grown(cells: ComparedCells, columns: tuple[int, ...]) -> tuple[int, ...]:
    """Add and leave out columns as long as that makes it less likely that chance hits so many of train.

    By chance, not by how many people it shows: a set that was chosen for many would show too many.
    """

    def surprise(sets: list[tuple[int, ...]]) -> Floats:
        """Return minus the logarithm of the chance of just so many of train; 0 where they are few."""
        train, control = hits(cells, sets)[:, :2].T.astype(np.float64)
        found = (
            log_ways(cells.n_train, train)
            + log_ways(cells.n_control, control)
            - log_ways(cells.n_people, train + control)
        )
        return np.where(train * cells.n_control > control * cells.n_train, -found, 0.0)

    best = float(surprise([columns])[0])
    for _ in range(STEPS):
        others = [place for place in range(len(cells.columns)) if place not in columns]
        sets = [(*columns, place) for place in others]
        sets += [tuple(place for place in columns if place != gone) for gone in columns if len(columns) > 1]
        found = surprise(sets) if sets else np.zeros(0)
        if not len(found) or found.max() <= best + BETTER:
            break
        columns, best = sets[int(np.argmax(found))], float(found.max())
    return tuple(sorted(columns))


FEWEST_COLUMNS = 4
"""Of fewer, a row that agrees in all but one or two is hardly anybody's."""
MOST_LEFT_OUT = 2
"""Where that would be more rows than are looked at, one."""


def nearly_copied(split: Split, *, confidence: float = CONFIDENCE, rng: Generator) -> Trace | None:
    """Count the people whom a released row equals in all columns but one or two, alone among real people.

    None where there is no control, or where columns are too few to tell.

    >>> import numpy as np
    >>> from tabveil.core.table import Numeric, Schema, Table
    >>> names = "abcdef"
    >>> schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in names))
    >>> draws = np.random.default_rng(0).random((90, 6))
    >>> train, control, release = (Table(schema=schema, values=draws[i : i + 30].copy()) for i in (0, 30, 60))
    >>> copied = release.values.copy()
    >>> copied[:20, 1:] = train.values[:20, 1:]  # all but one column of twenty people
    >>> split = Split(train=train, control=control, synthetic=Table(schema=schema, values=copied))
    >>> found = nearly_copied(split, rng=np.random.default_rng(1))
    >>> found.people, found.people_control, found.rows, found.p_value < 1e-6
    (20, 0, 20, True)
    """
    d = len(split.schema)
    if not len(split.control) or not len(split.synthetic) or d < FEWEST_COLUMNS:
        return None
    cells = ComparedCells.exact(split, derived=False, rng=rng)
    n_rows = cells.real.shape[1] + cells.released.shape[1]
    most = MOST_LEFT_OUT if d > FEWEST_COLUMNS + 1 and comb(d, MOST_LEFT_OUT) * n_rows <= ROWS_AT_MOST else 1
    sets = [gone for n_gone in range(most + 1) for gone in combinations(range(d), n_gone)]
    unions = [[gone for gone in sets if len(gone) <= n_gone] for n_gone in range(1, most + 1)]
    counts = [
        *hits(cells, sets, left_out=True),
        *(union(cells, some, left_out=True) for some in unions),
    ]
    family = Family(cells=cells, sets=[*sets, *unions], counts=np.array(counts))
    surest = family.surest
    found = Hits(*family.counts[surest].tolist())
    where = "in all columns"  # but those of one set, or of any
    if surest >= len(sets):
        where += f" but {'one' if surest == len(sets) or most == 1 else 'one or two'}"
    elif sets[surest]:
        where += f" but {joined([name(cells.columns[place]) for place in sets[surest]])}"
    agree = "agrees" if found.rows_train == 1 else "agree"
    a_row = ROWS if people_behind(split.train) is None else PEOPLE
    released = plural(found.rows_train, *(f"released {called}" for called in a_row))
    rows_expected = found.rows_control * cells.n_train / cells.n_control
    return Trace(
        name="nearly copied",
        title=f"{begin(a_row[1])} copied but for a column or two",
        sentence=(
            f"{released} of {len(split.synthetic):,} {agree} {where} with "
            f"one training person and no other real person; by chance about {rows_expected:,.0f} would."
        ),
        p_value=min(family.reached(family.smallest), 1.0),
        people=found.train,
        n_people=cells.n_train,
        people_control=found.control,
        n_control=cells.n_control,
        gain=difference(found.train, cells.n_train, found.control, cells.n_control, confidence),
        rows=found.rows_train,
        rows_expected=rows_expected,
        n_rows=len(split.synthetic),
    )
