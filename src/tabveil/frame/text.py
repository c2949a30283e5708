"""What strings say: numbers, truth values, ISO dates. Asked about distinct strings, never cell by cell.

Every reading returns one answer a string and a mask of the strings that are something else.
"""

import re
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MISSING_WORDS = ("NA", "NaN", "nan", "null", "NULL", "None", "N/A")
"""Missing in a text file's column of numbers, dates or truth values; labels in a column of text."""

STEPS = {"days": 86_400_000_000, "seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
"""Microseconds in each unit that dates may be counted in, coarsest first."""

MOMENTS = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The first and the last microsecond of the years 1 to 9999, which calendars of all libraries know."""

_NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
_NUMBER_WITH_COMMA = r"^[+-]?\d+(?:,\d+)?$"
_INFINITY = r"^[+-]?(?i:inf|infinity)$"
_ISO = (
    r"^(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
    r"(?:(?P<separator>[T ])(?P<hour>\d{2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,6})(?P<zeros>0{0,3}))?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?)?$"
)


@dataclass(frozen=True, kw_only=True)
class Iso:
    """One way of writing moments: how much of the time stands there, and how."""

    separator: str = ""  # "T", " ", or nothing where there is only a date
    seconds: bool = False
    digits: int = 0  # of the second's fraction
    zone: str | None = None  # as written; None for local times

    @property
    def offset(self) -> int:
        """The zone's distance from UTC, in microseconds."""
        if self.zone in (None, "Z"):
            return 0
        assert self.zone is not None
        hours, minutes = int(self.zone[1:3]), int(self.zone[-2:])
        return (-1 if self.zone[0] == "-" else 1) * (hours * 60 + minutes) * 60_000_000


def is_zone(written: str) -> bool:
    """Whether a text is a zone as moments are written in: Z, +02:00, -0530."""
    return re.fullmatch(r"Z|[+-][01]\d:?[0-5]\d", written, re.ASCII) is not None


class Moments(NamedTuple):
    """Moments read from strings."""

    ticks: Ints  # microseconds since 1970 (UTC where a zone is written)
    bad: Bools
    iso: Iso  # the finest way of writing among them


def is_missing_word(words: pa.Array) -> Bools:
    """Flag the words that mean "missing" in a column of numbers or dates."""
    return as_bools(pc.is_in(words, pa.array(MISSING_WORDS, words.type)))


def as_bools(flags: pa.Array) -> Bools:
    """Return Arrow truth values as an array, null as False."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def matches(words: pa.Array, pattern: str) -> Bools:
    """Flag the words that fit a pattern."""
    return as_bools(pc.match_substring_regex(words, pattern))


def has_leading_zero(words: pa.Array) -> bool:
    """Whether any word is written like 00123: a code, not a number."""
    return bool(matches(words, r"^[+-]?0\d").any())


def uses_comma(words: pa.Array) -> bool:
    """Whether these are numbers with a decimal comma (and not simply whole numbers)."""
    fits = matches(words, _NUMBER_WITH_COMMA) | is_missing_word(words)
    return bool(fits.all() and matches(words, ",").any())


def numbers(words: pa.Array, *, comma: bool = False) -> tuple[Floats, Bools]:
    """Read numbers; NaN where the word is none."""
    fits = matches(words, _NUMBER_WITH_COMMA if comma else _NUMBER)
    plain = pc.replace_substring(words, ",", ".") if comma else words
    read = pc.if_else(pa.array(fits), plain, pa.scalar(None, words.type)).cast(pa.float64())
    values = read.to_numpy(zero_copy_only=False).astype(np.float64)
    endless = matches(words, _INFINITY)
    values[endless] = np.inf
    return values, ~(fits | endless)


def booleans(words: pa.Array) -> tuple[Floats, Bools]:
    """Read true and false in any case as 1 and 0."""
    lower = pc.utf8_lower(words)
    true, false = as_bools(pc.equal(lower, "true")), as_bools(pc.equal(lower, "false"))
    return np.where(true, 1.0, np.where(false, 0.0, np.nan)), ~(true | false)


def may_be_moments(words: pa.Array) -> bool:
    """Look at the first words only: most columns of text are told from dates at once."""
    return bool(matches(words.slice(0, 3), r"^\d{4}-\d{2}-\d{2}").all())


def moments(words: pa.Array) -> Moments:
    """Read ISO dates and datetimes. Words with and without a zone do not mix: then all are bad."""
    parts = pc.extract_regex(words, _ISO)
    bad = ~as_bools(parts.is_valid())
    field = {name: _number_of(parts, name) for name in ("year", "month", "day", "hour", "minute", "second")}
    months = (field["year"] - 1970) * 12 + field["month"] - 1
    first = months.astype("M8[M]").astype("M8[D]").astype(np.int64)  # day number of the month's first
    next_first = (months + 1).astype("M8[M]").astype("M8[D]").astype(np.int64)
    bad |= (field["month"] < 1) | (field["month"] > 12) | (field["day"] < 1)  # noqa: PLR2004 - the calendar
    bad |= field["day"] > next_first - first
    bad |= (field["hour"] > 23) | (field["minute"] > 59) | (field["second"] > 59)  # noqa: PLR2004 - the clock
    of_day = (field["hour"] * 60 + field["minute"]) * 60 + field["second"]
    fraction = pc.utf8_rpad(_part(parts, "fraction"), 6, "0")
    ticks = (first + field["day"] - 1) * STEPS["days"] + of_day * STEPS["seconds"] + _ints(fraction)
    zones = _part(parts, "zone")
    offsets, bad_zone = _offsets(zones)
    zoned = as_bools(pc.not_equal(zones, ""))[~bad]
    if zoned.any() and not zoned.all():
        bad[:] = True
    ticks -= offsets
    bad |= bad_zone | (ticks < MOMENTS[0]) | (ticks > MOMENTS[1])
    return Moments(ticks, bad, _finest(parts, ~bad))


def _part(parts: pa.StructArray, name: str) -> pa.Array:
    return pc.fill_null(pc.struct_field(parts, name), "")


def _ints(digits: pa.Array) -> Ints:
    filled = pc.if_else(pc.equal(digits, ""), pa.scalar("0", digits.type), digits)
    return np.asarray(filled.cast(pa.int64()).to_numpy(zero_copy_only=False), dtype=np.int64)


def _number_of(parts: pa.StructArray, name: str) -> Ints:
    return _ints(_part(parts, name))


def _offsets(zones: pa.Array) -> tuple[Ints, Bools]:
    """Return each zone's distance from UTC in microseconds; there are few different zones."""
    coded = zones.dictionary_encode()
    kinds = coded.dictionary.to_pylist()
    each = np.array([Iso(zone=zone or None).offset for zone in kinds], dtype=np.int64)
    far = np.abs(each) > 15 * 3_600_000_000  # no clock on earth
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return (each[codes], far[codes]) if len(kinds) else (np.zeros(0, np.int64), np.zeros(0, np.bool_))


def _finest(parts: pa.StructArray, good: Bools) -> Iso:
    """Describe how the good words are written; where they differ, by the one that says most."""
    separators, zones = (
        [item for item in pc.unique(_part(parts, name).filter(pa.array(good))).to_pylist() if item]
        for name in ("separator", "zone")
    )
    seconds = as_bools(pc.not_equal(_part(parts, "second"), ""))[good]
    lengths = pc.add(pc.utf8_length(_part(parts, "fraction")), pc.utf8_length(_part(parts, "zeros")))
    digits = lengths.to_numpy(zero_copy_only=False)[good]
    zone = None if not zones else zones[0] if len(zones) == 1 else "Z"
    return Iso(
        separator=min(separators, default="") if len(separators) < 2 else "T",  # noqa: PLR2004 - mixed
        seconds=bool(seconds.any()),
        digits=int(digits.max(initial=0)),
        zone=zone,
    )
