"""How values are written as text, read from the rows or declared: 1.50, TRUE, 2024-03-01T12:30."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tabveil.frame import text
from tabveil.frame.raw_column import EXACT, Kind, Texts, is_text
from tabveil.frame.text import Iso

MOST_DIGITS = 6
"""Longer fractions are written as short as they read back exactly."""

TRUTH: Mapping[str, tuple[str, str]] = {
    "True": ("False", "True"),
    "true": ("false", "true"),
    "TRUE": ("FALSE", "TRUE"),
    "1": ("0", "1"),
}
"""The ways to write truth values, by the word for true."""

_TEMPLATE = re.compile(
    r"YYYY-MM-DD(?:(?P<separator>[T ])HH:MM(?P<seconds>:SS(?:\.(?P<fraction>f{1,9}))?)?"
    r"(?P<zone>Z|[+-](?:0\d|1[0-5]):?[0-5]\d)?)?"
)


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """One column's way of writing its values."""

    missing: str = ""
    digits: int | None = None  # after the point, in every number
    point: bool = False  # every number has a point or an exponent
    comma: bool = False
    words: tuple[str, str] = ("False", "True")
    iso: Iso | None = None


def iso_of(template: str) -> Iso | None:
    """Return the way of writing moments that a template shows, or None if it shows none.

    >>> iso_of("YYYY-MM-DD HH:MM:SS.fff")
    Iso(separator=' ', seconds=True, digits=3, zone=None)
    """
    found = _TEMPLATE.fullmatch(template)
    if found is None:
        return None
    return Iso(
        separator=found["separator"] or "",
        seconds=found["seconds"] is not None,
        digits=len(found["fraction"] or ""),
        zone=found["zone"],
    )


def template_of(iso: Iso) -> str:
    """Show a way of writing moments as a template: the inverse of :func:`iso_of`."""
    if not iso.separator:
        return "YYYY-MM-DD"
    seconds = ":SS" if iso.seconds else ""
    fraction = f".{'f' * iso.digits}" if iso.digits else ""
    return f"YYYY-MM-DD{iso.separator}HH:MM{seconds}{fraction}{iso.zone or ''}"


def form_of(piece: Texts, kind: Kind) -> TextFormat:
    """Learn how a piece writes its values, where all of it agrees."""
    kept = ~piece.missing_words if kind is not Kind.LABELS else np.ones(len(piece.texts), np.bool_)
    words = piece.words.filter(pa.array(kept))
    blanks = {*piece.blanks, *piece.texts.filter(pa.array(~kept)).to_pylist()}
    missing = blanks.pop() if piece.verbatim and len(blanks) == 1 else ""
    match kind:
        case Kind.NUMBER:
            digits = _common_digits(words, "," if piece.has_comma else ".")
            point = bool(text.matches(words, r"[.eE]").all()) and len(words) > 0
            return TextFormat(missing=missing, digits=digits, point=point, comma=piece.has_comma)
        case Kind.BOOLEAN:
            return TextFormat(missing=missing, words=_truth_words(words))
        case Kind.MOMENT:
            return TextFormat(missing=missing, iso=piece.moments.iso)
        case _:
            return TextFormat(missing=missing)


def plain_type(piece: Texts, kind: Kind, form: TextFormat) -> pa.DataType:
    """Return the Arrow type of the values that text of this form stands for."""
    match kind:
        case Kind.NUMBER:
            words = piece.words.filter(pa.array(~piece.missing_words))
            return pa.int64() if text.matches(words, r"^[+-]?\d+$").all() else pa.float64()
        case Kind.BOOLEAN:
            return pa.bool_()
        case Kind.MOMENT:
            assert form.iso is not None
            return moment_type(form.iso)
        case _:
            return pa.string()


def moment_type(iso: Iso) -> pa.DataType:
    """Return the Arrow type of moments that are written this way."""
    if not iso.separator:
        return pa.date32()
    unit = "s" if iso.digits == 0 else "ms" if iso.digits <= 3 else "us"  # noqa: PLR2004 - SI
    return pa.timestamp(unit, None if iso.zone is None else "UTC")


