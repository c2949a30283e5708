"""Which released columns are not on the scale of the real ones, and how an attacker would turn them back.

A column is turned where its distribution is grossly unlike that of the real rows, or where released rows
come far nearer to real ones when it is mirrored. Whether it stands as it is, turned or turned and mirrored
is decided by how near some released rows then come to real rows, so that a release of some people only (the
old, the rich), whose values are unlike those of all but right, is left alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Numeric, Table
from tabveil.metrics.scales.ways_back import FEWEST, STRAIGHT, ScaleMap, refined, straight_or_bent, unlikeness

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
    choices = [
        choice
        for position, column in enumerate(real.schema.columns)
        if isinstance(column, Numeric)
        and (choice := _choice(position, real.values[:, position], released.values[:, position]))
    ]
    if not choices:
        return {}
    search = _Alignment.of(real, released, choices)
    starts = [
        [0] * len(choices),
        [int(choice.unlike) for choice in choices],
        [len(choice.options) - 1 if not choice.unlike else 1 for choice in choices],
    ]
    best = starts[0]
    for start in starts[1:]:
        if search.nearer(start, best):
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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Alignment:
    """How near some released rows are to real rows, for every way to read their columns."""

    fixed: Costs  # what the columns without a choice cost
    costs: tuple[tuple[Costs, ...], ...]  # of each choice and option

    @classmethod
    def of(cls, real: Table, released: Table, choices: Sequence[_Choice]) -> "_Alignment":
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
        costs = []
        for choice in choices:
            there = real.values[compared, choice.position]
            here = released.values[:, choice.position]
            readings = (here if option is None else option.cells for option in choice.options)
            costs.append(tuple(_differences(there, cells[asked]) for cells in readings))
        return cls(fixed=fixed, costs=tuple(costs))

    def nearer(self, one: Sequence[int], other: Sequence[int]) -> bool:
        """Tell whether rows come clearly nearer by one reading than by another."""
        return list(one) != list(other) and _clearly(_logs(self._total(one)), _logs(self._total(other)))

    def improved(self, start: Sequence[int]) -> list[int]:
        """Change the reading of one column after the other, as long as rows come clearly nearer."""
        best = list(start)
        total = self._total(best)
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

    def _total(self, reading: Sequence[int]) -> Costs:
        total = self.fixed.copy()
        for costs, option in zip(self.costs, reading, strict=True):
            total += costs[option]
        return total


def _logs(total: Costs) -> Floats:
    """Return how near the nearest real row is to each row, on a scale on which copies count."""
    nearest = np.maximum(total.min(axis=1), 0.0)  # rounding may leave less
    return np.asarray(np.log(nearest.astype(np.float64) + _FLOOR))


def _clearly(one: Floats, other: Floats) -> bool:
    less = other - one
    return bool(less.mean() > CLEARLY * less.std() / np.sqrt(len(less)))


def _some_rows(table: Table, most: int) -> Indices:
    """Return some rows, evenly chosen in an order of what they hold."""
    if len(table) <= most:
        return np.arange(len(table))
    return table.content_order[np.linspace(0, len(table) - 1, most).astype(np.int64)]


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
