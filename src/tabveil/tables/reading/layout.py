"""The way back: from cells to the kind of table that came in, with its names, types and text forms.

Labels that no row holds are left out of what is handed over. The labels of a column are read from real rows.
A categorical column lists all of them, also those that only one person has and no synthetic row holds: a
release would name them. An ordered column is left whole: its labels are a scale (or an enumeration of
polars), which its author listed and which says little in parts.
"""

import importlib
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tabveil.core import check
from tabveil.core.check import quoted
from tabveil.core.table import Categorical, Column, Numeric, Schema, Table
from tabveil.core.wording import dates
from tabveil.errors import SchemaError
from tabveil.tables.reading.arrow import Floats
from tabveil.tables.reading.csvfile import CsvForm
from tabveil.tables.reading.raw_column import EXACT, Kind, is_text
from tabveil.tables.reading.written import TextFormat, render

_MOST_IN_NS = 2**63 // 1000
"""Microseconds."""


class Library(Enum):
    """Where a table came from."""

    FILE = auto()
    ARROW = auto()
    PANDAS = auto()
    POLARS = auto()


def in_library(frame: pd.DataFrame, library: Library) -> Any:  # noqa: ANN401 - whichever the user works with
    """Return the same rows as a table of the library that somebody works with.

    >>> in_library(pd.DataFrame({"age": [30, 40]}), Library.ARROW).column_names
    ['age']
    """
    match library:
        case Library.PANDAS | Library.FILE:
            return frame
        case Library.ARROW:
            return pa.Table.from_pandas(frame, preserve_index=False)
        case Library.POLARS:
            return importlib.import_module("polars").from_arrow(in_library(frame, Library.ARROW))


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnLayout:
    """How one column stood in its table."""

    label: Any  # its name there, which pandas allows to be a number
    kind: Kind
    type: pa.DataType  # the Arrow type that came, and leaves again
    plain: pa.DataType  # the Arrow type of its values: differs where text stood for numbers or dates
    step: int = 1  # microseconds in a unit, for moments
    form: TextFormat = field(default_factory=TextFormat)
    dtype: Any = None  # of the pandas or polars column
    blank: Any = None  # the missing value of a pandas object column
    code: bool = False  # whole numbers that stand for something, as rows show


def plain_place(column: Column) -> ColumnLayout:
    """Return how a column of labels or whole numbers stands that no table had: as text, or in 64 bits."""
    number = isinstance(column, Numeric)
    kind, plain = (Kind.NUMBER, pa.int64()) if number else (Kind.LABELS, pa.large_string())
    return ColumnLayout(label=column.name, kind=kind, type=plain, plain=plain)


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """How a table stood where it came from."""

    library: Library
    columns: Mapping[str, ColumnLayout]
    csv: CsvForm | None = None

    @property
    def clocks(self) -> dict[str, int]:
        """How many microseconds a unit has, of every column of dates, times and durations."""
        timed = (Kind.MOMENT, Kind.TIME, Kind.DURATION)
        return {name: place.step for name, place in self.columns.items() if place.kind in timed}

    def of(self, table: Table) -> list[tuple[Column, ColumnLayout]]:
        """Pair a table's columns with the way they stood."""
        check.known_names("layout", "column", table.schema.names, self.columns)
        return [(column, self.columns[column.name]) for column in table.schema.columns]


def people_layout(
    layouts: Mapping[str, Layout], person: str, made_of: Mapping[str, tuple[str, str | None]]
) -> Layout:
    """Return how columns of people stand that are their own, or made of columns of linked tables.

    ``made_of`` says of each column that is made which table and column its values are of; None where they are
    numbers of another kind.
    """
    plain = pa.float64()
    some = next(iter(layouts.values()))
    own = layouts.get(person, replace(some, columns={}))
    columns = dict(own.columns)
    for name, (table, source) in made_of.items():
        columns[name] = (
            ColumnLayout(label=name, kind=Kind.NUMBER, type=plain, plain=plain)
            if source is None
            else replace(layouts[table].columns[source], label=name)
        )
    return replace(own, columns=columns, csv=None)


