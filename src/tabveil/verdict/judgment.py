"""Three states and a sentence: is the measured risk within the user's thresholds (SPEC 11)?

Judged on the upper bound of each attack's interval: what the risk could be, not what it happened to be. Only
attacks count; similarity of tables is evidence of nothing. "Within" is never more than the absence of an
objection: it covers the attacks that ran, and it is not given where they could not have objected.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from tabveil.estimate import Estimate
from tabveil.plain import from_plain, to_plain
from tabveil.result import Result, Skipped
from tabveil.verdict.policy import RISKS, Policy, Risk, risk_of

State = Literal["within threshold", "above threshold", "inconclusive"]
WITHIN: State = "within threshold"
ABOVE: State = "above threshold"
INCONCLUSIVE: State = "inconclusive"

NO_CONTROL = "there is no control table to compare with"
NO_RISK = "no risk could be derived"
NOT_INFORMATIVE = "the attack does no better than guessing without the release"
TOO_FEW = "too few guesses: the interval is wider than the threshold"
NOT_RUN = "required by the policy, but not run"
NOT_TESTED = "no attack on it was run"


@dataclass(frozen=True, kw_only=True)
class Judgment:
    """One attack, judged; ``reason`` says why where it is inconclusive."""

    metric: str
    state: State
    required: bool
    reason: str = ""
    risk: Estimate | None = None

    @property
    def leak_seen(self) -> bool:
        """Whether the whole interval lies above zero."""
        return self.risk is not None and self.risk.low > 0


@dataclass(frozen=True, kw_only=True)
class RiskVerdict:
    """One of the risks, judged by all attacks on it."""

    risk: Risk
    threshold: float
    state: State
    reason: str = ""
    metrics: tuple[Judgment, ...]

    @property
    def leading(self) -> Judgment | None:
        """The attack whose upper bound is highest: among those above, if there are any."""
        answered = [item for item in self.metrics if item.risk is not None]
        counted = [item for item in answered if item.state == self.state] or answered
        return max(counted, key=lambda item: item.risk.high if item.risk else 0.0, default=None)


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The whole release, judged."""

    state: State
    sentence: str
    risks: tuple[RiskVerdict, ...]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        found: dict[str, Any] = to_plain(self)
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return from_plain(cls, data)


def judge(
    results: Sequence[Result], skipped: Iterable[Skipped] = (), *, policy: Policy, has_control: bool
) -> Verdict:
    """Judge every risk by the attacks on it, and the release by its risks."""
    risks = tuple(_judge_risk(risk, results, policy, has_control=has_control) for risk in RISKS)
    missing = _missing(results, skipped, policy)
    state = _worst([*(item.state for item in risks), *(INCONCLUSIVE for _ in missing)])
    sentences = {
        ABOVE: lambda: _above(risks, policy),
        INCONCLUSIVE: lambda: _inconclusive(risks, missing, has_control=has_control),
        WITHIN: lambda: _within(risks, policy),
    }
    return Verdict(state=state, sentence=sentences[state](), risks=risks)


def _missing(results: Sequence[Result], skipped: Iterable[Skipped], policy: Policy) -> dict[str, str]:
    """Return the required metrics that gave no answer, and why."""
    why = {item.key: item.why.rstrip(".") for item in skipped}
    answered = {result.key for result in results}
    return {name: why.get(name, NOT_RUN) for name in policy.required if name not in answered}


def _judge_risk(risk: Risk, results: Sequence[Result], policy: Policy, *, has_control: bool) -> RiskVerdict:
    threshold = policy.thresholds.of(risk)
    judged = tuple(
        _judge(result, threshold, required=result.key in policy.required, has_control=has_control)
        for result in results
        if risk_of(result.labels) == risk
    )
    state, reason = _together(judged)
    return RiskVerdict(risk=risk, threshold=threshold, state=state, metrics=judged, reason=reason)


