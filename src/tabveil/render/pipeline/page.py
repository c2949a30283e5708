"""The page of a pipeline: where on its way a table loses its risk, what that costs, and what is promised.

It shows counts, risks and names of columns, and no value of anybody.
"""

import datetime as dt

from tabveil.auditing.comparing import compare
from tabveil.metrics.properties import WEAKNESSES
from tabveil.render.comparison.page import points
from tabveil.render.html import laid_out
from tabveil.render.pipeline import view
from tabveil.render.svg import state_key
from tabveil.synthesis.generators.privacy import WARNING
from tabveil.workflows.pipeline import PipelineReport

TITLE = "A hybrid pipeline, audited stage by stage"


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
