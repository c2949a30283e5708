"""Column by column: is each one distributed as among real people? As figures, and as bars for a page."""

import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.special import chdtrc

from tabveil.core.estimate import CONFIDENCE, Estimate
from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Numeric, Split
from tabveil.metrics.utility.distances import (
    FOLDED,
    ComparedTables,
    Distance,
    DistanceSum,
    LevelCounts,
    cramers_v,
    jensen_shannon,
    kolmogorov_smirnov,
    total_variation,
    wasserstein,
)
from tabveil.metrics.utility.findings import Bar, ChiSquared, ColumnUtility, Figure
from tabveil.tables.matrices.ordinal import ComparedLevels, shares_of_range

MOST_LABELS = 15
MOST_RANGES = 30
SMALLEST = 1e-300  # below it there are no powers of ten left to round to
ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)


def bars(split: Split, name: str, *, rare: bool = False) -> tuple[Bar, ...]:
    """Return the bars of a column, over all real (train and control) and all synthetic rows.

    ``rare`` names labels that few real rows share, too: for the eyes of those who may see the real table.
    """
    real = np.concatenate([split.train.column(name), split.control.column(name)])
    synthetic = split.synthetic.column(name)
    match split.schema[name]:
        case Categorical(labels=labels):
            found = _of_labels(labels, real, synthetic, least=1 if rare else LEAST_SHARED)
        case Numeric() as column:
            found = _of_ranges(column, real, synthetic)
    missing = np.isnan(real), np.isnan(synthetic)
    if missing[0].any() or missing[1].any():
        found.append(Bar(kind="missing", real=float(missing[0].mean()), synthetic=float(missing[1].mean())))
    return tuple(found)


def _of_labels(labels: tuple[str, ...], real: Floats, synthetic: Floats, *, least: int) -> list[Bar]:
    """Name the labels that most real rows have; equals in the order of the alphabet."""
    counts = [
        np.bincount(cells[~np.isnan(cells)].astype(np.int64), minlength=len(labels))
        for cells in (real, synthetic)
    ]
    ranked = sorted(range(len(labels)), key=lambda code: (-counts[0][code], labels[code]))
    named = [code for code in ranked[:MOST_LABELS] if counts[0][code] >= least]
    shares = [(counts[0] / len(real)).tolist(), (counts[1] / len(synthetic)).tolist()]
    found = [
        Bar(kind="label", label=labels[code], real=shares[0][code], synthetic=shares[1][code])
        for code in named
    ]
    rest = [int(count.sum() - count[named].sum()) for count in counts]
    if any(rest) and not 0 < rest[0] < least:  # labels that only the release has are nobody's
        found.append(Bar(kind="other", real=rest[0] / len(real), synthetic=rest[1] / len(synthetic)))
    return found


def _of_ranges(column: Numeric, real: Floats, synthetic: Floats) -> list[Bar]:
    """Count numbers between round edges; ranges with too few real rows join their neighbor."""
    numbers, released = (np.sort(cells[~np.isnan(cells)]) for cells in (real, synthetic))
    if not len(numbers) and not len(released):
        return []
    edges = safe_edges(column, numbers)
    shares = (
        (np.diff([0, *np.searchsorted(held, edges, side="left"), len(held)]) / len(side)).tolist()
        for held, side in ((numbers, real), (released, synthetic))
    )
    return [
        Bar(kind="range", low=low, high=high, real=share, synthetic=other)
        for (low, high), share, other in zip(pairwise([None, *edges, None]), *shares, strict=True)
    ]


def safe_edges(column: Numeric, numbers: Floats) -> list[float]:
    """Return round edges between which enough of the numbers lie, which come in ascending order."""
    return _wide_enough(_round_edges(column, numbers), numbers)


