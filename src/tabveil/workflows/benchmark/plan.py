"""All cells of a study, before any is run: what stands where in the report, and at which address.

The plan is stored beside the cells. A report needs nothing else: no table, no code of the user's.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from tabveil.core.result import Labels
from tabveil.core.storage.plain import PlainData
from tabveil.core.table import Table
from tabveil.core.workers import tell
from tabveil.protocols import Dataset, Metric
from tabveil.version import __version__
from tabveil.workflows.benchmark.study import RiskChoice, Study, load
from tabveil.workflows.benchmark.trials import UTILITY, Cell, Trial, trials


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a cell stands in the report, and its address in the store."""

    key: str
    dataset: str
    risk: str
    level: float
    modifier_level: float | None
    repeat: int
    metric: str


@dataclass(frozen=True, kw_only=True)
class Series:
    """A risk model as the report tells of it; ``model`` and ``modifier`` are their registered names."""

    label: str
    model: str
    modifier: str | None
    levels: tuple[float, ...]
    modifier_levels: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AskedMetric:
    """A metric as the report tells of it; the utility has no labels."""

    label: str
    name: str
    title: str
    labels: Labels | None


@dataclass(frozen=True, kw_only=True)
class People:
    """A dataset as the report tells of it: its size, and the rows of a trial."""

    label: str
    rows: int
    columns: int
    sha256: str
    train: int
    control: int
    release: int


@dataclass(frozen=True, kw_only=True)
class Plan(PlainData):
    """What a study comes to, as it is stored."""

    version: str
    title: str
    seed: int
    repeats: int
    datasets: tuple[People, ...]
    risks: tuple[Series, ...]
    metrics: tuple[AskedMetric, ...]
    places: tuple[Place, ...]


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Cells to run by their address, with the dataset each draws its people from."""

    cells: Mapping[str, Cell]
    datasets: Mapping[str, Dataset]  # by the address of a cell


@dataclass(frozen=True, kw_only=True)
class Work(Cells):
    """The plan, and all of its cells."""

    plan: Plan


def work_of(study: Study) -> Work:
    """Load the datasets once, and list every cell."""
    places: list[Place] = []
    found: dict[str, Cell] = {}
    sources: dict[str, Dataset] = {}
    described: list[People] = []
    asked: list[tuple[str, Metric | None]] = [(item.label, item.metric) for item in study.metrics]
    if study.utility:
        asked.append((UTILITY, None))
    for choice in study.datasets:
        tell(f"reading {choice.label}", 0.0)
        table = load(choice.dataset)
        sizes, sha256 = study.sizes(choice.label, len(table)), content(table)
        described.append(
            People(
                label=choice.label, rows=len(table), columns=len(table.schema), sha256=sha256, **vars(sizes)
            )
        )
        for risk in study.risks:
            for trial in trials(risk, sha256, sizes, seed=study.seed, repeats=study.repeats):
                for label, metric in asked:
                    cell = Cell(trial=trial, metric=metric)
                    key = cell.key
                    found[key], sources[key] = cell, choice.dataset
                    places.append(_place(key, choice.label, risk.label, trial, label))
    plan = Plan(
        version=__version__,
        title=study.title,
        seed=study.seed,
        repeats=study.repeats,
        datasets=tuple(described),
        risks=tuple(_series(risk) for risk in study.risks),
        metrics=tuple(_asked(label, metric) for label, metric in asked),
        places=tuple(places),
    )
    return Work(plan=plan, cells=found, datasets=sources)


def content(table: Table) -> str:
    """Digest what decides which people are drawn and what they hold: cells, their order, the columns."""
    text = hashlib.sha256(repr(table.schema).encode())
    text.update(table.row_hash().tobytes())
    return text.hexdigest()


def _place(key: str, dataset: str, risk: str, trial: Trial, metric: str) -> Place:
    return Place(
        key=key,
        dataset=dataset,
        risk=risk,
        level=trial.level,
        modifier_level=trial.modifier_level,
        repeat=trial.repeat,
        metric=metric,
    )


def _series(risk: RiskChoice) -> Series:
    return Series(
        label=risk.label,
        model=risk.model.name,
        modifier=None if risk.modifier is None else risk.modifier.modifier.name,
        levels=risk.levels,
        modifier_levels=() if risk.modifier is None else risk.modifier.levels,
    )


def _asked(label: str, metric: Metric | None) -> AskedMetric:
    if metric is None:
        return AskedMetric(label=label, name=UTILITY, title="Usefulness", labels=None)
    title = str(getattr(metric, "title", metric.name))
    return AskedMetric(label=label, name=metric.name, title=title, labels=metric.labels)
