"""The page of a benchmark: what each metric sees of a risk that is known."""

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

from tabveil.render.benchmark import view
from tabveil.render.html import laid_out
from tabveil.workflows.benchmark.findings import Findings
from tabveil.workflows.benchmark.scorecards import POWER

TITLE = "Privacy metrics, judged by a risk that is known"
LARGEST_PAGE = 1_000_000
"""Bytes: of a study that would need more, fewer curves are drawn, and then fewer risks are shown."""

_MOST_CURVES = 300
"""So many would fill a page by themselves: there is no use in trying to draw more."""


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