def _round_edges(column: Numeric, numbers: Floats) -> list[float]:
    """Return the edges between which all but a few of the lowest and highest numbers lie."""
    if len(numbers) < 2 * LEAST_SHARED:
        return []
    low, high = float(numbers[LEAST_SHARED - 1]), float(numbers[-LEAST_SHARED])
    if not low < high:
        return []
    whole, least = column.integer, (high - low) / (MOST_RANGES - 3)
    least = max(least, 1.0) if whole else least
    power = 10.0 ** math.floor(math.log10(max(least, SMALLEST)))
    steps = [power * digit for digit in ROUND]
    step = next((step for step in steps if step >= least and (not whole or step.is_integer())), steps[-1])
    return [multiple * step for multiple in range(math.floor(low / step) + 1, math.floor(high / step) + 1)]


def _wide_enough(edges: list[float], numbers: Floats) -> list[float]:
    """Drop edges until every range, the open ones included, holds enough real rows."""
    kept, before = list[float](), 0
    for edge, below in zip(edges, np.searchsorted(numbers, edges, side="left").tolist(), strict=True):
        if below - before >= LEAST_SHARED and len(numbers) - below >= LEAST_SHARED:
            kept.append(edge)
            before = below
    return kept


N_BINS = 20
LEAST_EXPECTED = 5  # rows at a level, in either table
REAL, FRESH, SYNTHETIC = range(3)


def measure_columns(
    split: Split,
    sides: ComparedTables,
    *,
    halved: bool = True,
    rare: bool = False,
    confidence: float = CONFIDENCE,
) -> tuple[tuple[ColumnUtility, ...], dict[str, Figure]]:
    """Measure every column, and the mean over the columns of each distance."""
    columns, means = [], defaultdict[str, _Means](_Means)
    for column in sides.real.schema.columns:
        found = _distances(column, sides, halved=halved)
        for name, measured in found.items():
            means[name].add(measured)
        columns.append(
            ColumnUtility(
                name=column.name,
                numeric=isinstance(column, Numeric),
                figures={name: measured.figure(confidence) for name, measured in found.items()},
                chi_squared=_chi_squared(found["cramers_v"]),
                bars=bars(split, column.name, rare=rare),
            )
        )
    return tuple(columns), {name: mean.figure(confidence) for name, mean in means.items()}


def mean_total_variation(sides: ComparedTables, *, confidence: float = CONFIDENCE) -> Figure:
    """Return the mean total variation over all columns alone: the quickest figure of usefulness."""
    means = _Means()
    for column in sides.real.schema.columns:
        means.add(_distances(column, sides, halved=True)["total_variation"])
    return means.figure(confidence)


@dataclass(frozen=True, eq=False)
class _ColumnDistance:
    """One distance of one column: of the synthetic and of the fresh rows, from the real ones."""

    levels: ComparedLevels
    distance: Callable[[LevelCounts], Distance]

    def between(self, other: int) -> tuple[LevelCounts, Distance]:
        counts = LevelCounts.of(self.levels.rows[REAL], self.levels.rows[other], len(self.levels))
        return counts, self.distance(counts)

    def estimate(self, other: int, confidence: float) -> Estimate:
        counts, distance = self.between(other)
        return distance.estimate(counts, confidence)

    def figure(self, confidence: float) -> Figure:
        reference = self.estimate(FRESH, confidence) if len(self.levels.rows[FRESH]) else None
        return Figure(value=self.estimate(SYNTHETIC, confidence), reference=reference)


def _distances(column: Column, sides: ComparedTables, *, halved: bool) -> dict[str, _ColumnDistance]:
    levels = ComparedLevels.of(column, (sides.real, sides.fresh, sides.synthetic))
    binned = levels.in_bins(N_BINS) if isinstance(column, Numeric) else levels
    found = {
        "total_variation": _ColumnDistance(binned, partial(total_variation, halved=halved)),
        "jensen_shannon": _ColumnDistance(binned, jensen_shannon),
        "cramers_v": _ColumnDistance(binned, cramers_v),
    }
    if isinstance(column, Numeric):
        lengths = partial(wasserstein, support=shares_of_range(column, levels.values))
        found["wasserstein"] = _ColumnDistance(levels, partial(beside_missing, distance=lengths))
        steps = partial(beside_missing, distance=kolmogorov_smirnov)
        found["kolmogorov_smirnov"] = _ColumnDistance(levels, steps)
    return found


