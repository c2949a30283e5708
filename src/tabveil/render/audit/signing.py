"""What a signer must know: who attacked, what nobody tried, from which threshold on a risk is within."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tabveil.auditing.detection import PositiveControl
from tabveil.auditing.policy import COMMON_THRESHOLDS
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN, RiskVerdict
from tabveil.core.wording import begin, joined, level, listed, most_people, people, plural
from tabveil.render.audit.evidence import ANYBODY, Evidence, question_of, skipped_title
from tabveil.render.svg import state_key

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


def untested(report: Report) -> list[tuple[str, str, str]]:
    """List the metrics that were skipped and those nobody asked for: what they are called, ask, and why not.

    What is run by default comes before what waits for a request: there, somebody chose to leave it out.
    """
    found = [
        (skipped_title(report, item), question_of(report, item.metric), item.why) for item in report.skipped
    ]
    met = {item.metric for item in report.results} | {item.metric for item in report.skipped}
    for metric, item in sorted(report.explanations.items(), key=lambda pair: pair[1].on_request):
        if metric not in met:
            # Where all are asked, there was nothing for it to ask about.
            passed_over = item.without and report.settings.get("metrics") is None
            why = f"{begin(item.without)}." if passed_over else "Not run in this audit."
            found.append((item.title, item.question, why))
    return found


STATES_AT = "As measured; attacks were tried with planted people at the policy's threshold only."


def thresholds_in_words(report: Report) -> str:
    """Say from which threshold on each risk is within, and which are at those in use.

    Nothing is said where no number can be believed.
    """
    if not report.has_control or report.verdict.control:
        return ""
    risks = report.verdict.risks
    known = [f"{risk.risk} {most_people(risk.within_at)}" for risk in risks if risk.within_at is not None]
    told = f"Within from, as measured: {', '.join(known)} of 100 people." if known else ""
    if missing := [risk.risk for risk in risks if risk.within_at is None]:
        told += f" At no threshold, for lack of an answer: {', '.join(missing)}."
    for threshold in COMMON_THRESHOLDS:
        groups = [
            f"{'all' if len(names) == len(risks) else joined(names)} {state_key(state)}"
            for state in (WITHIN, ABOVE, INCONCLUSIVE)
            if (names := [risk.risk for risk in risks if risk.state_at(threshold) == state])
        ]
        told += f" At {people(threshold)} of 100: {', '.join(groups)}."
    return told.strip()


def stable(report: Report) -> str:
    """Say how far the bounds that decide move with the seed; nothing where none was asked for again."""
    found = () if report.spread is None else report.spread.found
    told = [f"{item.risk} {most_people(item.again)} (here {most_people(item.high)})" for item in found]
    return f"With another seed the highest bounds are, of 100 people: {', '.join(told)}." if told else ""


def planted_here(report: Report) -> Iterator[str]:
    """Say what the attacks saw of training people planted into this release; nothing if nobody was."""
    tried = () if report.positive is None else report.positive.tried
    groups: dict[tuple[float, bool, tuple[str, ...]], list[PositiveControl]] = {}
    for item in tried:
        groups.setdefault((item.share, item.appended, item.columns), []).append(item)
    for (share, appended, columns), group in groups.items():
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
class SignedSheets:
    """What the sheets say beside the verdict and what other sections collect."""

    rows: Sequence[Evidence]
    n_more: int
    who: str
    holds: str
    seen: str


def sheet(report: Report, judged: Judged) -> SignedSheets:
    """Put the attacks in one table, those of nobody in particular first, and sum up detection power."""
    items = [item for _, found in judged for item in found]
    ordered = sorted(items, key=lambda item: item.result.attacker is not None)
    threats = [item.threat for item in items if item.threat is not None]
    return SignedSheets(
        rows=ordered[:MOST_ATTACKS],
        n_more=max(len(ordered) - MOST_ATTACKS, 0),
        who=listed(list(dict.fromkeys(threat.who for threat in threats))) or ANYBODY,
        holds=listed(list(dict.fromkeys(threat.holds for threat in threats))) or "nothing",
        seen=_seen_by_risk(report, judged),
    )


def _seen_by_risk(report: Report, judged: Judged) -> str:
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
