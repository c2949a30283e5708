"""What page and terminal both say about a run of a pipeline: numbers stage by stage, and changes in words."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from tabveil.auditing.policy import risk_of
from tabveil.core.estimate import Estimate
from tabveil.metrics.utility import MEANINGS
from tabveil.render import svg
from tabveil.render.audit.evidence import skipped_title
from tabveil.workflows.pipeline import PipelineChange, PipelineReport

READING = (
    "Change: (pipeline - generator alone) / generator alone. Of a risk, and of a distance, below zero is "
    "better. Its interval is that of a ratio of two uncertain numbers, each from one run: what other seeds "
    "would give is not in it. No ratio is shown where it would mean nothing: the generator alone cannot be "
    "told apart from zero, an attack on it does no better than guessing, or one of the two was not measured."
)
_MOST_PERCENT = 1000  # how much farther an interval reaches is chance: what is compared with is hardly seen
NO_GENERATOR = "There is no generator in this pipeline, so there is none to compare with."
COST = (
    "What the filter changes in risk and costs in utility: the final rows beside the unfiltered ones, as "
    "numbers below."
)


@dataclass(frozen=True, kw_only=True)
class Way:
    """One number at every stage, in the order of the stages."""

    key: str
    title: str
    values: tuple[Estimate | None, ...]
    threshold: float | None = None  # of an attack
    best: float | None = None  # of a measure of utility

    @property
    def judged(self) -> bool:
        """Whether it is an attack, by which stages are judged."""
        return self.threshold is not None


def seed(report: PipelineReport) -> str:
    """Return the seed in words."""
    return "withheld" if report.seed is None else str(report.seed)


def risks(report: PipelineReport) -> list[Way]:
    """Return every metric's way: attacks with their threshold, and indicators."""
    found: dict[str, Way] = {}
    for result in (result for stage in report.stages for result in stage.report.results):
        risk = risk_of(result.labels)
        found[result.key] = Way(
            key=result.key,
            title=result.full_title,
            values=tuple(
                next((other.measure for other in stage.report.results if other.key == result.key), None)
                for stage in report.stages
            ),
            threshold=None if risk is None else report["final"].policy.thresholds.of(risk),
        )
    return list(found.values())


def utilities(report: PipelineReport) -> list[Way]:
    """Return the way of every measure of utility."""
    figures = [{} if s.report.utility is None else s.report.utility.figures for s in report.stages]
    return [
        Way(
            key=key,
            title=meaning.title,
            values=tuple(each[key].value if key in each else None for each in figures),
            best=meaning.best,
        )
        for key, meaning in MEANINGS.items()
        if any(key in each for each in figures)
    ]


def change_of(report: PipelineReport, way: Way) -> PipelineChange | None:
    """Return how a number differs from that of the generator alone."""
    kind = "privacy" if way.best is None else "utility"
    return next((item for item in report.changes if (item.key, item.kind) == (way.key, kind)), None)


def without_ratio(report: PipelineReport) -> dict[str, list[str]]:
    """Return why some numbers have no ratio, and which."""
    found: dict[str, list[str]] = {}
    for item in report.changes:
        if item.change is None:
            found.setdefault(item.reason, []).append(item.title)
    return found


def changed(change: PipelineChange | None, minus: str = "−") -> str:
    """Write a change in percent; why there is none, where it means nothing.

    >>> half = Estimate(value=-0.5, low=-0.613, high=-0.382, n=9)
    >>> changed(PipelineChange(key="", title="", kind="privacy", pipeline=None, generator=None, change=half))
    '−50% (−62% to −38%)'
    >>> far = Estimate(value=0.18, low=-0.78, high=628, n=9)
    >>> changed(PipelineChange(key="", title="", kind="privacy", pipeline=None, generator=None, change=far))
    '+18% (−78% to >+1,000%)'
    """
    if change is None or change.change is None:
        return "" if change is None else change.reason
    found = change.change
    ends = f"{_percent(math.floor(100 * found.low), minus)} to {_percent(math.ceil(100 * found.high), minus)}"
    return f"{_percent(round(100 * found.value), minus)} ({ends})"


def _percent(value: int, minus: str) -> str:
    if value > _MOST_PERCENT:
        return f">+{_MOST_PERCENT:,}%"
    return f"{value:+,}%".replace("-", minus) if value else "0%"


def charts(report: PipelineReport, ways: Sequence[Way]) -> list[Markup]:
    """Draw a small chart for every metric, all on one scale."""
    drawn = [
        [
            svg.WayPoint(
                label="alone" if stage.name == "generator" else stage.title,  # there is little room
                value=value,
                beside=stage.name == "generator",
            )
            for stage, value in zip(report.stages, way.values, strict=True)
        ]
        for way in ways
    ]
    limits = [way.threshold for way in ways if way.threshold is not None]
    reach = svg.reach_of([point for points in drawn for point in points], limits)
    return [
        svg.way(points, title=way.title, reach=reach, threshold=way.threshold)
        for way, points in zip(ways, drawn, strict=True)
    ]


def omitted(report: PipelineReport) -> list[str]:
    """Say what was not computed, and at which stages."""
    reasons: dict[str, list[str]] = {}
    for stage in report.stages:
        for item in stage.report.skipped:
            reasons.setdefault(f"{skipped_title(stage.report, item)}: {item.why}", []).append(stage.title)
    return [
        reason if len(titles) == len(report.stages) else f"{reason} ({', '.join(titles)})"
        for reason, titles in reasons.items()
    ]


def warnings(report: PipelineReport) -> list[str]:
    """Return what to know about the steps around the generator, each once."""
    return list(dict.fromkeys(warning for step in report.steps for warning in step.warnings))


def notes(report: PipelineReport) -> list[str]:
    """Return what was noted while rows were read and learned, and while they were audited, each once."""
    taken = [note for step in report.steps for note in step.notes]
    audited = [note for stage in report.stages for note in stage.report.notes]
    return list(dict.fromkeys([*taken, *report.notes, *audited]))
