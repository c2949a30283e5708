"""Risk against lost utility: of several releases, and of all configurations of a search."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.axes import WORDS, Scale, State, field, symbol, whisker
from tabveil.render.svg.canvas import LINE, WIDTH, drawable, shown, shown_estimate, spoken, told

_LEFT, _RIGHT = 50.0, WIDTH - 10.0
_HEIGHT = 300.0
_STATES: tuple[tuple[State, float], ...] = (("within", 0), ("above", 154), ("inconclusive", 308))
_KEY = 44.0  # where names begin in the list below
_CLEAR = 7.0  # around a mark
_BESIDE = 26.0  # a number farther from its mark needs a line to it


@dataclass(frozen=True, kw_only=True)
class ReleasePoint:
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
    points: Sequence[ReleasePoint],
    *,
    title: str = "Risk and loss of utility",
    x_title: str = "loss of utility (0 = none)",
    y_title: str = "largest risk, upper bound (0 = like fresh data)",
) -> Markup:
    """Which release risks least for what it keeps? Low and to the left is better."""
    known = [point for point in points if drawable(point.x.value, point.y.value)]
    left_out = [point for point in points if point not in known]
    if not known:
        return draw.nothing(title, "No release has both a risk and a measure of utility.")
    top = 64.0
    across = _scale([point.x for point in known], start=_LEFT, end=_RIGHT)
    upward = _scale([point.y for point in known], start=top + _HEIGHT, end=top)
    parts = [
        draw.legend(*((symbol(state, 6 + x, 9.5), 18 + x, 14, WORDS[state]) for state, x in _STATES)),
        field(across, upward, x_title=x_title, y_title=y_title),
        *(_whiskers(point, across, upward) for point in known),
        *_labels(known, across, upward),
        *(symbol(point.state, across.at(point.x.value), upward.at(point.y.value)) for point in known),
    ]
    height = top + _HEIGHT + 62
    for point in known:
        name = draw.wrap_name(point.label, WIDTH - _KEY, most=3)
        parts.append(symbol(point.state, 6, height - 4.5))
        parts.append(draw.label(_KEY - 8, height, f"{point.number}", anchor="end"))
        parts.append(draw.paragraph(_KEY, height, name))
        height += LINE * len(name) + 3
    if left_out:
        names = ", ".join(f"{point.number}. {spoken(point.label)}" for point in left_out)
        lines = draw.wrap(f"Not computed: {names}", WIDTH, most=5)
        parts.append(draw.paragraph(0, height + 4, lines, kind="mute"))
        height += LINE * len(lines) + 5
    return draw.chart(parts, title=title, said=map(_spoken, points), height=height)


def _scale(estimates: Sequence[Estimate], *, start: float, end: float) -> Scale:
    """Show every value and zero, and intervals as far as they do not squeeze the values."""
    values = [0.0, *(estimate.value for estimate in estimates)]
    span = max(values) - min(values)
    span = span if span > draw.SMALLEST else 0.1
    ends = [end for estimate in estimates for end in (estimate.low, estimate.high) if drawable(end)]
    low = max(min([*values, *ends]), min(values) - span / 4)
    high = min(max([*values, *ends]), max(values) + span / 4)
    margin = 0.06 * max(high - low, span)
    return Scale(low=low - margin, high=high + margin, start=start, end=end)


def _whiskers(point: ReleasePoint, across: Scale, upward: Scale) -> Markup:
    y, kind = upward.at(point.y.value), f"mark-{point.state}"
    flat = Markup()
    if drawable(point.x.low, point.x.high):
        flat = draw.line(across.at(point.x.low), y, across.at(point.x.high), y, f"whisker {kind}")
    return flat + whisker(across.at(point.x.value), point.y, upward, kind)


def _labels(points: Sequence[ReleasePoint], across: Scale, upward: Scale) -> Iterator[Markup]:
    """Write each number beside its mark, where nothing else stands yet; farther away with a line to it."""
    marks = [(across.at(point.x.value), upward.at(point.y.value)) for point in points]
    taken = [_Area(left=x - _CLEAR, top=y - _CLEAR, right=x + _CLEAR, bottom=y + _CLEAR) for x, y in marks]
    for point, (x, y) in zip(points, marks, strict=True):
        text = f"{point.number}"
        places = list(_places(x, y, draw.width_of(text)))
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
    leader = draw.line(x, y, place, middle, "leader") if far else Markup()
    return leader + draw.label(place, middle + 5, text, kind="halo", anchor=anchor)


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


def _spoken(point: ReleasePoint) -> str:
    risk, loss = shown_estimate(point.y), shown_estimate(point.x)
    if not drawable(point.x.value, point.y.value):
        risk, loss = f"risk {shown(point.y.value)}", f"loss of utility {shown(point.x.value)}"
        return f"{point.number}. {told(point.label, risk, loss)}"
    judged = told(point.label, WORDS[point.state], f"largest risk {risk}", f"loss of utility {loss}")
    return f"{point.number}. {judged}"


_FRONT_RIGHT = WIDTH - 16.0
_TOP, _FRONT_HEIGHT = 84.0, 280.0
_FROM_MARK = 8.0  # from a mark to its number
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
        return draw.nothing(title, "No configuration has both numbers.")
    there = chosen is not None and drawable(chosen.x, chosen.y)
    xs = [point.x for point in known] + ([chosen.x] if there and chosen and chosen.x is not None else [])
    ys = [point.y for point in known] + ([chosen.y] if there and chosen and chosen.y is not None else [])
    room = (max(ys) - min(ys)) * _BEYOND
    if threshold is not None and min(ys) - room <= threshold <= max(ys) + room:
        ys.append(threshold)  # the axis reaches it, if that does not squeeze the values
    across = _front_scale(xs, start=_LEFT, end=_FRONT_RIGHT)
    upward = _front_scale(ys, start=_TOP + _FRONT_HEIGHT, end=_TOP)
    best = sorted((point for point in known if point.best), key=lambda point: (point.y, point.x))
    named = sorted(best, key=lambda point: chosen is None or point.number != chosen.number)
    parts = [
        draw.legend(*_ENTRIES),
        field(across, upward, x_title=x_title, y_title=y_title),
        _limit(upward, threshold),
        draw.path(
            draw.polyline((across.at(point.x), upward.at(point.y)) for point in best), "curve line-real"
        ),
        *(_mark(point, across, upward) for point in sorted(known, key=lambda point: point.best)),
        _check(known, chosen, across, upward),
        *_numbers(named, across, upward),
    ]
    return draw.chart(parts, title=title, said=_spoken_front(known, chosen), height=_TOP + _FRONT_HEIGHT + 50)


def _front_scale(values: Sequence[float], *, start: float, end: float) -> Scale:
    span = max(values) - min(values)
    margin = 0.08 * (span if span > draw.SMALLEST else 0.1)
    return Scale(low=min(values) - margin, high=max(values) + margin, start=start, end=end)


def _limit(upward: Scale, threshold: float | None) -> Markup:
    if threshold is None or not upward.low <= threshold <= upward.high:
        return Markup()
    y = upward.at(threshold)
    words = f"threshold {threshold:g}"
    return draw.line(_LEFT, y, _FRONT_RIGHT, y, "limit") + draw.label(
        _FRONT_RIGHT, y - 5, words, kind="mute halo", anchor="end"
    )


def _mark(point: TradeOff, across: Scale, upward: Scale) -> Markup:
    kind = f"{'sure-dot' if point.within else 'reading'} {'line-real' if point.best else 'line-control'}"
    radius = 4.2 if point.best else 3.2
    return draw.dot(across.at(point.x), upward.at(point.y), radius, kind)


def _check(known: Sequence[TradeOff], chosen: Checked | None, across: Scale, upward: Scale) -> Markup:
    own = next((point for point in known if chosen is not None and point.number == chosen.number), None)
    if own is None or chosen is None:
        return Markup()
    x, y = across.at(own.x), upward.at(own.y)
    ring = draw.dot(x, y, 8, "ring")
    if chosen.x is None or chosen.y is None or not drawable(chosen.x, chosen.y):
        return ring
    to_x, to_y = across.at(chosen.x), upward.at(chosen.y)
    return draw.line(x, y, to_x, to_y, "curve line-synthetic dashed") + ring + _cross(to_x, to_y)


def _cross(x: float, y: float) -> Markup:
    reach = 4.5
    strokes = ((x - reach, y - reach, x + reach, y + reach), (x - reach, y + reach, x + reach, y - reach))
    return draw.joined(draw.line(*ends, "apart line-synthetic") for ends in strokes)


def _numbers(best: Sequence[TradeOff], across: Scale, upward: Scale) -> list[Markup]:
    """Write numbers above and to the right of their marks; where two would meet, the later is left out.

    So what must not be left out comes first.
    """
    written: list[Markup] = []
    taken: list[tuple[float, float, float]] = []
    for point in best:
        x, y, width = (
            across.at(point.x) + _FROM_MARK,
            upward.at(point.y) - _FROM_MARK,
            draw.width_of(str(point.number)),
        )
        x = min(x, WIDTH - width)
        if all(abs(y - top) > _LETTER or x > left + wide or left > x + width for left, top, wide in taken):
            taken.append((x, y, width))
            written.append(draw.label(x, y, str(point.number), kind="halo"))
    return written


_ENTRIES = (
    (draw.dot(6, 9.5, 4, "reading line-real"), 18, 14, "no other is better in both"),
    (draw.dot(216, 9.5, 4, "reading line-control"), 228, 14, "another is"),
    (draw.dot(310, 9.5, 4, "sure-dot line-real"), 322, 14, "within policy"),
    (draw.dot(8, 30, 6, "ring"), 20, 35, "chosen"),
    (_cross(84, 30), 96, 35, "the same on rows never searched"),
)


def _spoken_front(known: Sequence[TradeOff], chosen: Checked | None) -> list[str]:
    best = [point for point in known if point.best]
    said = [f"{len(known)} configurations; {len(best)} that no other beats."]
    for point in best:
        within = ", within the policy" if point.within else ""
        said.append(f"{point.number}: risk {shown(point.y)}, loss {shown(point.x)}{within}.")
    if chosen is not None:
        checked = f"checked, its risk is {shown(chosen.y)} and its loss {shown(chosen.x)}"
        said.append(f"Chosen is {chosen.number}; {checked}.")
    return said