def to_arrow(table: Table, layout: Layout) -> pa.Table:
    """Return an Arrow table with the types that came in."""
    return to_native(table, replace(layout, library=Library.ARROW))


def to_text(table: Table, layout: Layout) -> pa.Table:
    """Return a table of strings, written as a text file wants them; no cell is null."""
    pairs = layout.of(table)
    arrays = []
    for column, place in pairs:
        written = render(_plain_values(table.column(column.name), column, place), place.form)
        arrays.append(pc.fill_null(written, place.form.missing))
    return pa.Table.from_arrays(arrays, names=[str(place.label) for _, place in pairs])


def as_written(values: Floats, column: Column, layout: Layout) -> list[str]:
    """Write single values of a column as text, the way the column does: 18567.0 as 2020-11-01."""
    place = layout.columns[column.name]
    return list(render(_plain_values(values, column, place), place.form).to_pylist())


def edges_in_words(values: Floats, column: Column, layout: Layout) -> list[str] | None:
    """Write the edges of ranges for an axis, ascending: dates no finer than the ranges; None for numbers."""
    place = layout.columns[column.name]
    match place.kind:
        case Kind.MOMENT:
            edges = _plain_values(values, column, place)
            edges = edges.cast(pa.timestamp("us")) if pt.is_date(edges.type) else edges
            return dates(edges.to_pylist())
        case Kind.TIME | Kind.DURATION:
            return as_written(values, column, layout)
        case _:
            return None


def to_native(table: Table, layout: Layout) -> Any:  # noqa: ANN401 - whichever library the user works with
    """Return the rows as the kind of table that came in: pandas, polars, or Arrow (also for a file)."""
    labels = [place.label for _, place in layout.of(table)]
    pairs = ((_arrow_column(table, column, place), place) for column, place in layout.of(table))
    match layout.library:
        case Library.PANDAS:
            parts = [_pandas_column(array, place) for array, place in pairs]
            frame = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=range(len(table)))
            frame.columns = pd.Index(labels)
            return frame
        case Library.POLARS:
            import polars as pl  # noqa: PLC0415 - only for those who brought polars tables

            return pl.DataFrame(
                [_polars_column(pl, array, place).alias(place.label) for array, place in pairs]
            )
        case _:
            return pa.Table.from_arrays([array for array, _ in pairs], names=list(map(str, labels)))


def cells_as_text(table: Table, layout: Layout) -> tuple[list[str], list[list[str]]]:
    """Return the columns' names and every row's cells, as the kind of table that came in writes them."""
    frame = nw.from_native(to_native(table, layout), eager_only=True)
    return list(frame.columns), [
        ["" if cell is None else str(cell) for cell in row] for row in frame.iter_rows()
    ]


def _arrow_column(table: Table, column: Column, place: ColumnLayout) -> pa.Array:
    values = _plain_values(table.column(column.name), column, place)
    if is_text(place.type) and not is_text(values.type) and not pt.is_dictionary(values.type):
        return render(values, place.form).cast(place.type)
    return values


def _plain_values(cells: Floats, column: Column, place: ColumnLayout) -> pa.Array:
    """Turn cells back into values: numbers, truth values, moments, labels."""
    match place.kind:
        case Kind.NUMBER:
            return _numbers(cells, place.plain)
        case Kind.BOOLEAN:
            return _nullable(cells, np.int8).cast(pa.bool_()).cast(place.plain)
        case Kind.MOMENT | Kind.TIME | Kind.DURATION:
            return _moments(np.round(cells) * place.step, place)
        case _:
            if not isinstance(column, Categorical):
                raise SchemaError(
                    f"Column {quoted(column.name)} came as categories and is none in this table."
                )
            return _labels(cells, column, place.plain)


