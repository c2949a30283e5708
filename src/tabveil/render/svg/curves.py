"""Curves: how near synthetic rows come to training people, and how well members are told from others."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from markupsafe import Markup

from tabveil.render.svg.canvas import (
    WIDTH,
    chart,
    coordinate,
    joined,
    label,
    line,
    nothing,
    path,
    polyline,
    tag,
)
from tabveil.render.svg.marks import axis_labels, upright_axis
from tabveil.render.svg.scale import Scale
from tabveil.render.svg.words import SMALLEST, drawable, percent_tick, sentences, shown, spoken
from tabveil.wording import percent

Points = Sequence[tuple[float, float]]

_LEFT, _RIGHT = 50.0, WIDTH - 8.0
_HALF = 0.5
_LOWEST_RATE = 0.0005
_FALSE_ALARMS = (0.001, 0.01)  # where the field reads a membership attack
_STYLES = ("line-real", "line-synthetic dashed", "line-third dotted")


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


def roc(curves: Mapping[str, Points], *, title: str = "Telling training people from others") -> Markup:
    """How many training people does an attack find, for how many others it wrongly takes for one?

    Each curve is a sequence of (false positive rate, true positive rate); up to three can be told apart. Both
    axes are logarithmic: a leak of a few people shows only where hardly anybody is named wrongly, and there a
    linear axis shows nothing.
    """
    drawn = {name: points for name, given in curves.items() if (points := _rates(given))}
    if not drawn:
        return nothing(title, "No membership attack has a curve.")
    top = 20.0 * len(drawn) + 66.0
    side = _RIGHT - _LEFT - 30
    across = Scale(low=_LOWEST_RATE, high=1, start=_LEFT, end=_LEFT + side, bend="log")
    upward = Scale(low=_LOWEST_RATE, high=1, start=top + side, end=top, bend="log")
    parts = [
        _found(drawn),
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
    parts += [
        _curve(points, _STYLES[i % len(_STYLES)], across, upward) for i, points in enumerate(drawn.values())
    ]
    said = sentences(_spoken_curve(name, points) for name, points in drawn.items())
    scale_note = "Both axes are logarithmic, so that low rates are visible; the diagonal is guessing."
    return chart(parts, title=title, description=f"{said} {scale_note}", height=top + side + 48)


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
    places = range(round(across.start), round(across.end) + 1, 2)
    drawn = [(place, upward.at(read_rate(points, across.back(place)))) for place in places]
    return path(polyline(drawn), f"curve {kind}")


def _found(drawn: Mapping[str, Points]) -> Markup:
    """Set the rates that count as a small table, which is the legend, too."""
    right, step = WIDTH - 4, 66.0
    parts = [label(right - step - 44, 14, "found, at false alarms of", kind="mute", anchor="end")]
    for column, rate in enumerate(reversed(_FALSE_ALARMS)):
        parts.append(label(right - column * step, 14, percent_tick(rate), kind="mute", anchor="end"))
    for row, (name, points) in enumerate(drawn.items()):
        y = 20.0 * row + 34.0
        parts.append(line(0, y - 5, 30, y - 5, f"curve {_STYLES[row % len(_STYLES)]}"))
        parts.append(label(38, y, name, width=260))
        for column, rate in enumerate(reversed(_FALSE_ALARMS)):
            parts.append(label(right - column * step, y, percent(read_rate(points, rate)), anchor="end"))
    return joined(parts)


def _spoken_curve(name: str, points: Points) -> str:
    found = ", ".join(f"{percent(read_rate(points, rate))} at {percent_tick(rate)}" for rate in _FALSE_ALARMS)
    return f"{spoken(name)}: share of training people found, by share of others wrongly named: {found}."
