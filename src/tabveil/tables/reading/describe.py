"""The schema file that ``tabveil schema`` writes: what each column was taken for, ready to be edited."""

import textwrap
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow.types as pt
import yaml

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Indices
from tabveil.tables.reading import declare
from tabveil.tables.reading.csvfile import CsvForm
from tabveil.tables.reading.infer import TypeName
from tabveil.tables.reading.layout import ColumnLayout
from tabveil.tables.reading.load import LoadedTable, load_table
from tabveil.tables.reading.moments import ISO, STEPS, MomentForm, template_of
from tabveil.tables.reading.number_form import NumberForm, example_of
from tabveil.tables.reading.raw_column import Kind

_HEAD = """\
# What tabveil takes each column for. Change what is wrong, delete what is right if you like,
# and give the file to an audit with --schema. Columns that are not listed are recognized as usual.
#
# Types: integer, real, boolean, category, ordered category, date, datetime, time, duration, identifier, text.
# Numbers that are codes (such as a ward's number) are better declared as category.
# An order is given by listing the labels:
#   severity: {type: ordered category, labels: [mild, moderate, severe]}
# An identifier names people. Generators do not learn it; rows carry fresh ones, of this form if one is given:
#   case: {type: identifier, form: "AB-0000"}
# Text is what people wrote: an audit compares rows by the number of its words, and looks for its passages in
# the release. Generators do not learn it.
# Where people have several rows, name the column that says whose row it is, not under columns:
# person: patient
# Private generators want to know which values are possible without looking at the rows:
#   age: {type: integer, low: 0, high: 120}
#   weight: {type: real, low: 0, high: 300, decimals: 1}
#   born: {type: date, low: 1900-01-01, high: 2029-12-31}
#   admitted: {type: datetime, low: 2020-01-01, high: 2029-12-31, unit: seconds}
#   ward: {type: category, labels: [north, south]}
# Nor do they look how values are written. If nothing is said, that is True and 2024-03-01T12:30:00:
#   smoker: {type: boolean, form: "TRUE"}
#   seen: {type: datetime, low: 2020-01-01, high: 2029-12-31, unit: seconds, form: "YYYY-MM-DD HH:MM:SS"}
# A form also says how values are read that may be meant in several ways: an example of a number, or the order
# of a date's parts (DD.MM.YYYY, MM/DD/YYYY, DD-Mon-YYYY, YYYYMMDD):
#   cost: {type: real, low: 0, high: 1000000, decimals: 2, form: "1.234,50 EUR"}
#   discharged: {type: date, low: 2020-01-01, high: 2029-12-31, form: DD/MM/YYYY}
# What stands here is taken as known to everybody: look it through.

# Texts that mean missing, in every text column.
"""
Owners = tuple[Indices, Indices]
"""Pairs of a person and a row of theirs."""

_DROP = "\n# Columns to leave out, such as identifiers.\n"
_CSV = "\n# How private generators write text files, and missing cells in them.\n"
_SHOWN_DIGITS = 2
_COLUMNS = "\n# Labels are written here only where each of them occurs at least 10 times.\n"


def describe(
    source: Any,  # noqa: ANN401 - a path or a table
    *,
    missing: Iterable[str] = (),
    drop: str | Iterable[str] = (),
) -> str:
    """Return a schema file for a table, with comments that teach. No rare value stands in it.

    Columns to ``drop`` are listed as such in it, and not described.
    """
    missing = (missing,) if isinstance(missing, str) else tuple(missing)
    declared = declare.read(None, drop=drop)
    loaded = load_table(source, schema=declared, missing=missing)
    form = loaded.layout.csv or CsvForm()
    mark = _mark(loaded)
    csv = {"delimiter": form.delimiter, "encoding": form.encoding, "decimal": mark, "missing": ""}
    lines = [_HEAD, _dump({"missing": list(missing)}), _DROP, _dump({"drop": list(declared.drop)})]
    lines += [_CSV, _dump({"csv": csv}), _COLUMNS]
    if loaded.notes:
        lines.append("#\n# Look at these first:\n")
        wrap = textwrap.TextWrapper(100, initial_indent="# - ", subsequent_indent="#  ")
        lines += [f"{wrap.fill(note)}\n" for note in loaded.notes]
    lines.append("columns:\n")
    for name, entry in entries(loaded).items():
        lines += [f"  {line}\n" for line in _dump({name: entry}).splitlines()]
    return "".join(lines)


