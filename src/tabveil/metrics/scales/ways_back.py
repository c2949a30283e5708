"""Ways back from released numbers to the scale of the real ones: shifted, in other units, mirrored, bent.

A column whose unit was changed holds the same people. Who looks for them compares the two distributions and
turns the released one back. Where values then equal real values, it was turned back exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import MOST_DECIMALS, OFF_GRID, Floats

Way = Literal["shifted", "in another unit", "stretched", "bent"]

FEWEST = 30
"""Values that a column must have in the real rows and in the release to be compared."""
FEWEST_OTHERS = 100  # beside the most common value, where these are compared alone
STRAIGHT = 0.1
"""Distributions that differ by less after a straight map need no bent one."""
EXACT = 2.0**52  # larger numbers have no halves
_LEVELS = np.linspace(0.05, 0.95, 19)
_VOTERS, _VOTED = 200, 5000  # released and real values whose pairs vote
_BEST = 3  # of the votes, tried in full
_GRAIN = 1e-9  # numbers without a last place are equal when they differ by less, as a share of their spread
_WINDOW = 0.5  # how far a vote may be from the straight map, as a share of the spread
_RATIOS = 1e7  # ratios are told apart so finely


@dataclass(frozen=True, kw_only=True, eq=False)
class ScaleMap:
    """Released cells brought to the scale of the real ones."""

    way: Way
    mirrored: bool
    cells: Floats  # (m,)
    decimals: int | None = None  # of the real values, to which the cells are rounded once refined
    fit: float  # how many values equal real ones, less how far the distributions are apart


def unlikeness(real: Floats, released: Floats) -> float:
    """Return how far two columns of numbers are apart: the largest difference of their distributions.

    Beside all values, those are compared that differ from the most common real one: a column that is mostly
    zero looks the same in any unit.

    >>> ages = np.arange(20.0, 60.0)
    >>> float(unlikeness(ages, ages)), float(unlikeness(ages, 100 * ages))
    (0.0, 1.0)
    """
    real, released = _present(real), _present(released)
    if min(len(real), len(released)) < FEWEST:
        return 0.0
    apart = _apart(real, released)
    others, released_others = real[real != _commonest(real)], released[released != _commonest(released)]
    if min(len(others), len(released_others)) >= FEWEST_OTHERS:
        apart = max(apart, _apart(others, released_others))
    return apart


def straight_or_bent(real: Floats, released: Floats, *, mirrored: bool) -> ScaleMap:
    """Return the straight map between the quantiles, or if it does not fit, that of ranks to quantiles."""
    sign = -1.0 if mirrored else 1.0
    offset, slope = _line(_present(real), sign * _present(released))
    cells = offset + slope * sign * released
    apart = unlikeness(real, cells)
    if slope > 0 and apart <= STRAIGHT:
        return ScaleMap(way="stretched", mirrored=mirrored, cells=cells, fit=-apart)
    values, counts = np.unique(_present(sign * released), return_counts=True)
    ranks = (np.cumsum(counts) - counts / 2) / counts.sum()
    cells = np.interp(sign * released, values, np.quantile(_present(real), ranks))
    return ScaleMap(way="bent", mirrored=mirrored, cells=cells, fit=-unlikeness(real, cells))


def refined(real: Floats, released: Floats, found: ScaleMap) -> ScaleMap:
    """Return the map under which most released values equal real ones; the found one where few do.

    Values that come within rounding of a real one are set to it.
    """
    sign = -1.0 if found.mirrored else 1.0
    known = np.unique(_present(real))
    fitting = (decimals for decimals in range(MOST_DECIMALS + 1) if holds_decimals(known, decimals))
    decimals = next(fitting, None)  # None if the real values fit in no number of places
    grain = _GRAIN * float(np.ptp(known)) if decimals is None else 0.5 * 10.0**-decimals
    tried: list[tuple[Way, Floats]] = [(found.way, found.cells)]
    tried += [("shifted", sign * released + shift) for shift in _shifts(real, sign * released, grain)]
    tried += [("in another unit", ratio * released) for ratio in _ratios(known, released, sign)]
    maps = []
    for way, cells in tried:
        snapped, hits = _snapped(known, cells, grain)
        placed = snapped if decimals is None else np.round(snapped, decimals)
        fit = hits - unlikeness(real, placed)
        maps.append(ScaleMap(way=way, mirrored=found.mirrored, cells=placed, decimals=decimals, fit=fit))
    return max(maps, key=lambda tried: tried.fit)  # of equals the first


def _present(cells: Floats) -> Floats:
    return cells[~np.isnan(cells)]


def _commonest(present: Floats) -> float:
    values, counts = np.unique(present, return_counts=True)
    return float(values[counts.argmax()])


def _apart(a: Floats, b: Floats) -> float:
    """Return the statistic of Kolmogorov and Smirnov."""
    a, b = np.sort(a), np.sort(b)
    values = np.concatenate([a, b])
    shares = (np.searchsorted(side, values, side="right") / len(side) for side in (a, b))
    return float(np.abs(np.subtract(*shares)).max())


def _line(real: Floats, released: Floats) -> tuple[float, float]:
    """Return offset and slope of the line through the quantiles of both, all values and uncommon ones."""
    pairs = [(real, released), tuple(side[side != _commonest(side)] for side in (real, released))]
    ys, xs = (
        np.concatenate([np.quantile(pair[side], _LEVELS) for pair in pairs if min(map(len, pair))])
        for side in (0, 1)
    )
    spread = float(((xs - xs.mean()) ** 2).sum())
    slope = float(((xs - xs.mean()) * (ys - ys.mean())).sum()) / spread if spread > 0 else 1.0
    return float(ys.mean() - slope * xs.mean()), slope


def holds_decimals(cells: Floats, decimals: int | None) -> bool:
    """Tell whether numbers fit in so many decimal places; where they are too large to have such, they do not.

    >>> holds_decimals(np.array([0.5, 1.25]), 1), holds_decimals(np.array([0.5, 1.25]), 2)
    (False, True)
    """
    if decimals is None:
        return True
    places = _present(cells) * 10.0**decimals
    return bool((np.abs(places) <= EXACT).all() and (np.abs(np.rint(places) - places) <= OFF_GRID).all())


def _snapped(known: Floats, cells: Floats, grain: float) -> tuple[Floats, float]:
    """Set cells that come within the grain of a known value to it; also return how many do."""
    there = ~np.isnan(cells)
    asked = cells[there]
    right = np.clip(np.searchsorted(known, asked), 1, len(known) - 1)  # there are two at least
    left = right - 1
    nearest = np.where(np.abs(known[left] - asked) <= np.abs(known[right] - asked), known[left], known[right])
    hit = np.abs(nearest - asked) <= grain
    snapped = cells.copy()
    snapped[there] = np.where(hit, nearest, asked)
    return snapped, float(hit.mean()) if len(hit) else 0.0


def _some(values: Floats, most: int) -> Floats:
    """Return evenly chosen ones of sorted values."""
    if len(values) <= most:
        return values
    return values[np.linspace(0, len(values) - 1, most).astype(np.int64)]


def _shifts(real: Floats, released: Floats, grain: float) -> Iterator[float]:
    """Return by how much most pairs of a released and a real value differ, near to what the middles say."""
    present, asked = _present(real), np.unique(_present(released))
    expected = float(np.median(present) - np.median(_present(released)))
    spread = float(np.subtract(*np.quantile(present, [0.95, 0.05]))) or float(np.ptp(present))
    apart = np.subtract.outer(_some(np.unique(present), _VOTED), _some(asked, _VOTERS)).ravel()
    apart = apart[np.abs(apart - expected) <= _WINDOW * spread]
    return _voted(apart, apart / (2 * grain))


def _ratios(known: Floats, released: Floats, sign: float) -> Iterator[float]:
    """Return the quotients that most pairs of a real and a released value have."""
    known, asked = known[known != 0], np.unique(_present(released))
    quotients = np.divide.outer(_some(known, _VOTED), _some(asked[asked != 0], _VOTERS)).ravel()
    quotients = quotients[(np.sign(quotients) == sign) & np.isfinite(quotients)]
    return _voted(quotients, np.log(np.abs(quotients)) * _RATIOS)


def _voted(candidates: Floats, places: Floats) -> Iterator[float]:
    """Return the candidates whose places, to the next whole number, are most common."""
    if len(candidates) == 0:
        return
    _, where, counts = np.unique(np.rint(places), return_inverse=True, return_counts=True)
    order: NDArray[np.int64] = np.argsort(-counts, kind="stable")
    for best in order[:_BEST]:
        yield float(np.median(candidates[where == best]))
