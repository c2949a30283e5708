"""The page of a pipeline: where on its way a table loses its risk, what that costs, and what is promised.

Of the same house as the audit's page: no script, nothing loaded, every text from outside escaped. It shows
counts, risks and names of columns, and no value of anybody.
"""

import datetime as dt
from collections.abc import Sequence

from markupsafe import Markup

from tabveil.metrics.properties import WEAKNESSES
from tabveil.render import svg
from tabveil.render.audit.evidence import state_key
from tabveil.render.audit.page import dated, environment, heading, style_sheet
from tabveil.render.comparison import view as comparison
from tabveil.render.pipeline import view as words
from tabveil.render.pipeline.view import Way
from tabveil.synthesis.generators.privacy import WARNING
from tabveil.workflows.pipeline import PipelineReport

TITLE = "A hybrid pipeline, audited stage by stage"


def page(report: PipelineReport, *, title: str = "", made: dt.date | None = None) -> str:
    """Lay out one run of a pipeline; ``title`` stands in the place of the report's own."""
    shown = heading(title) or heading(report.title) or TITLE
    ways = words.risks(report)
    compared = {row.name: row for row in comparison.compare({s.title: s.report for s in report.stages})}
    rows = [compared[stage.title] for stage in report.stages]  # in their order, not in that of concern
    points = [row.point(number) for number, row in enumerate(rows, start=1)]
    return (
        environment()
        .get_template("pipeline.html.j2")
        .render(
            title=shown,
            kind=TITLE,
            made=dated(made),
            style=style_sheet(shown, made),
            report=report,
            verdict=report.verdict,
            state=state_key(report.verdict.state),
            confidence=report["final"].policy.confidence,
            rows=list(zip(report.stages, rows, strict=True)),
            points=[point for point in points if point is not None],
            ways={
                "attacks": [way for way in ways if way.judged],
                "indicators": [way for way in ways if not way.judged],
            },
            utilities=words.utilities(report),
            charts=lambda chosen: _charts(report, chosen),
            words=words,
            WARNING=WARNING,
            weaknesses=WEAKNESSES,
            omitted=list(words.omitted(report)),
            notes=words.notes(report),
        )
    )


def _charts(report: PipelineReport, ways: Sequence[Way]) -> list[Markup]:
    """Draw a small chart for every metric, all on one scale."""
    drawn = [
        [
            svg.WayPoint(label=_place(stage.title), value=value, beside=stage.name == "generator")
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


def _place(title: str) -> str:
    """Name a stage below its mark, where there is little room."""
    return title.removeprefix("generator ")
