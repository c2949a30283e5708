"""How dates and times of day are written: 2020-12-31, 31.12.2020, 12/31/2020, 31-Dec-2020, 20201231, 12:30.

Only the order of the parts is dealt with here; whether there is such a day is for the calendar to say.
"""

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from tabveil.tables.reading.text import joined

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
        if self.zone in (None, "Z"):
            return 0
        assert self.zone is not None
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
    written, end = "", 0
    for found in _PARTS.finditer(date):
        written += re.escape(date[end : found.start()]) + parts[found[0]]
        end = found.end()
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
