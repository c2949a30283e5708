"""The values of a column that a hierarchy must cover, levels of labels for them, and what entries lack."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tabveil.core.check import quoted
from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Table
from tabveil.core.wording import name as short
from tabveil.core.wording import plural
from tabveil.errors import SchemaError, TabveilError
from tabveil.synthesis.anonymize.hierarchy import EVERYTHING, MISSING, NOT_IN_TABLE, Hierarchy
from tabveil.tables.reading import Layout
from tabveil.tables.reading.layout import as_written
from tabveil.tables.reading.raw_column import Kind


class EntryError(SchemaError):
    """An entry of a hierarchy cannot be used."""

    def __init__(self, column: str, entry: str, problem: str | TabveilError) -> None:
        super().__init__("hierarchies", f"column {quoted(column)}, entry {quoted(entry)}", problem)


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
    code: bool = False  # numbers that stand for something: no range of them means anything
    layout: Layout | None = None

    @classmethod
    def of(cls, table: Table, name: str, layout: Layout | None = None) -> Self:
        """Look at a column of a table."""
        column, cells = table.schema[name], table.column(name)
        missing = np.isnan(cells)
        place = None if layout is None else layout.columns.get(name)
        found, counts = _counted(column, cells[~missing] if missing.any() else cells)
        return cls(
            column=column,
            cells=found,
            texts=written(found, column, layout),
            counts=counts,
            has_missing=bool(missing.any()),
            clock=place.step if place is not None and place.kind is Kind.MOMENT else None,
            code=place is not None and place.code,
            layout=layout,
        )

    def without_rows(self) -> Self:
        """Return the same as if no row had been asked: all values that can be listed, and missing ones."""
        cells, texts = self.possible()
        nobody = np.zeros(len(cells), dtype=np.int64)
        return replace(self, cells=cells, texts=texts, counts=nobody, has_missing=True)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    def possible(self) -> tuple[Floats, tuple[str, ...]]:
        """Return all values that the column may have, where they can be listed; else those that it has."""
        if self.code:
            return self.cells, self.texts
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


def assemble(
    values: ColumnValues,
    cells: Floats,
    levels: Sequence[Sequence[str]],
    *,
    edges: Sequence[Floats | None] = (),
    top: bool = False,
) -> Hierarchy:
    """Make a hierarchy from the labels of each level, the leaves' own first, each (n_leaves,).

    A missing value that is no leaf becomes one, and meets the others only where they have all met. ``edges``
    are those of each leaf's value at each level, (n_leaves, 2). ``top`` puts ``*`` above.
    """
    labels = [list(level) for level in levels]
    ends = [*edges] or [None] * len(labels)
    if top and set(labels[-1]) != {EVERYTHING}:
        labels.append([EVERYTHING] * len(labels[0]))
        ends.append(None)
    if values.has_missing and not np.isnan(cells).any():
        cells = np.append(cells, np.nan)
        for place, level in enumerate(labels):
            level.append(level[0] if place and len(set(level)) == 1 else MISSING)
            end = ends[place]
            ends[place] = None if end is None else np.vstack((end, [np.nan, np.nan]))
    codes, names, bounds = [], [], []
    for level, end in zip(labels, ends, strict=True):
        numbers: dict[str, int] = {}
        found = np.array([numbers.setdefault(label, len(numbers)) for label in level], dtype=np.int64)
        _, firsts = np.unique(found, return_index=True)
        codes.append(found)
        names.append(tuple(numbers))
        bounds.append(None if end is None else end[firsts])
    return Hierarchy(
        column=values.name,
        leaves=names[0],
        cells=cells,
        codes=np.array(codes),
        labels=tuple(names),
        edges=tuple(bounds),
    )


def match_leaves(values: ColumnValues, leaves: Sequence[str], entry: str) -> Floats:
    """Return what stands for each leaf in the table: numbers by their value, labels by their text."""
    known = dict(zip(values.texts, values.cells.tolist(), strict=True))
    if isinstance(values.column, Categorical):
        known = {label: float(code) for code, label in enumerate(values.column.labels)} | known
    cells = np.array([_cell(values, known, leaf, entry) for leaf in leaves])
    finite = cells[np.isfinite(cells)]
    n_twice = len(finite) - len(np.unique(finite)) + max(int(np.isnan(cells).sum()) - 1, 0)
    n_twice = max(n_twice, len(leaves) - len(set(leaves)))
    if n_twice:
        raise EntryError(values.name, entry, f"{n_twice:,} of its {len(leaves):,} leaves occur twice.")
    return cells


def _cell(values: ColumnValues, known: dict[str, float], leaf: str, entry: str) -> float:
    if leaf == MISSING:
        return np.nan
    if leaf in known:
        return known[leaf]
    if isinstance(values.column, Categorical) or values.clock is not None:
        return NOT_IN_TABLE
    try:
        number = float(leaf)
    except ValueError:
        raise EntryError(values.name, entry, "the column holds numbers, and a leaf is none.") from None
    if not np.isfinite(number):
        raise EntryError(values.name, entry, "a leaf must be a finite number.")
    return number


def require_covered(values: ColumnValues, cells: Floats, entry: str, what: str) -> None:
    """Refuse leaves that lack values of the table."""
    lacking = np.flatnonzero(~np.isin(values.cells, cells))
    if len(lacking):
        verb = "is" if len(lacking) == 1 else "are"
        raise EntryError(values.name, entry, f"{values.told(lacking)} {verb} not in {what}.")
