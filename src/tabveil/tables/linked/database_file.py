"""The file that says how tables hang together, and where they are: db.yaml, or the same from Python.

>>> database = read_database({
...     "person": {"table": "clients", "key": "client"},
...     "linked": {
...         "rights": {"key": "client"},
...         "orders": {"key": "account", "through": "rights", "order": "date"},
...     },
...     "train": "train/",
... })
>>> [(link.table, link.through, link.on) for link in database.linkage.links]
[('rights', 'clients', 'client'), ('orders', 'rights', 'account')]
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from pydantic import Field, model_validator

from tabveil.core import check
from tabveil.core.linked import Link, Linkage
from tabveil.core.settings import yaml_files
from tabveil.core.settings.yaml_files import Strict
from tabveil.core.table import Categorical, Schema
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.linked import metadata as sdv
from tabveil.tables.reading import declare
from tabveil.tables.reading.declare import ColumnEntry, Label, SchemaFile

ROLES = ("data", "train", "control", "synthetic")
"""The databases that a file may name: all real people, to be split; and the three of an audit."""

DATABASE = "database"


class PersonEntry(Strict):
    """The person's table, and its column that names the person."""

    table: Label
    key: Label

    @model_validator(mode="before")
    @classmethod
    def _is_mapping(cls, value: Any) -> Any:  # noqa: ANN401 - YAML
        return _require_mapping(value, "{table: clients, key: client}")


class LinkedEntry(Strict):
    """One linked table: by which column it hangs on the person's, or on the one it is reached through."""

    key: Label
    through: Label | None = None
    on: Label | None = None
    order: Label | None = None
    id: Label | None = None

    @model_validator(mode="before")
    @classmethod
    def _is_mapping(cls, value: Any) -> Any:  # noqa: ANN401 - YAML
        return _require_mapping(value, "{key: client}")

    @classmethod
    def of(cls, link: Link, person: PersonEntry) -> Self:
        """Return what a file says of a link, without what is understood."""
        through = None if link.through == person.table else link.through
        usual = person.key if through is None else link.key
        on = None if link.on == usual else link.on
        return cls(key=link.key, through=through, on=on, order=link.order, id=link.id)

    def said(self) -> dict[str, str]:
        """Return it as plain data."""
        return self.model_dump(exclude_none=True)

    def link(self, table: str, person: PersonEntry) -> Link:
        """Return the link with what was left to be understood."""
        through = self.through or person.table
        usual = person.key if through == person.table else self.key
        return Link(
            table=table,
            key=self.key,
            through=through,
            on=self.on or usual,
            order=self.order,
            id=self.id,
        )


def _require_mapping(value: Any, such_as: str) -> Any:  # noqa: ANN401 - YAML
    if not isinstance(value, Mapping):
        raise ValueError(f"must hold names and values, such as {such_as}")  # noqa: TRY004 - of a file
    return value


class DatabaseFile(Strict):
    """The whole file."""

    person: PersonEntry
    linked: dict[Label, LinkedEntry]
    data: Any = None
    train: Any = None
    control: Any = None
    synthetic: Any = None
    schemas: dict[Label, Any] = Field(default_factory=dict)  # what is said about columns, by table


