"""One column of one table as it came: distinct strings with codes, or typed values; and what it holds.

Text files are read as text, so any kind of value may hide in their strings ("verbatim"); a string column of
a typed source was meant as text, unless it holds dates, times or numbers that no library reads by itself.
"""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from tabveil.core.check import quoted
from tabveil.core.crew import once
from tabveil.errors import SchemaError
from tabveil.tables.reading import arrow, moments, number_form
from tabveil.tables.reading.arrow import Bools, Floats, Ints
from tabveil.tables.reading.moments import MomentForm, Moments
from tabveil.tables.reading.number_form import NumberForm

Codes = NDArray[np.int32]
Form = NumberForm | MomentForm

LONGEST_TEXT = 1 << 20
"""Bytes of a cell; longer ones are no labels, and every copy of them counts."""

_DIGIT = r"\d|(?i:inf)"

EXACT = 2**53
"""Whole numbers up to here are exact in a 64-bit float."""


class Kind(Enum):
    """What a column holds; the value is how a message calls it."""

    NOTHING = "missing values only"
    NUMBER = "numbers"
    BOOLEAN = "true and false"
    TEXT = "text"
    LABELS = "categories"
    MOMENT = "dates"
    TIME = "times of day"
    DURATION = "durations"


@dataclass(frozen=True, kw_only=True, eq=False)
class Texts:
    """Strings: every row's code among the distinct strings, -1 for missing."""

    role: str
    codes: Codes  # (n,)
    texts: pa.Array  # distinct strings; for categories, all of them in their own order
    type: pa.DataType  # of the column that came
    verbatim: bool = False
    comma: bool = False  # the file may write 3,14
    levels: bool = False  # a categorical column: its author listed the labels
    blanks: tuple[str, ...] = ()  # the strings that meant missing
    form: Form | None = None  # how they are written, where more is known than they themselves say

    def __len__(self) -> int:
        return len(self.codes)

    @once
    def words(self) -> pa.Array:
        """The distinct strings without the spaces around them."""
        return pc.utf8_trim_whitespace(self.texts)

    @once
    def counts(self) -> Ints:
        """How many rows hold each distinct string."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.texts))

    @once
    def missing_words(self) -> Bools:
        """The strings that mean missing if the column turns out to hold numbers, dates or truth values."""
        return arrow.is_missing_word(self.words) if self.verbatim else np.zeros(len(self.texts), np.bool_)

    @once
    def held(self) -> pa.Array:
        """The distinct strings that do not mean missing, without the spaces around them."""
        return self.words.filter(pa.array(~self.missing_words)) if self.missing_words.any() else self.words

    @once
    def _moments(self) -> tuple[Moments, ...]:
        """The ways in which all strings are moments."""
        return moments.ways(self.held)

    @once
    def ways(self) -> tuple[Form, ...]:
        """The ways of writing numbers or moments that fit all strings, the likeliest first."""
        words = self.held
        if self.levels or len(words) == 0 or not arrow.matches(words.slice(0, 3), _DIGIT).all():
            return ()  # most columns of text are told from numbers and dates at once
        if self.verbatim and not (self._plain_numbers[1] & ~self.missing_words).any():
            if arrow.has_leading_zero(words):
                return ()
            dates = tuple(found.form for found in moments.ways_of_digits(words))
            return (*dates, *number_form.ways_of_plain(words))
        found = tuple(found.form for found in self._moments)
        return found or number_form.ways(words, comma=self.comma)

    @once
    def way(self) -> Form | None:
        """The way of writing that the strings are read by, if they are numbers or moments."""
        return self.form or next(iter(self.ways), None)

    @once
    def _plain_numbers(self) -> tuple[Floats, Bools]:
        return arrow.numbers(self.words)

    @once
    def numerals(self) -> pa.Array:
        """The distinct strings as programs write numbers; null for those that are none."""
        return number_form.to_plain(self.words, self.way) if isinstance(self.way, NumberForm) else self.words

    @once
    def numbers(self) -> tuple[Floats, Bools]:
        """The numbers that the strings say, and which of them say none."""
        return self._plain_numbers if self.numerals is self.words else arrow.numbers(self.numerals)

    @once
    def moments(self) -> Moments:
        """The moments that the strings say, but for those that mean missing."""
        form = self.way if isinstance(self.way, MomentForm) else MomentForm()
        known = (found for found in self._moments if found.form == form)
        return next(known, None) or moments.read(self.held, form.date)

    @once
    def kind(self) -> Kind:
        """What all strings together can be read as."""
        if self.levels:
            return Kind.LABELS
        if len(self.texts) == 0:
            return Kind.NOTHING
        match self.way if self.way in self.ways else next(iter(self.ways), None):
            case NumberForm():
                return Kind.NUMBER
            case MomentForm(date=""):
                return Kind.TIME
            case MomentForm():
                return Kind.MOMENT
        if self.verbatim and len(self.held) and not arrow.booleans(self.held)[1].any():
            return Kind.BOOLEAN
        return Kind.TEXT

    def spread(self, values: Floats) -> Floats:
        """Give every row its string's value; NaN for missing."""
        return np.append(values, np.nan)[self.codes]  # code -1 is the last

    def flag(self, flags: Bools) -> Bools:
        """Flag the rows whose string is flagged."""
        return np.append(flags, False)[self.codes]

    def keep(self, kept: Bools) -> "Texts":
        """Return the column in which all strings but these are missing."""
        into = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1).astype(np.int32)
        return replace(self, codes=into[self.codes], texts=self.texts.filter(pa.array(kept)))


