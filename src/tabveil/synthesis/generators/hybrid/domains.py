"""What each generalized value of a column may stand for: its leaves, or its range, in bins to draw from."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, holds, within
from tabveil.synthesis.anonymize import Anonymization, Hierarchy

_ON_GRID = 1e-6  # of a step: what is so near to a number on the column's grid is that number
_PARTS = {
    "starts": Expected(dtype=np.int64, shape=(None,), low=0),
    "low": Expected(dtype=np.float64, shape=(None,), missing=True),
    "high": Expected(dtype=np.float64, shape=(None,), missing=True),
    "sizes": Expected(dtype=np.float64, shape=(None,), low=0),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Domain:
    """The bins of every generalized value of one column.

    A bin is one value (a label, a number, a missing value), or all numbers from ``low`` to below ``high``. No
    row is asked for them, but where a hierarchy was made from the values themselves.
    """

    column: Column  # as it was
    starts: Indices  # (n_labels + 1,) where the bins of each generalized value begin
    low: Floats  # (n_bins,) ascending within a value; NaN for a missing one, which is the last
    high: Floats  # (n_bins,) as low, where the bin is one value
    sizes: Floats  # (n_bins,) how much of the column lies there: values, or a width

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def n_bins(self) -> Indices:
        """How many bins each generalized value has, (n_labels,)."""
        return np.diff(self.starts)

    def uniform(self, codes: Floats, *, rng: Generator) -> Floats:
        """Draw from all that each generalized value (n,) stands for, evenly; missing stays missing."""
        return self.draw_bins(self.choose(codes, self.sizes, rng=rng), rng=rng)

    def choose(self, codes: Floats, weights: Floats, *, rng: Generator) -> Indices:
        """Choose a bin for each generalized value (n,), by weights (n_bins,); -1 where it is missing."""
        chosen = np.full(len(codes), -1, dtype=np.int64)
        there = np.flatnonzero(~np.isnan(codes))
        numbers = codes[there].astype(np.int64)
        chosen[there] = choose_within(self.starts, weights, numbers, rng=rng)
        return chosen

    def draw_bins(self, bins: Indices, *, rng: Generator) -> Floats:
        """Draw a value of each bin (n,) that the column may have; -1 is missing."""
        places = rng.random(len(bins))
        cells = np.full(len(bins), np.nan)
        there = bins >= 0
        low, high, places = self.low[bins[there]], self.high[bins[there]], places[there]
        match self.column:
            case Numeric(decimals=decimals) if decimals is not None:
                first, n = _on_grid(low, high, decimals)
                drawn = np.round((first + np.floor(places * n)) * 10.0**-decimals, decimals)
            case _:
                drawn = low + places * (high - low)
        cells[there] = within(self.column, np.where(low == high, low, drawn))
        return cells

    def moved(self, codes: Floats, cells: Floats, widths: Floats, *, rng: Generator) -> Floats:
        """Move numbers by chance, thrown back from the ends of what their generalized value stands for."""
        noise = rng.normal(size=len(cells)) * widths
        if not isinstance(self.column, Numeric):
            return cells
        # The first and the last number of each value that is a range, (n_labels,).
        step = 0.0 if self.column.decimals is None else 10.0**-self.column.decimals
        ranges = self.low < self.high
        low = np.minimum.reduceat(np.where(ranges, self.low, np.inf), self.starts[:-1])
        high = np.maximum.reduceat(np.where(ranges, self.high, -np.inf), self.starts[:-1]) - step
        movable = np.flatnonzero(~np.isnan(cells) & ~np.isnan(codes))
        movable = movable[(high > low)[codes[movable].astype(np.int64)]]
        numbers = codes[movable].astype(np.int64)
        first, last = low[numbers], high[numbers]
        # Reflected at both ends as often as it takes: a saw with teeth as wide as the range, both ways.
        way = np.mod(cells[movable] + noise[movable] - first, 2 * (last - first))
        moved = cells.copy()
        moved[movable] = first + np.minimum(way, 2 * (last - first) - way)
        return within(self.column, moved)

    def middle(self, low: float, high: float) -> float:
        """Return the middle one of the numbers from low to below high, the lower of two."""
        if not isinstance(self.column, Numeric) or self.column.decimals is None:
            return (low + high) / 2
        (first,), (n,) = _on_grid(np.array([low]), np.array([high]), self.column.decimals)
        return float((first + (n - 1) // 2) * 10.0**-self.column.decimals)

    def locate(self, codes: Floats, cells: Floats) -> Indices:
        """Return the bin of each cell (n,) among those of its generalized value; -1 where there is none."""
        found = np.full(len(codes), -1, dtype=np.int64)
        for code in np.unique(codes[~np.isnan(codes)]).astype(np.int64):
            chosen = np.flatnonzero(codes == code)
            start, end = self.starts[code], self.starts[code + 1]
            places = np.searchsorted(self.low[start:end], cells[chosen], side="right") - 1  # NaN stands last
            nowhere = np.isnan(cells[chosen]) & ~np.isnan(self.low[end - 1])
            found[chosen] = np.where(nowhere, -1, start + np.clip(places, 0, end - start - 1))
        return found

    def arrays(self) -> Arrays:
        """Return what is stored."""
        return {name: getattr(self, name) for name in _PARTS}

    @classmethod
    def from_arrays(cls, column: Column, n_labels: int, arrays: Arrays) -> Self:
        """Rebuild what :meth:`arrays` returned; all is checked."""
        require_arrays(arrays, _PARTS)
        starts, n = arrays["starts"], len(arrays["low"])
        require_starts(starts, n_labels, n, f"every generalized value of {column.name!r} must have bins")
        low, high, sizes = (arrays[name] for name in ("low", "high", "sizes"))
        missing = np.isnan(low)
        require(
            len(high) == len(sizes) == n
            and np.array_equal(missing, np.isnan(high))
            and bool((low <= high)[~missing].all())
            and bool((sizes > 0).all())
            and holds(column, low[(low == high) & ~missing])
            and (isinstance(column, Numeric) or bool((low == high)[~missing].all())),
            f"bins of {column.name!r} must hold values of the column",
        )
        for start, end in pairwise(starts):
            require(
                not missing[start : end - 1].any(), f"bins of {column.name!r}: what is missing comes last"
            )
        return cls(column=column, **{name: arrays[name] for name in _PARTS})


def require_starts(starts: Indices, n_groups: int, n_items: int, what: str) -> None:
    """Require that every group has items: those from its start to that of the next."""
    ends = len(starts) == n_groups + 1 and starts[0] == 0 and starts[-1] == n_items
    require(ends and bool((np.diff(starts) > 0).all()), what)


def choose_within(starts: Indices, weights: Floats, groups: Indices, *, rng: Generator) -> Indices:
    """Choose an item for each group number (n,), by the weights of the group's items, which end at its next.

    >>> choose_within(np.array([0, 1, 3]), np.array([1.0, 0.0, 2.0]), np.array([1, 0, 1]),
    ...               rng=np.random.default_rng(0)).tolist()
    [2, 0, 2]
    """
    places = rng.random(len(groups))
    if len(groups) == 0:
        return np.empty(0, dtype=np.int64)
    totals = np.add.reduceat(weights, starts[:-1])
    shares = weights / np.repeat(totals, np.diff(starts))
    # One rising sequence, group by group: each ends at its number plus one, whatever was rounded.
    ends = np.cumsum(shares)
    ends -= np.repeat(ends[starts[:-1]] - shares[starts[:-1]], np.diff(starts))
    ends += np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    chosen = np.searchsorted(ends, groups + places, side="right")
    # What is rounded must not end at an item that cannot be drawn at all.
    last = np.maximum.reduceat(np.where(weights > 0, np.arange(len(weights)), -1), starts[:-1])
    return np.clip(chosen, starts[groups], last[groups])


@dataclass(frozen=True, kw_only=True, eq=False)
class ClassCells:
    """Where the bins of each class stand in one column, end to end; a class without a value has none."""

    domain: Domain
    codes: Floats  # (c,) the generalized value of each class

    @cached_property
    def sizes(self) -> Indices:
        """How many bins each class has, (c,)."""
        there = ~np.isnan(self.codes)
        sizes = np.zeros(len(self.codes), dtype=np.int64)
        sizes[there] = self.domain.n_bins[self.codes[there].astype(np.int64)]
        return sizes

    @cached_property
    def starts(self) -> Indices:
        """Where the bins of each class begin, (c + 1,)."""
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    @cached_property
    def bins(self) -> Indices:
        """Which bin of the domain each is, (n,)."""
        owners = np.repeat(np.arange(len(self.codes)), self.sizes)
        first = self.domain.starts[self.codes[owners].astype(np.int64)]
        return first + np.arange(len(owners)) - self.starts[owners]

    def count(self, classes: Indices, bins: Indices) -> Floats:
        """Count rows of these classes that lie in these bins (m,) of the domain; -1 is none, (n,)."""
        there = bins >= 0
        owners, own = classes[there], bins[there]
        places = self.starts[owners] + own - self.domain.starts[self.codes[owners].astype(np.int64)]
        return np.bincount(places, minlength=len(self.bins)).astype(np.float64)

    def normalized(self, weights: Floats, otherwise: Floats) -> Floats:
        """Let the weights (n,) of each class have the sum 1; where they have none, those of ``otherwise``."""
        if len(weights) == 0:
            return weights
        held = self.sizes > 0
        starts, sizes = self.starts[:-1][held], self.sizes[held]
        totals = np.repeat(np.add.reduceat(weights, starts), sizes)
        others = otherwise / np.repeat(np.add.reduceat(otherwise, starts), sizes)
        return np.where(totals > 0, weights / np.where(totals > 0, totals, 1.0), others)


def domains_of(found: Anonymization, *, most_bins: int, with_missing: bool = True) -> tuple[Domain, ...]:
    """Return what the generalized values of each generalized column stand for; ranges in so many bins.

    Without ``with_missing``, what stands for a missing value and for others stands for the others alone.
    """
    release = found.table.schema
    domains = []
    for place, hierarchy in enumerate(found.hierarchies):
        column = found.original.schema[hierarchy.column]
        generalized = release[column.name]
        levels = {node[place] for node in found.nodes}
        if levels != {0}:
            assert isinstance(generalized, Categorical), "a generalized column holds labels"
            bins = [
                _bins(
                    column,
                    hierarchy,
                    *_coarsest(hierarchy, levels, label),
                    most_bins,
                    with_missing=with_missing,
                )
                for label in generalized.labels
            ]
            low, high, sizes = (np.concatenate([[], *(each[part] for each in bins)]) for part in range(3))
            starts = np.concatenate([[0], np.cumsum([len(each[0]) for each in bins])]).astype(np.int64)
            domains.append(Domain(column=column, starts=starts, low=low, high=high, sizes=sizes))
    return tuple(domains)


def _coarsest(hierarchy: Hierarchy, levels: Iterable[int], label: str) -> tuple[int, int]:
    """Return the level and the value that are written so; where several are, the one with most leaves."""
    written = [
        (level, hierarchy.labels[level].index(label))
        for level in sorted(levels)
        if label in hierarchy.labels[level]
    ]
    return max(written, key=lambda each: len(hierarchy.members(*each)))


def _bins(
    column: Column, hierarchy: Hierarchy, level: int, value: int, most_bins: int, *, with_missing: bool
) -> tuple[Floats, Floats, Floats]:
    """Return low, high and size of the bins of one generalized value."""
    leaves = hierarchy.cells[hierarchy.members(level, value)]
    cells = leaves[np.isfinite(leaves)]
    missing = np.isnan(leaves).any() and (with_missing or not len(cells))
    if isinstance(column, Numeric):  # a file may list leaves that the column cannot have
        cells = within(column, cells[(cells >= column.low) & (cells <= column.high)])
    cells = np.unique(cells)
    ends = _range(column, hierarchy, level, value, cells)
    if ends is None:
        low, high, sizes = cells, cells, np.ones(len(cells))
    else:
        low, high, sizes = _cut(column, *ends, most_bins)
    if missing:  # one value among the others
        on_grid = isinstance(column, Numeric) and column.decimals is not None
        size = 1.0 if ends is None or on_grid else float(sizes.mean())
        low, high, sizes = np.append(low, np.nan), np.append(high, np.nan), np.append(sizes, size)
    return low, high, sizes


def _range(
    column: Column, hierarchy: Hierarchy, level: int, value: int, cells: Floats
) -> tuple[float, float] | None:
    """Return where a generalized value begins and ends, the end left out; None if it is a set of leaves."""
    if not isinstance(column, Numeric) or column.low == column.high or len(cells) == 0:
        return None
    step = 0.0 if column.decimals is None else 10.0**-column.decimals
    last = column.high + step
    edges = hierarchy.edges[level] if hierarchy.edges else None
    if edges is not None:
        return max(float(edges[value, 0]), column.low), min(float(edges[value, 1]), last)
    if any(each is not None for each in hierarchy.edges) and len(hierarchy.labels[level]) == 1:
        return column.low, last
    listed = len(cells) > 1 and step > 0 and bool((np.abs(np.diff(cells) - step) < _ON_GRID * step).all())
    return (float(cells[0]), float(cells[-1]) + step) if listed else None


def _cut(column: Column, low: float, high: float, most_bins: int) -> tuple[Floats, Floats, Floats]:
    """Cut a range into bins that are equally wide, of numbers that the column may have."""
    if isinstance(column, Numeric) and column.decimals is not None:
        step = 10.0**-column.decimals
        (first,), (n,) = _on_grid(np.array([low]), np.array([high]), column.decimals)
        cuts = first + np.round(np.linspace(0, n, min(int(n), most_bins) + 1))  # (bins + 1,) in steps
        ends = np.round(cuts * step, column.decimals)
        return ends[:-1], np.where(np.diff(cuts) == 1, ends[:-1], ends[1:]), np.diff(cuts)
    cuts = np.linspace(low, max(high, low), most_bins + 1) if high > low else np.array([low, low])
    return cuts[:-1], cuts[1:], np.maximum(np.diff(cuts), np.finfo(float).tiny)


def _on_grid(low: Floats, high: Floats, decimals: int) -> tuple[Floats, Floats]:
    """Return the first number from low on, and how many lie below high, in steps; at least one."""
    scale = 10.0**decimals
    first = np.ceil(low * scale - _ON_GRID)
    n = np.ceil(high * scale - _ON_GRID) - first
    return np.where(n >= 1, first, np.round((low + high) / 2 * scale)), np.maximum(n, 1)
