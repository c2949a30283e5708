"""Moments that strings say: dates, datetimes and times of day. Asked about distinct strings.

All moments of a column are taken to be written in one way. Whether 03/04/2020 is in March or in April can be
told only where another day is above 12.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabveil.tables.reading import moment_form
from tabveil.tables.reading.moment_form import COMPACT, ISO, MONTHS, NAMED, MomentForm
from tabveil.tables.reading.text import Bools, Ints, as_bools, matches

STEPS = {"days": 86_400_000_000, "seconds": 1_000_000, "milliseconds": 1_000, "microseconds": 1}
"""Microseconds in each unit that dates may be counted in, coarsest first."""

MINUTE = 60_000_000
"""Microseconds; times of day are often written without seconds."""

RANGE = (-62_135_596_800_000_000, 253_402_300_799_999_999)
"""The first and the last microsecond of the years 1 to 9999, which calendars of all libraries know."""

_ISO_WORD = (
    r"^(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})"
    r"(?:(?P<separator>[T ])(?P<hour>\d{2}):(?P<minute>\d{2})"
    r"(?::(?P<second>\d{2})(?:\.(?P<fraction>\d{1,6})(?P<zeros>0{0,3}))?)?"
    r"(?P<zone>Z|[+-]\d{2}:?\d{2})?)?$"
)
_END = r"(?:[T ]\d{1,2}:.*)?$"
_NAMES = f"(?i:{'|'.join(MONTHS)})"
_BY_NUMBERS = rf"^\d{{1,2}}(?P<mark>[./-])\d{{1,2}}[./-]\d{{4}}{_END}"
_YEAR_FIRST = rf"^\d{{4}}(?P<mark>[./])\d{{1,2}}[./]\d{{1,2}}{_END}"
_BY_NAME = rf"^\d{{1,2}}(?P<mark>[-/. ]?)(?P<name>{_NAMES})[-/. ]?\d{{4}}{_END}"
_PLAUSIBLE = r"^(?:19|20)\d{6}$"
_SHORT_YEAR = r"^\d{1,2}[./-]\d{1,2}[./-]\d{2}$"


class Moments(NamedTuple):
    """Moments read from strings."""

    ticks: Ints  # microseconds since 1970 (UTC where a zone is written), or since midnight
    bad: Bools
    form: MomentForm  # the finest way of writing among them


def looks_like_date(words: pa.Array) -> Bools:
    """Flag the words that are dates in some way of writing, whatever the others are."""
    kinds = (r"^\d{4}-\d{1,2}-\d{1,2}(?:[T ]|$)", _BY_NUMBERS, _YEAR_FIRST, _BY_NAME, _SHORT_YEAR)
    return np.asarray(np.any([matches(words, kind) for kind in kinds], axis=0), dtype=np.bool_)


def looks_like_time(words: pa.Array) -> Bools:
    """Flag the words that are times of day in some way of writing."""
    return matches(words, r"^\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?: ?[aApP]\.?[mM]\.?)?$")


def ways(words: pa.Array) -> tuple[Moments, ...]:
    """Read words in every way in which all of them are moments, the likeliest first.

    >>> [found.form.date for found in ways(pa.array(["03/04/2020", "05/06/2020"]))]
    ['DD/MM/YYYY', 'MM/DD/YYYY']
    >>> [found.form.date for found in ways(pa.array(["03/04/2020", "05/16/2020"]))]
    ['MM/DD/YYYY']
    """
    first = words.slice(0, 3)  # most columns of text are told from dates at once
    if not matches(first, r"^\d").all():
        return ()
    if matches(first, r"^\d{4}-\d{2}-\d{2}").all():
        return _readable(words, ISO)
    if matches(first, _BY_NUMBERS).all():
        mark = _first(first, _BY_NUMBERS, "mark")
        days, months = (_readable(words, f"{order}{mark}YYYY") for order in (f"DD{mark}MM", f"MM{mark}DD"))
        either = days and months and (days[0].ticks != months[0].ticks).any()
        return (*days, *months) if either and mark != "." else days or months  # no one writes 12.31.
    if matches(first, _YEAR_FIRST).all():
        mark = _first(first, _YEAR_FIRST, "mark")
        return _readable(words, f"YYYY{mark}MM{mark}DD")
    if matches(first, _BY_NAME).all():
        mark, name = (_first(first, _BY_NAME, part) for part in ("mark", "name"))
        style = "MON" if name.isupper() else "mon" if name.islower() else "Mon"
        return _readable(words, f"DD{mark}{style}{mark}YYYY")
    return _readable(words, "") if matches(first, moment_form.TIME).all() else ()


def ways_of_digits(words: pa.Array) -> tuple[Moments, ...]:
    """Read whole numbers as dates such as 20201231, if they are.

    All must be days of the years 1900 to 2099, which no more than one of a thousand numbers of eight digits
    is by chance.
    """
    if not matches(words.slice(0, 3), _PLAUSIBLE).all() or not matches(words, _PLAUSIBLE).all():
        return ()
    return _readable(words, COMPACT)


def _first(words: pa.Array, pattern: str, part: str) -> str:
    found: str = pc.struct_field(pc.extract_regex(words.slice(0, 1), pattern), part)[0].as_py()
    return found


def _readable(words: pa.Array, date: str) -> tuple[Moments, ...]:
    """Read words if all of them are moments of this way of writing."""
    if date != ISO and not matches(words, moment_form.pattern_of(date) if date else moment_form.TIME).all():
        return ()
    found = read(words, date)
    return () if found.bad.any() else (found,)


def read(words: pa.Array, date: str = ISO) -> Moments:
    """Read moments whose dates are written in this way, or as ISO says.

    Words with and without a zone do not mix: then all are bad.
    """
    found = _read_iso(moment_form.to_iso(words, date))
    short, zero = (matches(words, rf"(?:^|[T ]){hour}:\d").any() for hour in (r"\d", r"0\d"))
    form = replace(found.form, date=_spelled(words, date), short_hour=bool(short and not zero))
    return found._replace(form=form if date else replace(form, separator=""))


def _spelled(words: pa.Array, date: str) -> str:
    """Return a way of writing dates without zeros before single digits, if these words have none."""
    if date in ("", ISO, COMPACT) or date.startswith("YYYY"):
        return date
    zeros = matches(words, r"^0|^\d{1,2}[./-]0").any()
    short = matches(words, r"^\d\D|^\d{1,2}[./-]\d\D").any() and not zeros
    if not short:
        return date
    named = any(name in date for name in NAMED)
    return date.replace("DD", "D") if named else date.replace("DD", "D").replace("MM", "M")


def _read_iso(words: pa.Array) -> Moments:
    parts = pc.extract_regex(words, _ISO_WORD)
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
    bad |= bad_zone | (ticks < RANGE[0]) | (ticks > RANGE[1])
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
    each = np.array([MomentForm(zone=zone or None).offset for zone in kinds], dtype=np.int64)
    far = np.abs(each) > 15 * 3_600_000_000  # no clock on earth
    codes = coded.indices.to_numpy(zero_copy_only=False)
    return (each[codes], far[codes]) if len(kinds) else (np.zeros(0, np.int64), np.zeros(0, np.bool_))


def _finest(parts: pa.StructArray, good: Bools) -> MomentForm:
    """Describe how the good words are written; where they differ, by the one that says most."""
    separators, zones = (
        [item for item in pc.unique(_part(parts, name).filter(pa.array(good))).to_pylist() if item]
        for name in ("separator", "zone")
    )
    seconds = as_bools(pc.not_equal(_part(parts, "second"), ""))[good]
    lengths = pc.add(pc.utf8_length(_part(parts, "fraction")), pc.utf8_length(_part(parts, "zeros")))
    digits = lengths.to_numpy(zero_copy_only=False)[good]
    zone = None if not zones else zones[0] if len(zones) == 1 else "Z"
    return MomentForm(
        separator=min(separators, default="") if len(separators) < 2 else "T",  # noqa: PLR2004 - mixed
        seconds=bool(seconds.any()),
        digits=int(digits.max(initial=0)),
        zone=zone,
    )