@dataclass(frozen=True, kw_only=True, eq=False)
class Values:
    """Typed values: numbers, truth values, moments."""

    role: str
    array: pa.Array
    kind: Kind

    def __len__(self) -> int:
        return len(self.array)

    @property
    def type(self) -> pa.DataType:
        """The Arrow type that came."""
        return self.array.type


RawColumn = Texts | Values


def has_values(piece: RawColumn) -> bool:
    """Whether any row holds something."""
    if isinstance(piece, Texts):
        return bool((piece.codes >= 0).any())
    return bool(piece.array.null_count < len(piece.array))


def piece_of(
    role: str, name: str, array: pa.Array, *, verbatim: bool = False, comma: bool = False, missing: pa.Array
) -> RawColumn:
    """Look at a column once: strings and categories become codes, everything else stays typed."""
    if pt.is_dictionary(array.type):
        return _categories(role, name, array, missing)
    if not is_text(array.type):
        kind = _typed_kind(role, name, array.type)
        if pt.is_floating(array.type):
            array = pc.if_else(pc.is_nan(array), pa.scalar(None, array.type), array)
        if kind is Kind.NUMBER and len(missing):
            array = _without_codes(array, missing)
        return Values(role=role, array=array, kind=kind)
    coded = array.cast(pa.large_string()).dictionary_encode()
    _require_short(role, name, coded.dictionary)
    words = pc.utf8_trim_whitespace(coded.dictionary)
    blank = arrow.as_bools(pc.is_in(words, missing))
    if verbatim:
        blank |= arrow.as_bools(pc.equal(words, ""))
    return Texts(
        role=role,
        codes=codes_of(coded),
        texts=coded.dictionary,
        type=array.type,
        verbatim=verbatim,
        comma=comma,
        blanks=tuple(coded.dictionary.filter(pa.array(blank)).to_pylist()),
    ).keep(~blank)


def _without_codes(numbers: pa.Array, missing: pa.Array) -> pa.Array:
    """Let numbers be missing that stand among the texts that mean missing, such as -9."""
    words, none = arrow.numbers(missing)
    codes = pa.array(words[~none])
    if len(codes) == 0:
        return numbers
    alike = numbers.type if pt.is_floating(numbers.type) else pa.float64()  # 9.9 in 32 bits is another number
    meant = pc.is_in(numbers.cast(alike, safe=False), codes.cast(alike, safe=False))
    return pc.if_else(meant, pa.scalar(None, numbers.type), numbers)


