"""The schema file: what the user says about columns, in YAML or JSON.

>>> declared = read({"missing": ["?"], "columns": {"ward": "category"}})
>>> declared.columns["ward"].type
'category'
"""

import datetime as dt
import math
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from tabveil.core.check import nearest, quoted
from tabveil.core.settings import yaml_files
from tabveil.core.settings.yaml_files import Strict
from tabveil.errors import SchemaError
from tabveil.tables.reading.infer import Declaration, TypeName
from tabveil.tables.reading.moments import STEPS, MomentForm, of_template
from tabveil.tables.reading.number_form import NumberForm, of_example
from tabveil.tables.reading.raw_column import Form
from tabveil.tables.reading.written import TRUTH, TextFormat

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

_FRACTION = {"days": 0, "seconds": 0, "milliseconds": 3, "microseconds": 6}
"""The digits after the second that a unit needs."""
MOST_CHARACTERS = 64
"""Of an identifier whose form is declared."""

_MOMENT_FORMS = {"date": "DD.MM.YYYY", "datetime": "YYYY-MM-DD HH:MM:SS", "time": "HH:MM"}
_NUMBER_FORM = (
    'the form of a real number must be an example that can be read in one way only, such as "1,234.50", '
    '"1234,5" or "12.50 %"'
)
_WHOLE_FORM = 'the form of an integer must be an example without decimals, such as "1,234" or "12 %"'


def _as_label(value: Any) -> str:  # noqa: ANN401 - YAML
    """Read what YAML made of a label: 1, 1.0, true and 2024-03-01 were text in the user's mind."""
    match value:
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


def _as_bound(value: Any) -> float | dt.datetime | None:  # noqa: ANN401 - YAML
    """Read a bound: a number, or a date as YAML or JSON writes it."""
    match value:
        case None:
            return None
        case bool():
            raise ValueError("must be a number or a date")
        case int() | float() if math.isfinite(value):
            return float(value)
        case dt.datetime():
            return value
        case dt.date():
            return dt.datetime(value.year, value.month, value.day)  # noqa: DTZ001 - dates have no zone
        case str():
            try:
                return dt.datetime.fromisoformat(value)
            except ValueError:
                pass
    raise ValueError("must be a number or a date such as 2024-03-01")


Bound = Annotated[float | dt.datetime | None, BeforeValidator(_as_bound)]


def _as_form(value: Any) -> str:  # noqa: ANN401 - YAML
    """Read a form, of which YAML may have made something else: TRUE without quotes is lost as it stood."""
    match value:
        case str():
            return value
        case int() if value == 1 and not isinstance(value, bool):
            return "1"
    raise ValueError('must be text; put it in quotes, such as "TRUE"')


class CsvEntry(Strict):
    """How a text file is written for those who may not look how the data are written."""

    delimiter: Literal[",", ";", "\t", "|"] = ","
    encoding: str = "utf-8"
    decimal: Literal[".", ","] = "."
    missing: str = ""

    @model_validator(mode="after")
    def _can_be_written(self) -> "CsvEntry":
        try:
            "".encode(self.encoding)
        except (LookupError, ValueError):
            raise ValueError("no encoding of this name is known") from None
        if self.decimal == self.delimiter:
            raise ValueError("a decimal comma wants another delimiter")
        return self


