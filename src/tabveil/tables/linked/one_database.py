"""One database by itself, to be split, described or learned: its tables as they came, and their keys."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tabveil.core.check import listed
from tabveil.core.linked import Linkage
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.linked.database_file import Database
from tabveil.tables.linked.folders import others_in, tables_of
from tabveil.tables.linked.keys import DatabaseKeys, Pairs
from tabveil.tables.linked.loading import keys_of
from tabveil.tables.reading import LoadedTable, load_table
from tabveil.tables.reading.files import Source


@dataclass(frozen=True, kw_only=True, eq=False)
class OneDatabase:
    """The tables of one role, with sound keys; nothing was decided about types of columns.

    ``database`` is without optional tables that turned out to be none of people's rows.
    """

    database: Database
    role: str
    sources: Mapping[str, Source]
    keys: DatabaseKeys
    pairs: Pairs
    notes: tuple[str, ...]

    @classmethod
    def read(cls, database: Database, *roles: str, missing: tuple[str, ...] = ()) -> Self:
        """Read the first of these roles that the database names, and check its keys."""
        role = next((role for role in roles if role in database.given), None)
        if role is None:
            raise ParameterError("database", f"{roles[0]} is missing: where are its tables?")
        sources = tables_of(database.given[role], database.linkage.tables, role)
        for table, source in sources.items():
            if source.data.num_rows == 0:
                raise SchemaError(f"{table} of {role}", "the table has no rows.")
        notes = list(database.notes)
        apart = others_in(database.given[role], database.linkage.tables, role)
        if apart and not database.optional:
            notes.append(f"Left out: {listed(apart)}, which no link names.")
        database, keys, pairs, more = keys_of(database, {role: sources}, missing)
        return cls(
            database=database,
            role=role,
            sources=sources,
            keys=keys[role],
            pairs=pairs[role],
            notes=(*notes, *more),
        )

    @property
    def linkage(self) -> Linkage:
        """How the tables hang together."""
        return self.database.linkage

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return self.keys.n_rows[self.linkage.person]

    def loaded(self, table: str, missing: tuple[str, ...] = ()) -> LoadedTable | None:
        """Read a table without its keys; None if they are all it has."""
        said = self.database.schema_of(table)
        if set(self.sources[table].data.column_names) <= set(said.drop):
            return None
        try:
            loaded = load_table(self.sources[table], schema=said, missing=missing)
            counts = self.database.ordering(table, loaded.table.schema)
            return load_table(self.sources[table], schema=counts, missing=missing) if counts else loaded
        except (SchemaError, ParameterError) as error:
            raise type(error)(table, error) from None
