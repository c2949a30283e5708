"""Rows arranged by their keys, for attacks that look up people with equal or near keys.

Keys that must be equal (labels, and whether a number is missing) form classes; numeric keys stay numbers, in
units of their last decimal place, so that differences are exact. Rows equal in keys and target are one *kind*
with a count, so crowds cost no more than single rows. Where people have several rows, only rows of the same
person are of one kind.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.sampling import group_equal_rows
from tabveil.core.table import Categorical, Floats, Indices, Numeric, Schema, Split, Table
from tabveil.tables.matrices.ordinal import in_last_places, places_a_unit

ROUNDING = 1 + 1e-9  # 0.4 is within 0.1 of 0.3, whatever their last bits say


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinds:
    """The different rows of one table: keys, target and how many rows are so."""

    keys: Floats  # (k, d) numeric keys, sorted within their class by the first
    targets: Floats  # (k,)
    groups: Indices  # (k,) class of the other keys, ascending
    counts: Floats  # (k,) number of rows
    of_row: Indices  # (n,) the kind of each row
    people: Indices | None = None  # (k,) whose rows they are, numbered from 0 on

    @classmethod
    def of(cls, groups: Indices, keys: Floats, targets: Floats, people: Indices | None = None) -> Self:
        """Bring equal rows together; where people have several, those of each person."""
        whose = np.zeros(len(groups), dtype=np.int64)
        if people is not None:
            whose = np.unique(people, return_inverse=True)[1]
        order = np.lexsort((whose, targets, *keys.T[::-1], groups))
        sorted_keys, sorted_targets, sorted_groups = keys[order], targets[order], groups[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = (
            (np.diff(sorted_groups) != 0) | (np.diff(sorted_targets) != 0) | (np.diff(whose[order]) != 0)
        )
        for column in sorted_keys.T:
            new[1:] |= np.diff(column) != 0
        of_row = np.empty(len(order), dtype=np.int64)
        of_row[order] = np.cumsum(new) - 1
        first = np.flatnonzero(new)
        return cls(
            keys=np.ascontiguousarray(sorted_keys[first]),
            targets=sorted_targets[first],
            groups=sorted_groups[first],
            counts=np.diff(np.append(first, len(order))).astype(np.float64),
            of_row=of_row,
            people=None if people is None else whose[order[first]],
        )

    def __len__(self) -> int:
        return len(self.targets)

    def starts(self, n_groups: int) -> Indices:
        """Return where each class begins, and where the last one ends."""
        return np.searchsorted(self.groups, np.arange(n_groups + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyIndex:
    """The three tables by keys and target, in one numbering of classes."""

    train: Kinds
    control: Kinds
    synthetic: Kinds
    n_groups: int
    widths: Floats  # (d,) of the numeric keys, in last decimal places
    target_width: float | None  # None for labels, which are right or wrong
    naive: float  # the guess of one who sees no keys: the most frequent label, the median

    def reach(self, radius: float) -> tuple[Floats, float]:
        """Return how far keys and targets may be apart."""
        half_a_code = 0.5
        target = half_a_code if self.target_width is None else self.target_width * radius * ROUNDING
        return self.widths * radius * ROUNDING, target


def arrange(split: Split, keys: Sequence[str], target: str) -> KeyIndex:
    """Sort the rows of the three tables by the keys."""
    tables = (split.train, split.control, split.synthetic)
    groups = group_equal_rows(*(_compared_by_equality(table, keys) for table in tables))
    numeric = _most_telling_first(split.synthetic, keys)
    kinds = []
    for table, group in zip(tables, groups, strict=True):
        values = np.empty((len(table), len(numeric)))
        for position, key in enumerate(numeric):
            values[:, position] = np.nan_to_num(_above_low(key, table.column(key.name)), nan=0.0)
        kinds.append(Kinds.of(group, values, _target_values(table, target), table.people))
    column = split.schema[target]
    return KeyIndex(
        train=kinds[0],
        control=kinds[1],
        synthetic=kinds[2],
        n_groups=1 + max(int(group.max(initial=0)) for group in groups),
        widths=np.array([_width(key) for key in numeric]),
        target_width=_width(column) if isinstance(column, Numeric) else None,
        naive=_naive_guess(_target_values(split.synthetic, target), column),
    )


def _above_low(column: Numeric, cells: Floats) -> Floats:
    """Return numbers above the column's lowest, in its last decimal places; missing stays missing."""
    low = in_last_places(np.array(column.low), column.decimals)
    return in_last_places(cells, column.decimals) - low + 0.0


def _width(column: Numeric) -> float:
    """Return the width of the range, in last decimal places."""
    return column.width * places_a_unit(column.decimals)


def _compared_by_equality(table: Table, keys: Sequence[str]) -> Table:
    """Return the labels, and for each number whether it is missing: missing matches missing only."""
    columns, cells = [], []
    for name in keys:
        column = table.schema[name]
        if isinstance(column, Categorical):
            columns.append(column)
            cells.append(table.column(name))
        else:
            columns.append(Categorical(name=name, labels=("present", "missing")))
            cells.append(np.isnan(table.column(name)).astype(np.float64))
    return Table(schema=Schema(tuple(columns)), values=np.column_stack(cells))


def _most_telling_first(synthetic: Table, keys: Sequence[str]) -> list[Numeric]:
    """Return the numeric keys that vary, the one spread widest over its range first, the others by name."""
    numeric = [
        column
        for name in sorted(keys)
        if isinstance(column := synthetic.schema[name], Numeric) and column.width > 0
    ]

    def spread(column: Numeric) -> float:
        cells = synthetic.column(column.name)
        cells = cells[~np.isnan(cells)]
        return float(np.subtract(*np.quantile(cells, [0.75, 0.25]))) / column.width if len(cells) else 0.0

    widest = max(numeric, key=spread, default=None)
    return sorted(numeric, key=lambda column: column is not widest)


def _target_values(table: Table, target: str) -> Floats:
    """Return the targets as numbers of which only near or equal ones are near; missing is far from all."""
    match table.schema[target]:
        case Categorical():
            return np.nan_to_num(table.column(target), nan=-1.0)
        case Numeric() as column:
            return np.nan_to_num(_above_low(column, table.column(target)), nan=-2 * _width(column) - 1)


def _naive_guess(targets: Floats, column: Numeric | Categorical) -> float:
    if isinstance(column, Categorical):
        values, counts = np.unique(targets, return_counts=True)
        return float(values[np.argmax(counts)])
    present = np.sort(targets[targets >= 0])
    return float(present[len(present) // 2]) if len(present) else float(targets[0])