class ColumnEntry(Strict):
    """One column: its type and, where the user knows it, its domain and the way it is written."""

    type: TypeName
    labels: tuple[Label, ...] | None = Field(default=None, min_length=1)
    low: Bound = None
    high: Bound = None
    decimals: Annotated[int, Field(ge=0, le=6, strict=True)] | None = None
    unit: Literal["days", "seconds", "milliseconds", "microseconds"] | None = None
    form: Annotated[str, BeforeValidator(_as_form)] | None = None

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

    @model_validator(mode="after")
    def _domain_fits(self) -> "ColumnEntry":
        given = [bound for bound in (self.low, self.high) if bound is not None]
        dates = self.type in ("date", "datetime")
        if given and not dates and self.type not in ("integer", "real"):
            raise ValueError("low and high belong to numbers, a date or a datetime")
        if any(isinstance(bound, dt.datetime) != dates for bound in given):
            raise ValueError(f"low and high must be {'dates such as 2024-03-01' if dates else 'numbers'}")
        if self.decimals is not None and self.type != "real":
            raise ValueError("decimals belong to a real number")
        if self.unit is not None and self.type != "datetime":
            raise ValueError("a unit belongs to a datetime")
        written = [_position(bound) for bound in given]
        if written != sorted(written):
            raise ValueError("low must not be above high")
        if any(not _on_grid(bound, self) for bound in written):
            raise ValueError("low and high must themselves be values that the column may hold")
        return self

    @model_validator(mode="after")
    def _form_fits(self) -> "ColumnEntry":  # noqa: C901 - one case a type
        match self.type, self.form:
            case _, None:
                pass
            case "boolean", form:
                if form not in TRUTH:
                    raise ValueError(f"the form of true must be one of {', '.join(TRUTH)}")
            case (("integer" | "real"), form):
                if of_example(form, whole=self.type == "integer") is None:
                    raise ValueError(_NUMBER_FORM if self.type == "real" else _WHOLE_FORM)
            case (("date" | "datetime" | "time"), form):
                moment, parts = of_template(form), (self.type != "time", self.type != "date")
                if moment is None or (bool(moment.date), moment.has_time) != parts:
                    raise ValueError(f"the form of a {self.type} must look like {_MOMENT_FORMS[self.type]}")
                if self.type == "datetime" and moment.digits < _FRACTION[self.unit or "seconds"]:
                    raise ValueError("the form must show the unit, such as milliseconds as SS.fff")
            case "identifier", form:
                if not any("0" <= letter <= "9" for letter in form) or not form.isascii():
                    raise ValueError("the form of an identifier must have digits, such as AB-0000")
                if len(form) > MOST_CHARACTERS:
                    raise ValueError(f"the form of an identifier has at most {MOST_CHARACTERS} characters")
            case _:
                raise ValueError(
                    "a form belongs to a number, a boolean, a date, a datetime, a time or an identifier"
                )
        return self

    def declared(self, csv: CsvEntry) -> Declaration:
        """Return what is said, dates in microseconds."""
        return Declaration(
            type=self.type,
            labels=self.labels,
            low=None if self.low is None else _position(self.low),
            high=None if self.high is None else _position(self.high),
            decimals=self.decimals,
            step=None if self.unit is None else STEPS[self.unit],
            form=self._written(csv),
            written=self._form(csv),
        )

    def _form(self, csv: CsvEntry) -> Form | None:
        """Return the way of writing that the entry shows, if it is one of numbers or moments."""
        if self.form is None or self.type in ("boolean", "identifier"):
            return None
        if self.type in ("integer", "real"):
            return of_example(self.form, whole=self.type == "integer", mark=csv.decimal)
        return of_template(self.form)

    def _written(self, csv: CsvEntry) -> TextFormat:
        """Return how values are written: as declared, or in a way that no row has a part in."""
        form, moment = self._form(csv), None
        if isinstance(form, MomentForm):
            moment = form
        elif self.type == "datetime":
            moment = MomentForm(separator="T", seconds=True, digits=_FRACTION[self.unit or "seconds"])
        return TextFormat(
            missing=csv.missing,
            digits=self.decimals,
            number=form if isinstance(form, NumberForm) else NumberForm(mark=csv.decimal),
            words=TRUTH[self.form or "True"] if self.type == "boolean" else TRUTH["True"],
            moment=moment,
        )


