"""Layouts as plain data, so that a stored model can write rows in the form of the file it learned from.

Only what a file needs is kept: a pandas or polars table is remembered as the Arrow table it corresponds to.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pyarrow as pa
import pyarrow.types as pt

from tabveil.errors import ParameterError
from tabveil.frame.csvfile import DELIMITERS, CsvForm
from tabveil.frame.layout import ColumnLayout, Layout, Library
from tabveil.frame.raw_column import Kind
from tabveil.frame.text import Iso
from tabveil.frame.text_format import TextFormat

FORMAT = 1

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
                "form": asdict(place.form),
            }
            for name, place in layout.columns.items()
        ],
    }


def from_json(data: Any) -> Layout:  # noqa: ANN401 - whatever stands in a file
    """Rebuild what :func:`to_json` wrote."""
    try:
        if data["tabveil_layout"] != FORMAT:
            raise ParameterError("layout: stored by another version of tabveil; fit the model again.")
        return Layout(
            library=Library.FILE,
            columns={str(item["name"]): _column(item) for item in data["columns"]},
            csv=None if data["csv"] is None else _csv(data["csv"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, LookupError, pa.ArrowException) as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError("layout: it cannot be read; fit the model again.") from None


def _column(item: Mapping[str, Any]) -> ColumnLayout:
    return ColumnLayout(
        label=str(item["label"]),
        kind=Kind[item["kind"].upper()],
        type=_type_from_json(item["type"]),
        plain=_type_from_json(item["plain"]),
        step=int(item["step"]),
        form=_form(item["form"]),
    )


def _form(data: Mapping[str, Any]) -> TextFormat:
    false, true = data["words"]
    return TextFormat(
        missing=str(data["missing"]),
        digits=None if data["digits"] is None else int(data["digits"]),
        point=bool(data["point"]),
        comma=bool(data["comma"]),
        words=(str(false), str(true)),
        iso=None if data["iso"] is None else _iso(data["iso"]),
    )


def _iso(data: Mapping[str, Any]) -> Iso:
    iso = Iso(
        separator=str(data["separator"]),
        seconds=bool(data["seconds"]),
        digits=int(data["digits"]),
        zone=None if data["zone"] is None else str(data["zone"]),
    )
    assert isinstance(iso.offset, int)  # refuses a zone that is none
    return iso


def _csv(data: Mapping[str, Any]) -> CsvForm:
    form = CsvForm(**data)
    "".encode(form.encoding)  # refuses an encoding that nobody knows
    if form.delimiter not in tuple(DELIMITERS):
        raise ValueError("not a delimiter")
    return form


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
        raise ParameterError(f"layout: columns of type {kind} cannot be stored.")
    return str(kind)


def _type_from_json(data: Any) -> pa.DataType:  # noqa: ANN401 - see above
    match data:
        case str():
            return _PLAIN[data]
        case {"values": values, "codes": codes, "ordered": bool(ordered)}:
            return pa.dictionary(_type_from_json(codes), _type_from_json(values), ordered=ordered)
        case {"timestamp": str(unit), "zone": str(zone)}:
            return pa.timestamp(unit, zone)
        case {"decimal": 32 | 64 | 128 | 256 as width, "digits": int(digits), "decimals": int(decimals)}:
            return getattr(pa, f"decimal{width}")(digits, decimals)
        case _:
            raise ValueError("not a type")
