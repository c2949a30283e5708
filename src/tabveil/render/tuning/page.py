"""What a search found, as a page and on a terminal: the best trade-offs, what to take, and its check."""

import datetime as dt
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tabveil.core import wording
from tabveil.render.console import number, plain_table, reasons_listed, section
from tabveil.render.html import laid_out
from tabveil.render.tuning import view
from tabveil.workflows.tuning.tradeoffs import SearchFindings

TITLE = "Settings of a generator, searched"
MOST_ROWS = 500
"""Configurations in the table of all; the JSON report has every one."""

_MOST_FRONT = 20


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


def summary(tuned: SearchFindings) -> RenderableType:
    """Lay out the best trade-offs, the configuration to take, its check, and what failed."""
    asked = tuned.asked
    parts: list[RenderableType] = [Text(asked.title, style="bold")] if asked.title else []
    parts += [
        Text(f"tabveil {asked.version}, seed {asked.seed}", style="dim"),
        Text(view.search(tuned)),
        Text(),
    ]
    if tuned.front:
        numbers = f"risk: {view.risk_title(tuned)}. loss: {view.loss_title(tuned)}."
        parts += [
            Text("The best trade-offs: no other is better in both", style="bold"),
            _front(tuned),
            Text(f"{numbers} *: within every threshold.", style="dim"),
            Text(),
        ]
    parts.append(Text(view.choice(tuned), style="bold"))
    parts += _choice(tuned)
    if found := view.reasons(tuned.failed):
        parts += section(
            f"Without numbers: {wording.plural(len(tuned.failed), 'configuration')}",
            *reasons_listed(
                [
                    f"{view.numbers(which)}: {wording.clean(why, wording.LONGEST_BRIEF)}"
                    for why, which in found
                ]
            ),
        )
    parts += [Text(), *(Text(line, style="dim") for line in view.cautions(tuned))]
    return Group(*parts)


def _front(tuned: SearchFindings) -> Table:
    table = Table.grid(padding=(0, 2))
    for justify in ("right", "right", "right", "left", "left"):
        table.add_column(justify=justify, overflow="fold")
    table.add_row(*(Text(head, style="bold") for head in ("no", "risk", "loss", "", "settings")))
    chosen = tuned.choice.number if tuned.choice else 0
    shown = list(tuned.front[:_MOST_FRONT])
    for number_of in [*shown, *([chosen] if chosen and chosen not in shown else [])]:
        item = tuned.of(number_of)
        assert item.score is not None, "what is best has numbers"
        cells = (
            str(item.number),
            number(item.score.privacy),
            number(item.score.loss),
            "*" if item.within else "",
            view.told(item.point),
        )
        table.add_row(*(Text(cell, style="bold" if item.number == chosen else "") for cell in cells))
    if len(tuned.front) > _MOST_FRONT:
        table.add_row("", "", "", "", f"and {len(tuned.front) - _MOST_FRONT:,} more")
    return table


def _choice(tuned: SearchFindings) -> Iterator[RenderableType]:
    if tuned.choice is None:
        return
    chosen = tuned.of(tuned.choice.number)
    yield Padding(Text(view.as_file(tuned, chosen)), (0, 0, 0, 2))
    found = tuned.check
    if found is not None and found.score is not None and chosen.score is not None:
        table = plain_table("")
        for heading in ("search", "check", "optimism"):
            table.add_column(heading, justify="right")
        risk, loss = view.risk_title(tuned), view.loss_title(tuned)
        searched, checked = chosen.score, found.score
        for title, before, after, optimism in (
            (f"risk: {risk}", searched.privacy, checked.privacy, found.optimism_privacy),
            (f"loss: {loss}", searched.loss, checked.loss, found.optimism_loss),
        ):
            table.add_row(Text(title), number(before), number(after), view.signed(optimism, "-"))
        yield Text()
        yield table
    yield Text()
    yield Text(view.check(tuned))
