"""One engine for all work in many pieces: in this process, on others of this machine, or on many machines.

Nothing is decided by which piece runs where or first. If a process of a cluster (Dask) is lost, others get
its work; if the whole run is, the next one finds what was kept, and goes on.

Python files of users' own, with metrics, risk models and datasets, join before a study is read. Workers get
the same file from Dask and import it by its name, so it is imported by that name here: what is sent to them
says only in which module a class is.
"""

import importlib.util
import logging
import multiprocessing
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any, Literal

from tabveil.core.workers import available_threads, unheard, working
from tabveil.errors import ParameterError, TabveilError

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
    result: Callable[[], Any] = lambda: None


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
        return TaskEnd(key=task.key, error=error)
    return TaskEnd(key=task.key, result=lambda: value)


def run_on_processes(pool: ProcessPoolExecutor, tasks: Iterable[Task]) -> Iterator[TaskEnd]:
    """Run tasks that wait for nothing."""
    with deaf_to_ctrl_c():  # processes start as tasks are handed in
        keys = {pool.submit(_perform, None, task.call, *task.arguments): task.key for task in tasks}
    for future in as_completed(keys):
        yield TaskEnd(key=keys[future], error=future.exception(), result=future.result)


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
        return client.submit(_perform, threads, task.call, *given, *task.arguments, key=name)

    def hand_out(n: int) -> None:
        for task in islice(left, n):
            future = submit(task)
            keys[future.key] = task.key
            waiting.add(future)

    hand_out(MOST_WAITING)
    for future in waiting:
        error = None if future.status == "finished" else future.exception()
        yield TaskEnd(key=keys.pop(future.key), error=error, result=future.result)
        hand_out(1)


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


def import_files(files: Iterable[str | Path]) -> None:
    """Import files of users' own in their order, each once, or say in one line what is wrong with one."""
    for file in map(Path, files):
        if file.suffix != ".py":
            raise ParameterError(file, "must be a Python file, with a name that ends in .py.")
        if not file.is_file():
            raise ParameterError(f"there is no file {file}.")
        name = file.stem
        if not name.isidentifier():
            raise ParameterError(file, "cannot be imported by its name; use letters, digits and _ only.")
        found = importlib.util.find_spec(name)
        if found is not None and (found.origin is None or Path(found.origin).resolve() != file.resolve()):
            raise ParameterError(file, f"there is a module called {name!r} already; choose another name.")
        if name not in sys.modules:
            _load(name, file)


def _load(name: str, file: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, file.resolve())
    assert spec is not None  # of a file that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up while they are made
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, TabveilError):
            raise ParameterError(file, error) from None
        if isinstance(error, Exception):
            raise ParameterError(file, f"{_told(error, file)}.") from None
        raise


def _told(error: Exception, file: Path) -> str:
    """Say what a file raised, and in which line; what else it says may be somebody's value, and stays out."""
    frames = traceback.walk_tb(error.__traceback__)
    own = [line for frame, line in frames if Path(frame.f_code.co_filename) == file.resolve()]
    line = error.lineno if isinstance(error, SyntaxError) else own[-1] if own else None
    where = "" if line is None else f" in line {line}"
    why = f": {error}" if isinstance(error, (ImportError, NameError)) else ""
    return f"cannot be imported, {type(error).__name__}{where}{why}"
