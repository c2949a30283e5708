"""What a piece of work has of its caller: threads, who hears how far it is, a shelf of shared things.

All are settings of the caller (command line, notebook, test), not of a metric, so they travel in context
variables instead of through every signature. :func:`each_chunk` is the only place that divides work. What
several parts need and what takes long to make is made once (:func:`shared`): who needs it does not know who
else does, such as the attacks of an audit that look at a release through one embedding.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.rng import stream

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
    if threads is not None:
        check.at_least("workers", "threads", threads, 1)
    given: dict[str, Any] = {"threads": threads, "listener": listener, "warned": warned}
    settings = replace(current(), **{name: value for name, value in given.items() if value is not None})
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


Kind = TypeVar("Kind")

MOST_KEPT = 4
"""Of what was made, the last that were asked for; more would fill the memory."""


class _Shelf:
    """What was made for one piece of work, the last that was asked for at the end."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._made: OrderedDict[tuple[str, ...], Any] = OrderedDict()

    def get(self, key: tuple[str, ...], make: Callable[[Generator], Kind]) -> Kind:
        found: Kind
        try:
            found = self._made.pop(key)
        except KeyError:  # asked rather than looked up first: several threads may share a shelf
            found = make(stream(self._seed, *key))
        self._made[key] = found
        while len(self._made) > MOST_KEPT:
            self._made.popitem(last=False)
        return found


_kept = lru_cache(maxsize=16)(_Shelf)
"""The shelves of the seeds that were worked with last in this process; work on several may be mixed."""


_shelf: ContextVar[_Shelf | None] = ContextVar("tabveil_shelf", default=None)


@contextmanager
def sharing(seed: int, *, kept: bool = False) -> Iterator[None]:
    """Let all that runs in the block share what :func:`shared` makes.

    Where it is ``kept``, the next block of the same seed finds it, too. That saves time and changes nothing:
    what is made follows from the seed and the key alone.
    """
    token = _shelf.set(_kept(seed) if kept else _Shelf(seed))
    try:
        yield
    finally:
        _shelf.reset(token)


def shared(key: tuple[str, ...], make: Callable[[Generator], Kind], *, rng: Generator) -> Kind:
    """Return what was made under this key, or make it; the key must say all that it depends on.

    Where things are shared, what is made depends on the seed and the key alone, and not on who needed it
    first. Where nothing is, it is made with ``rng``.

    >>> import numpy as np
    >>> draw = lambda rng: rng.random()
    >>> with sharing(seed=0):
    ...     lots = [shared(("lot",), draw, rng=np.random.default_rng(i)) for i in (1, 2)]
    >>> lots[0] == lots[1]
    True
    """
    shelf = _shelf.get()
    return make(rng) if shelf is None else shelf.get(key, make)
