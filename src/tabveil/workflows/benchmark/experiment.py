"""The cells of a study, run on the processes of this machine or on a cluster of machines.

Dask distributes: a task loads a dataset, tasks make releases from it, tasks ask metrics about each. Nothing
is decided by which runs where or first. If a process is lost, Dask gives its tasks to others; if the whole
run is, the next one finds in the store what was done.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabveil.core import check
from tabveil.core.table import Split, Table
from tabveil.core.workers import Listener, sharing, tell, unheard, working
from tabveil.errors import ParameterError
from tabveil.protocols import Dataset, Release
from tabveil.workflows.benchmark.plan import Cells, Plan, content, work_of
from tabveil.workflows.benchmark.store import Store
from tabveil.workflows.benchmark.study import Study, load
from tabveil.workflows.benchmark.trials import Cell, Trial
from tabveil.workflows.cells.cluster import cluster, finished_tasks, reason, threads_of_a_task


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run came to: how many cells were known before, are new, and failed, with the reasons."""

    plan: Plan
    known: int
    new: int
    failures: dict[str, int]  # how often each reason was given
    left: int  # failed in an earlier run, and not tried again

    @property
    def n_failed(self) -> int:
        """How many cells failed in this run."""
        return sum(self.failures.values())


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Where a part of the work stands in the whole: so many cells are known already, of so many."""

    already: int
    total: int
    doing: str = ""


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
        The address of a Dask scheduler to use instead, such as ``tcp://host:8786``. Its workers need tabveil
        and must reach the store and the datasets under the same paths.
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
        done, failed = place.done(), place.failed()
        missing = [key for key in work.cells if key not in done]
        todo = [key for key in missing if retry or key not in failed]
        known = len(work.cells) - len(missing)
        failures: dict[str, int] = {}
        if todo:
            with cluster(workers, scheduler, code) as client:
                so_far = Progress(already=known, total=len(work.cells))
                failures = run_cells(client, work, todo, place, so_far)
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
    client: Any,  # noqa: ANN401 - Dask's own
    work: Cells,
    todo: Sequence[str],
    store: Store,
    progress: Progress,
) -> dict[str, int]:
    """Hand out tasks and listen until all are done; return why cells failed."""
    failures: dict[str, int] = {}
    total, finished = progress.total, progress.already
    tell("starting", finished / total)
    for key, future in finished_tasks(client, _tasks(client, work, todo, store)):
        finished += 1
        if future.status != "finished":
            why = reason(future.exception())
            failures[why] = failures.get(why, 0) + 1
            store.write_failure(key, why)
        tell(f"{progress.doing}{finished} of {total} cells", finished / total)
    return failures


def _tasks(client: Any, work: Cells, todo: Sequence[str], store: Store) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Hand out one task after the other: a dataset and a release before the metrics asked about it."""
    threads = threads_of_a_task(client)
    tables: dict[str, Any] = {}
    release, made = "", None
    for key in todo:
        cell = work.cells[key]
        sha256 = cell.trial.sha256
        if sha256 not in tables:
            tables[sha256] = client.submit(load_people, work.datasets[key], sha256, key=f"people-{sha256}")
        if cell.trial.key != release:
            release = cell.trial.key
            made = client.submit(
                make_release, tables[sha256], cell.trial, store, threads, key=f"release-{release}"
            )
        yield key, client.submit(ask, made, cell, store, threads, key=f"cell-{key}")


def load_people(dataset: Dataset, sha256: str) -> Table:
    """Load a dataset, and make sure that it is the one the cells are named after."""
    table = load(dataset)
    if content(table) != sha256:
        raise ParameterError(dataset.name, "the data have changed since the benchmark began.")
    return table


def make_release(table: Table, trial: Trial, store: Store, threads: int) -> tuple[Split, Release]:
    """Make the tables of a trial, with the release that was kept if there is one."""
    with working(threads=threads, listener=unheard):
        costly = getattr(trial.model, "costly", False)
        kept = store.release(trial.key, table.schema) if costly else None
        split, release = trial.split(table, kept)
        if costly and kept is None:
            store.write_release(trial.key, release)
        return split, release


def ask(made: tuple[Split, Release], cell: Cell, store: Store, threads: int) -> None:
    """Ask a metric about a release, and keep what it says.

    What takes long to make and other metrics need, too, is made once a process.
    """
    start = time.process_time()
    with working(threads=threads, listener=unheard), sharing(cell.trial.shared_seed, kept=True):
        answer = cell.answer(*made)
    store.write(cell, answer, time.process_time() - start)
