"""The joint load of databases: keys checked, every table read on one schema, people put in one order.

The order of people and of their rows follows from what they hold: files whose rows, columns or names stand in
another order make the same databases.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.check import listed
from tabveil.core.linked import Linkage, LinkedSplit
from tabveil.core.table import Schema, Split, Table
from tabveil.core.wording import plural, verb
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.linked import checks
from tabveil.tables.linked.arranging import Arrangement
from tabveil.tables.linked.checks import AUDITED
from tabveil.tables.linked.database_file import Database, read_database
from tabveil.tables.linked.folders import others_in, tables_of
from tabveil.tables.linked.keys import DatabaseKeys, Databases, LookupTableError, Pairs, read_keys
from tabveil.tables.reading import LoadedTables, load_split
from tabveil.tables.reading.declare import SchemaFile


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedDatabase:
    """The databases of an audit, and what to know about how they were read.

    ``tables`` holds what was read of each table that has columns beside its keys: its layout, words and
    inputs. The rows of its splits stand as those of ``split`` do.
    """

    split: LinkedSplit
    tables: Mapping[str, LoadedTables]
    notes: tuple[str, ...] = ()

    @property
    def linkage(self) -> Linkage:
        """How the tables hang together."""
        return self.split.linkage


def load_database(
    source: str | Path | Mapping[str, Any] | Database | None = None,
    *,
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    **given: Any,  # noqa: ANN401 - as read_database takes them
) -> LoadedDatabase:
    """Read the databases of an audit and check them, once and for all.

    ``source`` and what else is ``given`` say how they hang together and where they are, as
    :func:`read_database` takes it; ``missing`` and ``drop_identifiers`` mean what they do for one table.

    >>> from tabveil.datasets import clinic
    >>> hangs = {
    ...     "person": {"table": "patients", "key": "patient"},
    ...     "linked": {"visits": {"key": "patient", "order": "day"}},
    ... }
    >>> loaded = load_database(hangs, train=clinic(60, seed=1), synthetic=clinic(40, seed=2))
    >>> len(loaded.split.train), len(loaded.split.synthetic.linked["visits"]) > 40
    (60, True)
    """
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    database = read_database(source, **given)
    for role in ("train", "synthetic"):
        if role not in database.given:
            raise ParameterError("database", f"{role} is missing: where are its tables?")
    came = {
        role: tables_of(database.given[role], database.linkage.tables, role)
        for role in AUDITED
        if role in database.given
    }
    checks.require_rows(came)
    notes = [*database.notes, *_left_out(database)]
    database, keys, pairs, more = keys_of(database, came, words)
    linkage = database.linkage
    if not drop_identifiers:
        checks.require_same_columns(came, database)
    read = {
        table: _read(table, came, database, missing=words, drop_identifiers=drop_identifiers)
        for table in linkage.tables
    }
    for link in linkage.links:
        more += checks.require_order(link, read[link.table].tables, read[link.table].loaded)
    new = checks.new_people(keys)
    arranged = {
        role: Arrangement.of(
            {name: each.tables[role] for name, each in read.items()},
            keys[role],
            pairs[role],
            new if role == "control" else np.ones(keys[role].n_rows[linkage.person], dtype=np.bool_),
        )
        for role in came
    }
    people = {role: each.people for role, each in arranged.items()}
    people.setdefault("control", people["train"].take(np.zeros(0, dtype=np.int64)))
    notes += [*more, *checks.known_people(new, linkage), *checks.parted_rows(keys, pairs, new)]
    notes += [f"{table}: {note}" for table, each in read.items() for note in each.notes]
    return LoadedDatabase(
        split=LinkedSplit(**people),
        tables={
            table: _in_order(each.loaded, arranged, table)
            for table, each in read.items()
            if each.loaded is not None
        },
        notes=tuple(notes),
    )


def keys_of(
    database: Database, came: Databases, missing: tuple[str, ...]
) -> tuple[Database, dict[str, DatabaseKeys], dict[str, Pairs], list[str]]:
    """Read keys, and whose rows are whose; leave out optional tables of rows that belong to nobody alone."""
    notes: list[str] = []
    while True:
        keys = read_keys(came, database.linkage, missing, database.optional)
        try:
            pairs = {role: each.all_pairs() for role, each in keys.items()}
            return database, keys, pairs, [*notes, *_of_nobody(database, keys, pairs)]
        except LookupTableError as error:
            if error.table not in database.optional:
                raise
            gone = database.linkage.behind(error.table)
            database = database.without(gone)
            notes.append(
                f"Left out: {listed(gone)}, whose rows belong to many people each: people refer to them."
            )


def _of_nobody(database: Database, keys: Mapping[str, DatabaseKeys], pairs: Mapping[str, Pairs]) -> list[str]:
    found = []
    for role, each in keys.items():
        for table in sorted(database.optional & set(each.linkage.tables)):
            n_lost = each.n_rows[table] - len(np.unique(pairs[role][table][1]))
            if n_lost:
                what = f"{plural(n_lost, 'row')} {verb(n_lost, 'belongs', 'belong')}"
                found.append(f"{table} of {role}: {what} to nobody and {verb(n_lost, 'is', 'are')} left out.")
    return found


@dataclass(frozen=True, kw_only=True, eq=False)
class _ReadTable:
    """One table of all databases, in the order of the files, its columns in that of their names."""

    tables: Mapping[str, Table]  # by role
    loaded: LoadedTables | None = None  # None: keys are all it has

    @property
    def notes(self) -> tuple[str, ...]:
        return () if self.loaded is None else self.loaded.notes


def _read(
    table: str,
    came: Databases,
    database: Database,
    *,
    missing: tuple[str, ...],
    drop_identifiers: bool,
    said: SchemaFile | None = None,
) -> _ReadTable:
    said = said or database.schema_of(table)
    sources = {role: tables[table] for role, tables in came.items()}
    if set(sources["train"].data.column_names) <= set(said.drop):
        return _ReadTable(
            tables={
                role: Table(schema=Schema(()), values=np.zeros((source.data.num_rows, 0)))
                for role, source in sources.items()
            }
        )
    try:
        loaded = load_split(
            sources["train"],
            sources["synthetic"],
            sources.get("control"),
            schema=said,
            missing=missing,
            drop_identifiers=drop_identifiers,
            independent_rows=True,
        )
    except (SchemaError, ParameterError) as error:
        raise type(error)(table, error) from None
    if counts := database.ordering(table, loaded.split.schema):
        return _read(table, came, database, missing=missing, drop_identifiers=drop_identifiers, said=counts)
    names = sorted(loaded.split.schema.names)
    split = loaded.split.select(names)
    return _ReadTable(
        tables={role: getattr(split, role) for role in AUDITED},
        loaded=replace(loaded, split=split, given=split),
    )


def _in_order(loaded: LoadedTables, arranged: Mapping[str, Arrangement], table: str) -> LoadedTables:
    """Return what was read with the rows that are left, in the order of their people."""

    def taken(split: Split | None) -> Split | None:
        if split is None:
            return None
        parts = {role: getattr(split, role).take(each.rows[table]) for role, each in arranged.items()}
        return replace(split, **parts)

    split = taken(loaded.split)
    assert split is not None
    return replace(
        loaded,
        split=split,
        given=split,
        written=taken(loaded.written),
        identifiers=taken(loaded.identifiers),
    )


def _left_out(database: Database) -> list[str]:
    apart = others_in(database.given["train"], database.linkage.tables, "train")
    return [f"Left out: {listed(apart)}, which no link names."] if apart and not database.optional else []
