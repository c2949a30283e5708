"""Clouds: what releases are worth against what they risk."""

from dataclasses import dataclass
from itertools import accumulate

from drawings.frame import (
    BETWEEN,
    INNER,
    MARGIN,
    WIDTH,
    Spot,
    heading,
    legend,
    mark,
    picture,
    reach,
    series_entries,
)
from tabveil.render.svg.axes import Scale, axis_labels, upright_axis
from tabveil.render.svg.canvas import box, joined, label, line, shown, tag, tick

_HEAD, _HIGH, _FOOT = 20.0, 170.0, 44.0
_AXIS = 42.0  # room for numbers to the left of a panel
_INSET = 8.0  # so that no mark is cut
_RING = 8.0


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release: ``x`` what it is worth, ``y`` what it risks. A ring marks those to compare with."""

    series: int
    x: float
    y: Spot
    ringed: bool = False


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """Releases under a name."""

    name: str
    points: tuple[Point, ...]


def clouds(drawn, *, series, title, across, told_apart="", ringed=""):
    """Draw clouds side by side; across on one axis, upward each on its own."""
    wide = (INNER - BETWEEN) / 2
    points = [point for cloud in drawn for point in cloud.points]
    hollow = any(not point.y.sure for point in points)
    entries = series_entries(series, told_apart if hollow else "")
    if ringed:
        entries.append((ringed, lambda x, y: tag("circle", cx=x, cy=y, r=6, class_="ring")))
    head, top = heading(title)
    explained, top = legend(entries, top)
    low, high = min(point.x for point in points), max(point.x for point in points)
    parts = [head, explained]
    lines = [drawn[first : first + 2] for first in range(0, len(drawn), 2)]
    tops = list(accumulate((_HEAD + _HIGH + _FOOT for _ in lines), initial=top))
    for each, place in zip(lines, tops, strict=False):
        for column, cloud in enumerate(each):
            left = MARGIN + column * (wide + BETWEEN)
            start, end = left + _AXIS + _INSET, left + wide - _INSET
            places = Scale(low=low, high=high, start=start, end=end)
            parts += [label(left, place + 8, cloud.name, kind="strong"), _cloud(cloud, places, place + _HEAD)]
    parts.append(label(WIDTH - MARGIN, tops[-1] - 6, across, kind="mute", anchor="end"))
    said = " ".join(_spoken(cloud, series) for cloud in drawn)
    return picture(parts, title=title, description=f"Across: {across}. {said}", height=tops[-1] + MARGIN - 6)


def _cloud(cloud, places, top):
    low, high = reach([point.y.value for point in cloud.points])
    bottom = top + _HIGH
    upward = Scale(low=low, high=high, start=bottom - _INSET, end=top + _INSET)
    left, right = places.start - _INSET, places.end + _INSET
    parts = [
        box(left, top, right - left, _HIGH, "track"),
        upright_axis(upward, left, right, write=tick),
        *(line(places.at(value), top, places.at(value), bottom, "rule") for value in places.ticks()),
        line(left, upward.at(0), right, upward.at(0), "zero"),
        axis_labels(places, bottom + 15, about=5),
    ]
    spots = [(point, places.at(point.x), upward.at(point.y.value)) for point in cloud.points]
    parts += [tag("circle", cx=x, cy=y, r=_RING, class_="ring") for point, x, y in spots if point.ringed]
    parts += [mark(point.series, x, y, sure=point.y.sure) for point, x, y in spots]
    return joined(parts)


def _spoken(cloud, series):
    told = []
    for place, name in enumerate(series):
        found = [point.y.value for point in cloud.points if point.series == place]
        if found:
            told.append(f"{name} {shown(min(found))} to {shown(max(found))}")
    return f"{cloud.name}: {', '.join(told)}."
