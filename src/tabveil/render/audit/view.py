"""One audit in words and rows: page and terminal lay out what stands here, each what it has room for.

Also what a signer must know: who attacked, what nobody tried, from which threshold on a risk is within.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tabveil.auditing.detection import Detection, PositiveControl, Power
from tabveil.auditing.policy import COMMON_THRESHOLDS
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN, RiskVerdict
from tabveil.core.result import Result
from tabveil.core.wording import begin, joined, level, listed, most_people, name, people, plural
from tabveil.metrics.utility import DOWNSTREAM, MEANINGS, RULES
from tabveil.render.audit.evidence import ANYBODY, Evidence, ThreatRow, question_of, skipped_title, title_of
from tabveil.render.audit.measures import Usefulness
from tabveil.render.svg import PowerRow, RocCurve, state_key

MOST_CURVES = 3

GENERATOR, SEVERAL_ROWS = "Access to the generator", "Several rows of one person"
NEVER_TESTED = (
    (
        GENERATOR,
        "Somebody who can query the model that made the release (black box), not only read the release.",
    ),
    (
        "The model itself",
        "Somebody who has its weights, its program or its settings (white box): no attack here looks inside.",
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
        "Passages and identifying values are looked for word by word; the same in other words is not found.",
    ),
    (
        "Groups and families",
        "What the release tells about a household, a small village or a team, or about a person's relatives.",
    ),
    (
        SEVERAL_ROWS,
        "Every row counts as one person. If people have several, say so (--person); else intervals mislead.",
    ),
    ("Changes over time", "Better attacks and more outside data in later years: repeat the audit."),
)
"""What no audit of this kind tests, so that nobody takes what is missing for an answer."""

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


STATES_AT = (
    "This follows from what was measured. Planted people tried the attacks at the policy's threshold only."
)


def thresholds_in_words(report: Report) -> str:
    """Say from which threshold on each risk is within, and which are at those in use.

    Nothing is said where no number can be believed.
    """
    if not report.has_control or report.verdict.control:
        return ""
    risks = report.verdict.risks
    known = [f"{risk.risk} {most_people(risk.within_at)}" for risk in risks if risk.within_at is not None]
    told = (
        f"Each risk would be within from this threshold on: {', '.join(known)} of 100 people."
        if known
        else ""
    )
    if missing := [risk.risk for risk in risks if risk.within_at is None]:
        told += f" Within at no threshold, because there is no answer: {', '.join(missing)}."
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
    return (
        f"With other random numbers (another seed) the highest bounds are, of 100 people: {', '.join(told)}."
        if told
        else ""
    )


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
MOST_UNTESTED = 6
"""Rows of the part to sign; the annex has all."""

Judged = Sequence[tuple[RiskVerdict, Sequence[Evidence]]]


@dataclass(frozen=True, kw_only=True)
class SignedSheets:
    """What the part to sign says beside the verdict and what other sections collect."""

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


def released(report: Report) -> str:
    """Return what of a release is planted: its rows, which are people where linked tables are summed up."""
    return "release rows" if report.linked is None else "released people"


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
        "Copies of people were planted as a test. The smallest leak that some attack noticed in 95% of "
        f"the trials, as a share of the {released(report)}: {'; '.join(found)}."
    )


@dataclass(frozen=True)
class AuditView:
    """What is said of one report; every part is put together when it is first asked for."""

    report: Report

    @cached_property
    def risks(self) -> list[tuple[RiskVerdict, list[Evidence]]]:
        """Each risk with the attacks on it, in the report's order."""
        results = {result.key: result for result in self.report.results}
        return [
            (
                risk,
                [
                    Evidence(
                        report=self.report,
                        result=results[judged.metric],
                        judged=judged,
                        threshold=risk.threshold,
                    )
                    for judged in risk.metrics
                    if judged.metric in results
                ],
            )
            for risk in self.report.verdict.risks
        ]

    def of_pillar(self, pillar: str) -> list[Evidence]:
        """Return what metrics of one kind found, in the report's order."""
        return [
            Evidence(report=self.report, result=result)
            for result in self.report.results
            if result.labels.pillar == pillar
        ]

    @cached_property
    def ran(self) -> dict[str, str]:
        """Which attacks ran on each risk."""
        return {
            risk.risk: ", ".join(item.title for item in items) or "no attack ran"
            for risk, items in self.risks
        }

    @property
    def shows_values(self) -> bool:
        """Whether values of real people were asked for."""
        return self.report.exposed is not None or bool(self.report.settings.get("show_values"))

    @cached_property
    def threats(self) -> list[ThreatRow]:
        """The attacker behind every attack."""
        found = [Evidence(report=self.report, result=result).threat for result in self.report.results]
        return [threat for threat in found if threat is not None]

    @cached_property
    def never_tested(self) -> tuple[tuple[str, str], ...]:
        """What nobody tried: neither what a result was given about, nor people who were told apart."""
        tested = {
            *([] if self.report.shadow is None else [GENERATOR]),
            *([] if self.report.counted == "rows" else [SEVERAL_ROWS]),
        }
        return tuple(item for item in NEVER_TESTED if item[0] not in tested)

    @property
    def rates(self) -> list[Result]:
        """The attacks on membership that have a ROC curve."""
        return [result for result in self.report.results if result.curve is not None]

    @property
    def curves(self) -> list[RocCurve]:
        """Their curves, as many as can be told apart."""
        return [
            RocCurve(label=result.full_title, points=result.curve.points, readings=result.curve.readings)
            for result in self.rates[:MOST_CURVES]
            if result.curve is not None
        ]

    @property
    def outliers(self) -> list[Result]:
        """The attacks that were repeated on outlying people alone."""
        return [result for result in self.report.results if result.outliers is not None]

    @property
    def outliers_attacked(self) -> bool:
        """Whether some attack on membership tested outlying people by themselves."""
        return any(
            result.threat is not None and result.threat.outliers_only for result in self.report.results
        )

    @cached_property
    def useful(self) -> Usefulness | None:
        """How much the release tells of what real rows tell, if that was measured."""
        return None if self.report.utility is None else Usefulness(self.report.utility, self.report.a_row[1])

    @cached_property
    def trust(self) -> list[str]:
        """How far to rely on it: bounds with another seed, and what was seen of planted people."""
        return [*filter(None, [stable(self.report)]), *planted_here(self.report)]

    @cached_property
    def detections(self) -> list[tuple[PowerRow, str]]:
        """Which planted leak each metric sees, also in a sentence."""
        found = self.report.power.detections if self.report.power else ()
        return [
            (
                PowerRow(
                    label=title_of(self.report, item.metric),
                    smallest=item.smallest,
                    trials=[(trial.leak, trial.seen, trial.of) for trial in item.trials],
                    reason=item.reason or "",
                ),
                _seen(item, released(self.report)),
            )
            for item in found
        ]

    @property
    def planted(self) -> str:
        """How leaks were planted: with how many people, and how often really."""
        power = self.report.power
        if power is None:
            return ""
        people: dict[int, list[str]] = {}
        for item in power.detections:
            if item.people != power.people and item.trials:
                people.setdefault(item.people, []).append(title_of(self.report, item.metric))
        fewer = "; ".join(f"{n:,} for {', '.join(titles)}" for n, titles in people.items())
        played = plural(power.people, "control person", "control people") + (f" ({fewer})" if fewer else "")
        return (
            f"{played} played the training people, as many others played control, and copies of the first "
            f"were mixed into {plural(power.release_rows, 'synthetic row')}, {_times(power)}."
        )

    @cached_property
    def notes(self) -> list[tuple[str, str]]:
        """All notes, each once, after the metrics and parts it is about."""
        report = self.report
        about: dict[str, list[str]] = {}
        parts = [(note, "") for note in report.notes]
        parts += [(note, result.full_title) for result in report.results for note in result.notes]
        for heading, part in (
            ("Utility", report.utility),
            ("Detection power", report.power),
            ("Pictures", report.portrait),
        ):
            parts += [(note, heading) for note in (part.notes if part else ())]
        meanings = {**MEANINGS, "downstream": DOWNSTREAM, "rules": RULES}
        for item in report.utility.skipped if report.utility else ():
            title = meanings[item.metric].title if item.metric in meanings else name(item.metric)
            parts.append((item.reason, f"Utility, {title}"))
        for note, who in parts:
            listed = about.setdefault(note, [])
            if who and who not in listed:
                listed.append(who)
        return [("; ".join(map(name, who)), note) for note, who in about.items()]


def _times(power: Power) -> str:
    """Say how often each leak was planted: less often where the first trials had settled it."""
    counts = {trial.of for item in power.detections for trial in item.trials} or {power.repetitions}
    most, fewest = max(counts), min(counts)
    if most == fewest:
        return f"{plural(most, 'time')} for each size"
    return (
        f"up to {most} times for each size; a size was given up, at the earliest after "
        f"{plural(fewest, 'trial')}, once the misses left no way to see it in 95% of {power.repetitions}"
    )


def _seen(item: Detection, called: str) -> str:
    if item.reason is not None and not item.trials:
        return f"No answer: {item.reason}"
    if item.smallest is not None:
        at = next((trial for trial in item.trials if trial.leak == item.smallest), None)
        times = "" if at is None else f" (seen in {at.seen} of {at.of} trials)"
        return f"Would have seen a leak of {level(item.smallest)} of the {called}{times}."
    largest = max((trial.leak for trial in item.trials), default=None)
    if largest is None:
        return item.reason or "Not measured."
    return f"Did not reliably see even a leak of {level(largest)}: that it found nothing says little here."