def entries(loaded: LoadedTable, whose: Owners | None = None) -> dict[str, Any]:
    """Return what a schema file says of each column; labels only where enough people have each.

    ``whose`` are pairs of a person and a row of theirs; without, each row is another person.
    """
    mark, found = _mark(loaded), {}
    for column, place in loaded.layout.of(loaded.table):
        cells = loaded.table.column(column.name)
        if whose is not None:  # each value of a person once
            person, row = whose
            cells = np.unique(np.column_stack([person, cells[row]]), axis=0)[:, 1]
        if column.name in loaded.texts:
            found[column.name] = "text"
        elif column.name in loaded.identifiers:
            found[column.name] = "identifier"
        else:
            found[column.name] = _entry(column, place, cells, mark=mark)
    return found


def _mark(loaded: LoadedTable) -> str:
    """Return what stands before decimals in a file whose cells a comma cannot part."""
    form, places = loaded.layout.csv or CsvForm(), loaded.layout.columns.values()
    comma = form.delimiter != "," and any(place.form.number.mark == "," for place in places)
    return "," if comma else "."


def _dump(data: dict[str, Any]) -> str:
    """Write YAML with lists on one line and everything else on lines of its own."""
    flow = None if any(isinstance(value, (list, dict)) for value in data.values()) else False
    return yaml.safe_dump(data, allow_unicode=True, sort_keys=False, default_flow_style=flow, width=10_000)


def _entry(column: Column, place: ColumnLayout, cells: Floats, *, mark: str) -> Any:  # noqa: ANN401 - YAML
    name = type_name(column, place)
    if not place.code and (form := _form(place, mark)) is not None:
        return {"type": name, "form": form}
    if name == "ordered category" and isinstance(column, Categorical):
        counts = np.bincount(cells[~np.isnan(cells)].astype(np.int64), minlength=len(column.labels))
        if len(counts) and counts.min() >= LEAST_SHARED:
            return {"type": name, "labels": list(column.labels)}
    return name


def _form(place: ColumnLayout, mark: str) -> str | None:
    """Return how values are written, if it is not the way that is usual; ``mark`` stands before decimals."""
    number, moment = place.form.number, place.form.moment
    match place.kind:
        case Kind.BOOLEAN:
            true = place.form.words[1]
            return None if true == "True" else true
        case Kind.NUMBER if number not in (NumberForm(), NumberForm(mark=mark)):
            digits = place.form.digits if place.form.digits is not None else _SHOWN_DIGITS
            return example_of(number, 0 if pt.is_integer(place.plain) else digits)
        case Kind.TIME | Kind.MOMENT if moment is not None and (moment.has_time or moment.date != ISO):
            return template_of(moment)
        case Kind.MOMENT if pt.is_timestamp(place.plain) and place.plain.tz is not None:
            digits = {STEPS["milliseconds"]: 3, STEPS["microseconds"]: 6}.get(place.step, 0)
            return template_of(MomentForm(separator="T", seconds=True, digits=digits, zone="Z"))
        case _:
            return None


def type_name(column: Column, place: ColumnLayout) -> TypeName:
    """Return what a schema file calls this column's type."""
    match place.kind:
        case Kind.NUMBER if place.code:
            return "category"
        case Kind.NUMBER:
            return "integer" if pt.is_integer(place.plain) else "real"
        case Kind.BOOLEAN:
            return "boolean"
        case Kind.MOMENT:
            return "date" if pt.is_date(place.plain) else "datetime"
        case Kind.TIME:
            return "time"
        case Kind.DURATION:
            return "duration"
        case _:
            return "ordered category" if isinstance(column, Categorical) and column.ordered else "category"
