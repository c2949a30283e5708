"""Things that are chosen by name and made of settings: metrics, generators, risk models, ours and users' own.

Everything that lists, chooses, documents or loads by name looks into a :class:`Registry`, so a new metric,
generator or risk model joins by one registration and is named nowhere else. A class that stands in one has a
``name``. What its constructor takes by name are its settings, whether it is a dataclass or not; an object
keeps each setting under its name. So name and settings say everything about an object, in JSON as well.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, NamedTuple, TypeVar, get_type_hints

from tabveil.core import check
from tabveil.core.settings import presets, values
from tabveil.errors import ParameterError, TabveilError

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

    def __init__(self, what: str, kinds: Iterable[type[Kind]], protocol: type = object) -> None:
        self._what, self._protocol = what, protocol
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
        that is loaded anew does it, takes its own place. It is given what is optional in the protocol.
        """
        name = getattr(kind, "name", None)
        if not isinstance(name, str) or not name:
            raise ParameterError(kind.__name__, f"a {self._what} needs a name, such as name = 'my_own'.")
        other = self._kinds.get(name, kind)
        if (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            raise ParameterError(kind.__name__, f"there is a {self._what} called {name!r} already.")
        self._kinds[name] = completed(kind, self._protocol)
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


def completed(thing: Any, protocol: type) -> Any:  # noqa: ANN401 - of a user's own class
    """Give an object, or a class, what is optional in a protocol and what it does not say itself; return it.

    Users' own classes need not derive from a protocol. This is the door for those that are handed in.

    >>> class Near:
    ...     far: bool = False
    >>> class Mine:
    ...     name = "mine"
    >>> completed(Mine(), Near).far, Mine.far
    (False, False)
    """
    kind = thing if isinstance(thing, type) else type(thing)
    for trait, usual in vars(protocol).items():
        required = getattr(usual, "__isabstractmethod__", False)
        if trait.startswith("_") or required or hasattr(thing, trait) or hasattr(kind, trait):
            continue
        try:
            setattr(kind, trait, usual)
        except TypeError:  # a class that cannot be changed
            setattr(thing, trait, usual.__get__(thing, kind) if hasattr(usual, "__get__") else usual)
    return thing


Reader = Callable[[str, str, object, Any], Any]
"""Turns what was given for a setting into its value: ``read(owner, setting, given, type)``."""

_BY_NAME = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class SettingType(NamedTuple):
    """The type of a setting, and its default: ``MISSING`` where it must be given."""

    hint: Any
    default: Any


def settings_of(kind: type) -> dict[str, SettingType]:
    """Return the settings of a class by name, the name of a preset among them where it has some.

    >>> class Shaken:
    ...     name = "shaken"
    ...
    ...     def __init__(self, noise: float = 0.1) -> None:
    ...         self.noise = noise
    >>> settings_of(Shaken)
    {'noise': SettingType(hint=<class 'float'>, default=0.1)}
    """
    choice = presets.choice_of(kind)
    named = {} if choice is None else {presets.PRESET: SettingType(choice, presets.DEFAULT)}
    return kept_by(kind) | named


def kept_by(kind: type) -> dict[str, SettingType]:
    """Return the settings that an object of a class keeps: all but the name of a preset."""
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return {
            item.name: SettingType(hints[item.name], _default(item)) for item in fields(kind) if item.init
        }
    found = [item for item in inspect.signature(kind).parameters.values() if item.kind in _BY_NAME]
    hints = get_type_hints(kind.__init__) if found else {}  # type: ignore[misc]
    return {
        item.name: SettingType(
            hints.get(item.name, Any), MISSING if item.default is item.empty else item.default
        )
        for item in found
    }


def _default(item: Field[Any]) -> Any:  # noqa: ANN401 - of any type
    if not _is_missing(item.default_factory):
        return item.default_factory()  # type: ignore[operator]
    return MISSING if _is_missing(item.default) else item.default


def _is_missing(value: object) -> bool:
    """Tell the mark of what is not given: a class that was sent to another process has a copy of it."""
    return isinstance(value, type(MISSING))


def values_of(thing: object) -> dict[str, Any]:
    """Return the settings of an object with their values."""
    kind = type(thing)
    names = kept_by(kind)
    for name in names:
        if not hasattr(thing, name):
            raise ParameterError(kind.__name__, f"must keep its setting {name!r} under that name.")
    return {name: getattr(thing, name) for name in names}


def is_named(value: object) -> bool:
    """Tell an object whose class has a name from plain data."""
    return isinstance(getattr(type(value), "name", None), str)


def describe(thing: Any) -> dict[str, Any]:  # noqa: ANN401 - an object of any registered class
    """Return the name and the settings of an object, its values as they are."""
    return {"name": thing.name, "settings": values_of(thing)}


def name_and_settings(
    given: object, unnamed: TabveilError, *, default: str | None = None
) -> tuple[str, dict[str, Any]]:
    """Part what is said of one thing: its name, or a mapping of name and settings; else it is ``unnamed``.

    >>> name_and_settings({"name": "ctgan", "epochs": 5}, ParameterError("generator", "it needs a name."))
    ('ctgan', {'epochs': 5})
    """
    said = {str(key): value for key, value in given.items()} if isinstance(given, Mapping) else {}
    name = given if isinstance(given, str) else said.pop("name", default)
    if not isinstance(name, str):
        raise unnamed
    return name, said


def as_given(_owner: str, _setting: str, value: object, _hint: Any) -> Any:  # noqa: ANN401 - of any type
    """Take a setting that has been read already."""
    return value


def make(kind: type[Kind], given: Mapping[str, object], read: Reader = values.read) -> Kind:
    """Make an object of a class from settings, each read by its type."""
    owner, known = str(getattr(kind, "name", kind.__name__)), settings_of(kind)
    check_names(owner, given, known)
    for name, setting in known.items():
        if name not in given and setting.default is MISSING:
            raise ParameterError(owner, f"{name} must be given.")
    return kind(**{name: read(owner, name, value, known[name].hint) for name, value in given.items()})


def check_names(owner: str, given: Iterable[str], known: Mapping[str, object]) -> None:
    """Require settings that there are."""
    given = list(given)
    if given and not known:
        raise ParameterError(owner, f"there are no settings, got {given[0]!r}.")
    check.known_names(owner, "setting", given, known)
