"""A verdict in words: how many people of a hundred, how many are accepted, and what would settle it."""

from collections.abc import Mapping, Sequence

from tabveil.copies import Copies
from tabveil.verdict.judgment import ABOVE, INCONCLUSIVE, NOT_TESTED, TOO_FEW, WITHIN, RiskVerdict, Verdict
from tabveil.verdict.policy import Policy
from tabveil.wording import joined, level, most_people, people, percent, plural, upper_percent

BECAUSE = "because their data were trained on"
LEAST_SHOWN, MANY = 0.05, 10
CONTROLLER = "the decision belongs to the controller"


def sentence(verdict: Verdict, missing: Mapping[str, str], policy: Policy, *, has_control: bool) -> str:
    """Say the verdict; ``missing`` are required metrics that gave no answer, and why."""
    if verdict.control and has_control:
        told = f"Inconclusive: {' '.join(verdict.control)} No risk can be measured against such a control."
    elif verdict.state == ABOVE:
        told = _above(verdict, policy)
    elif verdict.state == WITHIN:
        told = _within(verdict, policy)
    elif not has_control:
        told = (
            "Inconclusive: there is no control table, so nothing can be compared with people the generator "
            "never saw."
        )
    else:
        told = _inconclusive(verdict, missing)
    copied = "" if verdict.copies is None else _copied(verdict.copies.found, by_chance=not verdict.control)
    return f"{told} {copied}".rstrip()


def _copied(found: Copies, *, by_chance: bool) -> str:
    """Say how many rows of the release equal a training row, and how many one would expect to."""
    if not found.equal_train:
        told = "No row of the release equals a training row"
    else:
        rows, verb = plural(found.equal_train, "row"), "equals" if found.equal_train == 1 else "equal"
        share = percent(found.equal_train / found.n_synthetic)
        told = f"{rows} of the release ({share}) {verb} a training row"
    if found.expected is None or not by_chance:
        return f"{told}."
    return f"{told}; by chance one would expect {_about(found.expected)}."


def _about(expected: float) -> str:
    """Write an expected number, to a tenth where it is small."""
    return f"about {expected:,.1f}" if LEAST_SHOWN <= expected < MANY else f"about {expected:,.0f}"


def _above(verdict: Verdict, policy: Policy) -> str:
    over = [
        (item, item.leading.gain.high)
        for item in verdict.risks
        if item.state == ABOVE and item.leading is not None and item.leading.gain is not None
    ]
    parts = []
    if over:
        listed = joined([f"{most_people(high)} to {item.risk}" for item, high in over])
        accepted = joined(sorted({people(item.threshold) for item, _ in over}))
        parts.append(
            f"of 100 people up to {listed} are exposed {BECAUSE} (accepted: {accepted}; upper bounds at "
            f"{level(policy.confidence)}), and a leak is seen"
        )
    copied = verdict.copies
    if copied is not None and copied.state == ABOVE:
        parts.append(
            f"up to {upper_percent(copied.high or 0.0)} of the release are rows of training people, or "
            f"nearly so (accepted: {percent(copied.threshold)})"
        )
    return f"Above threshold: {'; '.join(parts)}. As measured, this release breaks the policy; {CONTROLLER}."


def _inconclusive(verdict: Verdict, missing: Mapping[str, str]) -> str:
    open_risks = [item for item in verdict.risks if item.state == INCONCLUSIVE]
    by_reason: dict[str, list[str]] = {}
    for item in open_risks:
        if item.reason != TOO_FEW and not (item.reason == NOT_TESTED and missing):
            by_reason.setdefault(item.reason, []).append(item.risk)
    for name, reason in missing.items():
        by_reason.setdefault(reason, []).append(name)
    parts = [f"{joined(names)} ({reason})" for reason, names in by_reason.items()]
    if few := [item for item in open_risks if item.reason == TOO_FEW]:
        parts.append(_too_few(few))
    if verdict.copies is not None and verdict.copies.state == INCONCLUSIVE:
        parts.append("copies (too few control rows to tell how many equal rows are chance)")
    return f"Inconclusive: {'; '.join(parts)}. This is neither a yes nor a no."


def _too_few(risks: Sequence[RiskVerdict]) -> str:
    """Say that no leak is seen, how far the bounds reach nevertheless, and how many rows would settle it."""
    bounds, rows = [], 0
    for risk in risks:
        undecided = [item for item in risk.metrics if item.reason == TOO_FEW and item.gain is not None]
        high = max(item.gain.high for item in undecided if item.gain is not None)
        bounds.append(f"{most_people(high)} to {risk.risk}")
        rows = max(rows, *(item.rows_needed or 0 for item in undecided))
    accepted = joined(sorted({people(risk.threshold) for risk in risks}))
    return (
        f"no leak is seen, but there are too few rows to tell: of 100 people up to {joined(bounds)} could be "
        f"exposed, where {accepted} are accepted. About {_rounded(rows):,} control rows would settle it"
    )


def _rounded(rows: int) -> int:
    """Round to two digits: it is no more than an estimate.

    >>> _rounded(1234), _rounded(96)
    (1300, 96)
    """
    unit: int = 10 ** max(len(str(rows)) - 2, 0)
    return -(-rows // unit) * unit


def _within(verdict: Verdict, policy: Policy) -> str:
    leading = [
        (item, item.leading.gain)
        for item in verdict.risks
        if item.leading is not None and item.leading.gain is not None
    ]
    top, gain = max(leading, key=lambda pair: pair[1].high / pair[0].threshold)
    told = (
        f"Within threshold: no attack exposes more people {BECAUSE} than accepted; the nearest is "
        f"{top.risk}, at most {most_people(gain.high)} of 100 (accepted: {people(top.threshold)}; upper "
        f"bound at {level(policy.confidence)})."
    )
    seen = _seen(verdict.risks)
    if seen:
        told += f" A leak was seen all the same, smaller than accepted: {joined(seen)}."
    return f"{told} This covers the attacks listed here and no others; {CONTROLLER}."


def _seen(risks: Sequence[RiskVerdict]) -> list[str]:
    return [judged.title or judged.metric for item in risks for judged in item.metrics if judged.leak_seen]
