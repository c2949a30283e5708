"""How values and distances are spread, real beside synthetic; how well members are told from others."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.core.wording import percent
from tabveil.metrics.utility import Bar
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.axes import Scale, axis_labels, color, field, stroke, upright_axis
from tabveil.render.svg.canvas import LINE, WIDTH, drawable, percent_tick, shown, spoken, tick, told

Points = Sequence[tuple[float, float]]

_LEFT, _RIGHT = 50.0, WIDTH - 8.0
_HALF = 0.5
_LOWEST_RATE = 0.0005


def distributions(
    grid: Sequence[float],
    synthetic: Sequence[float],
    control: Sequence[float] | None = None,
    *,
    title: str = "Distance to the nearest training person",
) -> Markup:
    """Do synthetic rows come nearer to training people than fresh people do?

    ``synthetic`` and ``control`` are the shares of rows with a training person at most ``grid[i]`` away. The
    distances are spaced by their square roots: the near ones, which matter, get the room.
    """
    curves = {"synthetic": _finite(grid, synthetic), "control": _finite(grid, control)}
    if not curves["synthetic"]:
        return draw.nothing(title, "No distances were measured.")
    farthest = max(x for points in curves.values() for x, _ in points)
    across = Scale(
        low=0, high=farthest if farthest > draw.SMALLEST else 1.0, start=_LEFT, end=_RIGHT, bend="root"
    )
    names = {"synthetic": "synthetic rows", "control": "control rows: real people never seen"}
    kinds = {"synthetic": "curve line-synthetic", "control": "curve line-control dashed"}
    drawn = [name for name, points in curves.items() if points]
    top = 20.0 * len(drawn) + 34.0
    upward = Scale(low=0, high=1, start=top + 220, end=top)
    parts = [
        _named((kinds[name], names[name]) for name in drawn),
        field(
            across,
            upward,
            x_title="distance (small ones widened)",
            y_title="share of rows with a training person at most this near",
            head=14,
            write_y=percent_tick,
            behind=Markup(),
        ),
    ]
    parts += [draw.path(_steps(curves[name], across, upward), kinds[name]) for name in reversed(drawn)]
    said = [_spoken_distances(name, curves[name]) for name in drawn]
    return draw.chart(parts, title=title, said=said, height=top + 268)


def _named(curves: Iterable[tuple[str, str]]) -> Markup:
    """Write one name below the other, each beside a piece of its curve."""
    return draw.legend(
        *(
            (draw.line(0, 20 * place + 9, 30, 20 * place + 9, kind), 38, 20 * place + 14, name)
            for place, (kind, name) in enumerate(curves)
        ),
        kind=None,
        width=WIDTH - 38,
    )


def _finite(xs: Sequence[float], ys: Sequence[float] | None) -> list[tuple[float, float]]:
    """Pair what can be drawn, from near to far; an absent curve has no pairs."""
    if ys is None:
        return []
    return sorted((x, y) for x, y in zip(xs, ys, strict=True) if drawable(x, y) and x >= 0)


def _steps(points: Points, across: Scale, upward: Scale) -> str:
    """Return the data of a step curve: each share holds until the next distance.

    One step a unit is enough.
    """
    path_data = f"M{draw.coordinate(across.start)} {draw.coordinate(upward.start)}"
    last = {round(across.at(x)): (x, y) for x, y in points}
    for x, y in last.values():
        path_data += f"H{draw.coordinate(across.at(x))}V{draw.coordinate(upward.at(y))}"
    return f"{path_data}H{draw.coordinate(across.end)}"


def _spoken_distances(name: str, points: Points) -> str:
    half = next((x for x, y in points if y >= _HALF), None)
    median = (
        "half of them lie farther than shown" if half is None else f"half of them lie within {shown(half)}"
    )
    first, share = points[0]
    copies = f"{percent(share)} at distance zero" if first == 0 else ""
    return told(f"{name.capitalize()} rows", copies, f"{median} of a training person")


@dataclass(frozen=True, kw_only=True)
class RocCurve:
    """One attack's (false positive rate, true positive rate) pairs, and the rates that are read off it."""

    label: str
    points: Points
    readings: Sequence[tuple[float, Estimate | None]] = ()

    @property
    def read(self) -> list[tuple[float, float]]:
        """The readings that can be drawn."""
        return _rates([(rate, found.value) for rate, found in self.readings if found is not None])

    @property
    def drawn(self) -> list[tuple[float, float]]:
        """The curve and what was read off it: of long curves only some points are stored."""
        points = _rates(self.points)
        return sorted({*points, *self.read}) if points else []


