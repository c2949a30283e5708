"""The values of a column that a hierarchy must cover, how they are written, and how many rows have each."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table
from tabveil.core.wording import name as short
from tabveil.core.wording import plural
from tabveil.tables.reading import Layout
from tabveil.tables.reading.layout import as_written
from tabveil.tables.reading.raw_column import Kind

MOST_POSSIBLE = 10_000
"""Whole numbers, or days, from the smallest to the largest value: up to so many, all of them are leaves."""
_FEW = 3


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnValues:
    """The different values of a column, ascending; labels in their order."""

    column: Column
    cells: Floats  # (v,) without missing ones
    texts: tuple[str, ...]
    counts: Indices  # (v,)
    has_missing: bool
    clock: int | None = None  # microseconds in a unit, where values are dates
    layout: Layout | None = None

    @classmethod
    def of(cls, table: Table, name: str, layout: Layout | None = None) -> Self:
        """Look at a column of a table."""
        column, cells = table.schema[name], table.column(name)
        missing = np.isnan(cells)
        found, counts = _counted(column, cells[~missing] if missing.any() else cells)
        return cls(
            column=column,
            cells=found,
            texts=written(found, column, layout),
            counts=counts,
            has_missing=bool(missing.any()),
            clock=_clock(name, layout),
            layout=layout,
        )

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    def possible(self) -> tuple[Floats, tuple[str, ...]]:
        """Return all values that the column may have, where they can be listed; else those that it has."""
        match self.column:
            case Numeric(low=low, high=high, decimals=0) if high - low < MOST_POSSIBLE:
                cells = np.arange(low, high + 1)
            case Categorical(labels=labels):
                cells = np.arange(float(len(labels)))
            case _:
                return self.cells, self.texts
        return cells, written(cells, self.column, self.layout)

    def told(self, chosen: Indices) -> str:
        """Say how many values these are and how many rows have them; name those that enough rows share."""
        rows = int(self.counts[chosen].sum())
        shared = [self.texts[place] for place in chosen if self.counts[place] >= LEAST_SHARED]
        named = ", ".join(repr(short(text)) for text in shared[:_FEW])
        return f"{plural(len(chosen), 'value')} ({plural(rows, 'row')}){named and f', such as {named},'}"


def _clock(name: str, layout: Layout | None) -> int | None:
    """Return the microseconds in a unit of a column of dates; None for others."""
    place = None if layout is None else layout.columns.get(name)
    return place.step if place is not None and place.kind is Kind.MOMENT else None


def _counted(column: Column, cells: Floats) -> tuple[Floats, Indices]:
    """Count the different cells; codes and small whole numbers without sorting them."""
    if len(cells) and (isinstance(column, Categorical) or column.decimals == 0):
        low = 0.0 if isinstance(column, Categorical) else float(cells.min())
        if float(cells.max()) - low < max(len(cells), MOST_POSSIBLE):
            counts = np.bincount((cells - low).astype(np.int64))
            found = np.flatnonzero(counts)
            return found.astype(np.float64) + low, counts[found].astype(np.int64)
    different, counts = np.unique(cells, return_counts=True)
    return different, counts.astype(np.int64)


def written(cells: Floats, column: Column, layout: Layout | None) -> tuple[str, ...]:
    """Write values the way their table does."""
    if layout is not None:
        return tuple(as_written(cells, column, layout))
    match column:
        case Categorical(labels=labels):
            return tuple(labels[int(code)] for code in cells)
        case Numeric(decimals=None):
            return tuple(f"{cell:.15g}" for cell in cells)
        case Numeric(decimals=decimals):
            return tuple(f"{cell:.{decimals}f}" for cell in cells)
