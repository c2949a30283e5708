"""Scales from numbers to places, and what stands along them: axes, intervals, states by shape and word."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.canvas import WIDTH, coordinate, drawable, tick, width_of

_ROUND = (1.0, 2.0, 2.5, 5.0, 10.0)
_LABELED = (1.0, 2.0, 5.0)  # of each power of ten, where ticks are not evenly spaced
_NEAR = 1e-9  # ticks at the very end of an axis must not be lost to rounding


@dataclass(frozen=True, kw_only=True)
class Scale:
    """An axis from ``low`` to ``high``, drawn from ``start`` to ``end``.

    ``bend`` is ``linear``, ``root`` (square roots: room for small numbers, and zero has a place) or ``log``.

    >>> scale = Scale(low=0, high=0.2, start=100, end=300)
    >>> scale.at(0.05), scale.at(0.5), scale.ticks()
    (150.0, 300.0, (0.0, 0.05, 0.1, 0.15, 0.2))
    """

    low: float
    high: float
    start: float
    end: float
    bend: Literal["linear", "root", "log"] = "linear"

    def at(self, value: float) -> float:
        """Return the place of a value; one beyond an end of the axis stands at that end."""
        inside = min(max(value, self.low), self.high)
        first, last = self._bent(self.low), self._bent(self.high)
        return self.start + (self._bent(inside) - first) / (last - first) * (self.end - self.start)

    def back(self, place: float) -> float:
        """Return the value that is drawn at a place."""
        first, last = self._bent(self.low), self._bent(self.high)
        bent = first + (place - self.start) / (self.end - self.start) * (last - first)
        return {"linear": bent, "root": bent * bent, "log": math.exp(bent)}[self.bend]

    def _bent(self, value: float) -> float:
        match self.bend:
            case "linear":
                return value
            case "root":
                return math.sqrt(max(value, 0.0))
            case "log":
                return math.log(value)

    def ticks(self, about: int = 5, *, apart: float = 50.0) -> tuple[float, ...]:
        """Return round numbers to label: ``about`` so many, or on a bent axis those that lie ``apart``."""
        if self.bend == "linear":
            return _even_ticks(self.low, self.high, about)
        found: list[float] = []
        power = math.floor(math.log10(self.high))
        digits = _LABELED if self.bend == "root" else (1.0,)
        candidates = [digit * 10.0**p for p in range(power, power - 8, -1) for digit in reversed(digits)]
        for value in ([0.0] if self.bend == "root" else []) + candidates:
            fits = self.low * (1 - _NEAR) <= value <= self.high * (1 + _NEAR)
            if fits and all(abs(self.at(value) - self.at(other)) >= apart for other in found):
                found.append(value)
        return tuple(sorted(found))


def _even_ticks(low: float, high: float, about: int) -> tuple[float, ...]:
    least = (high - low) / about
    power = 10.0 ** math.floor(math.log10(least))
    step = next(digit * power for digit in _ROUND if digit * power >= least * (1 - _NEAR))
    first, last = math.ceil(low / step - _NEAR), math.floor(high / step + _NEAR)
    return tuple(round(multiple * step, 12) for multiple in range(first, last + 1))


State = Literal["within", "above", "inconclusive", "diagnostic"]
WORDS: dict[State, str] = {
    "within": "within threshold",
    "above": "above threshold",
    "inconclusive": "inconclusive",
    "diagnostic": "diagnostic",
}
_ARROW = 6.0


def state_key(state: str) -> State:
    """Return the short form of a verdict's state, which style sheets and charts use.

    >>> state_key("above threshold")
    'above'
    """
    return next((key for key, words in WORDS.items() if words == state), "inconclusive")


def symbol(state: State, x: float, y: float, size: float = 5.0) -> Markup:
    """Draw the shape of a state: disc, triangle, hollow diamond, ring. The shape says it without color."""
    match state:
        case "above":
            corners = (x, y - 1.2 * size), (x + 1.2 * size, y + 0.9 * size), (x - 1.2 * size, y + 0.9 * size)
            return draw.path(_closed(*corners), "mark-above")
        case "inconclusive":
            reach = 1.15 * size
            return draw.path(
                _closed((x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)),
                f"mark-{state} hollow",
            )
        case "within":
            return draw.tag("circle", cx=x, cy=y, r=size, class_="mark-within")
        case "diagnostic":
            return draw.tag("circle", cx=x, cy=y, r=0.85 * size, class_="mark-diagnostic hollow")


def _closed(*corners: tuple[float, float]) -> str:
    return "M" + "L".join(f"{coordinate(x)} {coordinate(y)}" for x, y in corners) + "Z"


def interval(estimate: Estimate | None, state: State, scale: Scale, y: float) -> Markup:
    """Draw a value and its interval along an axis; an arrow where one of them lies beyond its end."""
    if estimate is None or not drawable(estimate.value):
        return Markup()
    whole = drawable(estimate.low, estimate.high)
    low, high = (estimate.low, estimate.high) if whole else (estimate.value, estimate.value)
    parts = [draw.line(scale.at(low), y, scale.at(high), y, f"span mark-{state}")]
    if min(low, estimate.value) < scale.low:
        parts.append(_arrow(scale.start, y, -_ARROW, state))
    if max(high, estimate.value) > scale.high:
        parts.append(_arrow(scale.end, y, _ARROW, state))
    if scale.low <= estimate.value <= scale.high:
        parts.append(symbol(state, scale.at(estimate.value), y))
    return draw.joined(parts)


def _arrow(x: float, y: float, reach: float, state: State) -> Markup:
    corners = (x, y - _ARROW), (x + 1.2 * reach, y), (x, y + _ARROW)
    return draw.path(_closed(*corners), f"mark-{state}")


def axis_labels(scale: Scale, y: float, *, write: Callable[[float], str] = tick, about: int = 5) -> Markup:
    """Write the ticks of a horizontal axis, leaving out those that would run into the one before."""
    parts: list[Markup] = []
    free = 0.0
    for value in scale.ticks(about):
        text, place = write(value), scale.at(value)
        half = width_of(text) / 2
        if place - half >= free or not parts:
            parts.append(draw.label(place, y, text, kind="mute", anchor="middle"))
            free = place + half + 4
    return draw.joined(parts)


def stroke(place: int) -> str:
    """Return the class of a curve that is told from those before it: by its color, and by its stroke."""
    return f"{color(place)}{('', ' dashed', ' dotted')[place % 3]}"


def color(place: int) -> str:
    """Return the class of the color alone, which marks on the curve have."""
    return ("line-real", "line-synthetic", "line-third")[place % 3]


def whisker(across: float, estimate: Estimate, upward: Scale, kind: str) -> Markup:
    """Draw an upright interval, if it has both ends."""
    if not drawable(estimate.low, estimate.high):
        return Markup()
    return draw.line(across, upward.at(estimate.low), across, upward.at(estimate.high), f"whisker {kind}")


def field(
    across: Scale,
    upward: Scale,
    *,
    x_title: str,
    y_title: str,
    head: float = 18.0,
    write_x: Callable[[float], str] = tick,
    write_y: Callable[[float], str] = tick,
    behind: Markup | None = None,
) -> Markup:
    """Draw two axes with their titles; ``behind`` is what stands in the field before any marks."""
    left, right, top, bottom = across.start, across.end, upward.end, upward.start
    rules = draw.joined(draw.line(across.at(v), top, across.at(v), bottom, "rule") for v in across.ticks())
    return draw.joined(
        [
            draw.label(0, top - head, y_title, width=WIDTH, kind="mute"),
            upright_axis(upward, left, right, write=write_y),
            rules if behind is None else behind,
            axis_labels(across, bottom + 20, write=write_x),
            draw.label(right, bottom + 40, x_title, width=right, kind="mute", anchor="end"),
        ]
    )


def upright_axis(
    scale: Scale,
    left: float,
    right: float,
    *,
    write: Callable[[float], str] = tick,
    about: int = 5,
    apart: float = 50.0,
) -> Markup:
    """Draw the rules and labels of a vertical axis, labels to the left of the plot."""
    return draw.joined(
        draw.line(left, scale.at(value), right, scale.at(value), "rule")
        + draw.label(left - 6, scale.at(value) + 4.5, write(value), kind="mute", anchor="end")
        for value in scale.ticks(about, apart=apart)
    )