def roc(curves: Sequence[RocCurve], *, title: str = "Telling training people from others") -> Markup:
    """How many training people does an attack find, for how many others it wrongly takes for one?

    Up to three curves can be told apart; a dot marks each rate that was read off one. Both axes are
    logarithmic: a leak of a few people shows only where hardly anybody is named wrongly, and there a linear
    axis shows nothing.
    """
    known = [(curve, points) for curve in curves if (points := curve.drawn)]
    if not known:
        return draw.nothing(title, "No membership attack has a curve.")
    top = 20.0 * len(known) + 46.0
    side = _RIGHT - _LEFT - 30
    across = Scale(low=_LOWEST_RATE, high=1, start=_LEFT, end=_LEFT + side, bend="log")
    upward = Scale(low=_LOWEST_RATE, high=1, start=top + side, end=top, bend="log")
    behind = [draw.line(across.at(v), top, across.at(v), top + side, "rule") for v in across.ticks()]
    behind += [
        draw.line(across.start, upward.start, across.end, upward.end, "zero"),
        draw.label(across.at(0.03) + 6, upward.at(0.03) + 16, "guessing", kind="mute halo"),
    ]
    parts = [
        _named((f"curve {stroke(place)}", curve.label) for place, (curve, _) in enumerate(known)),
        field(
            across,
            upward,
            x_title="others wrongly taken for one",
            y_title="training people found",
            head=16,
            write_x=percent_tick,
            write_y=percent_tick,
            behind=draw.joined(behind),
        ),
    ]
    parts += [_curve(points, stroke(place), across, upward) for place, (_, points) in enumerate(known)]
    parts += [
        draw.dot(across.at(rate), upward.at(found), 3.5, f"reading {color(place)}")
        for place, (curve, _) in enumerate(known)
        for rate, found in curve.read
    ]
    said = []
    for curve, _ in known:
        found = ", ".join(f"{percent(share)} at {percent_tick(rate)}" for rate, share in curve.read)
        by = "share of training people found, by share of others wrongly named"
        said.append(told(curve.label, f"{by}: {found or 'not read off'}"))
    said.append("Both axes are logarithmic, so that low rates are visible; the diagonal is guessing.")
    return draw.chart(parts, title=title, said=said, height=top + side + 48)


def _rates(points: Points) -> list[tuple[float, float]]:
    return sorted((x, y) for x, y in points if drawable(x, y))


def read_rate(points: Points, rate: float) -> float:
    """Read the true positive rate off a sorted curve, straight between its points.

    >>> read_rate([(0.0, 0.0), (0.0, 0.2), (0.5, 0.8), (1.0, 1.0)], 0.25)
    0.5
    """
    after = bisect_right(points, rate, key=lambda point: point[0])
    if after == 0:
        return 0.0
    (x1, y1), (x2, y2) = points[after - 1], points[min(after, len(points) - 1)]
    return y1 if x2 == x1 else y1 + (y2 - y1) * (rate - x1) / (x2 - x1)


def _curve(points: Points, kind: str, across: Scale, upward: Scale) -> Markup:
    """Draw what lies between the points, too: straight lines between rates are bent on these axes."""
    even = [across.back(place) for place in range(round(across.start), round(across.end) + 1, 2)]
    corners = [x for x, _ in points if across.low < x < across.high]
    rates = sorted({*even, *corners})
    drawn = [(across.at(rate), upward.at(read_rate(points, rate))) for rate in rates]
    return draw.path(draw.polyline(drawn), f"curve {kind}")


_MOST_LABELS = 8
_ROW = 20.0
_APART = 44.0  # the place of missing values beside a histogram
_SMALLER = 1.1  # letters are smaller here, so more of them fit
_NAMES = 122.0, 176.0  # least and most room for the names of labels
_POOLED = {"other": "other labels", "missing": "missing"}


def marginals(bars: Sequence[Bar], *, title: str) -> Markup:
    """Are the values of a column as frequent as among real people?

    Labels are pairs of lying bars, ranges of numbers a histogram with the synthetic shares as an outline.
    """
    known = [bar for bar in bars if drawable(bar.real, bar.synthetic)]
    if not known:
        return draw.nothing(title, f"{spoken(title)}: nothing to compare.", width=draw.SMALL_WIDTH)
    highest = max(max(bar.real, bar.synthetic) for bar in known)
    highest = highest if highest > draw.SMALLEST else 1.0
    ranges = any(bar.kind == "range" for bar in known)
    name = draw.wrap_name(title, draw.SMALL_WIDTH * _SMALLER)
    under = LINE * (len(name) - 1) + 14  # the last line of the name
    top = under + 36
    drawn = _histogram(known, highest, top) if ranges else _pairs(_pool(known), highest, top)
    real = draw.box(0, under + 10, 12, 10, "fill-real pale" if ranges else "fill-real")
    synthetic = draw.box(64, under + 12, 14, 6, "fill-synthetic")
    if ranges:
        synthetic = draw.line(64, under + 15, 78, under + 15, "curve line-synthetic")
    head = [
        draw.paragraph(0, 14, name, kind="strong"),
        draw.legend((real, 18, under + 20, "real"), (synthetic, 84, under + 20, "synthetic")),
    ]
    return draw.chart(
        [*head, drawn[0]], title=title, said=map(_spoken, known), height=drawn[1], width=draw.SMALL_WIDTH
    )


