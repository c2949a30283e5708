"""Which generator, with which settings: names and values, from the command line or from Python."""

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, get_type_hints

from tabveil import check
from tabveil.errors import ParameterError
from tabveil.generators import GENERATORS
from tabveil.protocols import Synthesizer
from tabveil.synthesizing import values

PUBLIC = "public"
"""The setting that names the columns whose domain was declared; it follows from the schema."""


def choose(generator: str | Synthesizer, settings: Mapping[str, object] | None = None) -> Synthesizer:
    """Return a synthesizer with its settings checked."""
    given = dict(settings or {})
    if not isinstance(generator, str):
        if given:
            raise ParameterError("synthesize: settings belong to a generator's name; this one has its own.")
        return generator
    check.known_names("synthesize", "generator", [generator], GENERATORS)
    kind = GENERATORS[generator]
    known = settings_of(kind)
    if PUBLIC in given and PUBLIC not in known:
        raise ParameterError(f"{generator}: the schema says what is public; declare labels and bounds there.")
    if given and not known:
        raise ParameterError(f"{generator}: there are no settings, got {next(iter(given))!r}.")
    check.known_names(generator, "setting", given, known)
    made: Synthesizer = kind(
        **{key: values.read(generator, key, value, known[key]) for key, value in given.items()}
    )
    return made


def settings_of(kind: type) -> dict[str, Any]:
    """Return the settings that users may choose, each with its type."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind) if field.name != PUBLIC}


def is_private(synthesizer: Synthesizer) -> bool:
    """Tell the synthesizers that promise privacy: they want to know what is public."""
    return is_dataclass(synthesizer) and PUBLIC in {field.name for field in fields(synthesizer)}


def with_public(synthesizer: Synthesizer, names: Iterable[str]) -> Synthesizer:
    """Tell a private synthesizer which columns have a domain that no row was asked about."""
    if not is_private(synthesizer) or not is_dataclass(synthesizer):
        return synthesizer
    known: tuple[str, ...] = getattr(synthesizer, PUBLIC)
    changed: dict[str, Any] = {PUBLIC: tuple(dict.fromkeys((*known, *names)))}
    return replace(synthesizer, **changed)
