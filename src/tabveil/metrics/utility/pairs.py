"""Do two columns together look as among real people? Two-way tables of all pairs, compared."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import CONFIDENCE, Estimate
from tabveil.core.table import Floats, Indices, Numeric
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import (
    ComparedTables,
    Distance,
    DistanceSum,
    LevelCounts,
    total_variation,
)
from tabveil.metrics.utility.findings import Figure
from tabveil.metrics.utility.joint import frequent
from tabveil.tables.matrices.ordinal import ComparedLevels

MOST_LEVELS = 10  # of each column; tables of many cells differ by chance alone
MOST_CELLS = 20_000_000  # pairs of columns times rows; beyond, rows are sampled
LEAST_SAMPLED = 1000
LEAST_PAIRS_AT_ONCE = 16
MOST_CHUNKS = 64  # each holds sums over rows
MOST_DRAWN = 6
MOST_OF_COLUMN = 2  # pictures that show the same column
REAL, FRESH, SYNTHETIC = range(3)


@dataclass(frozen=True, kw_only=True)
class ChangedPair:
    """Two columns whose two-way table differs between real and synthetic rows.

    ``alone`` is the larger total variation of the two columns by themselves, over the same levels: a pair
    differs at least as much.
    """

    columns: tuple[str, str]
    variation: Figure
    alone: float


@dataclass(frozen=True, kw_only=True, eq=False)
class PairVariations:
    """The total variation of all pairs: its mean, and the pairs that differ most beyond their columns."""

    figure: Figure
    changed: tuple[ChangedPair, ...]


def compare_pairs(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> PairVariations:
    """Compare the two-way tables of all pairs of columns; numbers in ten ranges, rarer labels as one.

    Pairs are ordered by how much more they differ than the worse of their columns alone, less the same of
    fresh rows: what columns show by themselves is not shown again for each of their partners. Named are pairs
    that differ more than chance would have them, and a column at most twice.
    """
    d = len(sides.real.schema)
    if d < 2:  # noqa: PLR2004 - a pair
        raise NotApplicable("pair_variation", "needs at least two columns.")
    tables = _TwoWayTables.of(sides.at_most(max(LEAST_SAMPLED, 2 * MOST_CELLS // (d * (d - 1))), rng=rng))
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    at_once = max(LEAST_PAIRS_AT_ONCE, -(-len(pairs) // MOST_CHUNKS))
    parts = [{side: DistanceSum() for side in tables.sides} for _ in range(0, len(pairs), at_once)]
    beyond = np.zeros((len(pairs), 3))

    def work(start: int, stop: int) -> None:
        for number in range(start, stop):
            for side in tables.sides:
                found = tables.compared(pairs[number], side)
                parts[start // at_once][side].add(*found.of_rows)
                beyond[number, side] = found.distance.value - found.alone

    workers.each_chunk(len(pairs), at_once, work, doing="comparing two-way tables")
    means = dict[int, Estimate]()
    for side in tables.sides:
        total = DistanceSum()
        for part in parts:  # always in this order: sums of floating-point numbers
            total.join(part[side])
        means[side] = total.mean(confidence)
    more = np.round(beyond[:, SYNTHETIC] - beyond[:, FRESH], 9)
    ranked = [pairs[number] for number in np.argsort(-more, kind="stable").tolist() if more[number] > 0]
    return PairVariations(
        figure=Figure(value=means[SYNTHETIC], reference=means.get(FRESH)),
        changed=_most_changed(ranked, tables, confidence),
    )


def _most_changed(
    ranked: Sequence[tuple[int, int]], tables: "_TwoWayTables", confidence: float
) -> tuple[ChangedPair, ...]:
    """Take the first pairs that differ by more than chance, but of each column only a few."""
    named, seen = list[ChangedPair](), Counter[int]()
    for pair in ranked:
        if len(named) == MOST_DRAWN:
            break
        if max(seen[column] for column in pair) < MOST_OF_COLUMN:
            found = tables.changed(pair, confidence)
            if found.variation.value.low > 0:
                named.append(found)
                seen.update(pair)
    return tuple(named)


@dataclass(frozen=True, kw_only=True, eq=False)
class _TwoWayTable:
    """The cells of two columns, counted in real and in other rows."""

    counts: LevelCounts
    distance: Distance
    n_across: int
    real: Indices  # (n,) the cell of each row
    other: Indices  # (m,)

    @property
    def of_rows(self) -> tuple[float, float, Floats, Floats]:
        """The distance, what chance makes of it, and what each row adds."""
        found = self.distance
        return found.value, found.floor, found.by_real[self.real], found.by_other[self.other]

    @property
    def alone(self) -> float:
        """The larger total variation of the two columns."""
        gaps: Floats = np.subtract(*self.counts.shares).reshape(-1, self.n_across)
        return max(float(np.abs(gaps.sum(axis=axis)).sum()) / 2 for axis in (0, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class _TwoWayTables:
    """All columns of the real, the fresh and the synthetic rows, by their levels; missing is one of them."""

    names: tuple[str, ...]
    levels: Sequence[Sequence[Indices]]  # of each column, of each table (n,)
    sizes: Sequence[int]
    sides: Sequence[int]  # the tables that are compared with the real one

    @classmethod
    def of(cls, sides: ComparedTables) -> Self:
        tables = sides.real, sides.fresh, sides.synthetic
        found = []
        for column in sides.real.schema.columns:
            levels = ComparedLevels.of(column, tables)
            if isinstance(column, Numeric):
                found.append(levels.in_bins(MOST_LEVELS).rows)
                continue
            counts = np.bincount(np.concatenate(levels.rows), minlength=len(levels))
            codes = frequent(counts, len(tables), most=MOST_LEVELS - 1)
            found.append(tuple(codes[rows] for rows in levels.rows))
        return cls(
            names=sides.real.schema.names,
            levels=found,
            sizes=[1 + max(int(rows.max(initial=0)) for rows in column) for column in found],
            sides=(FRESH, SYNTHETIC) if len(sides.fresh) else (SYNTHETIC,),
        )

    def compared(self, pair: tuple[int, int], side: int) -> _TwoWayTable:
        down, across = pair
        n_across = self.sizes[across]
        real, other = (
            self.levels[down][table] * n_across + self.levels[across][table] for table in (REAL, side)
        )
        counts = LevelCounts.of(real, other, self.sizes[down] * n_across)
        return _TwoWayTable(
            counts=counts, distance=total_variation(counts), n_across=n_across, real=real, other=other
        )

    def changed(self, pair: tuple[int, int], confidence: float) -> ChangedPair:
        found = {side: self.compared(pair, side) for side in self.sides}
        estimates = {side: item.distance.estimate(item.counts, confidence) for side, item in found.items()}
        down, across = pair
        return ChangedPair(
            columns=(self.names[down], self.names[across]),
            variation=Figure(value=estimates[SYNTHETIC], reference=estimates.get(FRESH)),
            alone=found[SYNTHETIC].alone,
        )
