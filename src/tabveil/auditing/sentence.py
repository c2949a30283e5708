"""A verdict in words: the state and its reason, then a clause for each risk that bears it.

Every clause has the same form and the numbers of the table beside it: the largest value measured, the largest
upper bound over all attacks on the risk, and what the policy accepts.
"""

import re
from collections.abc import Mapping, Sequence

from tabveil.auditing.detection import PositiveControl
from tabveil.auditing.policy import Policy
from tabveil.auditing.verdict import (
    ABOVE,
    BAD_CONTROL,
    COULD_NOT_SEE,
    HIDDEN,
    INCONCLUSIVE,
    NO_CONTROL,
    NO_RISK,
    NOT_TESTED,
    SIZE_UNCLEAR,
    TOO_FEW,
    WITHIN,
    CopiesVerdict,
    RiskVerdict,
    TraceVerdict,
    Verdict,
)
from tabveil.core.wording import (
    PEOPLE,
    ROWS,
    begin,
    joined,
    level,
    most_people,
    people,
    percent,
    plural,
    upper_percent,
    verb,
)

LEAST_SHOWN, MANY = 0.05, 10
CONTROLLER = "the decision belongs to the controller"
BREAKS = f"As measured, this release breaks the policy; {CONTROLLER}."
NEITHER = "This is neither a yes nor a no."
NO_MEASURE = "No risk can be measured against such a control."
WITHOUT_CONTROL = "there is no control table, so nothing can be compared with people the generator never saw."


def reasons(
    verdict: Verdict,
    missing: Mapping[str, str],
    policy: Policy,
    positive: Sequence[PositiveControl] = (),
    *,
    n_train: int,
    n_control: int,
    counted: str = "rows",
    a_row: tuple[str, str] = ROWS,
) -> str:
    """Give the reasons of a verdict; ``missing`` are required metrics that gave no answer, and why.

    ``a_row`` is what one row of the tables and several are called.
    """
    if verdict.state == ABOVE:
        told = _above(verdict, policy, has_control=n_control > 0, a_row=a_row)
    elif n_control == 0:
        told = WITHOUT_CONTROL
    elif verdict.control:
        told = f"{' '.join(verdict.control)} {NO_MEASURE}"
    elif verdict.state == INCONCLUSIVE:
        told = _inconclusive(verdict, missing, policy, n_train=n_train, counted=counted, a_row=a_row)
    else:
        told = _within(verdict, policy, positive)
    copied = "" if verdict.copies is None else _copied(verdict.copies, a_row, by_chance=not verdict.control)
    return f"{told} {copied}".rstrip()


def clause(risk: RiskVerdict) -> str:
    """Say one risk in numbers: measured, at most, accepted."""
    if risk.value is None or risk.high is None:
        return f"{begin(risk.risk)}: nothing measured; you accept {people(risk.threshold)}."
    return f"{begin(risk.risk)}: {_numbers(risk.value, risk.high, risk.threshold)}."


def _numbers(value: float, high: float, threshold: float) -> str:
    measured, most = people(value), most_people(high)
    return f"{measured} of 100 people measured, at most {most}; you accept {people(threshold)}"


def meaning(policy: Policy) -> str:
    """Say what the people of the clauses are, and how sure "at most" is."""
    return f"(People exposed because their data were trained on; upper bounds at {level(policy.confidence)}.)"


def _above(verdict: Verdict, policy: Policy, *, has_control: bool, a_row: tuple[str, str]) -> str:
    """Name what is above: risks, copies, traces; and say where the control cannot be trusted."""
    over = [item for item in verdict.risks if item.state == ABOVE]
    copied = verdict.copies
    parts = ["a leak is seen, and it is larger than accepted."]
    parts += [clause(item) for item in over]
    if over:
        parts.append(meaning(policy))
    if copied is not None and copied.state == ABOVE:
        parts.append(_copies_clause(copied, a_row))
    parts += [_trace(item) for item in verdict.traces if item.state == ABOVE]
    if not has_control:
        parts.append(f"Nothing else can be told: {WITHOUT_CONTROL}")
    elif verdict.control:
        parts += [*verdict.control, "No other risk can be measured against such a control."]
    return f"{' '.join(parts)} {BREAKS}"


