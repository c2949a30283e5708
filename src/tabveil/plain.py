"""Dataclasses as plain data and back: what reports and models are stored as.

Only for dataclasses without arrays. Reading is checked: a file of another shape is a ``ValueError``, never
a half-made object.
"""

from typing import Any, TypeVar

from pydantic import TypeAdapter

Kind = TypeVar("Kind")


_adapters: dict[Any, TypeAdapter[Any]] = {}


def _adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401 - any type that pydantic reads
    """Make the adapter of a type once: making one takes longer than using it."""
    if kind not in _adapters:
        _adapters[kind] = TypeAdapter(kind)
    return _adapters[kind]


def to_plain(value: Any) -> Any:  # noqa: ANN401 - any dataclass in, JSON types out
    """Return the fields of a dataclass, and of those in it, as JSON types."""
    return _adapter(type(value)).dump_python(value, mode="json")


def from_plain(kind: type[Kind], data: Any) -> Kind:  # noqa: ANN401 - JSON types
    """Rebuild what :func:`to_plain` wrote."""
    found: Kind = _adapter(kind).validate_python(data)
    return found
