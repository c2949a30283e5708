"""The one door for data: pandas, polars, Arrow, CSV, Parquet, Feather, Excel to tables of cells, and back."""

from pathlib import Path

from tabveil.core.table import Table
from tabveil.tables.reading import files
from tabveil.tables.reading.arrow import put_together, take_rows
from tabveil.tables.reading.describe import describe, type_name
from tabveil.tables.reading.files import Source, listed_columns, read_raw, write_raw
from tabveil.tables.reading.layout import (
    Layout,
    cells_as_text,
    edges_in_words,
    people_layout,
    to_arrow,
    to_native,
    to_text,
)
from tabveil.tables.reading.load import (
    LoadedTable,
    LoadedTables,
    load_releases,
    load_split,
    load_table,
    person_columns,
)
from tabveil.tables.reading.rewriting import as_read, native_parts, parts_as_read, raw_rows
from tabveil.tables.reading.sources import leave_out

__all__ = [
    "Layout",
    "LoadedTable",
    "LoadedTables",
    "Source",
    "as_read",
    "cells_as_text",
    "describe",
    "edges_in_words",
    "leave_out",
    "listed_columns",
    "load_releases",
    "load_split",
    "load_table",
    "native_parts",
    "parts_as_read",
    "people_layout",
    "person_columns",
    "put_together",
    "raw_rows",
    "read_raw",
    "take_rows",
    "to_native",
    "type_name",
    "write",
    "write_raw",
]


def write(table: Table, layout: Layout, path: str | Path) -> None:
    """Write a table to a file of the kind its suffix says, whole or not at all.

    A text file keeps the delimiter, the encoding and the way values were written in the file that came in.
    """
    rows = to_text(table, layout) if files.is_text_file(Path(path)) else to_arrow(table, layout)
    files.write(rows, Path(path), layout.csv)
