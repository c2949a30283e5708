"""How well do scores tell members from others? The exact ROC curve, its area, and one headline.

All membership attacks end here: each row has a score, train rows are members, control rows are not. Given the
release, the rows' scores are independent of each other, so the usual variances hold. The headline is the
strongest of the attacker's levels (TPR at some FPR against that FPR): low ones, where one row in a hundred
that leaks shows, and one half, where all rows leak a little. The area under the curve, as ``2·AUC − 1``, is a
test beside them: it sees such diffuse leaks best, but is no share of people and bounds none.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from tabveil.core.estimate import (
    CONFIDENCE,
    AreaUnderCurve,
    Estimate,
    known,
    level_of,
    outranked,
    rate_beyond,
    tail_beyond_zero,
)
from tabveil.core.result import Curve, Setting
from tabveil.core.sampling import surest_rows
from tabveil.core.table import Floats, Indices
from tabveil.metrics.attacks.configurations import Comparator, Comparison, Headline, choose, compare_counts
from tabveil.metrics.attacks.guessing import LEAST_CONFIDENT, Guesses, Tally, rank_together, tallies

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
        scores = np.round(train, decimals), np.round(control, decimals)
        kept = [
            surest_rows(whose, score, tie_break and tie_break[side])
            for side, (whose, score) in enumerate(zip(people, scores, strict=True))
        ]
        broken = None if tie_break is None else (tie_break[0][kept[0]], tie_break[1][kept[1]])
        ranks = rank_together((scores[0][kept[0]], scores[1][kept[1]]), broken)
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

    @cached_property
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


@dataclass(frozen=True, kw_only=True)
class RankedHeadline:
    """The headline of an attack that ranks people, and the curve of its scores."""

    headline: Headline
    curve: Curve


def judge(
    name: str, ranked: Ranking, also: Mapping[str, Ranking] | None = None, *, confidence: float
) -> RankedHeadline:
    """Choose the headline among the levels of ``ranked``; its area, and those of other rankings, are tests.

    The baseline is a coin: it finds as large a share of the members as it takes of the other rows.
    """
    counted = _confident(name, ranked)
    comparators: dict[Setting, Comparator] = {
        Setting(label=f"{key}, 2·AUC − 1", statistic="area"): partial(compare_area, other, gained=not counted)
        for key, other in {name: ranked, **(also or {})}.items()
    }
    for setting, tally in counted.items():
        comparators[setting] = partial(_compare_rates, tally)
    return RankedHeadline(headline=choose(comparators, confidence), curve=curve_of(ranked, confidence))


def curve_of(ranked: Ranking, confidence: float) -> Curve:
    """Return the curve of a ranking, its area, and what it reads at low false positive rates."""
    readings = [
        (rate, ranked.true_positives(rate, confidence) if rate * len(ranked.control) >= 1 else None)
        for rate in FALSE_POSITIVES
    ]
    return Curve(points=ranked.points(), area=ranked.area(confidence), readings=tuple(readings))


def compare_area(ranked: Ranking, confidence: float, *, gained: bool = False) -> Comparison:
    """Compare the area with a coin's: a test, without a gain, as there is nobody to count.

    Where people are so few, or so much alike, that none can be counted at any level, it is all there is, and
    ``gained`` takes it for a gain: an interval that is wide enough then.
    """

    def risk(level: float) -> Estimate:
        area = ranked.area(level)
        return Estimate(value=2 * area.value - 1, low=2 * area.low - 1, high=2 * area.high - 1, n=area.n)

    coin, found = known(COIN, len(ranked.control)), risk(confidence)
    return Comparison(
        attack=ranked.area(confidence),
        control=coin,
        baseline=coin,
        risk=found,
        gain=found if gained else None,
        p_value=tail_beyond_zero(lambda errors: risk(level_of(errors)).low),
        beats_baseline=True,
    )


def _compare_rates(tally: Tally, confidence: float) -> Comparison:
    compared = compare_counts(tally, confidence)
    return replace(compared, baseline=compared.control, beats_baseline=True)


def _confident(name: str, ranked: Ranking) -> dict[Setting, Tally]:
    """Count the rows among the most confident of each level: to be called a member is the success."""
    train, control = (
        Guesses(
            correct=np.ones(len(ranks), dtype=bool),
            naive=np.zeros(len(ranks), dtype=bool),
            confidence=ranks.astype(np.float64),
        )
        for ranks in (ranked.train, ranked.control)
    )
    return tallies(Setting(label=name), train, control, levels(len(ranked.control)))
