"""Kinds of things by their names: ours, and those that users add in their own code.

Everything that lists, chooses, documents or loads by name looks here, so a new metric, generator or risk
model joins by one registration and is named nowhere else.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TypeVar

from tabveil.core import check
from tabveil.errors import ParameterError

Kind = TypeVar("Kind")


class Registry(Mapping[str, type[Kind]]):
    """Classes of one kind by name, in the order in which they joined.

    >>> class Mine:
    ...     name = "mine"
    >>> known: Registry[Mine] = Registry("thing", ())
    >>> known.add(Mine) is Mine, list(known)
    (True, ['mine'])
    >>> known.find("me", "min")
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: me: no thing 'min'. Did you mean 'mine'?
    """

    def __init__(self, what: str, kinds: Iterable[type[Kind]]) -> None:
        self._what = what
        self._kinds: dict[str, type[Kind]] = {}
        for kind in kinds:
            self.add(kind)

    def __getitem__(self, name: str) -> type[Kind]:
        return self._kinds[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def add(self, kind: type[Kind]) -> type[Kind]:
        """Let a class join under its name; also a decorator.

        A name can be taken only once, but a class that is defined again, as a cell of a notebook or a module
        that is loaded anew does it, takes its own place.
        """
        name = getattr(kind, "name", None)
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{kind.__name__}: a {self._what} needs a name, such as name = 'my_own'.")
        if not _is_same(self._kinds.get(name, kind), kind):
            raise ParameterError(f"{kind.__name__}: there is a {self._what} called {name!r} already.")
        self._kinds[name] = kind
        return kind

    @contextmanager
    def adding(self, kind: type[Kind]) -> Iterator[None]:
        """Let a class join for the length of a block."""
        self.add(kind)
        try:
            yield
        finally:
            del self._kinds[str(kind.name)]  # type: ignore[attr-defined]

    def find(self, owner: str, name: str) -> type[Kind]:
        """Return the class of this name, or complain for ``owner`` and offer the nearest spelling."""
        check.known_names(owner, self._what, [name], self._kinds)
        return self._kinds[name]


def _is_same(one: type, other: type) -> bool:
    """Tell whether two classes are one, though perhaps defined twice."""
    return one is other or (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
