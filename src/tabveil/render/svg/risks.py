"""Risks with their intervals against thresholds, by metric or column; and what leaks would have been seen."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from markupsafe import Markup

from tabveil.core.estimate import CONFIDENCE, Estimate
from tabveil.core.wording import percent
from tabveil.render.svg import canvas as draw
from tabveil.render.svg.axes import WORDS, Scale, State, axis_labels, interval, symbol
from tabveil.render.svg.canvas import LINE, WIDTH, drawable, shown, shown_estimate, spoken, tick, told

INSET = 12.0  # between the end of a track and the end of its axis: room for marks and arrows
_SMALLEST_REACH = 0.01  # an axis shorter than this would blow up noise
OF_PEOPLE = "share of people exposed because their data were trained on"
_OF_SIMILARITY = "risk (0 = like fresh data, 1 = worst)"


@dataclass(frozen=True, kw_only=True)
class RiskBar:
    """One metric: its risk, what it scored on train (``attack``) and control rows, and how that is judged."""

    label: str
    risk: Estimate | None
    control: Estimate | None
    attack: Estimate | None
    threshold: float | None
    state: State
    note: str = ""


def risk_bars(rows: Sequence[RiskBar], *, title: str, confidence: float = CONFIDENCE) -> Markup:
    """How high are the risks, how sure is that, and how far are they from the thresholds?"""
    if not rows:
        return draw.nothing(title, "No risk was measured.")
    scale = risk_scale([(row.risk, row.threshold) for row in rows], start=INSET, end=WIDTH - INSET)
    tops = list(accumulate(map(_height, rows), initial=34.0))
    limited = any(row.threshold is not None for row in rows)
    of_people = any(row.state != "diagnostic" for row in rows)
    title_of_axis = OF_PEOPLE if of_people else _OF_SIMILARITY
    measured = f"{'gain' if of_people else 'risk'} and its {100 * confidence:g}% interval"
    parts = [_legend(measured, "threshold" if limited else "")]
    parts += [_row(row, top, scale) for row, top in zip(rows, tops, strict=False)]
    parts += [
        axis_labels(scale, tops[-1] + 4),
        draw.label(WIDTH / 2, tops[-1] + 22, title_of_axis, kind="mute", anchor="middle"),
    ]
    return draw.chart(parts, title=title, said=map(_spoken_row, rows), height=tops[-1] + 30)


def risk_scale(risks: Iterable[tuple[Estimate | None, float | None]], *, start: float, end: float) -> Scale:
    """Choose an axis that shows zero, every threshold and every value, but not intervals at any price.

    Above, an interval may run on to twice the highest value or threshold; below zero, where risks are noise,
    it gets a quarter of the axis.
    """
    found = list(risks)
    estimates = [risk for risk, _ in found if risk is not None and drawable(risk.value)]
    ends = [end for risk in estimates for end in (risk.low, risk.high) if drawable(end)]
    points = [risk.value for risk in estimates]
    points += [limit for _, limit in found if limit is not None and drawable(limit)]
    reach = max([0.0, *points])
    high = max([reach, *ends])
    if reach > 0:
        high = min(high, max(2 * reach, _SMALLEST_REACH))
    limits = [1.1 * limit for _, limit in found if limit is not None and drawable(limit)]
    high = min(max([high, _SMALLEST_REACH, *limits]), 1.0)  # some of what lies beyond a threshold is seen
    low = max(min([0.0, *points, *ends]), -high / 3)
    return Scale(low=low, high=high, start=start, end=end)


def _lines_of(row: RiskBar) -> tuple[list[str], list[str]]:
    """Return the lines of the name, and of the note."""
    return draw.wrap(row.label, WIDTH - 160), draw.wrap(row.note, WIDTH, most=3) if row.note else []


def _height(row: RiskBar) -> float:
    name, note = _lines_of(row)
    limit = 16.0 if row.threshold is not None else 0.0
    return 59.0 + LINE * len(name) + limit + (LINE * len(note) + 1 if note else 0.0)


def _row(row: RiskBar, top: float, scale: Scale) -> Markup:
    """Draw one metric: name and state, numbers, the track with its marks, the threshold's label, the note."""
    name, note = _lines_of(row)
    numbers = top + 13 + LINE * len(name)
    middle = numbers + 16.0
    end = middle + 8.0
    parts = [
        draw.paragraph(0, top + 12, name, kind="strong"),
        draw.label(WIDTH - 16, top + 12, WORDS[row.state], kind=f"words-{row.state} strong", anchor="end"),
        symbol(row.state, WIDTH - 6, top + 7.5),
        draw.label(0, numbers, shown_estimate(row.risk), width=WIDTH - 206),
        draw.label(WIDTH, numbers, _rates(row), kind="mute", anchor="end"),
        track(scale, middle - 8, 16.0, row.threshold),
        interval(row.risk, row.state, scale, middle),
    ]
    if row.threshold is not None:
        end += 16.0
        parts.append(_threshold_label(row.threshold, scale, end - 1))
    if note:
        parts.append(draw.paragraph(0, end + 16, note, kind="mute"))
    return draw.joined(parts)


