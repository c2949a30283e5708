"""Marks that several charts share: states by shape and word, intervals, axes."""

from collections.abc import Callable
from typing import Literal

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.render.svg.canvas import coordinate, joined, label, line, path, tag
from tabveil.render.svg.scale import Scale
from tabveil.render.svg.words import drawable, tick, width_of

State = Literal["within", "above", "inconclusive", "diagnostic"]
WORDS: dict[State, str] = {
    "within": "within threshold",
    "above": "above threshold",
    "inconclusive": "inconclusive",
    "diagnostic": "diagnostic",
}
_ARROW = 6.0


def symbol(state: State, x: float, y: float, size: float = 5.0) -> Markup:
    """Draw the shape of a state: disc, triangle, hollow diamond, ring. The shape says it without color."""
    match state:
        case "above":
            corners = (x, y - 1.2 * size), (x + 1.2 * size, y + 0.9 * size), (x - 1.2 * size, y + 0.9 * size)
            return path(_closed(*corners), "mark-above")
        case "inconclusive":
            reach = 1.15 * size
            return path(
                _closed((x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)),
                f"mark-{state} hollow",
            )
        case "within":
            return tag("circle", cx=x, cy=y, r=size, class_="mark-within")
        case "diagnostic":
            return tag("circle", cx=x, cy=y, r=0.85 * size, class_="mark-diagnostic hollow")


def _closed(*corners: tuple[float, float]) -> str:
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in corners) + "Z"


def interval(estimate: Estimate | None, state: State, scale: Scale, y: float) -> Markup:
    """Draw a value and its interval along an axis; an arrow where one of them lies beyond its end."""
    if estimate is None or not drawable(estimate.value):
        return Markup()
    whole = drawable(estimate.low, estimate.high)
    low, high = (estimate.low, estimate.high) if whole else (estimate.value, estimate.value)
    parts = [line(scale.at(low), y, scale.at(high), y, f"span mark-{state}")]
    if min(low, estimate.value) < scale.low:
        parts.append(_arrow(scale.start, y, -_ARROW, state))
    if max(high, estimate.value) > scale.high:
        parts.append(_arrow(scale.end, y, _ARROW, state))
    if scale.low <= estimate.value <= scale.high:
        parts.append(symbol(state, scale.at(estimate.value), y))
    return joined(parts)


def _arrow(x: float, y: float, reach: float, state: State) -> Markup:
    corners = (x, y - _ARROW), (x + 1.2 * reach, y), (x, y + _ARROW)
    return path(_closed(*corners), f"mark-{state}")


def axis_labels(scale: Scale, y: float, *, write: Callable[[float], str] = tick, about: int = 5) -> Markup:
    """Write the ticks of a horizontal axis, leaving out those that would run into the one before."""
    parts: list[Markup] = []
    free = 0.0
    for value in scale.ticks(about):
        text, place = write(value), scale.at(value)
        half = width_of(text) / 2
        if place - half >= free or not parts:
            parts.append(label(place, y, text, kind="mute", anchor="middle"))
            free = place + half + 4
    return joined(parts)


def upright_axis(
    scale: Scale, left: float, right: float, *, write: Callable[[float], str], about: int = 5
) -> Markup:
    """Draw the rules and labels of a vertical axis, labels to the left of the plot."""
    return joined(
        line(left, scale.at(value), right, scale.at(value), "rule")
        + label(left - 6, scale.at(value) + 4.5, write(value), kind="mute", anchor="end")
        for value in scale.ticks(about)
    )
