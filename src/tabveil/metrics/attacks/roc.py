"""How well do scores tell members from others? The exact ROC curve, and a scan from the top down."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.crew import once
from tabveil.core.estimate import (
    CONFIDENCE,
    AreaUnderCurve,
    Estimate,
    Scanned,
    chance_of_ranks,
    deal,
    known,
    level_of,
    mean_ranks,
    outranked,
    rate_beyond,
    tail_beyond_zero,
)
from tabveil.core.findings import Curve, Setting
from tabveil.core.result import Labels, Result
from tabveil.core.sampling import Sample, surest_rows
from tabveil.core.table import Floats, Indices, Table
from tabveil.metrics.attacks.attack import Attack, NearestRowAttack, TellsMembers, both_sides, surest
from tabveil.metrics.attacks.configurations import Comparator, Comparison, Headline, choose, compare_counts
from tabveil.metrics.attacks.guessing import LEAST_CONFIDENT, Guesses, Tally, rank_together, scores, tallies

COIN = 0.5
FALSE_POSITIVES = (0.001, 0.01, 0.1)  # where the curve is read
MOST_POINTS = 200  # of the curve, in a report
SPACING = 2.0  # two levels nearer than this factor tell the same twice
LOWEST_LEVEL = 0.001
HIGHEST_LEVEL = 0.5


@dataclass(frozen=True, kw_only=True, eq=False)
class Ranking:
    """The rows of both tables ranked by their scores; equals share a rank."""

    train: Indices  # (n,) higher is more like a member
    control: Indices  # (m,)

    @classmethod
    def of(
        cls,
        train: Floats,
        control: Floats,
        tie_break: tuple[Floats, Floats] | None = None,
        decimals: int = 12,
        people: tuple[Indices | None, Indices | None] = (None, None),
    ) -> Self:
        """Rank rows by score, then by ``tie_break``. Scores equal to ``decimals`` places are ties.

        Where ``people`` have several rows, the highest row of each stands for the person.
        """
        rounded = np.round(train, decimals), np.round(control, decimals)
        kept = [
            surest_rows(whose, score, tie_break and tie_break[side])
            for side, (whose, score) in enumerate(zip(people, rounded, strict=True))
        ]
        broken = None if tie_break is None else (tie_break[0][kept[0]], tie_break[1][kept[1]])
        ranks = rank_together((rounded[0][kept[0]], rounded[1][kept[1]]), broken)
        return cls(train=ranks[0], control=ranks[1])

    def curve(self) -> tuple[Floats, Floats]:
        """Return the false and true positive rates, (k,) each, from (0, 0) to (1, 1)."""
        size = int(max(self.train.max(), self.control.max())) + 1
        rates = [
            np.append(0, np.bincount(side, minlength=size)[::-1].cumsum()) / len(side)
            for side in (self.control, self.train)
        ]
        return rates[0], rates[1]

    def area(self, confidence: float = CONFIDENCE) -> Estimate:
        """Return the area under the curve: does a member score higher than another row (ties half)?"""
        return self._area.within(confidence)

    @once
    def _area(self) -> AreaUnderCurve:
        """The area before bounds are put around it, which is done at many levels of confidence."""
        return AreaUnderCurve.of(outranked(self.train, self.control), outranked(self.control, self.train))

    def true_positives(self, false_positive_rate: float, confidence: float = CONFIDENCE) -> Estimate:
        """Return the share of members found where this share of other rows is taken for members.

        Read off the curve, straight between its points.
        """
        false, true = self.curve()
        last = np.append(np.diff(false) > 0, True)  # where the curve rises straight up, its upper end

        def read(rate: float) -> float:
            return float(np.interp(rate, false[last], true[last]))

        value, a = read(false_positive_rate), false_positive_rate
        slope = (read(min(2 * a, 1.0)) - read(a / 2)) / (min(2 * a, 1.0) - a / 2)
        return rate_beyond(
            value, len(self.train), level=a, n_others=len(self.control), slope=slope, confidence=confidence
        )

    @once
    def scanned(self) -> Scanned:
        """The people of both tables, pooled, and the depths at which no tie is cut."""
        ranks = np.concatenate([self.train, self.control])
        order = np.argsort(-ranks, kind="stable")
        above = np.sort(-ranks)
        deep = [*depths(len(ranks)), *(len(ranks) // part for part in DEEP if len(ranks) // part >= FIRST)]
        ends = [int(np.searchsorted(above, above[depth - 1], side="right")) for depth in deep]
        kept = np.unique([end for end in ends if end < len(ranks)]).astype(np.int64)
        return Scanned(order=order, ranks=mean_ranks(ranks), depths=kept)

    def tally(self, depth: int) -> Tally:
        """Count the members and the others among the first ``depth`` of the people, pooled."""
        members = int(np.sum(self.scanned.order[:depth] < len(self.train)))
        n_train, n_control = len(self.train), len(self.control)
        return Tally(train=members, n_train=n_train, control=depth - members, n_control=n_control)

    def points(self) -> tuple[tuple[float, float], ...]:
        """Return the curve for a report: all of it, or points that lie close where rates are low."""
        false, true = self.curve()
        corners = np.flatnonzero(np.append(True, (np.diff(false) > 0) | (np.diff(true) > 0)))
        if len(corners) > MOST_POINTS:
            half = MOST_POINTS // 2
            low = np.geomspace(1, len(corners) - 1, half).astype(np.int64)
            even = np.linspace(0, len(corners) - 1, half).astype(np.int64)
            corners = corners[np.unique(np.concatenate([low, even]))]
        return tuple((float(a), float(b)) for a, b in zip(false[corners], true[corners], strict=True))


def levels(n_control: int) -> tuple[float, ...]:
    """Choose the attacker's levels: 50 %, 10 %, 1 % and the lowest that leaves enough control rows."""
    lowest = max(LOWEST_LEVEL, LEAST_CONFIDENT / n_control)
    if lowest * n_control < LEAST_CONFIDENT:  # by a rounding error
        lowest = math.nextafter(lowest, 1.0)
    if lowest > HIGHEST_LEVEL:
        return ()
    return (*(level for level in (HIGHEST_LEVEL, 0.1, 0.01) if level >= SPACING * lowest), lowest)