def _rates(row: RiskBar) -> str:
    rates = {"train": row.attack, "control": row.control}
    return ", ".join(f"{name} {shown(rate.value)}" for name, rate in rates.items() if rate is not None)


def track(scale: Scale, top: float, height: float, threshold: float | None, *, about: int = 5) -> Markup:
    """Draw the ground of one row: ticks, zero, the threshold and what lies beyond it."""
    left, right = scale.start - INSET, scale.end + INSET
    parts = [draw.box(left, top, right - left, height, "track")]
    if threshold is not None and drawable(threshold):
        place = scale.at(threshold)
        parts.append(draw.box(place, top, right - place, height, "beyond"))
    parts += [
        draw.line(scale.at(value), top, scale.at(value), top + height, "rule") for value in scale.ticks(about)
    ]
    parts.append(draw.line(scale.at(0), top, scale.at(0), top + height, "zero"))
    if threshold is not None and drawable(threshold):
        parts.append(draw.line(scale.at(threshold), top - 3, scale.at(threshold), top + height + 3, "limit"))
    return draw.joined(parts)


def _threshold_label(threshold: float, scale: Scale, y: float) -> Markup:
    """Write the threshold under its line, moved aside where it would leave the drawing."""
    text = f"threshold {limit_text(threshold)}"
    if not drawable(threshold):
        return draw.label(0, y, text, kind="mute")
    half = draw.width_of(text) / 2
    place = min(max(scale.at(threshold), half), WIDTH - half)
    return draw.label(place, y, text, kind="words-above", anchor="middle")


def limit_text(threshold: float) -> str:
    """Write a threshold, or that it is none."""
    return tick(threshold) if drawable(threshold) else shown(threshold)


def _legend(measured: str, limit: str) -> Markup:
    """Explain the marks; without a threshold that is only the interval."""
    mark = draw.line(0, 9, 26, 9, "span mark-diagnostic") + symbol("diagnostic", 13, 9)
    drawn = draw.legend((mark, 34, 14, measured))
    if not limit:
        return drawn
    return drawn + draw.legend(
        (draw.line(WIDTH - 138, 2, WIDTH - 138, 16, "limit"), WIDTH - 130, 14, limit),
        width=130,
    )


def _spoken_row(row: RiskBar) -> str:
    named = "risk" if row.state == "diagnostic" and row.threshold is None else "gain"
    limit = "" if row.threshold is None else f"threshold {shown(row.threshold)}"
    note = f" {spoken(row.note).rstrip('.')}." if row.note else ""
    said = told(row.label, WORDS[row.state], f"{named} {shown_estimate(row.risk)}", limit, _rates(row))
    return f"{said}{note}"


_STEP = 22.0
_NAME = 134.0  # room for a name beside its track; a longer one stands above it
_TRACK_END = 378.0


