"""A database made ready to be learned: every table prepared as a table of its own, in an order of no file."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from tabveil.core.linked import Linkage
from tabveil.core.people import LEAST_SHARED, LEAST_SHARED_IN_WORDS
from tabveil.core.rng import stream
from tabveil.core.table import Indices, Schema, Table
from tabveil.core.wording import plural
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import Synthesizer
from tabveil.synthesis.generators.persons import RowsOfPeople
from tabveil.synthesis.generators.trees.synthesizer import Trees
from tabveil.tables.linked.checks import require_ordered
from tabveil.tables.linked.database_file import Database
from tabveil.tables.linked.keys import Pairs
from tabveil.tables.linked.one_database import OneDatabase
from tabveil.tables.reading import LoadedTable
from tabveil.tables.reading.files import Source
from tabveil.workflows.databases.people_counts import shared_by_people
from tabveil.workflows.synthesizing.fresh_identifiers import Identifiers, set_aside
from tabveil.workflows.synthesizing.learned_form import LearnedForm
from tabveil.workflows.synthesizing.learning import Lesson, prepare


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadDatabase:
    """Tables as they are to be learned, with their keys as numbers and whose rows are whose.

    ``lessons`` has the tables with columns beside their keys; ``rows`` those columns, as they are learned.
    """

    database: Database
    sources: Mapping[str, Source]
    lessons: Mapping[str, Lesson]
    rows: Mapping[str, Table]
    keys: Mapping[str, Mapping[str, Indices]]  # by table and column, each (n_rows,)
    pairs: Pairs
    notes: tuple[str, ...]

    @property
    def linkage(self) -> Linkage:
        """How the tables hang together."""
        return self.database.linkage

    @property
    def n_people(self) -> int:
        """How many people are learned from."""
        return len(self.rows[self.linkage.person])

    def sizes(self, table: str) -> Indices:
        """Return how many rows of a linked table each person has."""
        return np.bincount(self.pairs[table][0], minlength=self.n_people)

    def whose(self, table: str) -> Indices:
        """Return a person of each row of a table."""
        if table == self.linkage.person:
            return np.arange(self.n_people)
        person, row = self.pairs[table]
        found = np.empty(len(self.rows[table]), dtype=np.int64)
        found[row[::-1]] = person[::-1]
        return found

    @classmethod
    def of(
        cls,
        database: Database,
        *roles: str,
        synthesizer: Synthesizer,
        seed: int,
        missing: tuple[str, ...],
        **asked: Any,  # noqa: ANN401 - as prepare takes it
    ) -> Self:
        """Read the first of these roles that is named: people for a generator, linked rows for trees."""
        came = OneDatabase.read(database, *roles, missing=missing)
        linkage, pairs, notes = came.linkage, came.pairs, list(came.notes)
        loaded = {table: _by_name(came.loaded(table, missing)) for table in linkage.tables}
        owned = {
            table: np.arange(came.keys.n_rows[table])
            if table == linkage.person
            else np.unique(pairs[table][1])
            for table in linkage.tables
        }
        order = {
            table: owned[table][_order(loaded[table], came.keys.of(table), owned[table])]
            for table in linkage.tables
        }
        _require_people(linkage, order, pairs)
        places = {table: _places(rows, came.keys.n_rows[table]) for table, rows in order.items()}
        ours = {
            table: _sorted_pairs(places[linkage.person][person], places[table][row])
            for table, (person, row) in pairs.items()
        }
        lessons: dict[str, Lesson] = {}
        for table, each in loaded.items():
            when = None if table == linkage.person else linkage[table].order
            if when is not None:
                require_ordered(table, when, Schema(()) if each is None else each.table.schema)
            if each is None:
                continue
            taken, maker = replace(each, table=each.table.take(order[table])), synthesizer
            if table != linkage.person:
                maker = Trees(order=() if when is None else (when,))
                taken, told = _linked(
                    taken, when, ours[table], pooling=asked["rare_labels"] == "pool", seed=seed
                )
                notes += [f"{table}: {note}" for note in told]
            try:
                lessons[table] = _fresh_alone(taken, maker, seed, asked["identifiers"]) or prepare(
                    taken,
                    generator=maker,
                    seed=seed,
                    schema=came.database.schema_of(table),
                    missing=missing,
                    **asked,
                )
            except (SchemaError, ParameterError) as error:
                raise type(error)(table, error) from None
            notes += [f"{table}: {note}" for note in lessons[table].notes]
        return cls(
            database=came.database,
            sources=came.sources,
            lessons=lessons,
            rows={
                table: lessons[table].table if table in lessons else _nothing(len(rows))
                for table, rows in order.items()
            },
            keys={
                table: {name: codes[order[table]] for name, codes in came.keys.of(table).items()}
                for table in linkage.tables
            },
            pairs=ours,
            notes=tuple(notes),
        )


def _linked(
    loaded: LoadedTable, order: str | None, pairs: tuple[Indices, Indices], *, pooling: bool, seed: int
) -> tuple[LoadedTable, tuple[str, ...]]:
    """Return a linked table in which what few people share is rare; its order names nobody."""
    times = [] if order is None else [order]  # learned as the time between rows
    named = [name for name in loaded.identifiers if name not in times]
    loaded = replace(loaded, identifiers=tuple(named))
    if not pooling:
        return loaded, ()
    return shared_by_people(loaded, pairs, besides=times, rng=stream(seed, "shared by people"))


def _require_people(linkage: Linkage, rows: Mapping[str, Indices], pairs: Pairs) -> None:
    """Refuse tables that fewer than ten people have rows of: whatever is learned would be theirs."""
    n_people = {linkage.person: len(rows[linkage.person])}
    n_people |= {table: len(np.unique(person)) for table, (person, _) in pairs.items()}
    for table, n in n_people.items():
        if n < LEAST_SHARED:
            raise SchemaError(
                table,
                f"{plural(n, 'person has', 'people have')} rows, and {LEAST_SHARED_IN_WORDS} are the least "
                "to learn from." + ("" if table == linkage.person else " Leave the table out."),
            )


def _by_name(loaded: LoadedTable | None) -> LoadedTable | None:
    """Return a table with its columns in the order of their names."""
    if loaded is None:
        return None
    names = sorted(loaded.table.schema.names)
    columns = {name: loaded.layout.columns[name] for name in names}
    layout = replace(loaded.layout, columns=columns)
    return replace(loaded, table=loaded.table.select(names), layout=layout)


def _fresh_alone(
    loaded: LoadedTable, synthesizer: Synthesizer, seed: int, identifiers: Identifiers
) -> Lesson | None:
    """Return what there is to do for a table that has nothing but identifiers beside its keys."""
    if identifiers == "learn" or set(loaded.identifiers) != set(loaded.table.schema.names):
        return None
    rng = stream(seed, "identifiers")
    kept = set_aside(loaded, identifiers, by_schema=False, looking=True, rng=rng)
    return Lesson(
        synthesizer=synthesizer,
        seed=seed,
        seed_given=False,
        table=kept.table,
        layout=kept.layout,
        released=kept.layout,
        form=LearnedForm(),
        declared=(),
        loaded=loaded,
        set_aside=kept,
        people=RowsOfPeople(),
        notes=(*loaded.notes, *kept.notes),
    )


def _order(loaded: LoadedTable | None, keys: Mapping[str, Indices], owned: Indices) -> Indices:
    """Return an order of rows that follows from their keys and from what they hold."""
    by_key = [keys[name][owned] for name in sorted(keys)]
    content = [] if loaded is None else [loaded.table.row_hash()[owned]]
    return np.lexsort((*content, *by_key))


def _places(rows: Indices, n_rows: int) -> Indices:
    places = np.full(n_rows, -1, dtype=np.int64)
    places[rows] = np.arange(len(rows))
    return places


def _sorted_pairs(person: Indices, row: Indices) -> tuple[Indices, Indices]:
    order = np.lexsort((row, person))
    return person[order], row[order]


def _nothing(n_rows: int) -> Table:
    return Table(schema=Schema(()), values=np.zeros((n_rows, 0)))