def roomier(place: ColumnLayout, column: Column) -> ColumnLayout:
    """Return a place whose type holds the whole numbers of a column, where its own is too narrow."""
    if place.kind is not Kind.NUMBER or not isinstance(column, Numeric) or column.high < _end(place.plain):
        return place
    wide = pa.float64() if pt.is_floating(place.plain) else pa.int64()
    return replace(place, plain=wide, type=place.type if is_text(place.type) else wide, dtype=None)


def room_for_others(place: ColumnLayout) -> tuple[float, float] | None:
    """Return between which whole numbers a column can hold one more value; None where it holds any text."""
    kind = place.plain.value_type if pt.is_dictionary(place.plain) else place.plain
    if is_text(kind) or pt.is_null(kind):
        return None
    if not (pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind)):
        return 0.0, 0.0
    end = _end(kind)
    return (0.0 if pt.is_unsigned_integer(kind) else -end), end - 1


def _end(kind: pa.DataType) -> float:
    """Return the first whole number that a type does not hold exactly."""
    if pt.is_decimal(kind):
        return float(10 ** max(kind.precision - kind.scale, 0))
    if pt.is_floating(kind):
        return {16: 2.0**11, 32: 2.0**24}.get(kind.bit_width, float(EXACT))
    if pt.is_integer(kind):
        return float(2 ** (kind.bit_width - (0 if pt.is_unsigned_integer(kind) else 1)))
    return math.inf


def _nullable(cells: Floats, dtype: type[np.generic]) -> pa.Array:
    missing = np.isnan(cells)
    return pa.array(np.where(missing, 0, cells).astype(dtype), mask=missing)


def _numbers(cells: Floats, target: pa.DataType) -> pa.Array:
    floats = pa.array(cells, mask=np.isnan(cells))
    if pt.is_floating(target):
        return floats.cast(pa.float32()).cast(target) if pt.is_float16(target) else floats.cast(target)
    try:
        if pt.is_decimal(target):
            return floats.cast(target)
        whole = floats.cast(pa.int64())  # refuses fractions, which another table may have had
        return whole.cast(target)
    except pa.ArrowInvalid:
        return floats


def _moments(ticks: Floats, place: ColumnLayout) -> pa.Array:
    micros = _nullable(ticks, np.int64)
    target = place.plain
    # Nanoseconds end in 2262; a column of them may have met later years in a schema or another table.
    fits = getattr(target, "unit", "us") != "ns" or bool((np.abs(np.nan_to_num(ticks)) < _MOST_IN_NS).all())
    match place.kind:
        case Kind.TIME:
            return micros.cast(pa.time64("us")).cast(target)
        case Kind.DURATION:
            return micros.cast(pa.duration("us")).cast(target if fits else pa.duration("us"), safe=False)
        case _:
            zone = target.tz if pt.is_timestamp(target) else None
            stamps = micros.cast(pa.timestamp("us", zone))
            # A day column that met datetimes in another table keeps the time of day.
            whole_days = not pt.is_date(target) or not (np.nan_to_num(ticks) % 86_400_000_000).any()
            return stamps.cast(target, safe=False) if whole_days and fits else stamps


def _labels(cells: Floats, column: Categorical, target: pa.DataType) -> pa.Array:
    labels = pa.array(column.labels, pa.large_string())
    codes = _nullable(cells, np.int64)
    if pt.is_null(target) and codes.null_count == len(codes):
        return pa.nulls(len(codes))
    if pt.is_dictionary(target):
        bits = target.index_type.bit_width - (not pt.is_unsigned_integer(target.index_type))
        return pa.DictionaryArray.from_arrays(
            codes.cast(target.index_type) if len(labels) <= 2**bits else codes.cast(pa.int32()),
            _cast_labels(labels, target.value_type),
            ordered=target.ordered,
        )
    return _cast_labels(labels, target).take(codes)


def _cast_labels(labels: pa.Array, target: pa.DataType) -> pa.Array:
    """Turn labels back into what they were written from; labels another table brought may not fit."""
    try:
        return labels.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return labels


