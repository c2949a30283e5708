"""Two columns at once: a table of real rows beside the same table of synthetic ones."""

from collections import defaultdict
from collections.abc import Sequence

from markupsafe import Markup

from tabveil.core.wording import percent
from tabveil.metrics.utility import Bar, PairTable
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.canvas import LINE, WIDTH, drawable, spoken, told
from tabveil.render.svg.cells import shade
from tabveil.render.svg.curves import level_name
from tabveil.render.svg.style import OPACITIES

_NAMES = 60.0, 146.0  # least and most room for the names of levels
_APART = 12.0  # between the two tables
_ROW = 21.0
_WIDEST = 40.0
_GAP = 0.6  # between cells
_DARK = 5  # shades from which on letters are light
_MOST_SPOKEN = 4
_SMALLER = 1.1  # letters are smaller than the room they are given here

Cells = Sequence[Sequence[float | None]]


def two_columns(pair: PairTable) -> Markup:
    """Are values as frequent together as among real people? The darker a cell, the more rows are in it.

    Cells that are not shown are hatched; numbers are shares of all rows, in percent.
    """
    down, across = pair.columns
    title = f"{down} and {across}"
    known = [
        share for table in (pair.real, pair.synthetic) for row in table for share in row if drawable(share)
    ]
    if not known:
        return draw.nothing(title, f"{spoken(title)}: no cell holds enough people to be shown.")
    names = [level_name(bar) for bar in pair.down]
    left = min(max(max(map(draw.width_of, names)) / _SMALLER + 8, _NAMES[0]), _NAMES[1])
    size = min((WIDTH - left - _APART) / (2 * len(pair.across)), _WIDEST)
    heading = draw.wrap_name(title, WIDTH)
    top = LINE * (len(heading) - 1) + 58.0
    largest = max(*known, draw.SMALLEST)
    starts = {"real": left, "synthetic": left + size * len(pair.across) + _APART}
    parts = [draw.paragraph(0, 14, heading, kind="strong")]
    for (name, start), table in zip(starts.items(), (pair.real, pair.synthetic), strict=True):
        parts += [
            draw.label(start, top - 22, name, kind="mute"),
            *(
                draw.label(
                    start + size * (place + 0.5), top - 5, f"{place + 1}", kind="mute", anchor="middle"
                )
                for place in range(len(pair.across))
            ),
            _cells(table, start, top, size, largest),
        ]
    parts += [
        draw.label(left - 6, top + _ROW * (place + 0.5) + 5, name, width=(left - 6) * _SMALLER, anchor="end")
        for place, name in enumerate(names)
    ]
    bottom = top + _ROW * len(pair.down)
    key = _key(across, pair.across)
    parts += [draw.paragraph(0, bottom + 18, key, kind="mute")]
    bottom += 18 + LINE * len(key)
    parts.append(
        _legend(largest, bottom, hidden=any(not drawable(each) for row in pair.real for each in row))
    )
    return draw.chart(parts, title=title, said=_spoken(pair), height=bottom + 18)


def _numbered(x: float, y: float, place: int) -> Markup:
    return draw.label(x, y, f"{place + 1}", kind="mute", anchor="middle")


def _cells(table: Cells, left: float, top: float, size: float, largest: float) -> Markup:
    """Draw all cells of one shade as one path, and their numbers on them."""
    data: dict[str, str] = defaultdict(str)
    numbers = []
    wide, high = draw.coordinate(size - _GAP), draw.coordinate(_ROW - _GAP)
    for down, row in enumerate(table):
        for across, share in enumerate(row):
            x, y = left + size * across, top + _ROW * down
            corner = f"M{draw.coordinate(x)} {draw.coordinate(y)}"
            if share is None or not drawable(share):
                data["hatch"] += f"{corner}l{wide} {high}"
                continue
            step = shade(share, largest) if share > 0 else 0
            data[f"r{step}" if step else "track"] += f"{corner}h{wide}v{high}h-{wide}z"
            if (written := f"{100 * share:.0f}") not in {"0", "-0"}:
                kind = "inverse" if step >= _DARK else None
                middle = x + size / 2 - _GAP / 2
                numbers.append(draw.label(middle, y + _ROW / 2 + 5, written, kind=kind, anchor="middle"))
    return draw.joined([*(draw.path(data[kind], kind) for kind in sorted(data)), *numbers])


def _key(name: str, levels: Sequence[Bar]) -> list[str]:
    """Say which number is which level, in lines that fit."""
    room = WIDTH
    lines = [f"{draw.shorten(name, room / 2)}:"]
    for place, bar in enumerate(levels, start=1):
        entry = draw.shorten(f"{place} {level_name(bar)}", room / 2) + (";" if place < len(levels) else "")
        longer = f"{lines[-1]} {entry}"
        if draw.width_of(longer) <= room:
            lines[-1] = longer
        else:
            lines.append(entry)
    return lines


def _legend(largest: float, top: float, *, hidden: bool) -> Markup:
    shades = draw.joined(draw.box(14.0 * step, top, 13, 11, f"r{step + 1}") for step in range(len(OPACITIES)))
    entries = [(shades, 92.0, top + 11, f"up to {percent(largest)} of the rows")]
    if hidden:
        mark = draw.path(f"M270 {draw.coordinate(top)}l13 11", "hatch")
        entries.append((mark, 290.0, top + 11, "not shown"))
    return draw.legend(*entries)


def _spoken(pair: PairTable) -> list[str]:
    """Say the cells that differ most."""
    cells = [
        (level_name(pair.down[down]), level_name(pair.across[across]), real, pair.synthetic[down][across])
        for down, row in enumerate(pair.real)
        for across, real in enumerate(row)
        if drawable(real, pair.synthetic[down][across])
    ]
    most = sorted(cells, key=lambda cell: -abs(cell[2] - cell[3]))[:_MOST_SPOKEN]
    return [
        f"{len(cells)} cells. Those that differ most:",
        *(
            told(f"{down} and {across}", f"real {percent(real)}", f"synthetic {percent(synthetic)}")
            for down, across, real, synthetic in most
        ),
    ]