def _position(bound: float | dt.datetime) -> float:
    """Return a number as it is and a moment as microseconds since 1970 (UTC where a zone is written)."""
    if not isinstance(bound, dt.datetime):
        return bound
    return (bound.replace(tzinfo=bound.tzinfo or dt.UTC) - _EPOCH) // dt.timedelta(microseconds=1)


def _on_grid(bound: float, entry: ColumnEntry) -> bool:
    """Whether a bound has the decimals or the unit that its column is said to have."""
    match entry.type:
        case "integer":
            return bound.is_integer()
        case "real":
            return entry.decimals is None or round(bound, entry.decimals) == bound
        case "date":
            return bound % STEPS["days"] == 0
        case _:
            return entry.unit is None or bound % STEPS[entry.unit] == 0


class SchemaFile(Strict):
    """The whole file."""

    missing: Labels = ()
    drop: Labels = ()
    person: Label | None = None  # the column that says whose row it is
    csv: CsvEntry = CsvEntry()
    columns: dict[Label, ColumnEntry] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _missing_reads_back(self) -> "SchemaFile":
        if self.csv.missing and self.csv.missing not in self.missing:
            raise ValueError("csv.missing must be empty or one of the texts listed under missing")
        return self

    def of(self, name: str) -> Declaration | None:
        """Return what is said about a column."""
        entry = self.columns.get(name)
        return None if entry is None else entry.declared(self.csv)

    @property
    def identifiers(self) -> dict[str, str | None]:
        """The columns that are said to name people, each with the form of its values if one is given."""
        return {name: entry.form for name, entry in self.columns.items() if entry.type == "identifier"}

    def with_identifier(self, name: str) -> "SchemaFile":
        """Return the same, and that a column names people."""
        return self.model_copy(update={"columns": {**self.columns, name: ColumnEntry(type="identifier")}})

    def without_bounds(self) -> "SchemaFile":
        """Return the same without the domains of numbers and dates: an audit measures by what rows hold.

        A generous bound would make all differences in its column small, and a leak in it hard to see.
        """
        nothing = {"low": None, "high": None, "decimals": None, "unit": None}
        columns = {name: entry.model_copy(update=nothing) for name, entry in self.columns.items()}
        return self.model_copy(update={"columns": columns})

    def without(self, names: Iterable[str]) -> "SchemaFile":
        """Return the same with these columns among those left out; none of them names people any longer."""
        drop = tuple(dict.fromkeys((*self.drop, *names)))
        return self.model_copy(update={"drop": drop, "person": None if self.person in drop else self.person})

    def about_rest(self, gone: Collection[str]) -> "SchemaFile":
        """Return what it says about a table that these columns were taken out of before."""
        return self.model_copy(
            update={
                "columns": {name: entry for name, entry in self.columns.items() if name not in gone},
                "drop": tuple(name for name in self.drop if name not in gone),
                "person": None if self.person in gone else self.person,
            }
        )

    def require_known(self, names: set[str]) -> None:
        """Refuse columns that no table has."""
        people = () if self.person is None else (self.person,)
        for key, given in (("drop", self.drop), ("person", people), ("columns", tuple(self.columns))):
            for name in given:
                if name not in names and (key, name) != ("drop", ""):  # some are left out by themselves
                    close = nearest(name, names)
                    hint = f" Did you mean {quoted(close)}?" if close else ""
                    raise SchemaError("schema", f"{key} names {quoted(name)}, which no table has.{hint}")


def read(
    schema: str | Path | Mapping[str, Any] | SchemaFile | None, *, drop: str | Iterable[str] = ()
) -> SchemaFile:
    """Read a schema from a file or a mapping; None says nothing about any column.

    Columns to ``drop`` are left out beside those that it leaves out itself.
    """
    found, names = yaml_files.read(schema, SchemaFile, "schema"), columns_named(drop)
    return found.without(names) if names else found


def columns_named(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return columns that are named, one or several, each once."""
    return (given,) if isinstance(given, str) else tuple(dict.fromkeys(given))
