"""What a benchmark found, in sentences: as strong as the repeats behind them, and no stronger."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from tabveil.core.wording import joined, level, name, percent, plural
from tabveil.render import svg
from tabveil.render.svg.canvas import percent_tick, tick
from tabveil.workflows.benchmark.curves import Point, ResponseCurve, Share, repeats_to_show, share, varied
from tabveil.workflows.benchmark.findings import AnswerGap, Correlations, Findings
from tabveil.workflows.benchmark.plan import Series, StudyMetric
from tabveil.workflows.benchmark.scorecards import POWER, UNKNOWN, Recommendation, ScoreCard, inserted

AXES = {
    "leaky": "share of rows that are training rows",
    "noisy": "share of training rows, behind noise",
    "overfit": "held-out loss, as a multiple of its least",
    "private": "ε: the less noise, the further right",
    "outlier_removal": "share of people removed",
    "oversample": "times as many rows",
    "canaries": "people with an invented secret",
    "generated": "no risk was inserted",
}
"""What the levels of our own risk models and modifiers count."""

_LEAKS = {"leaky", "noisy"}
_IN_ORDER = {"overfit", "private"}
_SHARES = {"leaky", "noisy", "outlier_removal"}
PURPOSES = {
    "singling out": "Singling out",
    "linkability": "Linkability",
    "inference": "Inference",
    "membership": "Membership",
    "diagnosis": "Indicators (diagnostics, not evidence of anonymity)",
}
"""What metrics are asked for, in the order of a report."""

_FEW = 8  # names in a sentence


def shown(metric: StudyMetric) -> str:
    """Return what a metric is called: by its title, or as the study labels it."""
    return name(metric.title if metric.label == metric.name else metric.label)


def axis(series: Series, varied: str) -> str:
    """Say what the levels of a curve are."""
    kind = series.modifier if varied == "modifier" and series.modifier is not None else series.model
    return AXES.get(kind, f"level of {name(kind)}")


def writer(series: Series, varied: str) -> Callable[[float], str]:
    """Return how levels are written: shares as percentages, all else as numbers."""
    kind = series.modifier if varied == "modifier" else series.model
    return percent_tick if kind in _SHARES else tick


def seconds(value: float | None) -> str:
    """Write CPU seconds, the short ones with two digits.

    >>> seconds(0.0018), seconds(0.25), seconds(12.34), seconds(1234.5), seconds(None)
    ('0.0018', '0.25', '12', '1,234', 'not known')
    """
    if value is None:
        return "not known"
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}" if value >= 0.001 else "<0.001"  # noqa: PLR2004


def counted(found: Share | None) -> str:
    """Write a share as what was counted.

    >>> counted(share(4, 5)), counted(None)
    ('4 of 5', 'not known')
    """
    return "not known" if found is None else f"{found.count:,} of {found.n:,}"


def caution(findings: Findings) -> str | None:
    """Say what the number of repeats cannot show; None if it shows enough."""
    n = findings.plan.repeats
    all_seen = share(n, n)
    if all_seen is None or all_seen.low >= POWER:
        return None
    return (
        f"Every level was tried {plural(n, 'time')}. If a risk is seen each time, the chance to see it is at "
        f"least {percent(all_seen.low)} (exact 95% interval); to show {level(POWER)} takes "
        f"{repeats_to_show(POWER)} repeats. So “sees” means here: saw it in these repeats. Likewise, no "
        f"false alarm in {n} leaves room for a rate of up to {percent(1 - all_seen.low)}."
    )


def what_is_known(findings: Findings, risk: str) -> str | None:
    """Say where less is known of the risk than how much of it there is."""
    series = findings.series(risk)
    if series.model in UNKNOWN:
        return "No risk was inserted here, and what the generator reveals is not known: nothing is judged."
    if series.model in _IN_ORDER:
        return (
            "How much risk a level of this model inserts is known in order only, not in amount: a metric "
            "that sees nothing may be right."
        )
    return None


def nothing_chosen(findings: Findings, risk: str) -> str:
    """Say why no metric is recommended, where :func:`what_is_known` does not say it."""
    series = findings.series(risk)
    if series.model in UNKNOWN:
        return ""
    if varied(series) == "modifier":
        return f"The circumstances vary ({axis(series, 'modifier')}), not the risk: no metric is recommended."
    if not inserted(series):
        return "Nothing was inserted: only bias and false alarms can be judged, and no metric is recommended."
    return "No metric was asked about privacy."


def best(findings: Findings, choice: Recommendation) -> tuple[str, str]:
    """Return the metric to take for a purpose, and why; the name is empty if there is none."""
    if choice.metric is None or choice.level is None or choice.seen is None:
        who = f"{_listed(findings, choice.blind)} see" if len(choice.blind) > 1 else "No metric sees"
        none = "no level" if len(choice.blind) > 1 else "any level"
        return "", f"{who} {none} in 95% of repeats."
    series = findings.series(choice.risk)
    write = writer(series, "risk")
    already = ", the smallest level tried," if choice.level == inserted(series)[0] else ""
    alarms = "false alarms were not measured"
    if choice.false_alarms is not None:
        alarms = f"false alarms {counted(choice.false_alarms)} (at most {percent(choice.false_alarms.high)})"
    return _shown(findings, choice.metric), (
        f"sees the risk from {write(choice.level)}{already} on: {counted(choice.seen)} repeats (chance at "
        f"least {percent(choice.seen.low)}), {alarms}, {seconds(choice.cpu_seconds)} CPU seconds an answer."
    )


def others(findings: Findings, choice: Recommendation) -> list[str]:
    """Say what else could be taken for a purpose, and what should not."""
    said = []
    if choice.as_good:
        said.append(f"As good, but slower: {_listed(findings, choice.as_good)}.")
    if choice.dominated:
        pairs = [
            f"{_shown(findings, item.metric)} (by {_shown(findings, item.by)})" for item in choice.dominated
        ]
        said.append(f"Outdone in what they see and in time: {_some(pairs)}.")
    if choice.blind and choice.metric is not None:
        said.append(f"See no level in 95% of repeats: {_listed(findings, choice.blind)}.")
    if choice.alarming:
        said.append(f"Too many false alarms to be believed: {_listed(findings, choice.alarming)}.")
    if choice.unanswered:
        said.append(f"No answers: {_listed(findings, choice.unanswered)}.")
    return said


def _shown(findings: Findings, metric: str) -> str:
    return shown(findings.metric(metric))


def _listed(findings: Findings, metrics: Sequence[str]) -> str:
    return _some([_shown(findings, item) for item in metrics])


def _some(texts: Sequence[str]) -> str:
    return joined(texts) if len(texts) <= _FEW else f"{', '.join(texts[:_FEW])} and {len(texts) - _FEW} more"


@dataclass(frozen=True, kw_only=True)
class CurveTable:
    """Curves as numbers: a row for each, a column for each level."""

    caption: str
    levels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Point | None, ...]], ...]
    seen: bool


@dataclass(frozen=True, kw_only=True)
class Part:
    """All about one risk on one dataset."""

    dataset: str
    risk: str
    series: Series
    choices: tuple[Recommendation, ...]
    cards: tuple[ScoreCard, ...]
    tables: tuple[CurveTable, ...]
    charts: tuple[Markup, ...]
    correlations: Correlations | None

    @property
    def title(self) -> str:
        """What the part is called."""
        return f"{name(self.dataset)}: {name(self.risk)}"


def part(findings: Findings, dataset: str, risk: str, *, drawn: bool) -> Part:
    """Gather all about one risk on one dataset; charts only where they are ``drawn``."""
    here = [curve for curve in findings.curves if (curve.dataset, curve.risk) == (dataset, risk)]
    correlated = (item for item in findings.correlations if (item.dataset, item.risk) == (dataset, risk))
    return Part(
        dataset=dataset,
        risk=risk,
        series=findings.series(risk),
        choices=tuple(item for item in findings.choices if (item.dataset, item.risk) == (dataset, risk)),
        cards=tuple(item for item in findings.cards if (item.dataset, item.risk) == (dataset, risk)),
        tables=tuple(_tables(findings, here)),
        charts=tuple(_charts(findings, here)) if drawn else (),
        correlations=next((item for item in correlated if drawn and len(item.metrics) > 1), None),
    )


def overview(parts: Sequence[Part]) -> list[tuple[str, list[Recommendation | None]]]:
    """Return a row of choices for every risk on every dataset, by purpose; none where there is one risk."""
    chosen = [part for part in parts if part.choices]
    if len(chosen) < 2:  # noqa: PLR2004 - the sentences below say it all
        return []
    return [
        (
            part.title,
            [next((item for item in part.choices if item.purpose == key), None) for key in PURPOSES],
        )
        for part in chosen
    ]


def held(findings: Findings, item: ResponseCurve | ScoreCard) -> str:
    """Say which level of the risk a curve or a card keeps to, if its circumstances vary."""
    if item.held is None:
        return ""
    return f"{name(item.risk)} at {writer(findings.series(item.risk), 'risk')(item.held)}"


def _charts(findings: Findings, curves: Sequence[ResponseCurve]) -> list[Markup]:
    """Draw a small chart for every metric, all on one scale."""
    measured = [curve for curve in curves if curve.figure is None and any(p.mean for p in curve.points)]
    reach = svg.value_range([_line(findings, curve) for curve in measured])
    charts = []
    for metric, group in groupby(measured, key=lambda curve: curve.metric):
        together = list(group)
        series, varied = findings.series(together[0].risk), together[0].varied
        charts.append(
            svg.response(
                [_line(findings, curve) for curve in together],
                title=shown(findings.metric(metric)),
                across=axis(series, varied),
                reach=reach,
                write=writer(series, varied),
                ideal=varied == "risk" and series.model in _LEAKS and max(series.levels) <= 1,
            )
        )
    return charts


def _line(findings: Findings, curve: ResponseCurve) -> svg.ResponseLine:
    points = [
        svg.ResponsePoint(
            level=point.level,
            value=point.mean.value if point.mean else None,
            low=point.mean.low if point.mean else None,
            high=point.mean.high if point.mean else None,
            sure=None if point.seen is None else point.seen.value >= POWER,
        )
        for point in curve.points
    ]
    return svg.ResponseLine(label=held(findings, curve) or curve.metric, points=points)


def _tables(findings: Findings, curves: Sequence[ResponseCurve]) -> list[CurveTable]:
    """Set curves of the measure, and those of other figures, below each other."""
    tables = []
    for figures in (False, True):
        chosen = [curve for curve in curves if (curve.figure is not None) == figures]
        if not chosen:
            continue
        series, varied = findings.series(chosen[0].risk), chosen[0].varied
        levels = sorted({point.level for curve in chosen for point in curve.points})
        rows = []
        for curve in chosen:
            points = {point.level: point for point in curve.points}
            called = [shown(findings.metric(curve.metric)), curve.figure, held(findings, curve)]
            rows.append((", ".join(filter(None, called)), tuple(map(points.get, levels))))
        tables.append(
            CurveTable(
                caption=f"{'Further figures' if figures else 'Means'}, by {axis(series, varied)}",
                levels=tuple(map(writer(series, varied), levels)),
                rows=tuple(rows),
                seen=not figures,
            )
        )
    return tables


def gathered(gaps: Sequence[AnswerGap]) -> list[tuple[str, str, int, list[str]]]:
    """Count what is missing by its reason, most frequent first; with the metrics concerned."""
    found: dict[tuple[str, str], list[AnswerGap]] = {}
    for gap in gaps:
        found.setdefault((gap.kind, gap.why), []).append(gap)
    rows = [
        (kind, why, sum(gap.n for gap in same), list(dict.fromkeys(gap.metric for gap in same)))
        for (kind, why), same in found.items()
    ]
    return sorted(rows, key=lambda row: -row[2])