def judge(
    name: str,
    ranked: Ranking,
    also: Mapping[str, Ranking] | None = None,
    *,
    confidence: float,
    counted: bool = True,
) -> Headline:
    """Choose the headline among the levels of ``ranked``; its area, and those of other rankings, are tests.

    The baseline is a coin: it finds as large a share of the members as it takes of the other rows. Where
    nobody is to be ``counted``, the area is all there is.
    """
    train, control = (  # to be called a member is the success
        Guesses(
            correct=np.ones(len(ranks), bool),
            naive=np.zeros(len(ranks), bool),
            confidence=ranks.astype(float),
        )
        for ranks in (ranked.train, ranked.control)
    )
    chosen = levels(len(ranked.control)) if counted else ()
    made = tallies(Setting(label=name), train, control, chosen)
    comparators: dict[Setting, Comparator] = {
        Setting(label=f"{key}, 2·AUC − 1", statistic="area"): partial(compare_area, other, gained=not made)
        for key, other in {name: ranked, **(also or {})}.items()
    }
    comparators |= {setting: partial(_compare_rates, tally) for setting, tally in made.items()}
    return replace(choose(comparators, confidence), curve=curve_of(ranked, confidence))


def curve_of(ranked: Ranking, confidence: float) -> Curve:
    """Return the curve of a ranking, its area, and what it reads at low false positive rates."""
    readings = [
        (rate, ranked.true_positives(rate, confidence) if rate * len(ranked.control) >= 1 else None)
        for rate in FALSE_POSITIVES
    ]
    return Curve(points=ranked.points(), area=ranked.area(confidence), readings=tuple(readings))


def compare_area(ranked: Ranking, confidence: float, *, gained: bool, dealt: bool = False) -> Comparison:
    """Compare the area with a coin's: a test, without a gain, as there is nobody to count.

    Where people are so few, or so much alike, that none can be counted at any level, it is all there is, and
    ``gained`` takes it for a gain: an interval that is wide enough then. Where labels are ``dealt`` anew,
    that the area is larger is decided by that test.
    """

    def risk(level: float) -> Estimate:
        return ranked.area(level).each(lambda area: 2 * area - 1)

    coin, found = known(COIN, len(ranked.control)), risk(confidence)
    p_value = tail_beyond_zero(lambda errors: risk(level_of(errors)).low)
    if dealt:
        ranks, n_train = ranked.scanned.ranks, len(ranked.train)
        p_value = max(p_value, float(chance_of_ranks(np.array(ranks[:n_train].sum()), ranks, n_train)))
        if found.low > 0 and 2 * p_value > 1 - confidence:
            found = replace(found, low=0.0)
    return Comparison(
        attack=ranked.area(confidence),
        control=coin,
        baseline=coin,
        risk=found,
        gain=found if gained else None,
        p_value=p_value,
        beats_baseline=True,
    )


