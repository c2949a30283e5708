"""Two columns at once, real beside synthetic, as tables for a page in which nobody can be found.

A cell is shown only if at least ten real people are in it, or nobody. What is left out of a line could be
computed from the other cells and the line's total, which the charts of single columns show; so further cells
are left out until there are at least two in a line, with ten people in them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Split, Table
from tabveil.metrics.utility.findings import Bar, PairTable
from tabveil.metrics.utility.marginals import safe_edges
from tabveil.metrics.utility.pairs import ChangedPair
from tabveil.tables.matrices.ordinal import even_groups

MOST_LEVELS = 6  # labels or ranges; others and missing values come after them

Flags = NDArray[np.bool_]


def two_way(split: Split, pair: ChangedPair) -> PairTable:
    """Count all real (train and control) and all synthetic rows at the levels of two columns."""
    down, across = (_Axis.of(split, name) for name in pair.columns)
    people = _people(split.train, down, across) + _people(split.control, down, across)
    hidden = unshown(people, down.shown, across.shown)
    n_real = len(split.train) + len(split.control)
    real = (_rows(split.train, down, across) + _rows(split.control, down, across)) / n_real
    synthetic = _rows(split.synthetic, down, across) / len(split.synthetic)
    kept = np.ix_(np.flatnonzero(down.shown), np.flatnonzero(across.shown))
    return PairTable(
        columns=pair.columns,
        variation=pair.variation,
        alone=pair.alone,
        down=_bars(down, real.sum(axis=1), synthetic.sum(axis=1)),
        across=_bars(across, real.sum(axis=0), synthetic.sum(axis=0)),
        real=_cells(real, hidden, kept),
        synthetic=_cells(synthetic, hidden, kept),
    )


def unshown(people: Indices, down: Flags, across: Flags) -> Flags:
    """Return which cells of a table of counts are left out; of lines that are not shown all of them.

    >>> every = np.array([True, True, True])
    >>> unshown(np.array([[50, 3, 40], [30, 60, 20], [0, 70, 80]]), every, every).astype(int)
    array([[0, 1, 1],
           [0, 1, 1],
           [0, 0, 0]])
    """
    hidden = (people > 0) & (people < LEAST_SHARED)
    hidden[~down], hidden[:, ~across] = True, True
    while _completed(people, hidden, down) or _completed(people.T, hidden.T, across):
        pass
    return hidden


def _completed(people: Indices, hidden: Flags, lines: Flags) -> bool:
    """Leave out one more cell of each line whose hidden ones could be computed; tell whether there was any.

    It is one whose other line has hidden cells, too, if there is such, and of these the smallest.
    """
    changed = False
    for line in np.flatnonzero(lines):
        counts, out = people[line], hidden[line]  # views
        unknown = out & (counts > 0)
        rest = np.flatnonzero(~out & (counts > 0))
        if len(rest) and unknown.any() and (unknown.sum() == 1 or counts[unknown].sum() < LEAST_SHARED):
            alone = np.asarray(~hidden[lines].any(axis=0))
            out[min(rest, key=lambda place: (alone[place], counts[place], place))] = changed = True
    return changed


@dataclass(frozen=True, kw_only=True, eq=False)
class _Axis:
    """The levels of a column; a pool of labels or missing values that few have is none of those shown."""

    column: Column
    named: tuple[int, ...]  # codes of labels
    edges: tuple[float, ...]  # between ranges of numbers
    shown: Flags  # (k + 2,) by level: labels or ranges, then other labels, then missing

    @classmethod
    def of(cls, split: Split, name: str) -> "_Axis":
        column = split.schema[name]
        cells = [table.column(name) for table in (split.train, split.control)]
        real = np.concatenate(cells)
        known = np.sort(real[~np.isnan(real)])
        named, edges = tuple[int, ...](), tuple[float, ...]()
        match column:
            case Categorical(labels=labels):
                counts = np.bincount(known.astype(np.int64), minlength=len(labels))
                ranked = sorted(range(len(labels)), key=lambda code: (-counts[code], labels[code]))
                named = tuple(code for code in ranked[:MOST_LEVELS] if counts[code] >= LEAST_SHARED)
            case Numeric():
                edges = _merged(safe_edges(column, known), known)
        axis = cls(column=column, named=named, edges=edges, shown=np.ones(0, dtype=np.bool_))
        counted = [
            np.bincount(axis.levels(side), minlength=axis.n_levels)
            for side in (real, split.synthetic.column(name))
        ]
        shown = (counted[0] >= LEAST_SHARED) | ((counted[0] == 0) & (counted[1] > 0))
        shown[: axis.n_levels - 2] = True
        return cls(column=column, named=named, edges=edges, shown=shown)

    @property
    def n_levels(self) -> int:
        n = len(self.named) if isinstance(self.column, Categorical) else len(self.edges) + 1
        return n + 2

    def levels(self, cells: Floats) -> Indices:
        """Return the level of each cell."""
        missing, other = self.n_levels - 1, self.n_levels - 2
        if isinstance(self.column, Categorical):
            places = np.full(len(self.column.labels) + 1, other)
            places[list(self.named)] = np.arange(len(self.named))
            places[-1] = missing
            return np.asarray(places[np.where(np.isnan(cells), -1, cells).astype(np.int64)])
        found = np.searchsorted(np.array(self.edges), cells, side="right")
        return np.where(np.isnan(cells), missing, found)


def _merged(edges: Sequence[float], numbers: Floats) -> tuple[float, ...]:
    """Keep the edges between a few ranges with about equally many numbers."""
    counts = np.diff([0, *np.searchsorted(numbers, edges, side="left"), len(numbers)])
    groups = even_groups(counts, MOST_LEVELS)
    return tuple(edge for edge, (low, high) in zip(edges, pairwise(groups), strict=True) if low != high)


def _cell(table: Table, down: _Axis, across: _Axis) -> Indices:
    """Return the cell of each row."""
    rows, columns = (axis.levels(table.column(axis.column.name)) for axis in (down, across))
    return rows * across.n_levels + columns


def _rows(table: Table, down: _Axis, across: _Axis) -> Indices:
    counts = np.bincount(_cell(table, down, across), minlength=down.n_levels * across.n_levels)
    return counts.reshape(down.n_levels, across.n_levels)


def _people(table: Table, down: _Axis, across: _Axis) -> Indices:
    if table.people is None:
        return _rows(table, down, across)
    pairs = np.unique(np.column_stack([_cell(table, down, across), table.people]), axis=0)
    counts = np.bincount(pairs[:, 0], minlength=down.n_levels * across.n_levels)
    return counts.reshape(down.n_levels, across.n_levels)


def _bars(axis: _Axis, real: Floats, synthetic: Floats) -> tuple[Bar, ...]:
    def level(number: int) -> Bar:
        counted = Bar(kind="missing", real=float(real[number]), synthetic=float(synthetic[number]))
        if number == axis.n_levels - 1:
            return counted
        if number == axis.n_levels - 2:
            return replace(counted, kind="other")
        if isinstance(axis.column, Categorical):
            return replace(counted, kind="label", label=axis.column.labels[axis.named[number]])
        ends = [None, *axis.edges, None]
        return replace(counted, kind="range", low=ends[number], high=ends[number + 1])

    return tuple(map(level, np.flatnonzero(axis.shown).tolist()))


def _cells(shares: Floats, hidden: Flags, kept: tuple[Indices, ...]) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, np.where(hidden, np.nan, shares)[kept].tolist()))
