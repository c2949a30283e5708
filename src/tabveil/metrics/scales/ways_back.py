"""Which released columns are not on the scale of the real ones, and how an attacker would turn them back.

They may be shifted, in other units, mirrored or bent. A column whose unit was changed holds the same people.
Who looks for them compares the two distributions and turns the released one back. Where values then equal
real values, it was turned back exactly.

A column is turned where its distribution is grossly unlike that of the real rows, or where released rows
come far nearer to real ones when it is mirrored. Whether it stands as it is, turned or turned and mirrored
is decided by how near some released rows then come to real rows, so that a release of some people only (the
old, the rich), whose values are unlike those of all but right, is left alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import MOST_DECIMALS, OFF_GRID, Floats, Indices, Numeric, Table
from tabveil.core.workers import side_by_side

Number = TypeVar("Number", np.float64, np.int64)
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


def _some(values: NDArray[Number], most: int) -> NDArray[Number]:
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


Costs = NDArray[np.float32]  # (a, r) of each pair of a released and a real row

UNLIKE = 0.3
"""Distributions are grossly unlike from this difference on (of Kolmogorov and Smirnov)."""
CLEARLY = 3.0  # standard errors by which rows must come nearer
_ASKED, _COMPARED = 100, 5000  # released rows that are asked, real rows that they are compared with
_FLOOR = 0.01  # sums of distances below are equally near


@dataclass(frozen=True, kw_only=True, eq=False)
class _Choice:
    """One numeric column, and the ways in which it may be read."""

    position: int
    unlike: bool
    options: tuple[ScaleMap | None, ...]  # None as it is; where it is unlike, the best fit comes next


def turned_back(real: Table, released: Table) -> dict[str, ScaleMap]:
    """Return the released columns that are to be read on another scale, and how.

    ``real`` are all real rows, whoever they are.
    """
    looks = [
        partial(_choice, position, real.values[:, position], released.values[:, position])
        for position, column in enumerate(real.schema.columns)
        if isinstance(column, Numeric)
    ]
    choices = [choice for choice in side_by_side(looks) if choice is not None]
    if not choices:
        return {}
    search = _Alignment(real, released, choices)
    starts = [
        [0] * len(choices),
        [int(choice.unlike) for choice in choices],
        [len(choice.options) - 1 if not choice.unlike else 1 for choice in choices],
    ]
    best = starts[0]
    for start in starts[1:]:
        if start != best and _clearly(_logs(search.total(start)), _logs(search.total(best))):
            best = start
    best = search.improved(best)
    found = {}
    for choice, option in zip(choices, best, strict=True):
        chosen = choice.options[option]
        if chosen is not None:
            name = real.schema.names[choice.position]
            found[name] = refined(real.column(name), released.column(name), chosen)
    return found


def _choice(position: int, real: Floats, released: Floats) -> _Choice | None:
    """Return how a column may be read; None where there is nothing to compare."""
    values = [side[~np.isnan(side)] for side in (real, released)]
    if min(map(len, values)) < FEWEST or min(float(np.ptp(side)) for side in values) == 0:
        return None
    if unlikeness(real, released) > UNLIKE:
        maps = [straight_or_bent(real, released, mirrored=mirrored) for mirrored in (False, True)]
        straight_first = sorted(maps, key=lambda found: (found.way == "bent", -found.fit))
        return _Choice(position=position, unlike=True, options=(None, *straight_first))
    mirrored = straight_or_bent(real, released, mirrored=True)
    fits = mirrored.way == "stretched" and -mirrored.fit <= STRAIGHT
    return _Choice(position=position, unlike=False, options=(None, mirrored)) if fits else None


class _Alignment:
    """How near some released rows are to real rows, for every way to read their columns."""

    def __init__(self, real: Table, released: Table, choices: Sequence[_Choice]) -> None:
        asked, compared = _some_rows(released, _ASKED), _some_rows(real, _COMPARED)
        open_positions = {choice.position for choice in choices}
        fixed = np.zeros((len(asked), len(compared)), dtype=np.float32)
        for position, column in enumerate(real.schema.columns):
            if position not in open_positions:
                there = real.values[compared, position]
                here = released.values[asked, position]
                if isinstance(column, Numeric):
                    fixed += _differences(there, here)
                else:
                    fixed += np.nan_to_num(here, nan=-1)[:, None] != np.nan_to_num(there, nan=-1)
        self.fixed = fixed  # what the columns without a choice cost
        self.costs = []  # of each choice and option
        for choice in choices:
            there = real.values[compared, choice.position]
            here = released.values[:, choice.position]
            readings = (here if option is None else option.cells for option in choice.options)
            self.costs.append(tuple(_differences(there, cells[asked]) for cells in readings))

    def improved(self, start: Sequence[int]) -> list[int]:
        """Change the reading of one column after the other, as long as rows come clearly nearer."""
        best = list(start)
        total = self.total(best)
        logs = _logs(total)
        for column, costs in enumerate(self.costs):
            for option, cost in enumerate(costs):
                if option == best[column]:
                    continue
                other = total - costs[best[column]] + cost
                other_logs = _logs(other)
                if _clearly(other_logs, logs):
                    best[column], total, logs = option, other, other_logs
        return best

    def total(self, reading: Sequence[int]) -> Costs:
        total = self.fixed.copy()
        for costs, option in zip(self.costs, reading, strict=True):
            total += costs[option]
        return total


def _logs(total: Costs) -> Floats:
    """Return how near the nearest real row is to each row, on a scale on which copies count."""
    nearest = np.maximum(total.min(axis=1), 0.0)  # rounding may leave less
    return np.asarray(np.log(nearest.astype(np.float64) + _FLOOR))


def _clearly(one: Floats, other: Floats) -> bool:
    """Tell whether rows come clearly nearer by one reading than by another."""
    less = other - one
    return bool(less.mean() > CLEARLY * less.std() / np.sqrt(len(less)))


def _some_rows(table: Table, most: int) -> Indices:
    """Return some rows, evenly chosen in an order of what they hold."""
    return np.arange(len(table)) if len(table) <= most else _some(table.content_order, most)


def _differences(real: Floats, released: Floats) -> Costs:
    """Return what each pair costs: the share of the real numbers' width between them, 1 at most."""
    present = real[~np.isnan(real)]
    width = float(np.subtract(*np.quantile(present, [0.95, 0.05]))) or float(np.ptp(present)) or 1.0
    cost: Costs = np.abs(
        np.subtract.outer((released / width).astype(np.float32), (real / width).astype(np.float32))
    )
    np.minimum(cost, 1, out=cost)
    gap, real_gap = np.isnan(released), np.isnan(real)
    if gap.any() or real_gap.any():
        cost = np.where(np.isnan(cost), (gap[:, None] != real_gap).astype(np.float32), cost)
    return cost
