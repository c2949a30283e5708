"""Layouts as plain data, so that a stored model can write rows in the form of the file it learned from.

Only what a file needs is kept: a pandas or polars table is remembered as the Arrow table it corresponds to.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import require_plain
from tabveil.errors import ParameterError
from tabveil.tables.reading.csvfile import DELIMITERS, ENCODINGS, CsvForm
from tabveil.tables.reading.layout import ColumnLayout, Layout, Library
from tabveil.tables.reading.moments import DATES, MINUTE, STEPS, is_zone
from tabveil.tables.reading.number_form import GROUPS, MARKS, is_unit
from tabveil.tables.reading.raw_column import Kind, is_number, is_text
from tabveil.tables.reading.written import MOST_DIGITS, TextFormat

FORMAT = 2
_NANOSECONDS = 9  # digits

_UNITS = ("s", "ms", "us", "ns")
_PLAIN: Mapping[str, pa.DataType] = {
    str(kind): kind
    for kind in (
        pa.null(),
        pa.bool_(),
        *(getattr(pa, f"{sign}int{width}")() for sign in ("", "u") for width in (8, 16, 32, 64)),
        *(pa.float16(), pa.float32(), pa.float64()),
        *(pa.string(), pa.large_string(), pa.string_view()),
        *(pa.date32(), pa.date64()),
        *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
        *(pa.duration(unit) for unit in _UNITS),
        *(pa.timestamp(unit) for unit in _UNITS),
    )
}
"""The types without parameters of their own, by the name Arrow writes for them."""


def to_json(layout: Layout) -> dict[str, Any]:
    """Return a layout as plain data.

    >>> text = ColumnLayout(label="sex", kind=Kind.LABELS, type=pa.string(), plain=pa.string())
    >>> to_json(Layout(library=Library.FILE, columns={"sex": text}))["columns"][0]["type"]
    'string'
    """
    return {
        "tabveil_layout": FORMAT,
        "csv": None if layout.csv is None else asdict(layout.csv),
        "columns": [
            {
                "name": name,
                "label": str(place.label),
                "kind": place.kind.name.lower(),
                "type": _type_to_json(place.type),
                "plain": _type_to_json(place.plain),
                "step": place.step,
                "form": {**asdict(place.form), "words": list(place.form.words)},
            }
            for name, place in layout.columns.items()
        ],
    }


def from_json(data: Any) -> Layout:  # noqa: ANN401 - whatever stands in a file
    """Rebuild what :func:`to_json` wrote; what it would not have written is refused."""
    match data:
        case {"tabveil_layout": form} if form != FORMAT:
            raise ParameterError("layout", "stored by another version of tabveil; fit the model again.")
    try:
        known = require_plain(_StoredLayout, data, "layout")
        require(len({item.name for item in known.columns}) == len(known.columns), "a column stands twice")
        layout = Layout(
            library=Library.FILE, columns={item.name: _column(item) for item in known.columns}, csv=known.csv
        )
        if known.csv is not None:
            require(known.csv.delimiter in tuple(DELIMITERS), "no delimiter")
            require(known.csv.encoding in ENCODINGS, "no encoding")
        written = to_json(layout)  # no key is missing, and none is more
        require(all(data[key] == written[key] for key in written), "it is not what is written for a layout")
    except (LookupError, TypeError, ValueError, ArithmeticError, pa.ArrowException) as error:
        raise ParameterError("layout", "it cannot be read; fit the model again.") from error
    return layout


@dataclass(frozen=True, kw_only=True)
class _StoredColumn:
    """What is stored of one column."""

    name: str
    label: str
    kind: str
    type: Any
    plain: Any
    step: int
    form: TextFormat


@dataclass(frozen=True, kw_only=True)
class _StoredLayout:
    """What is stored of a layout; whoever stores it may put more beside it."""

    tabveil_layout: int
    csv: CsvForm | None
    columns: tuple[_StoredColumn, ...]


def _column(item: _StoredColumn) -> ColumnLayout:
    kind, plain, came = Kind[item.kind.upper()], _type_from_json(item.plain), _type_from_json(item.type)
    holds = kind is Kind.LABELS or any(test(plain) for test in (*_HELD_AS.get(kind, ()), is_text, pt.is_null))
    require(kind in (*_HELD_AS, Kind.LABELS) and holds, "a column of values that it cannot hold")
    require(came == plain or is_text(came) or pt.is_dictionary(came), "a column of two types")
    require(item.step in _STEPS.get(kind, (1,)), "a column in units of no clock")
    _require_form(item.form)
    return ColumnLayout(label=item.label, kind=kind, type=came, plain=plain, step=item.step, form=item.form)


_HELD_AS: Mapping[Kind, tuple[Callable[[pa.DataType], bool], ...]] = {
    Kind.NUMBER: (is_number,),
    Kind.BOOLEAN: (pt.is_boolean, is_number),
    Kind.MOMENT: (pt.is_date, pt.is_timestamp),
    Kind.TIME: (pt.is_time,),
    Kind.DURATION: (pt.is_duration,),
}
"""Which types the values of each kind can have, beside text, and null where all are missing. Labels can have
any; other kinds are decided before a layout is made."""
_STEPS: Mapping[Kind, tuple[int, ...]] = {
    Kind.MOMENT: tuple(STEPS.values()),
    Kind.TIME: (MINUTE, *STEPS.values()),
    Kind.DURATION: tuple(STEPS.values()),
}


def _require_form(form: TextFormat) -> None:
    for digits in (form.digits, form.places):
        require(digits is None or 0 <= digits <= MOST_DIGITS, "numbers with digits that nobody writes")
    require(form.words[0] != form.words[1], "true and false are one word")
    number = form.number
    require(number.mark in MARKS and number.group in GROUPS, "numbers with marks that nobody writes")
    require(number.mark != number.group, "decimals and thousands have one mark")
    require(is_unit(number.before) and is_unit(number.after), "numbers with a unit that is none")
    if form.moment is not None:
        moment = form.moment
        require(moment.date in ("", *DATES), "dates in an order that nobody writes")
        require(moment.separator in ("", "T", " "), "dates with a separator that nobody writes")
        require(bool(moment.date) or not moment.separator, "times with a separator but no date")
        require(0 <= moment.digits <= _NANOSECONDS, "times with digits that nobody writes")
        require(moment.zone is None or is_zone(moment.zone), "times in a zone that is none")


def _type_to_json(kind: pa.DataType) -> Any:  # noqa: ANN401 - a name, or a name with parameters
    if pt.is_dictionary(kind):
        return {
            "values": _type_to_json(kind.value_type),
            "codes": _type_to_json(kind.index_type),
            "ordered": kind.ordered,
        }
    if pt.is_timestamp(kind) and kind.tz is not None:
        return {"timestamp": kind.unit, "zone": kind.tz}
    if pt.is_decimal(kind):
        return {"decimal": kind.bit_width, "digits": kind.precision, "decimals": kind.scale}
    if str(kind) not in _PLAIN:
        raise ParameterError("layout", f"columns of type {kind} cannot be stored.")
    return str(kind)


def _type_from_json(data: Any) -> pa.DataType:  # noqa: ANN401 - see above
    match data:
        case str():
            return _PLAIN[data]
        case {"values": values, "codes": str(codes), "ordered": bool(ordered)}:
            held = _type_from_json(values)
            require(not pt.is_dictionary(held), "categories of categories")
            return pa.dictionary(_PLAIN[codes], held, ordered=ordered)
        case {"timestamp": str(unit), "zone": str(zone)}:
            return pa.timestamp(unit, zone)
        case {"decimal": 32 | 64 | 128 | 256 as width, "digits": int(digits), "decimals": int(decimals)}:
            return getattr(pa, f"decimal{width}")(digits, decimals)
        case _:
            raise ValueError("not a type")
