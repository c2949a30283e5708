"""Pieces of a drawing: escaped elements with classes, not colors; words that fit; the frame of a chart."""

import hashlib
import math
import re
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import accumulate

from markupsafe import Markup, escape

from tabveil.core.estimate import Estimate
from tabveil.core.wording import NOT_COMPUTED, lower, number, upper, visible
from tabveil.render.svg.style import ALONE

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


WIDTH = 440.0  # narrow, so that on a phone the letters stay legible
SMALL_WIDTH = 320.0
LINE = 17.0  # from one line of text to the next

_MARGIN = 8.0  # around a chart by itself
_VIEW = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')


def coordinate(value: float) -> str:
    """Write a coordinate with at most one decimal.

    >>> coordinate(12.04), coordinate(-0.01), coordinate(3.25)
    ('12', '0', '3.2')
    """
    return f"{round(value, 1) + 0.0:g}" if abs(value) < 100_000 else f"{value:.0f}"  # noqa: PLR2004 - %g has six digits


def tag(name: str, content: str = "", **attributes: str | float | None) -> Markup:
    """Write one element. ``class_`` becomes ``class``, ``text_anchor`` ``text-anchor``; None is left out.

    >>> tag("text", "a < b", x=1.25, class_="mute")
    Markup('<text x="1.2" class="mute">a &lt; b</text>')
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="'
        f'{escape(value) if isinstance(value, str) else coordinate(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not content:
        return Markup(f"<{name}{written}/>")  # noqa: S704 - every part is escaped
    return Markup(f"<{name}{written}>{escape(content)}</{name}>")  # noqa: S704 - every part is escaped


def joined(parts: Iterable[Markup]) -> Markup:
    """Put elements one after the other."""
    return Markup("").join(parts)


def label(
    x: float,
    y: float,
    text: str,
    *,
    width: float | None = None,
    kind: str | None = None,
    anchor: str | None = None,
) -> Markup:
    """Write text with its baseline at ``y``, cut to ``width``. ``anchor`` is middle or end."""
    fitting = visible(text) if width is None else shorten(text, width)
    return tag("text", fitting, x=x, y=y, class_=kind, text_anchor=anchor) if fitting else Markup()


def paragraph(x: float, y: float, lines: Sequence[str], *, kind: str | None = None) -> Markup:
    """Write lines that were broken to fit, the first with its baseline at ``y``."""
    return joined(label(x, y + LINE * i, text, kind=kind) for i, text in enumerate(lines))


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> Markup:
    """Draw a straight line."""
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def box(x: float, y: float, width: float, height: float, kind: str) -> Markup:
    """Draw a rectangle."""
    return tag("rect", x=x, y=y, width=max(width, 0.0), height=max(height, 0.0), class_=kind)


def dot(x: float, y: float, radius: float, kind: str | None = None) -> Markup:
    """Draw a circle."""
    return tag("circle", cx=x, cy=y, r=radius, class_=kind)


def path(data: str, kind: str) -> Markup:
    """Draw a path; the data are commands and coordinates, nothing from outside."""
    return tag("path", d=data, class_=kind)


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """Return the data of a path through points."""
    written = [f"{coordinate(x)} {coordinate(y)}" for x, y in points]
    return f"M{'L'.join(written)}" if written else ""


def chart(
    body: Iterable[Markup], *, title: str, said: Iterable[str], height: float, width: float = WIDTH
) -> Markup:
    """Frame a drawing with what a screen reader says about it, sentence by sentence; of very many the first.

    The ids are made from the content: the same chart is always the same text, and different charts on one
    page never share an id.
    """
    drawn = joined(body)
    rows = list(said)
    rest = len(rows) - _MOST_SPOKEN
    description = " ".join(rows[:_MOST_SPOKEN] + ([f"And {rest} more."] if rest > 0 else []))
    heading = spoken(title)
    digest = hashlib.sha256(f"{title}\n{description}\n{drawn}".encode("utf-8", "replace")).hexdigest()[:12]
    named, described = f"chart-{digest}-title", f"chart-{digest}-text"
    size = "chart small" if width <= SMALL_WIDTH else "chart"
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {coordinate(width)} {coordinate(height)}"'
        f' class="{size}" role="img" aria-labelledby="{named}" aria-describedby="{described}">'
    )
    said = tag("title", heading or "Chart", id=named) + tag("desc", visible(description), id=described)
    return Markup(opening) + said + drawn + Markup("</svg>")  # noqa: S704 - numbers and a digest only


def standalone(drawn: Markup, numbered: Sequence[str] = ()) -> str:
    """Return a chart as a document of its own: with its style, on white paper, and its numbers explained.

    >>> standalone(chart([], title="Nothing", said=["Nothing."], height=10)).count("<style>")
    1
    """
    opening, rest = str(drawn).split(">", 1)
    sized = _VIEW.search(opening)
    assert sized is not None, "charts have a view"
    across, bottom = map(float, sized.groups())
    key = [
        label(0, bottom + LINE * place, f"{place} {name}", kind="mute", width=across)
        for place, name in enumerate(numbered, start=1)
    ]
    width, height = across + 2 * _MARGIN, bottom + LINE * len(key) + 2 * _MARGIN
    corner, size = f"{-_MARGIN:g} {-_MARGIN:g}", f"{coordinate(width)} {coordinate(height)}"
    view = f'viewBox="{corner} {size}" width="{coordinate(width)}" height="{coordinate(height)}"'
    paper = box(-_MARGIN, -_MARGIN, width, height, "paper")
    rest = rest.removesuffix("</svg>") + joined(key)
    return f"{opening.replace(sized.group(), view)}><style>{ALONE}</style>{paper}{rest}</svg>"


def legend(
    *entries: tuple[Markup, float, float, str], kind: str | None = "mute", width: float | None = None
) -> Markup:
    """Explain marks: each with what it stands for, and where that is written."""
    return joined(mark + label(x, y, text, kind=kind, width=width) for mark, x, y, text in entries)


def told(name: str, *parts: str) -> str:
    """Say what a chart shows of one row: its name, and what there is to tell of it.

    >>> told("age", "real 20%", "synthetic 25%")
    'age: real 20%, synthetic 25%.'
    """
    return f"{spoken(name)}: {', '.join(filter(None, parts))}."


def nothing(title: str, why: str, *, width: float = WIDTH) -> Markup:
    """Draw that there is nothing to draw."""
    text = label(0, 20, why, width=width, kind="mute")
    return chart([text], title=title, said=[why], height=30, width=width)
