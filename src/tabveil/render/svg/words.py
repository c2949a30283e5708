"""Words and numbers for charts: anything from outside made harmless and short enough for its place."""

import math
import unicodedata
from collections.abc import Iterable
from itertools import accumulate

from tabveil.core.estimate import Estimate
from tabveil.core.wording import NOT_COMPUTED, lower, number, upper, visible

TEXT = 14.5  # height of the letters on a phone, in units of the drawing; wider screens get smaller letters
LARGEST = 1e12  # no share, risk or distance is near it; past it coordinates would overflow
SMALLEST = 1e-9  # an axis shorter than this has no round numbers to label

_LONG, _LONGEST_WRITTEN = 10_000, 1e10  # years have no comma
_LONGEST_SPOKEN = 80
_MOST_SPOKEN = 40
_NARROW = frozenset("iljtfrI.,:;'|!()[] ")
_WIDE = frozenset("mwMW@%…—")


def drawable(*values: float | None) -> bool:
    """Tell whether all of these are numbers that can be drawn."""
    return all(value is not None and math.isfinite(value) and abs(value) < LARGEST for value in values)


def shown(value: float | None) -> str:
    """Write a number; what cannot be drawn is said in words.

    >>> shown(-0.0701), shown(float("nan")), shown(None)
    ('−0.070', 'not computed', 'not computed')
    """
    return number(value if drawable(value) else None)


def shown_estimate(estimate: Estimate | None) -> str:
    """Write a value and its interval.

    >>> shown_estimate(Estimate(value=0.1, low=-0.02, high=0.2, n=9))
    '0.100 (−0.020 to 0.200)'
    """
    if estimate is None or not drawable(estimate.value):
        return NOT_COMPUTED
    if not drawable(estimate.low, estimate.high):
        return f"{shown(estimate.value)} (interval {NOT_COMPUTED})"
    return f"{shown(estimate.value)} ({lower(estimate.low)} to {upper(estimate.high)})"


def tick(value: float) -> str:
    """Write a round number on an axis, without powers of ten as long as it can be read.

    >>> tick(0.1 + 0.2), tick(-0.00005), tick(2020), tick(250_000)
    ('0.3', '−0.00005', '2020', '250,000')
    """
    if abs(value) >= _LONG:
        written = f"{value:,.0f}" if abs(value) < _LONGEST_WRITTEN else f"{value:.3g}"
    else:
        written = f"{value:.9f}".rstrip("0").rstrip(".")
    return "0" if written in {"-0", "0"} else written.replace("-", "−")


def percent_tick(share: float) -> str:
    """Write a round share on an axis.

    >>> percent_tick(0.001), percent_tick(0.2)
    ('0.1%', '20%')
    """
    return f"{tick(100 * share)}%"


def width_of(text: str) -> float:
    """Estimate how wide a text is drawn, in units; generous, for fonts differ."""
    return sum(map(_letter_width, text)) * TEXT


def _letter_width(letter: str) -> float:
    if letter in _NARROW:
        return 0.36
    if letter in _WIDE or unicodedata.east_asian_width(letter) in "WF":
        return 1.0
    return 0.7 if letter.isupper() else 0.62


def shorten(text: str, width: float) -> str:
    """Cut a text to what fits into a width, with an ellipsis for what is missing.

    >>> shorten("marital status of the patient", 100)
    'marital sta…'
    """
    text = visible(text)
    room = width
    for position, letter in enumerate(text):
        room -= _letter_width(letter) * TEXT
        if room < 0:
            kept = text[:position]
            while kept and width_of(kept) + TEXT > width:
                kept = kept[:-1]
            return f"{kept.rstrip()}…"
    return text


def wrap(text: str, width: float, most: int = 2) -> list[str]:
    """Break a text into lines that fit, at most so many; what is left over is cut from the last.

    >>> wrap("Inference from the nearest row", 150)
    ['Inference from the', 'nearest row']
    """
    lines = [""]
    for word in visible(text).split():
        longer = f"{lines[-1]} {word}".strip()
        if len(lines) == most or not lines[-1] or width_of(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return [shorten(line, width) for line in lines]


def wrap_name(text: str, width: float, most: int = 2) -> list[str]:
    """Break a name into lines that fit, where words or parts of words end, else anywhere.

    >>> wrap_name("months_since_last_credit_inquiry", 200)
    ['months_since_last_', 'credit_inquiry']
    """
    rest = visible(text)
    lines: list[str] = []
    while len(lines) < most - 1 and width_of(rest) > width:
        used = accumulate(_letter_width(letter) * TEXT for letter in rest)
        fits = max(sum(end <= width for end in used), 1)
        ends = [place + 1 for place in range(fits) if not rest[place].isalnum()]
        end = ends[-1] if ends and ends[-1] > fits / 2 else fits
        lines.append(rest[:end].rstrip())
        rest = rest[end:].lstrip()
    return [*lines, shorten(rest, width)]


def spoken(text: str) -> str:
    """Cut a text to what a listener bears."""
    text = visible(text)
    return text if len(text) <= _LONGEST_SPOKEN else f"{text[:_LONGEST_SPOKEN].rstrip()}…"


def sentences(items: Iterable[str]) -> str:
    """Join descriptions of rows; of very many only the first."""
    said = list(items)
    rest = len(said) - _MOST_SPOKEN
    return " ".join(said[:_MOST_SPOKEN] + ([f"And {rest} more."] if rest > 0 else []))
