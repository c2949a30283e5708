"""Learn people with their linked rows, and draw new people with new rows and keys.

The person's table is learned by any generator, with how many rows of each linked table hang on a person as
further columns. Then each linked table is learned given the row that it hangs on, and drawn by walking from
the people: rows of a table hang on those of the table they go through.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.linked import Linkage
from tabveil.core.people import LEAST_SHARED_IN_WORDS
from tabveil.core.rng import stream
from tabveil.core.sampling import random_order
from tabveil.core.table import Indices, Numeric, Schema, Table
from tabveil.core.workers import Listener, part, working
from tabveil.errors import ParameterError
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators.models import require_model
from tabveil.tables.linked.database_file import Database, read_database
from tabveil.tables.linked.keys import Place
from tabveil.tables.reading.layout import Layout, plain_place
from tabveil.workflows.databases.fresh_keys import beginning, key_spaces, real_keys, written
from tabveil.workflows.databases.reading import ReadDatabase
from tabveil.workflows.databases.sets import SetModel, beside, called, one_column
from tabveil.workflows.databases.structure import Counted, Hubs, Joint, joint_of
from tabveil.workflows.synthesizing.fresh_identifiers import Identifiers
from tabveil.workflows.synthesizing.learning import (
    RareLabels,
    choose,
    needing_extra,
    wants_secret_seed,
)
from tabveil.workflows.synthesizing.table_model import SyntheticRows, finished, whole_rows, whole_seed

ROLES = ("train", "data")
"""The databases of a file that are learned from: the first of these that it names."""


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnDatabase:
    """New people with new rows: each table as it leaves, keys among its columns."""

    tables: Mapping[str, SyntheticRows]
    n_people: int

    def native(self) -> dict[str, Any]:
        """Return the tables as pandas, polars or Arrow, as they came (Arrow where they were files)."""
        return {name: rows.native() for name, rows in self.tables.items()}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Structure:
    """What is learned of how tables hang together."""

    joints: Mapping[tuple[str, str], Joint]
    counted: Mapping[str, Counted]  # by linked table
    hung: Mapping[str, Indices]  # of each row of a linked table: the hub that it hangs on

    @classmethod
    def of(cls, read: ReadDatabase) -> "_Structure":
        joints, counted, hung = {}, {}, {}
        for link in read.linkage.links:
            way = (link.through, link.on)
            if way not in joints:
                joints[way] = joint_of(
                    read.linkage,
                    *way,
                    keys=read.keys[link.through],
                    rows=read.rows[link.through],
                    whose=read.whose(link.through),
                )
            hubs = joints[way].hubs
            of_hub = read.keys[link.through][link.on][hubs.first]
            order = np.argsort(of_hub)
            found = np.searchsorted(of_hub[order], read.keys[link.table][link.key])
            hung[link.table] = order[found]
            counted[link.table] = Counted.of(link.table, hubs, hung[link.table])
        return cls(joints=joints, counted=counted, hung=hung)

    def columns_of(self, linkage: Linkage, table: str) -> Table | None:
        """Return what the rows of a table learn beside their own columns; None if nothing."""
        shared = [
            (joint.column, joint.codes)
            for (name, _), joint in self.joints.items()
            if name == table and joint.codes is not None
        ]
        numbers = [
            (self.counted[link.table].column, self.counted[link.table].counts)
            for link in linkage.links
            if link.through == table and self.counted[link.table].always is None
        ]
        found = [one_column(column, cells) for column, cells in (*shared, *numbers)]
        return beside(*found) if found else None


@dataclass(frozen=True, kw_only=True, eq=False)
class DatabaseModel:
    """People and their rows as they were learned: what draws databases like the one that came in."""

    read: ReadDatabase
    structure: _Structure
    own: Model | None  # None: the person's table has nothing to learn
    sets: Mapping[str, SetModel]
    generator: str
    notes: tuple[str, ...]

    @property
    def linkage(self) -> Linkage:
        """How the tables hang together."""
        return self.read.linkage

    def draw(self, n_people: int, *, seed: int = 0) -> DrawnDatabase:
        """Draw so many people with all their rows; the same seed draws the same."""
        linkage, person = self.linkage, self.linkage.person
        n_people, seed = whole_rows(n_people), whole_seed(seed)
        drawn = {person: self._people(n_people, seed)}
        whose = {person: np.arange(n_people)}
        known = {person: called(drawn[person], f"{person}: ")}
        codes: dict[Place, Indices] = {Place(person, linkage.key): np.arange(n_people)}
        hung = {person: np.arange(n_people)}
        joints: dict[Place, Hubs] = {}
        for link in linkage.links:
            through = link.through
            rng = stream(seed, "draw", link.table)
            way = Place(through, link.on)
            if way not in joints:
                joint = self.structure.joints[way]
                joints[way] = joint.drawn(
                    drawn[through], hung[through], whose[through], rng=stream(seed, "sharing", *way)
                )
                if way not in codes:
                    codes[way] = joints[way].of_row
            hubs = joints[way]
            hub = np.repeat(
                np.arange(len(hubs.first)), self.structure.counted[link.table].drawn(drawn[through], hubs)
            )
            parent = hubs.first[hub]
            given = known[through].take(parent)
            rows = self.sets[link.table].draw(given, hub, rng=rng)
            drawn[link.table] = rows
            hung[link.table], whose[link.table] = hub, whose[through][parent]
            known[link.table] = beside(given, called(rows, f"{link.table}: "))
            codes[Place(link.table, link.key)] = codes[way][parent]
            if link.id is not None and link.id != link.key:
                codes[Place(link.table, link.id)] = np.arange(len(rows))
        return DrawnDatabase(tables=self._as_they_leave(drawn, codes, seed), n_people=n_people)

    def _people(self, n_people: int, seed: int) -> Table:
        if self.own is None:
            return Table(schema=Schema(()), values=np.zeros((n_people, 0)))
        name = self.own.name
        table = self.own.sample(n_people, rng=stream(seed, "draw", name))
        if not isinstance(table, Table) or table.schema != self.own.schema or len(table) != n_people:
            raise ParameterError(name, f"sample must return a Table of its schema with {n_people} rows.")
        return table.take(random_order(table, rng=stream(seed, "order", name)))

    def _as_they_leave(
        self, drawn: Mapping[str, Table], codes: Mapping[Place, Indices], seed: int
    ) -> dict[str, SyntheticRows]:
        """Return the tables with the columns of the data, fresh identifiers, and keys that nobody has."""
        keys: dict[Place, Indices] = {}
        for places in key_spaces(self.linkage):
            n_keys = max(int(codes[place].max(initial=-1)) + 1 for place in places)
            first = beginning(real_keys(self.read.sources, places), n_keys)
            keys |= {place: written(codes[place], first) for place in places}
        return {
            table: self._with_keys(
                table,
                rows,
                {place.column: each for place, each in keys.items() if place.table == table},
                seed,
            )
            for table, rows in drawn.items()
        }

    def _with_keys(self, table: str, rows: Table, keys: Mapping[str, Indices], seed: int) -> SyntheticRows:
        source, lesson = self.read.sources[table], self.read.lessons.get(table)
        made = SyntheticRows(
            table=Table(schema=Schema(()), values=np.zeros((len(rows), 0))),
            layout=Layout(library=source.library, columns={}, csv=source.csv),
        )
        if lesson is not None:
            made = finished(
                rows.select(lesson.table.schema.names),
                lesson.form,
                lesson.released,
                declared=lesson.loaded.declared,
                fresh=lesson.set_aside.fresh,
                rng=stream(seed, "identifiers", table),
            )
        parts = {name: made.table.select([name]) for name in made.table.schema.names}
        places = dict(made.layout.columns)
        for name, each in keys.items():
            cells = np.where(each < 0, np.nan, each.astype(np.float64))
            high = float(np.nanmax(cells)) if (each >= 0).any() else 0.0
            column = Numeric(name=name, low=0.0, high=high, decimals=0)
            parts[name], places[name] = one_column(column, cells), plain_place(column)
        names = [name for name in source.data.column_names if name in parts]
        return SyntheticRows(
            table=beside(*(parts[name] for name in names)),
            layout=replace(made.layout, columns={name: places[name] for name in names}),
        )


def learn_tables(
    database: Database,
    *,
    generator: str | Synthesizer = "trees",
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    missing: Iterable[str] = (),
    rare_labels: RareLabels = "pool",
    identifiers: Identifiers = "fresh",
    threads: int | None = None,
    progress: Listener | None = None,
) -> DatabaseModel:
    """Learn the people of a database with their rows; see :func:`synthesize_tables`."""
    synthesizer = choose(generator, settings)
    if wants_secret_seed(synthesizer):
        raise ParameterError(
            synthesizer.name,
            "promises privacy for the rows of one table; linked tables are learned without a promise, so "
            "none would hold for a person. Choose another generator, such as trees.",
        )
    fit_seed = 0 if seed is None else whole_seed(seed)
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    with working(threads=threads, listener=progress):
        read = ReadDatabase.of(
            database,
            *ROLES,
            synthesizer=synthesizer,
            seed=fit_seed,
            missing=words,
            rare_labels=rare_labels,
            identifiers=identifiers,
        )
        linkage = read.linkage
        structure = _Structure.of(read)
        extra = {table: structure.columns_of(linkage, table) for table in linkage.tables}
        full = {
            table: read.rows[table] if (more := extra[table]) is None else beside(read.rows[table], more)
            for table in linkage.tables
        }
        n_parts = len(linkage.tables)
        with part(0, 1 / n_parts, title=f"{linkage.person}: "):
            own = _fit_people(read, synthesizer, full[linkage.person], fit_seed)
        known = {linkage.person: called(full[linkage.person], f"{linkage.person}: ")}
        sets = {}
        for place, link in enumerate(linkage.links, 1):
            hub = structure.hung[link.table]
            given = known[link.through].take(structure.joints[link.through, link.on].hubs.first[hub])
            with part(place / n_parts, (place + 1) / n_parts, title=f"{link.table}: "):
                sets[link.table] = SetModel.fit(
                    full[link.table],
                    given,
                    hub,
                    order=link.order,
                    sizes=read.sizes(link.table),
                    rng=stream(fit_seed, "fit", link.table),
                )
            known[link.table] = beside(given, called(full[link.table], f"{link.table}: "))
    return DatabaseModel(
        read=read,
        structure=structure,
        own=own,
        sets=sets,
        generator=synthesizer.name,
        notes=(*read.notes, *_said_of_sharing(structure)),
    )


def _fit_people(read: ReadDatabase, synthesizer: Synthesizer, table: Table, seed: int) -> Model | None:
    """Fit the generator to people's own rows with the numbers of their linked rows."""
    if not len(table.schema):
        return None
    lesson = read.lessons.get(read.linkage.person)
    declared: tuple[str, ...] = ()
    source = read.sources[read.linkage.person]
    layout = Layout(library=source.library, columns={}, csv=source.csv)
    if lesson is not None:
        synthesizer, declared, layout = lesson.synthesizer, lesson.declared, lesson.layout
    columns = dict(layout.columns)
    for column in table.schema.columns:
        if column.name not in columns:
            columns[column.name] = plain_place(column)
    layout = replace(layout, columns={name: columns[name] for name in table.schema.names})
    with needing_extra(synthesizer.name):
        rng = stream(seed, "fit", synthesizer.name)
        model = synthesizer.fit_written(table, layout, declared=declared, rng=rng)
    return require_model(synthesizer.name, model)


