"""What making a synthetic table is asked for in a file: the generator with its settings, and all around it.

>>> asked = read({"generator": "hybrid", "settings": {"sampling": 0.5}, "rows": 100})
>>> asked.generator, asked.settings, asked.rows
('hybrid', {'sampling': 0.5}, 100)
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabveil import check, settings, values
from tabveil.errors import SchemaError
from tabveil.frame.wording import nearest, quoted
from tabveil.hybrid.entries import with_paths_from
from tabveil.synthesizing.fresh_identifiers import Identifiers
from tabveil.synthesizing.learning import RareLabels

KEYS: Mapping[str, Any] = {
    "generator": str,
    "settings": Mapping[str, Any],
    "rows": int,
    "seed": int,
    "schema": str,
    "missing": tuple[str, ...],
    "rare_labels": RareLabels,
    "identifiers": Identifiers,
}
"""What may stand there, with its type."""


@dataclass(frozen=True, kw_only=True)
class Configuration:
    """What a file says; None where it says nothing. Make one with :func:`read`."""

    generator: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: int | None = None
    seed: int | None = None
    schema: Path | None = None
    missing: tuple[str, ...] = ()
    rare_labels: RareLabels | None = None
    identifiers: Identifiers | None = None


def read(source: str | Path | Mapping[str, Any]) -> Configuration:
    """Read a file (YAML, JSON) or a mapping; paths in a file start at its folder."""
    where = settings.place(source, "configuration")
    from_file = isinstance(source, (str, Path))
    said = settings.load(Path(source), where) if isinstance(source, (str, Path)) else source
    folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
    if not isinstance(said, Mapping):
        raise SchemaError(f"{where}: the top level must hold settings, such as generator: hybrid.")
    for key in said:
        if key not in KEYS:
            close = nearest(str(key), list(KEYS))
            hint = f" Did you mean {quoted(close)}?" if close else f" Known: {', '.join(KEYS)}."
            raise SchemaError(f"{where}: unknown key {quoted(key)}.{hint}")
    if said.get("settings") and "generator" not in said:
        raise SchemaError(f"{where}: settings belong to a generator; name it.")
    found = {key: values.read(where, key, value, KEYS[key]) for key, value in said.items()}
    for key, least in (("rows", 1), ("seed", 0)):
        if key in found:
            check.at_least(where, key, found[key], least)
    if "schema" in found:
        found["schema"] = folder / found["schema"]
    if "settings" in found and from_file:
        found["settings"] = with_paths_from(folder, found["settings"])
    return Configuration(**found)
