"""Do columns go together as among real people, and do rows lie in the same places?

Marginals can be perfect where this is broken. Compared are associations of pairs of columns, and where rows
lie (MMD).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.crew import once
from tabveil.core.estimate import CONFIDENCE, Estimate, around
from tabveil.core.sampling import shuffled
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import FOLDED, ComparedTables, DistanceSum
from tabveil.metrics.utility.findings import Associations, Figure
from tabveil.metrics.utility.utility_kernels import correlation_ratio, cramers_v, kernel_sum, pearson
from tabveil.tables.matrices.ordinal import ComparedLevels, unit

MOST_LEVELS = 30  # of a column of labels; the others are taken together
LEAST_A_TABLE = 5  # rows at a level, on average over the tables
MOST_CELLS = 60_000_000  # pairs of columns times rows; beyond, rows are sampled
LEAST_SAMPLED = 1000
LEAST_PAIRS_AT_ONCE = 16
MOST_CHUNKS = 64  # each holds sums over rows
MOST_SHOWN = 64  # columns of a matrix that a reader can take in
ROWS_A_BLOCK = 400
MOST_BLOCKS = 40
LEAST_BLOCKS = 5  # for a standard error; smaller tables are cut in smaller blocks
PAIRS_FOR_MEDIAN = 2000


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

    @once
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
    sides = sides.at_most(max(LEAST_SAMPLED, MOST_CELLS // len(pairs)), rng=rng)
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
            codes = frequent(np.bincount(np.concatenate(levels.rows), minlength=len(levels)), len(tables))
            n_levels = int(codes.max()) + 1
            return [Cells(cells=codes[rows], n_levels=n_levels) for rows in levels.rows]


def frequent(counts: Indices, n_tables: int, *, most: int = MOST_LEVELS) -> Indices:
    """Give the most frequent levels, missing among them, codes of their own and all others one code.

    A level seen in one table only would change Cramér's V of that table beyond all proportion. Where even all
    rare levels together are hardly seen, they go with the rarest of the others.
    """
    least = LEAST_A_TABLE * n_tables
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    n_kept = min(int((counts >= least).sum()), most)
    rare = rank >= n_kept
    rest = n_kept if counts[rare].sum() >= least else max(n_kept - 1, 0)
    return np.where(rare, rest, rank)


def discrepancy(sides: ComparedTables, *, confidence: float = CONFIDENCE, rng: Generator) -> Figure:
    """How far apart are the densities of real and synthetic rows? MMD², 0 at best.

    The kernel is ``exp(-d / width)`` with d the sum of Gower's distance over the columns and the width the
    median distance between real rows. Taken over all pairs of rows it would need quadratic time; it is
    therefore averaged over blocks (the B-test, Zaremba et al. 2013). Each block's value is unbiased, so the
    result may be slightly negative; blocks share no rows, so their scatter gives the interval.
    """
    needed = 2 * LEAST_BLOCKS
    require_rows("mmd", sides, needed)
    real, synthetic, fresh = (
        unit(shuffled(table, rng=rng).table) for table in (sides.real, sides.synthetic, sides.fresh)
    )
    numeric = np.array([isinstance(column, Numeric) for column in sides.real.schema.columns])
    width = _median_distance(real, numeric, rng=rng)
    if width == 0:
        raise NotApplicable("mmd", "all real rows are equal.")
    has_fresh = len(fresh) >= needed
    return Figure(
        value=_estimate(real, synthetic, numeric, width, confidence),
        reference=_estimate(real, fresh, numeric, width, confidence) if has_fresh else None,
    )


def require_rows(name: str, sides: ComparedTables, least: int) -> None:
    """Refuse to answer about fewer rows of either table."""
    n_real, n_synthetic = len(sides.real), len(sides.synthetic)
    if min(n_real, n_synthetic) < least:
        needs = f"needs at least {least} real and as many synthetic rows to compare"
        raise NotApplicable(name, f"{needs}, got {n_real} and {n_synthetic}.")


def _median_distance(cells: Floats, numeric: np.ndarray, *, rng: Generator) -> float:
    """Return the median Gower sum between random pairs of rows (the mean where most pairs are equal)."""
    a, b = (cells[rng.integers(0, len(cells), PAIRS_FOR_MEDIAN)] for _ in range(2))
    missing = np.isnan(a), np.isnan(b)
    gaps = np.where(numeric, np.abs(a - b), a != b)
    gaps = np.where(missing[0] & missing[1], 0.0, np.where(missing[0] | missing[1], 1.0, gaps))
    sums = np.sort(gaps.sum(axis=1))
    return float(np.median(sums)) or float(sums.mean())


def _estimate(a: Floats, b: Floats, numeric: np.ndarray, width: float, confidence: float) -> Estimate:
    """Return the mean over blocks of the unbiased MMD²; the rows come in random order."""
    n = min(len(a), len(b))
    size = max(min(ROWS_A_BLOCK, n // LEAST_BLOCKS), 2)
    n_blocks = min(n // size, MOST_BLOCKS)
    found = np.empty(n_blocks)

    def work(block: int, _: int) -> None:
        rows = slice(block * size, (block + 1) * size)
        found[block] = unbiased(a[rows], b[rows], numeric, width)

    workers.each_chunk(n_blocks, 1, work, doing="comparing densities")
    error = float(found.std(ddof=1)) / np.sqrt(n_blocks)
    return around(float(found.mean()), float(error), n_blocks * size, groups=n_blocks, confidence=confidence)


def unbiased(a: Floats, b: Floats, numeric: np.ndarray, width: float) -> float:
    """Return the unbiased MMD² of two equally large sets of rows (Gretton et al. 2012, eq. 3)."""
    n = len(a)
    within = sum(kernel_sum(side, side, numeric, width) - n for side in (a, b)) / (n * (n - 1))
    return float(within - 2 * kernel_sum(a, b, numeric, width) / n**2)
