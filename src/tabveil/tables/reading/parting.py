"""Some rows of a table, in the kind of table that came in, or just as they were read."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Table
from tabveil.tables.reading import sources
from tabveil.tables.reading.arrow_types import take_rows
from tabveil.tables.reading.files import read_raw
from tabveil.tables.reading.hashing import RawTable
from tabveil.tables.reading.layout import Layout, to_native, to_text
from tabveil.tables.reading.load import load_table
from tabveil.tables.reading.sources import Source


def raw_rows(data: Any) -> RawTable:  # noqa: ANN401 - a path or any kind of table
    """Return the rows before anybody decided what types their columns have."""
    return read_raw(data) if isinstance(data, (str, Path)) else sources.read(data, "data").data


def native_parts(data: Any, parts: Iterable[NDArray[np.int64]]) -> list[Any]:  # noqa: ANN401 - likewise
    """Return rows by their numbers: of a dataframe as it has them, of a file as an Arrow table with types."""
    if isinstance(data, (str, Path)):
        loaded = load_table(data)
        return [to_native(loaded.table.take(rows), loaded.layout) for rows in parts]
    frame = nw.from_native(data)
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    return [whole[rows].to_native() for rows in parts]


def parts_as_read(data: Any, parts: Iterable[NDArray[np.int64]]) -> list[Source]:  # noqa: ANN401 - likewise
    """Return rows by their numbers as they would be read from a file, or a dataframe, that has no others.

    Nothing was decided yet about the types of columns, so that no part can learn of the others.
    """
    whole = sources.read(data, "data")
    return [replace(whole, data=take_rows(whole.data, rows), sha256=None) for rows in parts]


def as_read(table: Table, layout: Layout) -> Any:  # noqa: ANN401 - whatever can be read as a table
    """Return rows that were made here as they would be read from where they are going to stand.

    What came as text leaves as text, and is compared with other rows as such.
    """
    if layout.csv is None:
        return to_native(table, layout)
    written = to_text(table, layout)
    names = tuple(written.column_names)
    return Source(
        role="data",
        library=layout.library,
        data=written,
        labels=names,
        dtypes=(None,) * len(names),
        blanks=(None,) * len(names),
        csv=layout.csv,
        verbatim=True,
    )
