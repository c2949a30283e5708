"""How values are written as text, read from the rows or declared: 1.50, TRUE, 2024-03-01T12:30."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tabveil.tables.reading import arrow
from tabveil.tables.reading.moments import MomentForm, from_iso
from tabveil.tables.reading.number_form import NumberForm, from_plain
from tabveil.tables.reading.raw_column import EXACT, Kind, Texts, is_number, is_text

MOST_DIGITS = 12
"""Longer fractions are written as short as they read back exactly."""

TRUTH: Mapping[str, tuple[str, str]] = {
    "True": ("False", "True"),
    "true": ("false", "true"),
    "TRUE": ("FALSE", "TRUE"),
    "1": ("0", "1"),
}
"""The ways to write truth values, by the word for true."""


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """One column's way of writing its values."""

    missing: str = ""
    digits: int | None = None  # after the point, in every number
    places: int | None = None  # after the point at most, where numbers differ in that
    point: bool = False  # every number has a point or an exponent
    number: NumberForm = field(default_factory=NumberForm)
    words: tuple[str, str] = ("False", "True")
    moment: MomentForm | None = None


def form_of(piece: Texts, kind: Kind) -> TextFormat:
    """Learn how a piece writes its values, where all of it agrees."""
    kept = ~piece.missing_words if kind is not Kind.LABELS else np.ones(len(piece.texts), np.bool_)
    words = piece.words.filter(pa.array(kept))
    blanks = {*piece.blanks, *piece.texts.filter(pa.array(~kept)).to_pylist()}
    missing = blanks.pop() if piece.verbatim and len(blanks) == 1 else ""
    match kind:
        case Kind.NUMBER:
            words = piece.numerals.filter(pa.array(kept))
            point = bool(arrow.matches(words, r"[.eE]").all()) and len(words) > 0
            number = piece.way if isinstance(piece.way, NumberForm) else NumberForm()
            fewest, most = _digits(words)
            return TextFormat(
                missing=missing,
                digits=most if fewest == most else None,
                places=most if fewest != most else None,
                point=point,
                number=number,
            )
        case Kind.BOOLEAN:
            return TextFormat(missing=missing, words=_truth_words(words))
        case Kind.MOMENT | Kind.TIME:
            return TextFormat(missing=missing, moment=piece.moments.form)
        case _:
            return TextFormat(missing=missing)


def plain_type(piece: Texts, kind: Kind, form: TextFormat) -> pa.DataType:
    """Return the Arrow type of the values that text of this form stands for."""
    match kind:
        case Kind.NUMBER:
            words = piece.numerals.filter(pa.array(~piece.missing_words))
            return pa.int64() if arrow.matches(words, r"^[+-]?\d+$").all() else pa.float64()
        case Kind.BOOLEAN:
            return pa.bool_()
        case Kind.MOMENT | Kind.TIME:
            assert form.moment is not None
            return moment_type(form.moment)
        case _:
            return pa.string()


def moment_type(form: MomentForm) -> pa.DataType:
    """Return the Arrow type of moments that are written this way."""
    unit = "s" if form.digits == 0 else "ms" if form.digits <= 3 else "us"  # noqa: PLR2004 - SI
    if not form.date:
        return pa.time64("us") if unit == "us" else pa.time32(unit)
    return pa.timestamp(unit, None if form.zone is None else "UTC") if form.separator else pa.date32()


def _digits(words: pa.Array) -> tuple[int | None, int | None]:
    """Return the fewest and the most digits after the point, if there are any and never too many."""
    pointed = arrow.matches(words, r"\.").any()
    if not pointed or not arrow.matches(words, rf"^[+-]?\d+(?:\.\d{{1,{MOST_DIGITS}}})?$").all():
        return None, None
    whole = pc.find_substring(words, ".")
    digits = pc.if_else(pc.less(whole, 0), 0, pc.subtract(pc.subtract(pc.binary_length(words), whole), 1))
    found = pc.min_max(digits).as_py()
    return found["min"], found["max"]


