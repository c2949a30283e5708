"""Several releases: what each loses in utility against what it risks."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.render.svg.axes import WORDS, Scale, State, field, symbol, whisker
from tabveil.render.svg.canvas import (
    LINE,
    SMALLEST,
    WIDTH,
    chart,
    drawable,
    label,
    legend,
    line,
    nothing,
    paragraph,
    shown,
    shown_estimate,
    spoken,
    told,
    width_of,
    wrap,
    wrap_name,
)

_LEFT, _RIGHT = 50.0, WIDTH - 10.0
_HEIGHT = 300.0
_STATES: tuple[tuple[State, float], ...] = (("within", 0), ("above", 154), ("inconclusive", 308))
_KEY = 44.0  # where names begin in the list below
_CLEAR = 7.0  # around a mark
_BESIDE = 26.0  # a number farther from its mark needs a line to it


@dataclass(frozen=True, kw_only=True)
class Point:
    """One release: its loss of utility (``x``) and its largest risk (``y``).

    Beside its mark stands its number; the name has all the room it needs below.
    """

    number: int
    label: str
    x: Estimate
    y: Estimate
    state: State


@dataclass(frozen=True, kw_only=True)
class _Area:
    """A rectangle that is taken."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: "_Area") -> bool:
        apart = self.right <= other.left or other.right <= self.left
        return not (apart or self.bottom <= other.top or other.bottom <= self.top)


def scatter(
    points: Sequence[Point],
    *,
    title: str = "Risk and loss of utility",
    x_title: str = "loss of utility (0 = none)",
    y_title: str = "largest risk, upper bound (0 = like fresh data)",
) -> Markup:
    """Which release risks least for what it keeps? Low and to the left is better."""
    known = [point for point in points if drawable(point.x.value, point.y.value)]
    left_out = [point for point in points if point not in known]
    if not known:
        return nothing(title, "No release has both a risk and a measure of utility.")
    top = 64.0
    across = _scale([point.x for point in known], start=_LEFT, end=_RIGHT)
    upward = _scale([point.y for point in known], start=top + _HEIGHT, end=top)
    parts = [
        legend(*((symbol(state, 6 + x, 9.5), 18 + x, 14, WORDS[state]) for state, x in _STATES)),
        field(across, upward, x_title=x_title, y_title=y_title),
        *(_whiskers(point, across, upward) for point in known),
        *_labels(known, across, upward),
        *(symbol(point.state, across.at(point.x.value), upward.at(point.y.value)) for point in known),
    ]
    height = top + _HEIGHT + 62
    for point in known:
        name = wrap_name(point.label, WIDTH - _KEY, most=3)
        parts.append(symbol(point.state, 6, height - 4.5))
        parts.append(label(_KEY - 8, height, f"{point.number}", anchor="end"))
        parts.append(paragraph(_KEY, height, name))
        height += LINE * len(name) + 3
    if left_out:
        names = ", ".join(f"{point.number}. {spoken(point.label)}" for point in left_out)
        lines = wrap(f"Not computed: {names}", WIDTH, most=5)
        parts.append(paragraph(0, height + 4, lines, kind="mute"))
        height += LINE * len(lines) + 5
    return chart(parts, title=title, said=map(_spoken, points), height=height)


def _scale(estimates: Sequence[Estimate], *, start: float, end: float) -> Scale:
    """Show every value and zero, and intervals as far as they do not squeeze the values."""
    values = [0.0, *(estimate.value for estimate in estimates)]
    span = max(values) - min(values)
    span = span if span > SMALLEST else 0.1
    ends = [end for estimate in estimates for end in (estimate.low, estimate.high) if drawable(end)]
    low = max(min([*values, *ends]), min(values) - span / 4)
    high = min(max([*values, *ends]), max(values) + span / 4)
    margin = 0.06 * max(high - low, span)
    return Scale(low=low - margin, high=high + margin, start=start, end=end)


def _whiskers(point: Point, across: Scale, upward: Scale) -> Markup:
    y, kind = upward.at(point.y.value), f"mark-{point.state}"
    flat = Markup()
    if drawable(point.x.low, point.x.high):
        flat = line(across.at(point.x.low), y, across.at(point.x.high), y, f"whisker {kind}")
    return flat + whisker(across.at(point.x.value), point.y, upward, kind)


def _labels(points: Sequence[Point], across: Scale, upward: Scale) -> Iterator[Markup]:
    """Write each number beside its mark, where nothing else stands yet; farther away with a line to it."""
    marks = [(across.at(point.x.value), upward.at(point.y.value)) for point in points]
    taken = [_Area(left=x - _CLEAR, top=y - _CLEAR, right=x + _CLEAR, bottom=y + _CLEAR) for x, y in marks]
    for point, (x, y) in zip(points, marks, strict=True):
        text = f"{point.number}"
        places = list(_places(x, y, width_of(text)))
        free = (place for place in places if _inside(place) and not any(place.meets(area) for area in taken))
        chosen = next(free, next(filter(_inside, places), places[0]))
        taken.append(chosen)
        yield _named(text, chosen, x, y)


def _named(text: str, area: _Area, x: float, y: float) -> Markup:
    """Write a number into its place, on the side of its mark; a line leads there if that is farther away."""
    middle = (area.top + area.bottom) / 2
    anchor, place = None, area.left
    if area.right <= x:
        anchor, place = "end", area.right
    elif area.left < x:
        anchor, place = "middle", x
    far = hypot(place - x, middle - y) > _BESIDE
    leader = line(x, y, place, middle, "leader") if far else Markup()
    return leader + label(place, middle + 5, text, kind="halo", anchor=anchor)


def _places(x: float, y: float, width: float) -> Iterator[_Area]:
    """Offer places around a mark: beside, above and below it, then farther and farther away."""
    for far in range(8):
        gap = _CLEAR + 2 + 12 * far
        for down in (0.0, -10.0 - 12 * far, 10.0 + 12 * far):
            for left in (x + gap, x - gap - width):
                yield _area(left, y + down, width)
        for down in (-gap - 8, gap + 8):
            yield _area(x - width / 2, y + down, width)


def _area(left: float, middle: float, width: float) -> _Area:
    return _Area(left=left, top=middle - 9, right=left + width, bottom=middle + 9)


def _inside(area: _Area) -> bool:
    return area.left >= 2 and area.right <= WIDTH and area.top >= 40  # noqa: PLR2004 - a small margin


def _spoken(point: Point) -> str:
    risk, loss = shown_estimate(point.y), shown_estimate(point.x)
    if not drawable(point.x.value, point.y.value):
        risk, loss = f"risk {shown(point.y.value)}", f"loss of utility {shown(point.x.value)}"
        return f"{point.number}. {told(point.label, risk, loss)}"
    judged = told(point.label, WORDS[point.state], f"largest risk {risk}", f"loss of utility {loss}")
    return f"{point.number}. {judged}"
