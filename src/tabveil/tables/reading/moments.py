"""Moments that strings say: dates, datetimes and times of day, and how they are written. Of distinct strings.

All moments of a column are taken to be written in one way: 2020-12-31, 31.12.2020, 12/31/2020, 31-Dec-2020,
20201231, 12:30. Whether 03/04/2020 is in March or in April can be told only where another day is above 12.
A form is only the order of the parts; whether there is such a day is for the calendar to say.
"""

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabveil.tables.reading.arrow import Bools, Ints, as_bools, joined, matches

ISO = "YYYY-MM-DD"
COMPACT = "YYYYMMDD"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
NAMED = ("Mon", "MON", "mon")
"""How a month's name is written: Dec, DEC, dec."""

DATES = (
    *(ISO, "YYYY/MM/DD", "YYYY.MM.DD", COMPACT),
    *(
        f"{first}{mark}{second}{mark}YYYY"
        for mark in "./-"
        for first, second in (("DD", "MM"), ("MM", "DD"), ("D", "M"), ("M", "D"))
    ),
    *(
        f"{day}{mark}{name}{mark}YYYY"
        for mark in ("-", " ", "/", ".", "")
        for name in NAMED
        for day in ("DD", "D")
    ),
)
"""The ways to write a date; D and M where no zero is written before a single digit."""

_TIME = r"(?P<hour>HH?):MM(?P<seconds>:SS(?:\.(?P<fraction>f{1,9}))?)?"
_TEMPLATE = re.compile(
    rf"(?P<date>{'|'.join(map(re.escape, sorted(DATES, key=len, reverse=True)))})?"
    rf"(?:(?P<separator>[T ]|^){_TIME}(?P<zone>Z|[+-](?:0\d|1[0-5]):?[0-5]\d)?)?"
)
_PARTS = re.compile("YYYY|MM|DD|Mon|MON|mon|M|D")
_MIDNIGHT = "1970-01-01 "


@dataclass(frozen=True, kw_only=True)
class MomentForm:
    """One way of writing moments: how much of the date and of the time stands there, and how."""

    date: str = ISO  # or nothing, of times of day
    separator: str = ""  # "T", " ", or nothing where there is only one of both
    short_hour: bool = False  # 9:05, not 09:05
    seconds: bool = False
    digits: int = 0  # of the second's fraction
    zone: str | None = None  # as written; None for local times

    @property
    def has_time(self) -> bool:
        """Whether the time of day is written."""
        return bool(self.separator) or not self.date

    @property
    def offset(self) -> int:
        """The zone's distance from UTC, in microseconds."""
        if self.zone is None or self.zone == "Z":
            return 0
        hours, minutes = int(self.zone[1:3]), int(self.zone[-2:])
        return (-1 if self.zone[0] == "-" else 1) * (hours * 60 + minutes) * 60_000_000


def is_zone(written: str) -> bool:
    """Whether a text is a zone as moments are written in: Z, +02:00, -0530."""
    return re.fullmatch(r"Z|[+-][01]\d:?[0-5]\d", written, re.ASCII) is not None


def of_template(template: str) -> MomentForm | None:
    """Return the way of writing that a template shows, or None if it shows none.

    >>> of_template("DD.MM.YYYY HH:MM")
    MomentForm(date='DD.MM.YYYY', separator=' ', short_hour=False, seconds=False, digits=0, zone=None)
    """
    found = _TEMPLATE.fullmatch(template)
    if found is None or not template or (not found["date"] and (found["separator"] or found["zone"])):
        return None
    return MomentForm(
        date=found["date"] or "",
        separator=found["separator"] or "",
        short_hour=found["hour"] == "H",
        seconds=found["seconds"] is not None,
        digits=len(found["fraction"] or ""),
        zone=found["zone"],
    )


def template_of(form: MomentForm) -> str:
    """Show a way of writing as a template: the inverse of :func:`of_template`."""
    if not form.has_time:
        return form.date
    hour = "H" if form.short_hour else "HH"
    seconds = ":SS" if form.seconds else ""
    fraction = f".{'f' * form.digits}" if form.digits else ""
    return f"{form.date}{form.separator}{hour}:MM{seconds}{fraction}{form.zone or ''}"


def pattern_of(date: str) -> str:
    """Return what a word of this way of writing must look like; single digits may stand without a zero."""
    digits = r"\d{2}" if date == COMPACT else r"\d{1,2}"
    parts = {"YYYY": r"(?P<year>\d{4})", **dict.fromkeys(("DD", "D"), rf"(?P<day>{digits})")}
    parts |= dict.fromkeys(("MM", "M"), rf"(?P<month>{digits})")
    parts |= dict.fromkeys(NAMED, rf"(?P<month>(?i:{'|'.join(MONTHS)}))")
    written = _PARTS.sub(lambda found: parts[found[0]], re.escape(date))
    return rf"^{written}(?P<tail>(?:[T ]\d{{1,2}}:.*)?)$"


