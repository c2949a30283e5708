"""One audit in words and rows: page and terminal lay out what stands here, each what it has room for."""

from dataclasses import dataclass
from functools import cached_property

from tabveil.auditing.detection import Detection, Power
from tabveil.auditing.policy import Policy
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import RiskVerdict
from tabveil.core.result import Result
from tabveil.core.wording import level, name, plural
from tabveil.metrics.utility import DOWNSTREAM, MEANINGS, RULES
from tabveil.render.audit.evidence import Evidence, ThreatRow, title_of
from tabveil.render.audit.measures import Usefulness
from tabveil.render.audit.signing import GENERATOR, NEVER_TESTED, SEVERAL_ROWS, planted_here, stable
from tabveil.render.svg import PowerRow, RocCurve

MOST_CURVES = 3


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

    @cached_property
    def required(self) -> str:
        """The metrics that the policy asks for."""
        return ", ".join(title_of(self.report, metric) for metric in self.report.policy.required)

    @property
    def judged_by_default(self) -> bool:
        """Whether the policy is the one that holds where nobody wrote one."""
        policy = self.report.policy
        return policy == Policy(recipient=policy.recipient, context=policy.context)

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
        return None if self.report.utility is None else Usefulness(self.report.utility)

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
                _seen(item),
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


def _seen(item: Detection) -> str:
    if item.reason is not None and not item.trials:
        return f"No answer: {item.reason}"
    if item.smallest is not None:
        at = next((trial for trial in item.trials if trial.leak == item.smallest), None)
        times = "" if at is None else f" (seen in {at.seen} of {at.of} trials)"
        return f"Would have seen a leak of {level(item.smallest)} of the release rows{times}."
    largest = max((trial.leak for trial in item.trials), default=None)
    if largest is None:
        return item.reason or "Not measured."
    return f"Did not reliably see even a leak of {level(largest)}: its silence says little here."
