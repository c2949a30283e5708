"""What a metric is worth: how its values follow the risk that was inserted, and what that costs."""

from dataclasses import dataclass

from tabveil.workflows.benchmark.curves import Trials, Varied, mean_seconds
from tabveil.workflows.benchmark.plan import Series
from tabveil.workflows.benchmark.summaries import (
    Mean,
    Reading,
    Share,
    linearity,
    mean,
    pooled_deviation,
    rank_correlation,
    share,
)

NOTHING = 0.0
"""The level at which nothing was inserted; not all risk models have one."""

UNKNOWN = {"generated"}
"""Models that insert nothing, and nobody knows what they betray: to see something is no false alarm."""

POWER = 0.95
_CIRCUMSTANCES = "circumstances vary here, not the risk"
_NO_ZERO = "no level without any risk was tried"
_NO_ANSWERS = "no answers"
_NOT_KNOWN = "what the generator betrays is not known"


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
    rank_correlation: Reading
    linearity: Reading
    deviation: Reading
    smallest: Smallest
    cpu_seconds: Reading


def score(trials: Trials) -> ScoreCard:
    """Judge one metric by all its answers."""
    levels, values = trials.pairs
    reason = _no_zero(trials)
    zero = trials.answered(NOTHING) if reason is None else []
    seconds = mean_seconds(trials.answered())
    return ScoreCard(
        dataset=trials.dataset,
        risk=trials.series.label,
        metric=trials.metric,
        varied=trials.varied,
        held=trials.held,
        n_answers=len(values),
        n_planned=len(trials.places),
        n_repeats=min(len(trials.answered(level)) for level in trials.levels),
        bias=mean(trials.values(NOTHING)) if zero else None,
        false_alarms=share(sum(record.answer.seen for record in zero), len(zero)),
        no_zero=reason,
        rank_correlation=rank_correlation(levels, values),
        linearity=linearity(levels, values),
        deviation=pooled_deviation(trials.values(level) for level in trials.levels),
        smallest=_smallest(trials),
        cpu_seconds=Reading(value=seconds, why=_NO_ANSWERS if seconds is None else None),
    )


def _no_zero(trials: Trials) -> str | None:
    """Say why nothing can be told about releases without any risk."""
    if trials.varied == "modifier":
        return _CIRCUMSTANCES
    if trials.series.model in UNKNOWN:
        return _NOT_KNOWN
    if NOTHING not in trials.levels:
        return _NO_ZERO
    return None if trials.answered(NOTHING) else _NO_ANSWERS


def inserted(series: Series) -> list[float]:
    """Return the levels of a series at which there is something to be seen, rising."""
    return sorted(level for level in series.levels if level != NOTHING)


def _smallest(trials: Trials) -> Smallest:
    """Come down from the largest level as long as the metric sees what is there."""
    if trials.varied == "modifier":
        return Smallest(level=None, seen=None, why=_CIRCUMSTANCES)
    found = Smallest(level=None, seen=None, why="nothing was inserted")
    for level in reversed(inserted(trials.series)):
        answered = trials.answered(level)
        seen = share(sum(record.answer.seen for record in answered), len(answered))
        if seen is None:
            return found if found.level is not None else Smallest(level=None, seen=None, why=_NO_ANSWERS)
        if seen.value < POWER:
            unseen = Smallest(level=None, seen=seen, why="seen in too few repeats at the largest level")
            return found if found.level is not None else unseen
        found = Smallest(level=level, seen=seen)
    return found
