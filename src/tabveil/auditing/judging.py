"""Three states and a sentence: is what was measured within the user's thresholds?

See docs/definitions.md, Verdicts.

Judged on each attack's gain: of all people, how many are exposed because their data were trained on. *Within*
needs an upper bound below the threshold, from every attack: what the gain could be, not what it happened to
be; and attacks that see people planted into this very release. *Above* needs a leak that is seen at a level
corrected for the number of attacks, and is measured larger than accepted. Between them lies what is open,
each with its reason: a leak is seen and its size is unclear, or none is seen and rows are too few to tell.
Only attacks, copies and traces count; similarity of tables is evidence of nothing. "Within" is never more
than the absence of an objection: it covers the attacks that ran, and it is not given where they could not
have objected.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tabveil.auditing.detection import PositiveControl
from tabveil.auditing.policy import RISKS, Policy, Risk, risk_of
from tabveil.auditing.sentence import reasons
from tabveil.auditing.verdict import (
    ABOVE,
    BAD_CONTROL,
    COULD_NOT_SEE,
    HIDDEN,
    INCONCLUSIVE,
    NEARLY,
    NO_CONTROL,
    NO_RISK,
    NOT_RUN,
    NOT_TESTED,
    REPEATED,
    SIZE_UNCLEAR,
    TOO_FEW,
    WITHIN,
    CopiesVerdict,
    Judgment,
    RiskVerdict,
    State,
    TraceVerdict,
    Verdict,
)
from tabveil.core.estimate import CONFIDENCE, Estimate, sidak
from tabveil.core.estimate.rates import probit
from tabveil.core.result import Omission, Result
from tabveil.core.wording import ROWS, name
from tabveil.metrics.control.copies import Copies
from tabveil.metrics.traces import Trace

MANY_BY_CHANCE = 10
FOUR_OF_FIVE = 0.8416
"""So many standard deviations up, a normal value lies below in four of five draws."""

WEIGHTIEST = (SIZE_UNCLEAR, BAD_CONTROL, NO_CONTROL, NO_RISK, TOO_FEW, COULD_NOT_SEE)
"""Reasons for an open risk; the first of them that some attack has is the one that is given."""


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """What a verdict is given on: the metrics' answers, and what is known of the tables themselves."""

    results: Sequence[Result]
    skipped: Sequence[Omission] = ()
    n_train: int
    n_control: int
    counted: str = "rows"  # or people, who may have several
    a_row: tuple[str, str] = ROWS  # what one and several are called: people where each has one row
    copies: Copies | None = None
    traces: Sequence[Trace] = ()
    positive: Sequence[PositiveControl] = ()  # attacks tried with planted people, where that decides
    control_faults: tuple[str, ...] = ()
    titles: Mapping[str, str] = field(default_factory=dict)  # of metrics, also those that gave no answer


def judge(grounds: Grounds, policy: Policy) -> Verdict:
    """Judge every risk by the attacks on it, and the release by its risks, copies and traces."""
    level = level_of(grounds, policy)
    copied = _judge_copies(grounds, policy, level)
    traces = tuple(_judge_trace(item, grounds, policy, level) for item in grounds.traces)
    risks = tuple(_judge_risk(risk, grounds, policy, level) for risk in RISKS)
    missing = _missing(grounds, policy)
    states = [item.state for item in risks] + [item.state for item in traces]
    state = _worst([*states, *(INCONCLUSIVE for _ in missing), *([copied.state] if copied else [])])
    found = Verdict(
        state=state,
        reasons="",
        risks=risks,
        copies=copied,
        traces=traces,
        control=grounds.control_faults,
    )
    told = reasons(
        found,
        missing,
        policy,
        grounds.positive,
        n_train=grounds.n_train,
        n_control=grounds.n_control,
        counted=grounds.counted,
        a_row=grounds.a_row,
    )
    return replace(found, reasons=told)


def level_of(grounds: Grounds, policy: Policy) -> float:
    """Return how unlikely a gain must be by chance to count as seen.

    Of releases that leak nothing, no more than the policy's confidence leaves may show one in any attack.
    """
    judged = [item for item in grounds.results if item.p_value is not None and risk_of(item.labels)]
    n_judged = len(judged) + (3 if grounds.copies else 0) + len(grounds.traces)
    return 1 - sidak(policy.confidence, n_judged or 1)


