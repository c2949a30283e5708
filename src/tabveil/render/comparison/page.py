"""The page of several audits: what each release risks and keeps, those of most concern first."""

import datetime as dt
from collections.abc import Mapping, Sequence

from tabveil.auditing.comparing import FIGURES, ComparedRelease, compare, warnings
from tabveil.auditing.report import Report
from tabveil.render.html import laid_out
from tabveil.render.svg import ReleasePoint, state_key

KIND = "Privacy audits of synthetic tables"
MOST_POINTS = 20


def page(
    reports: Mapping[str, Report], *, title: str = "Releases compared", made: dt.date | None = None
) -> str:
    """Set several reports side by side, those of most concern first."""
    compared = compare(reports)
    return laid_out(
        "comparison.html.j2",
        title,
        kind=KIND,
        made=made,
        compared=compared,
        points=points(compared)[:MOST_POINTS],
        warnings=warnings(reports),
        FIGURES=FIGURES,
    )


def points(rows: Sequence[ComparedRelease]) -> list[ReleasePoint]:
    """Return what the chart of risk against lost utility can show, by its number in this order."""
    return [
        ReleasePoint(
            number=number,
            label=row.name,
            x=row.loss,
            y=row.largest,
            state=state_key(row.report.verdict.state),
        )
        for number, row in enumerate(rows, start=1)
        if row.loss is not None and row.largest is not None
    ]
