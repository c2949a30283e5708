"""One scale for real and released numbers: no absurd value and no change of units hides a leak.

Attacks compare numbers by differences, and count these in shares of a column's range or deviation. So before
they begin, released columns in other units are brought back to those of the real rows
(:mod:`~tabveil.metrics.scales.ways_back`), and values far outside of all others are set just beyond them.
Neither knows which real rows are train and which control.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabveil.core.storage import spool
from tabveil.core.table import Column, Floats, Numeric, Schema, Split, Table
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.metrics.scales.ways_back import ScaleMap, holds_decimals, turned_back

TAIL = 0.01
"""The share of real values at either end that does not decide what is far."""
REACH = 20.0
"""Values are far that lie so many times as far from the middle values as these are from each other.

Tails of incomes and costs are shorter: a lognormal distribution with deviation 2 has 6 of 100,000 beyond.
"""
MARGIN = 0.05
"""Far values are set no farther beyond all others than this share of the range."""


def fence(real: Floats) -> tuple[float, float]:
    """Return between which values numbers are not far outside; all, where the real values do not differ.

    >>> fence(np.array([1.0, 2.0, 3.0, 4.0, 1e12]))
    (-38.0, 44.0)
    >>> fence(np.array([0.0] * 99 + [5.0]))
    (-100.0, 105.0)
    """
    present = np.sort(real[~np.isnan(real)])
    if len(present) == 0:
        return -np.inf, np.inf
    low, high = _middle(present)
    if low == high:  # nearly all are equal: then by those that are not
        others = present[present != low]
        ends = (low, *_middle(others)) if len(others) else (low,)
        low, high = min(ends), max(ends)
    reach = REACH * (high - low)
    return (low - reach, high + reach) if reach > 0 else (-np.inf, np.inf)


def _middle(ordered: Floats) -> tuple[float, float]:
    """Return the quantiles at both tails, each the nearest value inwards: no mean with an absurd one."""
    last = len(ordered) - 1
    first = min(int(np.ceil(TAIL * last)), last // 2)
    return float(ordered[first]), float(ordered[last - first])


def fenced(column: Numeric, real: Floats, released: Floats) -> tuple[Numeric, Floats] | None:
    """Set the values of a column that are far outside just beyond all others; None where there are none.

    Returns the column, whose range is the new one, and its cells, real ones first.
    """
    low, high = fence(real)
    if low <= column.low and column.high <= high:  # the range may be wider than the values
        return None
    cells = np.concatenate([real, released])
    far = (cells < low) | (cells > high)
    if not far.any():
        return None
    near = cells[~far & ~np.isnan(cells)]  # the middle of the real values is never far
    least, largest = float(near.min()), float(near.max())
    margin = MARGIN * (largest - least)
    moved = cells.copy()
    above, below = cells > high, cells < low
    moved[above] = _beyond(cells[above], largest, margin, column.decimals)
    moved[below] = -_beyond(-cells[below], -least, margin, column.decimals)
    return replace(column, low=float(np.nanmin(moved)), high=float(np.nanmax(moved))), moved


def _beyond(far: Floats, edge: float, margin: float, decimals: int | None) -> Floats:
    """Spread values over the margin by their ranks; on a grid, over as many places as it has there."""
    values, rank = np.unique(far, return_inverse=True)
    if len(values) == 0:
        return far
    if decimals is None:
        return np.asarray(edge + margin * (rank + 1) / len(values))
    places = max(int(margin * 10.0**decimals), 1)
    step = np.ceil((rank + 1) * min(places / len(values), 1.0))
    return np.asarray(np.round(edge + step * 10.0**-decimals, decimals))


WORDS = {
    "shifted": "moved by a constant",
    "in another unit": "in another unit",
    "stretched": "on another scale",
    "bent": "distributed otherwise",
}
"""How a report says what was found about a released column."""


@dataclass(frozen=True, kw_only=True, eq=False)
class AttackedTables:
    """Tables on one scale, and what a reader should know of what was changed."""

    split: Split
    notes: tuple[str, ...]
    turned: tuple[str, ...] = ()  # released columns that were read on another scale


def all_on_one_scale(splits: Sequence[Split]) -> list[AttackedTables]:
    """Bring released columns to the scale of the real rows, and absurd values near to all others.

    The releases are of the same train and control: what is far outside in one must not stretch the scale of
    the others. Tables in which there is nothing to change are returned as they are. Which real rows are train
    and which control makes no difference, nor does the order of rows and columns.

    >>> ages = np.arange(20.0, 80.0)[:, None]
    >>> schema = Schema((Numeric(name="age", low=20, high=7900, decimals=0),))
    >>> train, release = (Table(schema=schema, values=values) for values in (ages, 100 * ages))
    >>> (attacked,) = all_on_one_scale([Split(train=train, control=train, synthetic=release)])
    >>> bool((attacked.split.synthetic.values == ages).all()), attacked.split.schema["age"].high
    (True, 79.0)
    """
    real = splits[0].train.joined(splits[0].control)
    found_maps = [(split.synthetic, turned_back(real, split.synthetic)) for split in splits]
    maps = [found and _where_nearer(real, release, found) for release, found in found_maps]
    changed = {
        position: cells
        for position, column in enumerate(splits[0].schema.columns)
        if isinstance(column, Numeric) and (cells := _changed(column, real, splits, maps))
    }
    if not changed:
        return [AttackedTables(split=split, notes=()) for split in splits]
    return [
        _attacked(split, changed, found, place)
        for place, (split, found) in enumerate(zip(splits, maps, strict=True))
    ]


def _attacked(
    split: Split, changed: Mapping[int, "_ScaledColumn"], maps: Mapping[str, ScaleMap], place: int
) -> AttackedTables:
    """Return a release with the columns that were changed."""
    columns = list(split.schema.columns)
    tables = [split.train, split.control, split.synthetic]
    ends = np.cumsum([len(table) for table in tables])[:-1]
    values = spool.room((sum(map(len, tables)), len(columns)), order="F")
    for position in range(len(columns)):
        if position in changed:
            cells = changed[position]
            columns[position] = cells.column
            values[:, position] = np.concatenate([cells.real, cells.released[place]])
        else:
            values[:, position] = np.concatenate([table.values[:, position] for table in tables])
    schema = Schema(tuple(columns))
    train, control, synthetic = (
        Table(schema=schema, values=part, people=table.people)
        for part, table in zip(np.split(values, ends), tables, strict=True)
    )
    far = [cells.column.name for cells in changed.values() if cells.fenced[place]]
    return AttackedTables(
        split=Split(train=train, control=control, synthetic=synthetic),
        turned=tuple(maps),
        notes=tuple(_notes(maps, far)),
    )


def _where_nearer(real: Table, release: Table, maps: Mapping[str, ScaleMap]) -> dict[str, ScaleMap]:
    """Turn only the rows that come nearer to real rows so; the others are right as they are.

    A release may hold copies among rows that are unlike all real ones: no map may blur them.
    """
    read = [
        _readings(column, real.column(column.name), release.column(column.name), maps.get(column.name))
        for column in release.schema.columns
    ]
    schema = Schema(tuple(column for column, _ in read))
    people, given, turned = (
        Table(schema=schema, values=part)
        for part in np.split(
            np.column_stack([cells for _, cells in read]), [len(real), len(real) + len(release)]
        )
    )
    near = Neighbors(Space.gower(schema), people)
    nearer = near.nearest(turned).distance[:, 0] < near.nearest(given).distance[:, 0]
    if not nearer.any():
        return {}
    return {
        name: replace(found, cells=np.where(nearer, found.cells, release.column(name)))
        for name, found in maps.items()
    }


def _readings(column: Column, real: Floats, given: Floats, found: ScaleMap | None) -> tuple[Column, Floats]:
    """Return a column with a scale for both readings, and its cells: real, as given, turned back."""
    released = np.concatenate([given, given if found is None else found.cells])
    cells = np.concatenate([real, released])
    if not isinstance(column, Numeric) or np.isnan(cells).all():
        return column, cells
    low, high = float(np.nanmin(cells)), float(np.nanmax(cells))
    spanning = replace(column, low=low, high=high, decimals=column.decimals if found is None else None)
    return fenced(spanning, real, released) or (spanning, cells)


@dataclass(frozen=True, kw_only=True, eq=False)
class _ScaledColumn:
    """A column of numbers on one scale, and of each release whether far values were moved."""

    column: Numeric
    real: Floats
    released: Sequence[Floats]
    fenced: Sequence[bool]


def _changed(
    column: Numeric, real: Table, splits: Sequence[Split], maps: Sequence[Mapping[str, ScaleMap]]
) -> _ScaledColumn | None:
    """Return a column on one scale, None where it is already."""
    name, people = column.name, real.column(column.name)
    turned = [found[name] for found in maps if name in found]
    released = [
        found[name].cells if name in found else split.synthetic.column(name)
        for split, found in zip(splits, maps, strict=True)
    ]
    every = np.concatenate(released)
    if turned:
        cells = np.concatenate([people, every])
        decimals = turned[0].decimals if holds_decimals(every, turned[0].decimals) else column.decimals
        column = replace(column, low=float(np.nanmin(cells)), high=float(np.nanmax(cells)), decimals=decimals)
    within = fenced(column, people, every)
    if within is None:
        still = [False] * len(splits)
        return _ScaledColumn(column=column, real=people, released=released, fenced=still) if turned else None
    near, *moved = np.split(within[1], np.cumsum([len(people), *map(len, released)])[:-1])
    differ = [
        not np.array_equal(before, after, equal_nan=True)
        for before, after in zip((people, *released), (near, *moved), strict=True)
    ]
    return _ScaledColumn(
        column=within[0], real=near, released=moved, fenced=[differ[0] or own for own in differ[1:]]
    )


def _notes(maps: Mapping[str, ScaleMap], far: Sequence[str]) -> Iterator[str]:
    """Say which columns were read on another scale, those of one kind together, and which hold far values."""
    kinds: dict[str, list[str]] = {}
    for name, found in maps.items():
        kinds.setdefault("mirrored and " * found.mirrored + WORDS[found.way], []).append(name)
    for kind, names in kinds.items():
        yield (
            f"In the release {', '.join(names)} {'is' if len(names) == 1 else 'are'} not on the scale of the "
            f"real rows ({kind}, by the look of all values). Such a change protects nobody, so attacks "
            "compare the values turned back; utility is measured on the release as it is."
        )
    if far:
        yield (
            f"Some values of {', '.join(far)} lie far outside of nearly all real ones. Attacks take them for "
            "values just beyond the others: they would make all other differences look small."
        )