def _missing(grounds: Grounds, policy: Policy) -> dict[str, str]:
    """Return the titles of the required metrics that gave no answer, and why."""
    why = {item.key: item.why.rstrip(".") for item in grounds.skipped}
    answered = {result.key for result in grounds.results}
    return {
        grounds.titles.get(metric) or name(metric): why.get(metric, NOT_RUN)
        for metric in policy.required
        if metric not in answered
    }


def _judge_risk(risk: Risk, grounds: Grounds, policy: Policy, level: float) -> RiskVerdict:
    threshold = policy.thresholds.of(risk)
    judged = tuple(
        _judge(result, grounds, policy, threshold, level)
        for result in grounds.results
        if risk_of(result.labels) == risk
    )
    state, reason = _together(judged)
    blind = tuple(item.title for item in grounds.positive if item.risk == risk and not item.seen)
    if state == WITHIN and blind:
        state, reason = INCONCLUSIVE, COULD_NOT_SEE
    gains = [item.gain for item in judged if item.gain is not None]
    high = max((gain.high for gain in gains), default=None)
    sized = state == WITHIN or reason in {"", SIZE_UNCLEAR, TOO_FEW}
    return RiskVerdict(
        risk=risk,
        threshold=threshold,
        state=state,
        metrics=judged,
        reason=reason,
        value=max((gain.value for gain in gains), default=None),
        high=high,
        within_at=high if sized and not _unanswered(judged) else None,
        blind=blind,
    )


def _unanswered(judged: Iterable[Judgment]) -> bool:
    return any(item.required and item.gain is None for item in judged)


def _judge(result: Result, grounds: Grounds, policy: Policy, threshold: float, level: float) -> Judgment:
    """Judge one attack by the bounds of its gain.

    A leak is seen where the p-value says so: it may come of a statistic that is no share of people, and say
    more than the bounds of the gain.
    """
    bounds = result.measure
    gain = bounds if bounds and math.isfinite(bounds.high - bounds.low) else None
    judged = Judgment(
        metric=result.key,
        title=result.full_title if result.title else "",
        state=INCONCLUSIVE,
        required=result.key in policy.required,
        gain=gain,
    )
    if grounds.n_control == 0:
        return replace(judged, reason=NO_CONTROL)
    if grounds.control_faults:
        return replace(judged, reason=BAD_CONTROL)
    if gain is None:
        return replace(judged, reason=NO_RISK)
    seen = gain.low > 0 if result.p_value is None else result.p_value <= level
    judged = replace(judged, leak_seen=seen)
    if gain.high <= threshold:
        return replace(judged, state=WITHIN)
    if judged.above(threshold):
        return replace(judged, state=ABOVE)
    sizes = [grounds.n_train, grounds.n_control]
    if isinstance(some := result.details.get("attacked"), list):
        sizes = some  # who was not attacked narrowed no interval
    rows = rows_needed(gain, threshold, sizes[0], sizes[1], confidence=policy.confidence)
    return replace(
        judged,
        reason=SIZE_UNCLEAR if seen else TOO_FEW,
        rows_needed=rows,
        attacked=sizes[1] if sizes[1] < grounds.n_control else None,
    )


def rows_needed(
    gain: Estimate, threshold: float, n_train: int, n_control: int, *, confidence: float = CONFIDENCE
) -> int:
    """Return about how many control rows would settle it in about four of five audits, if this value is true.

    The interval shrinks with the root of the rows of both tables. It must lie on one side: below the
    threshold where the value does (one below zero is chance, and counts as zero), else above zero; and so
    far that the value of another draw may be off by as much as it is in four of five. A value near its
    threshold would ask for rows without end: it is taken to be no nearer than half of it. Where
    control rows alone cannot do it, both tables need so many.

    >>> rows_needed(Estimate(value=0.0, low=-0.1, high=0.1, n=500), 0.05, 10_000, 500)
    6372
    """
    z = probit(confidence)
    if gain.value < threshold:
        reach, room = gain.high - gain.value, max(threshold - max(gain.value, 0.0), threshold / 2)
    else:
        reach, room = gain.value - min(gain.low, 0.0), gain.value
    wanted = (room / (reach * (1 + FOUR_OF_FIVE / z))) ** 2 * (1 / n_train + 1 / n_control)
    alone = wanted - 1 / n_train
    return max(math.ceil(1 / alone if alone > wanted / 2 else 2 / wanted), n_control + 1)


