"""Dataclasses as plain data and back: what reports and models are stored as.

Only for dataclasses without arrays. Reading is checked: a file of another shape is a ``ValueError``, never
a half-made object.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Self, TypeVar

from tabveil.core.storage.files import Unreadable

Kind = TypeVar("Kind")


class _Nullable:
    """Marks a number that is null in a file where it is not finite here; ``read`` is what null is read as."""

    def __init__(self, read: float) -> None:
        self.read = read

    def __get_pydantic_core_schema__(self, kind: Any, build: Any) -> Any:  # noqa: ANN401 - pydantic's own
        from pydantic import BeforeValidator  # noqa: PLC0415 - see _adapter

        return BeforeValidator(self._number).__get_pydantic_core_schema__(kind, build)

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


def readable(kind: Any) -> bool:  # noqa: ANN401 - any type
    """Tell whether plain data can be read as this type; as one that only Python knows, it cannot."""
    from pydantic.errors import PydanticUserError  # noqa: PLC0415 - see above

    try:
        _adapter(kind)
    except PydanticUserError:
        return False
    return True


def to_plain(value: Any) -> Any:  # noqa: ANN401 - any dataclass in, JSON types out
    """Return the fields of a dataclass, and of those in it, as JSON types; a number that is none is null.

    >>> from tabveil.core.estimate import Estimate
    >>> to_plain(Estimate(value=0.5, low=0.25, high=math.inf, n=8))
    {'value': 0.5, 'low': 0.25, 'high': None, 'n': 8}
    """
    return _finite(_adapter(type(value)).dump_python(value, mode="json"))


def _finite(value: Any) -> Any:  # noqa: ANN401 - JSON types
    match value:
        case dict():
            return {name: _finite(item) for name, item in value.items()}
        case list():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
    return value


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
