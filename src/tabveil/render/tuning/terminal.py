"""What a search found, on the terminal: readable at 80 columns and without color."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tabveil.core import wording
from tabveil.render.audit.terminal import number, plain_table
from tabveil.render.tuning import view as words
from tabveil.workflows.tuning.tradeoffs import Tried, Tuned

_MOST_FRONT = 20
_MOST_REASONS = 10


def summary(tuned: Tuned) -> RenderableType:
    """Lay out the best trade-offs, the configuration to take, its check, and what failed."""
    asked = tuned.asked
    parts: list[RenderableType] = [Text(asked.title, style="bold")] if asked.title else []
    parts += [
        Text(f"tabveil {asked.version}, seed {asked.seed}", style="dim"),
        Text(words.search(tuned)),
        Text(),
    ]
    if tuned.front:
        parts += [Text("The best trade-offs: no other is better in both", style="bold"), _front(tuned)]
        parts.append(
            Text(
                f"risk: {words.risk_title(tuned)}. loss: {words.loss_title(tuned)}. "
                "*: within every threshold.",
                style="dim",
            )
        )
        parts.append(Text())
    parts.append(Text(words.choice(tuned), style="bold"))
    parts += _choice(tuned)
    parts += _failed(tuned)
    parts += [Text(), *(Text(line, style="dim") for line in words.cautions(tuned))]
    return Group(*parts)


def _front(tuned: Tuned) -> Table:
    table = Table.grid(padding=(0, 2))
    for justify in ("right", "right", "right", "left", "left"):
        table.add_column(justify=justify, overflow="fold")
    table.add_row(*(Text(head, style="bold") for head in ("no", "risk", "loss", "", "settings")))
    chosen = tuned.choice.number if tuned.choice else 0
    shown = list(tuned.front[:_MOST_FRONT])
    for number_of in [*shown, *([chosen] if chosen and chosen not in shown else [])]:
        item = tuned.of(number_of)
        table.add_row(*_row(item, "bold" if item.number == chosen else ""))
    if len(tuned.front) > _MOST_FRONT:
        table.add_row("", "", "", "", f"and {len(tuned.front) - _MOST_FRONT:,} more")
    return table


def _row(item: Tried, style: str) -> Iterator[Text]:
    assert item.score is not None, "what is best has numbers"
    cells = (
        str(item.number),
        number(item.score.privacy),
        number(item.score.loss),
        "*" if item.within else "",
    )
    for cell in (*cells, words.told(item.point)):
        yield Text(cell, style=style)


def _choice(tuned: Tuned) -> Iterator[RenderableType]:
    if tuned.choice is None:
        return
    chosen = tuned.of(tuned.choice.number)
    yield Padding(Text(words.as_file(tuned, chosen)), (0, 0, 0, 2))
    found = tuned.check
    if found is not None and found.score is not None and chosen.score is not None:
        table = plain_table("")
        for heading in ("search", "check", "optimism"):
            table.add_column(heading, justify="right")
        for title, one, other, difference in (
            (
                f"risk: {words.risk_title(tuned)}",
                chosen.score.privacy,
                found.score.privacy,
                found.optimism_privacy,
            ),
            (f"loss: {words.loss_title(tuned)}", chosen.score.loss, found.score.loss, found.optimism_loss),
        ):
            sign = words.signed(difference).replace("−", "-")
            table.add_row(Text(title), number(one), number(other), sign)
        yield Text()
        yield table
    yield Text()
    yield Text(words.check(tuned))


def _failed(tuned: Tuned) -> Iterator[RenderableType]:
    failed = words.reasons(tuned.failed)
    if not failed:
        return
    yield Text()
    yield Text(f"Without numbers: {wording.plural(len(tuned.failed), 'configuration')}", style="bold")
    for why, which in failed[:_MOST_REASONS]:
        line = Table.grid(padding=(0, 1))
        line.add_row("", "-", Text(f"{words.numbers(which)}: {wording.clean(why, wording.LONGEST_BRIEF)}"))
        yield line
    if len(failed) > _MOST_REASONS:
        yield Text(f" - and {wording.plural(len(failed) - _MOST_REASONS, 'further reason')}")