def _copies_clause(copied: CopiesVerdict, a_row: tuple[str, str]) -> str:
    """Say how much of the release is copied, in one number; what is proven needs no control."""
    accepted = f"you accept {percent(copied.threshold)}"
    if copied.proven:
        found = copied.found
        rows = f"{plural(found.proven, *a_row)} of the release {verb(found.proven, 'equals', 'equal')}"
        rows += " a row of" if a_row == ROWS else ""
        whom = plural(found.proven_people, "training person", "training people")
        return (
            f"Copies: {rows} {whom} unlike all others, where chance explains at most "
            f"{_about(found.proven_expected)}; {accepted}. That is certain without the control."
        )
    if copied.value is None or copied.high is None:
        return f"Copies: nothing measured; {accepted}."
    measured = f"{percent(copied.value)} of the release measured, at most {upper_percent(copied.high)}"
    return f"Copies: {measured}; {accepted}."


def _trace(judged: TraceVerdict) -> str:
    told = judged.found.sentence.rstrip()
    return told if told.endswith((".", "!", "?")) else f"{told}."


def _inconclusive(
    verdict: Verdict,
    missing: Mapping[str, str],
    policy: Policy,
    *,
    n_train: int,
    counted: str,
    a_row: tuple[str, str],
) -> str:
    """Give the reasons in the order of their weight, each with the clauses of the risks that have it."""
    open_risks = [item for item in verdict.risks if item.state == INCONCLUSIVE]
    by_reason = {
        reason: [item for item in open_risks if item.reason == reason]
        for reason in dict.fromkeys(item.reason for item in open_risks)
    }
    copied = verdict.copies if verdict.copies and verdict.copies.state == INCONCLUSIVE else None
    parts = []
    if unclear := by_reason.pop(SIZE_UNCLEAR, []):
        parts += [f"{SIZE_UNCLEAR}.", *map(clause, unclear), _needed(unclear, n_train, counted)]
    if copied is not None and copied.reason == SIZE_UNCLEAR:
        parts += [*([] if parts else [f"{SIZE_UNCLEAR}."]), _copies_clause(copied, a_row)]
    small = [f"{joined(seen)} saw a leak smaller than accepted."] if (seen := _seen_within(verdict)) else []
    if few := by_reason.pop(TOO_FEW, []):
        none = "no other leak is seen" if small else "no leak is seen" + " elsewhere" * bool(parts)
        parts += [*small, f"{none}, but there are too few {counted} to tell."]
        parts += [*map(clause, few), _needed(few, n_train, counted)]
    elif parts:
        parts += small
    measured = bool(parts)
    for risk in by_reason.pop(COULD_NOT_SEE, []):
        parts.append(f"{risk.risk} {COULD_NOT_SEE}: {_blind(risk)}.")
    for reason, risks in by_reason.items():
        if not (reason == NOT_TESTED and missing):
            parts.append(f"{joined([item.risk for item in risks])} ({reason}).")
    for why in dict.fromkeys(missing.values()):
        parts.append(f"{joined([name for name, reason in missing.items() if reason == why])} ({why}).")
    if copied is not None and copied.reason != SIZE_UNCLEAR:
        parts.append(f"copies ({called_so(copied.reason, a_row) or NO_RISK}).")
    parts += [f"{item.found.title} ({item.reason})." for item in verdict.traces if item.reason in _UNFIT]
    parts = parts or [f"{NO_RISK}."]
    told = " ".join([parts[0], *map(begin, parts[1:])])
    return " ".join([told, *([meaning(policy)] if measured else []), NEITHER])


def called_so(reason: str, a_row: tuple[str, str]) -> str:
    """Write a reason about copies with the word for rows.

    >>> called_so("too few control rows to tell how many equal rows are chance", ("person", "people"))
    'too few control people to tell how many equal people are chance'
    """
    return re.sub(r"\brows\b", a_row[1], reason)


_UNFIT = {NO_CONTROL, BAD_CONTROL}


def _blind(risk: RiskVerdict) -> str:
    return (
        f"of {people(2 * risk.threshold)} of 100 training people planted into this release, "
        f"{joined(risk.blind)} saw too little"
    )


