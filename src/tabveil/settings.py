"""Files that people write (schema, attackers, policy, a whole audit): YAML or JSON.

They are checked by a model, and a fault is told in a line.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from tabveil.errors import ParameterError, SchemaError

SUFFIXES = (".yaml", ".yml", ".json")
_LONGEST = 200


class Strict(BaseModel):
    """A model that knows all its keys and never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Model = TypeVar("Model", bound=Strict)


def read(source: str | Path | Mapping[str, Any] | Model | None, model: type[Model], what: str) -> Model:
    """Read a file or a mapping into a model; None says nothing about anything."""
    if source is None:
        return model()
    if isinstance(source, model):
        return source
    where = place(source, what)
    data = load(Path(source), where) if isinstance(source, (str, Path)) else source
    if not isinstance(data, Mapping):
        keys = " or ".join(model.model_fields)
        raise SchemaError(f"{where}: the top level must hold the keys {keys}.")
    try:
        return model.model_validate(dict(data))
    except ValidationError as error:
        raise SchemaError(f"{where}: {complaint(error)}") from None


def place(source: object, what: str) -> str:
    """Say where settings stand, for a complaint: a file by its name."""
    return f'{what} "{Path(source).name}"' if isinstance(source, (str, Path)) else what


def complaint(error: ValidationError) -> str:
    """Tell the first fault in a line that begins with its key."""
    first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(_short(part) for part in first["loc"] if part != "[key]") or "the file"
    unknown = first["type"] == "extra_forbidden"
    problem = "unknown key" if unknown else first["msg"].removeprefix("Value error, ")
    return f"{key}: {_short(problem)}."


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def load(path: Path, where: str) -> Any:  # noqa: ANN401 - YAML
    """Return what a YAML or JSON file says."""
    if path.suffix.lower() not in SUFFIXES:
        raise ParameterError(f"{where}: the name must end in {', '.join(SUFFIXES)}.")
    try:
        written = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise ParameterError(f"{where}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ParameterError(f"{where}: cannot be read: {reason}.") from None
    try:
        return json.loads(written) if path.suffix.lower() == ".json" else yaml.safe_load(written)
    except json.JSONDecodeError as error:
        raise SchemaError(f"{where}: line {error.lineno}: not valid JSON.") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}:" if mark is not None else ""
        raise SchemaError(f"{where}:{line} not valid YAML.") from None
    except (ValueError, RecursionError):
        raise SchemaError(f"{where}: not valid YAML or JSON.") from None
