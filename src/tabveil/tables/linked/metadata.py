"""The metadata that SDV's users have: tables, their keys and relationships, read into the same links.

Tables that belong to the person's, directly or through others, are linked. So are those to which a linked
table refers, as the accounts do that several clients may have: but where such a row turns out to belong to
many people, it is one to look things up in, and the table is left out when the rows are read.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabveil.core import check
from tabveil.core.check import listed, quoted
from tabveil.core.linked import Link, Linkage
from tabveil.core.settings import yaml_files
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading.declare import ColumnEntry, SchemaFile

METADATA = "metadata"
_TYPES = {"categorical": "category", "boolean": "boolean"}


@dataclass(frozen=True, kw_only=True)
class Relationship:
    """A column of one table that names rows of another."""

    parent: str
    child: str
    key: str  # of the parent
    foreign: str  # of the child


@dataclass(frozen=True, kw_only=True)
class Described:
    """What metadata say of linked tables."""

    linkage: Linkage
    schemas: Mapping[str, SchemaFile]
    upward: frozenset[str]  # reached by a reference of a linked table, or through such a table
    notes: tuple[str, ...]


def read(source: str | Path | Mapping[str, Any], person: str | None) -> Described:
    """Read metadata; the person's table is the one named, or the only one that belongs to no other."""
    where = yaml_files.place(source, METADATA)
    data = yaml_files.load(Path(source), where) if isinstance(source, (str, Path)) else source
    try:
        return _described(data, person)
    except (SchemaError, ParameterError) as error:
        raise type(error)(where, error) from None


def _described(data: Any, person: str | None) -> Described:  # noqa: ANN401 - JSON
    tables, relationships = _tables(data), _relationships(data)
    for each in relationships:
        check.known_names("relationships", "table", [each.parent, each.child], tables)
    person = person or _root(tables, relationships)
    check.known_names("person", "table", [person], tables)
    key = tables[person].get("primary_key")
    if not isinstance(key, str):
        raise SchemaError(f"tables.{person}", "the person's table has no primary_key of one column.")
    links, upward = _links(person, relationships, tables)
    linkage = Linkage(person=person, key=key, links=tuple(links.values()))
    apart = [name for name in tables if name not in linkage.tables]
    notes = [f"Left out: {listed(apart)}, which no relationship links to {quoted(person)}."] if apart else []
    return Described(
        linkage=linkage,
        schemas={name: _schema(tables[name], linkage.keys(name)) for name in linkage.tables},
        upward=frozenset(upward),
        notes=tuple(notes),
    )


def _tables(data: Any) -> Mapping[str, Mapping[str, Any]]:  # noqa: ANN401 - JSON
    match data:
        case {"tables": {**tables}} if tables and all(isinstance(each, Mapping) for each in tables.values()):
            return {str(name): each for name, each in tables.items() if isinstance(each, Mapping)}
    raise SchemaError("tables", "must describe the tables of a database, each by its name.")


def _relationships(data: Mapping[str, Any]) -> list[Relationship]:
    found = []
    for place, each in enumerate(data.get("relationships") or (), 1):
        match each:
            case {
                "parent_table_name": str(parent),
                "child_table_name": str(child),
                "parent_primary_key": str(key),
                "child_foreign_key": str(foreign),
            }:
                found.append(Relationship(parent=parent, child=child, key=key, foreign=foreign))
            case _:
                raise SchemaError(
                    "relationships",
                    f"entry {place} must name parent_table_name, child_table_name, parent_primary_key and "
                    "child_foreign_key, each of one column.",
                )
    return found


def _root(tables: Mapping[str, Any], relationships: list[Relationship]) -> str:
    parents, children = ({getattr(each, side) for each in relationships} for side in ("parent", "child"))
    roots = [name for name in tables if name in parents and name not in children]
    if len(roots) == 1:
        return roots[0]
    found = f"{len(roots)} belong to no other ({listed(roots)})" if roots else "every one belongs to another"
    raise ParameterError("person", f"which table is the person's? Of those with others, {found}.")


def _links(
    person: str, relationships: list[Relationship], tables: Mapping[str, Mapping[str, Any]]
) -> tuple[dict[str, Link], set[str]]:
    """Walk from the person's table: down as far as it goes, then a step up from a linked table, and on."""
    links: dict[str, Link] = {}
    upward: set[str] = set()
    while True:
        reached = {person, *links}
        down = [each for each in relationships if each.parent in reached and each.child not in reached]
        up = [each for each in relationships if each.child in links and each.parent not in reached]
        if not (down or up):
            return links, upward
        first = (down or up)[0]
        table, through = (first.child, first.parent) if down else (first.parent, first.child)
        ways = [each for each in down or up if {each.child, each.parent} == {table, through}]
        if len(ways) > 1:
            raise SchemaError(
                "relationships",
                f"table {quoted(table)} hangs on {quoted(through)} by {len(ways)} columns "
                f"({listed([each.foreign for each in ways])}); write a database file that says which.",
            )
        links[table] = Link(
            table=table,
            through=through,
            key=first.foreign if down else first.key,
            on=first.key if down else first.foreign,
            order=_name(tables[table], "sequence_index"),
            id=_name(tables[table], "primary_key"),
        )
        if not down or through in upward:
            upward.add(table)


def _name(table: Mapping[str, Any], key: str) -> str | None:
    value = table.get(key)
    return value if isinstance(value, str) else None


def _schema(table: Mapping[str, Any], keys: tuple[str, ...]) -> SchemaFile:
    """Return what the metadata say of columns: those that are codes, and ids that link nothing here."""
    columns = table.get("columns")
    kinds = {
        str(name): each.get("sdtype")
        for name, each in (columns.items() if isinstance(columns, Mapping) else ())
        if isinstance(each, Mapping) and name not in keys
    }
    return SchemaFile(
        drop=tuple(name for name, kind in kinds.items() if kind == "id"),
        columns={
            name: ColumnEntry.model_validate(_TYPES[kind]) for name, kind in kinds.items() if kind in _TYPES
        },
    )