def _needed(risks: Sequence[RiskVerdict], n_train: int, counted: str) -> str:
    """Say how many rows would settle it, and what these rows could settle."""
    judged = [item for risk in risks for item in risk.metrics if item.rows_needed is not None]
    most = max(judged, key=lambda item: item.rows_needed or 0, default=None)
    rows = 0 if most is None else most.rows_needed or 0
    needed = f"{rounded_rows(rows):,} control {counted}"
    if rows > n_train:
        needed += f", and as many training {counted},"
    settled = max((item.high or 0.0 for item in risks), default=0.0)
    if most is not None and most.attacked is not None:
        needed = f"{needed.rstrip(',')}, all of them attacked (n_attacks: {rounded_rows(rows)}),"
        told = f"{most.title or most.metric} attacked {most.attacked:,} control {counted}, drawn at random. "
    else:
        told = ""
    return (
        f"{told}About {needed} would be enough to decide. With these {counted}, only a threshold of "
        f"{most_people(settled)} of 100 or more can be decided."
    )


def rounded_rows(rows: int) -> int:
    """Round to two digits: it is no more than an estimate.

    >>> rounded_rows(1234), rounded_rows(96)
    (1300, 96)
    """
    unit: int = 10 ** max(len(str(rows)) - 2, 0)
    return -(-rows // unit) * unit


def _within(verdict: Verdict, policy: Policy, positive: Sequence[PositiveControl]) -> str:
    """Name the risk that comes nearest to its threshold, and what was seen all the same."""
    measured = [item for item in verdict.risks if item.high is not None]
    nearest = max(measured, key=lambda item: (item.high or 0.0) / item.threshold)
    numbers = _numbers(nearest.value or 0.0, nearest.high or 0.0, nearest.threshold)
    parts = [
        "no attack exposes more people than accepted.",
        f"Of the four risks {nearest.risk} comes nearest: {numbers}.",
        meaning(policy),
    ]
    if positive:
        parts.append("The attacks saw training people who were planted into this release to try them.")
    if seen := _seen_within(verdict):
        parts.append(f"A leak was seen all the same, smaller than accepted: {joined(seen)}.")
    parts.append(f"This covers the attacks listed here and no others; {CONTROLLER}.")
    return " ".join(parts)


def _seen_within(verdict: Verdict) -> list[str]:
    """Name the attacks and traces that see a leak, of which no more than accepted is exposed."""
    attacks = [
        item.title or item.metric
        for risk in verdict.risks
        for item in risk.metrics
        if item.leak_seen and item.state == WITHIN
    ]
    return attacks + [item.found.title for item in verdict.traces if item.leak_seen and item.state == WITHIN]


def _copied(judged: CopiesVerdict, a_row: tuple[str, str], *, by_chance: bool) -> str:
    """Say how many rows of the release equal a training row, or nearly do, and how many would by chance."""
    found, one = judged.found, a_row[0]
    if not found.equal_train:
        told = f"No {one} of the release equals a training {one}"
    else:
        rows, share = plural(found.equal_train, *a_row), percent(found.equal_train / found.n_synthetic)
        equals = verb(found.equal_train, "equals", "equal")
        told = f"{rows} of the release ({share}) {equals} a training {one}"
    if a_row == PEOPLE:
        told += " in their own row and all linked rows"
    if found.expected is None or not by_chance:
        return f"{told}."
    told = f"{told}; by chance one would expect {_about(found.expected)}."
    if found.near is not None and found.near.near_train:
        n_near = found.near.near_train
        more = (f"more {called}" for called in a_row)
        nearly = f"{plural(n_near, *more)} nearly {verb(n_near, 'equals', 'equal')}"
        told += f" {nearly} one (by chance {_about(found.near.expected)})."
    if judged.reason == HIDDEN and found.share is not None:
        told += f" Up to {upper_percent(found.share.high)} could be copies that nobody can tell from chance."
    return told


def _about(expected: float) -> str:
    """Write an expected number, to a tenth where it is small."""
    return f"about {expected:,.1f}" if LEAST_SHOWN <= expected < MANY else f"about {expected:,.0f}"
