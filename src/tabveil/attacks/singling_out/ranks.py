"""Tables as ranks: the values of a column have one numbering in all tables; rows are sorted by each column.

What follows compares codes only, so dates, quotes in labels or odd column names cannot matter.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil import workers
from tabveil.attacks.singling_out.kernels import sort_rows
from tabveil.table import Categorical, Column, Floats, Indices, Numeric, Schema, Table

Codes = NDArray[np.int32]

MISSING = 0  # the code of no value; values begin at 1
MOST_MARKS = 4_000_000  # whole numbers in a range that is counted off rather than sorted


@dataclass(frozen=True, kw_only=True, eq=False)
class Alphabet:
    """The values of every column over all tables, in ascending order; columns by name."""

    schema: Schema
    values: tuple[Floats, ...]  # of each column; a value's code is its position + 1
    offsets: Indices  # (d + 1,) where a column's codes begin when all columns' stand in one array

    @classmethod
    def of(cls, *tables: Table) -> Self:
        """Collect the values."""
        schema = tables[0].schema.select(sorted(tables[0].schema.names))
        values = tuple(_values(column, tables) for column in schema.columns)
        sizes = [len(of_column) + 2 for of_column in values]  # missing before, one past the end after
        return cls(schema=schema, values=values, offsets=np.cumsum([0, *sizes]))

    def encode(self, table: Table) -> "CodedTable":
        """Turn cells into codes and sort the rows by each column."""
        codes = np.empty((len(self.values), len(table)), dtype=np.int32)
        for position, (column, values) in enumerate(zip(self.schema.columns, self.values, strict=True)):
            cells = table.column(column.name)
            codes[position] = np.where(np.isnan(cells), MISSING, _positions(column, values, cells) + 1)
        starts = np.zeros(self.offsets[-1], dtype=np.int32)
        order = np.empty(codes.shape, dtype=np.int32)
        workers.announce_compilation(sort_rows)
        sort_rows(codes, self.offsets, starts, order)
        return CodedTable(alphabet=self, codes=codes, order=order, starts=starts)


def _values(column: Column, tables: tuple[Table, ...]) -> Floats:
    if isinstance(column, Categorical):
        return np.arange(len(column.labels), dtype=np.float64)
    if _is_countable(column):  # a mark for each whole number in the range costs less than sorting
        marks = np.zeros(int(column.width) + 1, dtype=np.bool_)
        for table in tables:
            cells = table.column(column.name)
            marks[(cells[~np.isnan(cells)] - column.low).astype(np.int64)] = True
        return np.asarray(np.flatnonzero(marks) + column.low, dtype=np.float64)
    values = np.unique(np.concatenate([table.column(column.name) for table in tables]))
    return np.asarray(values[~np.isnan(values)])


def _positions(column: Column, values: Floats, cells: Floats) -> NDArray[Any]:
    """Return where each cell stands among the values; anything for a missing cell."""
    if isinstance(column, Categorical):
        return cells
    if _is_countable(column):
        place = np.zeros(int(column.width) + 1, dtype=np.int32)
        place[(values - column.low).astype(np.int64)] = np.arange(len(values))
        return place[np.nan_to_num(cells - column.low).astype(np.int64)]
    return np.searchsorted(values, cells)


def _is_countable(column: Numeric) -> bool:
    return column.integer and column.width <= MOST_MARKS


@dataclass(frozen=True, kw_only=True, eq=False)
class CodedTable:
    """A table in codes, its rows sorted by each column."""

    alphabet: Alphabet
    codes: Codes  # (d, n)
    order: Codes  # (d, n) rows by ascending code
    starts: Codes  # at offsets[column] + code: where the rows of the code begin in order[column]

    def __len__(self) -> int:
        return int(self.codes.shape[1])

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.codes)

    def counts(self, column: int) -> Codes:
        """Count the rows of each code of a column."""
        offsets = self.alphabet.offsets
        return np.diff(self.starts[offsets[column] : offsets[column + 1]])
