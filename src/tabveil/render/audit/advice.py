"""What next, in words: what would change the verdict, from what was measured; never a promise."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tabveil.auditing.advice import Advice, LeakingColumn, LeakingRows, ReleaseChange, Remedy
from tabveil.auditing.report import Report
from tabveil.auditing.sentence import rounded_rows
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN, State, Verdict
from tabveil.core.wording import (
    joined,
    listed,
    most_people,
    name,
    number,
    people,
    plural,
    upper_percent,
    verb,
)

TITLE = "What next"
NO_PROMISE = (
    "Each change was made to a copy of this release, and attacks that were above were repeated on it with "
    "their own seeds. The same train and control rows chose a change and measured it, so what is left may "
    "look a little better than it is: audit a changed release as a release of its own. This is no promise."
)
FILTER_WARNING = (
    "A filter looks at training rows. After it, a promise of differential privacy no longer holds, and the "
    "gap that it leaves in the release tells something about the people near it."
)
REGULARIZE = (
    "Not tried, because it needs the generator, so no number is known: train it again so that it "
    "memorizes less (stop earlier, larger leaves, more dropout, fewer repeated rows)."
)
MEMORIZED = (
    "Attacks on membership, or copies, show that the generator remembers people. Two changes are reported to "
    "make generators remember less, and were not tried here either: a smaller model, and more different rows "
    "to learn from (further people, or rows that were changed a little; the same rows again do not help)."
)
MAKE_PRIVATE = (
    "Not tried, for the same reason: train a generator that promises differential privacy, and audit its "
    "release."
)
IN_BRIEF = (
    "Highest attack: the highest upper bound of those that were repeated. Utility lost: by how much the mean "
    f"total variation of columns against real rows grew. {NO_PROMISE}"
)
UTILITY = "Mean total variation of columns against real rows, which is 0 where they are distributed alike"


@dataclass(frozen=True, kw_only=True)
class RemedyRow:
    """One change that was tried, as it is shown."""

    title: str
    summary: str
    remedy: Remedy

    def lost(self, minus: str) -> str:
        """Write what it costs in utility."""
        if self.remedy.lost is None and self.remedy.utility is not None:
            return "a column"
        return number(self.remedy.lost, minus)


@dataclass(frozen=True, kw_only=True)
class NextSteps:
    """All that the section says: first what is known of the leak, then what was tried, then what was not."""

    evidence: tuple[str, ...]
    columns: tuple[LeakingColumn, ...]
    remedies: tuple[RemedyRow, ...]
    further: tuple[str, ...]


def next_steps(report: Report) -> NextSteps | None:
    """Put the advice into words; None where there is none."""
    advice = report.advice
    if advice is None:
        return None
    columns = advice.columns
    evidence = [] if advice.rows is None else [_rows(advice.rows, report.a_row)]
    if columns:
        named = listed([item.column for item in columns])
        evidence.append(f"Columns that carry most of the leak, the first one most: {named}.")
    if advice.groups:
        told = [
            f"{name(item.column)} = {name(item.label)} ({item.people:,} training people; because of the "
            f"release {people(item.gain)} of 100 are exposed, of all others {people(item.gain_elsewhere)})"
            for item in advice.groups
        ]
        evidence.append(f"People with these values are exposed most: {'; '.join(told)}.")
    return NextSteps(
        evidence=tuple(evidence),
        columns=columns,
        remedies=tuple(
            _tried(item, report.counted, linked=report.linked is not None) for item in advice.remedies
        ),
        further=tuple(_further(report, advice)),
    )


@dataclass(frozen=True, kw_only=True)
class ToDo:
    """What the part to sign says is to be done: one sentence, and what it rests on."""

    first: str
    lines: tuple[str, ...] = ()


MOST_TRIED = 3
_FIRST: Mapping[State, str] = {
    ABOVE: "Do not release this table under this policy.",
    INCONCLUSIVE: "Do not take this for a yes: the audit could not tell.",
    WITHIN: "Read what was not tested, then decide.",
}
_ALONE: Mapping[State, str] = {
    ABOVE: "Change the generator or its data, make a new release, and audit that one.",
    INCONCLUSIVE: "Do what the reason in the verdict asks for, and audit again.",
    WITHIN: "Ask whether this recipient could hold more data than the attacks were given.",
}


def to_do(report: Report) -> ToDo:
    """Say in a few lines what follows from the verdict; the annex has the numbers."""
    state, found = report.verdict.state, next_steps(report)
    lines = [_ALONE[state]]
    if found is not None:
        lines += [*found.evidence, *map(_tried_in_brief, found.remedies[:MOST_TRIED])]
        if report.advice is not None:
            lines += _open(report, report.advice)
    if state == WITHIN:
        lines.append("Ask which other releases were made from the same people: their risks add up.")
    return ToDo(first=_FIRST[state], lines=tuple(lines))


def highest_before(found: NextSteps) -> float | None:
    """Return the highest bound before any change, of all attacks that were repeated: one for all changes."""
    attacks = [item for row in found.remedies for item in row.remedy.attacks]
    worst = max(attacks, key=lambda item: item.before.high / item.threshold, default=None)
    return None if worst is None else worst.before.high


def _tried_in_brief(row: RemedyRow) -> str:
    worst = row.remedy.worst
    left = (
        ""
        if worst is None or worst.after is None
        else f", at most {most_people(worst.after.high)} of 100 people"
    )
    return f"Tried on a copy: {row.title}. After it: {row.remedy.state}{left}."


def _rows(rows: LeakingRows, a_row: tuple[str, str]) -> str:
    """Say how many rows and people there are to look for; nobody is shown."""
    told = []
    if rows.equal:
        equal = verb(rows.equal, "equals", "equal")
        told.append(f"{plural(rows.equal, *a_row)} of the release {equal} a training {a_row[0]}")
    if rows.near:
        form = "more {}" if rows.equal else "{} of the release"
        which = [form.format(called) for called in a_row]
        to = "one" if rows.equal else f"a training {a_row[0]}"
        lie = verb(rows.near, "lies", "lie")
        told.append(f"{plural(rows.near, *which)} {lie} nearer to {to} than fresh {a_row[1]} do")
    if not told:
        told.append(
            f"No {a_row[0]} of the release is a copy or nearly one: the leak is spread over many {a_row[1]}"
        )
    found = joined(told) + f" (by chance about {rows.expected + rows.near_expected:,.0f})" * bool(
        rows.equal or rows.near
    )
    if rows.people is not None:
        found += (
            f"; the strongest attack exposes about {rows.people:,} of "
            f"{plural(rows.n_train, 'training person', 'training people')}"
        )
    return f"{found}."


def _title(change: ReleaseChange, remedy: Remedy, *, linked: bool) -> str:
    column = name(change.column or "")
    match change.kind:
        case "filter" if linked:  # which no command does by itself
            return f"drop {plural(remedy.rows_changed, 'person', 'people')} too near to training people"
        case "filter":
            told = f"drop {plural(remedy.rows_changed, 'row')} too near to training rows"
            return f"{told} (tabveil filter --near {change.share:g})"
        case "coarsen":
            return f"coarsen {column} to {plural(change.levels or 0, 'value')}"
        case "merge":
            return f"merge rare labels of {column} ({plural(change.levels or 0, 'label')} left)"
        case "leave out":
            return f"leave out {column}"


def _tried(remedy: Remedy, counted: str, *, linked: bool) -> RemedyRow:
    repeated = "All attacks that were above were" if remedy.all_repeated else "One attack a risk was"
    told = [f"{repeated} repeated."]
    above = [item.title for item in remedy.attacks if item.state == ABOVE]
    unsure = [item.title for item in remedy.attacks if item.state == INCONCLUSIVE and not item.settled]
    if remedy.state == WITHIN:
        told.append("What they measure lies within the thresholds.")
    elif remedy.state == INCONCLUSIVE:
        told.append("No leak is seen any more, which is neither a yes nor a no.")
    if above:
        told.append(f"Still above: {joined(above)}.")
    if unsure:
        told.append(f"Inconclusive: {joined(unsure)}.")
    if rows := max((item.rows_needed or 0 for item in remedy.attacks), default=0):
        told.append(f"About {rounded_rows(rows):,} control {counted} would probably be enough to decide.")
    if remedy.copies is not None and remedy.copies.state != WITHIN:
        most = upper_percent(remedy.copies.after)
        told.append(f"Copies and near copies: {remedy.copies.state}, up to {most} of the rows.")
    return RemedyRow(
        title=_title(remedy.change, remedy, linked=linked), summary=" ".join(told), remedy=remedy
    )


def _further(report: Report, advice: Advice) -> Iterator[str]:
    if any(item.change.kind == "filter" for item in advice.remedies):
        yield FILTER_WARNING
    if report.verdict.state == ABOVE:
        yield REGULARIZE
        if _remembers(report.verdict):
            yield MEMORIZED
        yield MAKE_PRIVATE
    if advice.not_repeated:
        yield f"Above, and not repeated because networks would be trained: {joined(advice.not_repeated)}."
    yield from _open(report, advice)


def _remembers(verdict: Verdict) -> bool:
    """Whether a leak was seen that comes of rows being remembered: who was in train, or copies of rows."""
    members = (item for risk in verdict.risks if risk.risk == "membership" for item in risk.metrics)
    copied = verdict.copies is not None and verdict.copies.leak_seen
    return copied or any(item.leak_seen for item in members)


def _open(report: Report, advice: Advice) -> Iterator[str]:
    """Say what else keeps a verdict from being given: rows that are missing, other obstacles."""
    if (rows := advice.more_rows) is not None:
        needed, counted = rounded_rows(rows.control), report.counted
        missing = f"{max(needed - rows.n_control, 0):,} more than there are"
        both = f", and as many training {counted}," if rows.train is not None else ""
        yield (
            f"About {needed:,} control {counted} ({missing}){both} would probably be enough to decide what "
            f"is open: {listed(rows.titles)}. This holds if the measured values are the true ones."
        )
    yield from advice.obstacles
