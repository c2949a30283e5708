"""Presets: names for several settings at once, such as those that a paper used.

A class says them in ``presets``, by name: settings and their values. It then takes one more setting,
``preset``, and whatever is given beside it comes first. It is no part of the object: one that is made by a
preset and one that is given the same values are equal, have the same answers, and one address in a store.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, signature
from typing import Any, Literal, TypeVar

from tabveil.core import check

PRESET, DEFAULT = "preset", "default"
Presets = Mapping[str, Mapping[str, Any]]

Kind = TypeVar("Kind", bound=type)


def takes_presets(kind: Kind) -> Kind:
    """Let a dataclass be made by one of its ``presets``.

    It stands above ``@dataclass``, and so does another above each class that derives from it.

    A class may keep the name of the preset in a field, if it has one of that name.

    >>> from dataclasses import dataclass
    >>> @takes_presets
    ... @dataclass(frozen=True, kw_only=True)
    ... class Search:
    ...     presets = {"wide": {"radius": 9.0}}
    ...     radius: float = 1.0
    ...     depth: int = 2
    >>> Search(preset="wide"), Search(preset="wide", radius=2.0) == Search(radius=2.0)
    (Search(radius=9.0, depth=2), True)
    """
    known: Presets = kind.presets  # type: ignore[attr-defined]
    names = {item.name for item in fields(kind)}
    for preset, settings in known.items():
        check.known_names(f"{kind.__name__}, {preset}", "setting", settings, names)
    keeps = PRESET in names
    usual: Callable[..., None] = kind.__init__  # type: ignore[misc]

    @wraps(usual)
    def init(self: Any, *, preset: str = DEFAULT, **given: Any) -> None:  # noqa: ANN401 - of any type
        check.one_of(str(getattr(kind, "name", kind.__name__)), PRESET, preset, (DEFAULT, *known))
        kept = {PRESET: preset} if keeps else {}
        usual(self, **{**known.get(preset, {}), **given, **kept})

    if not keeps:
        told, named = (
            signature(usual),
            Parameter(PRESET, Parameter.KEYWORD_ONLY, default=DEFAULT, annotation=str),
        )
        init.__dict__["__signature__"] = told.replace(parameters=[*told.parameters.values(), named])
    kind.__init__ = init  # type: ignore[misc]
    return kind


def choice_of(kind: type) -> Any:  # noqa: ANN401 - a type, or None
    """Return the type of the setting ``preset`` where a class takes one without keeping it, else None."""
    known: Presets = getattr(kind, "presets", {})
    if not known or (is_dataclass(kind) and PRESET in {item.name for item in fields(kind)}):
        return None
    return Literal[(DEFAULT, *known)]
