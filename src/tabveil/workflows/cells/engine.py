"""One engine for all work in many pieces: in this process, on others of this machine, or on many machines.

If a process of many is lost, others get its work; if the whole run is, the next one finds what was kept, and
goes on.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from tabveil.core.cluster import as_completed, cluster
from tabveil.core.workers import available_threads
from tabveil.workflows.cells.processes import Processes
from tabveil.workflows.cells.tasks import Run, Shared, Task, TaskEnd, perform, run_here


@contextmanager
def engine(
    *,
    owner: str,
    workers: int | None = 1,
    scheduler: str | None = None,
    code: Sequence[str | Path] = (),
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
            if scheduler is not None:
                return partial(run_on_cluster, stack.enter_context(cluster(scheduler, code, owner=owner)))
            if n_workers == 1:
                return run_here
            return stack.enter_context(Processes(n_workers, code=code, owner=owner)).run

        yield run


def run_on_cluster(client: Any, tasks: Iterable[Task]) -> Iterator[TaskEnd]:  # noqa: ANN401 - Dask's own
    """Hand tasks to Dask, a bounded number at a time; what they need is made once, wherever."""
    # A task may use all threads where one process works alone.
    threads = 1 if len(client.scheduler_info(n_workers=-1)["workers"]) > 1 else available_threads()
    kept: dict[Any, tuple[str, Any]] = {}  # of what is needed, the latest of each kind
    left, keys, waiting = iter(tasks), dict[str, str](), as_completed(client)

    def submit(task: Task) -> Any:  # noqa: ANN401 - Dask's own
        given: list[Any] = []
        match task.needs:
            case Shared(key=key, value=value):
                if Shared not in kept or kept[Shared][0] != key:
                    kept[Shared] = key, client.scatter(value, broadcast=True, hash=False)
                given.append(kept[Shared][1])
            case Task(key=key, call=call):
                if call not in kept or kept[call][0] != key:
                    kept[call] = key, submit(task.needs)
                given.append(kept[call][1])
        name = f"{task.call.__name__}-{task.key}"
        return client.submit(perform, threads, task.call, *given, *task.arguments, key=name)

    def hand_out(n: int) -> None:
        for task in islice(left, n):
            future = submit(task)
            keys[future.key] = task.key
            waiting.add(future)

    hand_out(_MOST_WAITING)
    for future in waiting:
        error = None if future.status == "finished" else future.exception()
        yield TaskEnd(key=keys.pop(future.key), error=error, result=future.result)
        hand_out(1)


_MOST_WAITING = 2000  # tasks are handed out at once: a scheduler slows down under tens of thousands
