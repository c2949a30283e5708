"""What a metric is worth: how its values follow the inserted risk, what that costs, and which to take.

Attacks are compared with attacks on the same risk, indicators with each other: an indicator that sees more
than an attack still says nothing about what an intruder gains.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Literal, get_args

from tabveil.core.result import Labels
from tabveil.workflows.benchmark import curves
from tabveil.workflows.benchmark.curves import CurveCells, Mean, Share, Statistic, Varied, varied
from tabveil.workflows.benchmark.plan import Series, StudyPlan

NOTHING = 0.0
"""The level at which nothing was inserted; not all risk models have one."""

UNKNOWN = {"generated"}
"""Models that insert nothing, and nobody knows what they betray: to see something is no false alarm."""

POWER = 0.95
_CIRCUMSTANCES = "circumstances vary here, not the risk"
_NO_ANSWERS = "no answers"


@dataclass(frozen=True, kw_only=True)
class Smallest:
    """The smallest level that is seen in 95 % of repeats or more, as is every larger one; or why none is.

    ``seen`` is the share of repeats there, and where no level is seen that often, at the largest one.
    """

    level: float | None
    seen: Share | None
    why: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreCard:
    """One metric on one risk of one dataset; ``held`` and ``varied`` as in its curve.

    ``n_repeats`` is the smallest number of answers that any level rests on.
    """

    dataset: str
    risk: str
    metric: str
    varied: Varied
    held: float | None
    n_answers: int
    n_planned: int
    n_repeats: int
    bias: Mean | None
    false_alarms: Share | None
    no_zero: str | None  # why bias and false alarms are not known
    rank_correlation: Statistic
    linearity: Statistic
    deviation: Statistic
    smallest: Smallest
    cpu_seconds: Statistic


def score(trials: CurveCells) -> ScoreCard:
    """Judge one metric by all its answers."""
    levels, values = [trials.level(record.place) for record in trials.answered()], trials.values()
    reason = _no_zero(trials)
    zero = trials.answered(NOTHING) if reason is None else []
    seconds = curves.mean_seconds(trials.answered())
    return ScoreCard(
        dataset=trials.dataset,
        risk=trials.series.label,
        metric=trials.metric,
        varied=trials.varied,
        held=trials.held,
        n_answers=len(values),
        n_planned=len(trials.places),
        n_repeats=min(len(trials.answered(level)) for level in trials.levels),
        bias=curves.mean(trials.values(NOTHING)) if zero else None,
        false_alarms=curves.share(sum(record.answer.seen for record in zero), len(zero)),
        no_zero=reason,
        rank_correlation=curves.rank_correlation(levels, values),
        linearity=curves.linearity(levels, values),
        deviation=curves.pooled_deviation(trials.values(level) for level in trials.levels),
        smallest=_smallest(trials),
        cpu_seconds=Statistic(value=seconds, why=_NO_ANSWERS if seconds is None else None),
    )


def _no_zero(trials: CurveCells) -> str | None:
    """Say why nothing can be told about releases without any risk."""
    if trials.varied == "modifier":
        return _CIRCUMSTANCES
    if trials.series.model in UNKNOWN:
        return "what the generator reveals is not known"
    if NOTHING not in trials.levels:
        return "no level without any risk was tried"
    return None if trials.answered(NOTHING) else _NO_ANSWERS


def inserted(series: Series) -> list[float]:
    """Return the levels of a series at which there is something to be seen, rising."""
    return sorted(level for level in series.levels if level != NOTHING)


def _smallest(trials: CurveCells) -> Smallest:
    """Come down from the largest level as long as the metric sees what is there."""
    if trials.varied == "modifier":
        return Smallest(level=None, seen=None, why=_CIRCUMSTANCES)
    found = Smallest(level=None, seen=None, why="nothing was inserted")
    for level in reversed(inserted(trials.series)):
        answered = trials.answered(level)
        seen = curves.share(sum(record.answer.seen for record in answered), len(answered))
        if seen is None or seen.value < POWER:
            why = _NO_ANSWERS if seen is None else "seen in too few repeats at the largest level"
            return found if found.level is not None else Smallest(level=None, seen=seen, why=why)
        found = Smallest(level=level, seen=seen)
    return found


Purpose = Literal["singling out", "linkability", "inference", "membership", "diagnosis"]
PURPOSES: tuple[Purpose, ...] = get_args(Purpose)

FALSE_ALARMS = 0.05
"""More than so many are too many; what is counted in few repeats must speak clearly against a metric."""


@dataclass(frozen=True, kw_only=True)
class Dominated:
    """A metric that sees less than another and costs more."""

    metric: str
    by: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The metric to take for one purpose, with the evidence; None if no metric sees what was inserted.

    ``level`` is the smallest that it sees, ``seen`` in how many repeats, ``as_good`` are those that see it
    too and take longer. ``blind`` see no level in 95 % of repeats, ``alarming`` too often see what is not
    there, ``unanswered`` gave no answers. ``n_repeats`` is the smallest number of repeats behind any of it.
    """

    dataset: str
    risk: str
    purpose: Purpose
    metric: str | None
    level: float | None
    seen: Share | None
    false_alarms: Share | None
    cpu_seconds: float | None
    as_good: tuple[str, ...]
    blind: tuple[str, ...]
    alarming: tuple[str, ...]
    unanswered: tuple[str, ...]
    dominated: tuple[Dominated, ...]
    n_repeats: int


