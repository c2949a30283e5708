"""Reading one piece as a given kind: a value for every row, and a flag on the rows that do not fit."""

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
from tabveil.tables.reading.moments import ISO, MomentForm, template_of
from tabveil.tables.reading.number_form import NumberForm, example_of
from tabveil.tables.reading.raw_column import (
    EXACT,
    Kind,
    RawColumn,
    Texts,
    Values,
    codes_of,
    is_number,
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
    match kind, piece.way if isinstance(piece, Texts) else None:
        case Kind.NUMBER, NumberForm() as way if not way.is_plain:
            return f"numbers such as {example_of(way, 2)}"
        case Kind.NUMBER, _:
            return "numbers"
        case Kind.MOMENT, MomentForm() as way if way.date != ISO:
            return f"a date of the years 1 to 9999 such as {template_of(way)}"
        case Kind.MOMENT, _:
            return "a date of the years 1 to 9999 such as 2024-03-01"
        case Kind.TIME, _:
            return "times of day"
        case _:
            return "durations of less than 146,000 years"


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
        return np.full(len(piece), np.nan), present(array)
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
    match piece:
        case Texts():
            values, bad = arrow.booleans(piece.words)
            digits, no_digit = arrow.numbers(piece.words)
            digit = ~no_digit & ((digits == 0) | (digits == 1)) & piece.verbatim
            values = np.where(digit, digits, values)
            return piece.spread(values), piece.flag(bad & ~digit & ~piece.missing_words)
        case Values():
            cells, bad = numbers(piece)
            return cells, bad | ~((cells == 0) | (cells == 1) | np.isnan(cells))


def labels(piece: RawColumn, listed: tuple[str, ...] = ()) -> Texts:
    """Read every row as a label; one that is ``listed`` is never missing, whatever else the column holds."""
    match piece:
        case Texts(kind=Kind.NUMBER | Kind.MOMENT | Kind.TIME | Kind.BOOLEAN) if piece.missing_words.any():
            # A column of codes and "NA" declared a category: NA is still missing there.
            kept = ~piece.missing_words | arrow.as_bools(
                pc.is_in(piece.texts, pa.array(listed, piece.texts.type))
            )
            into = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
            return Texts(
                role=piece.role,
                codes=into[piece.codes],
                texts=piece.texts.filter(pa.array(kept)),
                type=piece.type,
                verbatim=piece.verbatim,
                blanks=piece.blanks,
            )
        case Texts():
            return piece
        case Values():
            coded = label_texts(piece.array).dictionary_encode()
            return Texts(
                role=piece.role,
                codes=codes_of(coded),
                texts=coded.dictionary.cast(pa.large_string()),
                type=piece.type,
            )


def ticks(piece: RawColumn, kind: Kind) -> Ticks:
    """Read every row as microseconds: since 1970, since midnight, or long."""
    match piece:
        case Texts() if kind is not Kind.DURATION:
            read = piece.moments
            ticks_of, bad_of = np.zeros(len(piece.texts), np.int64), np.ones(len(piece.texts), np.bool_)
            ticks_of[~piece.missing_words], bad_of[~piece.missing_words] = read.ticks, read.bad
            missing = (piece.codes < 0) | piece.flag(piece.missing_words)
            each = np.append(np.where(bad_of, 0, np.minimum(ticks_of, _LAST_MOMENT)), 0)[piece.codes]
            return Ticks(each, missing, piece.flag(bad_of) & ~missing, read.form.zone is not None, False)
        case Values(array=array) if piece.kind is kind:
            each, bad, rounded = _typed_ticks(array, kind)
            zoned = pt.is_timestamp(array.type) and array.type.tz is not None
            return Ticks(each, ~present(array), bad, zoned, rounded)
        case _:
            held = present(piece.array) if isinstance(piece, Values) else piece.codes >= 0
            return Ticks(np.zeros(len(piece), np.int64), ~held, held, False, False)


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


def present(array: pa.Array) -> Bools:
    """Flag the rows that hold something."""
    return arrow.as_bools(array.is_valid())


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
