"""Numbers and names as people read them: one way to write each, for sentences, pages, charts and terminals.

Everything that comes from outside (column names, notes, titles of attackers) is cleaned here: for pages,
characters that turn or hide the text around them are dropped, and no name is longer than a line; for
terminals, which obey such characters, they are written as escapes.
"""

import datetime as dt
import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the command line says its one line of error without waiting for SciPy
    from tabveil.core.estimate import Estimate

_INVISIBLE = {"Cf", "Cs", "Cn", "Co"}  # marks that turn text around, halves of characters, unassigned ones
_OBEYED = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # controls, marks that turn text around, halves, ends of lines
NOT_COMPUTED = "not computed"
UNSEEN = "people the generator never saw"
LONGEST_NAME = 60
LONGEST_TITLE = 200
LONGEST_BRIEF = 160
LONGEST_TEXT = 1200
FEW_NAMES = 8
ROUNDING = 1e-9  # what floating point adds to a number that has no more decimals
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_JULY, _HALF_A_MONTH = 7, 15
_YEAR, _MONTH, _DAY, _MINUTE = (dt.timedelta(days=n) for n in (366, 31, 1, 1 / 1440))


def visible(text: str) -> str:
    r"""Drop what has no picture (control characters, marks that turn text around); one space between words.

    >>> visible("a\u202eb\n\x00 c")
    'ab c'
    """
    spaced = (" " if unicodedata.category(letter) in {"Cc", "Zl", "Zp"} else letter for letter in text)
    kept = (letter for letter in spaced if unicodedata.category(letter) not in _INVISIBLE)
    return " ".join("".join(kept).split())


def python_escape(letter: str) -> str:
    """Write a character as Python does."""
    return letter.encode("unicode_escape").decode()


def escaped(text: str, escape: Callable[[str], str] = python_escape) -> str:
    r"""Write the characters that a terminal obeys, or that turn text around, as escapes; lines and tabs stay.

    >>> escaped("a\x1b[2J\u202eb\n") == r"a\x1b[2J\u202eb" + "\n"
    True
    """
    if text.isprintable():
        return text
    return "".join(escape(letter) if _is_obeyed(letter) else letter for letter in text)


def _is_obeyed(letter: str) -> bool:
    return letter not in "\n\t" and unicodedata.category(letter) in _OBEYED


def clean(text: str, longest: int = LONGEST_TEXT) -> str:
    """Make a text from outside harmless, and cut it if it is too long.

    >>> clean("abcdef", 4)
    'abc…'
    """
    kept = visible(text)
    return kept if len(kept) <= longest else f"{kept[: longest - 1].rstrip()}…"


def name(text: str) -> str:
    """Shorten a name from outside to what a line of text can hold."""
    return clean(text, LONGEST_NAME)


def both_ends(text: str, longest: int = 2 * LONGEST_NAME) -> str:
    """Shorten a name in its middle: what tells files apart often stands at their end.

    >>> both_ends("runs of 2024, trees, seed 1", 20)
    'runs of 20…s, seed 1'
    """
    kept = visible(text)
    if len(kept) <= longest:
        return kept
    tail = (longest - 1) // 2
    return f"{kept[: longest - 1 - tail]}…{kept[-tail:]}"


def cell(text: str) -> str:
    """Write a value of a table; what dataframes call a missing value is called that.

    >>> cell("nan"), cell("ward 3")
    ('missing', 'ward 3')
    """
    return "missing" if text in {"", "nan", "NaN", "None", "<NA>", "NaT"} else name(text)


ROWS, PEOPLE = ("row", "rows"), ("person", "people")
"""What a row of a table is called: a person where rows sum up linked tables."""


