"""Do columns go together as they do among real people? Marginals can be perfect where this is broken."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.estimate import CONFIDENCE
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import FOLDED, ComparedTables, DistanceSum
from tabveil.metrics.utility.findings import Associations, Figure
from tabveil.metrics.utility.utility_kernels import correlation_ratio, cramers_v, pearson
from tabveil.tables.matrices.ordinal import ComparedLevels


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """A column: of numbers, NaN for missing, or of codes of labels, missing being one of them."""

    cells: Floats | Indices  # (n,)
    n_levels: int = 0  # labels of all tables compared; 0 for numbers


@dataclass(frozen=True, kw_only=True, eq=False)
class Association:
    """A strength and what each row adds to its error; the mean influence is zero."""

    value: float
    influence: Floats  # (n,)

    @cached_property
    def variance(self) -> float:
        """The variance of the value, by the delta method."""
        return float((self.influence**2).sum()) / max(len(self.influence), 1) ** 2


def associate(a: Cells, b: Cells) -> Association:
    """Measure a pair of columns by the measure that fits them.

    Two columns of numbers by Pearson's correlation over the rows that have both, in [-1, 1].

    A column of each by the correlation ratio, the root of the share of the numbers' variance that lies
    between labels, in [0, 1]. The share is Kelley's (1935) ``1 - (1 - eta²)(n - 1)/(n - k)``, 0 where that is
    negative: eta² itself grows with the number of labels k even where labels tell nothing. Rows without a
    number are left out.

    Two columns of labels by Cramér's V in [0, 1], corrected for chance as by Bergsma (2013): ``V² = (phi² -
    (r - 1)(c - 1)/(n - 1)) / (min(r, c) - 1)``, the numbers of labels corrected too, 0 where that is
    negative: V itself grows with the number of labels even where columns are independent.
    """
    influence = np.zeros(len(a.cells))
    if a.n_levels and b.n_levels:
        value = cramers_v(a.cells, b.cells, a.n_levels, b.n_levels, influence)
    elif a.n_levels:
        return associate(b, a)
    elif b.n_levels:
        value = correlation_ratio(a.cells, b.cells, b.n_levels, influence)
    else:
        value = pearson(a.cells, b.cells, influence)
    return Association(value=value, influence=influence)


MOST_LEVELS = 30  # of a column of labels; the others are taken together
LEAST_A_TABLE = 5  # rows at a level, on average over the tables
MOST_CELLS = 60_000_000  # pairs of columns times rows; beyond, rows are sampled
LEAST_ROWS = 1000
LEAST_PAIRS_AT_ONCE = 16
MOST_CHUNKS = 64  # each holds sums over rows
MOST_SHOWN = 64  # columns of a matrix that a reader can take in


@dataclass(frozen=True, kw_only=True, eq=False)
class Relations:
    """The associations of real, fresh and synthetic rows."""

    figure: Figure
    associations: Associations
    fresh: Floats  # (d, d) of the rows that stand for fresh ones, of the real where there are none
    notes: tuple[str, ...] = ()


def relate(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> Relations:
    """Compare the association of every pair of columns.

    The figure is the mean absolute difference over all pairs, with the interval of the delta method: every
    row's influences on all pairs are added up, with the signs of the differences.
    """
    names = sides.real.schema.names
    d = len(names)
    if d < 2:  # noqa: PLR2004 - a pair
        raise NotApplicable("correlation", "needs at least two columns.")
    pairs = [(i, j) for i in range(d) for j in range(i + 1, d)]
    sides = sides.at_most(max(LEAST_ROWS, MOST_CELLS // len(pairs)), rng=rng)
    tables = sides.real, sides.fresh, sides.synthetic
    workers.announce_compilation(pearson)
    columns = [_prepare(column, tables) for column in sides.real.schema.columns]
    matrices = np.tile(np.eye(d), (3, 1, 1))
    at_once = max(LEAST_PAIRS_AT_ONCE, -(-len(pairs) // MOST_CHUNKS))
    parts = [(DistanceSum(), DistanceSum()) for _ in range(0, len(pairs), at_once)]

    def work(start: int, stop: int) -> None:
        for i, j in pairs[start:stop]:
            found = [associate(columns[i][t], columns[j][t]) for t in range(3)]
            matrices[:, i, j] = matrices[:, j, i] = [item.value for item in found]
            for total, other in zip(parts[start // at_once], found[1:], strict=True):
                gap, sign = abs(found[0].value - other.value), np.sign(found[0].value - other.value)
                floor = FOLDED * float(np.sqrt(found[0].variance + other.variance))
                total.add(gap, floor, sign * found[0].influence, -sign * other.influence)

    workers.each_chunk(len(pairs), at_once, work, doing="comparing pairs of columns")
    fresh, synthetic = DistanceSum(), DistanceSum()
    for part in parts:  # always in this order: sums of floating-point numbers
        fresh.join(part[0])
        synthetic.join(part[1])
    has_fresh = len(sides.fresh) > 0
    shown = (
        f"The associations are listed for {MOST_SHOWN} of {d} columns, those in which the release differs "
        "most. The correlation difference is over all columns."
    )
    return Relations(
        figure=Figure(
            value=synthetic.mean(confidence), reference=fresh.mean(confidence) if has_fresh else None
        ),
        associations=_most_changed(names, matrices[0], matrices[2]),
        fresh=matrices[1] if has_fresh else matrices[0],
        notes=(shown,) if d > MOST_SHOWN else (),
    )


def _most_changed(names: tuple[str, ...], real: Floats, synthetic: Floats) -> Associations:
    """Keep the columns whose associations differ most; all, where there are not too many to be read."""
    changes = np.round(np.abs(real - synthetic).sum(axis=1), 9)  # the first of equals is the first by name
    kept = np.sort(np.argsort(-changes, kind="stable")[:MOST_SHOWN])
    square = np.ix_(kept, kept)
    return Associations(
        names=tuple(names[position] for position in kept),
        real=tuple(map(tuple, real[square].tolist())),
        synthetic=tuple(map(tuple, synthetic[square].tolist())),
    )


def _prepare(column: Column, tables: Sequence[Table]) -> list[Cells]:
    """Return a column of each table as numbers, or as codes of its most frequent labels."""
    match column:
        case Numeric(name=name):
            return [Cells(cells=np.array(table.column(name))) for table in tables]
        case Categorical():
            levels = ComparedLevels.of(column, tables)
            codes = _frequent(np.bincount(np.concatenate(levels.rows), minlength=len(levels)), len(tables))
            n_levels = int(codes.max()) + 1
            return [Cells(cells=codes[rows], n_levels=n_levels) for rows in levels.rows]


def _frequent(counts: Indices, n_tables: int) -> Indices:
    """Give the most frequent levels, missing among them, codes of their own and all others one code.

    A level seen in one table only would change Cramér's V of that table beyond all proportion. Where even all
    rare levels together are hardly seen, they go with the rarest of the others.
    """
    least = LEAST_A_TABLE * n_tables
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    n_kept = min(int((counts >= least).sum()), MOST_LEVELS)
    rare = rank >= n_kept
    rest = n_kept if counts[rare].sum() >= least else max(n_kept - 1, 0)
    return np.where(rare, rest, rank)