def _judge_copies(grounds: Grounds, policy: Policy, level: float) -> CopiesVerdict | None:
    """Judge the rows of the release that equal, or nearly equal, those of training people.

    Where the control leaves it open, or is none to go by, what is proven without it is above all the same.
    """
    found = grounds.copies
    if found is None:
        return None
    judged = _judge_beyond_chance(found, grounds, policy, level)
    proven = found.proven_share > policy.copies and found.proven_p <= level
    if proven and judged.state != ABOVE:
        return replace(judged, state=ABOVE, leak_seen=True, proven=True, reason="")
    return judged


def _judge_beyond_chance(found: Copies, grounds: Grounds, policy: Policy, level: float) -> CopiesVerdict:
    """Judge what the control says of copies.

    Where many real people have equal rows (what the release shares with control is no sign of it), rows
    repeat by themselves, and chance alone varies by more than copies may be. A few of them are then hidden
    from everybody: as long as none are seen, as many may be as people may be exposed by attacks. Near copies
    hide among nothing.
    """
    seen = any(p_value <= level for _, p_value in _parts(found))
    judged = CopiesVerdict(threshold=policy.copies, state=INCONCLUSIVE, found=found, leak_seen=seen)
    if found.share is None or grounds.control_faults:
        return replace(judged, leak_seen=False, reason=NO_CONTROL if found.share is None else BAD_CONTROL)
    hidden = not seen and found.repeated >= MANY_BY_CHANCE
    accepted = max(policy.copies, min(map(policy.thresholds.of, RISKS))) if hidden else policy.copies
    open_parts = [REPEATED] if found.share.high > accepted else []
    open_parts += [NEARLY] if found.near is not None and found.near.share.high > policy.copies else []
    if any(p_value <= level and share.value > policy.copies for share, p_value in _parts(found)):
        return replace(judged, state=ABOVE)
    if open_parts:
        return replace(judged, reason=SIZE_UNCLEAR if seen else " and ".join(open_parts))
    return replace(judged, state=WITHIN, reason=HIDDEN if found.share.high > policy.copies else "")


def _parts(found: Copies) -> list[tuple[Estimate, float]]:
    """Return what is judged apart, with its p-value: rows that are equal, and rows that are nearly so."""
    parts = [(item.share, item.p_value) for item in (found, found.near) if item is not None]
    return [(share, p_value) for share, p_value in parts if share is not None and p_value is not None]


def _judge_trace(found: Trace, grounds: Grounds, policy: Policy, level: float) -> TraceVerdict:
    """Judge what a release holds of training people; what is not seen is no objection."""
    seen = found.seen(level)
    judged = TraceVerdict(threshold=policy.copies, state=WITHIN, found=found, leak_seen=seen)
    if not found.proven and (grounds.n_control == 0 or grounds.control_faults):
        reason = NO_CONTROL if grounds.n_control == 0 else BAD_CONTROL
        return replace(judged, state=INCONCLUSIVE, leak_seen=False, reason=reason)
    return replace(judged, state=ABOVE) if seen and found.share > policy.copies else judged


def _together(judged: Sequence[Judgment]) -> tuple[State, str]:
    """Judge a risk: above if any attack is; within if all that answered are, the required ones among them."""
    if any(item.state == ABOVE for item in judged):
        return ABOVE, ""
    undecided = {
        item.reason
        for item in judged
        if item.state == INCONCLUSIVE and (item.gain is not None or item.required)
    }
    if not undecided and any(item.state == WITHIN for item in judged):
        return WITHIN, ""
    reasons = undecided or {item.reason for item in judged}
    return INCONCLUSIVE, next((reason for reason in WEIGHTIEST if reason in reasons), NOT_TESTED)


def _worst(states: Iterable[State]) -> State:
    order: tuple[State, ...] = (WITHIN, INCONCLUSIVE, ABOVE)
    return max(states, key=order.index)