def is_text(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds strings."""
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether an Arrow type holds numbers."""
    return bool(pt.is_integer(kind) or pt.is_floating(kind) or pt.is_decimal(kind))


def _typed_kind(role: str, name: str, kind: pa.DataType) -> Kind:
    if pt.is_null(kind):
        return Kind.NOTHING
    if pt.is_boolean(kind):
        return Kind.BOOLEAN
    if is_number(kind):
        return Kind.NUMBER
    if pt.is_date(kind) or (pt.is_timestamp(kind) and _is_known_zone(kind)):
        return Kind.MOMENT
    if pt.is_time(kind):
        return Kind.TIME
    if pt.is_duration(kind):
        return Kind.DURATION
    raise unreadable(role, name, kind)


def _is_known_zone(kind: pa.TimestampType) -> bool:
    """Whether Arrow and Python know the zone of a timestamp: a file may name any."""
    moment = pa.array([0], kind)
    try:
        moment.cast(pa.large_string())
        moment[0].as_py()
    except (pa.ArrowInvalid, ValueError, KeyError):
        return False
    return True


def unreadable(role: str, name: str, kind: pa.DataType) -> SchemaError:
    """Return the complaint about a type that holds no kind of value."""
    return SchemaError(
        f"Column {quoted(name)} of {role} has type {quoted(kind)}, which cannot be audited: tabveil reads "
        "numbers, text, true/false, dates and categories. Convert the column or drop it."
    )


def _categories(role: str, name: str, array: pa.Array, missing: pa.Array) -> Texts:
    values = array.dictionary
    if not is_text(values.type):
        _typed_kind(role, name, values.type)  # refuses nested and binary categories
    labels = label_texts(values)
    _require_short(role, name, labels)
    distinct = pc.drop_null(pc.unique(labels))
    distinct = distinct.filter(pc.invert(pc.is_in(pc.utf8_trim_whitespace(distinct), missing)))
    into = pc.fill_null(pc.index_in(labels, distinct), -1).to_numpy(zero_copy_only=False)
    into = np.append(into, -1).astype(np.int32)
    return Texts(role=role, codes=into[codes_of(array)], texts=distinct, type=array.type, levels=True)


def _require_short(role: str, name: str, texts: pa.Array) -> None:
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if longest > LONGEST_TEXT:
        raise SchemaError(
            f"Column {quoted(name)} of {role} holds a text of {longest:,} bytes, more than "
            f"{LONGEST_TEXT:,}. Shorten it, or list the column under 'drop' in a schema."
        )


def codes_of(coded: pa.DictionaryArray) -> Codes:
    """Return the code of every row, -1 for missing."""
    codes = coded.indices.cast(pa.int32())
    filled = pc.fill_null(codes, -1) if codes.null_count else codes
    return np.asarray(filled.to_numpy(zero_copy_only=False), dtype=np.int32)


def label_texts(values: pa.Array) -> pa.Array:
    """Write values as labels: True and False as Python does, whole numbers without a point."""
    if pt.is_boolean(values.type):
        words = pa.array(["False", "True"], pa.large_string())
        return words.take(values.cast(pa.int8()))
    if pt.is_float16(values.type):  # Arrow cannot round it
        return label_texts(values.cast(pa.float32()))
    if pt.is_floating(values.type):
        whole = pc.and_(pc.equal(pc.round(values), values), pc.less(pc.abs(values), float(EXACT)))
        plain = pc.if_else(whole, values, pa.scalar(0.0, values.type)).cast(pa.int64())
        return pc.if_else(whole, plain.cast(pa.large_string()), values.cast(pa.large_string()))
    return values.cast(pa.large_string())
