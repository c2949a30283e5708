"""Search the settings of a generator for what keeps people private and the table useful.

A search runs on the engine of benchmarks and is kept in such a store: whatever ends it loses nothing. See
docs/definitions.md, Hybrid pipeline.

The store holds what was measured, and nothing about the search itself: that follows from the file and from
what was measured. So the same command goes on where it was, and ends with the same numbers. Who is held out
is a pure function of the seed. Trials of the search and of the check have the same sizes, so that their
numbers mean the same.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from tabveil.core import check
from tabveil.core.rng import stream
from tabveil.core.table import Split, Table
from tabveil.core.workers import Listener, tell, working
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.utility import measure_one
from tabveil.protocols import Dataset, People
from tabveil.synthesis.generators.privacy import SEED_IS_TOLD
from tabveil.synthesis.risks import Generated
from tabveil.version import __version__
from tabveil.workflows.benchmark import Store, run_cells
from tabveil.workflows.benchmark.plan import CellPlace, CellWork
from tabveil.workflows.benchmark.study import Sizes, load
from tabveil.workflows.benchmark.trials import MetricAnswer, MetricCell, RiskTrial
from tabveil.workflows.cells.engine import engine
from tabveil.workflows.cells.store import Losses, content
from tabveil.workflows.cells.tasks import Run
from tabveil.workflows.synthesizing.learning import choose, wants_secret_seed
from tabveil.workflows.tuning import tradeoffs
from tabveil.workflows.tuning.search import Searcher, Tuning, searcher_of
from tabveil.workflows.tuning.space import Point
from tabveil.workflows.tuning.tradeoffs import Attempt, Check, SearchFindings, SearchRows, SearchScore

__all__ = ["SearchFindings", "Tuning", "tune"]


@dataclass(frozen=True, kw_only=True)
class PartOfRows:
    """The rows of a dataset that a search draws its people from, or those that are held out from it."""

    dataset: Dataset
    held_out: float
    seed: int
    checked: bool

    name: ClassVar[str] = "part of rows"

    def load(self) -> Table:
        """Load all rows, and keep this part."""
        table = load(self.dataset)
        n = len(table)
        if n < 2:  # noqa: PLR2004 - one for each part
            raise ParameterError("held_out", "one row cannot be parted.")
        n_held = min(max(round(self.held_out * n), 1), n - 1)
        order = stream(self.seed, "held out").permutation(n)
        return table.take(np.sort(order[:n_held] if self.checked else order[n_held:]))


def sizes_of(n_searched: int, n_held: int, rows: int | None, control: float) -> Sizes:
    """Return the rows of a trial: as many as both parts have, or fewer if that is asked for.

    >>> sizes_of(700, 300, None, 0.3)
    Sizes(train=210, control=90, release=210)
    """
    most = min(n_searched, n_held)
    if rows is not None and rows > most:
        raise ParameterError(
            "rows",
            f"a trial cannot have {rows:,} rows: {n_searched:,} are there to search with and "
            f"{n_held:,} are held out; lower it.",
        )
    total = most if rows is None else rows
    n_control = round(control * total)
    if min(n_control, total - n_control) < 1:
        raise ParameterError(f"a trial of {total:,} rows cannot be parted into train and control.")
    return Sizes(train=total - n_control, control=n_control, release=total - n_control)


class TuningTrial(RiskTrial):
    """A trial whose release takes no people of its own: a generator is only asked for so many rows."""

    @property
    def description(self) -> dict[str, Any]:
        """All that decides the release, in JSON types."""
        return {**super().description, "kind": "tuning"}

    def people(self, table: Table) -> People:
        """Draw disjoint train and control."""
        order = self.rng("people").permutation(len(table))[: self.sizes.train + self.sizes.control]
        train, control = (table.take(rows) for rows in np.split(order, [self.sizes.train]))
        return People(train=train, control=control, release=train)


@dataclass(frozen=True, kw_only=True)
class UtilityCell(MetricCell):
    """One figure of usefulness, asked about one trial."""

    metric: None = None
    asked: tradeoffs.UtilityChoice

    @property
    def asked_for(self) -> dict[str, Any]:
        """All that decides the answer beside the trial, in JSON types."""
        return {"figure": {"name": self.name, "target": list(self.asked.target)}}

    @property
    def name(self) -> str:
        """The figure's name."""
        return self.asked.name

    def asked_about(self, split: Split) -> MetricAnswer:
        """Measure it."""
        rng = self.trial.rng("figure", self.name)
        value = measure_one(split, self.name, target=self.asked.target or None, rng=rng)
        return MetricAnswer(figures={self.name: value})


