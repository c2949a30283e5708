"""Several processes of this machine, or a cluster of machines: Dask, as benchmarks and attacks use it."""

import logging
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

from tabveil.core.workers import available_threads
from tabveil.errors import ParameterError

MOST_WAITING = 2000
"""So many tasks are handed out at once: a scheduler slows down under tens of thousands."""

_SECONDS_TO_ANSWER = 10
_LOOPBACK = "127.0.0.1:0"
_SILENT = logging.CRITICAL + 1  # a cluster that is ended amid its work calls that critical
_KEPT_HERE = {
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}
"""Nobody is served pages about a run, and no people are put on a disk for want of memory."""


@contextmanager
def cluster(
    n_workers: int, scheduler: str | None, code: Sequence[str | Path], *, owner: str
) -> Iterator[Any]:
    """Hand out a client of the cluster that was asked for, or complain for ``owner``."""
    try:
        import dask  # noqa: PLC0415 - an extra, as the next
        from distributed import Client, LocalCluster  # noqa: PLC0415
    except ModuleNotFoundError:
        raise ParameterError(
            owner, "distributed is not installed; install tabveil[cluster] to use it."
        ) from None
    if scheduler is not None:
        try:
            client = Client(scheduler, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
        except (OSError, ValueError, TimeoutError):
            raise ParameterError(owner, f"no scheduler answers at {scheduler}.") from None
        with client:
            yield _with_code(client, code)
        return
    with dask.config.set(_KEPT_HERE):
        with deaf_to_ctrl_c():
            local = LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=_LOOPBACK,
                worker_dashboard_address=_LOOPBACK,
                scheduler_kwargs={"dashboard": False},
                silence_logs=_SILENT,
            )
        with local, Client(local, set_as_default=False) as client:
            yield _with_code(client, code)


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Let the processes and threads that are started in the block never hear Ctrl-C, from their first moment.

    A terminal sends it to all processes. The one that started them hears it, after the block if it comes
    within, and ends them; else each would print a traceback of its own, even while it starts.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # starting with the first process, it would let Ctrl-C through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _with_code(client: Any, code: Sequence[str | Path]) -> Any:  # noqa: ANN401 - Dask's own
    """Let all workers import these files, those that join later too; this process has done so itself."""
    from distributed.diagnostics.plugin import UploadFile  # noqa: PLC0415 - an extra

    for path in code:
        client.register_plugin(UploadFile(str(path)), name=f"code {path}")  # of one name, the last would stay
    return client


def threads_of_a_task(client: Any) -> int:  # noqa: ANN401 - Dask's own
    """Return how many threads a task may use: all where one process works alone."""
    return 1 if len(client.scheduler_info(n_workers=-1)["workers"]) > 1 else available_threads()


def finished_tasks(client: Any, tasks: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Hand out tasks, a bounded number at a time, and return each with its key once it has ended."""
    from distributed import as_completed  # noqa: PLC0415 - an extra

    waiting, keys = as_completed(loop=client.loop), {}
    for key, future in _first(tasks, MOST_WAITING):
        keys[future.key] = key
        waiting.add(future)
    for future in waiting:
        yield keys.pop(future.key), future
        for other, following in _first(tasks, 1):
            keys[following.key] = other
            waiting.add(following)


def _first(tasks: Iterator[tuple[str, Any]], n: int) -> Iterator[tuple[str, Any]]:
    for _, task in zip(range(n), tasks, strict=False):
        yield task
