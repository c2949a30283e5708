"""Of how many training people does something reappear in a release, and of how many people it never saw?

Given the release, whether something of a person stands in it depends on that person alone. If nothing was
learned by heart, training and control people are equally likely to be among them, however common a name or a
phrase is, and however many rows each table has: two rates, compared as such.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from tabveil.core import check
from tabveil.core.estimate import CONFIDENCE, Estimate, difference, rate, sidak, strongest
from tabveil.core.findings import Configuration, Setting
from tabveil.core.people import Flags, any_of_person
from tabveil.core.result import Result, Scores, params_of
from tabveil.core.table import Split
from tabveil.protocols import Metric

_NO_CONTROL = "No control: what reappears may be common to all people, so no risk is derived."
_NO_ROOM = "Something of all control people reappears: there is no room for a risk."


@dataclass(frozen=True, kw_only=True, eq=False)
class Reappearance:
    """Of whom something reappears; ``weight`` is how much of a person it gives away."""

    train: Flags  # (n_train,)
    control: Flags  # (n_control,)
    weight: float = 1.0

    def of_people(self, split: Split) -> Self:
        """Say of people what this says of rows, by any of their rows."""
        train, control = split.train.people, split.control.people
        return replace(
            self, train=any_of_person(self.train, train), control=any_of_person(self.control, control)
        )

    def counts(self, what: str = "people") -> dict[str, int]:
        """Return how many these are, named after the tables and ``what`` they are."""
        return {f"train_{what}": int(self.train.sum()), f"control_{what}": int(self.control.sum())}


@dataclass(frozen=True, kw_only=True)
class Replay(Metric):
    """A confidence, and tables of words. What stands in a release needs no attacker."""

    confidence: float = CONFIDENCE

    reads_words: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check.between(type(self).__name__, "confidence", self.confidence, 0.5, 1)

    def answer(
        self,
        asked: Sequence["Asking"],
        by_row: Flags,
        *,
        details: Mapping[str, Any],
        notes: Sequence[str] = (),
    ) -> Result:
        """Compare all that is asked, in intervals that hold together; ``by_row`` flags rows of train."""
        level = sidak(self.confidence, len(asked))
        configurations = [item.compared(level) for item in asked]
        # Without a leak the largest lower bound is only that of the narrowest interval, and tells nothing.
        risks = {place: it.risk for place, it in enumerate(configurations) if it.risk and it.risk.low > 0}
        lead = configurations[strongest(risks) if risks else 0]
        why = () if lead.risk is not None else (_NO_CONTROL if lead.control is None else _NO_ROOM,)
        return Result(
            metric=self.name,
            labels=self.labels,
            params=params_of(self),
            risk=lead.risk,
            attack=lead.attack,
            control=lead.control,
            leading=lead.setting,
            configurations=tuple(configurations),
            details={"confidence_of_each": level, **details},
            sensitive_scores=(
                Scores(table="train", rows=np.arange(len(by_row)), values=by_row.astype(np.float64)),
            ),
            notes=(*why, *notes),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Asking:
    """One way to look for what reappears: of whom it does, whole or in part; nobody is in two levels."""

    setting: Setting
    levels: Sequence[Reappearance]
    facts: Mapping[str, Any]

    def compared(self, confidence: float) -> Configuration:
        """Compare the two tables.

        A weighted sum of rates, or of differences of rates, has the bounds of its parts added in squares
        (MOVER; Zou and Donner 2008): they hold where nothing was counted, too.
        """
        levels = [(each.weight, _counted(each.train), _counted(each.control)) for each in self.levels]
        attack = _weighted([(weight, rate(*train, confidence)) for weight, train, _ in levels])
        found = Configuration(setting=self.setting, attack=attack, facts=self.facts)
        if len(self.levels[0].control) == 0:
            return found
        control = _weighted([(weight, rate(*others, confidence)) for weight, _, others in levels])
        more = _weighted(
            [(weight, difference(*train, *others, confidence)) for weight, train, others in levels]
        )
        room = 1 - control.value
        risk = None
        if room > 0:
            value = more.value / room
            high = min(more.high / room, max(value, 1.0))
            risk = Estimate(value=value, low=more.low / room, high=high, n=more.n)
        return replace(found, control=control, risk=risk)


def _counted(flags: Flags) -> tuple[int, int]:
    return int(flags.sum()), len(flags)


def _weighted(parts: Sequence[tuple[float, Estimate]]) -> Estimate:
    value = sum(weight * part.value for weight, part in parts)
    below = math.hypot(*(weight * (part.value - part.low) for weight, part in parts))
    above = math.hypot(*(weight * (part.high - part.value) for weight, part in parts))
    return Estimate(value=value, low=value - below, high=value + above, n=parts[0][1].n)
