"""All that a store tells about metrics: curves, score cards, correlations, times, gaps, and what follows.

Made from the plan and the cells alone, and stored as JSON: a page needs nothing else.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from tabveil.core.storage.plain import PlainData
from tabveil.workflows.benchmark.curves import (
    CurveCells,
    ResponseCurve,
    all_trials,
    curves,
    mean,
    rank_correlation,
    value_of,
)
from tabveil.workflows.benchmark.plan import (
    CellPlace,
    Series,
    StudyDataset,
    StudyMetric,
    StudyPlan,
)
from tabveil.workflows.benchmark.records import Record, Store
from tabveil.workflows.benchmark.scorecards import Recommendation, ScoreCard, recommend, score
from tabveil.workflows.cells.store import Losses

Missing = Literal["failed", "skipped", "without a value", "not run", "unreadable"]


@dataclass(frozen=True, kw_only=True)
class Correlations:
    """How alike metrics answer: Spearman's correlation over all trials of one risk on one dataset."""

    dataset: str
    risk: str
    metrics: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    n_trials: int


@dataclass(frozen=True, kw_only=True)
class Time:
    """What a metric costs on a dataset, in CPU seconds: for an answer, and for all of them."""

    dataset: str
    metric: str
    mean: float
    total: float
    n: int


@dataclass(frozen=True, kw_only=True)
class AnswerGap:
    """Cells without an answer, and why."""

    dataset: str
    risk: str
    metric: str
    kind: Missing
    why: str
    n: int


@dataclass(frozen=True, kw_only=True)
class Findings(PlainData):
    """Everything a report shows; ``plan`` is the study, without the addresses of its cells."""

    plan: StudyPlan
    curves: tuple[ResponseCurve, ...]
    cards: tuple[ScoreCard, ...]
    correlations: tuple[Correlations, ...]
    times: tuple[Time, ...]
    choices: tuple[Recommendation, ...]
    gaps: tuple[AnswerGap, ...]
    n_cells: int

    def people(self, label: str) -> StudyDataset:
        """Return a dataset by its label."""
        return next(item for item in self.plan.datasets if item.label == label)

    def series(self, label: str) -> Series:
        """Return a risk by its label."""
        return next(item for item in self.plan.risks if item.label == label)

    def metric(self, label: str) -> StudyMetric:
        """Return a metric by its label."""
        return next(item for item in self.plan.metrics if item.label == label)

    def json_text(self) -> str:
        """Return the text of a file."""
        return json.dumps(self.to_json(), ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def find(store: Store | str | Path) -> Findings:
    """Read a store and say what it tells; cells that are not there yet are gaps."""
    place = store if isinstance(store, Store) else Store(Path(store))
    plan = place.plan()
    records: dict[str, Record] = {}
    failures: dict[str, str] = {}
    losses = Losses()
    lost: set[str] = set()
    for key, item in {item.key: item for item in plan.places}.items():
        told = len(losses.told)
        if (record := losses.read(partial(place.record, item))) is not None:
            records[key] = record
        elif len(losses.told) > told:
            lost.add(key)
        elif (why := losses.read(partial(place.failure, key))) is not None:
            failures[key] = why
    losses.tell("it is left out, and 'tabveil benchmark run' makes it again")
    return findings(plan, records, failures, lost)


def findings(
    plan: StudyPlan,
    records: Mapping[str, Record],
    failures: Mapping[str, str],
    lost: Collection[str] = (),
) -> Findings:
    """Put together what records tell, by the addresses of the plan; ``lost`` are those nobody can read."""
    placed = {item.key: item for item in plan.places}
    known = {key: record for key, record in records.items() if key in placed}
    privacy = {item.label for item in plan.metrics if item.labels is not None}
    trials = list(all_trials(plan, known))
    judged = [item for item in trials if item.metric in privacy]
    cards = tuple(map(score, judged))
    return Findings(
        plan=replace(plan, places=()),
        curves=tuple(curve for item in trials for curve in curves(item)),
        cards=cards,
        correlations=tuple(_correlations(judged)),
        times=tuple(_times(trials)),
        choices=recommend(cards, plan),
        gaps=tuple(_gaps(plan.places, known, failures, lost, privacy)),
        n_cells=len(placed),
    )


def _correlations(judged: Sequence[CurveCells]) -> Iterable[Correlations]:
    for (dataset, risk), group in groupby(judged, key=lambda item: (item.dataset, item.series.label)):
        answers: dict[str, dict[tuple[float, float | None, int], float]] = {}
        for item in group:
            own = answers.setdefault(item.metric, {})
            for place in item.places:  # the plan's: equal cells may stand in several
                record = item.records.get(place.key)
                if record is not None and (value := value_of(record)) is not None:
                    own[place.level, place.modifier_level, place.repeat] = value
        names = tuple(answers)
        values = tuple(
            tuple(1.0 if one == other else _alike(answers[one], answers[other]) for other in names)
            for one in names
        )
        n_trials = len({trial for found in answers.values() for trial in found})
        yield Correlations(dataset=dataset, risk=risk, metrics=names, values=values, n_trials=n_trials)


def _alike(one: Mapping[Any, float], other: Mapping[Any, float]) -> float | None:
    both = [trial for trial in one if trial in other]
    return rank_correlation([one[trial] for trial in both], [other[trial] for trial in both]).value


def _times(trials: Sequence[CurveCells]) -> Iterable[Time]:
    """Sum up what answers took, each counted once."""
    seconds: dict[tuple[str, str], dict[str, float]] = {}
    for item in trials:
        kept = seconds.setdefault((item.dataset, item.metric), {})
        for key, record in item.records.items():
            if record.cpu_seconds is not None and record.answer.skipped is None:
                kept[key] = record.cpu_seconds
    for (dataset, metric), found in seconds.items():
        summary = mean(found.values())
        if summary is not None:
            total = summary.value * summary.n
            yield Time(dataset=dataset, metric=metric, mean=summary.value, total=total, n=summary.n)


def _gaps(
    places: Sequence[CellPlace],
    known: Mapping[str, Record],
    failures: Mapping[str, str],
    lost: Collection[str],
    privacy: set[str],
) -> Iterable[AnswerGap]:
    counted: Counter[tuple[str, str, str, Missing, str]] = Counter()
    for place in places:
        found: tuple[Missing, str] | None = ("unreadable", "its file was damaged or changed")
        if place.key not in lost:
            found = _missing(known.get(place.key), failures.get(place.key), judged=place.metric in privacy)
        if found is not None:
            counted[place.dataset, place.risk, place.metric, *found] += 1
    for (dataset, risk, metric, kind, why), n in counted.items():
        yield AnswerGap(dataset=dataset, risk=risk, metric=metric, kind=kind, why=why, n=n)


def _missing(record: Record | None, failure: str | None, *, judged: bool) -> tuple[Missing, str] | None:
    if record is None:
        return ("not run", "not run yet") if failure is None else ("failed", failure)
    if record.answer.skipped is not None:
        return "skipped", record.answer.skipped
    if judged and value_of(record) is None:
        return "without a value", "no risk could be derived"
    return None
