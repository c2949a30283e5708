"""A cluster of the user's own (Dask): the one door to it, who may be talked to, and calls that run there.

Rows travel to it, so beyond this machine only with TLS. Workers may end at any time; Dask lets others do what
they did. A call is a function of its arguments, and its answer is the same wherever it ran. What many calls
are given, such as tables, is sent to the workers once.
"""

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from tabveil.core.workers import available_threads, seed_of_shared, sharing, unheard, working
from tabveil.errors import ParameterError

_SECONDS_TO_ANSWER = 10
_TIMES_SENT = 3
"""What is lost with its workers is sent again so often."""


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


def as_completed(client: Any, futures: Iterable[Any] = ()) -> Any:  # noqa: ANN401 - Dask's own
    """Hand out futures as they end; more may be added."""
    import distributed  # noqa: PLC0415 - an extra

    return distributed.as_completed(futures, loop=client.loop)


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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Place:
    """Where something is kept that was sent before: in which parcel, and the how-manieth there."""

    parcel: int
    number: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Parcel:
    """What is sent to all workers at once."""

    things: tuple[Any, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Call:
    """A call as it travels: what was sent before is named by its place."""

    function: Any
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]

    @classmethod
    def of(cls, work: Any, places: Mapping[int, _Place]) -> Any:  # noqa: ANN401 - a call, a place, or as it is
        """Return a call for what is a partial function, and a place for what was sent."""
        if id(work) in places:
            return places[id(work)]
        if not isinstance(work, partial):
            return work
        return cls(
            function=work.func,
            arguments=tuple(cls.of(item, places) for item in work.args),
            named={name: cls.of(item, places) for name, item in work.keywords.items()},
        )

    @classmethod
    def opened(cls, found: Any, parcels: Sequence[_Parcel]) -> Any:  # noqa: ANN401 - as given
        """Undo :meth:`of`."""
        match found:
            case _Place(parcel=parcel, number=number):
                return parcels[parcel].things[number]
            case _Call(function=function, arguments=arguments, named=named):
                return partial(
                    function,
                    *(cls.opened(item, parcels) for item in arguments),
                    **{name: cls.opened(item, parcels) for name, item in named.items()},
                )
        return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sent:
    """What the workers have, and where; ``things`` live on, so that nothing else gets their addresses."""

    parcels: tuple[Any, ...] = ()
    places: Mapping[int, _Place] = field(default_factory=dict)
    things: tuple[Any, ...] = ()