@dataclass(frozen=True, kw_only=True)
class ColumnBar:
    """One column, or several alike: how much better it can be guessed for training people.

    ``configuration`` says in words how the attack was set. The threshold is None where it cannot be judged.
    """

    label: str
    risk: Estimate | None
    threshold: float | None
    configuration: str = ""

    @property
    def state(self) -> State:
        """Judge by the upper bound, as everywhere."""
        if self.threshold is None or self.risk is None or not drawable(self.risk.high, self.threshold):
            return "diagnostic"
        return "above" if self.risk.high > self.threshold else "within"

    @property
    def measured(self) -> bool:
        """Whether there is a number to draw."""
        return self.risk is not None and drawable(self.risk.value)

    @property
    def name(self) -> list[str]:
        """The name in lines: one beside the track, or up to two above it."""
        return [self.label] if draw.width_of(self.label) <= _NAME else draw.wrap_name(self.label, WIDTH)

    @property
    def above(self) -> float:
        """The room that the name takes above the track."""
        return LINE * len(self.name) if draw.width_of(self.label) > _NAME else 0.0


def column_bars(
    rows: Sequence[ColumnBar],
    *,
    title: str = "Risk of inference, column by column",
    confidence: float = CONFIDENCE,
) -> Markup:
    """Which columns can be guessed better for training people than for others? In the caller's order.

    Rows that follow each other and share a configuration stand under its name.
    """
    if not rows:
        return draw.nothing(title, "No column was attacked.")
    top = 46.0
    scale = risk_scale(
        [(row.risk, row.threshold) for row in rows], start=_NAME + 6 + INSET, end=_TRACK_END - INSET
    )
    limits = {row.threshold for row in rows if row.threshold is not None}
    limit = (
        f"threshold {limit_text(next(iter(limits)))}" if len(limits) == 1 else "threshold" if limits else ""
    )
    parts = [_legend(f"gain, {100 * confidence:g}% interval", limit), axis_labels(scale, top - 6, about=4)]
    bottom = top
    for place, drawn in _placed(rows, top):
        if isinstance(drawn, str):
            parts.append(draw.label(0, place + 14, drawn, width=WIDTH, kind="mute"))
            bottom = place + LINE + 3
            continue
        y = place + drawn.above
        parts += [
            draw.paragraph(0, place + 15.5, drawn.name),
            track(scale, y, _STEP - 2, drawn.threshold if drawn.measured else None, about=4),
            interval(drawn.risk, drawn.state, scale, y + _STEP / 2 - 1),
            _value(drawn, y + 15.5),
        ]
        bottom = y + _STEP
    parts += [
        axis_labels(scale, bottom + 14, about=4),
        draw.label(WIDTH, bottom + 32, OF_PEOPLE, kind="mute", anchor="end"),
    ]
    return draw.chart(parts, title=title, said=map(_spoken_column, rows), height=bottom + 40)


def _placed(rows: Sequence[ColumnBar], top: float) -> Iterator[tuple[float, ColumnBar | str]]:
    """Give each heading and each row its place."""
    y = top
    for configuration, group in groupby(rows, key=lambda row: row.configuration):
        if configuration:
            yield y, configuration
            y += LINE + 3
        for row in group:
            yield y, row
            y += _STEP + row.above


def _value(row: ColumnBar, y: float) -> Markup:
    if row.risk is None or not row.measured:
        return draw.label(259, y, "not computed", kind="slanted", anchor="middle")
    kind = f"words-{row.state}" if row.state == "above" else None
    return draw.label(WIDTH, y, shown(row.risk.value), kind=kind, anchor="end")


def _spoken_column(row: ColumnBar) -> str:
    limit = "" if row.threshold is None else f"threshold {shown(row.threshold)}"
    gain = f"gain {shown_estimate(row.risk)}"
    return told(row.label, WORDS[row.state], gain, limit, spoken(row.configuration))


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
        return draw.nothing(title, "Detection power was not measured.")
    leaks = sorted({leak for row in rows for leak, _, _ in row.trials} | set(LEAKS))
    step = (WIDTH - _NAMES - _LAST) / len(leaks)
    top = 44.0
    parts = [
        draw.label(_NAMES, 14, "share of rows leaked", kind="mute"),
        draw.label(WIDTH, 34, "detects", kind="mute", anchor="end"),
    ]
    parts += [
        draw.label(_NAMES + step * (i + 0.5), 34, draw.percent_tick(leak), kind="mute", anchor="middle")
        for i, leak in enumerate(leaks)
    ]
    lines = [max(map(len, _texts(row))) for row in rows]
    heights = [_ROW if n == 1 else LINE * n + 8 for n in lines]
    tops = list(accumulate(heights, initial=top))
    parts += [_power_row(row, leaks, step, place) for row, place in zip(rows, tops, strict=False)]
    bottom = tops[-1]
    parts.append(_power_legend(bottom + 12))
    return draw.chart(parts, title=title, said=map(_spoken_power, rows), height=bottom + 64)


