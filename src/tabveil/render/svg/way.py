"""The way of a number through the stages of a pipeline, and the generator alone beside it."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.render.svg.axes import Scale, upright_axis, whisker
from tabveil.render.svg.canvas import (
    LINE,
    SMALL_WIDTH,
    SMALLEST,
    chart,
    dot,
    drawable,
    joined,
    label,
    line,
    nothing,
    paragraph,
    path,
    polyline,
    shown,
    shown_estimate,
    spoken,
    wrap,
)

_LEFT, _RIGHT = 48.0, SMALL_WIDTH - 10.0
_HIGH = 130.0
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
    farthest = max([SMALLEST, *ends, *(1.1 * limit for limit in thresholds if drawable(limit))])
    return max(farthest, 1.0) if farthest > _NEARLY_ALL else farthest  # then the worst case is shown, too


def way(points: Sequence[WayPoint], *, title: str, reach: float, threshold: float | None = None) -> Markup:
    """Where on its way does a table lose its risk? One small chart of several, all on one scale (``reach``).

    Values are spread by their square roots, which gives room to small ones; all below zero stands at zero.
    """
    if not any(point.value is not None and drawable(point.value.value) for point in points):
        return nothing(title, "Not computed at any stage.", width=SMALL_WIDTH)
    heads = wrap(title, SMALL_WIDTH - 4)
    top = LINE * len(heads) + 16.0
    bottom = top + _HIGH
    upward = Scale(low=0.0, high=reach, start=bottom, end=top, bend="root")
    step = (_RIGHT - _LEFT) / len(points)
    places = [_LEFT + step * (number + 0.5) for number in range(len(points))]
    parts = [
        paragraph(0, 13, heads, kind="strong"),
        upright_axis(upward, _LEFT, _RIGHT, apart=24),
        line(_LEFT, bottom, _RIGHT, bottom, "zero"),
    ]
    if threshold is not None and drawable(threshold):
        parts.append(line(_LEFT, upward.at(threshold), _RIGHT, upward.at(threshold), "limit"))
    parts += [
        # Every other name stands a line lower: side by side they would run into each other.
        label(
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
    return chart(parts, title=title, said=said, height=bottom + 18 + LINE + 8, width=SMALL_WIDTH)


def _drawn(points: Sequence[WayPoint], places: Sequence[float], upward: Scale) -> Markup:
    known = [
        (point, place, point.value)
        for point, place in zip(points, places, strict=True)
        if point.value is not None and drawable(point.value.value)
    ]
    joint = [(place, upward.at(value.value)) for point, place, value in known if not point.beside]
    parts = [path(polyline(joint), f"curve {_ON_THE_WAY}")] if len(joint) > 1 else []
    for point, place, value in known:
        color = _BESIDE if point.beside else _ON_THE_WAY
        kind = "reading" if point.beside else "sure-dot"
        parts.append(whisker(place, value, upward, color))
        parts.append(dot(place, upward.at(value.value), 3.6, f"{kind} {color}"))
    return joined(parts)
