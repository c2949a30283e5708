"""Charts that stand by themselves, for pages of the documentation: dots in rows, and curves.

They are made of the parts that the reports' charts are made of. An image on a page does not know the page's
colors, so each brings its style and its ground, light or dark as the reader's system is.
"""

import hashlib
import math
from dataclasses import dataclass
from itertools import accumulate, chain

from markupsafe import Markup

from tabveil.render.svg import STYLE
from tabveil.render.svg.canvas import (
    LINE,
    box,
    coordinate,
    joined,
    label,
    line,
    paragraph,
    path,
    polyline,
    tag,
)
from tabveil.render.svg.marks import axis_labels, upright_axis
from tabveil.render.svg.scale import Scale
from tabveil.render.svg.words import SMALLEST, shown, tick, visible, width_of, wrap

WIDTH = 720.0
_MARGIN = 16.0
_INNER = WIDTH - 2 * _MARGIN
_BETWEEN = 30.0  # panels side by side
_ROW = 20.0
_HEAD, _FOOT = 18.0, 42.0  # of a panel: its name above, its numbers below
_INSET = 8.0  # from the end of a track to the end of its axis, so that no mark is cut
_NEARLY_ALL = 0.5  # where so much is reached, an axis of shares ends at 1
_MARK = 4.4
_COLORS = ("real", "synthetic", "third", "control")
_STANDING_ALONE = ".paper{fill:var(--chart-paper)}.chart text{font-size:13px}"


@dataclass(frozen=True, kw_only=True)
class Spot:
    """One number; hollow where it is not ``sure`` that it is more than chance."""

    value: float
    sure: bool = True