def listed(names: Sequence[str], most: int = FEW_NAMES) -> str:
    """List names, the first ones where there are many; semicolons part those that have commas themselves.

    >>> listed(["a", "b", "c"]), listed(["a", "b", "c", "d"], 2), listed(["visits: ward, last", "sex"])
    ('a, b, c', 'a, b and 2 more', 'visits: ward, last; sex')
    """
    shown = [name(item) for item in names]
    between = "; " if len(shown) > 1 and any(", " in item for item in shown[:most]) else ", "
    if len(shown) <= most:
        return between.join(shown)
    return f"{between.join(shown[:most])} and {len(shown) - most:,} more"


def number(value: float | None, minus: str = "−") -> str:
    """Write a number with three decimals, never rounding a leak away, or say that there is none.

    >>> number(-0.0123), number(float("nan")), number(-0.00004), number(0.00004)
    ('−0.012', 'not computed', '0.000', '<0.001')
    """
    if value is None or not math.isfinite(value):
        return NOT_COMPUTED
    if 0 < value < 0.0005:  # noqa: PLR2004 - what three decimals would show as zero
        return "<0.001"
    return f"{value:.3f}".replace("-0.000", "0.000").replace("-", minus)


def upper(value: float, minus: str = "−") -> str:
    """Write an upper bound with three decimals: rounded up, or it would not be one.

    >>> upper(0.05001), upper(0.05), upper(-0.0121)
    ('0.051', '0.050', '−0.012')
    """
    return number(math.ceil(value * 1000 - ROUNDING) / 1000, minus) if math.isfinite(value) else NOT_COMPUTED


def lower(value: float, minus: str = "−") -> str:
    """Write a lower bound with three decimals, rounded down.

    >>> lower(0.0499), lower(-0.0121)
    ('0.049', '−0.013')
    """
    return number(math.floor(value * 1000 + ROUNDING) / 1000, minus) if math.isfinite(value) else NOT_COMPUTED


def people(share: float) -> str:
    """Write a share as people of a hundred, to a tenth.

    >>> people(0.0512), people(-0.0101)
    ('5.1', '−1')
    """
    return f"{round(share * 1000) / 10 + 0.0:g}".replace("-", "−")


def most_people(share: float) -> str:
    """Write an upper bound as people of a hundred, rounded up to a tenth.

    >>> most_people(0.05), most_people(0.0683), most_people(-0.01)
    ('5', '6.9', '−1')
    """
    return people(math.ceil(share * 1000 - ROUNDING) / 1000)


def least_people(share: float) -> str:
    """Write a lower bound as people of a hundred, rounded down to a tenth.

    >>> least_people(0.0683)
    '6.8'
    """
    return people(math.floor(share * 1000 + ROUNDING) / 1000)


def upper_percent(share: float) -> str:
    """Write an upper bound as a percentage, rounded up to a hundredth.

    >>> upper_percent(0.03001), upper_percent(0.0)
    ('3.01%', '0%')
    """
    return f"{math.ceil(share * 10_000 - ROUNDING) / 100:g}%"


