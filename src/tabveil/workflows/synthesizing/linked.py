"""Columns that determine each other, learned as one: a code, its description, and the chapter of both.

Each combination of values that enough rows share is a state, and the states are what a generator learns, as
labels of the first column. So no row carries a combination that few rows of the table have. Of a rarer one,
the finest columns are given the value that stands for all rare ones, until enough rows share what is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table

Value = str | float | None
"""Of one cell: a label, a number, or nothing."""

Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class RestoredColumn:
    """A column that is not learned by itself: what its values are."""

    __pydantic_config__ = FORBID_OTHERS

    name: str
    number: bool
    decimals: int | None = None
    ordered: bool = False
    labels: tuple[str, ...] = ()

    @classmethod
    def of(cls, column: Column, labels: Sequence[str] = ()) -> "RestoredColumn":
        """Keep what a column is, with these labels."""
        if isinstance(column, Numeric):
            return cls(name=column.name, number=True, decimals=column.decimals)
        return cls(name=column.name, number=False, ordered=column.ordered, labels=tuple(labels))

    def holds(self, value: Value) -> bool:
        """Whether a value can be one of this column."""
        if value is None:
            return True
        if isinstance(value, str):
            return not self.number and value in self.labels
        return self.number and bool(np.isfinite(value))

    def cells(self, values: Sequence[Value], at: Indices) -> tuple[Column, Floats]:
        """Return the column and its cells (n,): the values at these places."""
        if self.number:
            numbers = np.array([np.nan if each is None else float(each) for each in values])
            known = numbers[~np.isnan(numbers)]
            low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
            return Numeric(name=self.name, low=low, high=high, decimals=self.decimals), numbers[at]
        place = {label: float(k) for k, label in enumerate(self.labels)}
        codes = np.array([np.nan if each is None else place[str(each)] for each in values])
        return Categorical(name=self.name, labels=self.labels, ordered=self.ordered), codes[at]


@dataclass(frozen=True, kw_only=True)
class LinkedColumns:
    """Columns that are learned as one, under the name of the first, and the states that they can be in."""

    __pydantic_config__ = FORBID_OTHERS

    columns: tuple[RestoredColumn, ...]
    states: tuple[tuple[Value, ...], ...]  # of all columns, in the order of the labels that are learned

    @property
    def learned(self) -> str:
        """The column that is learned for all of them."""
        return self.columns[0].name

    def sound(self, column: Column) -> bool:
        """Whether a learned column stands for these: read from a file, it may be anything."""
        return (
            isinstance(column, Categorical)
            and len(column.labels) == len(self.states) > 0
            and all(
                len(state) == len(self.columns)
                and all(each.holds(value) for each, value in zip(self.columns, state, strict=True))
                for state in self.states
            )
        )

    def restored(self, cells: Floats) -> list[tuple[Column, Floats]]:
        """Return all columns of rows that are in these states."""
        at = cells.astype(np.int64)
        return [each.cells([state[k] for state in self.states], at) for k, each in enumerate(self.columns)]


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedTable:
    """What became of some columns: how to get them back, the column to learn, and how much was pooled."""

    linked: LinkedColumns
    column: Categorical
    cells: Floats
    n_rare: Mapping[str, int]  # values that few rows share, of each column that has any
    n_cells: int  # that had one of these, or a rare combination


def link(
    table: Table, family: Sequence[int], pooled: Sequence[Value], *, least: int = LEAST_SHARED, rng: Generator
) -> LinkedTable:
    """Learn columns as one; the first determines the others.

    ``pooled`` is what stands for rare values in each, None where nothing can: a row that needs it there takes
    all of these columns from another row, one that agrees in as many as possible.
    """
    columns = [table.schema.columns[k] for k in family]
    values = [np.unique(cells[~np.isnan(cells)]) for cells in table.values[:, family].T]
    n_values = np.array([len(each) for each in values])  # which is also the code of what is missing
    codes = np.column_stack(
        [np.searchsorted(own, table.values[:, k]) for own, k in zip(values, family, strict=True)]
    )
    missing = codes == n_values
    held = [np.bincount(code, minlength=n + 1) for code, n in zip(codes.T, n_values, strict=True)]
    own = np.column_stack([count[code] >= least for count, code in zip(held, codes.T, strict=True)]) | missing
    finest = sorted(range(len(family)), key=lambda k: (-n_values[k], k))
    result, open_rows = _pooled(codes, own, missing, n_values, finest=finest, pooled=pooled, least=least)
    _take_from_others(result, open_rows, finest, n_values, rng=rng)
    states, at = np.unique(result, axis=0, return_inverse=True)
    at = at.reshape(-1)
    told = [
        tuple(
            _value(column, own_values, int(code), other)
            for column, own_values, code, other in zip(columns, values, state, pooled, strict=True)
        )
        for state in states
    ]
    restored = tuple(
        RestoredColumn.of(column, _labels(column, [state[k] for state in told]))
        for k, column in enumerate(columns)
    )
    return LinkedTable(
        linked=LinkedColumns(columns=restored, states=tuple(told)),
        column=Categorical(name=columns[0].name, labels=_names([state[0] for state in told])),
        cells=at.astype(np.float64),
        n_rare={
            column.name: int(rare)
            for column, count in zip(columns, held, strict=True)
            if (rare := ((count[:-1] > 0) & (count[:-1] < least)).sum())
        },
        n_cells=int((result != codes).sum()),
    )


def _pooled(
    codes: Codes,
    own: NDArray[np.bool_],
    missing: NDArray[np.bool_],
    n_values: Codes,
    *,
    finest: Sequence[int],
    pooled: Sequence[Value],
    least: int,
) -> tuple[Codes, NDArray[np.bool_]]:
    """Return codes with rare ones pooled, and the rows for which that was not possible.

    The first code after that of missing stands for all rare ones.
    """
    result = codes.copy()
    _, group, counts = np.unique(codes, axis=0, return_inverse=True, return_counts=True)
    left = counts[group.reshape(-1)] < least
    closed = np.array([other is None for other in pooled])
    for n_pooled in range(len(finest) + 1):
        gone = ~own
        gone[:, finest[:n_pooled]] = True
        gone &= ~missing
        rows = np.flatnonzero(left & ~(gone & closed).any(axis=1))
        if len(rows) == 0:
            continue
        wanted = np.where(gone[rows], n_values + 1, codes[rows])
        _, group, counts = np.unique(wanted, axis=0, return_inverse=True, return_counts=True)
        enough = counts[group.reshape(-1)] >= least
        result[rows[enough]] = wanted[enough]
        left[rows[enough]] = False
    return result, left


def _take_from_others(
    result: Codes, needy: NDArray[np.bool_], finest: Sequence[int], missing: Codes, *, rng: Generator
) -> None:
    """Give rows the codes of another row: one that agrees in the column with the most values, if any does."""
    rows, others = np.flatnonzero(needy), np.flatnonzero(~needy)
    if len(rows) == 0:
        return
    if len(others) == 0:  # too few rows to tell anything about
        result[rows] = missing
        return
    donors = rng.choice(others, len(rows))
    for k in reversed(finest):
        alike = others[np.argsort(result[others, k], kind="stable")]
        begin = np.searchsorted(result[alike, k], result[rows, k])
        n_alike = np.searchsorted(result[alike, k], result[rows, k], side="right") - begin
        found = n_alike > 0
        donors[found] = alike[begin[found] + rng.integers(n_alike[found])]
    result[rows] = result[donors]


def _value(column: Column, values: Floats, code: int, other: Value) -> Value:
    """Return what a code stands for."""
    if code == len(values):
        return None
    if code > len(values):
        return other
    return column.labels[int(values[code])] if isinstance(column, Categorical) else float(values[code])


def _labels(column: Column, values: Sequence[Value]) -> list[str]:
    """Return the labels of a column that occur among values, in its order; after them what is new."""
    if isinstance(column, Numeric):
        return []
    there = {value for value in values if isinstance(value, str)}
    return [*(label for label in column.labels if label in there), *sorted(there.difference(column.labels))]


def _names(values: Sequence[Value]) -> tuple[str, ...]:
    """Name states after their first value, with a number where several have the same."""
    used: set[str] = set()
    names = []
    for value in values:
        base = "missing" if value is None else f"{value:.15g}" if isinstance(value, float) else value
        name, n = base, 1
        while name in used:
            n += 1
            name = f"{base} ({n})"
        used.add(name)
        names.append(name)
    return tuple(names)
