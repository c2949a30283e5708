"""One column, real beside synthetic: a small chart that stands in a row of its kind."""

from collections.abc import Sequence

from markupsafe import Markup

from tabveil.core.wording import percent
from tabveil.metrics.utility import Bar
from tabveil.render.svg.axes import Scale, axis_labels, upright_axis
from tabveil.render.svg.canvas import (
    LINE,
    SMALL_WIDTH,
    SMALLEST,
    box,
    chart,
    coordinate,
    drawable,
    joined,
    label,
    legend,
    line,
    nothing,
    paragraph,
    path,
    percent_tick,
    spoken,
    tick,
    told,
    width_of,
    wrap_name,
)

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
        return nothing(title, f"{spoken(title)}: nothing to compare.", width=SMALL_WIDTH)
    highest = max(max(bar.real, bar.synthetic) for bar in known)
    highest = highest if highest > SMALLEST else 1.0
    ranges = any(bar.kind == "range" for bar in known)
    name = wrap_name(title, SMALL_WIDTH * _SMALLER)
    under = LINE * (len(name) - 1) + 14  # the last line of the name
    top = under + 36
    drawn = _histogram(known, highest, top) if ranges else _pairs(_pool(known), highest, top)
    real = box(0, under + 10, 12, 10, "fill-real pale" if ranges else "fill-real")
    synthetic = box(64, under + 12, 14, 6, "fill-synthetic")
    if ranges:
        synthetic = line(64, under + 15, 78, under + 15, "curve line-synthetic")
    head = [
        paragraph(0, 14, name, kind="strong"),
        legend((real, 18, under + 20, "real"), (synthetic, 84, under + 20, "synthetic")),
    ]
    return chart([*head, drawn[0]], title=title, said=map(_spoken, known), height=drawn[1], width=SMALL_WIDTH)


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
    longest = max(width_of(_name(bar)) for bar in bars) / _SMALLER
    left = min(max(longest + 7, _NAMES[0]), _NAMES[1])
    highest = max(highest, *(max(bar.real, bar.synthetic) for bar in bars))
    scale = Scale(low=0, high=highest, start=left, end=SMALL_WIDTH - 18)
    bottom = top + _ROW * len(bars)
    parts = [line(scale.at(v), top - 2, scale.at(v), bottom, "rule") for v in scale.ticks(3)]
    for position, bar in enumerate(bars):
        y = top + _ROW * position
        named = bar.kind == "label"
        parts += [
            label(0, y + 13, _name(bar), width=(left - 6) * _SMALLER, kind=None if named else "slanted"),
            box(left, y + 2, scale.at(bar.real) - left, 8, "fill-real"),
            box(left, y + 10.5, scale.at(bar.synthetic) - left, 5.5, "fill-synthetic"),
        ]
    parts += [
        line(left, top - 2, left, bottom, "zero"),
        axis_labels(scale, bottom + 14, write=percent_tick, about=3),
    ]
    return joined(parts), bottom + 20


def _histogram(bars: Sequence[Bar], highest: float, top: float) -> tuple[Markup, float]:
    """Draw a column for each range, missing values apart; return them and the height of the chart."""
    left, right, bottom = 40.0, SMALL_WIDTH - 4, top + 110
    ranges = [bar for bar in bars if bar.kind == "range"]
    others = [bar for bar in bars if bar.kind != "range"]
    slot = (right - left - _APART * len(others)) / len(ranges)
    upward = Scale(low=0, high=highest, start=bottom, end=top)
    after = left + slot * len(ranges)
    columns = [(left + slot * i, slot, bar) for i, bar in enumerate(ranges)]
    apart = [(after + _APART * i + 14, _APART - 14, bar) for i, bar in enumerate(others)]
    parts = [upright_axis(upward, left, right, write=percent_tick, about=3)]
    parts += [
        box(x + 0.5, upward.at(bar.real), width - 1, bottom - upward.at(bar.real), "fill-real pale")
        for x, width, bar in columns + apart
    ]
    parts += [_outline(group, upward) for group in (columns, *([column] for column in apart))]
    parts += [line(left, bottom, right, bottom, "zero"), _edges(ranges, left, slot, bottom + 15)]
    if others:
        names = " and ".join(map(_name, others))
        parts.append(label(right, bottom + 30, names, kind="slanted", anchor="end"))
    return joined(parts), bottom + (36 if others else 21)


def _outline(columns: Sequence[tuple[float, float, Bar]], upward: Scale) -> Markup:
    """Draw the synthetic shares as one line around neighboring columns."""
    bottom = coordinate(upward.start)
    data = f"M{coordinate(columns[0][0])} {bottom}"
    for x, width, bar in columns:
        data += f"V{coordinate(upward.at(bar.synthetic))}H{coordinate(x + width)}"
    return path(f"{data}V{bottom}", "curve line-synthetic")


def _edges(ranges: Sequence[Bar], left: float, slot: float, y: float) -> Markup:
    """Label the edges between ranges, from the left, as many as fit."""
    parts: list[Markup] = []
    free = 0.0
    for position, bar in enumerate(ranges[:-1], start=1):
        if bar.high is None:
            continue
        text, place = bar.high_text or tick(bar.high), left + slot * position
        half = width_of(text) / 2
        if place - half >= free and place + half <= SMALL_WIDTH:
            parts.append(label(place, y, text, kind="mute", anchor="middle"))
            free = place + half + 10
    return joined(parts) if parts else label(left, y, "all values", kind="mute")


def _name(bar: Bar) -> str:
    return bar.label or "(empty)" if bar.kind == "label" else _POOLED.get(bar.kind, bar.kind)


def _spoken(bar: Bar) -> str:
    shares = f"real {percent(bar.real)}", f"synthetic {percent(bar.synthetic)}"
    if bar.kind != "range":
        return told(_name(bar), *shares)
    low = None if bar.low is None else bar.low_text or tick(bar.low)
    high = None if bar.high is None else bar.high_text or tick(bar.high)
    if low is None:
        return told("All values" if high is None else f"Below {high}", *shares)
    return told(f"From {low}" if high is None else f"{low} to {high}", *shares)
