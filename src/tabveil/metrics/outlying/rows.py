"""A table whose rows are compared with each other: how it is read, and how some of its rows are told."""

from collections.abc import Iterable
from typing import Any

from tabveil.core.table import Indices, Table
from tabveil.errors import ParameterError
from tabveil.tables.reading import load_table
from tabveil.tables.reading.wording import listed

FEW_ROWS = 8
"""So many positions stand in a line; all are asked for by name."""


def read_rows(
    owner: str,
    table: Any,  # noqa: ANN401 - a path or a table of any dataframe library, or one of ours
    *,
    schema: Any,  # noqa: ANN401 - a path or plain data
    missing: Iterable[str],
    drop_identifiers: bool,
) -> tuple[Table, tuple[str, ...]]:
    """Return the rows, and what to know about how they were read."""
    rows, notes = _read(owner, table, schema=schema, missing=missing, drop_identifiers=drop_identifiers)
    if not len(rows):
        raise ParameterError(f"{owner}: the table has no rows.")
    return rows, notes


def _read(
    owner: str,
    table: Any,  # noqa: ANN401 - as above
    *,
    schema: Any,  # noqa: ANN401 - as above
    missing: Iterable[str],
    drop_identifiers: bool,
) -> tuple[Table, tuple[str, ...]]:
    if isinstance(table, Table):
        return table, ()
    loaded = load_table(table, schema=schema, missing=missing)
    if not loaded.identifiers:
        return loaded.table, loaded.notes
    columns = listed(loaded.identifiers)
    if not drop_identifiers:
        advice = "if they name people, leave them out with drop_identifiers=True."
        return loaded.table, (*loaded.notes, f"Nearly every row has its own value in {columns}: {advice}")
    names = [name for name in loaded.table.schema.names if name not in loaded.identifiers]
    if not names:
        raise ParameterError(f"{owner}: no columns are left once identifiers are dropped ({columns}).")
    return loaded.table.select(names), (*loaded.notes, f"Left out as identifiers: {columns}.")


def first_positions(rows: Indices) -> str:
    """Write the first few positions in a line."""
    more = ", …" if len(rows) > FEW_ROWS else ""
    return ", ".join(map(str, rows[:FEW_ROWS].tolist())) + more
