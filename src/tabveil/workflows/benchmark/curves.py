"""Response curves: what a metric says, level by level of what was inserted.

A curve runs over the levels of the risk. Where the circumstances vary instead (a modifier with several
levels), it runs over those, and each level of the risk has a curve of its own.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal

from tabveil.workflows.benchmark.plan import Place, Plan, Series
from tabveil.workflows.benchmark.store import Record
from tabveil.workflows.benchmark.summaries import Mean, Share, mean, share

Varied = Literal["risk", "modifier"]


@dataclass(frozen=True, kw_only=True)
class Point:
    """One level of a curve: what the repeats come to. ``n_missing`` of those planned have no value.

    ``seen`` is the share of repeats in which the metric saw a risk. ``largest`` are what papers report: the
    largest risk over all configurations of an attack. ``facts`` are means of those of the releases.
    """

    level: float
    mean: Mean | None
    seen: Share | None
    largest: Mean | None
    cpu_seconds: float | None
    n_missing: int
    facts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Curve:
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
class Trials:
    """All cells of one curve, as planned, and what is known of them."""

    dataset: str
    series: Series
    metric: str
    held: float | None
    places: tuple[Place, ...]
    records: Mapping[str, Record]

    @property
    def varied(self) -> Varied:
        """What the curve runs over."""
        return varied(self.series)

    def level(self, place: Place) -> float:
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

    def values(self, level: float) -> list[float]:
        """Return the values at a level, repeat by repeat."""
        return [value for record in self.known(level) if (value := value_of(record)) is not None]

    @property
    def pairs(self) -> tuple[list[float], list[float]]:
        """All levels with all values, repeat by repeat."""
        found = [(self.level(record.place), value_of(record)) for record in self.known()]
        kept = [(level, value) for level, value in found if value is not None]
        return [level for level, _ in kept], [value for _, value in kept]


def varied(series: Series) -> Varied:
    """Return what the curves of a series run over."""
    return "modifier" if len(series.modifier_levels) > 1 else "risk"


def value_of(record: Record) -> float | None:
    """Return what is judged of an answer, if it is a number."""
    measure = record.answer.measure
    return measure.value if measure is not None and math.isfinite(measure.value) else None


def all_trials(plan: Plan, records: Mapping[str, Record]) -> Iterator[Trials]:
    """Sort the cells of a plan by the curve they belong to, in the plan's order."""
    by_name = {series.label: series for series in plan.risks}
    order = {metric.label: i for i, metric in enumerate(plan.metrics)}
    datasets = {people.label: i for i, people in enumerate(plan.datasets)}
    risks = {series.label: i for i, series in enumerate(plan.risks)}

    def curve(place: Place) -> tuple[int, int, int, float]:
        held = place.level if varied(by_name[place.risk]) == "modifier" else -math.inf
        return datasets[place.dataset], risks[place.risk], order[place.metric], held

    for (_, _, _, held), group in groupby(sorted(plan.places, key=curve), key=curve):
        places = tuple(group)
        yield Trials(
            dataset=places[0].dataset,
            series=by_name[places[0].risk],
            metric=places[0].metric,
            held=None if held == -math.inf else held,
            places=places,
            records={place.key: records[place.key] for place in places if place.key in records},
        )


def curves(trials: Trials) -> list[Curve]:
    """Return the curve of the measure, and one for every further figure of the answers."""
    names = sorted({name for record in trials.known() for name in record.answer.figures})
    measured = trials.answered() or not names  # the utility has figures only
    return [_curve(trials, name) for name in ([None] if measured else []) + names]


def _curve(trials: Trials, figure: str | None) -> Curve:
    return Curve(
        dataset=trials.dataset,
        risk=trials.series.label,
        metric=trials.metric,
        figure=figure,
        varied=trials.varied,
        held=trials.held,
        points=tuple(_point(trials, figure, level) for level in trials.levels),
    )


def _point(trials: Trials, figure: str | None, level: float) -> Point:
    known, answered = trials.known(level), trials.answered(level)
    if figure is None:
        values = trials.values(level)
        seen = share(sum(record.answer.seen for record in answered), len(answered))
        largest = mean(item for record in answered if (item := record.answer.largest) is not None)
    else:
        values = [record.answer.figures[figure] for record in known if figure in record.answer.figures]
        seen = largest = None
    summary = mean(values)
    planned = sum(trials.level(place) == level for place in trials.places)
    return Point(
        level=level,
        mean=summary,
        seen=seen,
        largest=largest,
        cpu_seconds=mean_seconds(answered if figure is None else known),
        n_missing=planned - (0 if summary is None else summary.n),
        facts=_facts(known),
    )


def mean_seconds(records: Iterable[Record]) -> float | None:
    """Return the CPU seconds of an answer, on average."""
    found = mean(record.cpu_seconds for record in records if record.cpu_seconds is not None)
    return None if found is None else found.value


def _facts(records: Sequence[Record]) -> dict[str, float]:
    names = sorted({name for record in records for name in record.answer.facts})
    told = {
        name: mean(record.answer.facts[name] for record in records if name in record.answer.facts)
        for name in names
    }
    return {name: found.value for name, found in told.items() if found is not None}
