"""One engine for all work in many pieces: in this process, on others of this machine, or on many machines.

Nothing is decided by which piece runs where or first. If a process of a cluster is lost, others get its work;
if the whole run is, the next one finds what was kept, and goes on.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from tabveil.core.workers import available_threads, unheard, working
from tabveil.errors import TabveilError
from tabveil.workflows.cells.cluster import cluster, deaf_to_ctrl_c, finished_tasks, threads_of_a_task
from tabveil.workflows.cells.own_code import import_files

Means = Literal["cluster", "processes"]
"""What shares the work where it is not done in this process alone: Dask, or processes for pieces that need
nothing of each other and wait for nothing."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Shared:
    """Something that many tasks need and that is there already; ``key`` is its address."""

    key: str
    value: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Task:
    """A call at an address; what it ``needs``, a result that several tasks share, is its first argument."""

    key: str
    call: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    needs: "Task | Shared | None" = None


@dataclass(frozen=True, kw_only=True, eq=False)
class TaskEnd:
    """How a task ended: ``result`` returns its value where there is no error."""

    key: str
    error: BaseException | None = None
    result: Callable[[], Any]


Run = Callable[[Iterable[Task]], Iterator[TaskEnd]]
"""Runs tasks and tells of each as soon as it has ended."""


@contextmanager
def engine(
    *,
    owner: str,
    workers: int | None = 1,
    scheduler: str | None = None,
    code: Sequence[str | Path] = (),
    means: Means = "cluster",
) -> Iterator[Run]:
    """Hand out what runs tasks; nothing is started before there is a task, and all is ended with the block.

    ``workers`` are processes on this machine, None one a core; one is this process alone. ``scheduler``
    is the address of Dask's instead. ``code`` are Python files that other processes import first.
    """
    n_workers = available_threads() if workers is None else workers
    with ExitStack() as stack:
        started: list[Run] = []

        def run(tasks: Iterable[Task]) -> Iterator[TaskEnd]:
            waiting = iter(tasks)
            for first in waiting:
                if not started:
                    started.append(begin())
                yield from started[0](chain((first,), waiting))

        def begin() -> Run:
            if scheduler is None and n_workers == 1:
                return run_here
            if means == "cluster":
                client = stack.enter_context(cluster(n_workers, scheduler, code, owner=owner))
                return partial(run_on_cluster, client)
            pool = ProcessPoolExecutor(
                n_workers,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=import_files,
                initargs=(tuple(code),),
            )
            stack.callback(pool.shutdown, cancel_futures=True)
            return partial(run_on_processes, pool)

        yield run


def run_here(tasks: Iterable[Task]) -> Iterator[TaskEnd]:
    """Run tasks one after the other; of what they need, the latest of each kind is kept."""
    kept: dict[Any, TaskEnd] = {}
    for task in tasks:
        yield _ended(task, kept)


def _ended(task: Task, kept: dict[Any, TaskEnd]) -> TaskEnd:
    given: list[Any] = []
    match task.needs:
        case Shared(value=value):
            given.append(value)
        case Task(key=key, call=call):
            if call not in kept or kept[call].key != key:
                kept.pop(call, None)  # two at once would need twice the memory
                kept[call] = _ended(task.needs, kept)
            if kept[call].error is not None:
                return replace(kept[call], key=task.key)
            given.append(kept[call].result())
    try:
        value = _perform(None, task.call, *given, *task.arguments)
    except Exception as error:  # noqa: BLE001 - whoever asked for it decides what it means
        return TaskEnd(key=task.key, error=error, result=_nothing)
    return TaskEnd(key=task.key, result=lambda: value)


def _nothing() -> None:
    """Return no value: there is an error instead."""


def run_on_processes(pool: ProcessPoolExecutor, tasks: Iterable[Task]) -> Iterator[TaskEnd]:
    """Run tasks that wait for nothing."""
    with deaf_to_ctrl_c():  # processes start as tasks are handed in
        keys = {pool.submit(_perform, None, task.call, *task.arguments): task.key for task in tasks}
    for future in as_completed(keys):
        yield TaskEnd(key=keys[future], error=future.exception(), result=future.result)


def run_on_cluster(client: Any, tasks: Iterable[Task]) -> Iterator[TaskEnd]:  # noqa: ANN401 - Dask's own
    """Hand tasks to Dask, a bounded number at a time; what they need is made once, wherever."""
    threads = threads_of_a_task(client)
    kept: dict[Any, tuple[str, Any]] = {}  # of what is needed, the latest of each kind

    def submit(task: Task) -> Any:  # noqa: ANN401 - Dask's own
        given: list[Any] = []
        if task.needs is not None:
            kind = task.needs.call if isinstance(task.needs, Task) else Shared
            if kind not in kept or kept[kind][0] != task.needs.key:
                kept[kind] = task.needs.key, make(task.needs)
            given.append(kept[kind][1])
        name = f"{task.call.__name__}-{task.key}"
        return client.submit(_perform, threads, task.call, *given, *task.arguments, key=name)

    def make(needed: Task | Shared) -> Any:  # noqa: ANN401 - Dask's own
        if isinstance(needed, Task):
            return submit(needed)
        return client.scatter(needed.value, broadcast=True, hash=False)

    for key, future in finished_tasks(client, ((task.key, submit(task)) for task in tasks)):
        error = None if future.status == "finished" else future.exception()
        yield TaskEnd(key=key, error=error, result=future.result)


def _perform(threads: int | None, call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    """Call on so many threads, None as many as are in force; its progress is that of a piece."""
    with working(threads=threads, listener=unheard):
        return call(*arguments)


def reason(error: BaseException) -> str:
    """Say why a cell failed, without what may be somebody's value: only our own messages are free of them."""
    if isinstance(error, TabveilError):
        return str(error)
    if isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker":
        return "the process that ran it was lost again and again (out of memory?)"
    return f"{type(error).__name__} inside the code"
