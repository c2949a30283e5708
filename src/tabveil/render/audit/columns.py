"""Which columns an attack infers: drawn apart only where they differ, and with the configuration of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from tabveil.auditing.findings import alike, judged_by
from tabveil.auditing.report import Report
from tabveil.core.findings import ColumnRisk
from tabveil.core.result import Result
from tabveil.core.wording import level
from tabveil.render.svg import ColumnBar

MOST_DRAWN = 30


@dataclass(frozen=True, kw_only=True)
class InferredColumns:
    """The risk of every column, the clearest leak first, as far as the page shows them."""

    bars: tuple[ColumnBar, ...]
    alike: tuple[str, ...]  # the columns that the first bar stands for
    n_apart: int  # columns that have a bar of their own, drawn or not
    threshold: float
    title: str

    @property
    def n_drawn(self) -> int:
        """How many columns have a bar of their own on the page."""
        return len(self.bars) - bool(self.alike)


def inferred(report: Report) -> list[InferredColumns]:
    """Return the risk by column of every attack that went through the columns one by one."""
    threshold = report.policy.thresholds.inference
    return [_columns(result, threshold) for result in report.results if result.columns]


def _columns(result: Result, threshold: float) -> InferredColumns:
    levels = {item.name: item.setting.level for item in result.configurations}

    def bar(label: str, item: ColumnRisk, words: str) -> ColumnBar:
        limit = judged_by(item.measure, threshold)
        return ColumnBar(label=label, risk=item.measure, threshold=limit, configuration=words)

    same = alike(result.columns)
    apart = [item for item in result.columns if item not in same]
    by_level: dict[str, list[ColumnRisk]] = {}
    for item in sorted(apart, key=lambda item: (-_low(item), item.column)):
        by_level.setdefault(_acting(levels, [item]), []).append(item)
    rows = [(words, item) for words, group in by_level.items() for item in group]
    bars = [bar(item.column, item, words) for words, item in rows[:MOST_DRAWN]]
    if same:
        middle = sorted(same, key=lambda item: item.risk.value if item.risk else 0.0)[len(same) // 2]
        bars = [bar(f"{len(same)} columns alike", middle, _acting(levels, same)), *bars]
    return InferredColumns(
        bars=tuple(bars),
        alike=tuple(item.column for item in same),
        n_apart=len(apart),
        threshold=threshold,
        title=result.full_title,
    )


def _low(item: ColumnRisk) -> float:
    return float("-inf") if item.measure is None else item.measure.low


def _acting(levels: dict[str, float], items: Sequence[ColumnRisk]) -> str:
    """Say on which guesses the attacker acts, in the configurations of these columns."""
    found = {levels[item.configuration] for item in items if item.configuration in levels}
    if not found:
        return ""
    if found == {1.0}:
        return "guessing for everybody"
    acting = f"acting on the surest {level(min(found))} of guesses"
    return acting if len(found) == 1 else f"{acting} or on more of them"
