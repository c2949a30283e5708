"""Response curves: what a metric says, level by level of what was inserted, with many repeats in few numbers.

A curve runs over the levels of the risk. Where the circumstances vary instead (a modifier with several
levels), it runs over those, and each level of the risk has a curve of its own. Where a number cannot be had
(one repeat, one level, a value that never changes) there is a reason in its place.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

import numpy as np
from scipy.special import betaincinv

from tabveil.core.estimate import CONFIDENCE, around, mean_ranks
from tabveil.core.table import Floats
from tabveil.workflows.benchmark.plan import CellPlace, Series, StudyPlan
from tabveil.workflows.benchmark.records import Record

LEAST_PAIRS = 3  # two points lie on a line, and in an order, whatever they are


@dataclass(frozen=True, kw_only=True)
class Mean:
    """A mean over repeats with Student's interval and the standard deviation; one repeat has neither."""

    value: float
    low: float | None
    high: float | None
    deviation: float | None
    n: int


@dataclass(frozen=True, kw_only=True)
class Share:
    """So many of so many, between Clopper's and Pearson's bounds."""

    count: int
    n: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.n


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A number, or why there is none."""

    value: float | None = None
    why: str | None = None


def mean(values: Iterable[float], confidence: float = CONFIDENCE) -> Mean | None:
    """Sum up repeats; None without any. What is not a number is no repeat.

    >>> found = mean([1.0, 2.0, 3.0])
    >>> found.value, found.deviation, round(found.low, 3), round(found.high, 3)
    (2.0, 1.0, -0.484, 4.484)
    """
    found = np.array([value for value in values if math.isfinite(value)], dtype=np.float64)
    n = len(found)
    if n == 0:
        return None
    value = float(found.mean())
    if n == 1:
        return Mean(value=value, low=None, high=None, deviation=None, n=1)
    deviation = float(found.std(ddof=1))
    interval = around(value, deviation / math.sqrt(n), n, groups=n, confidence=confidence)
    return Mean(value=value, low=interval.low, high=interval.high, deviation=deviation, n=n)


def share(count: int, n: int, confidence: float = CONFIDENCE) -> Share | None:
    """Return a share with its exact interval (Clopper and Pearson 1934); None where nothing was counted.

    The repeats of a benchmark are few, and all or none of them is the usual answer: an interval that is right
    on average would there be too narrow.

    >>> found = share(5, 5)
    >>> round(found.low, 3), found.high
    (0.478, 1.0)
    """
    if n == 0:
        return None
    tail = (1 - confidence) / 2
    low = float(betaincinv(count, n - count + 1, tail)) if count else 0.0
    high = float(betaincinv(count + 1, n - count, 1 - tail)) if count < n else 1.0
    return Share(count=count, n=n, low=low, high=high)


def repeats_to_show(power: float, confidence: float = CONFIDENCE) -> int:
    """Return how many repeats, all of them seen, it takes for the interval of the chance to begin at power.

    >>> repeats_to_show(0.95), share(72, 72).low > 0.95 > share(71, 71).low
    (72, True)
    """
    return math.ceil(math.log((1 - confidence) / 2) / math.log(power))


def rank_correlation(x: Sequence[float], y: Sequence[float]) -> Statistic:
    """Return Spearman's correlation: does one rise where the other does? Ties share their mean rank.

    >>> rank_correlation([0, 0, 1, 1], [0.1, 0.1, 0.5, 0.9]).value.__round__(3)
    0.943
    """
    reason = _unrelatable(x, y)
    if reason is not None:
        return Statistic(why=reason)
    return Statistic(value=_correlation(mean_ranks(x), mean_ranks(y)))


def linearity(x: Sequence[float], y: Sequence[float]) -> Statistic:
    """Return R² of the least-squares line through the points.

    >>> linearity([0, 1, 2], [1, 3, 5]).value
    1.0
    """
    reason = _unrelatable(x, y)
    if reason is not None:
        return Statistic(why=reason)
    return Statistic(value=_correlation(np.array(x, dtype=np.float64), np.array(y, dtype=np.float64)) ** 2)


def _unrelatable(x: Sequence[float], y: Sequence[float]) -> str | None:
    if len(x) < LEAST_PAIRS:
        return "too few answers"
    if len(set(x)) == 1:
        return "one level only"
    if len(set(y)) == 1:
        return "its value never changes"
    return None


def _correlation(x: Floats, y: Floats) -> float:
    """Return Pearson's correlation, which rounding must not carry beyond its bounds."""
    x, y = _unit(x), _unit(y)
    return float(np.clip((x @ y) / math.sqrt(float(x @ x) * float(y @ y)), -1.0, 1.0))


def _unit(values: Floats) -> Floats:
    """Center values and bring them to a common size: squares of tiny ones would be zero."""
    centered: Floats = values - values.mean()
    scaled: Floats = centered / np.abs(centered).max()
    return scaled


def pooled_deviation(groups: Iterable[Sequence[float]]) -> Statistic:
    """Return the standard deviation within groups, of which each may have a mean of its own.

    >>> pooled_deviation([[1.0, 3.0], [10.0, 12.0], [7.0]]).value.__round__(3)
    1.414
    """
    kept = [np.array(values, dtype=np.float64) for values in groups if len(values) > 1]
    freedom = sum(len(values) - 1 for values in kept)
    if freedom == 0:
        return Statistic(why="one repeat only")
    return Statistic(value=math.sqrt(sum(float(((v - v.mean()) ** 2).sum()) for v in kept) / freedom))