TIME = r"^(?P<hour>\d{1,2})(?P<tail>:\d{2}(?::\d{2}(?:\.\d{1,9})?)?)$"
"""What a time of day must look like."""


def to_iso(words: pa.Array, date: str) -> pa.Array:
    """Write moments of this way of writing dates as ISO says; other words stay as they are.

    Times of day become those of one day, and other words among them null.

    >>> to_iso(pa.array(["31.12.2020 9:05", "2020-12-31"]), "DD.MM.YYYY").to_pylist()
    ['2020-12-31 09:05', '2020-12-31']
    """
    if date == ISO:
        return words
    if not date:
        parts = pc.extract_regex(words, TIME)
        hour = pc.utf8_lpad(pc.struct_field(parts, "hour"), 2, "0")
        return joined(words.type, _MIDNIGHT, hour, pc.struct_field(parts, "tail"))
    parts = pc.extract_regex(words, pattern_of(date))
    year, month, day, tail = (pc.struct_field(parts, name) for name in ("year", "month", "day", "tail"))
    if any(name in date for name in NAMED):
        number = pc.index_in(pc.utf8_lower(month), pa.array([name.lower() for name in MONTHS], month.type))
        month = pc.add(number, 1).cast(pa.string())
    month, day = (pc.utf8_lpad(part, 2, "0") for part in (month, day))
    tail = pc.replace_substring_regex(tail, r"^([T ])(\d):", r"\10\2:")
    return pc.coalesce(joined(words.type, year, "-", month, "-", day, tail), words)


def from_iso(moments: pa.Array, form: MomentForm) -> pa.Array:
    """Write moments that are written as ISO says in this way.

    >>> from_iso(pa.array(["2020-03-01 09:05"]), MomentForm(date="D-Mon-YYYY", short_hour=True)).to_pylist()
    ['1-Mar-2020 9:05']
    """
    written = moments
    if form.short_hour:
        written = pc.replace_substring_regex(written, r"^(.{10}[T ])0", r"\1")
    if form.date == ISO:
        return written
    zero = "0?" if "D" in form.date.replace("DD", "") else ""
    year, month, day = r"^(\d{4})-", rf"{zero}(\d{{1,2}})-", rf"{zero}(\d{{1,2}})"
    style = next((name for name in NAMED if name in form.date), None)
    if style is None:
        return pc.replace_substring_regex(written, year + month + day, _ordered(form.date, r"\2"))
    for number, name in enumerate(MONTHS, 1):
        spelled = {"Mon": name, "MON": name.upper(), "mon": name.lower()}[style]
        written = pc.replace_substring_regex(
            written, f"{year}({number:02})-{day}", _ordered(form.date, spelled)
        )
    return written


def _ordered(date: str, month: str) -> str:
    """Return what stands where in a way of writing dates: the year and the day found, and the month."""
    return _PARTS.sub(lambda part: {"Y": r"\1", "D": r"\3"}.get(part[0][0], month), date)


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
    return _readable(words, "") if matches(first, TIME).all() else ()


def ways_of_digits(words: pa.Array) -> tuple[Moments, ...]:
    """Read whole numbers as dates such as 20201231, if they are.

    All must be days of the years 1900 to 2099, which no more than one of a thousand numbers of eight digits
    is by chance.
    """
    if not matches(words.slice(0, 3), _PLAUSIBLE).all() or not matches(words, _PLAUSIBLE).all():
        return ()
    return _readable(words, COMPACT)


def _first(words: pa.Array, pattern: str, part: str) -> str:
    return str(pc.struct_field(pc.extract_regex(words.slice(0, 1), pattern), part)[0].as_py())


def _readable(words: pa.Array, date: str) -> tuple[Moments, ...]:
    """Read words if all of them are moments of this way of writing."""
    if date != ISO and not matches(words, pattern_of(date) if date else TIME).all():
        return ()
    found = read(words, date)
    return () if found.bad.any() else (found,)


def read(words: pa.Array, date: str = ISO) -> Moments:
    """Read moments whose dates are written in this way, or as ISO says.

    Words with and without a zone do not mix: then all are bad.
    """
    found = _read_iso(to_iso(words, date))
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
    field = {name: _ints(_part(parts, name)) for name in ("year", "month", "day", "hour", "minute", "second")}
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