def _pool(bars: Sequence[Bar]) -> list[Bar]:
    """Keep the first labels and add up the rest, so that the chart stays small."""
    labels = [bar for bar in bars if bar.kind == "label"]
    shown, rest = labels[:_MOST_LABELS], labels[_MOST_LABELS:]
    rest += [bar for bar in bars if bar.kind == "other"]
    if rest:
        pooled = [sum(bar.real for bar in rest), sum(bar.synthetic for bar in rest)]
        shown.append(Bar(kind="other", real=pooled[0], synthetic=pooled[1]))
    return shown + [bar for bar in bars if bar.kind == "missing"]


def _pairs(bars: Sequence[Bar], highest: float, top: float) -> tuple[Markup, float]:
    """Draw a pair of lying bars for each label; return them and the height of the chart."""
    longest = max(draw.width_of(level_name(bar)) for bar in bars) / _SMALLER
    left = min(max(longest + 7, _NAMES[0]), _NAMES[1])
    highest = max(highest, *(max(bar.real, bar.synthetic) for bar in bars))
    scale = Scale(low=0, high=highest, start=left, end=draw.SMALL_WIDTH - 18)
    bottom = top + _ROW * len(bars)
    parts = [draw.line(scale.at(v), top - 2, scale.at(v), bottom, "rule") for v in scale.ticks(3)]
    for position, bar in enumerate(bars):
        y = top + _ROW * position
        named = bar.kind == "label"
        parts += [
            draw.label(
                0, y + 13, level_name(bar), width=(left - 6) * _SMALLER, kind=None if named else "slanted"
            ),
            draw.box(left, y + 2, scale.at(bar.real) - left, 8, "fill-real"),
            draw.box(left, y + 10.5, scale.at(bar.synthetic) - left, 5.5, "fill-synthetic"),
        ]
    parts += [
        draw.line(left, top - 2, left, bottom, "zero"),
        axis_labels(scale, bottom + 14, write=percent_tick, about=3),
    ]
    return draw.joined(parts), bottom + 20


def _histogram(bars: Sequence[Bar], highest: float, top: float) -> tuple[Markup, float]:
    """Draw a column for each range, missing values apart; return them and the height of the chart."""
    left, right, bottom = 40.0, draw.SMALL_WIDTH - 4, top + 110
    ranges = [bar for bar in bars if bar.kind == "range"]
    others = [bar for bar in bars if bar.kind != "range"]
    slot = (right - left - _APART * len(others)) / len(ranges)
    upward = Scale(low=0, high=highest, start=bottom, end=top)
    after = left + slot * len(ranges)
    columns = [(left + slot * i, slot, bar) for i, bar in enumerate(ranges)]
    apart = [(after + _APART * i + 14, _APART - 14, bar) for i, bar in enumerate(others)]
    parts = [upright_axis(upward, left, right, write=percent_tick, about=3)]
    parts += [
        draw.box(x + 0.5, upward.at(bar.real), width - 1, bottom - upward.at(bar.real), "fill-real pale")
        for x, width, bar in columns + apart
    ]
    parts += [_outline(group, upward) for group in (columns, *([column] for column in apart))]
    parts += [draw.line(left, bottom, right, bottom, "zero"), _edges(ranges, left, slot, bottom + 15)]
    if others:
        names = " and ".join(map(level_name, others))
        parts.append(draw.label(right, bottom + 30, names, kind="slanted", anchor="end"))
    return draw.joined(parts), bottom + (36 if others else 21)


def _outline(columns: Sequence[tuple[float, float, Bar]], upward: Scale) -> Markup:
    """Draw the synthetic shares as one line around neighboring columns."""
    bottom = draw.coordinate(upward.start)
    data = f"M{draw.coordinate(columns[0][0])} {bottom}"
    for x, width, bar in columns:
        data += f"V{draw.coordinate(upward.at(bar.synthetic))}H{draw.coordinate(x + width)}"
    return draw.path(f"{data}V{bottom}", "curve line-synthetic")


def _edges(ranges: Sequence[Bar], left: float, slot: float, y: float) -> Markup:
    """Label the edges between ranges, from the left, as many as fit."""
    parts: list[Markup] = []
    free = 0.0
    for position, bar in enumerate(ranges[:-1], start=1):
        if bar.high is None:
            continue
        text, place = bar.high_text or tick(bar.high), left + slot * position
        half = draw.width_of(text) / 2
        if place - half >= free and place + half <= draw.SMALL_WIDTH:
            parts.append(draw.label(place, y, text, kind="mute", anchor="middle"))
            free = place + half + 10
    return draw.joined(parts) if parts else draw.label(left, y, "all values", kind="mute")


def level_name(bar: Bar) -> str:
    """Name a level of a column as people read it.

    >>> level_name(Bar(kind="range", real=0, synthetic=0, low=10))
    'From 10'
    """
    if bar.kind == "label":
        return bar.label or "(empty)"
    if bar.kind != "range":
        return _POOLED.get(bar.kind, bar.kind)
    low = None if bar.low is None else bar.low_text or tick(bar.low)
    high = None if bar.high is None else bar.high_text or tick(bar.high)
    if low is None:
        return "All values" if high is None else f"Below {high}"
    return f"From {low}" if high is None else f"{low} to {high}"


def _spoken(bar: Bar) -> str:
    return told(level_name(bar), f"real {percent(bar.real)}", f"synthetic {percent(bar.synthetic)}")
