"""Judge privacy metrics by a risk that is known: insert it, and see what each metric sees.

See docs/definitions.md, Known risks. A task loads a dataset, others make releases of it, others ask metrics.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabveil.core import check
from tabveil.core.settings.registry import completed
from tabveil.core.table import Split, Table
from tabveil.core.workers import Listener, sharing, tell, working
from tabveil.errors import ParameterError
from tabveil.protocols import Dataset, Release, RiskModel
from tabveil.workflows.benchmark.plan import CellWork, StudyPlan, work_of
from tabveil.workflows.benchmark.records import Record, Store
from tabveil.workflows.benchmark.study import DATASETS, Study, load
from tabveil.workflows.benchmark.trials import MetricCell, RiskTrial
from tabveil.workflows.cells.engine import engine
from tabveil.workflows.cells.store import MADE_AGAIN, Losses, content
from tabveil.workflows.cells.tasks import Run, Task, reason

__all__ = ["DATASETS", "Outcome", "Record", "Store", "Study", "run"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to: how many cells were known before, are new, and failed, with the reasons."""

    plan: StudyPlan
    known: int
    new: int
    failures: Mapping[str, int]  # how often each reason was given
    left: int  # failed in an earlier run, and not tried again

    @property
    def n_failed(self) -> int:
        """How many cells failed in this run."""
        return sum(self.failures.values())


def run(
    study: Study | str | Path | dict[str, Any],
    store: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    code: Sequence[str | Path] = (),
    retry: bool = False,
    progress: Listener | None = None,
) -> Outcome:
    """Run every cell of a study that the store does not have yet.

    Parameters
    ----------
    study
        What to run: a file, a mapping, or a :class:`Study`.
    store
        The folder that keeps what is found; the same study with the same store goes on where it was.
    workers
        How many processes to use on this machine; None is one for each core. One runs in this process.
    scheduler
        The address of a Dask scheduler to use instead, such as ``tls://host:8786``; beyond this machine none
        without TLS. Its workers need tabveil and must reach the store and the datasets under the same paths.
    code
        Python files that the workers import first: metrics, risk models and datasets of your own.
    retry
        Run cells again that failed before.
    progress
        Told what is being done and which share of the cells is known.
    """
    study = study if isinstance(study, Study) else Study.read(study)
    if workers is not None:
        check.at_least("benchmark", "workers", workers, 1)
    place = Store(Path(store).absolute())
    with working(listener=progress):
        work = work_of(study)
        place.prepare()
        place.write_plan(work.plan)
        tell("reading what is known", 0.0)
        done, failed = place.known(work.cells), place.failed()
        missing = [key for key in work.cells if key not in done]
        todo = [key for key in missing if retry or key not in failed]
        known = len(work.cells) - len(missing)
        with engine(workers=workers, scheduler=scheduler, code=code, owner="benchmark") as on_engine:
            failures = run_cells(on_engine, work, todo, place, already=known, total=len(work.cells))
        tell("done", 1.0)
    n_failed = sum(failures.values())
    return Outcome(
        plan=work.plan,
        known=known,
        new=len(todo) - n_failed,
        failures=failures,
        left=len(missing) - len(todo),
    )


def run_cells(
    on_engine: Run,
    work: CellWork,
    todo: Sequence[str],
    store: Store,
    *,
    already: int,
    total: int,
    doing: str = "",
) -> Counter[str]:
    """Run cells, of which ``already`` so many are known, until all are done; return why some failed."""
    failures: Counter[str] = Counter()
    if todo:
        tell("starting", already / total)
    trials = (work.cells[key].trial for key in todo)
    store.drop_damaged_releases(trial.key for trial in trials if _is_costly(trial))
    for finished, ended in enumerate(on_engine(_tasks(work, todo, store)), already + 1):
        if ended.error is not None:
            why = reason(ended.error)
            failures[why] += 1
            store.write_failure(ended.key, why)
        tell(f"{doing}{finished} of {total} cells", finished / total)
    return failures


def _tasks(work: CellWork, todo: Sequence[str], store: Store) -> Iterator[Task]:
    for key in todo:
        cell = work.cells[key]
        sha256 = cell.trial.sha256
        people = Task(key=sha256, call=load_people, arguments=(work.datasets[key], sha256))
        made = Task(key=cell.trial.key, call=make_release, arguments=(cell.trial, store), needs=people)
        yield Task(key=key, call=ask, arguments=(cell, store), needs=made)


def load_people(dataset: Dataset, sha256: str) -> Table:
    """Load a dataset, and make sure that it is the one the cells are named after."""
    table = load(dataset)
    if content(table) != sha256:
        raise ParameterError(dataset.name, "the data have changed since the benchmark began.")
    return table


def _is_costly(trial: RiskTrial) -> bool:
    return bool(completed(trial.model, RiskModel).costly)  # a user's own class may be new to this process


def make_release(table: Table, trial: RiskTrial, store: Store) -> tuple[Split, Release]:
    """Make the tables of a trial, with the release that was kept if there is one."""
    costly, losses = _is_costly(trial), Losses()
    kept = losses.read(lambda: store.release(trial.key, table.schema)) if costly else None
    losses.tell(MADE_AGAIN)
    split, release = trial.split(table, kept)
    if costly and kept is None:
        store.write_release(trial.key, release)
    return split, release


def ask(made: tuple[Split, Release], cell: MetricCell, store: Store) -> None:
    """Ask a metric about a release, and keep what it says.

    What takes long to make and other metrics need, too, is made once a process.
    """
    start = time.process_time()
    shared_seed = int(cell.trial.rng("shared").integers(2**63))  # as of an embedding of the release
    with sharing(shared_seed, kept=True):
        answer = cell.answer(*made)
    store.write(cell, answer, time.process_time() - start)
