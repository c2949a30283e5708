"""What somebody who owns the generator finds out, on a terminal of 80 columns."""

from functools import partial

from rich import box
from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tabveil.core import wording
from tabveil.core.estimate import Estimate
from tabveil.core.wording import level
from tabveil.render.black_box.view import Shown, ShownAttack

MOST_TARGETS = 10
"""Targets that are listed, the most exposed first; JSON and page have all."""

_number = partial(wording.number, minus="-")
_READING = (
    "AUC: how often a release with the target scores higher than one without; 0.5 is a coin, 1 is certain. "
    "“at 1%”: the share of releases with the target that are told where 1% of those without are mistaken. "
    "“told”: beyond chance, at a level that counts in how many targets were tried. The intervals are about "
    "these targets, whom other targets may exceed. Rank 1 is the row that is farthest from all others."
)


def shadow_text(found: Shown) -> RenderableType:
    """Lay out what was found."""
    parts: list[RenderableType] = [Text(found.sentence)]
    if found.settings:
        parts.append(Text(f"Settings: {found.settings}.", style="dim"))
    for item in found.attacks:
        parts += [Text(), *_attack(item, found.confidence)]
    parts += [Text(), Text(_READING, style="dim")]
    if found.notes:
        parts += [Text(), *(Padding(Text(f"- {note}"), (0, 0, 0, 0)) for note in found.notes)]
    return Group(*parts)


def _attack(item: ShownAttack, confidence: float) -> list[RenderableType]:
    groups = _table("targets")
    columns = [item.measured, f"{level(confidence)} interval"]
    read = [
        rate
        for place, (rate, _) in enumerate(item.groups[0].readings)
        if any(row.readings[place][1] is not None for row in item.groups)
    ]
    for heading in (*columns, *(f"at {rate}" for rate in read), "told"):
        groups.add_column(heading, justify="right", no_wrap=True)
    for row in item.groups:
        rates = [
            "" if found is None else _number(found.value) for rate, found in row.readings if rate in read
        ]
        groups.add_row(row.label, _number(row.found.value), _interval(row.found), *rates, row.seen)
    single = _table("the most exposed")
    for heading in ("vulnerability rank", *columns, "told"):
        single.add_column(heading, justify="right", no_wrap=True)
    for target in item.targets[:MOST_TARGETS]:
        single.add_row(
            target.label, target.rank, _number(target.found.value), _interval(target.found), target.told
        )
    return [
        Text(f"{item.title} (chance: {item.chance})", style="bold"),
        Text(item.question),
        Text(item.sentence),
        Text(),
        groups,
        Text(),
        single,
    ]


def _interval(estimate: Estimate) -> str:
    return f"{wording.lower(estimate.low, '-')} to {wording.upper(estimate.high, '-')}"


def _table(first: str) -> Table:
    table = Table(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold"
    )
    table.add_column(first, overflow="fold")
    return table
