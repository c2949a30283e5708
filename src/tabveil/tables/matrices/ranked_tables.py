"""Tables as ranks: the values of a column have one numbering in all tables; rows are sorted by each column.

What follows compares codes only, so dates, quotes in labels or odd column names cannot matter.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from tabveil.core import workers
from tabveil.core.storage import spool
from tabveil.core.table import Indices, Schema, Table
from tabveil.tables.matrices.ordinal import Codes, OrderedValues, possible_values
from tabveil.tables.matrices.ranked_kernels import sort_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class ValueRanks:
    """The values of every column over all tables; columns by name."""

    schema: Schema
    columns: tuple[OrderedValues, ...]
    offsets: Indices  # (d + 1,) where a column's codes begin when all columns' stand in one array

    @classmethod
    def of(cls, *tables: Table) -> Self:
        """Collect the values."""
        schema = tables[0].schema.select(sorted(tables[0].schema.names))
        columns = tuple(
            OrderedValues(column=c, values=possible_values(c, *(table.column(c.name) for table in tables)))
            for c in schema.columns
        )
        sizes = [len(column) + 2 for column in columns]  # missing before, one past the end after
        return cls(schema=schema, columns=columns, offsets=np.cumsum([0, *sizes]))

    def encode(self, table: Table) -> "RankedTable":
        """Turn cells into codes and sort the rows by each column."""
        codes: Codes = spool.room((len(self.columns), len(table)), np.int32)
        for position, ordered in enumerate(self.columns):
            codes[position] = ordered.codes(table.column(ordered.column.name))
        starts = np.zeros(self.offsets[-1], dtype=np.int32)
        order: Codes = spool.room(codes.shape, np.int32)
        workers.announce_compilation(sort_rows)
        sort_rows(codes, self.offsets, starts, order)
        return RankedTable(ranks=self, codes=codes, order=order, starts=starts)


@dataclass(frozen=True, kw_only=True, eq=False)
class RankedTable:
    """A table in codes, its rows sorted by each column."""

    ranks: ValueRanks
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
        offsets = self.ranks.offsets
        return np.diff(self.starts[offsets[column] : offsets[column + 1]])

    @cached_property
    def held(self) -> tuple[Indices, ...]:
        """The codes of each column that some row has."""
        return tuple(np.flatnonzero(self.counts(column)) for column in range(self.n_columns))
