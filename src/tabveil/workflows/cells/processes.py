"""Processes of this machine that share work, each spoken to through a pipe of its own.

A pipe has no address: nobody else on the machine can reach it, as they could reach a port. Each process
does what one alone would do (:func:`~tabveil.workflows.cells.tasks.ended`) and keeps the latest of what its
tasks need; tasks that need the same go to the process that has it. While that is being made, others do
something else. Later, where nothing else is left for them, they make it again: it is a function of its
address, and what took long lies in the store.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn, Self

from tabveil.core.workers import available_threads
from tabveil.errors import ParameterError
from tabveil.workflows.cells.own_code import import_files
from tabveil.workflows.cells.tasks import ProcessLost, Shared, Task, TaskEnd, ToldFailure, ended, reason

_MOST_WAITING = 2000  # tasks are looked at ahead
_MOST_LOSSES = 3  # processes are lost over a task (out of memory, say) before it counts as failed
_SECONDS_TO_END = 5.0  # a process may take to end by itself
_SAFE_PATH = "PYTHONSAFEPATH"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_NOT_SENT = (
    "cannot be sent to another process: put classes of your own into a Python file, and name it as code, "
    "or use one worker."
)


@dataclass(kw_only=True, eq=False)
class _Group:
    """Tasks that need the same, which one process makes first."""

    key: str
    tasks: deque[Task] = field(default_factory=deque)
    begun: bool = False
    made: bool = False


class _Line:
    """Tasks that wait, in groups."""

    def __init__(self) -> None:
        self._groups: dict[str, _Group] = {}

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits."""
        return not self._groups

    @property
    def n_open(self) -> int:
        """How many more processes would find something to do."""
        return sum(len(group.tasks) if group.made else not group.begun for group in self._groups.values())

    def add(self, tasks: Iterable[Task]) -> None:
        """Line tasks up."""
        for task in tasks:
            key = task.needs.key if isinstance(task.needs, Task) else task.key
            self._groups.setdefault(key, _Group(key=key)).tasks.append(task)

    def put_back(self, task: Task, group: _Group) -> None:
        """Line a task up again, as the first of its group: the process that had it was lost."""
        group.begun = group.made
        waiting = self._groups.pop(group.key, group)  # another, where more that needs the same came since
        waiting.tasks.appendleft(task)
        self._groups = {group.key: waiting, **self._groups}

    def take(self, at: _Group | None) -> tuple[Task, _Group] | None:
        """Return what a process that is at a group does next, if there is anything."""
        group = at if at is not None and at.tasks else None
        if group is None:
            group = next((each for each in self._groups.values() if not each.begun), None)
        if group is None:
            made = [each for each in self._groups.values() if each.made]
            group = max(made, key=lambda each: len(each.tasks), default=None)
        if group is None:
            return None
        group.begun = True
        task = group.tasks.popleft()
        if not group.tasks:
            del self._groups[group.key]
        return task, group


@dataclass(kw_only=True, eq=False)
class _Worker:
    """A process, and what is known of it."""

    process: SpawnProcess
    pipe: Connection
    ready: bool = False
    task: Task | None = None
    group: _Group | None = None
    keeps: dict[Any, str] = field(default_factory=dict)  # the address of the latest of each kind


