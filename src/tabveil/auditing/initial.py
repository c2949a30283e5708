"""The risk before and after: what an intruder would gain if the training rows themselves were released.

That is the initial risk, in the words of those who ask for both; the risk of the release is what is left of
it. It is no risk of the release, and no verdict rests on it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from tabveil.auditing.policy import Risk
from tabveil.auditing.verdict import Verdict
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.table import Split
from tabveil.tables.reading import LoadedTables


@dataclass(frozen=True, kw_only=True)
class RiskBefore:
    """One risk of the training rows, as if they were released: of 1, how many people are exposed."""

    risk: Risk
    value: Number | None  # the largest measured
    high: Number | None  # the highest upper bound
    attack: str = ""  # which measured most


@dataclass(frozen=True, kw_only=True)
class InitialRisk(PlainData):
    """All risks of the training rows themselves."""

    risks: tuple[RiskBefore, ...]

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """Take what an audit of the training rows found."""
        return cls(
            risks=tuple(
                RiskBefore(
                    risk=item.risk,
                    value=item.value,
                    high=item.high,
                    attack="" if item.strongest is None else item.strongest.title or item.strongest.metric,
                )
                for item in verdict.risks
            )
        )

    def beside(self, verdict: Verdict) -> Iterator[tuple[RiskBefore, float | None, float | None]]:
        """Return each risk before with what the release has: the measured value, and its upper bound."""
        after = {item.risk: (item.value, item.high) for item in verdict.risks}
        for item in self.risks:
            yield (item, *after.get(item.risk, (None, None)))


def as_released(loaded: LoadedTables) -> LoadedTables:
    """Return the same tables with the training rows in the place of the release."""

    def own(split: Split) -> Split:
        return replace(split, synthetic=replace(split.train, people=None))

    return replace(
        loaded,
        split=own(loaded.given),
        given=own(loaded.given),
        written=None if loaded.written is None else own(loaded.written),
        words=None if loaded.words is None else own(loaded.words),
        identifiers=None,
        turned=(),
        drawn=None,
    )
