"""How well do scores tell members from others, looked at from the top down, and tested exactly?

Members and others are pooled and ranked by scores that do not know who is who. An attacker names the first
five, the first six, … of them, down to a tenth, then a quarter and a half. Where nothing leaks, those named
are members as often as their share of all people, whatever the depth; so all depths, and all scores, share
one exact test (labels dealt anew). A few copies stand out at small depths, many blurred ones at large ones, a
model that learned its rows a little too well in the area under the curve, which is a test and counts nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.estimate import Scanned, chance_of_ranks, deal, mean_ranks
from tabveil.core.result import Cost, Labels, Result, Setting, Threat
from tabveil.core.sampling import surest_rows
from tabveil.core.table import Floats, Indices, Table
from tabveil.metrics.attacks.attack import NearestRowAttack
from tabveil.metrics.attacks.configurations import Comparator, Comparison, choose, compare_counts
from tabveil.metrics.attacks.guessing import Tally, rank_together
from tabveil.metrics.attacks.phrases import members_named, membership_threat
from tabveil.metrics.attacks.roc import RankedHeadline, Ranking, compare_area, curve_of

FIRST = 5  # people named by the most careful attacker
STEP = 1.2  # the next one names so many times as many: steps of 1.5 step over leaks of a few people
DEEPEST = 0.1  # of all people
DEEP = (4, 2)  # beyond, a quarter and half of all: where everybody leaks a little
DECIMALS = 9  # of scores: what differs less is a rounding error


@dataclass(frozen=True, kw_only=True)
class PooledAttack(NearestRowAttack):
    """What attacks have in common that rank members and others together, and test by dealing labels anew."""

    n_attacks: int | None = None
    n_permutations: int = 999

    cost: ClassVar[Cost] = "quick"
    on_request: ClassVar[bool] = True
    labels: ClassVar[Labels] = Labels(
        pillar="attack", wp29="propensity", mechanism="distance", auxiliary=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least(type(self).__name__, "n_permutations", self.n_permutations, 1)

    def sentence(self, result: Result) -> str:
        """Tell how well members were told from others."""
        return members_named(result)

    def threat(self, result: Result) -> Threat:  # noqa: ARG002 - always the same attacker
        """Describe the attacker."""
        return membership_threat(reference=True)


def pool(train: Table, control: Table) -> Table:
    """Put the rows of both tables into one, those of train first."""
    whose = [side.people for side in (train, control) if side.people is not None]
    return Table(
        schema=train.schema,
        values=np.concatenate([train.values, control.values]),
        people=np.concatenate(whose) if whose else None,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled:
    """Members and others ranked together: higher is more like a member, and equals share a rank."""

    train: Indices  # (n,)
    control: Indices  # (m,)

    @classmethod
    def of(
        cls,
        scores: Floats,
        n_train: int,
        tie_break: Floats | None = None,
        *,
        people: Indices | None = None,
    ) -> Self:
        """Rank pooled people, train first, by score, then by ``tie_break``.

        Where somebody has several rows (``people`` says whose each is), the most suspicious speaks for them.
        """
        rounded = np.round(scores, DECIMALS) + 0.0
        if people is not None:
            rows = surest_rows(people, rounded, tie_break)
            rounded, tie_break = rounded[rows], None if tie_break is None else tie_break[rows]
            n_train = int(np.sum(rows < n_train))
        broken = None if tie_break is None else (tie_break[:n_train], tie_break[n_train:])
        train, control = rank_together((rounded[:n_train], rounded[n_train:]), broken)
        return cls(train=train, control=control)

    @cached_property
    def ranking(self) -> Ranking:
        """The same ranks, for their curve."""
        return Ranking(train=self.train, control=self.control)

    @cached_property
    def scanned(self) -> Scanned:
        """The pooled people, and the depths at which no tie is cut."""
        ranks = np.concatenate([self.train, self.control])
        order = np.argsort(-ranks, kind="stable")
        above = np.sort(-ranks)
        deep = [*depths(len(ranks)), *(len(ranks) // part for part in DEEP if len(ranks) // part >= FIRST)]
        ends = [int(np.searchsorted(above, above[depth - 1], side="right")) for depth in deep]
        kept = np.unique([end for end in ends if end < len(ranks)]).astype(np.int64)
        return Scanned(order=order, ranks=mean_ranks(ranks), depths=kept)

    def tally(self, depth: int) -> Tally:
        """Count the members and the others among the first ``depth``."""
        named = self.scanned.order[:depth]
        members = int(np.sum(named < len(self.train)))
        return Tally(
            train=members, n_train=len(self.train), control=depth - members, n_control=len(self.control)
        )


def depths(n_people: int) -> list[int]:
    """Return how many people are named, one depth after the other; none where a tenth are fewer than five.

    >>> depths(200), depths(40)
    ([5, 6, 7, 9, 10, 12, 15, 18, 20], [])
    """
    deepest = int(DEEPEST * n_people)
    steps = [FIRST * STEP**step for step in range(64)]
    return sorted({min(round(depth), deepest) for depth in steps}) if deepest >= FIRST else []


def scan(
    rankings: Mapping[str, Pooled], drawn: str, *, confidence: float, n_deals: int, rng: Generator
) -> RankedHeadline:
    """Choose the headline among all depths and areas of all rankings; the curve is that of ``drawn``."""
    n_train = len(rankings[drawn].train)
    dealt = deal([pooled.scanned for pooled in rankings.values()], n_train, n_deals, rng=rng)
    comparators: dict[Setting, Comparator] = {}
    counted = any(len(pooled.scanned.depths) for pooled in rankings.values())
    for name, pooled in rankings.items():
        area = Setting(label=f"{name}, 2·AUC − 1", statistic="area")
        comparators[area] = partial(_compare_area, pooled, gained=not counted)
        for depth in pooled.scanned.depths:
            setting = Setting(label=f"{name}, first {depth}", level=depth / len(pooled.scanned.ranks))
            comparators[setting] = partial(_compare_named, pooled.tally(int(depth)))
    return RankedHeadline(
        headline=choose(comparators, confidence, deals=dealt),
        curve=curve_of(rankings[drawn].ranking, confidence),
    )


def _compare_named(tally: Tally, confidence: float) -> Comparison:
    """Compare the shares of members and of others that are named: equal for somebody who names by lot."""
    compared = compare_counts(tally, confidence)
    return replace(compared, baseline=compared.control, beats_baseline=True)


def _compare_area(pooled: Pooled, confidence: float, *, gained: bool) -> Comparison:
    """Compare the area with a coin's; that it is larger is decided by the test that was dealt for."""
    compared = compare_area(pooled.ranking, confidence, gained=gained)
    ranks = pooled.scanned.ranks
    total = np.array(ranks[: len(pooled.train)].sum())
    p_value = max(compared.p_value or 0.0, float(chance_of_ranks(total, ranks, len(pooled.train))))
    risk = compared.risk
    if risk is not None and risk.low > 0 and 2 * p_value > 1 - confidence:
        risk = replace(risk, low=0.0)
    return replace(compared, risk=risk, gain=risk if gained else None, p_value=p_value)