def beside_missing(counts: LevelCounts, distance: Callable[[LevelCounts], Distance]) -> Distance:
    """Extend a distance between numbers to tables in which some are missing (the last level).

    ``common · distance of the numbers + |difference of the missing shares|``: of the rows, as many as have a
    number in both tables are compared by it; the others would have to gain or lose one, at a cost of 1.
    """
    a, b = (float(1 - share[-1]) for share in counts.shares)
    missing = float(counts.real[-1] + counts.other[-1]) / (counts.n_real + counts.n_other)
    floor = FOLDED * float(np.sqrt(missing * (1 - missing) * counts.scatter))
    ahead, common = float(np.sign(a - b)), min(a, b)
    by_real, by_other = np.full(len(counts.real), ahead), np.full(len(counts.real), -ahead)
    value = abs(a - b)
    if common > 0:
        inner = distance(LevelCounts(real=counts.real[:-1], other=counts.other[:-1]))
        value += common * inner.value
        floor += common * inner.floor
        real, other = counts.shares
        by_real[:-1] += _conditional(inner.by_real, real[:-1], a, common) + inner.value * (a < b)
        by_other[:-1] += _conditional(inner.by_other, other[:-1], b, common) + inner.value * (b < a)
    by_real[-1] = by_other[-1] = 0.0
    return Distance(value=value, floor=floor, by_real=by_real, by_other=by_other)


def _conditional(slope: Floats, shares: Floats, present: float, common: float) -> Floats:
    """Return the slope by shares of all rows, given the slope by shares of those that have a number."""
    return np.asarray(common / present * (slope - float((slope * shares).sum()) / present))


def _chi_squared(measured: _ColumnDistance) -> ChiSquared | None:
    """Test whether real and synthetic rows have one distribution, rare levels taken together."""
    levels = measured.levels
    sizes = [len(levels.rows[side]) for side in (REAL, SYNTHETIC)]
    both = np.concatenate((levels.rows[REAL], levels.rows[SYNTHETIC]))
    rare = np.bincount(both, minlength=len(levels))[:-1] * min(sizes) < LEAST_EXPECTED * sum(sizes)
    if rare.sum() > 1:  # too rare for chi-squared to have its distribution; one alone is merged with nothing
        levels = levels.merged(np.where(rare, 0, np.cumsum(~rare)))
    counts, distance = replace(measured, levels=levels).between(SYNTHETIC)
    dof = int(np.count_nonzero(counts.real + counts.other)) - 1
    if dof == 0:
        return None
    statistic = distance.value**2 * (counts.n_real + counts.n_other)
    return ChiSquared(statistic=statistic, dof=dof, p_value=float(chdtrc(dof, statistic)))


@dataclass(kw_only=True, eq=False)
class _Means:
    """The mean of a distance over columns, for the synthetic and for the fresh rows."""

    synthetic: DistanceSum = field(default_factory=DistanceSum)
    fresh: DistanceSum = field(default_factory=DistanceSum)

    def add(self, measured: _ColumnDistance) -> None:
        real = measured.levels.rows[REAL]
        for total, side in ((self.synthetic, SYNTHETIC), (self.fresh, FRESH)):
            other = measured.levels.rows[side]
            if len(other):
                found = measured.between(side)[1]
                total.add(found.value, found.floor, found.by_real[real], found.by_other[other])

    def figure(self, confidence: float) -> Figure:
        reference = self.fresh.mean(confidence) if self.fresh.n else None
        return Figure(value=self.synthetic.mean(confidence), reference=reference)
