"""All cells of a study before any is run, and what stands where in the report.

The plan is stored beside the cells. A report needs nothing else: no table, no code of the user's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tabveil.core.result import Labels
from tabveil.core.storage.plain import PlainData
from tabveil.core.workers import tell
from tabveil.protocols import Dataset, Metric
from tabveil.version import __version__
from tabveil.workflows.benchmark.study import Study, load
from tabveil.workflows.benchmark.trials import UTILITY, MetricCell, trials
from tabveil.workflows.cells.store import content


@dataclass(frozen=True, kw_only=True)
class CellPlace:
    """Where a cell stands in the report, and its address in the store."""

    key: str
    dataset: str
    risk: str
    level: float
    modifier_level: float | None
    repeat: int
    metric: str

    @classmethod
    def of(cls, cell: MetricCell, *, dataset: str, risk: str, metric: str) -> Self:
        """Return the place of a cell, by what the report calls its parts."""
        trial = cell.trial
        return cls(
            key=cell.key,
            dataset=dataset,
            risk=risk,
            level=trial.level,
            modifier_level=trial.modifier_level,
            repeat=trial.repeat,
            metric=metric,
        )


@dataclass(frozen=True, kw_only=True)
class Series:
    """A risk model as the report tells of it; ``model`` and ``modifier`` are their registered names."""

    label: str
    model: str
    modifier: str | None
    levels: tuple[float, ...]
    modifier_levels: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StudyMetric:
    """A metric as the report tells of it; the utility has no labels."""

    label: str
    name: str
    title: str
    labels: Labels | None


@dataclass(frozen=True, kw_only=True)
class StudyDataset:
    """A dataset as the report tells of it: its size, and the rows of a trial."""

    label: str
    rows: int
    columns: int
    sha256: str
    train: int
    control: int
    release: int


@dataclass(frozen=True, kw_only=True)
class StudyPlan(PlainData):
    """What a study comes to, as it is stored."""

    version: str
    title: str
    seed: int
    repeats: int
    datasets: tuple[StudyDataset, ...]
    risks: tuple[Series, ...]
    metrics: tuple[StudyMetric, ...]
    places: tuple[CellPlace, ...]

    def __post_init__(self) -> None:
        """Refuse a plan whose cells stand nowhere in it: it was read from a file that somebody changed."""
        series = {item.label: item for item in self.risks}
        known = {item.label for item in self.datasets}, {item.label for item in self.metrics}
        for place in self.places:
            risk = series.get(place.risk)
            if place.dataset not in known[0] or place.metric not in known[1] or risk is None:
                raise ValueError("a cell is of no dataset, risk or metric of the plan")
            modifiers = risk.modifier_levels or (None,)
            if place.level not in risk.levels or place.modifier_level not in modifiers:
                raise ValueError("a cell is of no level of the plan")
            if not 0 <= place.repeat < self.repeats:
                raise ValueError("a cell is of no repeat of the plan")


@dataclass(frozen=True, kw_only=True)
class CellWork:
    """Cells to run by their address, with the dataset each draws its people from."""

    cells: Mapping[str, MetricCell]
    datasets: Mapping[str, Dataset]  # by the address of a cell


@dataclass(frozen=True, kw_only=True)
class StudyWork(CellWork):
    """The plan, and all of its cells."""

    plan: StudyPlan


def work_of(study: Study) -> StudyWork:
    """Load the datasets once, and list every cell."""
    places: list[CellPlace] = []
    found: dict[str, MetricCell] = {}
    sources: dict[str, Dataset] = {}
    described: list[StudyDataset] = []
    asked: list[tuple[str, Metric | None]] = [(item.label, item.metric) for item in study.metrics]
    if study.utility:
        asked.append((UTILITY, None))
    for choice in study.datasets:
        tell(f"reading {choice.label}", 0.0)
        table = load(choice.dataset)
        sizes, sha256 = study.sizes(choice.label, len(table)), content(table)
        described.append(
            StudyDataset(
                label=choice.label, rows=len(table), columns=len(table.schema), sha256=sha256, **vars(sizes)
            )
        )
        for risk in study.risks:
            for trial in trials(risk, sha256, sizes, seed=study.seed, repeats=study.repeats):
                for label, metric in asked:
                    cell = MetricCell(trial=trial, metric=metric)
                    found[cell.key], sources[cell.key] = cell, choice.dataset
                    places.append(CellPlace.of(cell, dataset=choice.label, risk=risk.label, metric=label))
    plan = StudyPlan(
        version=__version__,
        title=study.title,
        seed=study.seed,
        repeats=study.repeats,
        datasets=tuple(described),
        risks=tuple(
            Series(
                label=risk.label,
                model=risk.model.name,
                modifier=None if risk.modifier is None else risk.modifier.modifier.name,
                levels=risk.levels,
                modifier_levels=() if risk.modifier is None else risk.modifier.levels,
            )
            for risk in study.risks
        ),
        metrics=tuple(
            StudyMetric(label=label, name=UTILITY, title="Usefulness", labels=None)
            if metric is None
            else StudyMetric(label=label, name=metric.name, title=metric.title, labels=metric.labels)
            for label, metric in asked
        ),
        places=tuple(places),
    )
    return StudyWork(plan=plan, cells=found, datasets=sources)
