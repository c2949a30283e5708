"""What the audit could have seen: metrics by planted leaks."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from tabveil.core.wording import percent
from tabveil.render.svg.canvas import (
    LINE,
    WIDTH,
    box,
    chart,
    drawable,
    joined,
    label,
    legend,
    nothing,
    paragraph,
    path,
    percent_tick,
    polyline,
    spoken,
    told,
    wrap,
)

LEAKS = (0.01, 0.02, 0.05, 0.10, 0.20)
ENOUGH = 0.95  # of the trials

_NAMES = 166.0  # where the cells begin
_LAST = 58.0  # room for the answer
_ROW, _CELL = 26.0, 22.0


@dataclass(frozen=True, kw_only=True)
class PowerRow:
    """One metric: the smallest leak it detects, and its trials as (leak, times seen, times tried)."""

    label: str
    smallest: float | None
    trials: Sequence[tuple[float, int, int]]
    reason: str | None = None


def power(rows: Sequence[PowerRow], *, title: str = "Leaks this audit could have seen") -> Markup:
    """Had the release leaked, would a metric have seen it?

    A cell is filled where a planted leak was seen in at least 95 % of the trials, hatched where only
    sometimes, empty where never; a dash says that nothing was tried. The smallest leak detected has a frame.
    """
    if not rows:
        return nothing(title, "Detection power was not measured.")
    leaks = sorted({leak for row in rows for leak, _, _ in row.trials} | set(LEAKS))
    step = (WIDTH - _NAMES - _LAST) / len(leaks)
    top = 44.0
    parts = [
        label(_NAMES, 14, "share of rows leaked", kind="mute"),
        label(WIDTH, 34, "detects", kind="mute", anchor="end"),
    ]
    parts += [
        label(_NAMES + step * (i + 0.5), 34, percent_tick(leak), kind="mute", anchor="middle")
        for i, leak in enumerate(leaks)
    ]
    tops = list(accumulate((_height(row) for row in rows), initial=top))
    parts += [_row(row, leaks, step, place) for row, place in zip(rows, tops, strict=False)]
    bottom = tops[-1]
    parts.append(_legend(bottom + 12))
    return chart(parts, title=title, said=map(_spoken, rows), height=bottom + 64)


def _texts(row: PowerRow) -> tuple[list[str], list[str]]:
    """Return the lines of the name, and of the reason where nothing was tried."""
    why = [] if row.trials else wrap(row.reason or "not computed", WIDTH - _NAMES - 2, most=3)
    return wrap(row.label, _NAMES - 4), why


def _height(row: PowerRow) -> float:
    lines = max(map(len, _texts(row)))
    return _ROW if lines == 1 else LINE * lines + 8


def _row(row: PowerRow, leaks: Sequence[float], step: float, top: float) -> Markup:
    name, why = _texts(row)
    parts = [paragraph(0, top + 16, name)]
    if why:
        return joined([*parts, paragraph(_NAMES + 2, top + 16, why, kind="slanted")])
    trials = {leak: (seen, of) for leak, seen, of in row.trials}
    for i, leak in enumerate(leaks):
        parts.append(_cell(trials.get(leak), _NAMES + step * i + 1, top, step - 2))
    if row.smallest in leaks:
        x = _NAMES + step * leaks.index(row.smallest) + 1
        parts.append(box(x - 0.5, top - 0.5, step - 1, _CELL + 1, "ring"))
    answer = "none" if row.smallest is None else "–"
    if row.smallest is not None and drawable(row.smallest):
        answer = f"≥ {percent_tick(row.smallest)}"
    parts.append(label(WIDTH, top + 16, answer, anchor="end"))
    return joined(parts)


def _cell(trial: tuple[int, int] | None, x: float, top: float, width: float) -> Markup:
    if trial is None or trial[1] < 1:
        return label(x + width / 2, top + 16, "–", kind="mute", anchor="middle")
    share = trial[0] / trial[1]
    kind = "inverse" if share >= ENOUGH else "halo"
    text = label(x + width / 2, top + 16, percent_tick(round(share, 2)), kind=kind, anchor="middle")
    return _ground(share, x, top, width) + text


def _ground(share: float, x: float, top: float, width: float) -> Markup:
    """Fill, hatch or leave empty: the shape says it without color."""
    if share >= ENOUGH:
        return box(x, top, width, _CELL, "sure")
    frame = box(x, top, width, _CELL, "frame firm")
    return frame + path(_hatching(x, top, width), "hatch") if share > 0 else frame


def _hatching(x: float, top: float, width: float) -> str:
    """Return slanted lines within a cell."""
    data, apart = "", 6.0
    for i in range(1, int((width + _CELL) / apart) + 1):
        reach = i * apart
        start = min(reach, width), max(reach - width, 0.0)
        end = max(reach - _CELL, 0.0), min(reach, _CELL)
        data += polyline((x + a, top + b) for a, b in (start, end))
    return data


def _legend(top: float) -> Markup:
    return legend(
        (_ground(1.0, 0, top, 24), 30, top + 16, "seen in 95% of trials or more"),
        (_ground(0.5, 0, top + 28, 24), 30, top + 44, "sometimes"),
        (_ground(0.0, 130, top + 28, 24), 160, top + 44, "never"),
        (box(271, top + 1, 22, _CELL - 2, "ring"), 300, top + 16, "smallest detected"),
        (label(282, top + 44, "–", kind="mute", anchor="middle"), 300, top + 44, "not tried"),
    )


def _spoken(row: PowerRow) -> str:
    if not row.trials:
        return told(row.label, spoken(row.reason or "not computed").rstrip("."))
    answer = "detects none of the leaks tried"
    if row.smallest is not None:
        answer = f"detects as its smallest leak {percent(row.smallest if drawable(row.smallest) else None)}"
    trials = ", ".join(f"{percent_tick(leak)} seen {seen} of {of} times" for leak, seen, of in row.trials)
    return f"{spoken(row.label)} {answer}: {trials}."
