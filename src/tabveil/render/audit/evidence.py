"""What is said about one metric: its question, its numbers in words, how it is judged, and what reappears."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tabveil.auditing.report import Report
from tabveil.auditing.verdict import Judgment, RiskVerdict
from tabveil.core.estimate import Estimate
from tabveil.core.result import Combination, Configuration, Omission, Result
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
from tabveil.metrics.registry import Explanation
from tabveil.render.svg import RiskBar

StateKey = Literal["within", "above", "inconclusive", "diagnostic"]
MOST_CONFIGURATIONS = 8
MOST_COMBINATIONS = 5
SCALE = "0 = like fresh data, 1 = the worst case"
PARTS = {
    "power": "Detection power",
    "utility": "Utility",
    "portrait": "Distances and map",
    "properties": "Properties of the tables",
}
"""What an audit measures beside metrics, in words."""

_KEYS: Mapping[str, StateKey] = {
    "within threshold": "within",
    "above threshold": "above",
    "inconclusive": "inconclusive",
}


def state_key(state: str) -> StateKey:
    """Return the short form of a state that style sheets and charts use."""
    return _KEYS.get(state, "inconclusive")


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One metric as the page shows it."""

    metric: str
    title: str
    base_title: str  # without the attacker
    question: str
    sentence: str
    risk_sentence: str
    state: StateKey
    reason: str
    threshold: float | None
    result: Result
    explanation: Explanation | None
    parameters: tuple[tuple[str, str], ...]
    tried: Sequence[Configuration]
    n_tried: int
    explained_above: bool  # a further run of a metric, for one attacker: the first one explains it
    leak_seen: bool  # at the level that the verdict asks for

    @property
    def leak_accepted(self) -> bool:
        """Tell whether a leak was seen that the policy accepts."""
        return self.state == "within" and self.leak_seen

    @property
    def combinations(self) -> tuple[Combination, ...]:
        """Return the columns that single people out together, where a leak is seen."""
        return self.result.combinations[:MOST_COMBINATIONS] if self.leak_seen else ()

    @property
    def bar(self) -> RiskBar:
        """Return the metric's row in the chart of risks."""
        return RiskBar(
            label=self.title,
            risk=self.result.measure,
            control=self.result.control,
            attack=self.result.attack,
            threshold=self.threshold,
            state=self.state,
            note=self.reason,
        )


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
    """Say the risk with its interval and its scale."""
    told = f"Risk: {NOT_COMPUTED}; {why_no_risk(result)}."
    if result.risk is not None:
        bounds = f"{level(confidence)} interval {interval(result.risk)}"
        told = f"Risk {number(result.risk.value)} ({SCALE}; {bounds})."
    if result.gain is None:
        return told
    return f"{gain_sentence(result.gain, confidence)} {told}"


def gain_sentence(gain: Estimate, confidence: float) -> str:
    """Say how many more people are exposed, of a hundred."""
    return (
        f"Of 100 people {people(gain.value)} more are exposed because their data were trained on (at "
        f"{level(confidence)} between {least_people(gain.low)} and {most_people(gain.high)})."
    )


def why_no_risk(result: Result) -> str:
    """Say why no risk was derived, where the result itself tells."""
    if result.control is None:
        return f"nothing tells how the attack does on {UNSEEN}"
    return f"{UNSEEN} fare as badly as could be, so there is no room for a risk"


def attacks(report: Report, risk: RiskVerdict) -> list[Evidence]:
    """Return the attacks on one risk, in the report's order."""
    results = {result.key: result for result in report.results}
    return [
        _evidence(results[judged.metric], report, judged, risk.threshold)
        for judged in risk.metrics
        if judged.metric in results
    ]


def diagnostics(report: Report) -> list[Evidence]:
    """Return the indicators, which are evidence for no risk."""
    return [_evidence(result, report) for result in report.results if result.labels.pillar == "indicator"]


def reappearing(report: Report) -> list[Evidence]:
    """Return the properties of the release that are metrics: what of real people reappears in it."""
    return [_evidence(result, report) for result in report.results if result.labels.pillar == "property"]


def _evidence(
    result: Result, report: Report, judged: Judgment | None = None, threshold: float | None = None
) -> Evidence:
    return Evidence(
        metric=result.key,
        title=result.full_title,
        base_title=title_of(report, result.metric),
        question=question_of(report, result.metric),
        sentence=result.sentence,
        risk_sentence=risk_sentence(result, report.policy.confidence),
        state="diagnostic" if judged is None else state_key(judged.state),
        reason="" if judged is None else judged.reason,
        threshold=threshold,
        result=result,
        explanation=report.explanations.get(result.metric),
        parameters=tuple((key, setting(value)) for key, value in result.params.items()),
        tried=_strongest(result.configurations),
        n_tried=len(result.configurations),
        explained_above=result.attacker is not None
        and any(other.key == result.metric for other in report.results),
        leak_seen=judged is not None and judged.leak_seen,
    )


def _strongest(tried: Iterable[Configuration]) -> Sequence[Configuration]:
    """Return the configurations with the largest lower bounds, which is how the headline is chosen."""
    return sorted(tried, key=lambda item: item.gain.low if item.gain else float("-inf"), reverse=True)[
        :MOST_CONFIGURATIONS
    ]


TITLE = "What of real people reappears"
MOST_SHOWN = 40
"""Rows of a table on the page; all are in the JSON report."""


@dataclass(frozen=True, kw_only=True)
class ReappearanceRow:
    """One kind of values, or one length of passages, in one place."""

    label: str
    train: str
    control: str
    risk: str


def rows(item: Evidence) -> tuple[ReappearanceRow, ...]:
    """Return the rows of one metric's table, in its own order."""
    return tuple(_reappearance(found) for found in item.result.configurations[:MOST_SHOWN])


def _reappearance(found: Configuration) -> ReappearanceRow:
    risk = found.risk
    return ReappearanceRow(
        label=name(found.name),
        train=_counted(found.facts, "train_people", found.attack),
        control=_counted(found.facts, "control_people", found.control),
        risk=NOT_COMPUTED if risk is None else f"{number(risk.value)} ({interval(risk)})",
    )


def _counted(facts: Mapping[str, Any], key: str, share: Estimate | None) -> str:
    """Write a count with its share; a report of somebody else may lack either."""
    if share is None:
        return NOT_COMPUTED
    count = facts.get(key)
    return f"{count:,} ({share_of(share)})" if isinstance(count, int) else share_of(share)


def left_out(item: Evidence) -> int:
    """Count the rows that are not shown."""
    return max(len(item.result.configurations) - MOST_SHOWN, 0)


@dataclass(frozen=True, kw_only=True)
class TwoSpaces:
    """One question, answered in both spaces."""

    title: str
    mixed_title: str
    mixed: Estimate | None
    contrastive: Estimate | None


def spaces(report: Report) -> list[TwoSpaces]:
    """Set every answer from the learned space beside one to the same question, where there is one."""
    return [
        TwoSpaces(
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
