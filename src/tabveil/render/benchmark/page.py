"""What a benchmark found, as a page and on a terminal: what each metric sees of a risk that is known."""

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.core import wording
from tabveil.core.wording import plural
from tabveil.render.benchmark import view
from tabveil.render.console import listed_item, number, plain_table, reasons_listed, section
from tabveil.render.html import laid_out
from tabveil.workflows.benchmark.findings import Findings
from tabveil.workflows.benchmark.scorecards import POWER, ScoreCard

TITLE = "Privacy metrics, judged by a risk that is known"
LARGEST_PAGE = 1_000_000
"""Bytes: of a study that would need more, fewer curves are drawn, and then fewer risks are shown."""

_MOST_CURVES = 300
"""So many would fill a page by themselves: there is no use in trying to draw more."""

_NONE = "-"
_READING = (
    "bias: the mean value where nothing was inserted. alarms: how often something is seen there. rank: rank "
    "correlation of value and level. R2: how near values lie to a line. sd: standard deviation between "
    "repeats. sees: the smallest level seen in 95% of repeats, as all larger ones are. cpu: seconds each."
)


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
    plan, gaps = findings.plan, findings.gaps
    parts = [view.part(findings, *pair, drawn=place < n_drawn) for place, pair in enumerate(pairs)]
    return laid_out(
        "benchmark.html.j2",
        title,
        plan.title,
        kind=TITLE,
        made=made,
        plan=plan,
        findings=findings,
        parts=parts,
        n_left_out=len(plan.datasets) * len(plan.risks) - len(parts),
        n_failed=sum(gap.n for gap in gaps if gap.kind == "failed"),
        n_missing=sum(gap.n for gap in gaps),
        gaps=view.gathered(gaps),
        times=[
            (metric, {item.dataset: item for item in findings.times if item.metric == metric.label})
            for metric in plan.metrics
        ],
        caution=view.caution(findings),
        overview=view.overview(parts),
        words=view,
        power=POWER,
    )


def summary(findings: Findings) -> RenderableType:
    """Lay out what to take and the score cards, risk by risk; then what is missing."""
    plan = findings.plan
    parts: list[RenderableType] = [Text(plan.title, style="bold")] if plan.title else []
    parts.append(
        Text(f"tabveil {plan.version}, seed {plan.seed}, {plural(plan.repeats, 'repeat')}", style="dim")
    )
    caution = view.caution(findings)
    if caution:
        parts += [Text(), Text(caution, style="yellow")]
    for (dataset, risk), group in groupby(findings.cards, key=lambda card: (card.dataset, card.risk)):
        parts += section(f"{wording.name(dataset)}: {wording.name(risk)}", *_chosen(findings, dataset, risk))
        parts += [Text(), _cards(findings, list(group))]
    if findings.cards:
        parts += [Text(), Text(_READING, style="dim")]
    if rows := view.gathered(findings.gaps):
        n_missing = sum(n for _, _, n, _ in rows)
        heading = f"Without an answer: {n_missing:,} of {plural(findings.n_cells, 'cell')}"
        lines = []
        for kind, why, n, metrics in rows:
            told = "" if kind == "not run" else f": {wording.clean(why, wording.LONGEST_BRIEF)}"
            lines.append(f"{n:,} {kind}{told} ({wording.listed(metrics)})")
        parts += section(heading, *reasons_listed(lines))
    return Group(*parts)


def _chosen(findings: Findings, dataset: str, risk: str) -> Iterator[RenderableType]:
    unclear = view.what_is_known(findings, risk)
    if unclear:
        yield Text(unclear, style="dim")
    choices = [item for item in findings.choices if (item.dataset, item.risk) == (dataset, risk)]
    for choice in choices:
        metric, why = view.best(findings, choice)
        of = f"{view.PURPOSES[choice.purpose]}: "
        yield listed_item(Text.assemble(of, (metric, "bold"), " " if metric else "", why))
    why = "" if choices else view.nothing_chosen(findings, risk)
    if why:
        yield Text(why, style="dim")


def _cards(findings: Findings, cards: Sequence[ScoreCard]) -> Table:
    judged = cards[0].varied == "risk"
    headings = ("bias", "alarms", "rank", "R2", "sd", "sees", "cpu")
    table = plain_table("metric", *(headings if judged else ("rank", "R2", "sd", "cpu")))
    for card in cards:
        series = findings.series(card.risk)
        write = view.writer(series, "risk")
        alarms, level = card.false_alarms, card.smallest.level
        name = view.shown(findings.metric(card.metric))
        middle = [
            _NONE if item.value is None else number(item.value)
            for item in (card.rank_correlation, card.linearity, card.deviation)
        ]
        first = [
            _NONE if card.bias is None else number(card.bias.value),
            _NONE if alarms is None else f"{alarms.count}/{alarms.n}",
        ]
        sees = [_NONE if level is None else write(level)]
        table.add_row(
            name if card.held is None else f"{name}, at {write(card.held)}",
            *(first if judged else []),
            *middle,
            *(sees if judged else []),
            _NONE if card.cpu_seconds.value is None else view.seconds(card.cpu_seconds.value),
        )
    return table
