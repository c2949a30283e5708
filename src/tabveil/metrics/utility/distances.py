"""Whom is a release compared with, and how far apart are two distributions? Distances with uncertainty.

Every statistic is taken twice: between the synthetic and the real rows, and between the fresh and the real
rows. The *real* rows are the control: a release that copies its training rows cannot come closer to them than
the training rows themselves, which are the *fresh* ones. Both are given the same number of rows, because
plug-in distances shrink as rows are added.

A distance between two samples errs in two ways. It scatters: the delta method gives the variance from the
gradient with respect to the shares of the levels, in closed form and without resampling. And it is too large,
because noise never cancels in a sum of absolute values: ``floor`` is what two samples of one population are
expected to score. The true distance is at most the observed one plus its scatter, and at least the observed
one minus its scatter and the floor; the interval says so, and is wider than it need be where the distance is
far above the floor.
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.estimate import CONFIDENCE, Estimate, bounded_distance
from tabveil.core.sampling import draw, rows_of_people, shuffled
from tabveil.core.table import Floats, Indices, Split, Table

NO_CONTROL = (
    "No control table: one half of the train rows is what the release is compared with, the other half "
    "stands in for fresh rows. A release that copies its train rows looks better here than it is."
)
FOLDED = math.sqrt(2 / math.pi)  # the mean of |z| of a standard normal z
KOLMOGOROV = math.sqrt(math.pi / 2) * math.log(2)  # the mean of Kolmogorov's distribution


@dataclass(frozen=True, kw_only=True, eq=False)
class ComparedTables:
    """The tables compared: columns by name, rows in the order of their content."""

    real: Table
    fresh: Table  # may have no rows
    synthetic: Table
    notes: tuple[str, ...]

    @classmethod
    def of(cls, split: Split, *, rng: Generator) -> Self:
        """Take the control as the real rows, and equal numbers of train and synthetic rows beside it."""
        split = split.select(sorted(split.schema.names))
        real, fresh, notes = split.control, split.train, tuple[str, ...]()
        if len(real) == 0:
            train = split.train if split.train.people is not None else shuffled(split.train, rng=rng).table
            half = (train.n_people + 1) // 2  # nobody's rows on both sides
            first = np.arange(half) if train.people is None else rows_of_people(train, half, rng=rng)
            real, fresh = train.take(first), train.take(np.setdiff1d(np.arange(len(train)), first))
            notes = (NO_CONTROL,)
        n = min(len(fresh), len(split.synthetic)) or len(split.synthetic)
        if n < len(split.synthetic):
            note = (
                f"Utility is measured on {n} of {len(split.synthetic)} synthetic rows, as many as there are "
            )
            notes = (*notes, f"{note}train rows to compare them with.")
        return cls(
            real=draw(real, len(real), rng=rng).table,
            fresh=draw(fresh, n, rng=rng).table,
            synthetic=draw(split.synthetic, n, rng=rng).table,
            notes=notes,
        )

    def at_most(self, n_rows: int, *, rng: Generator) -> Self:
        """Keep no more rows of each table than a slower statistic can take."""
        return type(self)(
            real=draw(self.real, n_rows, rng=rng).table,
            fresh=draw(self.fresh, n_rows, rng=rng).table,
            synthetic=draw(self.synthetic, n_rows, rng=rng).table,
            notes=self.notes,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class LevelCounts:
    """How many rows of two tables are at each level."""

    real: Indices  # (k,)
    other: Indices  # (k,)

    @classmethod
    def of(cls, real: Indices, other: Indices, n_levels: int) -> Self:
        """Count rows by their level."""
        return cls(real=np.bincount(real, minlength=n_levels), other=np.bincount(other, minlength=n_levels))

    @property
    def n_real(self) -> int:
        """The number of real rows."""
        return int(self.real.sum())

    @property
    def n_other(self) -> int:
        """The number of other rows."""
        return int(self.other.sum())

    @property
    def shares(self) -> tuple[Floats, Floats]:
        """The share of each level in either table."""
        return self.real / self.n_real, self.other / self.n_other

    @property
    def scatter(self) -> float:
        """How much the difference of two means varies, in units of a row's variance."""
        return 1 / self.n_real + 1 / self.n_other


@dataclass(frozen=True, kw_only=True, eq=False)
class Distance:
    """A distance, what equal populations would score, and how it grows with each level's share."""

    value: float
    floor: float
    by_real: Floats  # (k,)
    by_other: Floats  # (k,)

    def estimate(self, counts: LevelCounts, confidence: float = CONFIDENCE) -> Estimate:
        """Return the distance between its bounds."""
        variance = 0.0
        for slope, rows in ((self.by_real, counts.real), (self.by_other, counts.other)):
            n = int(rows.sum())
            mean = float((slope * rows).sum()) / n
            variance += float((rows * (slope - mean) ** 2).sum()) / n**2
        return bounded_distance(self.value, self.floor, variance, (counts.n_real, counts.n_other), confidence)


