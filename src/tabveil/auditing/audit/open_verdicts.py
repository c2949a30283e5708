"""What keeps a verdict from being given: too few rows, or something else that is missing."""

from tabveil.auditing.advice import MoreRows
from tabveil.auditing.report import Report
from tabveil.auditing.verdict.judgment import (
    COULD_NOT_SEE,
    INCONCLUSIVE,
    NEARLY,
    NOT_TESTED,
    REPEATED,
    SIZE_UNCLEAR,
    TOO_FEW,
)
from tabveil.core.wording import joined

KEEP_BACK = (
    "Without people the generator never saw nothing can be measured: keep real rows back before the next "
    "generator is trained (tabveil split), and audit its release with them."
)
OTHER_CONTROL = (
    "The control must be drawn at random from the people that train was drawn from, before training: "
    "without such a control no step can be judged."
)


def more_rows(report: Report) -> MoreRows | None:
    """Return how many control rows would settle the attacks that leave it open how large a leak is."""
    undecided = [
        item
        for risk in report.verdict.risks
        for item in risk.metrics
        if item.reason in {TOO_FEW, SIZE_UNCLEAR} and item.rows_needed is not None
    ]
    if not undecided:
        return None
    needed = max(item.rows_needed or 0 for item in undecided)
    n_train = report.inputs["train"].counted
    return MoreRows(
        control=needed,
        n_control=report.inputs["control"].counted,
        train=needed if needed > n_train else None,
        titles=tuple(item.title or item.metric for item in undecided),
    )


def obstacles(report: Report) -> tuple[str, ...]:
    """Say what keeps a verdict from being given beside the number of rows."""
    verdict = report.verdict
    if not report.has_control:
        return (KEEP_BACK,)
    if verdict.control:
        return (OTHER_CONTROL,)
    told = []
    answered = {result.key for result in report.results}
    missing = [report.titled(metric) for metric in report.policy.required if metric not in answered]
    if missing:
        told.append(f"The policy requires attacks that gave no answer here: {joined(missing)}. Run them.")
    untested = [risk.risk for risk in verdict.risks if risk.reason == NOT_TESTED]
    if untested and not missing:
        told.append(f"No attack answered on {joined(untested)}: run one, and the risk can be judged.")
    blind = [title for risk in verdict.risks if risk.reason == COULD_NOT_SEE for title in risk.blind]
    if blind:
        told.append(
            f"Did not see training people planted into this release: {joined(list(dict.fromkeys(blind)))}. "
            "Look for columns of a wrong type or scale ('tabveil schema'), for a cap on the rows it attacks, "
            "or for other known and secret columns; an attack that stays blind here cannot speak for this "
            "release."
        )
    copied = verdict.copies
    if copied is not None and copied.state == INCONCLUSIVE and copied.reason != SIZE_UNCLEAR:
        n_train = report.inputs["train"].counted
        rows = joined(
            [word for word, why in (("equal", REPEATED), ("nearly equal", NEARLY)) if why in copied.reason]
        )
        told.append(
            f"How many {rows} rows are chance is told by control rows: up to {n_train:,}, as many as train "
            "has, each one makes it surer."
        )
    return tuple(told)
