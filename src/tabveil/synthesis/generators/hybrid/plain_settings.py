"""Settings of a pipeline as they are written down: names with settings beside them, and plain data."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabveil.core.settings.registry import name_and_settings
from tabveil.errors import ParameterError


def read_named(what: str, given: object) -> tuple[str, dict[str, Any]]:
    """Return the name and the settings of something that is given by its name, or as a mapping with it.

    >>> read_named("generator", {"name": "ctgan", "epochs": 5})
    ('ctgan', {'epochs': 5})
    """
    unnamed = ParameterError(what, "it must be a name, or a mapping with a name and its settings.")
    return name_and_settings(given, unnamed)


def as_plain(value: object) -> Any:  # noqa: ANN401 - JSON types
    """Return what YAML or Python says as JSON would: texts as keys, lists, days as they are written."""
    match value:
        case Mapping():
            return {str(key): as_plain(item) for key, item in value.items()}
        case list() | tuple():
            return [as_plain(item) for item in value]
        case Path():
            return str(value)
        case _ if hasattr(value, "isoformat"):
            return value.isoformat()
    return value


def with_paths_from(folder: Path, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Let the files of hierarchies be looked for from a folder, that of the file in which they are named."""
    found = dict(settings)
    hierarchies = settings.get("hierarchies")
    if isinstance(hierarchies, Mapping):
        found["hierarchies"] = {name: _from(folder, entry) for name, entry in hierarchies.items()}
    models = settings.get("models")
    if isinstance(models, (list, tuple)):
        found["models"] = [
            {**model, "hierarchy": _from(folder, model["hierarchy"])}
            if isinstance(model, Mapping) and "hierarchy" in model
            else model
            for model in models
        ]
    return found


def _from(folder: Path, entry: object) -> object:
    match entry:
        case {"file": str(name), **others}:
            return {"file": str(folder / name), **others}
    return entry
