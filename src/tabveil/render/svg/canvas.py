"""Pieces of a drawing: escaped elements with classes instead of colors, and the frame around a chart."""

import hashlib
from collections.abc import Iterable, Sequence

from markupsafe import Markup, escape

from tabveil.core.wording import visible
from tabveil.render.svg.words import shorten, spoken

WIDTH = 440.0  # narrow, so that on a phone the letters stay legible
SMALL_WIDTH = 320.0
LINE = 17.0  # from one line of text to the next


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
        f' {key.rstrip("_").replace("_", "-")}="{_attribute(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not content:
        return Markup(f"<{name}{written}/>")  # noqa: S704 - every part is escaped
    return Markup(f"<{name}{written}>{escape(content)}</{name}>")  # noqa: S704 - every part is escaped


def _attribute(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else coordinate(value)


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


def path(data: str, kind: str) -> Markup:
    """Draw a path; the data are commands and coordinates, nothing from outside."""
    return tag("path", d=data, class_=kind)


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """Return the data of a path through points."""
    written = [f"{coordinate(x)} {coordinate(y)}" for x, y in points]
    return f"M{'L'.join(written)}" if written else ""


def chart(
    body: Iterable[Markup], *, title: str, description: str, height: float, width: float = WIDTH
) -> Markup:
    """Frame a drawing with what a screen reader says about it.

    The ids are made from the content: the same chart is always the same text, and different charts on one
    page never share an id.
    """
    drawn = joined(body)
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


def nothing(title: str, why: str, *, width: float = WIDTH) -> Markup:
    """Draw that there is nothing to draw."""
    text = label(0, 20, why, width=width, kind="mute")
    return chart([text], title=title, description=why, height=30, width=width)