def purpose_of(labels: Labels) -> Purpose:
    """Return what a metric is asked for."""
    if labels.pillar != "attack":
        return "diagnosis"
    return "membership" if labels.wp29 == "propensity" else labels.wp29


def recommend(cards: Sequence[ScoreCard], plan: StudyPlan) -> tuple[Recommendation, ...]:
    """Choose for every dataset and risk, purpose by purpose.

    Nothing is chosen where circumstances vary instead of the risk, or where nothing was inserted.
    """
    purposes = {item.label: purpose_of(item.labels) for item in plan.metrics if item.labels is not None}
    risky = {series.label for series in plan.risks if varied(series) == "risk" and inserted(series)}
    judged = [card for card in cards if card.risk in risky and card.metric in purposes]
    groups = [list(group) for _, group in groupby(judged, key=lambda card: (card.dataset, card.risk))]
    return tuple(
        _choose(purpose, candidates)
        for together in groups
        for purpose in PURPOSES
        if (candidates := [card for card in together if purposes[card.metric] == purpose])
    )


def _choose(purpose: Purpose, cards: Sequence[ScoreCard]) -> Recommendation:
    answering = [card for card in cards if card.n_answers]
    alarming = [card for card in answering if card.false_alarms and card.false_alarms.low > FALSE_ALARMS]
    seeing = [card for card in answering if card.smallest.level is not None and card not in alarming]
    seeing.sort(key=_order)
    best = seeing[0] if seeing else None
    return Recommendation(
        dataset=cards[0].dataset,
        risk=cards[0].risk,
        purpose=purpose,
        metric=best.metric if best else None,
        level=best.smallest.level if best else None,
        seen=best.smallest.seen if best else None,
        false_alarms=best.false_alarms if best else None,
        cpu_seconds=best.cpu_seconds.value if best else None,
        as_good=tuple(
            card.metric for card in seeing[1:] if best and card.smallest.level == best.smallest.level
        ),
        blind=tuple(
            card.metric for card in answering if card.smallest.level is None and card not in alarming
        ),
        alarming=tuple(card.metric for card in alarming),
        unanswered=tuple(card.metric for card in cards if not card.n_answers),
        dominated=_dominated(seeing),
        n_repeats=min((card.n_repeats for card in answering), default=0),
    )


def _order(card: ScoreCard) -> tuple[float, float, str]:
    level, seconds = (math.inf if x is None else x for x in (card.smallest.level, card.cpu_seconds.value))
    return level, seconds, card.metric


def _dominated(seeing: Sequence[ScoreCard]) -> tuple[Dominated, ...]:
    """Return those of which another sees smaller levels in less time; ``seeing`` is ordered by level."""
    found = []
    for place, card in enumerate(seeing):
        level, seconds, _ = _order(card)
        better = (item for item in seeing[:place] if _order(item)[0] < level and _order(item)[1] < seconds)
        found += [Dominated(metric=card.metric, by=by.metric) for by in islice(better, 1)]
    return tuple(found)
