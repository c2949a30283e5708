"""Columns that follow from where a number lies, such as an age group from an age: looked up, not learned.

Where a range ends is known only up to the numbers beside it that enough rows share: who lies between must
not tell. So a number that is drawn between two such is moved to the nearer one.
"""

from dataclasses import dataclass

import numpy as np

from tabveil.core.people import LEAST_SHARED
from tabveil.core.storage.arrays import ascending
from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Categorical, Column, Floats, Numeric, Table
from tabveil.workflows.synthesizing.linked import RestoredColumn, Value

MOST_RANGES = 1.5
"""For each value of a column there may be so many ranges of the number; with more, it is no number but a
code."""
EXACTLY = 0.95
"""The ranges must say of so many rows what they have; the others have a number that few share."""


@dataclass(frozen=True, kw_only=True)
class BandedColumn:
    """A column that follows from ranges of another."""

    __pydantic_config__ = FORBID_OTHERS

    column: RestoredColumn
    source: str
    ends: tuple[tuple[float, float], ...]  # ascending: the last number of a range, the first of the next
    values: tuple[Value, ...]  # of each range
    missing: Value  # where there is no number

    def sound(self, source: Column) -> bool:
        """Whether it can follow from this column: read from a file, it may be anything."""
        return (
            isinstance(source, Numeric)
            and len(self.values) - 1 == len(self.ends) > 0
            and ascending(np.array(self.ends).reshape(-1, 2)[:, 0])
            and ascending(np.array(self.ends).reshape(-1, 2)[:, 1])
            and all(last < first for last, first in self.ends)
            and all(self.column.holds(value) for value in (*self.values, self.missing))
        )

    def apart(self, cells: Floats) -> Floats:
        """Return numbers that lie in a range: those between two are moved to the nearer end."""
        last, first = np.array(self.ends).reshape(-1, 2).T
        at = np.searchsorted(last, cells, side="right") - 1  # the last end that is not above
        low, high = last[np.maximum(at, 0)], first[np.maximum(at, 0)]
        between = (at >= 0) & (cells > low) & (cells < high)
        return np.where(between, np.where(cells - low < high - cells, low, high), cells)

    def restored(self, cells: Floats) -> tuple[Column, Floats]:
        """Return the column of rows that have these numbers."""
        at = np.searchsorted(np.array(self.ends).reshape(-1, 2)[:, 1], self.apart(cells), side="right")
        at[np.isnan(cells)] = len(self.values)
        return self.column.cells((*self.values, self.missing), at)


def band(table: Table, source: int, follower: int, *, least: int = LEAST_SHARED) -> BandedColumn | None:
    """Return by which ranges a column of labels follows from a number; None if it does not."""
    column, numbers, cells = (
        table.schema.columns[follower],
        table.values[:, source],
        table.values[:, follower],
    )
    if not isinstance(column, Categorical):
        return None
    held = ~np.isnan(numbers)
    values, first, counts = np.unique(numbers[held], return_index=True, return_counts=True)
    shared, codes = values[counts >= least], cells[held][first[counts >= least]]
    if len(shared) == 0:
        return None
    codes = np.where(np.isnan(codes), -1, codes).astype(np.int64)
    begins = np.flatnonzero(np.diff(codes)) + 1
    of_ranges = codes[np.concatenate([[0], begins])]
    if len(of_ranges) < 2 or len(of_ranges) > MOST_RANGES * len(np.unique(codes)):  # noqa: PLR2004 - else none
        return None
    without = cells[~held]
    alone = -1 if len(without) < least or np.isnan(without[0]) else int(without[0])
    told = [None if code < 0 else column.labels[code] for code in of_ranges.tolist()]
    missing = None if alone < 0 else column.labels[alone]
    found = BandedColumn(
        column=RestoredColumn.of(column, [label for label in column.labels if label in {*told, missing}]),
        source=table.schema.columns[source].name,
        ends=tuple(zip(shared[begins - 1].tolist(), shared[begins].tolist(), strict=True)),
        values=tuple(told),
        missing=missing,
    )
    made, again = found.restored(numbers)
    assert isinstance(made, Categorical)
    position = {label: k for k, label in enumerate(column.labels)}
    back = np.append([float(position[label]) for label in made.labels], np.nan)
    same = back[np.where(np.isnan(again), len(made.labels), again).astype(np.int64)]
    return found if np.mean((same == cells) | (np.isnan(same) & np.isnan(cells))) >= EXACTLY else None
