"""Which columns an attack infers: drawn apart only where they differ, and with the configuration of each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from tabveil.auditing.report import Report
from tabveil.core.estimate import Estimate
from tabveil.core.result import ColumnRisk, Result
from tabveil.core.wording import level
from tabveil.render.svg import ColumnBar

MOST_DRAWN = 30
LEAST_ALIKE = 3  # columns that one bar may stand for


@dataclass(frozen=True, kw_only=True)
class Secrets:
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


def secrets(report: Report) -> list[Secrets]:
    """Return the risk by column of every attack that went through the columns one by one."""
    threshold = report.policy.thresholds.inference
    return [_secrets(result, threshold) for result in report.results if result.columns]


def alike(columns: Iterable[ColumnRisk]) -> list[ColumnRisk]:
    """Return the columns with a leak whose risks cannot be told from one common risk, by name.

    Where the rows of some people stand in the release, every column of theirs can be read off, and as a risk
    is a share of those not guessed anyway, all columns get the same one: the share of these people. That is
    one effect, however many columns show it. An interval that does not hold the middle risk is another one.
    """
    leaking = [(item, item.risk) for item in columns if item.risk is not None and _low(measure(item)) > 0]
    if not leaking:
        return []
    common = median(risk.value for _, risk in leaking)
    found = [item for item, risk in leaking if risk.low <= common <= risk.high]
    return sorted(found, key=lambda item: item.column) if len(found) >= LEAST_ALIKE else []


def measure(item: ColumnRisk) -> Estimate | None:
    """Return what is drawn and judged: the gain, or where there is none the risk."""
    return item.risk if item.gain is None else item.gain


def _secrets(result: Result, threshold: float) -> Secrets:
    levels = {item.name: item.setting.level for item in result.configurations}
    same = alike(result.columns)
    apart = [item for item in result.columns if item not in same]
    by_level: dict[str, list[ColumnRisk]] = {}
    for item in sorted(apart, key=lambda item: (-_low(measure(item)), item.column)):
        by_level.setdefault(_acting(levels, [item]), []).append(item)
    rows = [(words, item) for words, group in by_level.items() for item in group]
    bars = [
        ColumnBar(
            label=item.column,
            risk=measure(item),
            threshold=_judgeable(measure(item), threshold),
            configuration=words,
        )
        for words, item in rows[:MOST_DRAWN]
    ]
    if same:
        middle = measure(sorted(same, key=lambda item: item.risk.value if item.risk else 0.0)[len(same) // 2])
        together = ColumnBar(
            label=f"{len(same)} columns alike",
            risk=middle,
            threshold=_judgeable(middle, threshold),
            configuration=_acting(levels, same),
        )
        bars = [together, *bars]
    return Secrets(
        bars=tuple(bars),
        alike=tuple(item.column for item in same),
        n_apart=len(apart),
        threshold=threshold,
        title=result.full_title,
    )


def _low(risk: Estimate | None) -> float:
    return float("-inf") if risk is None else risk.low


def _judgeable(risk: Estimate | None, threshold: float) -> float | None:
    """Return the threshold, unless the interval reaches from below zero to above it: that shows nothing."""
    wide = risk is not None and risk.low <= 0 and risk.high > threshold
    return None if wide else threshold


def _acting(levels: dict[str, float], items: Sequence[ColumnRisk]) -> str:
    """Say on which guesses the attacker acts, in the configurations of these columns."""
    found = {levels[item.configuration] for item in items if item.configuration in levels}
    if not found:
        return ""
    if found == {1.0}:
        return "guessing for everybody"
    acting = f"acting on the surest {level(min(found))} of guesses"
    return acting if len(found) == 1 else f"{acting} or on more of them"