def _common_digits(words: pa.Array, mark: str) -> int | None:
    """Return the number of digits after the point if every number has the same."""
    if len(words) == 0 or not text.matches(words, rf"^-?\d+[{mark}]\d+$").all():
        return None
    whole = pc.find_substring(words, mark)
    lengths = pc.unique(pc.subtract(pc.utf8_length(words), whole)).to_pylist()
    return lengths[0] - 1 if len(lengths) == 1 and lengths[0] - 1 <= MOST_DIGITS else None


def _truth_words(words: pa.Array) -> tuple[str, str]:
    if len(words) and not text.numbers(words)[1].any():
        return "0", "1"
    for pair in TRUTH.values():
        if text.as_bools(pc.is_in(words, pa.array(pair, words.type))).all():
            return pair
    return TRUTH["True"]


def render(array: pa.Array, form: TextFormat) -> pa.Array:
    """Write typed values as text of this form; missing stays missing."""
    kind = array.type
    if is_text(kind):
        return array.cast(pa.large_string())
    if pt.is_boolean(kind):
        return pa.array(form.words, pa.large_string()).take(array.cast(pa.int8()))
    if pt.is_float16(kind):  # Arrow cannot round it
        return render(array.cast(pa.float32()), form)
    if pt.is_floating(kind):
        return _render_floats(array, form)
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return _render_moments(array, form.iso)
    if pt.is_dictionary(kind):
        return render(array.dictionary_decode(), form)
    if pt.is_duration(kind):
        return _join(array.cast(pa.int64()).cast(pa.large_string()), kind.unit, between=" ")
    return array.cast(pa.large_string())


def _render_floats(array: pa.Array, form: TextFormat) -> pa.Array:
    if form.digits is not None:
        written = _fixed(array, form.digits)
    else:
        whole = pc.and_(pc.equal(pc.round(array), array), pc.less(pc.abs(array), float(EXACT)))
        plain = pc.if_else(whole, array, pa.scalar(0.0, array.type)).cast(pa.int64()).cast(pa.large_string())
        plain = _join(plain, "0", between=".") if form.point else plain
        short = pc.replace_substring_regex(array.cast(pa.large_string()), r"e([+-])(\d)$", r"e\10\2")
        written = pc.if_else(whole, plain, short)  # 1e-05, as most programs write
    return pc.replace_substring(written, ".", ",") if form.comma else written


def _join(texts: pa.Array, end: str, *, between: str) -> pa.Array:
    kind = pa.large_string()
    return pc.binary_join_element_wise(texts, pa.scalar(end, kind), pa.scalar(between, kind))


def _fixed(array: pa.Array, digits: int) -> pa.Array:
    largest = pc.max(pc.abs(array)).as_py() or 0.0
    if largest * 10**digits >= EXACT:
        return array.cast(pa.large_string())
    return pc.round(array, digits).cast(pa.float64()).cast(pa.decimal128(38, digits)).cast(pa.large_string())


def _render_moments(array: pa.Array, iso: Iso | None) -> pa.Array:
    if pt.is_date(array.type):
        array = (
            array.cast(pa.date32()) if iso is None or not iso.separator else array.cast(pa.timestamp("us"))
        )
    if pt.is_date32(array.type):
        return array.cast(pa.large_string())
    if iso is None:
        return _as_it_stands(array)
    ticks = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64())
    written = pc.add(ticks, iso.offset).cast(pa.timestamp("us")).cast(pa.large_string())
    if iso.digits > 6:  # noqa: PLR2004 - microseconds have six digits
        written = pc.utf8_rpad(written, 20 + iso.digits, "0")
    length = 20 + iso.digits if iso.digits else 19 if iso.seconds else 16 if iso.separator else 10
    cut = pc.utf8_slice_codeunits(written, 0, length)
    cut = pc.replace_substring(cut, " ", iso.separator) if iso.separator else cut
    return _join(cut, iso.zone, between="") if iso.zone else cut


def _as_it_stands(array: pa.Array) -> pa.Array:
    """Write typed datetimes with no more digits than the values need."""
    zoned = array.type.tz is not None
    for unit in ("s", "ms", "us", "ns"):
        try:
            exact = array.cast(pa.timestamp(unit, array.type.tz))
        except pa.ArrowInvalid:
            continue
        written = exact.cast(pa.timestamp(unit, "UTC" if zoned else None)).cast(pa.large_string())
        return pc.replace_substring(written, " ", "T")
    return array.cast(pa.large_string())