def _said_of_sharing(structure: _Structure) -> list[str]:
    """Say of rows that several rows lead to how they are drawn."""
    told = []
    for (table, on), joint in structure.joints.items():
        if joint.kind == "shared":
            whose = "of one person" if joint.within else "of several people"
            told.append(
                f"{table}: rows {whose} share a value of {on} as often as in the data, but for what fewer "
                f"than {LEAST_SHARED_IN_WORDS} rows do; which rows share one follows from what they hold and "
                "from chance, not from whose they are."
            )
    return told


def synthesize_tables(
    tables: str | Path | Mapping[str, Any] | None = None,
    *,
    generator: str | Synthesizer = "trees",
    people: int | None = None,
    settings: Mapping[str, object] | None = None,
    seed: int | None = None,
    data: Any = None,  # noqa: ANN401 - a folder, or tables of any dataframe library by name
    metadata: str | Path | Mapping[str, Any] | None = None,
    person_table: str | None = None,
    missing: Iterable[str] = (),
    rare_labels: RareLabels = "pool",
    identifiers: Identifiers = "fresh",
    threads: int | None = None,
    progress: Listener | None = None,
) -> dict[str, Any]:
    """Learn linked tables and return new people with new rows: the same tables, columns and types.

    The people can still reveal data of those they were learned from: audit them before you release them.

    Parameters
    ----------
    tables
        How the tables hang together: a database file (YAML), or a mapping of the same form. Its ``train`` is
        learned from, or its ``data`` where it has no train.
    generator, settings
        What learns the person's table: a name (``tabveil synthesize --help`` lists them) or a synthesizer
        object. Linked tables are learned by trees. Generators that promise privacy are refused: the promise
        would not hold for a person.
    people
        How many people to draw; None draws as many as there are.
    seed
        Another seed, other people; None is 0.
    data
        The tables to learn from instead: a folder, or a mapping of the tables' names to paths or to tables of
        pandas, polars or Arrow.
    metadata, person_table
        SDV's metadata instead of ``tables``, and the person's table if these do not tell it.
    missing, rare_labels, identifiers, threads, progress
        As :func:`tabveil.synthesize` takes them, for every table. Labels count as rare where fewer than ten
        people have them.

    Returns
    -------
    A mapping of the tables' names to tables of the kind that came in; files come back as Arrow tables.

    >>> from tabveil.datasets import clinic
    >>> hangs = {"person": {"table": "patients", "key": "patient"}, "linked": {"visits": {"key": "patient"}}}
    >>> drawn = synthesize_tables(hangs, data=clinic(60, seed=1), people=20)
    >>> len(drawn["patients"]), set(drawn["visits"]["patient"]) <= set(drawn["patients"]["patient"])
    (20, True)
    """
    database = read_database(tables, metadata=metadata, person=person_table, data=data)
    if data is not None:
        database = replace(database, given={"data": data})
    learned = learn_tables(
        database,
        generator=generator,
        settings=settings,
        seed=seed,
        missing=missing,
        rare_labels=rare_labels,
        identifiers=identifiers,
        threads=threads,
        progress=progress,
    )
    with working(threads=threads):
        n_people = learned.read.n_people if people is None else whole_rows(people)
        return learned.draw(n_people, seed=seed or 0).native()
