"""A run of a pipeline on the terminal, readable at 80 columns and without color."""

from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.core import wording
from tabveil.core.estimate import Estimate
from tabveil.core.wording import plural
from tabveil.render.audit.terminal import STYLES, listed_item, number, plain_table
from tabveil.render.pipeline import view as words
from tabveil.render.pipeline.view import Way
from tabveil.workflows.pipeline import AnonymizedTable, Change, PipelineReport, StageName

_SHORT: dict[StageName, str] = {
    "original": "original",
    "anonymized": "anonym.",
    "unfiltered": "unfilt.",
    "final": "final",
    "generator": "alone",
}
_NO_RATIO = "no ratio"
_UTILITY = ("discriminator", "correlation", "total_variation", "wasserstein")
"""The measures of utility that fit on a screen; the page has all of them."""
_HEADINGS = (
    ("Attacks: share of people exposed because their data were trained on", True),
    ("Indicators: diagnostics, not evidence of anonymity", False),
)


def pipeline_page(report: PipelineReport) -> RenderableType:
    """Lay out a run: the verdict on its rows, every number stage by stage, what is promised and kept."""
    verdict = report.verdict
    state, _, rest = verdict.sentence.partition(": ")
    parts: list[RenderableType] = [
        *([Text(report.title, style="bold")] if report.title else []),
        Text(f"tabveil {report.version}, seed {report.seed}", style="dim"),
        Text(),
        Text.assemble((state.upper(), STYLES[verdict.state]), f" (final rows): {rest}"),
        Text(),
        _stages(report),
        *_steps(report),
    ]
    ways = words.risks(report)
    for heading, judged in _HEADINGS:
        chosen = [way for way in ways if way.judged == judged]
        if chosen:
            parts += [Text(), Text(heading, style="bold"), Text(), _table(report, chosen, "metric")]
    useful = [way for way in words.utilities(report) if way.key in _UTILITY]
    if useful:
        parts += [Text(), Text("Utility: how far from real rows", style="bold"), Text()]
        parts.append(_table(report, useful, "measure"))
    reading = words.READING if report.has_generator else words.NO_GENERATOR
    parts += [Text(), Text(f"Alone: the generator on the original rows. {reading}", style="dim")]
    parts += _anonymized(report.anonymized)
    parts += [Text(), Text("What is promised", style="bold"), *map(listed_item, report.promises.sentences())]
    parts += [Text(), Text("What a stored model holds", style="bold")]
    parts += map(listed_item, map(wording.begin, report.kept))
    for title, items in (("Not computed", list(words.omitted(report))), ("Notes", words.notes(report))):
        parts += [Text(), Text(title, style="bold"), *map(listed_item, items)] if items else []
    return Group(*parts)


def _stages(report: PipelineReport) -> Table:
    table = plain_table("stage")
    table.add_column("rows", justify="right", no_wrap=True)
    table.add_column("verdict, if it were released", no_wrap=True)
    for stage in report.stages:
        state = stage.report.verdict.state
        table.add_row(stage.title, f"{stage.n_rows:,}", Text(state, style=STYLES[state]))
    return table


def _steps(report: PipelineReport) -> list[RenderableType]:
    """Say what was done before and after the generator, and what to know about it."""
    if not report.steps:
        return []
    told = [f"{step.title}: {' '.join(step.sentences)}" for step in report.steps]
    told += [words.COST] if report.has_filter else []
    told += words.warnings(report)
    return [Text(), Text("Steps around the generator", style="bold"), *map(listed_item, told)]


def _table(report: PipelineReport, ways: Sequence[Way], first: str) -> Table:
    table = plain_table(first)
    for stage in report.stages:
        table.add_column(_SHORT[stage.name], justify="right", no_wrap=True)
    if report.has_generator:
        table.add_column("change and interval", no_wrap=True)
    for way in ways:
        change = words.change_of(report, way)
        told = [Text(_changed(change), style="" if change and change.change else "dim")]
        table.add_row(way.title, *map(_value, way.values), *(told if report.has_generator else []))
    return table


def _changed(change: Change | None) -> str:
    """Write a change; why there is none takes more room than a line has, and stands on the page."""
    return words.changed(change, "-") if change is not None and change.change is not None else _NO_RATIO


def _value(estimate: Estimate | None) -> str:
    return "-" if estimate is None else number(estimate.value)


def _anonymized(found: AnonymizedTable | None) -> list[RenderableType]:
    if found is None:
        return []
    table = plain_table("asked for")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for item in found.confirmations:
        measured = "-" if item.measured is None else f"{item.measured:.4g}"
        kept = {True: "kept", False: "BROKEN", None: "not measured"}[item.kept]
        table.add_row(Text(item.asked), measured, Text(kept, style="" if item.kept else "bold red"))
    own = found.anonymized
    classes = plural(own.n_classes, "class", "classes")
    said = (
        f"{plural(own.n_rows, 'row')} of {found.original.n_rows:,} in {classes}, "
        f"{found.summary.n_suppressed:,} suppressed; before, the smallest class had "
        f"{plural(found.original.k, 'row')}."
    )
    if found.learned.k != own.k:
        said += (
            f" After sampling, {found.learned.n_rows:,} take part, and the smallest has {found.learned.k:,}."
        )
    return [Text(), Text("The anonymized rows", style="bold"), Text(said), Text(), table]
