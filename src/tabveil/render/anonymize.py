"""The page of an anonymization: what was promised and measured, what was lost, and the way to it.

It shows counts, levels and losses, and no value of anybody.
"""

import datetime as dt
from collections.abc import Mapping

from tabveil.core.wording import number
from tabveil.metrics.properties import Properties
from tabveil.render.html import laid_out
from tabveil.synthesis.anonymize.releasing import Summary

TITLE = "A table, generalized"
MOST_STEPS = 40
"""Of the way through the lattice, the last so many steps are shown."""


def page(
    summary: Summary,
    measured: Properties,
    weaknesses: Mapping[str, str],
    *,
    title: str = "",
    made: dt.date | None = None,
) -> str:
    """Lay out what came of anonymizing a table; ``weaknesses`` are those of k, l and t."""
    return laid_out(
        "anonymize.html.j2",
        title,
        kind=TITLE,
        made=made,
        summary=summary,
        measured=measured,
        weaknesses=weaknesses,
        steps=summary.way[-MOST_STEPS:],
        n_left_out=max(len(summary.way) - MOST_STEPS, 0),
        loss=lambda value: number(value) if value <= 1 else f"{value:,.1f}",
    )