def _judge(result: Result, threshold: float, *, required: bool, has_control: bool) -> Judgment:
    """Judge one attack.

    An interval that reaches above the threshold only because it is wide says nothing, unless it lies above
    zero as a whole: then there is a leak, and it may be that large.
    """
    risk = result.risk if result.risk and math.isfinite(result.risk.high - result.risk.low) else None
    state, reason = INCONCLUSIVE, ""
    if risk is None:
        reason = NO_RISK if has_control else NO_CONTROL
    elif risk.high > threshold and risk.low > 0:
        state = ABOVE
    elif not has_control:
        reason = NO_CONTROL
    elif not result.informative:
        reason = NOT_INFORMATIVE
    elif risk.high <= threshold:
        state = WITHIN
    elif risk.high - risk.value > threshold:
        reason = TOO_FEW
    else:
        state = ABOVE
    return Judgment(metric=result.key, state=state, required=required, reason=reason, risk=risk)


def _together(judged: Sequence[Judgment]) -> tuple[State, str]:
    """Judge a risk: above if any attack is; within if all required attacks are (any, if none is required)."""
    if any(item.state == ABOVE for item in judged):
        return ABOVE, ""
    deciding = [item for item in judged if item.required]
    undecided = [item for item in deciding if item.state == INCONCLUSIVE]
    if undecided:
        return INCONCLUSIVE, undecided[0].reason
    if any(item.state == WITHIN for item in deciding or judged):
        return WITHIN, ""
    return INCONCLUSIVE, judged[0].reason if judged else NOT_TESTED


def _worst(states: Iterable[State]) -> State:
    order: tuple[State, ...] = (WITHIN, INCONCLUSIVE, ABOVE)
    return max(states, key=order.index)


def _above(risks: Sequence[RiskVerdict], policy: Policy) -> str:
    over = [
        (item.risk, _number(item.leading.risk.high), item.threshold)
        for item in risks
        if item.state == ABOVE and item.leading is not None and item.leading.risk is not None
    ]
    one = len({threshold for *_, threshold in over}) == 1
    listed = _listed(
        [f"{risk} up to {high}" + ("" if one else f" (threshold {at:g})") for risk, high, at in over]
    )
    shared = f" (threshold {over[0][2]:g})" if one else ""
    return (
        f"Above threshold: {listed}{shared}, by the upper bounds of {policy.confidence * 100:.4g}% "
        "intervals. "
        "As measured, this release breaks the policy; the decision belongs to the controller."
    )


def _inconclusive(risks: Sequence[RiskVerdict], missing: Mapping[str, str], *, has_control: bool) -> str:
    if not has_control:
        return (
            "Inconclusive: there is no control table, so nothing can be compared with people the generator "
            "never saw."
        )
    by_reason: dict[str, list[str]] = {}
    for item in risks:
        if item.state == INCONCLUSIVE and not (item.reason == NOT_TESTED and missing):
            by_reason.setdefault(item.reason, []).append(item.risk)
    for name, reason in missing.items():
        by_reason.setdefault(reason, []).append(name)
    parts = [f"{_listed(names)} ({reason})" for reason, names in by_reason.items()]
    return f"Inconclusive: {'; '.join(parts)}. This is neither a yes nor a no."


def _within(risks: Sequence[RiskVerdict], policy: Policy) -> str:
    leading = [(item, item.leading.risk) for item in risks if item.leading is not None and item.leading.risk]
    top, estimate = max(leading, key=lambda pair: pair[1].high / pair[0].threshold)
    sentence = (
        f"Within threshold: no upper bound of a {policy.confidence * 100:.4g}% interval lies above its "
        f"threshold; the nearest is {top.risk}, up to {_number(estimate.high)} (threshold {top.threshold:g})."
    )
    seen = [judged.metric for item in risks for judged in item.metrics if judged.leak_seen]
    if seen:
        sentence += f" A leak was seen all the same, smaller than accepted: {_listed(seen)}."
    limits = "This covers the attacks listed here and no others; the decision belongs to the controller."
    return f"{sentence} {limits}"


def _listed(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _number(upper: float) -> str:
    """Write an upper bound with three decimals, never as zero: rounded up where it would be."""
    return f"{max(upper, 0.001):.3f}"
