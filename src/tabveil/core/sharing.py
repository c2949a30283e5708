"""What several parts of one piece of work need, and what takes long to make: made once, then shared.

Who needs it does not know who else does: the attacks of an audit that look at a release through one
embedding, say. So what was made travels in a context variable, as the threads do
(:mod:`tabveil.core.workers`).
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TypeVar

from numpy.random import Generator

from tabveil.core.rng import stream

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


_current: ContextVar[_Shelf | None] = ContextVar("tabveil_shelf", default=None)


@contextmanager
def sharing(seed: int, *, kept: bool = False) -> Iterator[None]:
    """Let all that runs in the block share what :func:`shared` makes.

    Where it is ``kept``, the next block of the same seed finds it, too. That saves time and changes nothing:
    what is made follows from the seed and the key alone.
    """
    token = _current.set(_kept(seed) if kept else _Shelf(seed))
    try:
        yield
    finally:
        _current.reset(token)


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
    shelf = _current.get()
    return make(rng) if shelf is None else shelf.get(key, make)
