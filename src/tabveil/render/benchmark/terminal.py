"""What a benchmark found, on the terminal: readable at 80 columns and without color."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.core import wording
from tabveil.core.wording import plural
from tabveil.render.benchmark import view
from tabveil.render.console import listed_item, number, plain_table, section
from tabveil.workflows.benchmark.findings import Findings
from tabveil.workflows.benchmark.scorecards import ScoreCard

_NONE = "-"
_MOST_REASONS = 10
_READING = (
    "bias: the mean value where nothing was inserted. alarms: how often something is seen there. rank: rank "
    "correlation of value and level. R2: how near values lie to a line. sd: standard deviation between "
    "repeats. sees: the smallest level seen in 95% of repeats, as all larger ones are. cpu: seconds each."
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
    return Group(*parts, *_missing(findings))


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


def _missing(findings: Findings) -> list[RenderableType]:
    rows = view.gathered(findings.gaps)
    if not rows:
        return []
    lines = []
    for kind, why, n, metrics in rows[:_MOST_REASONS]:
        told = "" if kind == "not run" else f": {wording.clean(why, wording.LONGEST_BRIEF)}"
        lines.append(listed_item(Text(f"{n:,} {kind}{told} ({wording.listed(metrics)})")))
    if len(rows) > _MOST_REASONS:
        lines.append(listed_item(f"and {plural(len(rows) - _MOST_REASONS, 'further reason')}"))
    n_missing = sum(n for _, _, n, _ in rows)
    return section(f"Without an answer: {n_missing:,} of {plural(findings.n_cells, 'cell')}", *lines)
