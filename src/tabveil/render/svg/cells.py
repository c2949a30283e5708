"""Charts made of cells: how columns go together, and a map of rows off which no single person can be read."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import sqrt

from markupsafe import Markup

from tabveil.core.wording import percent, visible
from tabveil.metrics.portrait import Cell, Outlying
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.canvas import WIDTH, drawable, shown, spoken, tick
from tabveil.render.svg.style import OPACITIES

Square = Sequence[Sequence[float | None]]
Cells = dict[tuple[int, int], float | None]  # by row and column

_STEPS = (0.1, 0.3, 0.5, 0.7)
_DIFFERENCE_STEPS = (0.05, 0.1, 0.2, 0.3)
_MOST_VALUES = 12  # columns whose cells have room for a number
MOST_NAMED = 20  # rows that have room for a name
_LEAST_NAME, _MOST_NAME = 128.0, 230.0  # room for a name and its number
_NUMBERS = 26.0  # room for numbers alone
_SMALLEST_CELL = 15.0  # of those beside a name
_MOST_SPOKEN = 3
_NUMBER = 24.0  # room for the number of a column
_ROOMY = 24.0  # cells of 12 columns or fewer are larger


def associations(names: Sequence[str], real: Square, synthetic: Square) -> Markup:
    """Do columns go together in the release as they do among real people?

    One square holds both: a faithful release is its own mirror image. Up to 12 columns the numbers are
    written out; up to 40 the cells are still large enough to be told apart. More than 20 are numbered, and
    the page says which number is which column.
    """
    cells: Cells = {(column, row): real[row][column] for row, column in _pairs(names)}
    cells |= {(row, column): synthetic[row][column] for row, column in _pairs(names)}
    return _square(
        names,
        cells,
        _STEPS,
        title="How strongly columns go together",
        heading="Associations",
        explained="above the diagonal: real rows; below: synthetic",
        said=_spoken(names, _differences(names, real, synthetic)),
    )


def differences(names: Sequence[str], real: Square, synthetic: Square) -> Markup:
    """Which columns go together otherwise than among real people? Drawn as :func:`associations` are."""
    cells = _differences(names, real, synthetic)
    return _square(
        names,
        cells,
        _DIFFERENCE_STEPS,
        title="What differs in how columns go together",
        heading="Difference: synthetic minus real",
        explained="below the diagonal; the darker, the more it differs",
        said=_spoken(names, cells),
    )


def correlations(names: Sequence[str], values: Square, *, title: str) -> Markup:
    """Which metrics answer alike? Drawn as :func:`associations` are, below the diagonal."""
    if len(names) < 2:  # noqa: PLR2004 - a pair
        return draw.nothing(title, "There are not two metrics to compare.")
    cells: Cells = {(row, column): values[row][column] for row, column in _pairs(names)}
    return _square(
        names,
        cells,
        _STEPS,
        title=title,
        heading="Rank correlation",
        explained="of two metrics over all trials; hatched: not computed",
        said=_spoken_correlations(names, cells),
    )


def _spoken_correlations(names: Sequence[str], cells: Cells) -> str:
    found = {cell: value for cell, value in cells.items() if value is not None and drawable(value)}
    if not found:
        return f"{len(names)} metrics; no correlation could be computed."
    least = _told_pairs(names, found, sorted(found, key=found.__getitem__))
    mean = sum(found.values()) / len(found)
    return f"{len(names)} metrics, {len(found)} pairs. Mean correlation: {shown(mean)}. Least alike: {least}."


def _told_pairs(
    names: Sequence[str], cells: Mapping[tuple[int, int], float], order: Sequence[tuple[int, int]]
) -> str:
    """Say the first cells of an order."""
    return "; ".join(
        f"{spoken(names[column])} with {spoken(names[row])} {shown(cells[row, column])}"
        for row, column in order[:_MOST_SPOKEN]
    )


def _pairs(names: Sequence[str]) -> list[tuple[int, int]]:
    """Return the cells below the diagonal, by row and column."""
    return [(row, column) for column, row in combinations(range(len(names)), 2)]


def _differences(names: Sequence[str], real: Square, synthetic: Square) -> Cells:
    cells: Cells = {}
    for row, column in _pairs(names):
        a, b = synthetic[row][column], real[row][column]
        cells[row, column] = a - b if a is not None and b is not None and drawable(a, b) else None
    return cells


def _square(
    names: Sequence[str],
    cells: Cells,
    steps: Sequence[float],
    *,
    title: str,
    heading: str,
    explained: str,
    said: str,
) -> Markup:
    n = len(names)
    if n < 2:  # noqa: PLR2004 - a pair
        return draw.nothing(title, "There are not two columns to compare.")
    left = _room_for(names)
    size = (WIDTH - 6 - left) / n  # the last number may be wider than its cell
    size = size if n <= _MOST_VALUES else float(int(size))  # whole numbers keep hundreds of cells short
    bottom = 62.0 + size * n
    parts = [
        draw.label(0, 14, heading, kind="strong"),
        draw.label(0, 32, explained, kind="mute"),
        _panel(names, cells, steps, _Grid(left=left, top=62.0, size=size)),
        _legend(steps, bottom + 8),
    ]
    bottom += 40
    if n <= _MOST_VALUES:
        parts.append(
            draw.label(0, bottom + 10, "Numbers in the cells are hundredths: 85 is 0.85.", kind="mute")
        )
        bottom += 20
    return draw.chart(parts, title=title, said=[said], height=bottom)


def _room_for(names: Sequence[str]) -> float:
    """Return the room beside the cells: what the longest name needs, as far as cells stay large enough."""
    if len(names) > MOST_NAMED:
        return _NUMBERS
    most = min(max(WIDTH - 6 - _SMALLEST_CELL * len(names), _LEAST_NAME), _MOST_NAME)
    return min(max(max(map(draw.width_of, map(visible, names))) + _NUMBERS + 4, _LEAST_NAME), most)


def step_class(value: float, steps: Sequence[float]) -> str:
    """Return the color class of a value: n4 … n1, p0, p1 … p4.

    >>> step_class(-0.75, _STEPS), step_class(0.05, _STEPS), step_class(0.3, _STEPS)
    ('n4', 'p0', 'p2')
    """
    strength = bisect_right(steps, abs(value))
    return f"{'n' if value < 0 and strength else 'p'}{strength}"


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """Where the cells of one panel stand."""

    left: float
    top: float
    size: float

    def corner(self, row: int, column: int) -> tuple[float, float]:
        return self.left + column * self.size, self.top + row * self.size


def _panel(names: Sequence[str], cells: Cells, steps: Sequence[float], grid: _Grid) -> Markup:
    n = len(names)
    parts = [_colors(cells, steps, grid)]
    if n <= _MOST_VALUES:
        parts += [_value(cell, value, steps, grid) for cell, value in cells.items()]
    every = next(step for step in (1, 2, 5, n) if step * grid.size >= _NUMBER or step == n)
    for i, name in enumerate(names):
        middle = grid.size * (i + 0.5)
        if n <= MOST_NAMED:
            parts.append(
                draw.label(grid.left - 28, grid.top + middle + 5, name, width=grid.left - 28, anchor="end")
            )
        counted = (i + 1) % every == 0
        if counted or n <= MOST_NAMED:
            parts.append(
                draw.label(grid.left - 5, grid.top + middle + 5, f"{i + 1}", kind="mute", anchor="end")
            )
        if counted:
            parts.append(
                draw.label(grid.left + middle, grid.top - 5, f"{i + 1}", kind="mute", anchor="middle")
            )
    return draw.joined(parts)


def _colors(cells: Cells, steps: Sequence[float], grid: _Grid) -> Markup:
    """Draw all cells of one color as one path; negative ones get a stroke, for color alone is not enough."""
    data: dict[str, str] = defaultdict(str)
    side = draw.coordinate(grid.size - (1.0 if grid.size > _ROOMY else 0.4))
    for cell, value in cells.items():
        x, y = grid.corner(*cell)
        corner = f"M{draw.coordinate(x)} {draw.coordinate(y)}"
        if value is None or not drawable(value):
            data["hatch"] += f"{corner}l{side} {side}"
            continue
        kind = step_class(value, steps)
        data[kind] += f"{corner}h{side}v{side}h-{side}z"
        if kind.startswith("n") and grid.size <= _ROOMY:  # larger cells hold a number with its sign
            data["minus"] += (
                f"M{draw.coordinate(x + grid.size * 0.25)} {draw.coordinate(y + grid.size * 0.46)}"
            )
            data["minus"] += f"h{draw.coordinate(grid.size * 0.45)}"
    ordered = sorted(data, key=lambda kind: kind == "minus")  # strokes on top
    return draw.joined(draw.path(data[kind], kind) for kind in ordered)


def _value(cell: tuple[int, int], value: float | None, steps: Sequence[float], grid: _Grid) -> Markup:
    if value is None or not drawable(value):
        return Markup()
    x, y = grid.corner(*cell)
    kind = "inverse" if step_class(value, steps)[1] == str(len(steps)) else None
    written = f"{round(100 * value)}"  # with a hyphen: a true minus sign is too wide for small cells
    return draw.label(x + grid.size / 2 - 0.5, y + grid.size / 2 + 4.5, written, kind=kind, anchor="middle")


def _legend(steps: Sequence[float], top: float) -> Markup:
    """Draw the nine classes with the numbers between them."""
    ends = [-step for step in reversed(steps)] + list(steps)
    width = 48.0
    left = WIDTH - 9 * width
    kinds = ["n4", "n3", "n2", "n1", "p0", "p1", "p2", "p3", "p4"]
    parts = [draw.box(left + width * i, top, width - 1, 10, kind) for i, kind in enumerate(kinds)]
    parts += [
        draw.label(left + width * (i + 1) - 0.5, top + 25, tick(end), kind="mute", anchor="middle")
        for i, end in enumerate(ends)
    ]
    return draw.joined(parts)


def _spoken(names: Sequence[str], differ: Cells) -> str:
    found = {cell: value for cell, value in differ.items() if value is not None}
    if not found:
        return f"{len(names)} columns; differences were not computed."
    mean = sum(map(abs, found.values())) / len(found)
    largest = _told_pairs(names, found, sorted(found, key=lambda cell: -abs(found[cell])))
    return (
        f"{len(names)} columns, {len(found)} pairs. Mean absolute difference between synthetic and real "
        f"associations: {shown(mean)}. Largest differences, synthetic minus real: {largest}."
    )


_GAP = 0.6  # between squares
_SMALLEST_RADIUS = 0.5  # a circle that can still be seen
_LARGEST_RING = 0.9  # of its cell, so that neighbors do not touch
_RING = "apart line-third"

Shares = dict[tuple[int, int], float]  # by place


def heat_map(
    cells: Sequence[Cell],
    *,
    columns: int,
    rows: int,
    outlying: Outlying | None = None,
    title: str = "Map of real and synthetic rows",
) -> Markup:
    """Do synthetic rows lie where real rows lie?

    Real rows are squares, darker where there are more of them; synthetic rows are circles whose area is their
    share. Cells without a share are left empty. Rings are the synthetic rows that stand apart, likewise by
    their area.
    """
    real = {(cell.x, cell.y): cell.real for cell in cells if cell.real and drawable(cell.real)}
    synthetic = {
        (cell.x, cell.y): cell.synthetic for cell in cells if cell.synthetic and drawable(cell.synthetic)
    }
    if not real and not synthetic:
        return draw.nothing(title, "No cell of the map holds enough rows to be shown.")
    size = WIDTH / columns
    height = size * rows
    apart = _apart(outlying)
    parts = [
        _squares(real, size, rows),
        _circles(synthetic, size, rows),
        _rings(apart, outlying, height),
        draw.tag("rect", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, class_="frame"),
    ]
    entries, top = [], height + 14
    if real:
        shades = draw.joined(
            draw.box(20.0 * step, top, 19, 14, f"r{step + 1}") for step in range(len(OPACITIES))
        )
        most = f"real rows, up to {percent(max(real.values()))} of them in a square"
        entries.append((shades, 130, top + 12, most))
    if synthetic:
        circle = draw.dot(60, top + 33, min(0.46 * size, 10.0), "fill-synthetic dot")
        most = f"synthetic rows, {percent(max(synthetic.values()))} in the largest circle"
        entries.append((circle, 130, top + 38, most))
    parts.append(draw.legend(*entries, kind=None))
    below = 66
    if apart:
        most = f"standing apart, {percent(max(apart.values()))} in the largest ring"
        parts.append(draw.legend((draw.dot(60, height + 73, 8, _RING), 130, height + 78, most), kind=None))
        below += 26
    said = _spoken_map(real, synthetic, apart)
    return draw.chart(parts, title=title, said=said, height=height + below)


def shade(share: float, largest: float) -> int:
    """Return the class of a square, 1 to 6, by the square root of its share: most cells hold few rows.

    >>> shade(0.01, 0.04), shade(0.04, 0.04), shade(0.00001, 0.04)
    (3, 6, 1)
    """
    steps = len(OPACITIES)
    return min(max(-int(-sqrt(share / largest) * steps // 1), 1), steps)


def _squares(shares: Shares, size: float, rows: int) -> Markup:
    """Draw all squares of one class as one path: a tenth of the text that single elements would take."""
    data: dict[int, str] = defaultdict(str)
    largest = max(shares.values(), default=0.0)
    side = draw.coordinate(size - _GAP)
    for (x, y), share in sorted(shares.items()):
        corner = (
            f"M{draw.coordinate(x * size + _GAP / 2)} {draw.coordinate((rows - 1 - y) * size + _GAP / 2)}"
        )
        data[shade(share, largest)] += f"{corner}h{side}v{side}h-{side}z"
    return draw.joined(draw.path(data[step], f"r{step}") for step in sorted(data))


def _circles(shares: Shares, size: float, rows: int) -> Markup:
    largest = max(shares.values(), default=0.0)
    circles = draw.joined(
        draw.dot((x + 0.5) * size, (rows - 0.5 - y) * size, radius(share, largest, size))
        for (x, y), share in sorted(shares.items())
    )
    return draw.tag("g", circles, class_="fill-synthetic dot")


def _apart(outlying: Outlying | None) -> Shares:
    """Return the shares that can be drawn, by their place."""
    if outlying is None or outlying.columns < 1 or outlying.rows < 1:
        return {}
    return {
        (cell.x, cell.y): cell.share for cell in outlying.cells if drawable(cell.share) and cell.share > 0
    }


def _rings(shares: Shares, outlying: Outlying | None, height: float) -> Markup:
    if outlying is None or not shares:
        return Markup()
    wide, high = WIDTH / outlying.columns, height / outlying.rows
    largest = max(shares.values())
    size = _LARGEST_RING * min(wide, high)
    rings = draw.joined(
        draw.dot((x + 0.5) * wide, height - (y + 0.5) * high, radius(share, largest, size))
        for (x, y), share in sorted(shares.items())
    )
    return draw.tag("g", rings, class_=_RING)


def radius(share: float, largest: float, size: float) -> float:
    """Return the radius whose circle's area is to the largest circle's as the shares are."""
    return max(0.46 * size * sqrt(share / largest), _SMALLEST_RADIUS)


def _spoken_map(real: Shares, synthetic: Shares, apart: Shares) -> list[str]:
    both = real.keys() & synthetic.keys()
    said = [
        f"{len(real)} cells with real rows, {len(synthetic)} with synthetic rows, {len(both)} with both.",
        f"Shares of rows in cells that are shown: real {percent(sum(real.values()))},",
        f"synthetic {percent(sum(synthetic.values()))}.",
        "Overlap, the smaller share of each cell summed up:",
        f"{shown(sum(min(real[cell], synthetic[cell]) for cell in both))}.",
    ]
    if apart:
        shown_of_them = percent(sum(apart.values()))
        said.append(
            f"{len(apart)} larger cells with synthetic rows that stand apart, {shown_of_them} of them."
        )
    return said
