"""One engine for all work in many pieces: in this process, on others of this machine, or on many machines.

If a process of many is lost, others get its work; if the whole run is, the next one finds what was kept, and
goes on.
"""

import logging
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from ipaddress import ip_address
from itertools import chain, islice
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tabveil.core.workers import available_threads
from tabveil.errors import ParameterError
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
    import distributed  # noqa: PLC0415 - an extra

    # A task may use all threads where one process works alone.
    threads = 1 if len(client.scheduler_info(n_workers=-1)["workers"]) > 1 else available_threads()
    kept: dict[Any, tuple[str, Any]] = {}  # of what is needed, the latest of each kind
    left, keys, waiting = iter(tasks), dict[str, str](), distributed.as_completed(loop=client.loop)

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
_SECONDS_TO_ANSWER = 10


@contextmanager
def cluster(scheduler: str, code: Sequence[str | Path], *, owner: str) -> Iterator[Any]:
    """Hand out a client of Dask's scheduler at this address, or complain for ``owner``."""
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
        from distributed.diagnostics.plugin import UploadFile  # noqa: PLC0415 - as the last
    except ModuleNotFoundError:
        raise ParameterError(
            owner, "distributed is not installed; install tabveil[cluster] to use it."
        ) from None
    require_guarded(scheduler, owner=owner, what="the scheduler")
    log = logging.getLogger("distributed")
    with ExitStack() as stack:
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.CRITICAL + 1)  # what an interruption cuts off is called critical there
        try:
            with _ctrl_c_later():  # half a client could not be closed
                client = stack.enter_context(
                    Client(scheduler, timeout=_SECONDS_TO_ANSWER, set_as_default=False)
                )
        except (OSError, ValueError, TypeError, TimeoutError):
            raise ParameterError(owner, f"no scheduler answers at {scheduler}.") from None
        for address in client.scheduler_info(n_workers=-1)["workers"]:
            require_guarded(address, owner=owner, what="a worker")
        for path in code:  # for workers that join later, too; of plugins of one name, the last would stay
            client.register_plugin(UploadFile(str(path)), name=f"code {path}")
        yield client


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Let Ctrl-C be heard when the block is done."""
    heard: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda number, _: heard.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if heard:
            before(heard[0], None)


def require_guarded(address: str, *, owner: str, what: str) -> None:
    """Refuse an address to which rows of people would travel in clear.

    >>> require_guarded("tcp://10.1.2.3:8786", owner="benchmark", what="the scheduler")
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: benchmark: rows would travel in clear to the scheduler at tcp://10.1.2.3:8786...
    """
    parts = urlsplit(address if "://" in address else f"tcp://{address}")
    if parts.scheme in {"tls", "inproc"} or _is_here(parts.hostname or ""):
        return
    raise ParameterError(
        owner,
        f"rows would travel in clear to {what} at {address}.",
        hint="Beyond this machine, start scheduler and workers with TLS and give its address as tls://….",
    )


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:  # a name
        return False
