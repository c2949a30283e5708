"""Curves: how numbers go with a level, in one panel or in many."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, chain

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
    written,
)
from tabveil.render.svg.axes import Scale, upright_axis
from tabveil.render.svg.canvas import joined, label, line, path, polyline, tick
from tabveil.render.svg.series import bend_of

_FOOT = 42.0  # levels below a panel, and room to the next
_SAMPLE = 34.0  # of a line, long enough for dashes to be seen
_INSET = 8.0  # so that no mark is cut


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Numbers along an axis, as (where, what); ``color`` is a place among the colors. None is a gap."""

    label: str
    points: tuple[tuple[float, Spot | None], ...]
    color: int
    dashed: bool = False

    @property
    def stroke(self):
        """How it is drawn."""
        return f"curve line-{COLORS[self.color]}{' dashed' if self.dashed else ''}"

    def sample(self, x, y):
        """Draw a piece of it, for a legend."""
        return line(x - _SAMPLE / 2, y, x + _SAMPLE / 2, y, self.stroke) + mark(self.color, x, y)


@dataclass(frozen=True, kw_only=True)
class Axes:
    """How panels are drawn: what stands at their axes, how high they are, and how many stand in a line."""

    across: str
    upward: str
    write: Callable[[float], str] = tick
    bend: str = "linear"
    high: float = 110.0
    columns: int = 3


def curves(panels, *, title, axes, told_apart=""):
    """Draw curves, all panels on the same axes; a gap ends a curve. ``panels`` are curves by name."""
    every = list(chain.from_iterable(panels.values()))
    hollow = any(not each.sure for curve in every for _, each in curve.points if each is not None)
    entries = [
        (name, curve.sample) for name, curve in {curve.label: curve for curve in every}.items() if name
    ]
    if told_apart and hollow:
        entries.append((told_apart, lambda x, y: mark(0, x, y, sure=False)))
    head, top = heading(title)
    explained, top = legend(entries, top, sample=_SAMPLE)
    parts = [head, explained, label(MARGIN, top, axes.upward, kind="mute")]
    top += 24
    levels = sorted({level for curve in every for level, _ in curve.points})
    ends = reach([each.value for curve in every for _, each in curve.points if each is not None], axes.bend)
    numbers = max(letters(text) for text in map(tick, _scale(ends, 0, axes).ticks(4))) + 10
    wide = (INNER - BETWEEN * (axes.columns - 1)) / axes.columns
    names = list(panels)
    lines = [names[first : first + axes.columns] for first in range(0, len(names), axes.columns)]
    above = 16.0 if any(names) else 0.0
    tops = list(accumulate((above + axes.high + _FOOT for _ in lines), initial=top))
    for each, place in zip(lines, tops, strict=False):
        for column, name in enumerate(each):
            left = MARGIN + column * (wide + BETWEEN)
            values = _scale(ends, place + above, axes)
            places = Scale(
                low=levels[0],
                high=levels[-1],
                start=left + numbers + _INSET,
                end=left + wide - max(_INSET, letters(axes.write(levels[-1])) / 2 - _INSET),
                bend=bend_of(levels),
            )
            parts.append(written(left, place + 4, name, wide, kind="strong"))
            parts.append(_panel(panels[name], places, values, levels, axes.write))
    parts.append(label(WIDTH - MARGIN, tops[-1] - 8, axes.across, kind="mute", anchor="end"))
    said = " ".join(_spoken(name, curve, axes.write) for name, drawn in panels.items() for curve in drawn)
    return picture(
        parts,
        title=title,
        description=f"{axes.upward}, by {axes.across}. {said}",
        height=tops[-1] + 4,
    )


def _scale(ends, top, axes):
    return Scale(low=ends[0], high=ends[1], start=top + axes.high - 4, end=top + 4, bend=axes.bend)


def _panel(drawn, places, values, levels, write):
    left, right = places.start - _INSET, places.end + _INSET
    parts = [upright_axis(values, left, right, write=tick, about=4)]
    if values.low <= 0 <= values.high:
        parts.append(line(left, values.at(0), right, values.at(0), "zero"))
    parts += [
        label(places.at(level), values.start + 20, write(level), kind="mute", anchor="middle")
        for level in _labeled(levels, places, write)
    ]
    return joined([*parts, *(_curve(curve, places, values) for curve in reversed(drawn))])


def _labeled(levels, places, write):
    """Choose the levels to write: the last and the first, and others where there is room."""
    chosen = []
    for level in (levels[-1], levels[0], *levels[1:-1]):
        half = letters(write(level)) / 2
        apart = (abs(places.at(level) - places.at(other)) - letters(write(other)) / 2 for other in chosen)
        if all(room >= half + 3 for room in apart):
            chosen.append(level)
    return chosen


def _curve(curve, places, values):
    pieces = [[]]
    for level, each in curve.points:
        if each is None:
            pieces.append([])
        else:
            pieces[-1].append((places.at(level), values.at(each.value), each.sure))
    drawn = [path(polyline((x, y) for x, y, _ in piece), curve.stroke) for piece in pieces if len(piece) > 1]
    return joined(
        [*drawn, *(mark(curve.color, x, y, sure=sure) for x, y, sure in chain.from_iterable(pieces))]
    )


def _spoken(name, curve, write):
    told = ", ".join(
        f"{'none' if each is None else tick(each.value)} at {write(level)}" for level, each in curve.points
    )
    return f"{', '.join(filter(None, (name, curve.label)))}: {told}."
