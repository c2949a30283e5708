"""What a signer asks of a verdict: at which threshold would this be within, and could it have been seen?"""

from collections.abc import Iterator
from dataclasses import dataclass

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import PositiveControl, State, Verdict
from tabveil.auditing.verdict.policy import COMMON_THRESHOLDS
from tabveil.core.wording import joined, listed, most_people, people, plural

STATES_AT = "As measured; attacks were tried with planted people at the policy's threshold only."
SHORT: dict[State, str] = {
    "within threshold": "within",
    "above threshold": "above",
    "inconclusive": "inconclusive",
}


@dataclass(frozen=True, kw_only=True)
class ThresholdRow:
    """One risk: from which threshold on it is within, and its state at those in use."""

    risk: str
    within_at: float | None
    states: tuple[State, ...]  # at each of COMMON_THRESHOLDS


def thresholds(verdict: Verdict) -> list[ThresholdRow]:
    """Return a row for each risk."""
    return [
        ThresholdRow(
            risk=item.risk,
            within_at=item.within_at,
            states=tuple(item.state_at(threshold) for threshold in COMMON_THRESHOLDS),
        )
        for item in verdict.risks
    ]


def thresholds_in_words(verdict: Verdict) -> str:
    """Say it in two sentences, for a terminal."""
    rows = thresholds(verdict)
    known = [f"{row.risk} {most_people(row.within_at)}" for row in rows if row.within_at is not None]
    told = f"Within from, as measured: {', '.join(known)} of 100 people." if known else ""
    if missing := [row.risk for row in rows if row.within_at is None]:
        told += f" At no threshold, for lack of an answer: {', '.join(missing)}."
    for place, threshold in enumerate(COMMON_THRESHOLDS):
        told += f" At {people(threshold)} of 100: {_together([row.states[place] for row in rows], rows)}."
    return told.strip()


def _together(states: list[State], rows: list[ThresholdRow]) -> str:
    if len(set(states)) == 1:
        return f"all {SHORT[states[0]]}"
    parts = []
    for state, word in SHORT.items():
        if names := [row.risk for row, found in zip(rows, states, strict=True) if found == state]:
            parts.append(f"{joined(names)} {word}")
    return ", ".join(parts)


def stable(report: Report) -> str:
    """Say how far the bounds that decide move with the seed; nothing where none was asked for again."""
    found = () if report.spread is None else report.spread.found
    told = [f"{item.risk} {most_people(item.again)} (here {most_people(item.high)})" for item in found]
    return f"With another seed the highest bounds are, of 100 people: {', '.join(told)}." if told else ""


def planted(report: Report) -> list[str]:
    """Say what the attacks saw of training people planted into this release; nothing if nobody was."""
    return list(_planted(report))


def _planted(report: Report) -> Iterator[str]:
    tried = () if report.positive is None else report.positive.tried
    for share, appended, columns in dict.fromkeys(
        (item.share, item.appended, item.columns) for item in tried
    ):
        group = [
            item for item in tried if (item.share, item.appended, item.columns) == (share, appended, columns)
        ]
        people_planted = plural(group[0].n_planted, "person", "people")
        what = f"only their {listed(columns)}" if columns else "with all of their rows"
        where = "appended to this release, which has fewer rows" if appended else "into this release"
        yield (
            f"To see whether the attacks could have seen a leak, {people(share)} of 100 training people "
            f"({people_planted}, {what}) were planted {where}: {joined([_saw(item) for item in group])}."
        )


def _saw(item: PositiveControl) -> str:
    if item.gain is None:
        return f"{item.title} gave no answer"
    told = f"{item.title} saw {people(item.gain.value)}"
    return told if item.seen else f"{told} (at most {most_people(item.gain.high)}: too little)"
