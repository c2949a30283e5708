"""What is written, and how: pieces read as a given kind, and values written as text: 1.50, TRUE, 2024-03-01.

Reading gives a value for every row, and a flag on the rows that do not fit. How values are written is learned
from the rows, or declared.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from tabveil.core.check import quoted, rows, shown
from tabveil.core.people import LEAST_SHARED
from tabveil.errors import SchemaError
from tabveil.tables.reading import arrow, moments
from tabveil.tables.reading.arrow import Bools, Floats, Ints
from tabveil.tables.reading.moments import ISO, MomentForm, from_iso, template_of
from tabveil.tables.reading.number_form import NumberForm, example_of, from_plain
from tabveil.tables.reading.raw_column import (
    EXACT,
    Kind,
    RawColumn,
    Texts,
    Values,
    codes_of,
    is_number,
    is_text,
    label_texts,
)


class Ticks(NamedTuple):
    """Moments, times or durations of every row."""

    ticks: Ints  # microseconds; 0 where missing
    missing: Bools
    bad: Bools
    zoned: bool
    rounded: bool  # finer than a microsecond


_LIMITS = {
    Kind.MOMENT: moments.RANGE,
    Kind.TIME: (0, moments.STEPS["days"] - 1),
    Kind.DURATION: (-(2**62), 2**62),
}
"""The least and the most microseconds of each kind."""

_LAST_MOMENT = int(np.nextafter(float(moments.RANGE[1]), 0))
"""Later ones, such as 9999-12-31T23:59:59.999999, would be rounded into a year that no calendar has."""


def expected(piece: RawColumn, kind: Kind) -> str:
    """Say what the rows of a piece should hold, and how it should be written."""
    way = piece.way if isinstance(piece, Texts) else None
    if kind is Kind.NUMBER and isinstance(way, NumberForm) and not way.is_plain:
        return f"numbers such as {example_of(way, 2)}"
    if kind is Kind.MOMENT:
        day = template_of(way) if isinstance(way, MomentForm) and way.date != ISO else "2024-03-01"
        return f"a date of the years 1 to 9999 such as {day}"
    usual = {Kind.NUMBER: "numbers", Kind.TIME: "times of day"}
    return usual.get(kind, "durations of less than 146,000 years")


def numbers(piece: RawColumn) -> tuple[Floats, Bools]:
    """Read every row as a number, NaN for missing.

    A 32-bit 0.1 becomes the 64-bit 0.1, not 0.10000000149: it is the decimal number that was meant, and the
    other tables may hold it with 64 bits.
    """
    if isinstance(piece, Texts):
        values, bad = piece.numbers
        return piece.spread(values), piece.flag(bad & ~piece.missing_words)
    array = piece.array
    if not (is_number(array.type) or pt.is_boolean(array.type)):
        return np.full(len(piece), np.nan), arrow.as_bools(array.is_valid())
    if pt.is_float16(array.type):
        array = array.cast(pa.float32())
    if pt.is_float32(array.type):
        array = array.cast(pa.large_string())
    if pt.is_boolean(array.type):
        array = array.cast(pa.int8())
    floats = pc.fill_null(array.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    return np.asarray(floats, dtype=np.float64), np.zeros(len(piece), np.bool_)


def booleans(piece: RawColumn) -> tuple[Floats, Bools]:
    """Read every row as 0 (false) or 1 (true)."""
    if isinstance(piece, Values):
        cells, bad = numbers(piece)
        return cells, bad | ~((cells == 0) | (cells == 1) | np.isnan(cells))
    values, bad = arrow.booleans(piece.words)
    digits, no_digit = arrow.numbers(piece.words)
    digit = ~no_digit & ((digits == 0) | (digits == 1)) & piece.verbatim
    return piece.spread(np.where(digit, digits, values)), piece.flag(bad & ~digit & ~piece.missing_words)


def labels(piece: RawColumn, listed: tuple[str, ...] = ()) -> Texts:
    """Read every row as a label; one that is ``listed`` is never missing, whatever else the column holds."""
    if isinstance(piece, Values):
        coded = label_texts(piece.array).dictionary_encode()
        words = coded.dictionary.cast(pa.large_string())
        return Texts(role=piece.role, codes=codes_of(coded), texts=words, type=piece.type)
    if piece.kind in (Kind.TEXT, Kind.LABELS, Kind.NOTHING) or not piece.missing_words.any():
        return piece
    # A column of codes and "NA" declared a category: NA is still missing there.
    known = arrow.as_bools(pc.is_in(piece.texts, pa.array(listed, piece.texts.type)))
    return piece.keep(known | ~piece.missing_words)


def ticks(piece: RawColumn, kind: Kind) -> Ticks:
    """Read every row as microseconds: since 1970, since midnight, or long."""
    if isinstance(piece, Texts) and kind is not Kind.DURATION:
        read = piece.moments
        ticks_of, bad_of = np.zeros(len(piece.texts), np.int64), np.ones(len(piece.texts), np.bool_)
        ticks_of[~piece.missing_words], bad_of[~piece.missing_words] = read.ticks, read.bad
        missing = (piece.codes < 0) | piece.flag(piece.missing_words)
        each = np.append(np.where(bad_of, 0, np.minimum(ticks_of, _LAST_MOMENT)), 0)[piece.codes]
        return Ticks(each, missing, piece.flag(bad_of) & ~missing, read.form.zone is not None, False)
    missing = piece.codes < 0 if isinstance(piece, Texts) else arrow.as_bools(piece.array.is_null())
    if isinstance(piece, Values) and piece.kind is kind:
        each, bad, rounded = _typed_ticks(piece.array, kind)
        return Ticks(each, missing, bad, getattr(piece.type, "tz", None) is not None, rounded)
    return Ticks(np.zeros(len(piece), np.int64), missing, ~missing, False, False)


def _typed_ticks(array: pa.Array, kind: Kind) -> tuple[Ints, Bools, bool]:
    """Return microseconds, which rows lie outside of what can be told in them, and whether any was finer."""
    elsewhere = getattr(array.type, "tz", None) not in (None, "UTC")
    margin = moments.STEPS["days"] if elsewhere else 0  # a local clock may be in another year
    if pt.is_date32(array.type) or pt.is_time32(array.type):
        array, unit = array.cast(pa.int32()), getattr(array.type, "unit", "day")
    else:
        array, unit = array.cast(pa.int64()), getattr(array.type, "unit", "ms")  # date64 counts milliseconds
    raw = np.asarray(pc.fill_null(array.cast(pa.int64()), 0).to_numpy(zero_copy_only=False), np.int64)
    rounded = unit == "ns" and bool((raw % 1000).any())
    raw = raw // 1000 if unit == "ns" else raw
    long = {"day": moments.STEPS["days"], "s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}[unit]
    low, high = _LIMITS[kind]
    low, high = low + margin, high - margin
    bad = (raw < -(-low // long)) | (raw > high // long)
    ticks_of = np.where(bad, 0, raw) * long
    return np.minimum(ticks_of, _LAST_MOMENT) if kind is Kind.MOMENT else ticks_of, bad, rounded


def too_large(piece: RawColumn) -> bool:
    """Whether a 64-bit float would round these numbers: long identifiers, exact decimals."""
    match piece:
        case Texts():
            whole = arrow.matches(piece.numerals, r"^[+-]?\d{16,}$")
            return bool(whole.any() and (np.abs(piece.numbers[0][whole]) >= EXACT).any())
        case Values(array=array) if pt.is_int64(array.type) or pt.is_uint64(array.type):
            bounds = pc.min_max(array).as_py()
            low, high = (0 if bounds[end] is None else bounds[end] for end in ("min", "max"))
            return bool(low < -EXACT or high > EXACT)
        case Values(array=array) if pt.is_decimal(array.type):
            try:
                back = array.cast(pa.float64()).cast(array.type)
            except pa.ArrowInvalid:
                return True
            return not back.equals(array)
        case _:
            return False


_TYPE_HINT = "Correct them, name a missing marker with --missing, or give the column's type in a schema."


def refuse(name: str, piece: RawColumn, bad: Bools, expected: str, hint: str = _TYPE_HINT) -> None:
    """Refuse rows that do not fit, if there are any; show the most frequent text if enough rows share it."""
    if not bad.any():
        return
    where = f"Column {quoted(name)} of {piece.role}: {rows(bad)} "
    where += f"should hold {expected} but {'does' if bad.sum() == 1 else 'do'} not"
    if isinstance(piece, Texts):
        counts = np.bincount(piece.codes[bad], minlength=len(piece.texts))
        most = int(counts.argmax())
        if counts[most] >= LEAST_SHARED:
            text = shown(piece.words[most].as_py())
            hold = f'{counts[most]} rows hold "{text}"'
            raise SchemaError(f'{where}; {hold}. If that means missing, say --missing "{text}".')
    raise SchemaError(f"{where}. {hint}")


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
            fewest, most = _digits(words)
            return TextFormat(
                missing=missing,
                digits=most if fewest == most else None,
                places=most if fewest != most else None,
                point=bool(arrow.matches(words, r"[.eE]").all()) and len(words) > 0,
                number=piece.way if isinstance(piece.way, NumberForm) else NumberForm(),
            )
        case Kind.BOOLEAN:
            return TextFormat(missing=missing, words=_truth_words(words))
        case Kind.MOMENT | Kind.TIME:
            return TextFormat(missing=missing, moment=piece.moments.form)
        case _:
            return TextFormat(missing=missing)


def plain_type(piece: Texts, kind: Kind) -> pa.DataType:
    """Return the Arrow type of the values that text stands for."""
    if kind in (Kind.MOMENT, Kind.TIME):
        return moment_type(piece.moments.form)
    if kind is Kind.NUMBER:
        words = piece.numerals.filter(pa.array(~piece.missing_words))
        return pa.int64() if arrow.matches(words, r"^[+-]?\d+$").all() else pa.float64()
    return pa.bool_() if kind is Kind.BOOLEAN else pa.string()


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
    known = (pair for pair in TRUTH.values() if pc.all(pc.is_in(words, pa.array(pair, words.type))).as_py())
    return next(known, TRUTH["True"])


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
