"""The one door for data: pandas, polars, Arrow, CSV, Parquet, Feather, Excel to tables of cells, and back."""

from pathlib import Path

from tabveil.frame import files
from tabveil.frame.arrow_types import take_rows
from tabveil.frame.describe import describe
from tabveil.frame.files import read_raw, write_raw
from tabveil.frame.layout import Layout, cells_as_text, edges_in_words, to_arrow, to_native, to_text
from tabveil.frame.load import LoadedTable, LoadedTables, load_split, load_table, person_columns
from tabveil.frame.parting import as_read, native_parts, parts_as_read, raw_rows
from tabveil.frame.sources import Source
from tabveil.table import Table

__all__ = [
    "Layout",
    "LoadedTable",
    "LoadedTables",
    "Source",
    "as_read",
    "cells_as_text",
    "describe",
    "edges_in_words",
    "load_split",
    "load_table",
    "native_parts",
    "parts_as_read",
    "person_columns",
    "raw_rows",
    "read_raw",
    "take_rows",
    "to_native",
    "write",
    "write_raw",
]


def write(table: Table, layout: Layout, path: str | Path) -> None:
    """Write a table to a file of the kind its suffix says, whole or not at all.

    A text file keeps the delimiter, the encoding and the way values were written in the file that came in.
    """
    path = Path(path)
    if files.is_text_file(path):
        files.write(to_text(table, layout), path, layout.csv)
    else:
        files.write(to_arrow(table, layout), path)
