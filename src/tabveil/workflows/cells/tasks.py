"""Work in pieces: what a piece is, what it needs, how it ended, and how one process does many.

Nothing is decided by which piece runs where or first: a piece is a function of its address.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tabveil.core.workers import unheard, working
from tabveil.errors import TabveilError


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


class ProcessLost(Exception):  # noqa: N818 - what became of a task, not a fault of it
    """The process that ran a task ended before the task did, more than once."""


class ToldFailure(Exception):  # noqa: N818 - as the last
    """Why a task failed elsewhere, in words that may be shown."""


def run_here(tasks: Iterable[Task]) -> Iterator[TaskEnd]:
    """Run tasks one after the other; of what they need, the latest of each kind is kept."""
    kept: dict[Any, TaskEnd] = {}
    for task in tasks:
        yield ended(task, kept)


def ended(task: Task, kept: dict[Any, TaskEnd], *, threads: int | None = None) -> TaskEnd:
    """Run a task, and before it what it needs unless that is ``kept``: the latest of each kind is."""
    given: list[Any] = []
    match task.needs:
        case Shared(value=value):
            given.append(value)
        case Task(key=key, call=call):
            if call not in kept or kept[call].key != key:
                kept.pop(call, None)  # two at once would need twice the memory
                kept[call] = ended(task.needs, kept, threads=threads)
            if kept[call].error is not None:
                return replace(kept[call], key=task.key)
            given.append(kept[call].result())
    try:
        value = perform(threads, task.call, *given, *task.arguments)
    except Exception as error:  # noqa: BLE001 - whoever asked for it decides what it means
        return TaskEnd(key=task.key, error=error)
    return TaskEnd(key=task.key, result=lambda: value)


def perform(threads: int | None, call: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
    """Call on so many threads, None as many as are in force; its progress is that of a piece."""
    with working(threads=threads, listener=unheard):
        return call(*arguments)


def reason(error: BaseException) -> str:
    """Say why a cell failed, without what may be somebody's value: only our own messages are free of them."""
    if isinstance(error, (TabveilError, ToldFailure)):
        return str(error)
    if isinstance(error, ProcessLost) or type(error).__name__ == "KilledWorker":
        return "the process that ran it was lost again and again (out of memory?)"
    return f"{type(error).__name__} inside the code"