def joined(items: Sequence[str]) -> str:
    """List a few things in a sentence.

    >>> joined(["a"]), joined(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def interval(estimate: "Estimate | None") -> str:
    """Write the two ends of an interval, rounded outward."""
    if estimate is None or not (math.isfinite(estimate.low) and math.isfinite(estimate.high)):
        return NOT_COMPUTED
    return f"{lower(estimate.low)} to {upper(estimate.high)}"


def percent(value: float | None) -> str:
    """Write a share, with two decimals where it is small.

    >>> percent(0.2854), percent(0.0017), percent(0.00001), percent(1.0), percent(-0.02)
    ('28.5%', '0.17%', '<0.01%', '100%', '−2.00%')
    """
    if value is None or not math.isfinite(value):
        return NOT_COMPUTED
    if value in {0.0, 1.0}:
        return f"{value:.0%}"
    if 0 < value < 0.00005:  # noqa: PLR2004 - what two decimals would show as zero
        return "<0.01%"
    if 0.9995 <= value < 1:  # noqa: PLR2004 - what one decimal would show as all
        return ">99.9%"
    written = f"{value:.2%}" if abs(value) < 0.09995 else f"{value:.1%}"  # noqa: PLR2004 - below one in ten
    return written.replace("-", "−")


def share_of(estimate: "Estimate | None") -> str:
    """Write an estimated share."""
    return percent(None if estimate is None else estimate.value)


def value_of(estimate: "Estimate | None") -> str:
    """Write an estimated number."""
    return number(None if estimate is None else estimate.value)


def begin(text: str) -> str:
    """Begin a sentence."""
    return text[:1].upper() + text[1:]


def level(confidence: float) -> str:
    """Write a confidence level.

    >>> level(0.95), level(0.999)
    ('95%', '99.9%')
    """
    return f"{confidence * 100:.4g}%"


def plural(count: int, word: str, several: str = "") -> str:
    """Count things.

    >>> plural(1, "row"), plural(1200, "person", "people")
    ('1 row', '1,200 people')
    """
    return f"{count:,} {word if count == 1 else several or f'{word}s'}"


def verb(count: int, one: str, several: str) -> str:
    """Return the form that a verb has after so many things.

    >>> [f"{plural(count, 'row')} {verb(count, 'equals', 'equal')} another" for count in (1, 2)]
    ['1 row equals another', '2 rows equal another']
    """
    return one if count == 1 else several


def dates(moments: Sequence[dt.datetime]) -> list[str]:
    """Write ascending moments for an axis, each to the nearest year, month, day or minute that parts them.

    >>> days = [dt.datetime(2023, 12, 20), dt.datetime(2024, 2, 8), dt.datetime(2024, 3, 29)]
    >>> dates(days), dates([day.replace(year=10 * i + 1960) for i, day in enumerate(days)])
    (['Jan 2024', 'Feb 2024', 'Apr 2024'], ['1961', '1970', '1980'])
    """
    apart = min((after - before for before, after in pairwise(moments)), default=_YEAR)
    if apart >= _YEAR:  # no year is longer, so no two moments get the same one
        return [f"{item.year + (item.month >= _JULY)}" for item in moments]
    if apart >= _MONTH:
        return [_nearest_month(item) for item in moments]
    days = [f"{item.day} {_MONTHS[item.month - 1]} {item.year}" for item in moments]
    if apart >= _DAY:
        return days
    times = [f"{item:%H:%M}" if apart >= _MINUTE else f"{item:%H:%M:%S}" for item in moments]
    return times if len(set(days)) == 1 else [f"{day}, {time}" for day, time in zip(days, times, strict=True)]


def _nearest_month(moment: dt.datetime) -> str:
    year, month = divmod(12 * moment.year + moment.month - 1 + (moment.day > _HALF_A_MONTH), 12)
    return f"{_MONTHS[month]} {year}"


def duration(seconds: float) -> str:
    """Write a time in the unit that reads best.

    >>> duration(0.2), duration(75)
    ('under 1 second', '1 min 15 s')
    """
    if seconds < 1:
        return "under 1 second"
    whole = round(seconds)
    return f"{whole} s" if whole < 60 else f"{whole // 60:,} min {whole % 60} s"  # noqa: PLR2004 - a minute


def setting(value: Any) -> str:  # noqa: ANN401 - whatever a parameter may be
    """Write a parameter's or a setting's value in one line."""
    match value:
        case None:
            return "not set"
        case bool():
            return "yes" if value else "no"
        case float() if not math.isfinite(value):
            return NOT_COMPUTED
        case int() | float():
            return f"{value:g}" if isinstance(value, float) else f"{value:,}"
        case Mapping():
            return "; ".join(f"{name(str(key))}: {setting(item)}" for key, item in value.items()) or "none"
        case list() | tuple():
            parts = [setting(item) for item in value]
            return ", ".join(parts) or "none"
        case _:
            return clean(str(value))
