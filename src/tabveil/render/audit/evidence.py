"""What is said about one metric: its question, its numbers in words, its attacker, how it is judged."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import Judgment
from tabveil.core.estimate import Estimate
from tabveil.core.findings import Combination, Configuration
from tabveil.core.result import Omission, Result
from tabveil.core.wording import (
    NOT_COMPUTED,
    UNSEEN,
    interval,
    least_people,
    level,
    most_people,
    name,
    number,
    people,
    setting,
    share_of,
)
from tabveil.render.svg import RiskBar, State, state_key

MOST_CONFIGURATIONS = 8
MOST_COMBINATIONS = 5
MOST_REAPPEARING = 40
"""Rows of a table on the page; all are in the JSON report."""

REAPPEARING = "What of real people reappears"
ANYBODY = "anybody (worst case)"
SCALE = "0 = like fresh data, 1 = the worst case"
PARTS = {
    "power": "Detection power",
    "utility": "Utility",
    "portrait": "Distances and map",
    "properties": "Properties of the tables",
}
"""What an audit measures beside metrics, in words."""


@dataclass(frozen=True, kw_only=True)
class ThreatRow:
    """One attack's attacker."""

    title: str
    who: str
    holds: str
    knows: str
    wants: str


@dataclass(frozen=True, kw_only=True)
class ReappearanceRow:
    """One kind of values, or one length of passages, in one place."""

    label: str
    train: str
    control: str
    risk: str


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One result in words, as it is judged; an indicator is not."""

    report: Report
    result: Result
    judged: Judgment | None = None
    threshold: float | None = None

    @property
    def title(self) -> str:
        """Its name in words."""
        return self.result.full_title

    @property
    def base_title(self) -> str:
        """The same without the attacker."""
        return title_of(self.report, self.result.metric)

    @property
    def question(self) -> str:
        """The question it answers."""
        return question_of(self.report, self.result.metric)

    @property
    def risk_sentence(self) -> str:
        """The gain and the risk that follow."""
        return risk_sentence(self.result, self.report.policy.confidence)

    @property
    def state(self) -> State:
        """How it is judged."""
        return "diagnostic" if self.judged is None else state_key(self.judged.state)

    @property
    def reason(self) -> str:
        """Why it is inconclusive, where it is."""
        return "" if self.judged is None else self.judged.reason

    @property
    def leak_seen(self) -> bool:
        """Whether a leak is seen, at the level that the verdict asks for."""
        return self.judged is not None and self.judged.leak_seen

    @property
    def leak_accepted(self) -> bool:
        """Whether a leak was seen that the policy accepts."""
        return self.state == "within" and self.leak_seen

    @property
    def explained_above(self) -> bool:
        """Whether it is a further run of a metric, for one attacker: the first one explains it."""
        first = self.result.metric
        return self.result.attacker is not None and any(item.key == first for item in self.report.results)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """What it was set to."""
        return [(key, setting(value)) for key, value in self.result.params.items()]

    @property
    def tried(self) -> Sequence[Configuration]:
        """The configurations with the largest lower bounds, which is how the headline is chosen."""
        lowest = float("-inf")
        found = self.result.configurations
        return sorted(found, key=lambda item: item.gain.low if item.gain else lowest, reverse=True)[
            :MOST_CONFIGURATIONS
        ]

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """The columns that single people out together, where a leak is seen."""
        return self.result.combinations[:MOST_COMBINATIONS] if self.leak_seen else ()

    @property
    def bar(self) -> RiskBar:
        """Its row in the chart of risks."""
        return RiskBar(
            label=self.title,
            risk=self.result.measure,
            control=self.result.control,
            attack=self.result.attack,
            threshold=self.threshold,
            state=self.state,
            note=self.reason,
        )

    @property
    def threat(self) -> ThreatRow | None:
        """The attacker behind it, if it is an attack."""
        result, threat = self.result, self.result.threat
        if threat is None:
            return None
        black_box = result.labels.threat_model == "black-box"
        return ThreatRow(
            title=name(result.title or result.metric),
            who=ANYBODY if result.attacker is None else f"“{name(result.attacker)}”",
            holds="the release and access to the generator" if black_box else "the release only (no-box)",
            knows=threat.knows,
            wants=threat.wants,
        )

    @property
    def reappearances(self) -> list[ReappearanceRow]:
        """What of real people reappears, one kind and one place after the other."""
        return [
            ReappearanceRow(
                label=name(found.name),
                train=_counted(found.facts, "train_people", found.attack),
                control=_counted(found.facts, "control_people", found.control),
                risk=NOT_COMPUTED
                if found.risk is None
                else f"{number(found.risk.value)} ({interval(found.risk)})",
            )
            for found in self.result.configurations[:MOST_REAPPEARING]
        ]


def _counted(facts: Mapping[str, Any], key: str, share: Estimate | None) -> str:
    """Write a count with its share; a report of somebody else may lack either."""
    if share is None:
        return NOT_COMPUTED
    count = facts.get(key)
    return f"{count:,} ({share_of(share)})" if isinstance(count, int) else share_of(share)


def title_of(report: Report, metric: str) -> str:
    """Name a metric, or another part of an audit, in words."""
    explained = report.explanations.get(metric)
    return PARTS.get(metric, name(metric)) if explained is None else explained.title


def skipped_title(report: Report, item: Omission) -> str:
    """Name in words what gave no answer, with its attacker if there is one."""
    words = title_of(report, item.metric)
    return words if item.attacker is None else f"{words} (attacker “{name(item.attacker)}”)"


def question_of(report: Report, metric: str) -> str:
    """Return the question a metric answers."""
    explained = report.explanations.get(metric)
    return title_of(report, metric) if explained is None else explained.question


def risk_sentence(result: Result, confidence: float) -> str:
    """Say how many more of a hundred people are exposed, and the risk with its interval and its scale."""
    if result.risk is not None:
        bounds = f"{level(confidence)} interval {interval(result.risk)}"
        told = f"Risk {number(result.risk.value)} ({SCALE}; {bounds})."
    elif result.control is None:
        told = f"Risk: {NOT_COMPUTED}; nothing tells how the attack does on {UNSEEN}."
    else:
        why = f"{UNSEEN} fare as badly as could be, so there is no room for a risk"
        told = f"Risk: {NOT_COMPUTED}; {why}."
    gain = result.gain
    if gain is None:
        return told
    return (
        f"Of 100 people {people(gain.value)} more are exposed because their data were trained on (at "
        f"{level(confidence)} between {least_people(gain.low)} and {most_people(gain.high)}). {told}"
    )


@dataclass(frozen=True, kw_only=True)
class SpacePair:
    """One question, answered in a learned space and by the mixed distance."""

    title: str
    mixed_title: str
    mixed: Estimate | None
    contrastive: Estimate | None


def spaces(report: Report) -> list[SpacePair]:
    """Set every answer from the learned space beside one to the same question, where there is one."""
    return [
        SpacePair(
            title=result.full_title,
            mixed_title=other.full_title,
            mixed=other.measure,
            contrastive=result.measure,
        )
        for result in report.results
        for other in list(_beside(report, result))[:1]
    ]


def _beside(report: Report, result: Result) -> Iterator[Result]:
    """Return the answers to the same question for the same attacker, the most alike first."""
    explained = report.explanations.get(result.metric)
    for metric in () if explained is None else explained.beside:
        for other in report.results:
            if (other.metric, other.attacker) == (metric, result.attacker):
                yield other
