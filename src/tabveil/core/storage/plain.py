"""Data as JSON and back, in one dialect: dataclasses, and objects that are known by name and settings.

What reports and models are stored as. Reading is checked: a file of another shape is a ``ValueError``, never
a half-made object.
"""

import math
from collections.abc import Mapping
from dataclasses import is_dataclass
from typing import Annotated, Any, Self, TypeVar

import numpy as np

from tabveil.core.settings.registry import Registry, describe, is_named, make
from tabveil.core.storage.files import Unreadable
from tabveil.errors import ParameterError, told

Kind = TypeVar("Kind")


class _Nullable:
    """Marks a number that is null in a file where it is not finite here; ``read`` is what null is read as."""

    def __init__(self, read: float) -> None:
        self.read = read

    def __get_pydantic_core_schema__(self, kind: Any, build: Any) -> Any:  # noqa: ANN401 - pydantic's own
        from pydantic import BeforeValidator  # noqa: PLC0415 - see _adapter

        return BeforeValidator(self._number).__get_pydantic_core_schema__(kind, build)

    def __get_pydantic_json_schema__(self, core: Any, build: Any) -> Any:  # noqa: ANN401 - pydantic's own
        return {"anyOf": [build(core), {"type": "null"}]}

    def _number(self, value: Any) -> Any:  # noqa: ANN401 - whatever stands in a file
        return self.read if value is None else value


class _Sparse:
    """Marks a dataclass of which there are many: fields that are None are left out."""

    def __get_pydantic_core_schema__(self, kind: Any, build: Any) -> Any:  # noqa: ANN401 - pydantic's own
        from pydantic import WrapSerializer  # noqa: PLC0415 - see _adapter

        return WrapSerializer(_without_nulls).__get_pydantic_core_schema__(kind, build)


def _without_nulls(value: Any, write: Any) -> dict[str, Any]:  # noqa: ANN401 - pydantic's own
    return {name: item for name, item in write(value).items() if item is not None}


Number = Annotated[float, _Nullable(math.nan)]
"""A number that may be none: not finite here, null in a file."""

Unbounded = Annotated[float, _Nullable(math.inf)]
"""A number that may be infinite: null in a file."""

WITHOUT_NULLS = _Sparse()

FORBID_OTHERS: Any = {"extra": "forbid"}
"""The ``__pydantic_config__`` of dataclasses that are stored with no other keys than their fields."""

_adapters: dict[Any, Any] = {}


def _adapter(kind: Any) -> Any:  # noqa: ANN401 - any type that pydantic reads
    """Make the adapter of a type once: making one takes longer than using it.

    Pydantic is loaded only here, where something is stored or read: networks are trained on machines that
    have little more than torch.
    """
    from pydantic import TypeAdapter  # noqa: PLC0415 - see above

    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_plain(value: Any) -> Any:  # noqa: ANN401 - data in, JSON types out
    """Return data as JSON types: dataclasses by their fields, objects of a registry by name and settings.

    A number that is none is null, never NaN.

    >>> from tabveil.core.estimate import Estimate
    >>> to_plain({"risk": Estimate(value=0.5, low=0.25, high=math.inf, n=8), 0: np.array([1, 2])})
    {'risk': {'value': 0.5, 'low': 0.25, 'high': None, 'n': 8}, '0': [1, 2]}
    """
    match value:
        case Mapping():
            return {str(key): to_plain(item) for key, item in value.items()}
        case np.ndarray():
            return to_plain(value.tolist())
        case list() | tuple():
            return [to_plain(item) for item in value]
        case bool() | np.bool_():
            return bool(value)
        case int() | np.integer():
            return int(value)
        case float() | np.floating():
            return float(value) if math.isfinite(value) else None
        case _ if is_named(value):
            return to_plain(describe(value))
        case _ if is_dataclass(value):
            return to_plain(_adapter(type(value)).dump_python(value, mode="json"))
    return value


def schema_of(kind: Any) -> dict[str, Any]:  # noqa: ANN401 - any type that is stored
    """Return the JSON Schema of what :func:`to_plain` writes of a type.

    >>> from tabveil.core.estimate import Estimate
    >>> schema_of(Estimate)["required"]
    ['value', 'low', 'high', 'n']
    """
    found: dict[str, Any] = _adapter(kind).json_schema(mode="serialization")
    return found


def from_plain(kind: type[Kind], data: Any) -> Kind:  # noqa: ANN401 - JSON types
    """Rebuild what :func:`to_plain` wrote."""
    found: Kind = _adapter(kind).validate_python(data)
    return found


def require_plain(kind: type[Kind], data: Any, what: str) -> Kind:  # noqa: ANN401 - JSON types
    """Rebuild what :func:`to_plain` wrote, or say in one line what of ``what`` is at fault.

    >>> require_plain(tuple[int, ...], [1, None], "visits")
    Traceback (most recent call last):
    ...
    tabveil.core.storage.files.Unreadable: visits.1: input should be a valid integer
    """
    from pydantic import ValidationError  # noqa: PLC0415 - see _adapter

    try:
        return from_plain(kind, data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = ".".join(map(str, (what, *first["loc"])))
        raise Unreadable(f"{where}: {first['msg'][:1].lower()}{first['msg'][1:]}") from error


class PlainData:
    """A dataclass that is stored as its fields are, and read back."""

    def to_json(self) -> dict[str, Any]:
        """Return plain data; times apart, it is equal for equal runs."""
        plain: dict[str, Any] = to_plain(self)
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        return from_plain(cls, data)


def rebuild(kind: type[Kind], settings: Mapping[str, object], known: Registry[Any]) -> Kind:
    """Make an object again from settings that came out of JSON; those with a name are found in ``known``."""

    def read(owner: str, name: str, value: object, hint: Any) -> Any:  # noqa: ANN401 - of any type
        found = _with_objects(owner, value, known)
        return found if found is not value else _stored(owner, name, value, hint)

    return make(kind, settings, read)


def restore(owner: str, description: object, known: Registry[Kind]) -> Kind:
    """Make the object again that is described by name and settings, or complain for ``owner``."""
    match description:
        case {"name": str(name), "settings": Mapping() as settings, **others} if not others:
            return rebuild(known.find(owner, name), settings, known)
    raise ParameterError(owner, f"expected a name and settings, got {told(description)}.")


def _with_objects(owner: str, value: object, known: Registry[Any]) -> object:
    """Put objects in the place of their descriptions; return the value itself where there are none."""
    if isinstance(value, Mapping) and set(value) == {"name", "settings"}:
        return restore(owner, value, known)
    if isinstance(value, list):
        found = tuple(_with_objects(owner, item, known) for item in value)
        return found if any(new is not old for new, old in zip(found, value, strict=True)) else value
    return value


def _stored(owner: str, name: str, value: object, hint: Any) -> Any:  # noqa: ANN401 - of any type
    """Read a value that came out of JSON, where a tuple is a list."""
    if not _is_readable(hint):
        return tuple(value) if isinstance(value, list) else value
    try:
        return from_plain(hint, value)
    except ValueError:
        raise ParameterError(owner, f"{name} cannot be {told(value)}.") from None


def _is_readable(kind: Any) -> bool:  # noqa: ANN401 - any type
    """Tell whether plain data can be read as this type; as one that only Python knows, it cannot."""
    from pydantic.errors import PydanticUserError  # noqa: PLC0415 - see above

    try:
        _adapter(kind)
    except PydanticUserError:
        return False
    return True