class Processes:
    """Up to so many processes, started as there is work for them and ended with the block.

    ``code`` are Python files that they import first; ``owner`` is whom to complain for.
    """

    def __init__(self, n_workers: int, *, code: Sequence[str | Path] = (), owner: str) -> None:
        self._n_workers = n_workers
        self._code = tuple(code)
        self._owner = owner
        self._workers: list[_Worker] = []
        self._losses: Counter[str] = Counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for worker in self._workers:
            worker.pipe.close()  # who waits for a task ends by this
            if worker.task is not None or not worker.ready:
                worker.process.terminate()
        for worker in self._workers:
            worker.process.join(_SECONDS_TO_END)
            if worker.process.is_alive():
                worker.process.kill()
                worker.process.join()
        self._workers.clear()

    def run(self, tasks: Iterable[Task]) -> Iterator[TaskEnd]:
        """Run tasks, and tell of each as soon as it has ended."""
        left, line = iter(tasks), _Line()
        line.add(islice(left, _MOST_WAITING))
        ends = self._hand_out(line)
        while ends or any(worker.task is not None or not worker.ready for worker in self._workers):
            heard = connection.wait([worker.pipe for worker in self._workers], timeout=0 if ends else None)
            for worker in [each for each in self._workers if each.pipe in heard]:
                end = self._hear(worker, line)
                ends += [] if end is None else [end]
            line.add(islice(left, len(ends)))
            later = self._hand_out(line)  # so that nobody waits while an end is being looked at
            yield from ends
            ends = later
        assert line.is_empty, "whoever ends a task hands out the next"

    def _hand_out(self, line: _Line) -> list[TaskEnd]:
        """Give those who do nothing something to do; return tasks that nobody else can be given."""
        ends: list[TaskEnd] = []
        starting = 0
        for worker in self._workers:
            starting += not worker.ready
            while worker.ready and worker.task is None and (found := line.take(worker.group)) is not None:
                worker.task, worker.group = found
                try:
                    data = ForkingPickler.dumps(_to_send(worker.task, worker.keeps))
                except Exception:  # noqa: BLE001 - whatever a class of a user's own does
                    ends.append(TaskEnd(key=worker.task.key, error=ToldFailure(_NOT_SENT)))
                    worker.group.begun = worker.group.made
                    worker.task, worker.group, worker.keeps = None, None, {}
                    continue
                with suppress(OSError):  # it is gone: a look at its pipe will tell
                    worker.pipe.send_bytes(data)
        if len(self._workers) < self._n_workers:
            wanted = min(line.n_open - starting, self._n_workers - len(self._workers))
            self._workers += [self._started() for _ in range(wanted)]
        return ends

    def _started(self) -> _Worker:
        here, there = multiprocessing.Pipe()
        threads = max(1, available_threads() // self._n_workers)
        safe_path = os.environ.get(_SAFE_PATH)
        with _starting(threads), there:
            process = multiprocessing.get_context("spawn").Process(
                target=_serve, args=(there, self._code, threads, safe_path), daemon=False
            )
            process.start()
        return _Worker(process=process, pipe=here)

    def _hear(self, worker: _Worker, line: _Line) -> TaskEnd | None:
        """Return how a worker's task ended, if it tells of one."""
        try:
            found = worker.pipe.recv()
        except (EOFError, OSError):
            return self._lost(worker, line)
        if not worker.ready:
            if found is not None:
                raise found
            worker.ready = True
            return None
        assert worker.task is not None, "only who has a task tells of one"
        assert worker.group is not None
        error, value = found
        if isinstance(error, ToldFailure):
            worker.keeps.clear()  # what came with the task may not have arrived
        task, worker.task, worker.group.made = worker.task, None, True
        return TaskEnd(key=task.key, error=error, result=lambda: value)

    def _lost(self, worker: _Worker, line: _Line) -> TaskEnd | None:
        """Let others do what a worker did that is no more."""
        self._workers.remove(worker)
        worker.pipe.close()
        worker.process.join()
        if not worker.ready:
            raise ParameterError(
                self._owner,
                "a process that was to share the work ended before it began.",
                hint="Use one worker; in a program of your own, call this under if __name__ == '__main__'.",
            )
        if worker.task is None or worker.group is None:
            return None
        self._losses[worker.task.key] += 1
        if self._losses[worker.task.key] < _MOST_LOSSES:
            line.put_back(worker.task, worker.group)
            return None
        worker.group.begun = worker.group.made
        return TaskEnd(key=worker.task.key, error=ProcessLost())


def _to_send(task: Task, keeps: dict[Any, str]) -> Task:
    """Leave out of what a task needs what the process keeps, and note what it will keep then."""
    return replace(task, needs=_needs_to_send(task.needs, keeps))


def _needs_to_send(needs: Task | Shared | None, keeps: dict[Any, str]) -> Task | Shared | None:
    if needs is None:
        return None
    kind: Any = Shared if isinstance(needs, Shared) else needs.call
    if keeps.get(kind) == needs.key:
        return replace(needs, **({"value": None} if kind is Shared else {"arguments": (), "needs": None}))
    keeps[kind] = needs.key
    return needs if isinstance(needs, Shared) else _to_send(needs, keeps)


@contextmanager
def _starting(threads: int) -> Iterator[None]:
    """Let what is started in the block be deaf to Ctrl-C, blind to the current folder, and use few threads.

    A terminal sends Ctrl-C to all processes. The one that started them hears it, after the block if it comes
    within, and ends them; else each would print a traceback of its own, even while it starts. Python would
    look for its own modules in the current folder first, where anybody may have laid something; where the
    modules of the program that starts it are, it is told later.
    """
    asked = {_SAFE_PATH: "1"} | {name: str(threads) for name in _THREADS if name not in os.environ}
    before = {name: os.environ.get(name) for name in asked}
    os.environ.update(asked)
    try:
        resource_tracker.ensure_running()  # a process, too; starting later, it would let Ctrl-C through again
        with _deaf_to_ctrl_c():
            yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _deaf_to_ctrl_c() -> Iterator[None]:
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(pipe: Connection, code: Sequence[str | Path], threads: int, safe_path: str | None) -> None:
    """Do tasks that come through a pipe until it is closed."""
    if safe_path is None:  # what this process starts is not Python's business
        os.environ.pop(_SAFE_PATH, None)
    signal.signal(signal.SIGTERM, _leave)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        import_files(code)
    except Exception as error:  # noqa: BLE001 - who started it raises it
        pipe.send(_that_can_be_sent(error))
        return
    pipe.send(None)
    kept: dict[Any, TaskEnd] = {}
    shared: Shared | None = None
    while True:
        try:
            task = pipe.recv()
        except (EOFError, ConnectionError):
            return
        except Exception:  # noqa: BLE001 - of what cannot be found here, a class of a console for one
            pipe.send((ToldFailure(_NOT_SENT), None))
            continue
        if isinstance(task.needs, Shared):
            if shared is None or shared.key != task.needs.key:
                shared = task.needs
            task = replace(task, needs=shared)
        end = ended(task, kept, threads=threads)
        told = (None, end.result()) if end.error is None else (_that_can_be_sent(end.error), None)
        try:
            data = ForkingPickler.dumps(told)
        except Exception:  # noqa: BLE001 - as above
            data = ForkingPickler.dumps((ToldFailure(_NOT_SENT), None))
        pipe.send_bytes(data)


def _that_can_be_sent(error: BaseException) -> BaseException:
    """Return an error as it is where it comes whole through a pipe, else what it comes to."""
    try:
        ForkingPickler.loads(ForkingPickler.dumps(error))
    except Exception:  # noqa: BLE001 - whatever a class of a user's own does
        return ToldFailure(reason(error))
    return error


def _leave(number: int, _frame: object) -> NoReturn:
    """End as if by itself, so that nothing temporary stays."""
    raise SystemExit(128 + number)


def _end_with_parent() -> None:
    """Wait for the end of the process that started this one, and end, too: nobody wants what it does."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_SECONDS_TO_END)
    os._exit(1)