def _pandas_column(array: pa.Array, place: ColumnLayout) -> "pd.Series[Any]":
    dtype = place.dtype
    if dtype is None or (array.type != place.type and not pt.is_dictionary(array.type)):
        return array.to_pandas()  # type: ignore[no-any-return] # Arrow has no annotations
    if isinstance(dtype, pd.CategoricalDtype):
        series = array.to_pandas()
        used = series.cat.remove_unused_categories().cat.categories
        fresh = [item for item in used if item not in dtype.categories]
        if fresh:  # its own categories first, then those it did not know
            dtype = pd.CategoricalDtype([*dtype.categories, *fresh], ordered=dtype.ordered)
        return series.astype(dtype)  # type: ignore[no-any-return]
    if pd.api.types.is_object_dtype(dtype):
        objects = array.to_pandas().astype(object)
        return objects.where(objects.notna(), place.blank)  # type: ignore[no-any-return]
    if isinstance(dtype, np.dtype) and array.null_count and dtype.kind in "iub":
        dtype = "boolean" if dtype.kind == "b" else dtype.name.replace("int", "Int").replace("u", "U")
    elif isinstance(dtype, (np.dtype, pd.DatetimeTZDtype)):
        return array.to_pandas().astype(dtype)  # type: ignore[no-any-return]
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([array]))).astype(dtype)


def _polars_column(pl: Any, array: pa.Array, place: ColumnLayout) -> Any:  # noqa: ANN401 - optional library
    series = pl.Series(array.dictionary_decode() if pt.is_dictionary(array.type) else array)
    if place.dtype is None or (array.type != place.type and not pt.is_dictionary(array.type)):
        return series
    if isinstance(place.dtype, pl.Enum):
        known = place.dtype.categories.to_list()
        fresh = [item for item in series.drop_nulls().unique(maintain_order=True) if item not in set(known)]
        return series.cast(pl.Enum([*known, *fresh]) if fresh else place.dtype)
    return series.cast(place.dtype)


def without_unused_labels(table: Table, layout: Layout, *, keep: Collection[str]) -> tuple[Table, Layout]:
    """Return the same rows with only the labels in use, but for the columns in ``keep``, and their layout."""
    values, columns, places = np.array(table.values), list(table.schema.columns), dict(layout.columns)
    for position, (column, place) in enumerate(layout.of(table)):
        whole = column.name in keep or (pt.is_dictionary(place.type) and place.type.ordered)
        if whole or place.kind is not Kind.LABELS or not isinstance(column, Categorical):
            continue
        cells = values[:, position]
        held = ~np.isnan(cells)
        used, codes = np.unique(cells[held].astype(np.int64), return_inverse=True)
        values[held, position] = codes
        columns[position] = replace(column, labels=tuple(column.labels[code] for code in used))
        if isinstance(place.dtype, pd.CategoricalDtype):  # it lists them too; Arrow's column brings its own
            places[column.name] = replace(place, dtype=None)
    return Table(schema=Schema(tuple(columns)), values=values), replace(layout, columns=places)


def without_labels(place: ColumnLayout) -> ColumnLayout:
    """Return how a column stands without the labels that its type lists: those of pandas and enumerations."""
    lists = isinstance(place.dtype, pd.CategoricalDtype)
    enumerated = pt.is_dictionary(place.type) and place.type.ordered
    return replace(place, dtype=None) if lists or enumerated else place


def as_labels(layout: Layout, names: Collection[str]) -> Layout:
    """Return the layout in which these columns are text; all others leave as they came."""
    text, columns = pa.large_string(), dict(layout.columns)
    for name in columns.keys() & set(names):
        place = columns[name]
        form = TextFormat(missing=place.form.missing)
        columns[name] = ColumnLayout(label=place.label, kind=Kind.LABELS, type=text, plain=text, form=form)
    return replace(layout, columns=columns)
