"""A verdict in words: how many people of a hundred, how many are accepted, and what would settle it."""

from collections.abc import Mapping, Sequence

from tabveil.verdict.judgment import (
    ABOVE,
    HIDDEN,
    INCONCLUSIVE,
    NO_RISK,
    NOT_TESTED,
    TOO_FEW,
    WITHIN,
    CopiesVerdict,
    RiskVerdict,
    Verdict,
)
from tabveil.verdict.policy import Policy
from tabveil.wording import joined, level, most_people, people, percent, plural, upper_percent

BECAUSE = "because their data were trained on"
LEAST_SHOWN, MANY = 0.05, 10
THEIRS = "rows of training people"
CONTROLLER = "the decision belongs to the controller"


def sentence(
    verdict: Verdict,
    missing: Mapping[str, str],
    policy: Policy,
    *,
    n_train: int,
    n_control: int,
    counted: str = "rows",
) -> str:
    """Say the verdict; ``missing`` are required metrics that gave no answer, and why."""
    has_control = n_control > 0
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
        told = _inconclusive(verdict, missing, n_train, counted)
    copied = "" if verdict.copies is None else _copied(verdict.copies, by_chance=not verdict.control)
    return f"{told} {copied}".rstrip()


def _copied(judged: CopiesVerdict, *, by_chance: bool) -> str:
    """Say how many rows of the release equal a training row, or nearly do, and how many would by chance."""
    found = judged.found
    if not found.equal_train:
        told = "No row of the release equals a training row"
    else:
        rows, share = plural(found.equal_train, "row"), percent(found.equal_train / found.n_synthetic)
        told = f"{rows} of the release ({share}) {_equal(found.equal_train)} a training row"
    if found.expected is None or not by_chance:
        return f"{told}."
    told = f"{told}; by chance one would expect {_about(found.expected)}."
    if found.near is not None and found.near.near_train:
        nearly = f"{plural(found.near.near_train, 'more row')} nearly {_equal(found.near.near_train)}"
        told += f" {nearly} one (by chance {_about(found.near.expected)})."
    if judged.reason == HIDDEN and found.share is not None:
        told += f" Up to {upper_percent(found.share.high)} could be copies that nobody can tell from chance."
    return told


def _equal(n_rows: int) -> str:
    return "equals" if n_rows == 1 else "equal"


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
        parts.append(f"{_above_chance(copied)} (accepted: {percent(copied.threshold)})")
    return f"Above threshold: {'; '.join(parts)}. As measured, this release breaks the policy; {CONTROLLER}."


def _above_chance(copied: CopiesVerdict) -> str:
    """Say how much of the release may be copies; near ones are none of the exact ones."""
    exact, near = copied.found.share, copied.found.near
    told = []
    if exact is not None and exact.high > copied.threshold:
        told.append(f"up to {upper_percent(exact.high)} of the release are {THEIRS}")
    if near is not None and near.share.high > copied.threshold:
        rest = "more are nearly so" if told else f"of the release are nearly {THEIRS}"
        told.append(f"up to {upper_percent(near.share.high)} {rest}")
    return " and ".join(told)


def _inconclusive(verdict: Verdict, missing: Mapping[str, str], n_train: int, counted: str) -> str:
    open_risks = [item for item in verdict.risks if item.state == INCONCLUSIVE]
    by_reason: dict[str, list[str]] = {}
    for item in open_risks:
        if item.reason != TOO_FEW and not (item.reason == NOT_TESTED and missing):
            by_reason.setdefault(item.reason, []).append(item.risk)
    for name, reason in missing.items():
        by_reason.setdefault(reason, []).append(name)
    parts = [f"{joined(names)} ({reason})" for reason, names in by_reason.items()]
    if few := [item for item in open_risks if item.reason == TOO_FEW]:
        parts.append(_too_few(few, n_train, counted))
    if verdict.copies is not None and verdict.copies.state == INCONCLUSIVE:
        parts.append(f"copies ({verdict.copies.reason or NO_RISK})")
    return f"Inconclusive: {'; '.join(parts)}. This is neither a yes nor a no."


def _too_few(risks: Sequence[RiskVerdict], n_train: int, counted: str) -> str:
    """Say that no leak is seen, how far the bounds reach nevertheless, and how many rows would settle it."""
    bounds, rows = [], 0
    for risk in risks:
        undecided = [item for item in risk.metrics if item.reason == TOO_FEW and item.gain is not None]
        high = max(item.gain.high for item in undecided if item.gain is not None)
        bounds.append(f"{most_people(high)} to {risk.risk}")
        rows = max(rows, *(item.rows_needed or 0 for item in undecided))
    accepted = joined(sorted({people(risk.threshold) for risk in risks}))
    needed = f"{rounded_rows(rows):,} control {counted}"
    if rows > n_train:
        needed += f", and as many training {counted},"
    return (
        f"no leak is seen, but there are too few {counted} to tell: of 100 people up to {joined(bounds)} "
        f"could be exposed, where {accepted} are accepted. About {needed} would settle it"
    )


def rounded_rows(rows: int) -> int:
    """Round to two digits: it is no more than an estimate.

    >>> rounded_rows(1234), rounded_rows(96)
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
