"""What somebody who owns the generator finds out, on a terminal of 80 columns."""

from rich.console import Group, RenderableType
from rich.text import Text

from tabveil.core.wording import level
from tabveil.render.black_box.view import AttackRows, GeneratorAccess
from tabveil.render.console import interval, number, plain_table, section, value

MOST_TARGETS = 10
"""Targets that are listed, the most exposed first; JSON and page have all."""

_READING = (
    "AUC: how often a release with the target scores higher than one without; 0.5 is a coin, 1 is certain. "
    "“at 1%”: the share of releases with the target that are told where 1% of those without are mistaken. "
    "“told”: beyond chance, at a level that counts in how many targets were tried. The intervals are about "
    "these targets, whom other targets may exceed. Rank 1 is the row that is farthest from all others."
)


def access_text(found: GeneratorAccess) -> RenderableType:
    """Lay out what was found."""
    parts: list[RenderableType] = [Text(found.sentence)]
    if found.settings:
        parts.append(Text(f"Settings: {found.settings}.", style="dim"))
    for item in found.attacks:
        parts += _attack(item, found.confidence)
    parts += [Text(), Text(_READING, style="dim")]
    if found.notes:
        parts += [Text(), *(Text(f"- {note}") for note in found.notes)]
    return Group(*parts)


def _attack(item: AttackRows, confidence: float) -> list[RenderableType]:
    columns = [item.measured, f"{level(confidence)} interval"]
    read = [
        rate
        for place, (rate, _) in enumerate(item.groups[0].readings)
        if any(row.readings[place][1] is not None for row in item.groups)
    ]
    groups = plain_table("targets", *columns, *(f"at {rate}" for rate in read), "told")
    for row in item.groups:
        rates = [value(found) for rate, found in row.readings if rate in read]
        groups.add_row(row.label, value(row.found), interval(row.found), *rates, row.seen)
    single = plain_table("the most exposed", "vulnerability rank", *columns, "told")
    for target in item.targets[:MOST_TARGETS]:
        single.add_row(
            target.label, target.rank, number(target.found.value), interval(target.found), target.told
        )
    heading = f"{item.title} (chance: {item.chance})"
    return section(heading, Text(item.question), Text(item.sentence), Text(), groups, Text(), single)
