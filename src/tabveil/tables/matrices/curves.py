"""Rows as choices among a few values, and other numbers as places on a normal curve.

A column becomes a choice (labels; numbers with few different values), a number, or both: numbers with missing
cells or with spikes, values that many rows share, are first a choice between missing, the spikes and "some
other number", then that number.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtr

from tabveil.core.people import LEAST_SHARED
from tabveil.core.storage import arrays as stored
from tabveil.core.storage.arrays import Arrays, Expected, require
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Schema, Table, within
from tabveil.tables.matrices.ordinal import are_values, at_places, find, label_places

FEW_VALUES = 32
"""Numbers with at most so many different values are choices, if there are enough rows for each."""
SPIKE = 0.05
"""A number that such a share of the rows has is a choice of its own."""
MOST_KNOTS = 1000
"""The curve of a column's numbers has at most about so many points."""
OUTERMOST = 1e-6
"""Shares nearer to 0 or 1 would be at the end of the normal curve, which has none."""


class CurveRows(NamedTuple):
    """Encoded rows. A number lies anywhere in a part of the normal curve, given as shares of its area."""

    start: Floats  # (n, numbers) the share below the part
    width: Floats  # (n, numbers) the share of the part; 0 for an exact number
    choices: Indices  # (n, choices)


@dataclass(frozen=True, kw_only=True, eq=False)
class Distribution:
    """The distribution of a column's numbers: ``values[i]`` has the share ``lows[i]`` to ``highs[i]``.

    A number that enough rows share comes back exactly; others lie anywhere between their neighbors.
    """

    values: Floats
    lows: Floats
    highs: Floats

    @classmethod
    def of(cls, known: Floats) -> Self:
        """Learn the distribution of numbers, of which there is at least one."""
        values, counts = np.unique(known, return_counts=True)
        ends = np.concatenate([[0], np.cumsum(counts)]) / len(known)
        lows, highs = ends[:-1], ends[1:]
        shared = counts >= LEAST_SHARED
        middle = (lows + highs) / 2
        lows, highs = np.where(shared, lows, middle), np.where(shared, highs, middle)
        every = max(1, -(-int((~shared).sum()) // MOST_KNOTS))
        kept = shared | (np.cumsum(~shared) % every == 0)
        kept[[0, -1]] = True
        return cls(values=values[kept], lows=lows[kept], highs=highs[kept])

    def fits(self, column: Numeric) -> bool:
        """Whether the numbers are the column's, each with its share after those before."""
        if not len(self.values) == len(self.lows) == len(self.highs) > 0:
            return False
        shares = np.column_stack([self.lows, self.highs]).ravel()
        return are_values(column, self.values) and bool((np.diff(shares) >= 0).all())

    def parts(self, cells: Floats) -> tuple[Floats, Floats]:
        """Return the part of the curve where each number lies: the share below it and its own."""
        place, known = find(self.values, cells)
        place = np.minimum(place, len(self.values) - 1)
        start = np.where(known, self.lows[place], np.interp(cells, self.values, (self.lows + self.highs) / 2))
        return start, np.where(known, (self.highs - self.lows)[place], 0.0)

    def cells(self, shares: Floats) -> Floats:
        """Return the number with this share of all numbers below it."""
        knots = np.column_stack([self.lows, self.highs]).ravel()
        return np.interp(shares, knots, np.repeat(self.values, 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class CurvedColumn:
    """What one column is: a choice, a number on a curve, or both.

    ``options`` are the values to choose from, NaN for missing; after them comes "some other number" if there
    is a ``curve``. A column with one value is one option and nothing to choose.
    """

    column: Column
    options: Floats
    curve: Distribution | None

    @classmethod
    def of(cls, column: Column, cells: Floats) -> Self:
        """Learn what there is to choose from, and how the other numbers are distributed."""
        options, counts = np.unique(cells, return_counts=True)  # NaN last, as one
        few = max(1, min(FEW_VALUES, len(cells) // LEAST_SHARED))
        spikes = np.isnan(options) | (counts >= max(LEAST_SHARED, SPIKE * len(cells)))
        if isinstance(column, Categorical) or len(options) <= few or spikes.all():
            return cls(column=column, options=options, curve=None)
        others = cells[np.isin(cells, options[~spikes])]
        return cls(column=column, options=options[spikes], curve=Distribution.of(others))

    @property
    def fits(self) -> bool:
        """Whether there is something to draw, all of it values of the column."""
        if self.curve is None:
            curve_fits = len(self.options) > 0
        else:
            curve_fits = isinstance(self.column, Numeric) and self.curve.fits(self.column)
        return curve_fits and are_values(self.column, self.options)

    @property
    def n_choices(self) -> int:
        """The number of values to choose from, some other number among them."""
        return len(self.options) + (self.curve is not None)

    def choose(self, cells: Floats) -> Indices:
        """Return which option each cell is."""
        return label_places(self.options, cells)

    def cells(self, chosen: Indices, shares: Floats | None) -> Floats:
        """Return the cells that were chosen, or that have these shares below them."""
        if self.curve is None or shares is None:
            return self.options[chosen]
        others = within(self.column, self.curve.cells(shares))
        return np.where(chosen < len(self.options), at_places(self.options, chosen), others)


@dataclass(frozen=True, kw_only=True, eq=False)
class CurveScheme:
    """How the rows of a table are written, and read back."""

    schema: Schema
    columns: tuple[CurvedColumn, ...]

    @classmethod
    def of(cls, table: Table) -> Self:
        """Learn what each column is."""
        columns = zip(table.schema.columns, table.values.T, strict=True)
        return cls(schema=table.schema, columns=tuple(CurvedColumn.of(*each) for each in columns))

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many values there are to choose from, for each choice."""
        return tuple(column.n_choices for column in self.columns if column.n_choices > 1)

    @cached_property
    def n_numbers(self) -> int:
        """How many columns have a curve."""
        return sum(column.curve is not None for column in self.columns)

    def encode(self, table: Table) -> CurveRows:
        """Return the rows of a table."""
        n = len(table)
        start, width = np.zeros((n, self.n_numbers)), np.ones((n, self.n_numbers))
        choices = np.zeros((n, len(self.sizes)), dtype=np.int64)
        parts, chosen = zip(start.T, width.T, strict=True), iter(choices.T)
        for column, cells in zip(self.columns, table.values.T, strict=True):
            options = column.choose(cells)
            if column.n_choices > 1:
                next(chosen)[:] = options
            if column.curve is not None:  # where another option was chosen: anywhere on the curve
                other = options == len(column.options)
                below, own = next(parts)
                below[other], own[other] = column.curve.parts(cells[other])
        return CurveRows(start, width, choices)

    def decode(self, numbers: Floats, choices: Indices) -> Table:
        """Return the table with these normal deviates (n, numbers) and choices (n, choices)."""
        values = np.empty((len(numbers), len(self.columns)))
        shares, chosen = iter(ndtr(numbers).T), iter(choices.T)
        for position, column in enumerate(self.columns):
            options = next(chosen) if column.n_choices > 1 else np.zeros(len(numbers), dtype=np.int64)
            values[:, position] = column.cells(options, None if column.curve is None else next(shares))
        return Table(schema=self.schema, values=values)

    def state(self) -> Arrays:
        """Return what was learned as arrays, those of the columns end to end."""
        pieces = {"options": [column.options for column in self.columns]}
        for name in _OF_CURVES:
            pieces[name] = [np.empty(0) if c.curve is None else getattr(c.curve, name) for c in self.columns]
        return stored.join_pieces(pieces)

    @classmethod
    def from_state(cls, schema: Schema, arrays: Arrays) -> Self:
        """Rebuild what :meth:`state` returned."""
        stored.require_arrays(arrays, stored.expected_pieces(_PIECES, len(schema)))
        pieces = {name: stored.split_pieces(arrays, name) for name in _PIECES}
        columns = []
        for i, column in enumerate(schema.columns):
            points = {name: pieces[name][i] for name in _OF_CURVES}
            curve = Distribution(**points) if any(map(len, points.values())) else None
            found = CurvedColumn(column=column, options=pieces["options"][i], curve=curve)
            require(found.fits, f"array 'options' and the curves must hold values of {column.name!r}")
            columns.append(found)
        return cls(schema=schema, columns=tuple(columns))


_OF_CURVES = ("values", "lows", "highs")
_PIECES = {
    "options": Expected(dtype=np.float64, shape=(None,), missing=True),
    "values": Expected(dtype=np.float64, shape=(None,)),
    "lows": Expected(dtype=np.float64, shape=(None,), low=0, high=1),
    "highs": Expected(dtype=np.float64, shape=(None,), low=0, high=1),
}
"""What is stored of all columns, end to end."""
