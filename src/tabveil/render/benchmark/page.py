"""The page of a benchmark: what each metric sees of a risk that is known, as one self-contained HTML file.

Of the same house as the audit's page: no script, nothing loaded, every text from outside escaped.
"""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby

from markupsafe import Markup

from tabveil.core.wording import name
from tabveil.render import svg
from tabveil.render.audit.page import dated, environment, heading, style_sheet
from tabveil.render.benchmark import view as words
from tabveil.render.svg.response import value_range
from tabveil.workflows.benchmark.curves import Curve, Point
from tabveil.workflows.benchmark.findings import Correlations, Findings, Gap, Time
from tabveil.workflows.benchmark.plan import AskedMetric, Series
from tabveil.workflows.benchmark.scorecards import POWER, Choice, ScoreCard

TITLE = "Privacy metrics, judged by a risk that is known"
LARGEST_PAGE = 1_000_000
"""Bytes: of a study that would need more, fewer curves are drawn, and then fewer risks are shown."""

_MOST_CURVES = 300
"""So many would fill a page by themselves: there is no use in trying to draw more."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """All about one risk on one dataset."""

    dataset: str
    risk: str
    series: Series
    choices: tuple[Choice, ...]
    cards: tuple[ScoreCard, ...]
    tables: tuple["CurveTable", ...]
    charts: tuple[Markup, ...]
    correlations: Correlations | None

    @property
    def title(self) -> str:
        """What the part is called."""
        return f"{name(self.dataset)}: {name(self.risk)}"


@dataclass(frozen=True, kw_only=True)
class CurveTable:
    """Curves as numbers: a row for each, a column for each level."""

    caption: str
    levels: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Point | None, ...]], ...]
    seen: bool


def page(findings: Findings, *, title: str = "", made: dt.date | None = None) -> str:
    """Lay out the findings of a benchmark; ``title`` stands in the place of the study's own."""
    pairs = [(people.label, risk.label) for people in findings.plan.datasets for risk in findings.plan.risks]
    curves = Counter((curve.dataset, curve.risk) for curve in findings.curves)
    drawn = accumulate(curves[pair] for pair in pairs)
    n_shown, n_drawn = len(pairs), sum(n <= _MOST_CURVES for n in drawn) or 1
    while True:
        text = _page(findings, pairs[:n_shown], n_drawn, title=title, made=made)
        if len(text.encode()) < LARGEST_PAGE or n_shown <= 1:
            return text
        n_shown, n_drawn = (n_shown, n_drawn // 2) if n_drawn else (n_shown // 2, 0)


def _page(
    findings: Findings, pairs: Sequence[tuple[str, str]], n_drawn: int, *, title: str, made: dt.date | None
) -> str:
    shown = heading(title) or heading(findings.plan.title) or TITLE
    parts = [_part(findings, *pair, drawn=place < n_drawn) for place, pair in enumerate(pairs)]
    n_all = len(findings.plan.datasets) * len(findings.plan.risks)
    return (
        environment()
        .get_template("benchmark.html.j2")
        .render(
            title=shown,
            kind=TITLE,
            made=dated(made),
            style=style_sheet(shown, made),
            plan=findings.plan,
            findings=findings,
            parts=parts,
            n_left_out=n_all - len(parts),
            n_failed=sum(gap.n for gap in findings.gaps if gap.kind == "failed"),
            n_missing=sum(gap.n for gap in findings.gaps),
            gaps=gathered(findings.gaps),
            times=_by_metric(findings.times, findings.plan.metrics),
            caution=words.caution(findings),
            overview=_overview(parts),
            words=words,
            power=POWER,
        )
    )


def _part(findings: Findings, dataset: str, risk: str, *, drawn: bool) -> Part:
    series = findings.series(risk)
    here = [curve for curve in findings.curves if (curve.dataset, curve.risk) == (dataset, risk)]
    return Part(
        dataset=dataset,
        risk=risk,
        series=series,
        choices=tuple(item for item in findings.choices if (item.dataset, item.risk) == (dataset, risk)),
        cards=tuple(item for item in findings.cards if (item.dataset, item.risk) == (dataset, risk)),
        tables=tuple(_tables(findings, here)),
        charts=tuple(_charts(findings, here)) if drawn else (),
        correlations=next(
            (
                item
                for item in findings.correlations
                if (item.dataset, item.risk) == (dataset, risk) and len(item.metrics) > 1
            ),
            None,
        )
        if drawn
        else None,
    )


def _overview(parts: Sequence[Part]) -> list[tuple[str, list[Choice | None]]]:
    """Return a row of choices for every risk on every dataset, by purpose; none where there is one risk."""
    chosen = [part for part in parts if part.choices]
    if len(chosen) < 2:  # noqa: PLR2004 - the sentences below say it all
        return []
    return [
        (
            part.title,
            [next((item for item in part.choices if item.purpose == key), None) for key in words.PURPOSES],
        )
        for part in chosen
    ]


def held(findings: Findings, item: Curve | ScoreCard) -> str:
    """Say which level of the risk a curve or a card keeps to, if its circumstances vary."""
    if item.held is None:
        return ""
    return f"{name(item.risk)} at {words.writer(findings.series(item.risk), 'risk')(item.held)}"


def _charts(findings: Findings, curves: Sequence[Curve]) -> list[Markup]:
    """Draw a small chart for every metric, all on one scale."""
    measured = [curve for curve in curves if curve.figure is None and any(p.mean for p in curve.points)]
    reach = value_range([_line(findings, curve) for curve in measured])
    charts = []
    for metric, group in groupby(measured, key=lambda curve: curve.metric):
        together = list(group)
        series, varied = findings.series(together[0].risk), together[0].varied
        charts.append(
            svg.response(
                [_line(findings, curve) for curve in together],
                title=words.shown(findings.metric(metric)),
                across=words.axis(series, varied),
                reach=reach,
                write=words.writer(series, varied),
                ideal=varied == "risk" and words.is_leak(series) and max(series.levels) <= 1,
            )
        )
    return charts


def _line(findings: Findings, curve: Curve) -> svg.ResponseLine:
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


def _tables(findings: Findings, curves: Sequence[Curve]) -> list[CurveTable]:
    """Set curves of the measure, and those of other figures, below each other."""
    tables = []
    for figures in (False, True):
        chosen = [curve for curve in curves if (curve.figure is not None) == figures]
        if not chosen:
            continue
        series, varied = findings.series(chosen[0].risk), chosen[0].varied
        levels = sorted({point.level for curve in chosen for point in curve.points})
        tables.append(
            CurveTable(
                caption=f"{'Further figures' if figures else 'Means'}, by {words.axis(series, varied)}",
                levels=tuple(map(words.writer(series, varied), levels)),
                rows=tuple(
                    (_row_name(findings, curve), tuple(_at(curve, level) for level in levels))
                    for curve in chosen
                ),
                seen=not figures,
            )
        )
    return tables


def _row_name(findings: Findings, curve: Curve) -> str:
    parts = [words.shown(findings.metric(curve.metric)), curve.figure, held(findings, curve)]
    return ", ".join(part for part in parts if part)


def _at(curve: Curve, level: float) -> Point | None:
    return next((point for point in curve.points if point.level == level), None)


def _by_metric(
    times: Sequence[Time], metrics: Sequence[AskedMetric]
) -> list[tuple[AskedMetric, dict[str, Time]]]:
    """Return a row of the table of times for every metric, by dataset."""
    return [
        (metric, {item.dataset: item for item in times if item.metric == metric.label}) for metric in metrics
    ]


def gathered(gaps: Sequence[Gap]) -> list[tuple[str, str, int, list[str]]]:
    """Count what is missing by its reason, most frequent first; with the metrics concerned."""
    found: dict[tuple[str, str], list[Gap]] = {}
    for gap in gaps:
        found.setdefault((gap.kind, gap.why), []).append(gap)
    rows = [
        (kind, why, sum(gap.n for gap in same), list(dict.fromkeys(gap.metric for gap in same)))
        for (kind, why), same in found.items()
    ]
    return sorted(rows, key=lambda row: -row[2])