@dataclass(frozen=True, kw_only=True)
class Row:
    """Numbers beside each other, one for each series; None is a gap."""

    label: str
    spots: tuple[Spot | None, ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Rows under a name. ``beside`` holds a number for each series that the rows are to be compared with."""

    name: str
    rows: tuple[Row, ...]
    beside: tuple[float | None, ...] = ()

    @property
    def spots(self):
        """All numbers of the panel."""
        return [spot for row in self.rows for spot in row.spots if spot is not None]

    @property
    def height(self):
        """The room it takes."""
        return self.head + _ROW * len(self.rows) + _FOOT

    @property
    def head(self):
        """The room above its rows."""
        return _HEAD if self.name else 0.0


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Numbers along an axis, as (where, what); ``color`` is a place among the colors. None is a gap."""

    label: str
    points: tuple[tuple[float, float | None], ...]
    color: int
    dashed: bool = False


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


def dots(
    panels,
    *,
    series,
    title,
    across,
    columns=2,
    bend="linear",
    own_axes=False,
    told_apart="",
    beside="",
    missing="Where a mark is missing, it was not computed.",
):
    """Draw what several series say, row by row: small multiples on one axis, or each on its own.

    ``told_apart`` says what a hollow mark means and ``missing`` what a gap does; each is written where there
    is one. ``beside`` says what the dotted lines are.
    """
    wide = (_INNER - _BETWEEN * (columns - 1)) / columns
    names = min(max(_width(row.label) for panel in panels for row in panel.rows) + 8, 0.6 * wide)
    heads = wrap(title, _INNER, most=2)
    explained, top = _legend(series, 30 + LINE * len(heads), told_apart if _hollow(panels) else "", beside)
    lines = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    tops = list(accumulate((max(panel.height for panel in each) for each in lines), initial=top))
    common = _reach([spot.value for panel in panels for spot in panel.spots], bend)
    parts = [paragraph(_MARGIN, 26, heads, kind="strong"), explained]
    for each, place in zip(lines, tops, strict=False):
        for column, panel in enumerate(each):
            left = _MARGIN + column * (wide + _BETWEEN)
            low, high = _around([spot.value for spot in panel.spots]) if own_axes else common
            scale = Scale(
                low=low, high=high, start=left + names + _INSET, end=left + wide - _INSET, bend=bend
            )
            parts.append(_panel(panel, scale, left, place, names))
    bottom = tops[-1] - 8
    parts.append(label(WIDTH - _MARGIN, bottom, across, width=_INNER, kind="mute", anchor="end"))
    if missing and any(map(_has_gaps, panels)):
        bottom += LINE
        parts.append(label(_MARGIN, bottom, missing, kind="mute"))
    said = " ".join(_spoken(panel, series) for panel in panels)
    return picture(parts, title=title, description=f"{across}. {said}", height=bottom + _MARGIN)


def _width(text):
    """Estimate how wide a text is drawn here, with letters a little smaller than on a report's page."""
    return 0.9 * width_of(text)


def _has_gaps(panel):
    """Tell whether a series that the panel has is missing in a row that others have."""
    there = [
        place
        for place, spots in enumerate(zip(*(row.spots for row in panel.rows), strict=True))
        if any(spots)
    ]
    return any(0 < sum(row.spots[place] is not None for place in there) < len(there) for row in panel.rows)


def _hollow(panels):
    return any(not spot.sure for panel in panels for spot in panel.spots)


def _reach(values, bend):
    """Return the ends of an axis: zero and all values, and 1 where most of that is reached."""
    if bend == "log":
        return min(values) / 1.5, max(values) * 1.5
    low, high = min(0.0, *values), max(SMALLEST, *values)
    return low, max(high, 1.0) if high > _NEARLY_ALL else high


def _around(values):
    """Return the ends of an axis on which small differences are seen."""
    room = max(max(values) - min(values), SMALLEST) / 12
    return min(values) - room, max(values) + room


def _panel(panel, scale, left, top, names):
    ground = top + panel.head
    bottom = ground + _ROW * len(panel.rows)
    start, end = scale.start - _INSET, scale.end + _INSET
    parts = [
        label(left, top + 8, panel.name, kind="strong"),
        box(start, ground, end - start, bottom - ground, "track"),
        *(line(scale.at(value), ground, scale.at(value), bottom, "rule") for value in scale.ticks()),
        axis_labels(scale, bottom + 15, about=5),
    ]
    if scale.low <= 0 <= scale.high:
        parts.append(line(scale.at(0), ground, scale.at(0), bottom, "zero"))
    for place, value in enumerate(panel.beside):
        if value is not None:
            kind = f"curve dotted line-{_COLORS[place]}"
            parts.append(line(scale.at(value), ground, scale.at(value), bottom, kind))
    for number, row in enumerate(panel.rows):
        y = ground + _ROW * (number + 0.5)
        parts.append(label(left + names - 6, y + 4.5, row.label, width=names / 0.9, anchor="end"))
        parts.append(_spots(row, scale, y))
    return joined(parts)


def _spots(row, scale, y):
    """Draw the numbers of a row, the first series on top; where there is none at all, words say so."""
    known = [(place, spot) for place, spot in enumerate(row.spots) if spot is not None]
    if not known:
        return label(scale.start, y + 4.5, "not computed", kind="slanted")
    places = [scale.at(spot.value) for _, spot in known]
    parts = [line(min(places), y, max(places), y, "whisker line-mute")] if len(known) > 1 else []
    parts += [_mark(place, scale.at(spot.value), y, sure=spot.sure) for place, spot in reversed(known)]
    return joined(parts)


def _mark(place, x, y, *, sure=True):
    """Draw the mark of a series; its shape says which one without color."""
    kind = f"{'sure-dot' if sure else 'reading'} line-{_COLORS[place]}"
    if place == 0:
        return tag("circle", cx=x, cy=y, r=_MARK - 0.4, class_=kind)
    around = {
        1: ((0, -1.25), (1.25, 0), (0, 1.25), (-1.25, 0)),
        2: ((0, -1.2), (1.15, 0.9), (-1.15, 0.9)),
        3: ((-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)),
    }[place]
    return path(polyline((x + _MARK * right, y + _MARK * down) for right, down in around) + "Z", kind)


def _legend(series, top, told_apart, beside):
    """Name the series side by side, as many a line as fit; return that and where the panels begin."""
    entries = [(name, lambda x, y, place=place: _mark(place, x, y)) for place, name in enumerate(series)]
    if told_apart:
        entries.append((told_apart, lambda x, y: _mark(0, x, y, sure=False)))
    if beside:
        entries.append((beside, lambda x, y: line(x, y - 7, x, y + 7, "curve dotted line-real")))
    parts, x, y = [], _MARGIN, top
    for name, draw in entries:
        room = 16 + _width(name) + 10
        if x > _MARGIN and x + room > WIDTH - _MARGIN:
            x, y = _MARGIN, y + LINE
        parts.append(draw(x + 6, y - 4.5) + label(x + 16, y, name))
        x += room
    return joined(parts), y + 22


def _spoken(panel, series):
    told = []
    for place, name in enumerate(series):
        values = [row.spots[place].value for row in panel.rows if row.spots[place] is not None]
        if values:
            told.append(f"{name} {shown(min(values))} to {shown(max(values))}")
    return f"{panel.name}: {', '.join(told)}."


def curves(drawn, *, title, across, upward, high=240.0):
    """Draw curves whose numbers lie far apart, upward by logarithms; a gap ends a curve."""
    heads = wrap(title, _INNER, most=2)
    top = 30 + LINE * len(heads)
    parts = [paragraph(_MARGIN, 26, heads, kind="strong")]
    for place, curve in enumerate(drawn):
        x, y = _MARGIN + (place % 2) * _INNER / 2, top + LINE * (place // 2)
        sample = line(x, y - 4.5, x + 30, y - 4.5, _stroke(curve))
        parts.append(sample + _point(curve, x + 15, y - 4.5) + label(x + 38, y, curve.label))
    top += LINE * ((len(drawn) + 1) // 2) + 24
    known = [value for curve in drawn for _, value in curve.points if value is not None]
    levels = sorted({level for curve in drawn for level, _ in curve.points})
    left, right = _MARGIN + 58, WIDTH - _MARGIN
    places = Scale(low=levels[0], high=levels[-1], start=left + 20, end=right - 30)
    ends = _reach(known, "log")
    values = Scale(low=ends[0], high=ends[1], start=top + high, end=top, bend="log")
    parts += [
        label(_MARGIN, top - 10, upward, kind="mute"),
        upright_axis(values, left, right, write=tick),
        *(
            label(places.at(level), top + high + 18, tick(level), kind="mute", anchor="middle")
            for level in levels
        ),
        label(right, top + high + 36, across, kind="mute", anchor="end"),
        *(_curve(curve, places, values) for curve in drawn),
    ]
    said = " ".join(f"{curve.label}: {_told(curve)}." for curve in drawn)
    return picture(parts, title=title, description=f"{upward}. {said}", height=top + high + 36 + _MARGIN)


def _stroke(curve):
    return f"curve line-{_COLORS[curve.color]}{' dashed' if curve.dashed else ''}"


def _point(curve, x, y):
    kind = f"{'reading' if curve.dashed else 'sure-dot'} line-{_COLORS[curve.color]}"
    return tag("circle", cx=x, cy=y, r=_MARK - 0.4, class_=kind)


def _curve(curve, places, values):
    spots = [None if value is None else (places.at(level), values.at(value)) for level, value in curve.points]
    pieces, current = [], []
    for spot in [*spots, None]:
        if spot is not None:
            current.append(spot)
        elif current:
            pieces.append(current)
            current = []
    drawn = [path(polyline(piece), _stroke(curve)) for piece in pieces if len(piece) > 1]
    return joined([*drawn, *(_point(curve, x, y) for x, y in chain.from_iterable(pieces))])


def _told(curve):
    return ", ".join(
        f"{'none' if value is None else tick(value)} at {tick(level)}" for level, value in curve.points
    )
