"""What a piece of work has of its caller: threads, who hears how far it is, a shelf of shared things.

All are settings of the caller (command line, notebook, test), not of a metric, so they travel in context
variables instead of through every signature. :func:`each_chunk` and :func:`side_by_side` are the only places
that divide work among the threads (:mod:`tabveil.core.crew`). What several parts need and what takes long to
make is made once (:func:`shared`): who needs it does not know who else does, such as the attacks of an audit
that look at a release through one embedding.
"""

import os
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from threading import Lock, RLock
from typing import Any, Literal, Protocol, TypeVar

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.crew import Turn, crew_of, go_on
from tabveil.core.rng import stream

Listener = Callable[[str, float], None]
"""Told what is being done and which share of it is complete."""


Device = Literal["auto", "cpu", "cuda"]


class Others(Protocol):
    """Does calls on other machines, begun in this order, and tells of each that has ended.

    A call is a partial function of a module's, whose answer follows from its arguments alone. Returns the
    answers as the calls stand, or raises what the first of them raised.
    """

    def __call__(
        self, works: Sequence[Callable[[], Any]], *, order: Iterable[int], ended: Callable[[int], None]
    ) -> list[Any]:
        """Do them."""
        ...


@dataclass(frozen=True, kw_only=True)
class Workers:
    """How many threads, whether a GPU, how much memory, who else helps, and who is told and warned."""

    threads: int
    device: Device = "cpu"  # where searches may run, with the same answers; auto: where it is faster
    listener: Listener | None = None
    warned: Callable[[str], None] | None = None
    noted: Listener | None = None  # told of each part that is done side by side, by its title
    used: set[str] = field(default_factory=set)  # the GPUs that searches ran on
    others: Others | None = None
    memory: int | None = None  # bytes that the whole process may take; None is all there is
    sampled: bool = False  # whether rows are a part of those there are


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
    device: Device | None = None,
    listener: Listener | None = None,
    warned: Callable[[str], None] | None = None,
    noted: Listener | None = None,
    others: Others | None = None,
    memory: int | None = None,
    sampled: bool | None = None,
) -> Iterator[None]:
    """Run the block with these settings; what is not given stays as it was."""
    if threads is not None:
        check.at_least("workers", "threads", threads, 1)
    given: dict[str, Any] = {
        "threads": threads,
        "device": device,
        "listener": listener,
        "warned": warned,
        "noted": noted,
        "others": others,
        "memory": memory,
        "sampled": sampled,
    }
    settings = replace(current(), **{name: value for name, value in given.items() if value is not None})
    token = _current.set(settings)
    try:
        yield
    finally:
        _current.reset(token)


def tell(doing: str, share: float) -> None:
    """Report progress to whoever listens."""
    go_on()
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


COMPILING = "compiling, once on this machine"
"""What is being done while it says nothing of how long the rest takes."""


def announce_compilation(kernel: Any) -> None:  # noqa: ANN401 - a function compiled by Numba
    """Say so before a kernel's first run on a machine: compiling takes some seconds, once."""
    if kernel.overloads:  # it ran before
        return
    source = Path(kernel.py_func.__code__.co_filename)
    cached = Path(kernel.stats.cache_path).glob(f"{source.stem}.{kernel.py_func.__name__}-*.nbi")
    if not any(f.stat().st_mtime >= source.stat().st_mtime for f in cached):
        tell(COMPILING, 0.0)


def each_chunk(n_items: int, chunk: int, function: Callable[[int, int], None], *, doing: str) -> None:
    """Call ``function(start, stop)`` for consecutive chunks on all threads and report progress.

    The function writes into places that belong to its chunk alone, so the answer does not depend on the
    number of threads or on the order in which chunks finish.
    """
    bounds = [(start, min(start + chunk, n_items)) for start in range(0, n_items, chunk)]
    threads = min(current().threads, len(bounds))
    if threads <= 1:
        for start, stop in bounds:
            go_on()
            function(start, stop)
            tell(doing, stop / n_items)
        return
    with crew_of(threads) as crew:
        crew.share(
            range(len(bounds)),
            lambda number: function(*bounds[number]),
            most=threads,
            told=lambda done: tell(doing, done / len(bounds)),
        )


Kind = TypeVar("Kind")


