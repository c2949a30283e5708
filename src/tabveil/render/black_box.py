"""What somebody who owns the generator finds out: in words and rows, and on a terminal of 80 columns.

People stand here as numbers, with their rank among the most vulnerable; nobody's values are known.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group, RenderableType
from rich.text import Text

from tabveil.auditing.report import Report
from tabveil.core import wording
from tabveil.core.estimate import Estimate
from tabveil.core.wording import level, name, percent, plural
from tabveil.metrics.black_box import Attacked, GroupRisk, ShadowResult
from tabveil.render.console import interval, number, plain_table, section, value

TITLE = "Access to the generator"
NO_VERDICT = "No verdict rests on it: thresholds are for what one release reveals."
OTHER_DATA = (
    "It was found with other rows than those of this audit's train table: what it says may not hold for them."
)
GAMES: Mapping[str, str] = {
    "fixed": "all fits learned from one table, but for the targets",
    "redrawn": "every fit learned from other people, but for the targets",
}
GROUPS: Mapping[str, str] = {"vulnerable": "the most vulnerable", "random": "at random"}
MOST_TARGETS = 10
"""Targets that are listed, the most exposed first; JSON and page have all."""

_LEGEND: Mapping[str, str] = {
    "AUC": (
        "of two releases, one with the target and one without, how often the attacker says rightly which is "
        "which; 0.5 is guessing, 1 is always"
    ),
    "guessed right": "how often the attacker guesses the value of the target's secret",
    "told": "beyond chance; the more targets are tried, the more it takes",
    "vulnerability rank": "1 is the row that is farthest from all others",
}
"""What the headings of the tables mean; only those that are shown are explained."""
_OTHERS = "The intervals are about these targets. Other people may be more exposed than they are."


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """The targets of a group together."""

    label: str
    found: Estimate
    readings: tuple[tuple[str, Estimate | None], ...]
    seen: str


@dataclass(frozen=True, kw_only=True)
class TargetRow:
    """One target; ``told`` says whether it was told apart beyond chance."""

    label: str
    rank: str
    group: str
    found: Estimate
    told: str


@dataclass(frozen=True, kw_only=True)
class AttackRows:
    """One attack: what was asked, what was found of all, and of each."""

    title: str
    question: str
    measured: str  # what the numbers are
    chance: str
    sentence: str
    groups: tuple[GroupRow, ...]
    targets: tuple[TargetRow, ...]  # the most exposed first


@dataclass(frozen=True, kw_only=True)
class GeneratorAccess:
    """What is said about access to the generator."""

    sentence: str
    settings: str
    attacks: tuple[AttackRows, ...]
    notes: tuple[str, ...]
    confidence: float


def shown(found: ShadowResult, *, train: str | None = None) -> GeneratorAccess:
    """Put a result into words; ``train`` is the digest of the rows of an audit that it stands in."""
    other = train is not None and train != found.data.sha256
    return GeneratorAccess(
        sentence=(
            f"The generator {name(found.generator)} was fitted {plural(found.n_fits, 'time')} on "
            f"{found.n_rows:,} rows, each time with other targets among them; {GAMES[found.game]}. "
            f"{plural(found.n_drawn, 'row')} {'was' if found.n_drawn == 1 else 'were'} drawn from each. An "
            "attacker learned from half of the releases, and was tried on the other half."
        ),
        settings="; ".join(
            f"{name(str(key))} {wording.setting(value)}"
            for key, value in found.settings.items()
            if value is not None
        ),
        attacks=tuple(_attack(item, found) for item in found.attacks),
        notes=(*((OTHER_DATA,) if other else ()), *found.notes),
        confidence=found.confidence,
    )


def of_report(report: Report) -> GeneratorAccess | None:
    """Return what a report says about access to the generator, if it does."""
    if report.shadow is None:
        return None
    train = report.inputs.get("train")
    return shown(report.shadow, train=None if train is None else train.sha256)


def _attack(item: Attacked, found: ShadowResult) -> AttackRows:
    guesses = item.secret is not None
    n_told = f"{item.n_seen:,} of {plural(len(item.targets), 'target')}"
    told = (
        f"The secret of {n_told} was guessed right"
        if guesses
        else f"Whether they were in was told of {n_told}"
    )
    return AttackRows(
        title=f"Inference of {name(item.secret)}" if item.secret is not None else "Membership",
        question=(
            f"Which of {item.n_values} values did the target have, drawn at random for each fit?"
            if guesses
            else "Was the target among the rows that the generator learned from?"
        ),
        measured="guessed right" if guesses else "AUC",
        chance=percent(item.chance) if guesses else f"{item.chance:g}",
        sentence=f"{told} beyond chance, at a level that counts in how many were tried.",
        groups=tuple(_group(group, item) for group in item.groups),
        targets=tuple(
            TargetRow(
                label=f"target {target.number:,}",
                rank=f"{target.rank:,} of {found.data.rows:,}",
                group=GROUPS[target.group],
                found=target.found,
                told="yes" if target.seen else "no",
            )
            for target in sorted(item.targets, key=lambda target: -target.found.low)
        ),
    )


def _group(group: GroupRisk, item: Attacked) -> GroupRow:
    mine = [target for target in item.targets if target.group == group.group]
    return GroupRow(
        label=f"{group.n_targets:,} {GROUPS[group.group]}",
        found=group.found,
        readings=tuple((level(each.false_positives), each.true_positives) for each in group.readings),
        seen=f"{sum(target.seen for target in mine):,} of {len(mine):,}",
    )


def access_text(found: GeneratorAccess) -> RenderableType:
    """Lay out what was found."""
    parts: list[RenderableType] = [Text(found.sentence)]
    if found.settings:
        parts.append(Text(f"Settings: {found.settings}.", style="dim"))
    for item in found.attacks:
        parts += _attack_text(item, found.confidence)
    parts += [Text(), *(Text(line, style="dim") for line in _legend(found.attacks))]
    if found.notes:
        parts += [Text(), *(Text(f"- {note}") for note in found.notes)]
    return Group(*parts)


def _legend(attacks: Sequence[AttackRows]) -> Iterator[str]:
    """Explain each heading that is shown, in a line of its own."""
    shown = {"told", *(item.measured for item in attacks)}
    if any(item.targets for item in attacks):
        shown.add("vulnerability rank")
    for heading, meaning in _LEGEND.items():
        if heading in shown:
            yield f"{heading}: {meaning}."
    for rate in dict.fromkeys(rate for item in attacks for rate in _rates(item)):
        yield (
            f"at {rate}: the share of releases with the target that are found, where {rate} of the releases "
            "without the target are wrongly taken for ones with it."
        )
    yield _OTHERS


def _rates(item: AttackRows) -> list[str]:
    """Return the rates of false alarms that some group has an answer at."""
    return [
        rate
        for place, (rate, _) in enumerate(item.groups[0].readings)
        if any(row.readings[place][1] is not None for row in item.groups)
    ]


def _attack_text(item: AttackRows, confidence: float) -> list[RenderableType]:
    columns = [item.measured, f"{level(confidence)} interval"]
    read = _rates(item)
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
