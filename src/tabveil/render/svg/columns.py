"""Risks of inference, one row for each column, under the configuration that each was measured in."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from tabveil.core.estimate import CONFIDENCE, Estimate
from tabveil.render.svg.canvas import LINE, WIDTH, chart, label, nothing, paragraph
from tabveil.render.svg.marks import WORDS, State, axis_labels, interval
from tabveil.render.svg.risks import INSET, OF_PEOPLE, legend, limit_text, risk_scale, track
from tabveil.render.svg.words import drawable, sentences, shown, shown_estimate, spoken, width_of, wrap_name

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
        return [self.label] if width_of(self.label) <= _NAME else wrap_name(self.label, WIDTH)

    @property
    def above(self) -> float:
        """The room that the name takes above the track."""
        return LINE * len(self.name) if width_of(self.label) > _NAME else 0.0


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
        return nothing(title, "No column was attacked.")
    top = 46.0
    scale = risk_scale(
        [(row.risk, row.threshold) for row in rows], start=_NAME + 6 + INSET, end=_TRACK_END - INSET
    )
    limits = {row.threshold for row in rows if row.threshold is not None}
    limit = (
        f"threshold {limit_text(next(iter(limits)))}" if len(limits) == 1 else "threshold" if limits else ""
    )
    parts = [legend(f"gain, {100 * confidence:g}% interval", limit), axis_labels(scale, top - 6, about=4)]
    bottom = top
    for place, drawn in _placed(rows, top):
        if isinstance(drawn, str):
            parts.append(label(0, place + 14, drawn, width=WIDTH, kind="mute"))
            bottom = place + LINE + 3
            continue
        y = place + drawn.above
        parts += [
            paragraph(0, place + 15.5, drawn.name),
            track(scale, y, _STEP - 2, drawn.threshold if drawn.measured else None, about=4),
            interval(drawn.risk, drawn.state, scale, y + _STEP / 2 - 1),
            _value(drawn, y + 15.5),
        ]
        bottom = y + _STEP
    parts += [
        axis_labels(scale, bottom + 14, about=4),
        label(WIDTH, bottom + 32, OF_PEOPLE, kind="mute", anchor="end"),
    ]
    said = sentences(map(_spoken, rows))
    return chart(parts, title=title, description=said, height=bottom + 40)


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
        return label(259, y, "not computed", kind="slanted", anchor="middle")
    kind = f"words-{row.state}" if row.state == "above" else None
    return label(WIDTH, y, shown(row.risk.value), kind=kind, anchor="end")


def _spoken(row: ColumnBar) -> str:
    parts = [f"gain {shown_estimate(row.risk)}"]
    if row.threshold is not None:
        parts.append(f"threshold {shown(row.threshold)}")
    if row.configuration:
        parts.append(spoken(row.configuration))
    return f"{spoken(row.label)}: {WORDS[row.state]}, {', '.join(parts)}."