def side_by_side(
    works: Sequence[Callable[[], Kind]],
    *,
    titles: Sequence[str] | None = None,
    weights: Sequence[float] | None = None,
    order: Iterable[int] | None = None,
    at_once: int | None = None,
    portable: bool = False,
) -> list[Kind]:
    """Do several things that do not need each other on all threads, and return what each found, in order.

    Of several that fail, the first one's error is raised, as if they were done one after the other; those
    before it are done to their end, those after it are given up.

    Parameters
    ----------
    titles, weights
        What each is called and how long it takes beside the others (1 if left out): whoever listens hears
        how much of all is done, and which are being done. Without titles each tells of itself.
    order
        The numbers of all, as they are begun: what takes longest should come first. On one thread they are
        done one after the other as they stand.
    at_once
        How many may be under way together, where each needs much memory.
    portable
        Whether each may be done on another machine, where there are :class:`Others`.
    """
    found: list[Any] = [None] * len(works)
    listener = current().listener
    shares = None
    if listener is not None and titles is not None:
        shares = _Shares(titles, weights or [1.0] * len(works), listener, current().noted or unheard)

    def do(number: int) -> None:
        go_on()
        with working(listener=shares.begin(number), noted=unheard) if shares else nullcontext():
            found[number] = works[number]()
        if shares:
            shares.end(number)

    order, others = range(len(works)) if order is None else order, current().others
    if portable and others is not None and works:
        if shares is None:
            return others(works, order=order, ended=lambda _number: None)
        for number in range(len(works)):
            shares.begin(number)
        return others(works, order=order, ended=shares.end)
    most = min(current().threads, len(works), at_once or len(works))
    if most <= 1:
        for number in range(len(works)):
            do(number)
        return found
    with crew_of(current().threads) as crew:
        crew.share(order, do, most=most, steps=True)
    return found


class _Shares:
    """How far several things are that are done side by side, as one share that never falls."""

    def __init__(
        self, titles: Sequence[str], weights: Sequence[float], listener: Listener, noted: Listener
    ) -> None:
        self._titles = titles
        self._weights = weights
        self._listener, self._noted = listener, noted
        self._farthest = [0.0] * len(titles)  # what begins anew does not take back what was done
        self._running: list[int] = []
        self._lock = RLock()
        for title in titles:
            noted(title, 0.0)

    def begin(self, number: int) -> Listener:
        """Name it, and return what listens to it."""
        with self._lock:
            self._running.append(number)
            self._tell(number, "")

        def listen(doing: str, share: float) -> None:
            with self._lock:
                self._farthest[number] = max(self._farthest[number], min(share, 1.0))
                self._noted(self._titles[number], self._farthest[number])
                self._tell(number, f": {doing} {share:.0%}")

        return listen

    def end(self, number: int) -> None:
        """Count it as done; those that are left are named."""
        with self._lock:
            self._farthest[number] = 1.0
            self._noted(self._titles[number], 1.0)
            self._running.remove(number)
            if self._running:
                self._tell(self._running[0], "")

    def _tell(self, number: int, how: str) -> None:
        total = sum(self._weights) or 1.0
        share = (
            sum(weight * share for weight, share in zip(self._weights, self._farthest, strict=True)) / total
        )
        others = [self._titles[other] for other in self._running if other != number]
        more = f" and {len(others) - _MOST_NAMED} more" if len(others) > _MOST_NAMED else ""
        beside = f"; also {', '.join(others[:_MOST_NAMED])}{more}" if others else ""
        self._listener(f"{self._titles[number]}{how}{beside}", share)


_MOST_NAMED = 3  # of what is done at the same time


MOST_KEPT = 4
"""Of what was made, the last that were asked for; more would fill the memory."""


class _Shelf:
    """What was made for one piece of work, the last that was asked for at the end."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._made: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._turns: dict[tuple[str, ...], Turn] = {}  # who needs what another makes just now waits for it
        self._lock = Lock()

    def get(self, key: tuple[str, ...], make: Callable[[Generator], Kind]) -> Kind:
        with self._lock:
            turn = self._turns.setdefault(key, Turn())
        with turn:
            with self._lock:
                there = key in self._made
                found: Kind = self._made.pop(key, None)
            if not there:
                found = make(stream(self.seed, *key))
            with self._lock:
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


def seed_of_shared() -> int | None:
    """Return the seed from which what is shared here is made; None where nothing is."""
    shelf = _shelf.get()
    return None if shelf is None else shelf.seed


def shares() -> bool:
    """Whether answers are kept here for others: not where memory is bounded, and they would fill it."""
    return _shelf.get() is not None and current().memory is None


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
