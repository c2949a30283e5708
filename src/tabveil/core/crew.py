"""So many cores, and never more: steps run side by side, and the chunks inside of each are shared out, too.

Whoever brings work takes part in it, and others of the crew help where they have nothing else to do: so
nobody waits for help, and work that brings work of its own never multiplies threads. Who has to wait, for
the last chunks that others have or for something that is being made elsewhere, lends the core meanwhile.
Waits lead only from work to the pieces it was cut into, never back, and end.

No answer depends on who does what, or when: every piece has a place of its own for what it finds, and of
several pieces that fail the first in order is the one that counts, as if they had run in order.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from threading import Condition, Lock, RLock, Thread
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, overload

Kind = TypeVar("Kind")

Progress = Callable[[int], None]
"""Told how many pieces are done, by the thread that brought the work."""

_SECONDS_TO_STOP = 2.0
"""How long who is interrupted waits for others to notice; they stop at their next chunk."""


_SECONDS_TO_RETURN = 0.2
"""How long who lent a core waits for one to be free again: about as long as a chunk takes."""


class Stopped(BaseException):
    """Nobody wants the answer any more: an earlier piece failed, or somebody pressed Ctrl-C."""


class _Pieces:
    """Pieces by their numbers, in the order in which they are begun, and what became of them."""

    def __init__(self, pieces: Iterable[int], do: Callable[[int], None], *, most: int, steps: bool) -> None:
        self.waiting = deque(pieces)
        self.size = len(self.waiting)
        self.do = do
        self.most = most  # at once
        self.steps = steps  # whole ones come before chunks of those that are begun
        self.context = copy_context()
        self.within = _within.get()
        self.running = self.done = self.told = 0
        self.first_failed: tuple[int, BaseException] | None = None
        self.interrupted = False

    def take(self) -> int | None:
        """Return the next piece that is still wanted, if there is any and no more run than may."""
        while self.waiting and self.running < self.most:
            piece = self.waiting.popleft()
            if self.wants(piece):
                self.running += 1
                return piece
        return None

    def tell(self, told: Progress) -> None:
        """Tell how many pieces are done, if that is news and nothing failed."""
        if self.done > self.told and self.first_failed is None:
            self.told = self.done
            told(self.told)

    def wants(self, piece: int) -> bool:
        """Whether the outcome of a piece can still matter."""
        if self.interrupted or (self.first_failed is not None and self.first_failed[0] < piece):
            return False
        return self.within is None or self.within[0].wants(self.within[1])

    def fail(self, piece: int, error: BaseException) -> None:
        """Take note of how a piece ended; what is no exception but an interruption ends all at once."""
        if not self.wants(piece) and isinstance(error, Stopped):
            return
        if not isinstance(error, Exception):
            self.interrupted, piece = True, -1
        if self.first_failed is None or piece < self.first_failed[0]:
            self.first_failed = piece, error


_within: ContextVar[tuple[_Pieces, int] | None] = ContextVar("tabveil_within", default=None)
"""The piece that is being done here, and the work that it is a piece of."""


def go_on() -> None:
    """Stop here if nobody wants the answer any more."""
    within = _within.get()
    if within is not None and not within[0].wants(within[1]):
        raise Stopped


class Crew:
    """Threads that share work until the block ends: the one that opens it, and others as they are needed."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._free = threads - 1  # cores; one is that of whoever opens the block
        self._returning = 0  # who had lent theirs and wants one again: they come first
        self._idle = 0
        self._open: list[_Pieces] = []
        self._helpers: list[Thread] = []
        self._closed = False
        lock = RLock()
        self._change = Condition(lock)  # who waits for the end of pieces, or for a core
        self._calls = Condition(lock)  # helpers who have nothing to do

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._change:
            self._closed = True
            self._calls.notify_all()
        for helper in self._helpers:
            helper.join(None if kind is None or issubclass(kind, Exception) else 0.0)

    def share(
        self,
        pieces: Iterable[int],
        do: Callable[[int], None],
        *,
        most: int,
        steps: bool = False,
        told: Progress = lambda _done: None,
    ) -> None:
        """Do all pieces, begun in this order, at most so many at once; return when all are done.

        Raises what the first of them in the order of their numbers raised.
        """
        work = _Pieces(pieces, do, most=min(most, self.threads), steps=steps)
        with self._change:
            self._open.append(work)
            self._call_help()
        try:
            while not self._is_done(work):
                if (piece := self._taken(work)) is None:
                    self._wait_for(work, told)
                else:
                    self._perform(work, piece)
                    work.tell(told)
            work.tell(told)
        except BaseException:  # Ctrl-C while waiting, or what listens
            work.interrupted = True
            with self._change:
                self._change.wait_for(lambda: not work.running, _SECONDS_TO_STOP)
            raise
        finally:
            with self._change:
                self._open.remove(work)
        if work.first_failed is not None:
            raise work.first_failed[1]
        go_on()

    def _is_done(self, work: _Pieces) -> bool:
        with self._change:
            if work.interrupted:  # others notice at their next chunk, and are not waited for any longer
                self._change.wait_for(lambda: not work.running, _SECONDS_TO_STOP)
                return True
            return not work.running and not work.waiting

    def _taken(self, work: _Pieces) -> int | None:
        with self._change:
            return work.take()

    def _perform(self, work: _Pieces, piece: int) -> None:
        failure: BaseException | None = None
        token = _within.set((work, piece))
        try:
            work.do(piece)
        except BaseException as error:  # noqa: BLE001 - raised by whoever brought the work
            failure = error
        finally:
            _within.reset(token)
        with self._change:
            if failure is not None:
                work.fail(piece, failure)
            work.running -= 1
            work.done += 1
            self._change.notify_all()
            if work.waiting and work.running + 1 == work.most:  # one more may be begun
                self._calls.notify()

    def _wait_for(self, work: _Pieces, told: Progress) -> None:
        """Lend the core until others have done what they have of it, or there is something to take again."""
        with self.lending():
            while not work.interrupted:
                with self._change:
                    if not work.running or (work.waiting and work.running < work.most):
                        return
                    self._change.wait()
                work.tell(told)

    @contextmanager
    def lending(self) -> Iterator[None]:
        """Let another thread have this one's core in the block, which only waits."""
        with self._change:
            self._free += 1
            self._call_help()
            self._change.notify_all()  # those that lent one come first
        try:
            yield
        except BaseException:
            with self._change:
                self._free -= 1
            raise
        with self._change:
            self._returning += 1
            try:
                # Not for ever: who has the core may wait for a lock that is held here.
                self._change.wait_for(lambda: self._free > 0, _SECONDS_TO_RETURN)
            finally:
                self._returning -= 1
                self._free -= 1
                self._call_help()

    def _call_help(self) -> None:
        """Wake or start as many threads as there are cores and pieces for; the lock is held."""
        pieces = sum(min(len(work.waiting), work.most) for work in self._open)
        wanted = min(self._free, pieces)
        if wanted <= 0:
            return
        self._calls.notify(wanted)
        for _ in range(wanted - self._idle):
            helper = Thread(target=self._help, name="tabveil helper", daemon=True)
            try:
                helper.start()
            except RuntimeError:  # the system allows no more threads: those that are there do it
                return
            self._helpers.append(helper)
            self._idle += 1

    def _help(self) -> None:
        while True:
            with self._change:
                found: tuple[_Pieces, int] | None = None
                while not self._closed and (found := self._next()) is None:
                    self._calls.wait()
                self._idle -= 1
                if found is None:
                    return
                self._free -= 1
            work, piece = found
            work.context.copy().run(self._helped, work, piece)
            with self._change:
                self._free += 1
                self._idle += 1
                if self._returning:
                    self._change.notify_all()

    def _next(self) -> tuple[_Pieces, int] | None:
        """Take a chunk where a step has few of them, which last; else a whole step; else any other chunk.

        Of several it is one of the work that fewest are at.
        """
        if self._free <= 0 or self._returning:
            return None
        for work in sorted(self._open, key=self._turn):
            piece = work.take()
            if piece is not None:
                return work, piece
        return None

    def _turn(self, work: _Pieces) -> tuple[int, int]:
        few = not work.steps and work.size <= self.threads
        return (0 if few else 1 if work.steps else 2), work.running

    def _helped(self, work: _Pieces, piece: int) -> None:
        effort = _effort.get()
        start = time.thread_time()
        self._perform(work, piece)
        if effort is not None:
            effort.add(time.thread_time() - start)


