"""All cells of a study before any is run, what stands where in the report, and what is kept of each.

The plan is stored beside the cells. A report needs nothing else: no table, no code of the user's. What
differs between equal runs, the time a cell took, stands in a file beside it: the cells of two runs of one
study are equal to the last digit. Releases that took long to make are kept, too; they may hold rows of real
people, and only their owner can read them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self, get_args

import numpy as np

from tabveil.core.result import Labels
from tabveil.core.storage.files import write_text
from tabveil.core.storage.plain import PlainData
from tabveil.core.table import Schema, Table
from tabveil.core.workers import tell
from tabveil.errors import ParameterError
from tabveil.protocols import Dataset, Metric, Release
from tabveil.version import __version__
from tabveil.workflows.benchmark.study import Study, load
from tabveil.workflows.benchmark.trials import UTILITY, MetricAnswer, MetricCell, trials
from tabveil.workflows.cells.store import GuardedFolder, JsonFolder, content


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


PLAN = "plan.json"
Kept = Literal["cells", "costs", "failures"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """What one cell of a plan came to."""

    place: CellPlace
    answer: MetricAnswer
    cpu_seconds: float | None


@dataclass(frozen=True)
class Store:
    """A folder of cells, of what they cost, why some failed, and of releases."""

    folder: Path

    def prepare(self) -> None:
        """Make the folders."""
        for kept in get_args(Kept):
            self._folder(kept).folder.mkdir(parents=True, exist_ok=True)
        self._releases.prepare()

    def write_plan(self, plan: StudyPlan) -> None:
        """Keep what the study is, for the report."""
        write_text(self.folder / PLAN, json.dumps(plan.to_json(), ensure_ascii=False) + "\n")

    def plan(self) -> StudyPlan:
        """Return what the latest run was asked for."""
        path = self.folder / PLAN
        try:
            return StudyPlan.from_json(json.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            raise ParameterError(
                f"{self.folder}: holds no benchmark; run one with 'tabveil benchmark run'."
            ) from None
        except (OSError, ValueError):
            raise ParameterError(
                f"{path}: is not a plan that this version wrote; run the study again."
            ) from None

    def done(self) -> set[str]:
        """Return the addresses of all cells that are known."""
        return self._folder("cells").keys()

    def failed(self) -> set[str]:
        """Return the addresses of all cells that failed."""
        return self._folder("failures").keys()

    def write(self, cell: MetricCell, answer: MetricAnswer, cpu_seconds: float) -> None:
        """Keep a cell: first what it cost, so that no cell is without it."""
        self._folder("costs").write(cell.key, {"cpu_seconds": round(cpu_seconds, 6)})
        told = {"trial": cell.trial.description, "metric": cell.name, "answer": answer.to_json()}
        self._folder("cells").write(cell.key, told)
        self._folder("failures").drop(cell.key)

    def write_failure(self, key: str, why: str) -> None:
        """Keep why a cell has no answer."""
        self._folder("failures").write(key, {"why": why})

    def failure(self, key: str) -> str | None:
        """Return why a cell failed, if it did."""
        told = self._told("failures", key)
        return None if told is None else str(told.get("why", "unknown"))

    def record(self, place: CellPlace) -> Record | None:
        """Return what a cell came to; None if it is not known."""
        told = self._told("cells", place.key)
        if told is None:
            return None
        try:
            seconds = (self._told("costs", place.key) or {}).get("cpu_seconds")
            return Record(
                place=place,
                answer=MetricAnswer.from_json(told["answer"]),
                cpu_seconds=None if seconds is None else float(seconds),
            )
        except (KeyError, TypeError, ValueError):
            raise ParameterError(
                f"{self.folder}: the cell {place.key} is not one that this version wrote; delete its file."
            ) from None

    def write_release(self, key: str, release: Release) -> None:
        """Keep a release that took long to make."""
        facts = np.array(json.dumps(dict(release.facts)))
        self._releases.write(key, values=release.rows.values, facts=facts)

    def release(self, key: str, schema: Schema) -> Release | None:
        """Return a release that was kept; one that cannot be read is made again."""
        try:
            if (kept := self._releases.read(key)) is None:
                return None
            rows = Table(schema=schema, values=kept["values"])
            return Release(rows=rows, facts=json.loads(str(kept["facts"])))
        except (ValueError, KeyError):
            return None

    @property
    def _releases(self) -> GuardedFolder:
        return GuardedFolder(folder=self.folder / "releases")

    def _folder(self, kept: Kept) -> JsonFolder:
        complaint = "cannot be read; delete it, and run the study again."
        return JsonFolder(folder=self.folder / kept, complaint=complaint)

    def _told(self, kept: Kept, key: str) -> Mapping[str, Any] | None:
        told = self._folder(kept).read(key)
        if told is not None and not isinstance(told, Mapping):
            raise self._folder(kept).unreadable(key)
        return told
