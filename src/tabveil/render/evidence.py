"""What the page says about one metric: its question, its numbers in a sentence, how it is judged and why."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

from tabveil.auditing import METRICS
from tabveil.estimate import Estimate
from tabveil.explain import Explanation, explain
from tabveil.render.sentences import risk_sentence, sentence
from tabveil.render.svg import RiskBar
from tabveil.render.wording import attacker, base, estimate_of, title, value_of
from tabveil.report import Report
from tabveil.result import Result
from tabveil.verdict import Judgment, RiskVerdict

StateKey = Literal["within", "above", "inconclusive", "diagnostic"]
MOST_CONFIGURATIONS = 8

_KEYS: Mapping[str, StateKey] = {
    "within threshold": "within",
    "above threshold": "above",
    "inconclusive": "inconclusive",
}


def state_key(state: str) -> StateKey:
    """Return the short form of a state that style sheets and charts use."""
    return _KEYS.get(state, "inconclusive")


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One configuration of an attack."""

    name: str
    risk: Estimate | None
    attack: Estimate | None
    control: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """One metric as the page shows it."""

    metric: str
    title: str
    question: str
    sentence: str
    risk_sentence: str
    state: StateKey
    reason: str
    threshold: float | None
    result: Result
    explanation: Explanation | None
    parameters: tuple[tuple[str, str], ...]
    tried: tuple[Tried, ...]
    n_tried: int
    explained_above: bool  # a further run of a metric, for one attacker: the first one explains it

    @property
    def leak_accepted(self) -> bool:
        """Tell whether a leak was seen that the policy accepts."""
        return self.state == "within" and self.result.risk is not None and self.result.risk.low > 0

    @property
    def bar(self) -> RiskBar:
        """Return the metric's row in the chart of risks."""
        return RiskBar(
            label=self.title,
            risk=self.result.risk,
            control=self.result.control,
            attack=self.result.attack,
            threshold=self.threshold,
            state=self.state,
            note=self.reason,
        )


@cache
def explanation(metric: str) -> Explanation | None:
    """Return what a registered metric's own text explains; None for a metric of the user's."""
    known = METRICS.get(base(metric))
    return None if known is None else explain(known)


def question(metric: str) -> str:
    """Return the question a metric answers."""
    explained = explanation(metric)
    return title(metric) if explained is None else explained.question


def attacks(report: Report, risk: RiskVerdict) -> list[Evidence]:
    """Return the attacks on one risk, in the report's order."""
    results = {result.metric: result for result in report.results}
    return [
        _evidence(results[judged.metric], report, judged, risk.threshold)
        for judged in risk.metrics
        if judged.metric in results
    ]


def diagnostics(report: Report) -> list[Evidence]:
    """Return what is evidence for no risk: indicators and properties."""
    return [_evidence(result, report) for result in report.results if result.labels.pillar != "attack"]


def _evidence(
    result: Result, report: Report, judged: Judgment | None = None, threshold: float | None = None
) -> Evidence:
    tried = _tried(result.details.get("configurations"))
    return Evidence(
        metric=result.metric,
        title=title(result.metric),
        question=question(result.metric),
        sentence=sentence(result),
        risk_sentence=risk_sentence(result, report.policy.confidence),
        state="diagnostic" if judged is None else state_key(judged.state),
        reason="" if judged is None else judged.reason,
        threshold=threshold,
        result=result,
        explanation=explanation(result.metric),
        parameters=tuple((name, value_of(value)) for name, value in result.params.items()),
        tried=tuple(_strongest(tried)),
        n_tried=len(tried),
        explained_above=attacker(result.metric) is not None
        and any(other.metric == base(result.metric) for other in report.results),
    )


def _tried(configurations: Any) -> list[Tried]:  # noqa: ANN401 - whatever a metric wrote into its details
    if not isinstance(configurations, Mapping):
        return []
    return [
        Tried(
            name=str(name),
            risk=estimate_of(item.get("risk")),
            attack=estimate_of(item.get("attack")),
            control=estimate_of(item.get("control")),
        )
        for name, item in configurations.items()
        if isinstance(item, Mapping)
    ]


def _strongest(tried: Iterable[Tried]) -> Sequence[Tried]:
    """Return the configurations with the largest lower bounds, which is how the headline is chosen."""
    return sorted(tried, key=lambda item: item.risk.low if item.risk else float("-inf"), reverse=True)[
        :MOST_CONFIGURATIONS
    ]
