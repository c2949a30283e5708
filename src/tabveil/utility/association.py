"""How strongly do two columns of a table go together? Three measures for three kinds of pairs.

Each is a smooth function of the rows, so each row's influence on it is known in closed form; sums of
influences give standard errors of anything built from several associations of the same rows. A column that
does not vary goes with nothing: its association is 0.
"""

import math
from dataclasses import dataclass

import numpy as np

from tabveil.table import Floats, Indices


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """A column of numbers, NaN for missing."""

    cells: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class Codes:
    """A column of labels, missing being one of them; ``n_levels`` counts those of all tables compared."""

    cells: Indices  # (n,)
    n_levels: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Association:
    """A strength and what each row adds to its error; the mean influence is zero."""

    value: float
    influence: Floats  # (n,)

    @property
    def variance(self) -> float:
        """The variance of the value, by the delta method."""
        return float((self.influence**2).sum()) / max(len(self.influence), 1) ** 2


def associate(a: Numbers | Codes, b: Numbers | Codes) -> Association:
    """Measure a pair of columns by the measure that fits them."""
    match a, b:
        case Numbers(), Numbers():
            return pearson(a, b)
        case Numbers(), Codes():
            return correlation_ratio(a, b)
        case Codes(), Numbers():
            return correlation_ratio(b, a)
        case Codes(), Codes():
            return cramers_v(a, b)
    raise AssertionError("a column holds numbers or codes")


def pearson(a: Numbers, b: Numbers) -> Association:
    """Return Pearson's correlation over the rows that have both numbers, in [-1, 1]."""
    n = len(a.cells)
    present = np.flatnonzero(~np.isnan(a.cells) & ~np.isnan(b.cells))
    first, second = _standardized(a.cells[present]), _standardized(b.cells[present])
    if first is None or second is None:
        return _nothing(n)
    value = float((first * second).mean())
    return _placed(value, first * second - value * (first**2 + second**2) / 2, present, n)


def correlation_ratio(numbers: Numbers, codes: Codes) -> Association:
    """Return the root of the share of the numbers' variance that lies between labels, in [0, 1].

    The share is Kelley's (1935) ``1 - (1 - eta²)(n - 1)/(n - k)``, 0 where that is negative: eta² itself
    grows with the number of labels k even where labels tell nothing. Rows without a number are left out.
    """
    n = len(numbers.cells)
    present = np.flatnonzero(~np.isnan(numbers.cells))
    scores = _standardized(numbers.cells[present])
    if scores is None:
        return _nothing(n)
    groups = codes.cells[present]
    sizes = np.bincount(groups, minlength=codes.n_levels)
    means = np.bincount(groups, weights=scores, minlength=codes.n_levels) / np.maximum(sizes, 1)
    within = (scores - means[groups]) ** 2
    rest = float(within.mean())  # 1 - eta²
    k = int(np.count_nonzero(sizes))
    if k < 2 or k == len(scores):  # noqa: PLR2004 - one label, or one row each, tell nothing
        return _nothing(n)
    stretch = (len(scores) - 1) / (len(scores) - k)
    share = 1 - rest * stretch
    slope = stretch * (rest * scores**2 - within)
    return _placed(*_root(share, slope, noise=2 * (k - 1) / len(scores) ** 2), present, n)


def cramers_v(a: Codes, b: Codes) -> Association:
    """Return Cramér's V in [0, 1], corrected for chance as by Bergsma (2013).

    ``V² = (phi² - (r - 1)(c - 1)/(n - 1)) / (min(r, c) - 1)``, the numbers of labels corrected too, 0 where
    that is negative: V itself grows with the number of labels even where columns are independent.
    """
    n = len(a.cells)
    counts = np.bincount(a.cells * b.n_levels + b.cells, minlength=a.n_levels * b.n_levels)
    joint = counts.reshape(a.n_levels, b.n_levels) / max(n, 1)
    rows, columns = joint.sum(axis=1), joint.sum(axis=0)
    r, c = int(np.count_nonzero(rows)), int(np.count_nonzero(columns))
    if n < 2 or r < 2 or c < 2:  # noqa: PLR2004 - a column that does not vary
        return _nothing(n)
    by_row = np.divide(joint, rows[:, None], out=np.zeros_like(joint), where=joint > 0)
    by_column = np.divide(joint, columns, out=np.zeros_like(joint), where=joint > 0)
    products = by_row * by_column  # p² / (p_row p_column)
    dof = (r - 1) * (c - 1)
    most = min(levels - (levels - 1) ** 2 / (n - 1) for levels in (a.n_levels, b.n_levels)) - 1
    if most <= 0:
        return _nothing(n)
    lift = np.divide(by_column, rows[:, None], out=np.zeros_like(joint), where=joint > 0)
    row_part = np.divide(products.sum(axis=1), rows, out=np.zeros_like(rows), where=rows > 0)
    column_part = np.divide(products.sum(axis=0), columns, out=np.zeros_like(columns), where=columns > 0)
    slope = ((2 * lift - row_part[:, None] - column_part) / most)[a.cells, b.cells]
    square = (float(products.sum()) - 1 - dof / (n - 1)) / most
    return _placed(*_root(square, slope, noise=2 * dof / (n * most) ** 2), np.arange(n), n)


def _standardized(cells: Floats) -> Floats | None:
    """Return mean 0 and variance 1; None where nothing varies."""
    if len(cells) == 0 or cells.min() == cells.max():
        return None
    largest = float(np.abs(cells).max())
    centered = cells / largest - float((cells / largest).mean())  # squares must stay finite
    deviation = math.sqrt(float((centered**2).mean()))
    return np.asarray(centered / deviation) if deviation > 0 else None


def _root(square: float, influence: Floats, *, noise: float) -> tuple[float, Floats]:
    """Take the root of a strength squared, and of what each row adds to it.

    The slope of the root has no bound near zero, but the error of the root has: that of a square is never
    more than its root away. ``noise`` is the variance of the square where columns are independent.
    """
    if square <= 0:
        return 0.0, np.zeros(len(influence))
    value = math.sqrt(square)
    variance = float((influence**2).mean()) / len(influence) + noise
    return value, influence / (2 * max(value, variance**0.25))


def _placed(value: float, influence: Floats, rows: Indices, n: int) -> Association:
    """Give rows that were left out no influence, and the others as much more."""
    spread = np.zeros(n)
    spread[rows] = influence * (n / len(rows))
    return Association(value=value, influence=spread)


def _nothing(n: int) -> Association:
    return Association(value=0.0, influence=np.zeros(n))
