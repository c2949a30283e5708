"""The map: where real and synthetic rows lie, in cells that no single person can be read off."""

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt

from markupsafe import Markup

from tabveil.core.wording import percent
from tabveil.metrics.portrait import Cell, Outlying
from tabveil.render.svg.canvas import (
    WIDTH,
    box,
    chart,
    coordinate,
    dot,
    drawable,
    joined,
    legend,
    nothing,
    path,
    shown,
    tag,
)
from tabveil.render.svg.style import OPACITIES

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
        return nothing(title, "No cell of the map holds enough rows to be shown.")
    size = WIDTH / columns
    height = size * rows
    apart = _apart(outlying)
    parts = [
        _squares(real, size, rows),
        _circles(synthetic, size, rows),
        _rings(apart, outlying, height),
        tag("rect", x=0.5, y=0.5, width=WIDTH - 1, height=height - 1, class_="frame"),
        _legend(max(real.values(), default=0.0), max(synthetic.values(), default=0.0), height + 14, size),
    ]
    below = 66
    if apart:
        most = f"standing apart, {percent(max(apart.values()))} in the largest ring"
        parts.append(legend((dot(60, height + 73, 8, _RING), 130, height + 78, most), kind=None))
        below += 26
    said = _spoken(real, synthetic, apart)
    return chart(parts, title=title, said=said, height=height + below)


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
    side = coordinate(size - _GAP)
    for (x, y), share in sorted(shares.items()):
        corner = f"M{coordinate(x * size + _GAP / 2)} {coordinate((rows - 1 - y) * size + _GAP / 2)}"
        data[shade(share, largest)] += f"{corner}h{side}v{side}h-{side}z"
    return joined(path(data[step], f"r{step}") for step in sorted(data))


def _circles(shares: Shares, size: float, rows: int) -> Markup:
    largest = max(shares.values(), default=0.0)
    circles = joined(
        dot((x + 0.5) * size, (rows - 0.5 - y) * size, radius(share, largest, size))
        for (x, y), share in sorted(shares.items())
    )
    return tag("g", circles, class_="fill-synthetic dot")


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
    rings = joined(
        dot((x + 0.5) * wide, height - (y + 0.5) * high, radius(share, largest, size))
        for (x, y), share in sorted(shares.items())
    )
    return tag("g", rings, class_=_RING)


def radius(share: float, largest: float, size: float) -> float:
    """Return the radius whose circle's area is to the largest circle's as the shares are."""
    return max(0.46 * size * sqrt(share / largest), _SMALLEST_RADIUS)


def _legend(real: float, synthetic: float, top: float, size: float) -> Markup:
    entries = []
    if real:
        shades = joined(box(20.0 * step, top, 19, 14, f"r{step + 1}") for step in range(len(OPACITIES)))
        entries.append((shades, 130, top + 12, f"real rows, up to {percent(real)} of them in a square"))
    if synthetic:
        circle = dot(60, top + 33, min(0.46 * size, 10.0), "fill-synthetic dot")
        entries.append((circle, 130, top + 38, f"synthetic rows, {percent(synthetic)} in the largest circle"))
    return legend(*entries, kind=None)


def _spoken(real: Shares, synthetic: Shares, apart: Shares) -> list[str]:
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
