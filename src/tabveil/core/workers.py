"""The threads a computation may use, who hears how far it is, and who is warned if it will take long.

All are settings of the caller (command line, notebook, test), not of a metric, so they travel in a context
variable instead of through every signature. :func:`each_chunk` is the only place that divides work.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tabveil.core import check

Listener = Callable[[str, float], None]
"""Told what is being done and which share of it is complete."""


@dataclass(frozen=True, kw_only=True)
class Workers:
    """How many threads to use, whom to tell, and whom to warn before something takes long."""

    threads: int
    listener: Listener | None = None
    warned: Callable[[str], None] | None = None


def available_threads() -> int:
    """Count the cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_current: ContextVar[Workers | None] = ContextVar("tabveil_workers", default=None)


def current() -> Workers:
    """Return the settings in force."""
    return _current.get() or Workers(threads=available_threads())


@contextmanager
def working(
    *,
    threads: int | None = None,
    listener: Listener | None = None,
    warned: Callable[[str], None] | None = None,
) -> Iterator[None]:
    """Run the block with these settings; what is not given stays as it was."""
    settings = current()
    if threads is not None:
        check.at_least("workers", "threads", threads, 1)
        settings = replace(settings, threads=threads)
    if listener is not None:
        settings = replace(settings, listener=listener)
    if warned is not None:
        settings = replace(settings, warned=warned)
    token = _current.set(settings)
    try:
        yield
    finally:
        _current.reset(token)


def tell(doing: str, share: float) -> None:
    """Report progress to whoever listens."""
    listener = current().listener
    if listener is not None:
        listener(doing, share)


def unheard(doing: str, share: float) -> None:
    """Listen and pass nothing on: what is one of many must not be taken for the whole."""


def warn(text: str) -> None:
    """Say before something takes long what is large, and what can be done about it."""
    warned = current().warned
    if warned is not None:
        warned(text)


@contextmanager
def part(first: float, last: float, *, title: str = "") -> Iterator[None]:
    """Let the block be a part of the work: what it reports as all of its own is ``last`` of the whole.

    >>> with working(listener=lambda doing, share: print(doing, share)), part(0.5, 0.75, title="spring: "):
    ...     tell("halfway through the third quarter", 0.5)
    spring: halfway through the third quarter 0.625
    """
    listener = current().listener
    if listener is None:
        yield
        return

    def tell_of_part(doing: str, share: float) -> None:
        listener(f"{title}{doing}", min(first + share * (last - first), last))

    with working(listener=tell_of_part):
        yield


def announce_compilation(kernel: Any) -> None:  # noqa: ANN401 - a function compiled by Numba
    """Say so before a kernel's first run on a machine: compiling takes some seconds, once."""
    if kernel.overloads:  # it ran before
        return
    source = Path(kernel.py_func.__code__.co_filename)
    cached = Path(kernel.stats.cache_path).glob(f"{source.stem}.{kernel.py_func.__name__}-*.nbi")
    if not any(f.stat().st_mtime >= source.stat().st_mtime for f in cached):
        tell("compiling (first run only)", 0.0)


def each_chunk(n_items: int, chunk: int, function: Callable[[int, int], None], *, doing: str) -> None:
    """Call ``function(start, stop)`` for consecutive chunks on all threads and report progress.

    The function writes into places that belong to its chunk alone, so the answer does not depend on the
    number of threads or on the order in which chunks finish.
    """
    bounds = [(start, min(start + chunk, n_items)) for start in range(0, n_items, chunk)]
    threads = min(current().threads, len(bounds))
    if threads <= 1:
        for start, stop in bounds:
            function(start, stop)
            tell(doing, stop / n_items)
        return
    done = 0
    with ThreadPoolExecutor(threads) as pool:
        waiting: set[Future[None]] = {
            pool.submit(copy_context().run, function, start, stop) for start, stop in bounds
        }
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in finished:
                    future.result()
                done += len(finished)
                tell(doing, done / len(bounds))
        except BaseException:
            for future in waiting:
                future.cancel()
            raise