@dataclass(kw_only=True, eq=False)
class DistanceSum:
    """A sum of distances, whose mean has a variance that counts that what one row has goes together."""

    n: int = 0
    value: float = 0.0
    floor: float = 0.0
    real: Floats | float = 0.0  # (n,) what each row adds to the sum
    other: Floats | float = 0.0  # (m,)

    def add(self, value: float, floor: float, real: Floats, other: Floats) -> None:
        """Add one distance, and what each row adds to it."""
        self.join(DistanceSum(n=1, value=value, floor=floor, real=real, other=other))

    def join(self, more: "DistanceSum") -> None:
        """Add another sum over the same rows."""
        self.n += more.n
        self.value += more.value
        self.floor += more.floor
        self.real = self.real + more.real
        self.other = self.other + more.other

    def mean(self, confidence: float) -> Estimate:
        """Return the mean of the distances, between its bounds."""
        rows = [np.asarray(side) / self.n for side in (self.real, self.other)]
        variance = sum(float(side.var()) / len(side) for side in rows)
        sizes = len(rows[0]), len(rows[1])
        return bounded_distance(self.value / self.n, self.floor / self.n, variance, sizes, confidence)


def total_variation(counts: LevelCounts, *, halved: bool = True) -> Distance:
    """Which share of the rows would have to change their level? ``½ Σ |p - q|``.

    In [0, 1]. Without the half (eq. 5.2 of the thesis), in [0, 2].

    >>> total_variation(LevelCounts(real=np.array([2, 2]), other=np.array([3, 1]))).value
    0.25
    """
    scale = 0.5 if halved else 1.0
    real, other = counts.shares
    pooled = (counts.real + counts.other) / (counts.n_real + counts.n_other)
    slope = scale * np.sign(real - other)
    return Distance(
        value=scale * float(np.abs(real - other).sum()),
        floor=scale * FOLDED * float(np.sqrt(pooled * (1 - pooled) * counts.scatter).sum()),
        by_real=slope,
        by_other=-slope,
    )


def jensen_shannon(counts: LevelCounts) -> Distance:
    """How much does a row's level tell about its table? The root of the divergence in bits, in [0, 1].

    ``D = ½ Σ p log2(p/m) + ½ Σ q log2(q/m)`` with ``m = (p + q)/2`` (Lin 1991; Endres and Schindelin 2003).
    """
    real, other = counts.shares
    middle = (real + other) / 2
    logs = []
    for share in (real, other):
        ratio = np.divide(share, middle, out=np.ones_like(share), where=share > 0)
        logs.append(np.log2(ratio))
    divergence = max(float((real * logs[0] + other * logs[1]).sum()) / 2, 0.0)
    value = math.sqrt(divergence)
    steepness = 0.25 / value if value > 0 else 0.0
    dof = max(int((middle > 0).sum()) - 1, 0)
    return Distance(
        value=value,
        floor=math.sqrt(dof * counts.scatter / (8 * math.log(2))),
        by_real=steepness * logs[0],
        by_other=steepness * logs[1],
    )


def cramers_v(counts: LevelCounts) -> Distance:
    """How strongly do level and table go together? The root of chi-squared over the number of rows.

    With two tables ``V² = a b Σ (p - q)² / (a p + b q)``, where a and b are the tables' shares of all rows;
    1 where no level occurs in both. Chi-squared is ``V²`` times the number of rows.
    """
    real, other = counts.shares
    n = counts.n_real + counts.n_other
    a, b = counts.n_real / n, counts.n_other / n
    pooled = (counts.real + counts.other) / n
    occurs = pooled > 0
    excess = np.divide(real - other, pooled, out=np.zeros_like(real), where=occurs)  # (p - q) / s
    value = math.sqrt(a * b * float(((real - other) * excess).sum()))
    steepness = a * b / (2 * value) if value > 0 else 0.0
    return Distance(
        value=value,
        floor=math.sqrt(max(int(occurs.sum()) - 1, 0) / n),
        by_real=steepness * (2 * excess - a * excess**2),
        by_other=steepness * (-2 * excess - b * excess**2),
    )


def wasserstein(counts: LevelCounts, support: Floats) -> Distance:
    """How far would values have to move, on average? The area between the two distribution functions.

    ``support`` are the levels' values, ascending.
    """
    lead = _lead(counts)[:-1]
    gaps = np.diff(support)
    steps = np.sign(lead) * gaps
    slope = np.append(np.cumsum(steps[::-1])[::-1], 0.0)  # a row counts in all gaps above it
    pooled = np.cumsum(counts.real + counts.other)[:-1] / (counts.n_real + counts.n_other)
    return Distance(
        value=float((np.abs(lead) * gaps).sum()),
        floor=FOLDED * float((gaps * np.sqrt(pooled * (1 - pooled) * counts.scatter)).sum()),
        by_real=slope,
        by_other=-slope,
    )


def kolmogorov_smirnov(counts: LevelCounts) -> Distance:
    """How large is the largest difference between the two distribution functions?"""
    lead = _lead(counts)
    widest = int(np.argmax(np.abs(lead)))
    slope = np.where(np.arange(len(lead)) <= widest, np.sign(lead[widest]), 0.0)
    several = np.count_nonzero(counts.real + counts.other) > 1
    return Distance(
        value=float(np.abs(lead[widest])),
        floor=KOLMOGOROV * math.sqrt(counts.scatter) if several else 0.0,
        by_real=slope,
        by_other=-slope,
    )


def _lead(counts: LevelCounts) -> Floats:
    """Return by how much the real distribution function is ahead of the other at each level."""
    return np.asarray(np.cumsum(counts.real) / counts.n_real - np.cumsum(counts.other) / counts.n_other)