def tune(
    config: Tuning | str | Path | Mapping[str, Any],
    store: str | Path,
    *,
    data: Any = None,  # noqa: ANN401 - a path or a table of any dataframe library
    drop: str | Iterable[str] = (),
    workers: int | None = None,
    scheduler: str | None = None,
    code: Sequence[str | Path] = (),
    retry: bool = False,
    progress: Listener | None = None,
) -> SearchFindings:
    """Search settings of a generator for the best trade-offs of privacy and usefulness.

    Parameters
    ----------
    config
        What to search: a file, a mapping, or a :class:`Tuning`.
    store
        The folder that keeps what is measured; the same search with the same store goes on where it was.
    data
        The rows, in the place of those that ``config`` names: a path, or a table of pandas, polars or Arrow.
    drop
        Columns of these rows to leave out.
    workers, scheduler, code, retry, progress
        As in :func:`tabveil.workflows.benchmark.run`; files of ``code`` may bring generators, too.
    """
    for name, given in (("data", data is not None), ("drop", bool(drop))):
        if given and isinstance(config, Tuning):
            raise ParameterError(
                "tune", f"{name} belongs to a file or a mapping; this search was read already."
            )
    tuning = config if isinstance(config, Tuning) else Tuning.read(config, data=data, drop=drop)
    if workers is not None:
        check.at_least("tune", "workers", workers, 1)
    searcher, place = searcher_of(tuning), Store(Path(store).absolute())
    with working(listener=progress):
        tell(f"reading {tuning.data.label}", 0.0)
        searched, held_out, rows = _parts(tuning)
        place.prepare()
        with engine(workers=workers, scheduler=scheduler, code=code, owner="tune") as on_engine:
            work = _Work(
                tuning=tuning,
                store=place,
                on_engine=on_engine,
                failed=frozenset() if retry else frozenset(place.failed()),
                n_planned=(searcher.n_trials + 1) * tuning.repeats * (len(tuning.objectives.metrics) + 1),
                known=set(),
            )
            tried = _search(tuning, searcher, work, searched)
            choice = tradeoffs.choose(tried, tuning.objectives.risks, tuning.policy)
            checked = None
            if choice is not None:
                chosen = tried[choice.number - 1]
                tell("checking the choice on rows held out", work.share)
                (outcome,) = work.outcomes([chosen.point], held_out, "checking the choice: ")
                checked = _check(tuning, chosen, outcome)
        tell("done", 1.0)
    return SearchFindings(
        asked=_asked(tuning, searcher, tried),
        rows=rows,
        tried=tuple(tried),
        front=tradeoffs.front(tried),
        choice=choice,
        check=checked,
    )


@dataclass(frozen=True, kw_only=True)
class _Side:
    """Rows that people are drawn from."""

    dataset: PartOfRows
    sha256: str
    sizes: Sizes


@dataclass(frozen=True, kw_only=True)
class _Work:
    """Configurations measured, with what is known taken from the store."""

    tuning: Tuning
    store: Store
    on_engine: Run
    failed: frozenset[str]  # cells that are not tried again
    n_planned: int
    known: set[str]

    @property
    def share(self) -> float:
        """Which part of the work is done."""
        return min(len(self.known) / self.n_planned, 1.0)

    def outcomes(self, points: Sequence[Point], side: _Side, doing: str) -> list[SearchScore | str]:
        """Measure points on one side; return what each came to, or why to nothing."""
        asked = [self._cells(point, side) for point in points]
        cells = {cell.key: cell for found in asked if not isinstance(found, str) for cell in found}
        done = self.store.known(cells)
        todo = [key for key in cells if key not in done and key not in self.failed]
        self.known.update(key for key in cells if key not in todo)
        work = CellWork(cells=cells, datasets=dict.fromkeys(cells, side.dataset))
        progress = {"already": len(self.known), "total": self.n_planned}
        run_cells(self.on_engine, work, todo, self.store, doing=doing, **progress)
        self.known.update(todo)
        return [found if isinstance(found, str) else self._score(found) for found in asked]

    def _cells(self, point: Point, side: _Side) -> list[MetricCell] | str:
        try:
            model = self.tuning.made(point)
        except TabveilError as error:
            return str(error.without(Generated.__name__))
        cells: list[MetricCell] = []
        for repeat in range(self.tuning.repeats):
            trial = TuningTrial(
                sha256=side.sha256,
                sizes=side.sizes,
                seed=self.tuning.seed,
                repeat=repeat,
                model=model,
                level=model.levels[0],
            )
            objectives = self.tuning.objectives
            cells += [MetricCell(trial=trial, metric=metric) for metric in objectives.metrics.values()]
            cells.append(UtilityCell(trial=trial, asked=objectives.utility))
        return cells

    def _score(self, cells: Sequence[MetricCell]) -> SearchScore | str:
        """Sum up the answers of a configuration; it needs all of them."""
        answers: dict[str, list[MetricAnswer]] = {label: [] for label in self.tuning.objectives.metrics}
        figures: list[float] = []
        for cell in cells:
            names = {"dataset": self.tuning.data.label, "risk": cell.trial.model.name, "metric": cell.name}
            place = CellPlace.of(cell, **names)
            record = Losses().read(partial(self.store.record, place))
            if record is None:
                return self.store.failure(cell.key) or "not run"
            if not isinstance(cell, UtilityCell):
                answers[cell.name].append(record.answer)
            elif record.answer.skipped is not None:
                return record.answer.skipped
            else:
                figures.append(record.answer.figures[cell.name])
        try:
            return self.tuning.objectives.score(answers, figures)
        except tradeoffs.NoNumber as reason:
            return str(reason)


