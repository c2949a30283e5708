"""The page of a search: the best trade-offs, the configuration to take, and its check, as one HTML file.

Of the same house as the audit's page: no script, nothing loaded, every text from outside escaped.
"""

import datetime as dt

from markupsafe import Markup

from tabveil.render import svg
from tabveil.render.audit.page import dated, environment, heading, style_sheet
from tabveil.render.tuning import view as words
from tabveil.workflows.tuning.tradeoffs import Tuned

TITLE = "Settings of a generator, searched"
MOST_ROWS = 500
"""Configurations in the table of all; the JSON report has every one."""


def page(tuned: Tuned, *, title: str = "", made: dt.date | None = None) -> str:
    """Lay out what a search found; ``title`` stands in the place of its own."""
    shown = heading(title) or heading(tuned.asked.title) or TITLE
    chosen = None if tuned.choice is None else tuned.of(tuned.choice.number)
    return (
        environment()
        .get_template("tuning.html.j2")
        .render(
            title=shown,
            kind=TITLE,
            made=dated(made),
            style=style_sheet(shown, made),
            tuned=tuned,
            asked=tuned.asked,
            rows=tuned.rows,
            best=[tuned.of(number) for number in tuned.front],
            listed=sorted(
                (item for item in tuned.tried if item.score is not None),
                key=lambda item: (item.score.privacy, item.score.loss) if item.score else (0.0, 0.0),
            )[:MOST_ROWS],
            chosen=chosen,
            written=None if chosen is None else words.as_file(tuned, chosen),
            chart=chart(tuned),
            reasons=words.reasons(tuned.failed),
            words=words,
        )
    )


def chart(tuned: Tuned) -> Markup:
    """Draw all configurations, those that no other beats, and the chosen one with its check."""
    best = set(tuned.front)
    points = [
        svg.TradeOff(
            number=item.number,
            x=item.score.loss,
            y=item.score.privacy,
            best=item.number in best,
            within=item.within,
        )
        for item in tuned.tried
        if item.score is not None
    ]
    score = None if tuned.check is None else tuned.check.score
    chosen = None
    if tuned.choice is not None:
        chosen = svg.Checked(
            number=tuned.choice.number,
            x=None if score is None else score.loss,
            y=None if score is None else score.privacy,
        )
    thresholds = set(tuned.asked.thresholds.values())
    judged = tuned.asked.by == "upper" and len(thresholds) == 1
    return svg.front(
        points,
        chosen=chosen,
        threshold=thresholds.pop() if judged else None,
        x_title=f"loss: {words.loss_title(tuned)}",
        y_title=f"risk: {words.risk_title(tuned)}",
    )