def _compare_rates(tally: Tally, confidence: float) -> Comparison:
    """Compare the shares of members and of others that are named: equal for somebody who names by lot."""
    compared = compare_counts(tally, confidence)
    return replace(compared, baseline=compared.control, beats_baseline=True)


FIRST = 5  # people named by the most careful attacker
STEP = 1.2  # the next one names so many times as many: steps of 1.5 step over leaks of a few people
DEEPEST = 0.1  # of all people
DEEP = (4, 2)  # beyond, a quarter and half of all: where everybody leaks a little
DECIMALS = 9  # of scores: what differs less is a rounding error


@dataclass(frozen=True, kw_only=True)
class DealtAttack(TellsMembers, Attack):
    """What attacks have in common that rank members and others together, and test by dealing labels anew.

    Parameters
    ----------
    n_permutations
        How often labels are dealt anew for the exact test.
    """

    n_attacks: int | None = None
    n_permutations: int = 999

    on_request: ClassVar[bool] = True
    labels: ClassVar[Labels] = Labels(
        pillar="attack", wp29="propensity", mechanism="distance", auxiliary=True
    )
    reference: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        check.at_least(type(self).__name__, "n_permutations", self.n_permutations, 1)

    def conclude(
        self,
        attacked: tuple[Sample, Sample],
        suspicion: Mapping[str, tuple[Floats, Floats | None]],
        *,
        rng: Generator,
        details: Mapping[str, Any] | None = None,
    ) -> Result:
        """Judge scores of the pooled people, each with what breaks its ties; the first gives the curve."""
        shown, _ = next(iter(suspicion.values()))
        n_train, people = len(attacked[0]), (attacked[0].table.people, attacked[1].table.people)
        rankings = {}
        for name, (score, rare) in suspicion.items():
            broken = None if rare is None else (rare[:n_train], rare[n_train:])
            rankings[name] = Ranking.of(score[:n_train], score[n_train:], broken, DECIMALS, people)
        judged = scan(rankings, confidence=self.confidence, n_deals=self.n_permutations, rng=rng)
        by_row = scores(attacked, (shown[:n_train], shown[n_train:]))
        return judged.answer(self, details=details, scores=by_row)

    def sentence(self, result: Result) -> str:
        """Tell how well members were told from others by somebody who names those most like members."""
        if result.leading is None or result.leading.statistic == "area":
            return super().sentence(result)
        return (
            f"An attacker who names those {surest(result)} of all people as members who look most like it "
            f"names {both_sides(result)}. If both shares were equal, the attack would tell nothing."
        )


@dataclass(frozen=True, kw_only=True)
class PooledAttack(DealtAttack, NearestRowAttack):
    """What such attacks have in common that look for the nearest rows in a representation."""


def pool(train: Sample, control: Sample) -> Table:
    """Put the rows of both samples into one table, those of train first."""
    return train.table.joined(control.table)


def depths(n_people: int) -> list[int]:
    """Return how many people are named, one depth after the other; none where a tenth are fewer than five.

    >>> depths(200), depths(40)
    ([5, 6, 7, 9, 10, 12, 15, 18, 20], [])
    """
    deepest = int(DEEPEST * n_people)
    steps = [FIRST * STEP**step for step in range(64)]
    return sorted({min(round(depth), deepest) for depth in steps}) if deepest >= FIRST else []


def scan(rankings: Mapping[str, Ranking], *, confidence: float, n_deals: int, rng: Generator) -> Headline:
    """Choose the headline among all depths and areas of all rankings; the curve is that of the first."""
    first, scanned = next(iter(rankings.values())), [ranked.scanned for ranked in rankings.values()]
    dealt = deal(scanned, len(first.train), n_deals, rng=rng)
    comparators: dict[Setting, Comparator] = {}
    counted = any(len(found.depths) for found in scanned)
    for name, ranked in rankings.items():
        area = Setting(label=f"{name}, 2·AUC − 1", statistic="area")
        comparators[area] = partial(compare_area, ranked, gained=not counted, dealt=True)
        for depth in ranked.scanned.depths:
            setting = Setting(label=f"{name}, first {depth}", level=depth / len(ranked.scanned.ranks))
            comparators[setting] = partial(_compare_rates, ranked.tally(int(depth)))
    chosen = choose(comparators, confidence, deals=dealt)
    return replace(chosen, curve=curve_of(first, confidence))