def _parts(tuning: Tuning) -> tuple[_Side, _Side, SearchRows]:
    """Part the rows into those that are searched with and those that are held out."""
    datasets = [
        PartOfRows(dataset=tuning.data.dataset, held_out=tuning.held_out, seed=tuning.seed, checked=checked)
        for checked in (False, True)
    ]
    searched, held = (load(dataset) for dataset in datasets)
    target = tuning.objectives.utility.target
    check.known_names("objectives: utility", "column", target, searched.schema.names)
    sizes = sizes_of(len(searched), len(held), tuning.rows, tuning.control)
    sides = [
        _Side(dataset=dataset, sha256=content(table), sizes=sizes)
        for dataset, table in zip(datasets, (searched, held), strict=True)
    ]
    rows = SearchRows(
        dataset=tuning.data.label,
        all=len(searched) + len(held),
        columns=len(searched.schema),
        searched=len(searched),
        held_out=len(held),
        train=sizes.train,
        control=sizes.control,
    )
    return sides[0], sides[1], rows


def _search(tuning: Tuning, searcher: Searcher, work: _Work, side: _Side) -> list[Attempt]:
    tried: list[Attempt] = []
    while points := searcher.propose(tried):
        doing = f"trials {len(tried) + 1} to {len(tried) + len(points)}: "
        for point, outcome in zip(points, work.outcomes(points, side, doing), strict=True):
            try:
                asked = tuning.space.settings(tuning.settings, point)
            except TabveilError:
                asked = {}  # there are none: the outcome says why
            found = Attempt(number=len(tried) + 1, point=dict(point), settings=asked)
            if isinstance(outcome, str):
                tried.append(replace(found, why=outcome))
            else:
                within = tradeoffs.is_within(outcome, tuning.objectives.risks, tuning.policy)
                tried.append(replace(found, score=outcome, within=within))
    return tried


def _check(tuning: Tuning, chosen: Attempt, outcome: SearchScore | str) -> Check:
    if isinstance(outcome, str):
        return Check(why=outcome)
    assert chosen.score is not None, "only what has numbers is chosen"
    return Check(
        score=outcome,
        within=tradeoffs.is_within(outcome, tuning.objectives.risks, tuning.policy),
        optimism_privacy=outcome.privacy - chosen.score.privacy,
        optimism_loss=outcome.loss - chosen.score.loss,
    )


def _asked(tuning: Tuning, searcher: Searcher, tried: Sequence[Attempt]) -> tradeoffs.SearchTerms:
    objectives = tuning.objectives
    measured = [choose(tuning.generator, item.settings) for item in tried if item.score is not None]
    return tradeoffs.SearchTerms(
        version=__version__,
        title=tuning.title,
        seed=tuning.seed,
        repeats=tuning.repeats,
        searcher=searcher.name,
        space_size=tuning.space.size,
        trials=tuning.trials,
        generator=tuning.generator,
        settings=tuning.space.settings(tuning.settings, {}),
        search={item.path: item.told for item in tuning.space.dimensions},
        metrics={label: metric.title for label, metric in objectives.metrics.items()},
        by=objectives.by,
        utility=objectives.utility.name,
        target=objectives.utility.target,
        thresholds={label: tuning.policy.thresholds.of(risk) for label, risk in objectives.risks.items()},
        risks=objectives.risks,
        confidence=tuning.policy.confidence,
        not_searched=tuple(name for name in tuning.policy.required if name not in objectives.metrics),
        cautions=(SEED_IS_TOLD,) if any(map(wants_secret_seed, measured)) else (),
    )
