"""The schema file: what the user says about columns, in YAML or JSON.

>>> declared = read({"missing": ["?"], "columns": {"ward": "category"}})
>>> declared.columns["ward"].type
'category'
"""

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, model_validator

from tabveil import settings
from tabveil.errors import SchemaError
from tabveil.frame.infer import Declared, TypeName
from tabveil.frame.wording import nearest, quoted
from tabveil.settings import Strict


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


class ColumnEntry(Strict):
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


class SchemaFile(Strict):
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
    return settings.read(schema, SchemaFile, "schema")