class Elsewhere:
    """Does calls on the workers of a cluster: partial functions, whose answers follow from their arguments.

    ``threads`` is how many cores each process may use, None its share of those of its machine.
    """

    def __init__(self, client: Any, *, owner: str, threads: int | None = None) -> None:  # noqa: ANN401 - Dask's
        self._client = client
        self._owner = owner
        self._threads = threads
        self._sent = _Sent()

    def keep(self, *things: Any) -> None:  # noqa: ANN401 - whatever calls are given
        """Send to all workers what calls will be given until the end."""
        self._sent = self._with(things)

    def _with(self, things: Iterable[Any]) -> "_Sent":
        """Send what was not sent before, and return all that is there then, for as long as it is wanted."""
        sent = self._sent
        new = {id(thing): thing for thing in things if thing is not None and id(thing) not in sent.places}
        if not new:
            return sent
        parcel = self._client.scatter(_Parcel(things=tuple(new.values())), broadcast=True, hash=False)
        places = {
            id(thing): _Place(parcel=len(sent.parcels), number=n) for n, thing in enumerate(new.values())
        }
        return _Sent(
            parcels=(*sent.parcels, parcel),
            places={**sent.places, **places},
            things=(*sent.things, *new.values()),
        )

    def __call__(
        self, works: Sequence[Callable[[], Any]], *, order: Iterable[int], ended: Callable[[int], None]
    ) -> list[Any]:
        """Do all, handed out in this order; return what each found, or raise what the first raised.

        A scheduler may keep one copy alone of what was sent to all workers, and lose it with its worker. Then
        everything is sent and done again: the answers are the same.
        """
        order, told = list(order), set[int]()

        def tell_once(number: int) -> None:
            if number not in told:
                told.add(number)
                ended(number)

        for left in reversed(range(_TIMES_SENT)):
            found = self._attempt(works, order, tell_once)
            if found is not None:
                return found
            if left:
                self._send_again()
        raise self._were_lost()

    def _send_again(self) -> None:
        things, self._sent = self._sent.things, _Sent()
        try:
            self._sent = self._with(things)
        except TimeoutError:  # there is no worker any more
            raise self._were_lost() from None

    def _attempt(
        self, works: Sequence[Callable[[], Any]], order: Sequence[int], ended: Callable[[int], None]
    ) -> list[Any] | None:
        """Do all; None where what was sent is lost."""
        sent = self._with(_in_all(works))
        settings = self._threads, self._at_once(), seed_of_shared()
        futures = {
            number: self._client.submit(
                _perform,
                settings,
                _Call.of(works[number], sent.places),
                *sent.parcels,
                key=f"audit-{uuid4()}",
                priority=-place,
            )
            for place, number in enumerate(order)
        }
        numbers = {future.key: number for number, future in futures.items()}
        failed: dict[int, BaseException] = {}
        for future in as_completed(self._client, futures.values()):
            number = numbers[future.key]
            if future.status == "finished":
                ended(number)
            elif number < min(failed, default=len(works)):
                if _is_lost(future):
                    self._client.cancel(list(futures.values()))
                    return None
                failed[number] = self._failure(future)
                self._client.cancel([later for other, later in futures.items() if other > number])
        if failed:
            raise failed[min(failed)]
        return list(self._client.gather([futures[number] for number in range(len(works))]))

    def _at_once(self) -> dict[str, int]:
        """Count the tasks that each machine does at a time."""
        found: dict[str, int] = {}
        for address, worker in self._client.scheduler_info(n_workers=-1)["workers"].items():
            require_guarded(address, owner=self._owner, what="a worker")
            host = urlsplit(address).hostname or ""
            found[host] = found.get(host, 0) + int(worker["nthreads"])
        return found

    def _failure(self, future: Any) -> BaseException:  # noqa: ANN401 - Dask's own
        """Return what a call raised, or say that it was never done."""
        error: BaseException | None = None if future.cancelled() else future.exception()
        if error is None or type(error).__name__ in {"KilledWorker", "FutureCancelledError"}:
            return self._were_lost()
        return error

    def _were_lost(self) -> ParameterError:
        return ParameterError(
            self._owner,
            "the workers that shared the work were lost again and again (out of memory?).",
            hint="Run it again, with fewer tasks at once on each machine or without --scheduler.",
        )


def _is_lost(future: Any) -> bool:  # noqa: ANN401 - Dask's own
    """Whether something that a call was given is on no worker any more."""
    return bool(future.cancelled()) or type(future.exception()).__name__ == "FutureCancelledError"


def _in_all(works: Sequence[Any]) -> list[Any]:
    """Return what every one of several calls is given, such as tables and a report."""
    given = [_given(work) for work in works]
    return [thing for address, thing in given[0].items() if all(address in others for others in given)]


def _given(work: Any) -> dict[int, Any]:  # noqa: ANN401 - a call or what it is given
    """Return the arguments of a call, and of calls among them, by their addresses; what is small is none."""
    if isinstance(work, partial):
        inside = [_given(item) for item in (*work.args, *work.keywords.values())]
        return {address: thing for each in inside for address, thing in each.items()}
    if work is None or callable(work) or isinstance(work, (str, int, float, type)):
        return {}
    return {id(work): work}


def _perform(settings: tuple[int | None, dict[str, int], int | None], call: Any, *parcels: _Parcel) -> Any:  # noqa: ANN401
    """Do a call on a worker: nobody listens there, and what is shared follows from the same seed."""
    most, at_once, seed = settings
    threads = max(available_threads() // _tasks_here(at_once), 1)
    threads = threads if most is None else min(threads, most)
    shelf = nullcontext() if seed is None else sharing(seed, kept=True)
    with working(threads=threads, listener=unheard), shelf:
        return _Call.opened(call, parcels)()


def _tasks_here(at_once: Mapping[str, int]) -> int:
    """Return how many tasks are done at a time on this machine."""
    from distributed import get_worker  # noqa: PLC0415 - an extra

    worker = get_worker()
    return max(at_once.get(urlsplit(worker.address).hostname or "", 0), int(worker.state.nthreads), 1)