Varied = Literal["risk", "modifier"]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One level of a curve: what the repeats come to. ``n_missing`` of those planned have no value.

    ``seen`` is the share of repeats in which the metric saw a risk. ``largest`` are what papers report: the
    largest risk over all configurations of an attack. ``risk`` is that of the headline where
    ``mean`` is of its gain, ``attack`` the score on train alone. ``facts`` are means of those of the
    releases.
    """

    level: float
    mean: Mean | None
    seen: Share | None
    largest: Mean | None
    risk: Mean | None
    attack: Mean | None
    cpu_seconds: float | None
    n_missing: int
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ResponseCurve:
    """What one metric says about one risk on one dataset.

    ``figure`` names a figure beside the measure, such as one of utility; nothing is *seen* by it. ``held`` is
    the level of the risk where a modifier is what varies.
    """

    dataset: str
    risk: str
    metric: str
    figure: str | None
    varied: Varied
    held: float | None
    points: tuple[Point, ...]


@dataclass(frozen=True, kw_only=True)
class CurveCells:
    """All cells of one curve, as planned, and what is known of them."""

    dataset: str
    series: Series
    metric: str
    held: float | None
    places: tuple[CellPlace, ...]
    records: Mapping[str, Record]

    @property
    def varied(self) -> Varied:
        """What the curve runs over."""
        return varied(self.series)

    def level(self, place: CellPlace) -> float:
        """Return where on the axis a cell stands."""
        return place.level if self.varied == "risk" else float(place.modifier_level or 0.0)

    @property
    def levels(self) -> list[float]:
        """The levels of the axis, rising."""
        return sorted({self.level(place) for place in self.places})

    def answered(self, level: float | None = None) -> list[Record]:
        """Return the records that hold a value, of one level or of all."""
        return [record for record in self.known(level) if value_of(record) is not None]

    def known(self, level: float | None = None) -> list[Record]:
        """Return what is known, of one level or of all."""
        chosen = (place for place in self.places if level is None or self.level(place) == level)
        return [self.records[place.key] for place in chosen if place.key in self.records]

    def values(self, level: float | None = None) -> list[float]:
        """Return the values at a level, or at all, repeat by repeat."""
        return [value for record in self.known(level) if (value := value_of(record)) is not None]


def varied(series: Series) -> Varied:
    """Return what the curves of a series run over."""
    return "modifier" if len(series.modifier_levels) > 1 else "risk"


def value_of(record: Record) -> float | None:
    """Return what is judged of an answer, if it is a number."""
    measure = record.answer.measure
    return measure.value if measure is not None and math.isfinite(measure.value) else None


def all_trials(plan: StudyPlan, records: Mapping[str, Record]) -> Iterator[CurveCells]:
    """Sort the cells of a plan by the curve they belong to, in the plan's order."""
    by_name = {series.label: series for series in plan.risks}
    order = {metric.label: i for i, metric in enumerate(plan.metrics)}
    datasets = {people.label: i for i, people in enumerate(plan.datasets)}
    risks = {series.label: i for i, series in enumerate(plan.risks)}

    def curve(place: CellPlace) -> tuple[int, int, int, float]:
        held = place.level if varied(by_name[place.risk]) == "modifier" else -math.inf
        return datasets[place.dataset], risks[place.risk], order[place.metric], held

    for (_, _, _, held), group in groupby(sorted(plan.places, key=curve), key=curve):
        places = tuple(group)
        yield CurveCells(
            dataset=places[0].dataset,
            series=by_name[places[0].risk],
            metric=places[0].metric,
            held=None if held == -math.inf else held,
            places=places,
            records={place.key: records[place.key] for place in places if place.key in records},
        )


def curves(trials: CurveCells) -> list[ResponseCurve]:
    """Return the curve of the measure, and one for every further figure of the answers."""
    names = sorted({name for record in trials.known() for name in record.answer.figures})
    measured = trials.answered() or not names  # the utility has figures only
    return [
        ResponseCurve(
            dataset=trials.dataset,
            risk=trials.series.label,
            metric=trials.metric,
            figure=figure,
            varied=trials.varied,
            held=trials.held,
            points=tuple(_point(trials, figure, level) for level in trials.levels),
        )
        for figure in ([None] if measured else []) + names
    ]


def _point(trials: CurveCells, figure: str | None, level: float) -> Point:
    known, answered = trials.known(level), trials.answered(level)
    if figure is None:
        values = trials.values(level)
        seen = share(sum(record.answer.seen for record in answered), len(answered))
        largest = mean(item for record in answered if (item := record.answer.largest) is not None)
        risk = mean(record.answer.risk.value for record in answered if record.answer.risk is not None)
        attack = mean(record.answer.attack for record in answered if record.answer.attack is not None)
    else:
        values = [record.answer.figures[figure] for record in known if figure in record.answer.figures]
        seen = largest = risk = attack = None
    summary = mean(values)
    facts = {
        name: mean(record.answer.facts[name] for record in known if name in record.answer.facts)
        for name in sorted({name for record in known for name in record.answer.facts})
    }
    planned = sum(trials.level(place) == level for place in trials.places)
    return Point(
        level=level,
        mean=summary,
        seen=seen,
        largest=largest,
        risk=risk,
        attack=attack,
        cpu_seconds=mean_seconds(answered if figure is None else known),
        n_missing=planned - (0 if summary is None else summary.n),
        facts={name: found.value for name, found in facts.items() if found is not None},
    )


def mean_seconds(records: Iterable[Record]) -> float | None:
    """Return the CPU seconds of an answer, on average."""
    found = mean(record.cpu_seconds for record in records if record.cpu_seconds is not None)
    return None if found is None else found.value
