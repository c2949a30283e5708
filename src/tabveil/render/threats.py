"""Who attacks, with what, for what; and what nobody tried."""

from dataclasses import dataclass

from tabveil.auditing.report import Report
from tabveil.core.result import Result, Threat
from tabveil.core.wording import begin, name
from tabveil.metrics.explain import Explanation
from tabveil.render.evidence import question_of, skipped_title

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
    return None if result.threat is None else _row(result, result.threat)


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


def _row(result: Result, threat: Threat) -> ThreatRow:
    black_box = result.labels.threat_model == "black-box"
    return ThreatRow(
        title=name(result.title or result.metric),
        who=ANYBODY if result.attacker is None else f"“{name(result.attacker)}”",
        holds="the release and access to the generator" if black_box else "the release only (no-box)",
        knows=threat.knows,
        wants=threat.wants,
    )
