"""What next, in words: what would change the verdict, from what was measured; never a promise."""

from collections.abc import Iterator
from dataclasses import dataclass

from tabveil.auditing.advice import Advice, LeakingColumn, LeakingRows, ReleaseChange, Remedy
from tabveil.auditing.report import Report
from tabveil.auditing.sentence import rounded_rows
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN
from tabveil.core.wording import joined, listed, name, number, people, plural, upper_percent

TITLE = "What next"
NO_PROMISE = (
    "Each change was made to a copy of this release, and attacks that were above were repeated on it with "
    "their own seeds. The same train and control rows chose a change and measured it, so what is left may "
    "look a little better than it is: audit a changed release as a release of its own. This is no promise."
)
FILTER_WARNING = (
    "A filter looks at training rows. It voids a promise of differential privacy, and a hole in a release is "
    "itself a hint at who was trained on."
)
REGULARIZE = (
    "Not tried, because it needs the generator, so no number is known: train it again so that it learns "
    "less by heart (stop earlier, larger leaves, more dropout, fewer repeated rows)."
)
MAKE_PRIVATE = (
    "Not tried, for the same reason: train a generator that promises differential privacy, and audit its "
    "release."
)
IN_BRIEF = (
    "The highest attack of those that were repeated. Utility lost: by how much the mean total variation of "
    f"columns against real rows grew. {NO_PROMISE}"
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
    evidence = [] if advice.rows is None else [_rows(advice.rows)]
    if columns:
        evidence.append(
            f"Columns that carry most of it, the first one most: {listed([item.column for item in columns])}."
        )
    if advice.groups:  # with how many of 100 the leak exposes there and elsewhere
        told = [
            f"{name(item.column)} = {name(item.label)} (of {item.people:,} training people "
            f"{people(item.gain)} of 100 more than of people never seen; "
            f"elsewhere {people(item.gain_elsewhere)})"
            for item in advice.groups
        ]
        evidence.append(f"Exposed most: {'; '.join(told)}.")
    return NextSteps(
        evidence=tuple(evidence),
        columns=columns,
        remedies=tuple(_tried(item, report.counted) for item in advice.remedies),
        further=tuple(_further(report, advice)),
    )


def _rows(rows: LeakingRows) -> str:
    """Say how many rows and people there are to look for; nobody is shown."""
    told = []
    if rows.equal:
        told.append(f"{plural(rows.equal, 'row')} of the release equal a training row")
    if rows.near:
        more = "more row" if rows.equal else "row of the release"
        told.append(f"{rows.near:,} {more}{'s'[: rows.near > 1]} lie nearer to one than fresh rows do")
    if not told:
        told.append("No row of the release is a copy or nearly one: the leak is spread over many rows")
    found = joined(told) + f" (by chance about {rows.expected + rows.near_expected:,.0f})" * bool(
        rows.equal or rows.near
    )
    if rows.people is not None:
        found += f"; the strongest attack exposes about {rows.people:,} of {rows.n_train:,} training people"
    return f"{found}."


def _title(change: ReleaseChange, remedy: Remedy) -> str:
    column = name(change.column or "")
    match change.kind:
        case "filter":
            told = f"drop {plural(remedy.rows_changed, 'row')} too near to training rows"
            return f"{told} (tabveil filter --near {change.share:g})"
        case "coarsen":
            return f"coarsen {column} to {plural(change.levels or 0, 'value')}"
        case "merge":
            return f"merge rare labels of {column} ({change.levels or 0:,} labels left)"
        case "leave out":
            return f"leave out {column}"


def _tried(remedy: Remedy, counted: str) -> RemedyRow:
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
        told.append(f"About {rounded_rows(rows):,} control {counted} would settle it in most draws.")
    if remedy.copies is not None and remedy.copies.state != WITHIN:
        most = upper_percent(remedy.copies.after)
        told.append(f"Copies and near copies: {remedy.copies.state}, up to {most} of the rows.")
    return RemedyRow(title=_title(remedy.change, remedy), summary=" ".join(told), remedy=remedy)


def _further(report: Report, advice: Advice) -> Iterator[str]:
    if any(item.change.kind == "filter" for item in advice.remedies):
        yield FILTER_WARNING
    if report.verdict.state == ABOVE:
        yield from (REGULARIZE, MAKE_PRIVATE)
    if advice.not_repeated:
        yield f"Above, and not repeated because networks would be trained: {joined(advice.not_repeated)}."
    if (rows := advice.more_rows) is not None:
        needed, counted = rounded_rows(rows.control), report.counted
        both = f", and {needed:,} training {counted}," if rows.train is not None else ""
        yield (
            f"About {needed:,} control {counted}, {max(needed - rows.n_control, 0):,} more than there are"
            f"{both} would settle what is open in most draws, if what was measured is true: "
            f"{listed(rows.titles)}."
        )
    yield from advice.obstacles