@dataclass(frozen=True, kw_only=True, eq=False)
class Database:
    """How tables hang together, what is said about their columns, and where they are."""

    linkage: Linkage
    given: Mapping[str, Any]  # by role: a folder, or a mapping of tables to files or dataframes
    schemas: Mapping[str, SchemaFile] = field(default_factory=dict)  # by table
    optional: frozenset[str] = frozenset()  # left out where they turn out to be no tables of people's rows
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for table, said in self.schemas.items():
            check.known_names("schemas", "table", [table], self.linkage.tables)
            keys = self.linkage.keys(table)
            for name in (*said.columns, *said.drop):
                if name in keys:
                    raise SchemaError(
                        f"schemas.{table}",
                        f"column {check.quoted(name)} is a key; it links tables and is never compared.",
                    )
            if said.person is not None:
                raise SchemaError(
                    f"schemas.{table}", f"person: whose rows these are says the key under linked.{table}."
                )

    def schema_of(self, table: str) -> SchemaFile:
        """Return what is said about the columns of a table; of its keys, that they are left out."""
        return self.schemas.get(table, SchemaFile()).without(self.linkage.keys(table))

    def ordering(self, table: str, schema: Schema) -> SchemaFile | None:
        """Return what is said about a table, and that the column it is ordered by holds whole numbers.

        None unless these were read as labels, ``schema`` says, and nobody declared them: numbers from 0 to 9
        look like codes, but what puts events in order counts them.
        """
        order = self.linkage[table].order if table != self.linkage.person else None
        said = self.schema_of(table)
        if order is None or order in said.columns or order not in schema.names:
            return None
        column = schema[order]
        if not isinstance(column, Categorical) or column.ordered or column.holds != "labels":
            return None
        if not all(label.isascii() and label.lstrip("-").isdigit() for label in column.labels):
            return None
        return said.model_copy(update={"columns": {**said.columns, order: ColumnEntry(type="integer")}})

    def with_given(self, **given: Any) -> Self:  # noqa: ANN401 - as in ``given``
        """Return the same with other databases in some roles; None changes nothing."""
        new = {role: each for role, each in given.items() if each is not None}
        return replace(self, given={**self.given, **new})

    def without(self, tables: Collection[str]) -> Self:
        """Return the same without some linked tables; the columns that led to them are left out, too."""
        links = [link for link in self.linkage.links if link.table not in tables]
        led = {link.through: link.on for link in self.linkage.links if link.table in tables}
        linkage = replace(self.linkage, links=tuple(links))
        schemas = {name: said for name, said in self.schemas.items() if name not in tables}
        for table, column in led.items():
            if table not in tables and column not in linkage.keys(table):
                schemas[table] = schemas.get(table, SchemaFile()).without([column])
        return replace(self, linkage=linkage, schemas=schemas)

    def to_file(self, **given: str) -> dict[str, Any]:
        """Return what a file of it says; ``given`` are the places of its databases, by role."""
        person = PersonEntry(table=self.linkage.person, key=self.linkage.key)
        linked = {link.table: LinkedEntry.of(link, person).said() for link in self.linkage.links}
        schemas = {name: plain_schema(said) for name, said in self.schemas.items()}
        told = {name: said for name, said in schemas.items() if said}
        return {
            "person": person.model_dump(),
            "linked": linked,
            **({"schemas": told} if told else {}),
            **given,
        }


def plain_schema(said: SchemaFile) -> dict[str, Any]:
    """Return what a schema says as plain data, as briefly as it can be said."""
    data = said.model_dump(exclude_defaults=True)
    for name, entry in data.get("columns", {}).items():
        if set(entry) == {"type"}:
            data["columns"][name] = entry["type"]
    return data


def read_database(
    source: str | Path | Mapping[str, Any] | Database | None = None,
    *,
    metadata: str | Path | Mapping[str, Any] | None = None,
    person: str | None = None,
    **given: Any,  # noqa: ANN401 - data, train, control, synthetic
) -> Database:
    """Read how tables hang together, and where they are.

    Parameters
    ----------
    source
        A YAML or JSON file, or a mapping of the same form. Paths in a file start at the file's folder.
    metadata
        The metadata of SDV for several tables instead (``metadata.json``, or the mapping in it).
    person
        The person's table, where ``metadata`` does not tell: it has several that belong to no other.
    given
        ``data``, ``train``, ``control`` and ``synthetic``, beside or instead of those in the file: folders
        with one file a table, or mappings of tables to files or dataframes.
    """
    check.known_names("database", "database", given, ROLES)
    if isinstance(source, Database):
        return source.with_given(**given)
    if (source is None) == (metadata is None):
        raise SchemaError(DATABASE, "give either a file that says how tables hang together, or metadata.")
    if metadata is not None:
        found = sdv.read(metadata, person)
        linked = Database(
            linkage=found.linkage, given={}, schemas=found.schemas, optional=found.upward, notes=found.notes
        )
        return linked.with_given(**given)
    assert source is not None
    where = yaml_files.place(source, DATABASE)
    file = yaml_files.read(source, DatabaseFile, DATABASE)
    folder = Path(source).parent if isinstance(source, (str, Path)) else Path()
    try:
        return Database(
            linkage=Linkage(
                person=file.person.table,
                key=file.person.key,
                links=tuple(entry.link(table, file.person) for table, entry in file.linked.items()),
            ),
            given={
                role: _placed(value, folder, role)
                for role in ROLES
                if (value := getattr(file, role)) is not None
            },
            schemas={
                table: declare.read(folder / said if isinstance(said, str) else said)
                for table, said in file.schemas.items()
            },
        ).with_given(**given)
    except (SchemaError, ParameterError) as error:
        raise type(error)(where, error) from None


def _placed(value: Any, folder: Path, role: str) -> Any:  # noqa: ANN401 - a folder, or tables
    """Return a folder, or a mapping of tables, whose relative paths start where the file is."""
    match value:
        case str() | Path():
            return folder / value
        case Mapping():
            return {
                str(table): folder / each if isinstance(each, (str, Path)) else each
                for table, each in value.items()
            }
    raise SchemaError(role, "must be a folder with one file a table, or a mapping of tables to files.")
