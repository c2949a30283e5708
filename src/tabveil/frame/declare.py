"""The schema file: what the user says about columns, in YAML or JSON.

>>> declared = read({"missing": ["?"], "columns": {"ward": "category"}})
>>> declared.columns["ward"].type
'category'
"""

import datetime as dt
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from tabveil.errors import ParameterError, SchemaError
from tabveil.frame.infer import Declared, TypeName
from tabveil.frame.wording import nearest, quoted, shown

_SUFFIXES = (".yaml", ".yml", ".json")


def _as_label(value: Any) -> str:  # noqa: ANN401 - YAML
    """Read what YAML made of a label: 1, 1.0, true and 2024-03-01 were text in the user's mind."""
    match value:
        case bool():
            return str(value)
        case float() if value.is_integer():
            return str(int(value))
        case int() | float() | str():
            return str(value)
        case dt.date():
            return value.isoformat()
        case _:
            raise ValueError("must be text")


Label = Annotated[str, BeforeValidator(_as_label)]
Labels = Annotated[
    tuple[Label, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ColumnEntry(_Strict):
    """One column: its type, and the order of its labels."""

    type: TypeName
    labels: tuple[Label, ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _type_alone(cls, value: Any) -> Any:  # noqa: ANN401 - YAML
        return {"type": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _labels_fit(self) -> "ColumnEntry":
        if self.labels is not None and self.type not in ("category", "ordered category"):
            raise ValueError("labels belong to a category or an ordered category")
        if self.labels is not None and len(set(self.labels)) < len(self.labels):
            raise ValueError("labels must be distinct")
        return self


class SchemaFile(_Strict):
    """The whole file."""

    missing: Labels = ()
    drop: Labels = ()
    columns: dict[Label, ColumnEntry] = Field(default_factory=dict)

    def of(self, name: str) -> Declared | None:
        """Return what is said about a column."""
        entry = self.columns.get(name)
        return None if entry is None else Declared(type=entry.type, labels=entry.labels)

    def require_known(self, names: set[str]) -> None:
        """Refuse columns that no table has."""
        for key, given in (("drop", self.drop), ("columns", tuple(self.columns))):
            for name in given:
                if name not in names:
                    close = nearest(name, names)
                    hint = f" Did you mean {quoted(close)}?" if close else ""
                    raise SchemaError(f"schema: {key} names {quoted(name)}, which no table has.{hint}")


def read(schema: str | Path | Mapping[str, Any] | None) -> SchemaFile:
    """Read a schema from a file or a mapping; None says nothing about any column."""
    if schema is None:
        return SchemaFile()
    where = f"schema {quoted(Path(schema).name)}" if isinstance(schema, (str, Path)) else "schema"
    data = _load(Path(schema), where) if isinstance(schema, (str, Path)) else schema
    if not isinstance(data, Mapping):
        raise SchemaError(f"{where}: the top level must hold the keys missing, drop or columns.")
    try:
        return SchemaFile.model_validate(dict(data))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(shown(part) for part in first["loc"] if part != "[key]") or "the file"
        problem = (
            "unknown key"
            if first["type"] == "extra_forbidden"
            else first["msg"].removeprefix("Value error, ")
        )
        raise SchemaError(f"{where}: {key}: {shown(problem, 200)}.") from None


def _load(path: Path, where: str) -> Any:  # noqa: ANN401 - YAML
    if path.suffix.lower() not in _SUFFIXES:
        raise ParameterError(f"{where}: the name must end in {', '.join(_SUFFIXES)}.")
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
