"""What a signer must know: who attacked, what nobody tried, from which threshold on a risk is within."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabveil.auditing.detection import PositiveControl
from tabveil.auditing.policy import COMMON_THRESHOLDS
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import RiskVerdict, State, Verdict
from tabveil.core.estimate import Estimate
from tabveil.core.result import Result, Threat
from tabveil.core.wording import (
    LONGEST_BRIEF,
    begin,
    clean,
    joined,
    level,
    listed,
    most_people,
    name,
    people,
    plural,
)
from tabveil.metrics.registry import Explanation
from tabveil.render.audit.evidence import Evidence, StateKey, question_of, skipped_title

ANYBODY = "anybody (worst case)"
GENERATOR, SEVERAL_ROWS = "Access to the generator", "Several rows of one person"
NEVER_TESTED = (
    (
        GENERATOR,
        "Somebody who can query or download the model that made the release, not only read the release.",
    ),
    (
        "Several releases combined",
        "Repeated or updated releases about the same people, compared or subtracted from each other.",
    ),
    (
        "Real outside data",
        "No register or social network was really linked; attacks take such knowledge from your own tables.",
    ),
    (
        "What texts mean, images, sound",
        "Of texts, passages and identifying values are looked for as they are written, not in other words.",
    ),
    (
        "Groups and families",
        "What the release tells about a household, a small village or a team, or about a person's relatives.",
    ),
    (
        SEVERAL_ROWS,
        "Every row counts as one person: if people have several, say so (--person), or intervals mislead.",
    ),
    ("Changes over time", "Better attacks and more outside data in later years: repeat the audit."),
)
"""What no audit of this kind tests, so that nobody takes silence for an answer."""

DROPPED = {
    "identifier": "It names people instead of telling something about them (--drop-identifiers).",
    "schema": "The schema leaves it out.",
    "person": "It says whose row it is: people are told apart by it, and it is not compared.",
}
"""Why columns are left out."""


@dataclass(frozen=True, kw_only=True)
class ThreatRow:
    """One attack's attacker."""

    title: str
    who: str
    holds: str
    knows: str
    wants: str


@dataclass(frozen=True, kw_only=True)
class Untested:
    """A metric that gave no answer, with what it would have asked."""

    title: str
    question: str
    reason: str


def threats(report: Report) -> list[ThreatRow]:
    """Describe the attacker behind every attack of the report."""
    return [threat for result in report.results if (threat := threat_of(result)) is not None]


def threat_of(result: Result) -> ThreatRow | None:
    """Describe the attacker behind one attack."""
    return None if result.threat is None else _threat_row(result, result.threat)


def untested(report: Report) -> list[Untested]:
    """List the metrics that were skipped, with their reasons, and those nobody asked for.

    What is run by default comes before what waits for a request: there, somebody chose to leave it out.
    """
    skipped = [
        Untested(
            title=skipped_title(report, item),
            question=question_of(report, item.metric),
            reason=item.why,
        )
        for item in report.skipped
    ]
    met = {item.metric for item in report.results} | {item.metric for item in report.skipped}
    left = [
        Untested(title=item.title, question=item.question, reason=_why_not(report, item))
        for metric, item in sorted(report.explanations.items(), key=lambda pair: pair[1].on_request)
        if metric not in met
    ]
    return skipped + left


def _why_not(report: Report, item: Explanation) -> str:
    """Say why a metric did not run: where all are asked, there was nothing for it to ask about."""
    passed_over = item.without and report.settings.get("metrics") is None
    return f"{begin(item.without)}." if passed_over else "Not run in this audit."


def never_tested(report: Report) -> tuple[tuple[str, str], ...]:
    """Return what nobody tried: neither what a result was given about, nor people who were told apart."""
    tested = {
        *([] if report.shadow is None else [GENERATOR]),
        *([] if report.counted == "rows" else [SEVERAL_ROWS]),
    }
    return tuple(item for item in NEVER_TESTED if item[0] not in tested)


def outliers_attacked(report: Report) -> bool:
    """Tell whether some attack on membership tested outlying people by themselves."""
    return any(result.threat is not None and result.threat.outliers_only for result in report.results)


def _threat_row(result: Result, threat: Threat) -> ThreatRow:
    black_box = result.labels.threat_model == "black-box"
    return ThreatRow(
        title=name(result.title or result.metric),
        who=ANYBODY if result.attacker is None else f"“{name(result.attacker)}”",
        holds="the release and access to the generator" if black_box else "the release only (no-box)",
        knows=threat.knows,
        wants=threat.wants,
    )


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


MOST_ATTACKS = 12

Judged = Sequence[tuple[RiskVerdict, Sequence[Evidence]]]


@dataclass(frozen=True, kw_only=True)
class AttackRow:
    """One attack in one line: who tried what, and what came of it."""

    title: str
    knows: str
    wants: str
    exposed: Estimate | None
    state: StateKey


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """What the sheets say beside the verdict and what other sections collect."""

    rows: tuple[AttackRow, ...]
    n_more: int
    who: str
    holds: str
    seen: str


def sheet(report: Report, judged: Judged) -> Sheet:
    """Put the attacks in one table, those of nobody in particular first, and sum up detection power."""
    items = [item for _, found in judged for item in found]
    ordered = sorted(items, key=lambda item: item.result.attacker is not None)
    threats = [threat for item in items if (threat := threat_of(item.result)) is not None]
    return Sheet(
        rows=tuple(map(_attack_row, ordered[:MOST_ATTACKS])),
        n_more=max(len(ordered) - MOST_ATTACKS, 0),
        who=_each_once([threat.who for threat in threats]) or ANYBODY,
        holds=_each_once([threat.holds for threat in threats]) or "nothing",
        seen=seen_by_risk(report, judged),
    )


def _attack_row(item: Evidence) -> AttackRow:
    threat: ThreatRow | None = threat_of(item.result)
    return AttackRow(
        title=item.title,
        knows="not stated" if threat is None else clean(threat.knows, LONGEST_BRIEF),
        wants="not stated" if threat is None else clean(threat.wants, LONGEST_BRIEF),
        exposed=item.result.measure,
        state=item.state,
    )


def _each_once(words: Sequence[str]) -> str:
    return listed(list(dict.fromkeys(words)))


def seen_by_risk(report: Report, judged: Judged) -> str:
    """Say the smallest planted leak that some attack on each risk saw."""
    if report.power is None:
        return "Not measured: how small a leak would have been noticed is unknown."
    tried = {item.metric: item.smallest for item in report.power.detections if item.trials}
    found = []
    for risk, items in judged:
        leaks = [tried[item.result.metric] for item in items if item.result.metric in tried]
        seen = [leak for leak in leaks if leak is not None]
        nothing = "none of those tried" if leaks else "not tried"
        found.append(f"{risk.risk} {level(min(seen)) if seen else nothing}")
    return (
        "The smallest planted leak that an attack on each risk noticed in 95% of trials, in shares of the "
        f"release rows: {'; '.join(found)}."
    )
