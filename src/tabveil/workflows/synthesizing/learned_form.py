"""How rows of a table that was turned before it was learned are turned back; stored with a model."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabveil.core.storage.plain import FORBID_OTHERS
from tabveil.core.table import Column, Floats, Numeric, Schema, Table
from tabveil.workflows.synthesizing.banded import BandedColumn
from tabveil.workflows.synthesizing.linked import LinkedColumns
from tabveil.workflows.synthesizing.recognizing import to_clock


@dataclass(frozen=True, kw_only=True)
class LearnedForm:
    """What is to be undone in rows that were drawn, in this order: ranges, linked columns, times of day."""

    __pydantic_config__ = FORBID_OTHERS

    banded: tuple[BandedColumn, ...] = ()
    linked: tuple[LinkedColumns, ...] = ()
    clocks: tuple[str, ...] = ()

    def sound(self, learned: Schema) -> bool:
        """Whether rows of this schema can be turned back: read from a file, anything may stand here."""
        names = set(learned.names)
        added = [item.column.name for item in self.banded]
        added += [each.name for item in self.linked for each in item.columns[1:]]
        turned = [item.learned for item in self.linked if item.columns]
        sources = {item.source for item in self.banded}
        return (
            all(item.columns for item in self.linked)
            and len({*added, *names}) == len(added) + len(names)
            and len(set(turned)) == len(turned)
            and names.issuperset([*turned, *sources])
            and sources.isdisjoint(turned)
            and all(item.sound(learned[item.learned]) for item in self.linked)
            and all(item.sound(learned[item.source]) for item in self.banded)
            and self._tells_minutes(learned)
        )

    def _tells_minutes(self, learned: Schema) -> bool:
        """Whether what are to be times of day are minutes, each once."""
        columns = self._joined(Table(schema=learned, values=np.empty((0, len(learned)))))
        return len(set(self.clocks)) == len(self.clocks) and all(
            name in columns and _holds_minutes(columns[name][0]) for name in self.clocks
        )

    def restored(self, table: Table) -> Table:
        """Return rows with the columns of the data; those that were added stand last."""
        columns = self._joined(table)
        for name in self.clocks:
            columns[name] = _at_the_clock(*columns[name])
        return of_columns(list(columns.values()), len(table))

    def _joined(self, table: Table) -> dict[str, tuple[Column, Floats]]:
        """Return all columns, with times of day as minutes."""
        columns: dict[str, tuple[Column, Floats]] = {
            column.name: (column, table.column(column.name)) for column in table.schema.columns
        }
        for item in self.banded:
            column, cells = columns[item.source]
            columns[item.source] = column, item.apart(cells)
        for item in self.banded:
            columns[item.column.name] = item.restored(columns[item.source][1])
        for link in self.linked:
            cells = table.column(link.learned)
            columns |= {column.name: (column, restored) for column, restored in link.restored(cells)}
        return columns


def _holds_minutes(column: Column) -> bool:
    return isinstance(column, Numeric) and column.integer and column.low >= 0


def _at_the_clock(column: Column, minutes: Floats) -> tuple[Column, Floats]:
    assert isinstance(column, Numeric)
    low, high = to_clock(np.array([column.low, column.high])).tolist()
    return Numeric(name=column.name, low=low, high=high, decimals=0), to_clock(minutes)


def of_columns(columns: Sequence[tuple[Column, Floats]], n_rows: int) -> Table:
    """Return the table of these columns and their cells."""
    values = np.column_stack([cells for _, cells in columns]) if columns else np.empty((n_rows, 0))
    return Table(schema=Schema(tuple(column for column, _ in columns)), values=values)
