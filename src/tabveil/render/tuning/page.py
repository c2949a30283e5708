"""The page of a search: the best trade-offs, the configuration to take, and its check."""

import datetime as dt

from tabveil.render.html import laid_out
from tabveil.render.tuning import view
from tabveil.workflows.tuning.tradeoffs import SearchFindings

TITLE = "Settings of a generator, searched"
MOST_ROWS = 500
"""Configurations in the table of all; the JSON report has every one."""


def page(tuned: SearchFindings, *, title: str = "", made: dt.date | None = None) -> str:
    """Lay out what a search found; ``title`` stands in the place of its own."""
    chosen = None if tuned.choice is None else tuned.of(tuned.choice.number)
    return laid_out(
        "tuning.html.j2",
        title,
        tuned.asked.title,
        kind=TITLE,
        made=made,
        tuned=tuned,
        asked=tuned.asked,
        rows=tuned.rows,
        best=[tuned.of(number) for number in tuned.front],
        listed=sorted(
            (item for item in tuned.tried if item.score is not None),
            key=lambda item: (item.score.privacy, item.score.loss) if item.score else (0.0, 0.0),
        )[:MOST_ROWS],
        chosen=chosen,
        written=None if chosen is None else view.as_file(tuned, chosen),
        chart=view.chart(tuned),
        reasons=view.reasons(tuned.failed),
        words=view,
    )