def _truth_words(words: pa.Array) -> tuple[str, str]:
    if len(words) and not arrow.numbers(words)[1].any():
        return "0", "1"
    for pair in TRUTH.values():
        if arrow.as_bools(pc.is_in(words, pa.array(pair, words.type))).all():
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
    if is_number(kind):
        plain = _render_floats(array, form) if pt.is_floating(kind) else array.cast(pa.large_string())
        return from_plain(plain, form.number)
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return _render_moments(array, form.moment)
    if pt.is_time(kind):
        return _render_times(array, form.moment)
    if pt.is_dictionary(kind):
        return render(array.dictionary_decode(), form)
    if pt.is_duration(kind):
        return arrow.joined(pa.large_string(), array.cast(pa.int64()), " ", kind.unit)
    return array.cast(pa.large_string())


def _render_floats(array: pa.Array, form: TextFormat) -> pa.Array:
    if form.digits is not None:
        return _fixed(array, form.digits)
    array = array if form.places is None else pc.round(array, form.places)
    whole = pc.and_(pc.equal(pc.round(array), array), pc.less(pc.abs(array), float(EXACT)))
    plain = pc.if_else(whole, array, pa.scalar(0.0, array.type)).cast(pa.int64()).cast(pa.large_string())
    plain = arrow.joined(pa.large_string(), plain, ".0") if form.point else plain
    short = pc.replace_substring_regex(array.cast(pa.large_string()), r"e([+-])(\d)$", r"e\10\2")
    return pc.if_else(whole, plain, short)  # 1e-05, as most programs write


def _fixed(array: pa.Array, digits: int) -> pa.Array:
    """Write numbers with so many digits after the point, by counting them in units of the last."""
    largest = pc.max(pc.abs(array)).as_py() or 0.0
    if largest * 10**digits >= EXACT:
        return array.cast(pa.large_string())
    units = pc.round(pc.multiply(array.cast(pa.float64()), 10.0**digits)).cast(pa.int64())
    written = pc.utf8_lpad(pc.abs(units).cast(pa.large_string()), digits + 1, "0")
    if digits:
        written = pc.replace_substring_regex(written, rf"(\d{{{digits}}})$", r".\1")
    sign = pc.if_else(pc.less(units, 0), "-", "")
    return arrow.joined(pa.large_string(), sign, written)


def _render_moments(array: pa.Array, form: MomentForm | None) -> pa.Array:
    if pt.is_date(array.type):
        array = array.cast(pa.timestamp("us") if form is not None and form.has_time else pa.date32())
    if pt.is_date32(array.type):
        written = array.cast(pa.large_string())
        return written if form is None else from_iso(written, form)
    if form is None:
        return _as_it_stands(array)
    ticks = array.cast(pa.timestamp("us", array.type.tz), safe=False).cast(pa.int64())
    written = pc.add(ticks, form.offset).cast(pa.timestamp("us")).cast(pa.large_string())
    if form.digits > 6:  # noqa: PLR2004 - microseconds have six digits
        written = pc.utf8_rpad(written, 20 + form.digits, "0")
    length = 20 + form.digits if form.digits else 19 if form.seconds else 16 if form.separator else 10
    cut = pc.utf8_slice_codeunits(written, 0, length)
    cut = pc.replace_substring(cut, " ", form.separator) if form.separator else cut
    cut = from_iso(cut, form)
    return arrow.joined(pa.large_string(), cut, form.zone) if form.zone else cut


def _render_times(array: pa.Array, form: MomentForm | None) -> pa.Array:
    if form is None:
        return array.cast(pa.large_string())
    written = pc.utf8_rpad(array.cast(pa.time64("us")).cast(pa.large_string()), 18, "0")
    cut = pc.utf8_slice_codeunits(written, 0, 9 + form.digits if form.digits else 8 if form.seconds else 5)
    return pc.replace_substring_regex(cut, "^0", "") if form.short_hour else cut


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
