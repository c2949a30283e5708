"""What attacks saw in a learned space, beside what the mixed distance saw."""

from collections.abc import Iterator
from dataclasses import dataclass

from tabveil.auditing.report import Report
from tabveil.core.estimate import Estimate
from tabveil.core.result import Result


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
