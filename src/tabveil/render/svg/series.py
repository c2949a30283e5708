"""Small charts side by side on one scale: a metric by the risk inserted, or stage by stage of a pipeline."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.axes import Scale, color, stroke, upright_axis, whisker
from tabveil.render.svg.canvas import LINE, SMALL_WIDTH, drawable, shown, shown_estimate, spoken, tick, told

_LEFT, _RIGHT = 48.0, SMALL_WIDTH - 10.0
_HIGH = 130.0
_FAR_APART = 20.0  # the largest level is so many times the smallest: an even axis would hide the small ones
_BEYOND = 0.5  # intervals may take so much of the means' range to either side; what is wider is cut
_STEPS = 12  # of a straight line on a bent axis


@dataclass(frozen=True, kw_only=True)
class ResponsePoint:
    """The mean at one level and its interval; ``sure``: is the risk seen there? None if nobody looks."""

    level: float
    value: float | None
    low: float | None = None
    high: float | None = None
    sure: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ResponseLine:
    """One curve; a chart with one alone needs no label."""

    label: str
    points: Sequence[ResponsePoint]


def value_range(lines: Sequence[ResponseLine]) -> tuple[float, float]:
    """Return the values that charts side by side should all reach over, zero among them."""
    points = [point for item in lines for point in item.points if drawable(point.value)]
    means = [0.0, *(point.value for point in points if point.value is not None)]
    low, high = min(means), max(means)
    room = max(high - low, draw.SMALLEST) * _BEYOND
    ends = [end for point in points for end in (point.low, point.high) if end is not None and drawable(end)]
    low, high = max(min([low, *ends]), low - room), min(max([high, *ends]), high + room)
    return (low, high) if high - low > draw.SMALLEST else (low, low + 1.0)


def response(
    lines: Sequence[ResponseLine],
    *,
    title: str,
    across: str,
    reach: tuple[float, float],
    write: Callable[[float], str] = tick,
    ideal: bool = False,
) -> Markup:
    """Draw whether a metric rises with the risk: one small chart of several, all on one scale (``reach``).

    A dot is filled where the risk is seen in 95 % of repeats or more, else hollow; a bar is the interval of
    the mean. Levels far apart are spread: by their logarithms, or by square roots where zero is among them.
    ``ideal`` adds the line of a metric that reads the level itself; values are then spread as levels are.
    """
    known = [item for item in lines if any(drawable(point.value) for point in item.points)]
    if not known:
        return draw.nothing(title, "No answers.", width=SMALL_WIDTH)
    levels = sorted({point.level for item in known for point in item.points})
    heads = draw.wrap(title, SMALL_WIDTH - 4)
    named = list(enumerate(known)) if len(known) > 1 else []
    top = LINE * (len(heads) + len(named)) + 16.0
    horizontal = _scale(levels)
    upward = _upward(reach, top, spread=ideal and horizontal.bend == "root")
    parts = [
        draw.paragraph(0, 13, heads, kind="strong"),
        _named(named, LINE * len(heads)),
        upright_axis(upward, _LEFT, _RIGHT, about=4),
        draw.line(_LEFT, upward.at(0.0), _RIGHT, upward.at(0.0), "zero"),
        _labels(levels, horizontal, top + _HIGH + 18, write),
        draw.label(_RIGHT, top + _HIGH + 36, across, width=SMALL_WIDTH, kind="mute", anchor="end"),
    ]
    if ideal:
        parts.append(_ideal(horizontal, upward))
    parts += [_curve(item, place, horizontal, upward) for place, item in enumerate(known)]
    said = [_spoken(item, write) for item in known]
    return draw.chart(parts, title=title, said=said, height=top + _HIGH + 44, width=SMALL_WIDTH)


def bend_of(levels: Sequence[float]) -> Literal["linear", "root", "log"]:
    """Return how an axis is spaced so that all levels can be told apart.

    >>> bend_of([0, 0.2, 1]), bend_of([0, 0.01, 1]), bend_of([1, 5, 100])
    ('linear', 'root', 'log')
    """
    above = [level for level in levels if level > 0]
    if not above or min(levels) < 0 or max(above) < _FAR_APART * min(above):
        return "linear"
    return "root" if 0 in levels else "log"


def _scale(levels: Sequence[float]) -> Scale:
    low, high = levels[0], levels[-1]
    if high - low <= draw.SMALLEST:  # one level stands in the middle
        return Scale(low=low - 1, high=low + 1, start=_LEFT, end=_RIGHT)
    return Scale(low=low, high=high, start=_LEFT + 10, end=_RIGHT - 6, bend=bend_of(levels))


def _upward(reach: tuple[float, float], top: float, *, spread: bool) -> Scale:
    """Return the scale of the values; spread by square roots it begins at zero, where all below it stands."""
    low, high = reach
    if spread and high > 0:
        return Scale(low=0.0, high=high, start=top + _HIGH, end=top, bend="root")
    return Scale(low=low, high=high, start=top + _HIGH, end=top)


def _labels(levels: Sequence[float], scale: Scale, y: float, write: Callable[[float], str]) -> Markup:
    """Write the levels that were tried; the last one always, others where there is room."""
    chosen: list[float] = []
    for level in (levels[-1], levels[0], *levels[1:-1]):
        half = draw.width_of(write(level)) / 2
        free = all(
            abs(scale.at(level) - scale.at(other)) >= half + draw.width_of(write(other)) / 2 + 3
            for other in chosen
        )
        chosen += [level] if free and level not in chosen else []
    return draw.joined(
        draw.label(scale.at(level), y, write(level), kind="mute", anchor="middle") for level in sorted(chosen)
    )


def _ideal(across: Scale, upward: Scale) -> Markup:
    places = [across.start + (across.end - across.start) * step / _STEPS for step in range(_STEPS + 1)]
    points = [(place, across.back(place)) for place in places]
    inside = [(place, upward.at(value)) for place, value in points if upward.low <= value <= upward.high]
    return draw.path(draw.polyline(inside), "curve line-control dotted") if inside else Markup()


def _straight(points: Sequence[ResponsePoint], across: Scale, upward: Scale) -> str:
    """Join points by what is straight in numbers: where square roots spread the levels, it is drawn bent."""
    known = [(point.level, point.value or 0.0) for point in points]
    if across.bend != "root":
        return draw.polyline((across.at(x), upward.at(y)) for x, y in known)
    drawn = [(across.at(x), upward.at(y)) for x, y in known[:1]]
    for (x1, y1), (x2, y2) in pairwise(known):
        start, end = across.at(x1), across.at(x2)
        for step in range(1, _STEPS + 1):
            place = start + (end - start) * step / _STEPS
            drawn.append((place, upward.at(y1 + (y2 - y1) * (across.back(place) - x1) / (x2 - x1))))
    return draw.polyline(drawn)


def _curve(item: ResponseLine, place: int, across: Scale, upward: Scale) -> Markup:
    drawn = [point for point in item.points if drawable(point.value)]
    spots = [(across.at(point.level), upward.at(point.value or 0.0)) for point in drawn]
    parts = [draw.path(_straight(drawn, across, upward), f"curve {stroke(place)}")]
    for point, (x, y) in zip(drawn, spots, strict=True):
        if point.low is not None and point.high is not None and drawable(point.low, point.high):
            parts.append(
                draw.line(x, upward.at(point.low), x, upward.at(point.high), f"whisker {color(place)}")
            )
        kind = "sure-dot" if point.sure else "reading"
        parts.append(draw.dot(x, y, 3.6, f"{kind} {color(place)}"))
    return draw.joined(parts)


def _named(lines: Sequence[tuple[int, ResponseLine]], top: float) -> Markup:
    return draw.legend(
        *(
            (draw.line(0, y - 4, 26, y - 4, f"curve {stroke(place)}"), 32, y, item.label)
            for place, item in lines
            for y in [top + LINE * place + 13]
        ),
        kind=None,
        width=SMALL_WIDTH - 34,
    )


def _spoken(item: ResponseLine, write: Callable[[float], str]) -> str:
    seen = {True: " (seen)", False: " (not reliably seen)", None: ""}
    said = (f"{shown(point.value)} at {write(point.level)}{seen[point.sure]}" for point in item.points)
    return told(item.label, *said)


_NEARLY_ALL = 0.5
_ON_THE_WAY, _BESIDE = "line-real", "line-synthetic"


@dataclass(frozen=True, kw_only=True)
class WayPoint:
    """What was measured at one stage; one that is ``beside`` the way is not joined to it."""

    label: str
    value: Estimate | None
    beside: bool = False


def reach_of(points: Sequence[WayPoint], thresholds: Sequence[float] = ()) -> float:
    """Return how far up charts side by side should all reach."""
    known = [point.value for point in points if point.value is not None]
    ends = [end for each in known for end in (each.value, each.high) if drawable(end)]
    farthest = max([draw.SMALLEST, *ends, *(1.1 * limit for limit in thresholds if drawable(limit))])
    return max(farthest, 1.0) if farthest > _NEARLY_ALL else farthest  # then the worst case is shown, too


def way(points: Sequence[WayPoint], *, title: str, reach: float, threshold: float | None = None) -> Markup:
    """Where on its way does a table lose its risk? One small chart of several, all on one scale (``reach``).

    Values are spread by their square roots, which gives room to small ones; all below zero stands at zero.
    """
    if not any(point.value is not None and drawable(point.value.value) for point in points):
        return draw.nothing(title, "Not computed at any stage.", width=SMALL_WIDTH)
    heads = draw.wrap(title, SMALL_WIDTH - 4)
    top = LINE * len(heads) + 16.0
    bottom = top + _HIGH
    upward = Scale(low=0.0, high=reach, start=bottom, end=top, bend="root")
    step = (_RIGHT - _LEFT) / len(points)
    places = [_LEFT + step * (number + 0.5) for number in range(len(points))]
    parts = [
        draw.paragraph(0, 13, heads, kind="strong"),
        upright_axis(upward, _LEFT, _RIGHT, apart=24),
        draw.line(_LEFT, bottom, _RIGHT, bottom, "zero"),
    ]
    if threshold is not None and drawable(threshold):
        parts.append(draw.line(_LEFT, upward.at(threshold), _RIGHT, upward.at(threshold), "limit"))
    parts += [
        # Every other name stands a line lower: side by side they would run into each other.
        draw.label(
            place,
            bottom + 18 + LINE * (number % 2),
            point.label,
            width=2 * step,
            kind="mute",
            anchor="middle",
        )
        for number, (point, place) in enumerate(zip(points, places, strict=True))
    ]
    parts.append(_drawn(points, places, upward))
    said = ["; ".join(f"{spoken(point.label)} {shown_estimate(point.value)}" for point in points) + "."]
    said += [] if threshold is None else [f"Threshold {shown(threshold)}."]
    return draw.chart(parts, title=title, said=said, height=bottom + 18 + LINE + 8, width=SMALL_WIDTH)


def _drawn(points: Sequence[WayPoint], places: Sequence[float], upward: Scale) -> Markup:
    known = [
        (point, place, point.value)
        for point, place in zip(points, places, strict=True)
        if point.value is not None and drawable(point.value.value)
    ]
    joint = [(place, upward.at(value.value)) for point, place, value in known if not point.beside]
    parts = [draw.path(draw.polyline(joint), f"curve {_ON_THE_WAY}")] if len(joint) > 1 else []
    for point, place, value in known:
        color = _BESIDE if point.beside else _ON_THE_WAY
        kind = "reading" if point.beside else "sure-dot"
        parts.append(whisker(place, value, upward, color))
        parts.append(draw.dot(place, upward.at(value.value), 3.6, f"{kind} {color}"))
    return draw.joined(parts)
