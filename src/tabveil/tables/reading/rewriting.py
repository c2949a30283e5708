"""Some rows of a table, or other texts in its cells, in the kind of table that came in."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.types as pt
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.check import quoted
from tabveil.core.table import Indices, Table
from tabveil.errors import SchemaError
from tabveil.tables.reading import sources
from tabveil.tables.reading.arrow import RawTable, computable, missing_cells, take_rows
from tabveil.tables.reading.files import Source, read_raw
from tabveil.tables.reading.layout import Layout, to_arrow, to_native, to_text
from tabveil.tables.reading.load import load_table


def raw_rows(data: Any) -> RawTable:  # noqa: ANN401 - a path or any kind of table
    """Return the rows before anybody decided what types their columns have."""
    return read_raw(data) if isinstance(data, (str, Path)) else sources.read(data, "data").data


def native_parts(data: Any, parts: Iterable[NDArray[np.int64]]) -> list[Any]:  # noqa: ANN401 - likewise
    """Return rows by their numbers: of a dataframe as it has them, of a file as an Arrow table with types."""
    if isinstance(data, (str, Path, Source)):
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
    labels = tuple(written.column_names)
    return Source(
        role="data", library=layout.library, data=written, labels=labels, csv=layout.csv, verbatim=True
    )


_PANDAS = b"pandas"
_NO_TEXTS = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary, pt.is_nested)


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnTexts:
    """The different texts of a column, and which of them each cell holds; -1 where it is missing.

    ``whole`` says that the column is one of whole numbers, not of texts that look like them.
    """

    texts: tuple[str, ...]
    codes: Indices  # (n,)
    whole: bool


def column_texts(owner: str, data: RawTable, name: str, *, as_written: bool = False) -> ColumnTexts:
    """Read a column as texts, without the spaces around them; ``as_written``, they and empty texts stay."""
    check.known_names(owner, "column", [name], data.column_names)
    if data.column_names.count(name) > 1:
        raise SchemaError(owner, f"several columns are called {name!r}. Rename them.")
    column = computable(data.column(name))
    kind = column.type.value_type if pt.is_dictionary(column.type) else column.type
    if any(test(kind) for test in _NO_TEXTS):
        raise SchemaError(owner, f"column {quoted(name)} has type {quoted(kind)}, which is no text.")
    cells = column.cast(kind).cast(pa.large_string()).to_pylist()
    missing = missing_cells(data, name)
    if as_written:
        missing = np.array([cell is None for cell in cells], dtype=np.bool_)
    places: dict[str, int] = {}
    codes = np.full(len(cells), -1, dtype=np.int64)
    for row in np.flatnonzero(~missing).tolist():
        text = cells[row] if as_written else cells[row].strip()
        codes[row] = places.setdefault(text, len(places))
    whole = pt.is_integer(kind) or (
        pt.is_floating(kind) and all(text.lstrip("-").isdigit() for text in places)
    )
    return ColumnTexts(texts=tuple(places), codes=codes, whole=whole)


def replace_raw(data: RawTable, columns: Mapping[str, ColumnTexts]) -> RawTable:
    """Return the rows of a file with these columns instead, as numbers where they are whole numbers."""
    for name, column in columns.items():
        cells = pa.array(_cells(column), None if column.whole else pa.large_string())
        data = data.set_column(data.column_names.index(name), name, cells)
    metadata = dict(data.schema.metadata or {})
    if _PANDAS in metadata:  # pandas noted types for these columns, which have others now
        noted = json.loads(metadata[_PANDAS])
        kept = [item for item in noted.get("columns", []) if item.get("field_name") not in columns]
        metadata[_PANDAS] = json.dumps({**noted, "columns": kept}).encode()
    return data.replace_schema_metadata(metadata)


def replace_native(data: Any, columns: Mapping[str, ColumnTexts]) -> Any:  # noqa: ANN401 - any kind of table
    """Return a table of the same kind with these columns instead; of a file an Arrow table with types."""
    if isinstance(data, (str, Path, Source)):
        loaded = load_table(data)
        data = to_native(loaded.table, loaded.layout)
    frame = nw.from_native(data)
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    fresh = [
        nw.new_series(name, _cells(column), backend=whole.implementation) for name, column in columns.items()
    ]
    if nw.dependencies.is_pandas_dataframe(whole.to_native()):  # its own index must fit
        fresh = [nw.maybe_set_index(series, index=whole.to_native().index) for series in fresh]
    return whole.with_columns(*fresh).to_native()


def replace_source(data: Source, columns: Mapping[str, ColumnTexts]) -> Source:
    """Return rows as they were read with these columns instead; what was known of their types is not kept."""
    return replace(
        data,
        data=replace_raw(data.data, columns),
        dtypes={name: dtype for name, dtype in data.dtypes.items() if name not in columns},
        blanks={name: blank for name, blank in data.blanks.items() if name not in columns},
        sha256=None,
    )


def _cells(column: ColumnTexts) -> list[Any]:
    values: list[Any] = [int(text) for text in column.texts] if column.whole else list(column.texts)
    return [None if code < 0 else values[code] for code in column.codes.tolist()]


def other_columns_raw(data: Any, columns: Table, layout: Layout, order: Indices) -> RawTable:  # noqa: ANN401 - a path or any kind of table
    """Return the rows of a file, or a dataframe, in this order, with these columns in the place of its own.

    The columns are written as they stood; all others stay as they stand.
    """
    raw = raw_rows(data)
    # What came as text leaves as text: a date keeps its form.
    written = to_arrow(columns, layout) if layout.csv is None else to_text(columns, layout)
    for name, written_as in zip(columns.schema.names, written.column_names, strict=True):
        raw = raw.set_column(raw.column_names.index(name), name, written.column(written_as))
    return take_rows(raw, order)


def other_columns_source(data: Any, columns: Table, layout: Layout, order: Indices) -> Source:  # noqa: ANN401 - likewise
    """Return these rows as they would be read."""
    whole = sources.read(data, "data")
    return replace(whole, data=other_columns_raw(whole, columns, layout, order), sha256=None)


def other_columns_native(data: Any, columns: Table, layout: Layout, order: Indices) -> Any:  # noqa: ANN401 - a dataframe
    """Return these rows in the kind of table that came in."""
    frame = nw.from_native(data)
    whole = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    fresh = list(nw.from_native(to_native(columns, layout)).iter_columns())
    if nw.dependencies.is_pandas_dataframe(whole.to_native()):  # its own index must fit
        fresh = [nw.maybe_set_index(series, index=whole.to_native().index) for series in fresh]
    return whole.with_columns(*fresh)[order].to_native()