def _texts(row: PowerRow) -> tuple[list[str], list[str]]:
    """Return the lines of the name, and of the reason where nothing was tried."""
    why = [] if row.trials else draw.wrap(row.reason or "not computed", WIDTH - _NAMES - 2, most=3)
    return draw.wrap(row.label, _NAMES - 4), why


def _power_row(row: PowerRow, leaks: Sequence[float], step: float, top: float) -> Markup:
    name, why = _texts(row)
    parts = [draw.paragraph(0, top + 16, name)]
    if why:
        return draw.joined([*parts, draw.paragraph(_NAMES + 2, top + 16, why, kind="slanted")])
    trials = {leak: (seen, of) for leak, seen, of in row.trials}
    for i, leak in enumerate(leaks):
        parts.append(_cell(trials.get(leak), _NAMES + step * i + 1, top, step - 2))
    if row.smallest in leaks:
        x = _NAMES + step * leaks.index(row.smallest) + 1
        parts.append(draw.box(x - 0.5, top - 0.5, step - 1, _CELL + 1, "ring"))
    answer = "none" if row.smallest is None else "–"
    if row.smallest is not None and drawable(row.smallest):
        answer = f"≥ {draw.percent_tick(row.smallest)}"
    parts.append(draw.label(WIDTH, top + 16, answer, anchor="end"))
    return draw.joined(parts)


def _cell(trial: tuple[int, int] | None, x: float, top: float, width: float) -> Markup:
    if trial is None or trial[1] < 1:
        return draw.label(x + width / 2, top + 16, "–", kind="mute", anchor="middle")
    share = trial[0] / trial[1]
    kind = "inverse" if share >= ENOUGH else "halo"
    text = draw.label(x + width / 2, top + 16, draw.percent_tick(round(share, 2)), kind=kind, anchor="middle")
    return _ground(share, x, top, width) + text


def _ground(share: float, x: float, top: float, width: float) -> Markup:
    """Fill, hatch or leave empty: the shape says it without color."""
    if share >= ENOUGH:
        return draw.box(x, top, width, _CELL, "sure")
    frame = draw.box(x, top, width, _CELL, "frame firm")
    return frame + draw.path(_hatching(x, top, width), "hatch") if share > 0 else frame


def _hatching(x: float, top: float, width: float) -> str:
    """Return slanted lines within a cell."""
    data, apart = "", 6.0
    for i in range(1, int((width + _CELL) / apart) + 1):
        reach = i * apart
        start = min(reach, width), max(reach - width, 0.0)
        end = max(reach - _CELL, 0.0), min(reach, _CELL)
        data += draw.polyline((x + a, top + b) for a, b in (start, end))
    return data


def _power_legend(top: float) -> Markup:
    return draw.legend(
        (_ground(1.0, 0, top, 24), 30, top + 16, "seen in 95% of trials or more"),
        (_ground(0.5, 0, top + 28, 24), 30, top + 44, "sometimes"),
        (_ground(0.0, 130, top + 28, 24), 160, top + 44, "never"),
        (draw.box(271, top + 1, 22, _CELL - 2, "ring"), 300, top + 16, "smallest detected"),
        (draw.label(282, top + 44, "–", kind="mute", anchor="middle"), 300, top + 44, "not tried"),
    )


def _spoken_power(row: PowerRow) -> str:
    if not row.trials:
        return told(row.label, spoken(row.reason or "not computed").rstrip("."))
    answer = "detects none of the leaks tried"
    if row.smallest is not None:
        answer = f"detects as its smallest leak {percent(row.smallest if drawable(row.smallest) else None)}"
    trials = ", ".join(
        f"{draw.percent_tick(leak)} seen {seen} of {of} times" for leak, seen, of in row.trials
    )
    return f"{spoken(row.label)} {answer}: {trials}."
