"""Curves: how near synthetic rows come to training people, and how well members are told from others."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.core.wording import percent
from tabveil.render.svg.axes import Scale, axis_labels, upright_axis
from tabveil.render.svg.canvas import (
    SMALLEST,
    WIDTH,
    chart,
    coordinate,
    drawable,
    joined,
    label,
    line,
    nothing,
    path,
    percent_tick,
    polyline,
    sentences,
    shown,
    spoken,
    tag,
)

Points = Sequence[tuple[float, float]]

_LEFT, _RIGHT = 50.0, WIDTH - 8.0
_HALF = 0.5
_LOWEST_RATE = 0.0005
_COLORS = ("line-real", "line-synthetic", "line-third")
_STROKES = ("", " dashed", " dotted")


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
        return nothing(title, "No distances were measured.")
    farthest = max(x for points in curves.values() for x, _ in points)
    across = Scale(low=0, high=farthest if farthest > SMALLEST else 1.0, start=_LEFT, end=_RIGHT, bend="root")
    legend = {"synthetic": "synthetic rows", "control": "control rows: real people never seen"}
    kinds = {"synthetic": "curve line-synthetic", "control": "curve line-control dashed"}
    drawn = [name for name, points in curves.items() if points]
    top = 20.0 * len(drawn) + 34.0
    upward = Scale(low=0, high=1, start=top + 220, end=top)
    parts = [
        line(0, 20 * i + 9, 30, 20 * i + 9, kinds[name]) + label(38, 20 * i + 14, legend[name])
        for i, name in enumerate(drawn)
    ]
    parts += [
        label(0, top - 14, "share of rows with a training person at most this near", kind="mute"),
        upright_axis(upward, _LEFT, _RIGHT, write=percent_tick),
        axis_labels(across, top + 240),
        label(_RIGHT, top + 260, "distance (small ones widened)", kind="mute", anchor="end"),
    ]
    parts += [path(_steps(curves[name], across, upward), kinds[name]) for name in reversed(drawn)]
    said = " ".join(_spoken_distances(name, curves[name]) for name in drawn)
    return chart(parts, title=title, description=said, height=top + 268)


def _finite(xs: Sequence[float], ys: Sequence[float] | None) -> list[tuple[float, float]]:
    """Pair what can be drawn, from near to far; an absent curve has no pairs."""
    if ys is None:
        return []
    return sorted((x, y) for x, y in zip(xs, ys, strict=True) if drawable(x, y) and x >= 0)


def _steps(points: Points, across: Scale, upward: Scale) -> str:
    """Return the data of a step curve: each share holds until the next distance.

    One step a unit is enough.
    """
    path_data = f"M{coordinate(across.start)} {coordinate(upward.start)}"
    last = {round(across.at(x)): (x, y) for x, y in points}
    for x, y in last.values():
        path_data += f"H{coordinate(across.at(x))}V{coordinate(upward.at(y))}"
    return f"{path_data}H{coordinate(across.end)}"


def _spoken_distances(name: str, points: Points) -> str:
    who = "Synthetic rows" if name == "synthetic" else "Control rows"
    half = next((x for x, y in points if y >= _HALF), None)
    median = (
        "half of them lie farther than shown" if half is None else f"half of them lie within {shown(half)}"
    )
    first, share = points[0]
    copies = f"{percent(share)} at distance zero, " if first == 0 else ""
    return f"{who}: {copies}{median} of a training person."


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
        return nothing(title, "No membership attack has a curve.")
    top = 20.0 * len(known) + 46.0
    side = _RIGHT - _LEFT - 30
    across = Scale(low=_LOWEST_RATE, high=1, start=_LEFT, end=_LEFT + side, bend="log")
    upward = Scale(low=_LOWEST_RATE, high=1, start=top + side, end=top, bend="log")
    parts = [
        *(_named(curve, place) for place, (curve, _) in enumerate(known)),
        label(0, top - 16, "training people found", kind="mute"),
        upright_axis(upward, _LEFT, across.end, write=percent_tick),
        joined(line(across.at(v), top, across.at(v), top + side, "rule") for v in across.ticks()),
        line(across.start, upward.start, across.end, upward.end, "zero"),
        tag(
            "text",
            "guessing",
            x=across.at(0.03) + 6,
            y=upward.at(0.03) + 16,
            class_="mute halo",
        ),
        axis_labels(across, top + side + 20, write=percent_tick),
        label(across.end, top + side + 40, "others wrongly taken for one", kind="mute", anchor="end"),
    ]
    parts += [_curve(points, _style(place), across, upward) for place, (_, points) in enumerate(known)]
    parts += [_dots(curve, _color(place), across, upward) for place, (curve, _) in enumerate(known)]
    said = sentences(_spoken_curve(curve) for curve, _ in known)
    scale_note = "Both axes are logarithmic, so that low rates are visible; the diagonal is guessing."
    return chart(parts, title=title, description=f"{said} {scale_note}", height=top + side + 48)


def _color(place: int) -> str:
    return _COLORS[place % len(_COLORS)]


def _style(place: int) -> str:
    return f"{_color(place)}{_STROKES[place % len(_STROKES)]}"


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
    return path(polyline(drawn), f"curve {kind}")


def _dots(curve: RocCurve, kind: str, across: Scale, upward: Scale) -> Markup:
    return joined(
        tag("circle", cx=across.at(rate), cy=upward.at(found), r=3.5, class_=f"reading {kind}")
        for rate, found in curve.read
    )


def _named(curve: RocCurve, place: int) -> Markup:
    y = 20.0 * place + 14.0
    return line(0, y - 5, 30, y - 5, f"curve {_style(place)}") + label(38, y, curve.label, width=WIDTH - 38)


def _spoken_curve(curve: RocCurve) -> str:
    found = ", ".join(f"{percent(found)} at {percent_tick(rate)}" for rate, found in curve.read)
    said = f"share of training people found, by share of others wrongly named: {found or 'not read off'}"
    return f"{spoken(curve.label)}: {said}."
