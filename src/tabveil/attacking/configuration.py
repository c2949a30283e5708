"""A generator and its settings from a file: the one place that knows what ``--config`` holds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tabveil import settings
from tabveil.errors import ParameterError

_KEYS = ("generator", "settings")


def read_generator(path: str | Path) -> tuple[str, dict[str, Any]]:
    """Return the name of a generator, and its settings by name."""
    where = settings.place(path, "config")
    said = settings.load(Path(path), where)
    if not isinstance(said, Mapping) or not isinstance(said.get("generator"), str):
        raise ParameterError(f"{where}: must name a generator, such as 'generator: trees'.")
    for key in said:
        if key not in _KEYS:
            raise ParameterError(f"{where}: unknown key {str(key)!r}; there are {' and '.join(_KEYS)}.")
    given = said.get("settings") or {}
    if not isinstance(given, Mapping):
        raise ParameterError(f"{where}: settings must be names and values.")
    return said["generator"], {str(key): value for key, value in given.items()}
