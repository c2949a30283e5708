"""A search: what every configuration loses in utility against what it risks, and which no other beats."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.render.svg.axes import Scale, field
from tabveil.render.svg.canvas import (
    SMALLEST,
    WIDTH,
    chart,
    dot,
    drawable,
    joined,
    label,
    legend,
    line,
    nothing,
    path,
    polyline,
    shown,
    width_of,
)

_LEFT, _RIGHT = 50.0, WIDTH - 16.0
_TOP, _HEIGHT = 84.0, 280.0
_CLEAR = 8.0  # from a mark to its number
_LETTER = 14.0  # how high a number is
_BEYOND = 0.25  # of the values' range: so far a threshold may stretch an axis


@dataclass(frozen=True, kw_only=True)
class TradeOff:
    """One configuration: ``x`` what it loses, ``y`` what it risks; ``best``: no other is better in both."""

    number: int
    x: float
    y: float
    best: bool
    within: bool


@dataclass(frozen=True, kw_only=True)
class Checked:
    """The chosen configuration, and where it lies for people that the search never saw."""

    number: int
    x: float | None = None
    y: float | None = None


def front(
    points: Sequence[TradeOff],
    *,
    chosen: Checked | None,
    threshold: float | None,
    x_title: str,
    y_title: str,
    title: str = "Privacy and usefulness of every configuration",
) -> Markup:
    """Draw all configurations; a line joins those that no other beats, and an arrow leads to the check."""
    known = [point for point in points if drawable(point.x, point.y)]
    if not known:
        return nothing(title, "No configuration has both numbers.")
    there = chosen is not None and drawable(chosen.x, chosen.y)
    xs = [point.x for point in known] + ([chosen.x] if there and chosen and chosen.x is not None else [])
    ys = [point.y for point in known] + ([chosen.y] if there and chosen and chosen.y is not None else [])
    across = _scale(xs, start=_LEFT, end=_RIGHT)
    upward = _scale(_stretched(ys, threshold), start=_TOP + _HEIGHT, end=_TOP)
    best = sorted((point for point in known if point.best), key=lambda point: (point.y, point.x))
    named = sorted(best, key=lambda point: chosen is None or point.number != chosen.number)
    parts = [
        legend(*_ENTRIES),
        field(across, upward, x_title=x_title, y_title=y_title),
        _limit(upward, threshold),
        path(polyline((across.at(point.x), upward.at(point.y)) for point in best), "curve line-real"),
        *(_mark(point, across, upward) for point in sorted(known, key=lambda point: point.best)),
        _check(known, chosen, across, upward),
        *_numbers(named, across, upward),
    ]
    return chart(parts, title=title, said=_spoken(known, chosen), height=_TOP + _HEIGHT + 50)


def _stretched(values: Sequence[float], threshold: float | None) -> list[float]:
    """Let an axis reach the threshold, if that does not squeeze the values."""
    span = max(values) - min(values)
    near = threshold is not None and min(values) - span * _BEYOND <= threshold <= max(values) + span * _BEYOND
    return [*values, *([threshold] if near and threshold is not None else [])]


def _scale(values: Sequence[float], *, start: float, end: float) -> Scale:
    span = max(values) - min(values)
    margin = 0.08 * (span if span > SMALLEST else 0.1)
    return Scale(low=min(values) - margin, high=max(values) + margin, start=start, end=end)


def _limit(upward: Scale, threshold: float | None) -> Markup:
    if threshold is None or not upward.low <= threshold <= upward.high:
        return Markup()
    y = upward.at(threshold)
    words = f"threshold {threshold:g}"
    return line(_LEFT, y, _RIGHT, y, "limit") + label(_RIGHT, y - 5, words, kind="mute halo", anchor="end")


def _mark(point: TradeOff, across: Scale, upward: Scale) -> Markup:
    kind = f"{'sure-dot' if point.within else 'reading'} {'line-real' if point.best else 'line-control'}"
    radius = 4.2 if point.best else 3.2
    return dot(across.at(point.x), upward.at(point.y), radius, kind)


def _check(known: Sequence[TradeOff], chosen: Checked | None, across: Scale, upward: Scale) -> Markup:
    own = next((point for point in known if chosen is not None and point.number == chosen.number), None)
    if own is None or chosen is None:
        return Markup()
    x, y = across.at(own.x), upward.at(own.y)
    ring = dot(x, y, 8, "ring")
    if chosen.x is None or chosen.y is None or not drawable(chosen.x, chosen.y):
        return ring
    to_x, to_y = across.at(chosen.x), upward.at(chosen.y)
    return line(x, y, to_x, to_y, "curve line-synthetic dashed") + ring + _cross(to_x, to_y)


def _cross(x: float, y: float) -> Markup:
    reach = 4.5
    strokes = ((x - reach, y - reach, x + reach, y + reach), (x - reach, y + reach, x + reach, y - reach))
    return joined(line(*ends, "apart line-synthetic") for ends in strokes)


def _numbers(best: Sequence[TradeOff], across: Scale, upward: Scale) -> list[Markup]:
    """Write numbers above and to the right of their marks; where two would meet, the later is left out.

    So what must not be left out comes first.
    """
    written: list[Markup] = []
    taken: list[tuple[float, float, float]] = []
    for point in best:
        x, y, width = across.at(point.x) + _CLEAR, upward.at(point.y) - _CLEAR, width_of(str(point.number))
        x = min(x, WIDTH - width)
        if all(abs(y - top) > _LETTER or x > left + wide or left > x + width for left, top, wide in taken):
            taken.append((x, y, width))
            written.append(label(x, y, str(point.number), kind="halo"))
    return written


_ENTRIES = (
    (dot(6, 9.5, 4, "reading line-real"), 18, 14, "no other is better in both"),
    (dot(216, 9.5, 4, "reading line-control"), 228, 14, "another is"),
    (dot(310, 9.5, 4, "sure-dot line-real"), 322, 14, "within policy"),
    (dot(8, 30, 6, "ring"), 20, 35, "chosen"),
    (_cross(84, 30), 96, 35, "the same on rows never searched"),
)


def _spoken(known: Sequence[TradeOff], chosen: Checked | None) -> list[str]:
    best = [point for point in known if point.best]
    said = [f"{len(known)} configurations; {len(best)} that no other beats."]
    for point in best:
        within = ", within the policy" if point.within else ""
        said.append(f"{point.number}: risk {shown(point.y)}, loss {shown(point.x)}{within}.")
    if chosen is not None:
        checked = f"checked, its risk is {shown(chosen.y)} and its loss {shown(chosen.x)}"
        said.append(f"Chosen is {chosen.number}; {checked}.")
    return said
