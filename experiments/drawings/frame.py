"""What all drawings share: the frame of a file, marks of series, their legend, and the ends of an axis."""

import hashlib
import math
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.render.svg import STYLE
from tabveil.render.svg.canvas import (
    LINE,
    SMALLEST,
    coordinate,
    joined,
    label,
    paragraph,
    path,
    polyline,
    tag,
    visible,
    width_of,
    wrap,
)

WIDTH = 720.0
MARGIN = 16.0
INNER = WIDTH - 2 * MARGIN
BETWEEN = 30.0  # panels side by side
COLORS = ("real", "synthetic", "third", "control", "within")
SIZE = 4.4  # of a mark
_LETTERS = 0.9  # as wide as on a report's page
_NEARLY_ALL = 0.5  # where so much is reached, an axis of shares ends at 1
_STANDING_ALONE = (
    ".paper{fill:var(--chart-paper)}.chart text{font-size:13px}.chart.small text{font-size:12px}"
    ".chart .sure-dot.line-within{fill:var(--chart-within)}"
)


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One number; hollow where it is not ``sure`` that it is more than chance."""

    value: float
    sure: bool = True


def picture(body, *, title, description, height):
    """Frame a drawing that stands in a file of its own."""
    drawn = joined(body)
    digest = hashlib.sha256(f"{title}\n{description}\n{drawn}".encode()).hexdigest()[:12]
    named, described = f"figure-{digest}-title", f"figure-{digest}-text"
    high = coordinate(math.ceil(height))
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH:g}" height="{high}" '
        f'viewBox="0 0 {WIDTH:g} {high}" role="img" aria-labelledby="{named}" aria-describedby="{described}">'
    )
    parts = [
        Markup(opening),  # noqa: S704 - numbers and a digest only
        tag("title", visible(title), id=named),
        tag("desc", visible(description), id=described),
        Markup(f"<style>{STYLE}{_STANDING_ALONE}</style>"),  # noqa: S704 - the style of all charts
        tag("rect", width=WIDTH, height=math.ceil(height), rx=8, class_="paper"),
        Markup('<g class="chart">'),
        drawn,
        Markup("</g></svg>\n"),
    ]
    return str(joined(parts))


def heading(title):
    """Write the title; return that and the baseline of the line below."""
    lines = wrap(title, INNER / _LETTERS, most=2)
    return paragraph(MARGIN, 26, lines, kind="strong"), 30 + LINE * len(lines)


def legend(entries, top, *, sample=12.0):
    """Explain marks side by side, as many a line as fit; return that and where the drawing may begin.

    An entry is a text, and what draws its mark around a place, ``sample`` wide.
    """
    if not entries:
        return joined([]), top
    parts, x, y = [], MARGIN, top
    for text, draw in entries:
        room = sample + 4 + letters(text) + 10
        if x > MARGIN and x + room > WIDTH - MARGIN:
            x, y = MARGIN, y + LINE
        parts.append(draw(x + sample / 2, y - 4.5) + label(x + sample + 4, y, text))
        x += room
    return joined(parts), y + 22


def series_entries(series, told_apart=""):
    """Return what a legend says about series, and about hollow marks where there are any."""
    entries = [(name, lambda x, y, place=place: mark(place, x, y)) for place, name in enumerate(series)]
    return entries + ([(told_apart, lambda x, y: mark(0, x, y, sure=False))] if told_apart else [])


def mark(place, x, y, *, sure=True):
    """Draw the mark of a series; its shape says which one without color."""
    kind = f"{'sure-dot' if sure else 'reading'} line-{COLORS[place]}"
    if place == 0:
        return tag("circle", cx=x, cy=y, r=SIZE - 0.4, class_=kind)
    corners = {
        1: ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
        2: ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        3: ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
        4: ((0, 1.2), (1.15, -0.9), (-1.15, -0.9)),
    }[place]
    return path(polyline((x + SIZE * right, y + SIZE * down) for right, down in corners) + "Z", kind)


def letters(text):
    """Estimate how wide a text is drawn here, where letters are a little smaller than on a report's page."""
    return _LETTERS * width_of(text)


def written(x, y, text, room, **options):
    """Write a text, cut to the room there is."""
    return label(x, y, text, width=room / _LETTERS, **options)


def reach(values, bend="linear"):
    """Return the ends of an axis: zero and all values, and 1 where most of that is reached.

    >>> reach([0.1, 0.4]), reach([-0.2, 0.6])
    ((0.0, 0.4), (-0.2, 1.0))
    """
    if bend == "log":
        return min(values) / 1.5, max(values) * 1.5
    low, high = min(0.0, *values), max(SMALLEST, *values)
    return low, max(high, 1.0) if high > _NEARLY_ALL else high