class Turn:
    """A lock that the thread which has it may take again; who waits for it lends the core meanwhile."""

    def __init__(self) -> None:
        self._lock = RLock()

    def __enter__(self) -> Self:
        if self._lock.acquire(blocking=False):
            return self
        crew = present.get()
        if crew is None:
            self._lock.acquire()
            return self
        with crew.lending():
            while not self._lock.acquire(timeout=_SECONDS_TO_STOP):
                go_on()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


class once(Generic[Kind]):  # noqa: N801 - used as a decorator
    """A property that is computed when it is first asked for, by whoever asks first; others wait for it.

    Python's own is computed by all who ask at the same time, and before Python 3.12 holds up those who ask
    for that of another object.
    """

    def __init__(self, compute: Callable[[Any], Kind]) -> None:
        self._compute = compute
        self._name = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Kind: ...

    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | Kind:
        if instance is None:
            return self
        kept, name = instance.__dict__, self._name  # found there, it is never asked for here again
        waiting = f"turn at {name}"
        with kept.setdefault(waiting, Turn()):
            try:
                if name not in kept:
                    kept[name] = self._compute(instance)
            finally:
                kept.pop(waiting, None)
        found: Kind = kept[name]
        return found


present: ContextVar[Crew | None] = ContextVar("tabveil_crew", default=None)
"""The crew at work here."""


@contextmanager
def crew_of(threads: int) -> Iterator[Crew]:
    """Hand out the crew that is at work here, or one of so many threads for the block."""
    crew = present.get()
    if crew is not None:
        yield crew
        return
    with Crew(threads) as crew:
        token = present.set(crew)
        try:
            yield crew
        finally:
            present.reset(token)


class Effort:
    """The CPU seconds that helpers gave."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._lock = Lock()

    def add(self, seconds: float) -> None:
        """Count some more."""
        with self._lock:
            self.seconds += seconds


_effort: ContextVar[Effort | None] = ContextVar("tabveil_effort", default=None)


@contextmanager
def effort() -> Iterator[Callable[[], float]]:
    """Measure what the block costs: CPU seconds of this thread, and of all that help it.

    What others do beside it does not count, so that a metric's time does not depend on who runs with it.
    """
    around, given, start = _effort.get(), Effort(), time.thread_time()
    token = _effort.set(given)
    try:
        yield lambda: time.thread_time() - start + given.seconds
    finally:
        _effort.reset(token)
        if around is not None:
            around.add(given.seconds)
