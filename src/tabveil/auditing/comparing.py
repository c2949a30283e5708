"""Several releases side by side: what each risks and keeps, in an order of concern."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from statistics import fmean

from tabveil.auditing.policy import RISKS
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import ABOVE, INCONCLUSIVE, WITHIN, RiskVerdict
from tabveil.core.estimate import Estimate
from tabveil.core.wording import both_ends
from tabveil.metrics.utility import Figure

FIGURES = ("discriminator", "total_variation", "correlation")
"""The utility figures that stand in the comparison."""

_ORDER = (ABOVE, INCONCLUSIVE, WITHIN)
_COIN = 0.5


@dataclass(frozen=True, kw_only=True)
class ComparedRelease:
    """One release in the comparison."""

    name: str
    report: Report
    risks: tuple[RiskVerdict, ...]
    concern: float | None  # the largest upper bound as a share of its threshold
    figures: tuple[Figure | None, ...]
    gap: float | None
    n_targets: int

    @property
    def loss(self) -> Estimate | None:
        """How well the rows are told from real ones: 0 no better than by a coin, 1 always."""
        if self.figures[0] is None:
            return None
        found = self.figures[0].value
        low, middle, high = ((end - _COIN) / _COIN for end in (found.low, found.value, found.high))
        return Estimate(value=middle, low=low, high=high, n=found.n)

    @property
    def largest(self) -> Estimate | None:
        """Return the gain with the largest upper bound of all attacks."""
        leading = [risk.leading.gain for risk in self.risks if risk.leading and risk.leading.gain]
        return max(leading, key=lambda risk: risk.high, default=None)


def compare(reports: Mapping[str, Report]) -> list[ComparedRelease]:
    """Order the releases: by state, then by how near (or how far above) the thresholds they come."""
    rows = [_compared(label, report) for label, report in reports.items()]
    return sorted(
        rows, key=lambda row: (_ORDER.index(row.report.verdict.state), -(row.concern or 0.0), row.name)
    )


def _compared(label: str, report: Report) -> ComparedRelease:
    verdict, utility = report.verdict, report.utility
    gaps = [target.gap.value for target in utility.targets if target.gap] if utility else []
    shares = [risk.high / risk.threshold for risk in verdict.risks if risk.high is not None]
    if (copies := verdict.copies) and copies.high is not None and copies.threshold > 0:
        shares.append(copies.high / copies.threshold)
    return ComparedRelease(
        name=both_ends(label),
        report=report,
        risks=tuple(risk for wanted in RISKS for risk in verdict.risks if risk.risk == wanted),
        concern=max(shares, default=None),
        figures=tuple(utility.figures.get(key) if utility else None for key in FIGURES),
        gap=fmean(gaps) if gaps else None,
        n_targets=len(gaps),
    )


def _digest(role: str) -> Callable[[Report], Hashable]:
    return lambda report: report.inputs[role].sha256 if role in report.inputs else None


_MUST_AGREE: Mapping[str, Callable[[Report], Hashable]] = {
    "They were measured against different training tables: the risks are about different people.": _digest(
        "train"
    ),
    "They were measured against different control tables: part of the differences is chance.": _digest(
        "control"
    ),
    "They come from different versions of tabveil, which may measure differently.": lambda report: (
        report.version
    ),
    "They were judged by different policies: the same risk can be within one and above another.": (
        lambda report: (
            report.policy.thresholds,
            report.policy.copies,
            report.policy.confidence,
            report.policy.required,
        )
    ),
    "Different metrics ran: what one release was asked, another may not have been.": (
        lambda report: frozenset(result.key for result in report.results)
    ),
    "Different seeds were used: small differences may be chance.": lambda report: report.seed,
}
"""What reports should share to be compared, by what to say where they do not."""


def warnings(reports: Mapping[str, Report]) -> list[str]:
    """Say what makes these reports hard to compare."""
    found = [
        text for text, part in _MUST_AGREE.items() if len({part(report) for report in reports.values()}) > 1
    ]
    without = [both_ends(label) for label, report in reports.items() if report.utility is None]
    if without and len(without) < len(reports):
        found.append(f"Utility was not measured for: {', '.join(without)}.")
    return found
