"""A run of a pipeline, as a page and on a terminal: where a table loses its risk, the price, the promises.

Counts, risks and names of columns are shown, and no value of anybody.
"""

import datetime as dt
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from tabveil.auditing.comparing import compare
from tabveil.core import wording
from tabveil.core.wording import plural
from tabveil.metrics.properties import WEAKNESSES
from tabveil.render.audit.terminal import lead
from tabveil.render.comparison.side_by_side import points
from tabveil.render.console import listed_item, plain_table, section, state_text, value
from tabveil.render.html import laid_out
from tabveil.render.pipeline import view
from tabveil.render.svg import state_key
from tabveil.synthesis.generators.privacy import WARNING
from tabveil.workflows.pipeline import AnonymizedTable, PipelineReport, StageName

TITLE = "A hybrid pipeline, audited stage by stage"
_SHORT: dict[StageName, str] = {
    "original": "original",
    "perturbed": "perturb.",
    "anonymized": "anonym.",
    "unfiltered": "unfilt.",
    "final": "final",
    "generator": "alone",
}
_UTILITY = ("discriminator", "correlation", "total_variation", "wasserstein")
"""The measures of utility that fit on a screen; the page has all of them."""
_HEADINGS = (
    ("Attacks: share of people exposed because their data were trained on", True),
    ("Indicators: diagnostics, not evidence of anonymity", False),
)


def page(report: PipelineReport, *, title: str = "", made: dt.date | None = None) -> str:
    """Lay out one run of a pipeline; ``title`` stands in the place of the report's own."""
    compared = {row.name: row for row in compare({s.title: s.report for s in report.stages})}
    rows = [compared[stage.title] for stage in report.stages]  # in their order, not in that of concern
    ways = view.risks(report)
    return laid_out(
        "pipeline.html.j2",
        title,
        report.title,
        kind=TITLE,
        made=made,
        report=report,
        verdict=report.verdict,
        state=state_key(report.verdict.state),
        confidence=report["final"].policy.confidence,
        rows=list(zip(report.stages, rows, strict=True)),
        points=points(rows),
        ways={
            "attacks": [way for way in ways if way.judged],
            "indicators": [way for way in ways if not way.judged],
        },
        words=view,
        WARNING=WARNING,
        weaknesses=WEAKNESSES,
    )


def summary(report: PipelineReport) -> RenderableType:
    """Lay out a run: the verdict on its rows, every number stage by stage, what is promised and kept."""
    stages = plain_table("stage", "rows")
    stages.add_column("verdict, if it were released", no_wrap=True)
    for stage in report.stages:
        stages.add_row(stage.title, f"{stage.n_rows:,}", state_text(stage.report.verdict.state))
    parts: list[RenderableType] = [
        *([Text(report.title, style="bold")] if report.title else []),
        Text(f"tabveil {report.version}, seed {view.seed(report)}", style="dim"),
        Text(),
        lead(report.verdict, " (final rows)"),
        Text(),
        stages,
    ]
    if report.steps:
        told = [f"{step.title}: {' '.join(step.sentences)}" for step in report.steps]
        told += [view.COST] if report.has_filter else []
        told += view.warnings(report)
        parts += section("Steps around the generator", *map(listed_item, told))
    ways = view.risks(report)
    for heading, judged in _HEADINGS:
        chosen = [way for way in ways if way.judged == judged]
        if chosen:
            parts += section(heading, Text(), _table(report, chosen, "metric"))
    useful = [way for way in view.utilities(report) if way.key in _UTILITY]
    if useful:
        parts += section("Utility: how far from real rows", Text(), _table(report, useful, "measure"))
    reading = view.READING if report.has_generator else view.NO_GENERATOR
    parts += [Text(), Text(f"Alone: the generator on the original rows. {reading}", style="dim")]
    parts += _anonymized(report.anonymized)
    parts += section("What is promised", *map(listed_item, report.promised))
    held = map(wording.begin, report.kept)
    parts += section("What a stored model holds", *map(listed_item, held))
    for title, items in (("Not computed", view.omitted(report)), ("Notes", view.notes(report))):
        parts += section(title, *map(listed_item, items)) if items else []
    return Group(*parts)


def _table(report: PipelineReport, ways: Sequence[view.Way], first: str) -> Table:
    table = plain_table(first, *(_SHORT[stage.name] for stage in report.stages))
    if report.has_generator:
        table.add_column("change and interval", no_wrap=True)
    for way in ways:
        told = []
        if report.has_generator:  # why there is no ratio takes more room than a line has: the page says it
            change = view.change_of(report, way)
            known = change is not None and change.change is not None
            told = [Text(view.changed(change, "-") if known else "no ratio", style="" if known else "dim")]
        table.add_row(way.title, *(value(item, "-") for item in way.values), *told)
    return table


def _anonymized(found: AnonymizedTable | None) -> list[RenderableType]:
    if found is None:
        return []
    table = plain_table("asked for", "measured")
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
    return section("The anonymized rows", Text(said), Text(), table)
