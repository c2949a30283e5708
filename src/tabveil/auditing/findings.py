"""What results amount to beside the verdict: the finding of each metric, and columns that show one leak."""

from collections.abc import Iterable
from statistics import median
from typing import Literal, Protocol

from tabveil.auditing.verdict import Verdict
from tabveil.core.estimate import Estimate
from tabveil.core.findings import ColumnRisk
from tabveil.core.result import Result

Finding = Literal["leak seen", "hint", "above zero", "none seen", "unclear", "uninformative", "no answer"]
LEAK: Finding = "leak seen"
HINT: Finding = "hint"
ABOVE_ZERO: Finding = "above zero"
LEAST_ALIKE = 3  # columns that are one effect together


class Judged(Protocol):
    """Results with their verdict, as a report has them."""

    @property
    def results(self) -> tuple[Result, ...]:
        """What metrics answered."""
        ...

    @property
    def has_control(self) -> bool:
        """Whether there were real rows the generator never saw."""
        ...

    @property
    def verdict(self) -> Verdict:
        """What the policy makes of them."""
        ...


def finding(report: Judged, metric: str) -> Finding:
    """Put into a word what a metric found, as the verdict judges it.

    Without a control that fits neither silence nor a gain means anything.
    """
    result = next((result for result in report.results if result.key == metric), None)
    if result is None or result.measure is None:
        return "no answer"
    if not report.has_control or report.verdict.control:
        return "unclear"
    if report.verdict.leak_seen(metric):
        return LEAK
    if not result.informative:
        return "uninformative"
    if result.measure.low <= 0:
        return "none seen"
    return HINT if result.labels.pillar == "attack" else ABOVE_ZERO


def alike(columns: Iterable[ColumnRisk]) -> list[ColumnRisk]:
    """Return the columns with a leak whose risks cannot be told from one common risk, by name.

    Where the rows of some people stand in the release, every column of theirs can be read off, and as a risk
    is a share of those not guessed anyway, all columns get the same one: the share of these people. That is
    one effect, however many columns show it. An interval that does not hold the middle risk is another one.
    """
    leaking = [
        (item, item.risk)
        for item in columns
        if item.risk is not None and item.measure is not None and item.measure.low > 0
    ]
    if not leaking:
        return []
    common = median(risk.value for _, risk in leaking)
    found = [item for item, risk in leaking if risk.low <= common <= risk.high]
    return sorted(found, key=lambda item: item.column) if len(found) >= LEAST_ALIKE else []


def judged_by(risk: Estimate | None, threshold: float) -> float | None:
    """Return the threshold, unless the interval reaches from below zero to above it: that shows nothing."""
    wide = risk is not None and risk.low <= 0 and risk.high > threshold
    return None if wide else threshold
