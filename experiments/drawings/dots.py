"""Dots in rows: what several series say, setting by setting."""

from dataclasses import dataclass
from itertools import accumulate

from drawings.frame import (
    BETWEEN,
    COLORS,
    INNER,
    MARGIN,
    WIDTH,
    Spot,
    heading,
    legend,
    letters,
    mark,
    picture,
    reach,
    series_entries,
    written,
)
from tabveil.render.svg.axes import Scale, axis_labels
from tabveil.render.svg.canvas import LINE, SMALLEST, box, joined, label, line, shown

_ROW = 20.0
_HEAD, _FOOT = 18.0, 42.0  # of a panel: its name above, its numbers below
_NUMBER = 48.0  # room for a number on an axis
_INSET = 8.0  # from the end of a track to the end of its axis, so that no mark is cut


@dataclass(frozen=True, kw_only=True)
class Row:
    """Numbers beside each other, one for each series or None; ``gaps``: some of them were not computed."""

    label: str
    spots: tuple[Spot | None, ...]
    gaps: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Rows under a name.

    ``beside`` holds a number for each series that the rows are to be compared with, ``ends`` those of an axis
    of its own.
    """

    name: str
    rows: tuple[Row, ...]
    beside: tuple[float | None, ...] = ()
    ends: tuple[float, float] | None = None

    @property
    def spots(self):
        """All numbers of the panel."""
        return [spot for row in self.rows for spot in row.spots if spot is not None]

    @property
    def head(self):
        """The room above its rows."""
        return _HEAD if self.name else 0.0

    @property
    def height(self):
        """The room it takes."""
        return self.head + _ROW * len(self.rows) + _FOOT


def around(rows):
    """Return the ends of an axis on which small differences are seen."""
    values = [spot.value for row in rows for spot in row.spots if spot is not None]
    room = max(max(values) - min(values), SMALLEST) / 12
    return min(values) - room, max(values) + room


def dots(
    panels,
    *,
    series,
    title,
    across,
    columns=2,
    bend="linear",
    told_apart="",
    beside="",
):
    """Draw small multiples on one axis, save for panels with ends of their own.

    ``told_apart`` says what a hollow mark means and is written where there is one, ``beside`` what the dotted
    lines are.
    """
    wide = (INNER - BETWEEN * (columns - 1)) / columns
    names = min(max(letters(row.label) for panel in panels for row in panel.rows) + 8, 0.6 * wide)
    hollow = any(not spot.sure for panel in panels for spot in panel.spots)
    entries = series_entries(series, told_apart if hollow else "")
    if beside:
        entries.append((beside, lambda x, y: line(x, y - 7, x, y + 7, "curve dotted line-real")))
    head, top = heading(title)
    explained, top = legend(entries, top)
    lines = [panels[first : first + columns] for first in range(0, len(panels), columns)]
    tops = list(accumulate((max(panel.height for panel in each) for each in lines), initial=top))
    shared = [spot.value for panel in panels if panel.ends is None for spot in panel.spots]
    common = reach(shared, bend) if shared else None
    parts = [head, explained]
    for each, place in zip(lines, tops, strict=False):
        for column, panel in enumerate(each):
            left = MARGIN + column * (wide + BETWEEN)
            low, high = panel.ends or common
            start, end = left + names + _INSET, left + wide - _INSET
            scale = Scale(low=low, high=high, start=start, end=end, bend=bend)
            parts.append(_panel(panel, scale, left, place, names))
    bottom = tops[-1] - 8
    parts.append(label(WIDTH - MARGIN, bottom, across, kind="mute", anchor="end"))
    if any(row.gaps and any(row.spots) for panel in panels for row in panel.rows):
        bottom += LINE
        parts.append(label(MARGIN, bottom, "Where a mark is missing, it was not computed.", kind="mute"))
    said = " ".join(_spoken(panel, series) for panel in panels)
    return picture(parts, title=title, description=f"{across}. {said}", height=bottom + MARGIN)


def _panel(panel, scale, left, top, names):
    ground = top + panel.head
    bottom = ground + _ROW * len(panel.rows)
    start, end = scale.start - _INSET, scale.end + _INSET
    about = min(max(int((end - start) / _NUMBER), 2), 5)
    parts = [
        label(left, top + 8, panel.name, kind="strong"),
        box(start, ground, end - start, bottom - ground, "track"),
        *(line(scale.at(value), ground, scale.at(value), bottom, "rule") for value in scale.ticks(about)),
        axis_labels(scale, bottom + 15, about=about),
    ]
    if scale.low <= 0 <= scale.high:
        parts.append(line(scale.at(0), ground, scale.at(0), bottom, "zero"))
    for place, value in enumerate(panel.beside):
        if value is not None:
            kind = f"curve dotted line-{COLORS[place]}"
            parts.append(line(scale.at(value), ground, scale.at(value), bottom, kind))
    for number, row in enumerate(panel.rows):
        y = ground + _ROW * (number + 0.5)
        parts.append(written(left + names - 6, y + 4.5, row.label, names, anchor="end"))
        parts.append(_spots(row, scale, y))
    return joined(parts)


def _spots(row, scale, y):
    """Draw the numbers of a row, the first series on top; where there is none at all, words say so."""
    known = [(place, spot) for place, spot in enumerate(row.spots) if spot is not None]
    if not known:
        return label(scale.start, y + 4.5, "not computed", kind="slanted")
    places = [scale.at(spot.value) for _, spot in known]
    parts = [line(min(places), y, max(places), y, "whisker line-mute")] if len(known) > 1 else []
    parts += [mark(place, scale.at(spot.value), y, sure=spot.sure) for place, spot in reversed(known)]
    return joined(parts)


def _spoken(panel, series):
    told = []
    for place, name in enumerate(series):
        values = [row.spots[place].value for row in panel.rows if row.spots[place] is not None]
        if values:
            told.append(f"{name} {shown(min(values))} to {shown(max(values))}")
    return f"{panel.name}: {', '.join(told)}." if panel.name else f"{', '.join(told)}."
