"""The joint load: three tables in, one schema, checked together once."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from tabveil.core.check import listed
from tabveil.core.result import DroppedColumn, Input
from tabveil.core.table import Schema, Split, Table
from tabveil.errors import SchemaError
from tabveil.tables.reading import declare, sources
from tabveil.tables.reading.encode import EncodedColumn, encode
from tabveil.tables.reading.identifiers import as_word_counts, free_text_note, identifies, is_free_text
from tabveil.tables.reading.layout import Layout
from tabveil.tables.reading.people import People, people_on_both_sides, require_person, suspects
from tabveil.tables.reading.raw_column import piece_of
from tabveil.tables.reading.sources import Source
from tabveil.tables.reading.written import named_split, written_split

SchemaSource = str | Path | Mapping[str, Any] | declare.SchemaFile | None


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedTables:
    """The tables of an audit, and what to know about how they were read."""

    split: Split  # in an audit, on one scale
    layout: Layout  # of train
    notes: tuple[str, ...]
    inputs: dict[str, Input]
    dropped: tuple[DroppedColumn, ...] = ()
    written: Split | None = None  # the words of labels, texts and identifiers, for metrics that read them
    identifiers: Split | None = None  # columns that name people and stand in train and in the release
    given: Split  # as the files have it
    turned: tuple[str, ...] = ()  # released columns that attacks read on another scale
    parted_by: tuple[str, ...] = ()  # columns by which rows of one person stand in train and in control
    grouped_by: tuple[str, ...] = ()  # columns whose values repeat, but stand on one side each


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedTable:
    """One table, and what to know about how it was read."""

    table: Table
    layout: Layout
    notes: tuple[str, ...]
    input: Input
    declared: frozenset[str] = frozenset()  # columns whose domain the schema says, and no row was asked
    identifiers: tuple[str, ...] = ()  # columns that name people or tell of them in texts, declared or not
    texts: tuple[str, ...] = ()  # columns of free text
    declared_identifiers: Mapping[str, str | None] = field(default_factory=dict)  # with the form of each


def load_split(
    train: Any,  # noqa: ANN401 - a path or any kind of table
    synthetic: Any,  # noqa: ANN401 - likewise
    control: Any = None,  # noqa: ANN401 - likewise
    *,
    schema: SchemaSource = None,
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    person: str | None = None,
    independent_rows: bool = False,
) -> LoadedTables:
    """Read the tables of an audit and check them against each other, once and for all.

    Parameters
    ----------
    train, synthetic, control
        Paths (.csv, .tsv, .txt, also with .gz; .parquet; .feather, .arrow; .xlsx) or pandas, polars or Arrow
        tables. They must have the same columns, in any order, but for those that are left out. A control
        without rows is like none.
    schema
        What the user says about columns: a YAML or JSON file, or a mapping; see :func:`describe`.
    missing
        Texts that mean missing, such as "?".
    drop_identifiers
        Leave out columns that name people, also those that only some of the tables have.
    person
        The column that says whose row it is, where people have several; None takes the schema's word for it,
        or every row for another person. No metric compares it, and a release may lack it. Control rows of
        people who are in train are left out, with a note.
    independent_rows
        Every row is another person, whatever columns look like: none is sought that tells otherwise.
    """
    came = _came(train, synthetic, control)
    reader = _Reader.of(came, declare.read(schema), missing)
    person = person or reader.declared.person
    if person is not None:
        require_person(came, person, reader.declared.drop)
    passed = {*reader.declared.drop, *([] if person is None else [person])}
    uneven = sources.uneven(came, passed)
    alone = {name: encoded for name in uneven if (encoded := reader.identifier_in(came, name)) is not None}
    sources.require_same(came, passed, alone, dropping=drop_identifiers)
    whose = {} if person is None else {person: reader.encode_names(came, person)}
    read = _encode_all(came, reader.without_bounds(), without=passed.union(uneven))
    texts = [name for name, encoded in read.items() if is_free_text(encoded, reader.declared.of(name))]
    found = [
        name
        for name, encoded in read.items()
        if name not in texts and identifies(encoded, reader.declared.of(name))
    ]
    gone = set(found) if drop_identifiers else set[str]()
    kept = {
        name: as_word_counts(encoded) if name in texts else encoded
        for name, encoded in read.items()
        if name not in gone
    }
    if not kept:
        raise SchemaError(f"No columns are left once identifiers are dropped ({listed(found)}).")
    dropped = sources.dropped(came, reader.declared.drop, gone.union(uneven), person)
    tables = {role: _table(kept, role, source.data.num_rows) for role, source in came.items()}
    empty = Table(schema=tables["train"].schema, values=np.empty((0, len(kept))))
    people = None if person is None else People.of(whose[person])
    written = written_split(
        read | alone | whose,
        n_rows={role: source.data.num_rows for role, source in came.items()},
        texts=texts,
        identifiers={*reader.declared.identifiers, *whose},
    )
    named = named_split(
        {
            name: encoded
            for name, encoded in (read | alone | whose).items()
            if name in {*found, *alone, *whose}
        },
        n_rows={role: source.data.num_rows for role, source in came.items()},
    )
    sought = person is None and not independent_rows and "control" in came
    split = Split(train=tables["train"], control=tables.get("control", empty), synthetic=tables["synthetic"])
    if people is not None:
        split = _with_people(split, people)
        written = None if written is None else _with_people(written, people)
        named = None if named is None else _with_people(named, people)
    return LoadedTables(
        split=split,
        given=split,
        layout=_layout(came["train"], kept),
        notes=(
            *_notes(came, {name: encoded for name, encoded in read.items() if name not in texts}),
            *free_text_note(texts),
            *(() if drop_identifiers else _identifier_note(found)),
            *(() if people is None or person is None else people.notes(person)),
        ),
        inputs={
            role: replace(
                _input(source, read | alone | whose, kept if dropped else None),
                people=None if getattr(split, role).people is None else getattr(split, role).n_people,
            )
            for role, source in came.items()
        },
        dropped=dropped,
        written=written,
        identifiers=named,
        parted_by=people_on_both_sides(read | alone, reader.declared.identifiers, texts) if sought else (),
        grouped_by=suspects(read | alone) if sought else (),
    )


def person_columns(
    source: Any,  # noqa: ANN401 - a path or any kind of table
) -> tuple[str, ...]:
    """Return the columns by which one person seems to have several rows, which no split may part."""
    came = {"data": sources.read(source, "data")}
    said = declare.read(None)
    try:
        read = _encode_all(came, _Reader.of(came, said, ()))
    except SchemaError:  # nothing is known about columns that cannot be read, and a split need not read them
        return ()
    return people_on_both_sides(read, (), [name for name, each in read.items() if is_free_text(each, None)])


def _came(train: Any, synthetic: Any, control: Any) -> dict[str, Source]:  # noqa: ANN401 - as in load_split
    """Read the tables as they are, and refuse those without rows; a control may have none, and no columns."""
    came = {"train": sources.read(train, "train")}
    if control is not None:
        came["control"] = sources.read(control, "control")
    came["synthetic"] = sources.read(synthetic, "synthetic")
    for role in ("train", "synthetic"):
        if came[role].data.num_rows == 0:
            raise SchemaError(f"The {role} table has no rows.")
    if control is not None and came["control"].data.num_rows == 0 and came["control"].data.num_columns == 0:
        came["control"] = replace(
            came["control"], data=came["train"].data.slice(0, 0), labels=came["train"].labels
        )
    return came


def _with_people(split: Split, people: People) -> Split:
    train, control = people.number(split.train, split.control)
    return replace(split, train=train, control=control)


def load_table(
    source: Any,  # noqa: ANN401 - a path or any kind of table
    *,
    schema: SchemaSource = None,
    missing: Iterable[str] = (),
    form_by_schema: bool = False,
) -> LoadedTable:
    """Read one table by itself; see :func:`load_split` for what may be given.

    ``form_by_schema`` is for those who promise privacy: a column whose whole domain is declared stands in the
    layout as its declaration says, and so does the form of a text file. No row decides either. The other
    columns stand as they came.
    """
    came = {"data": sources.read(source, "data")}
    said = declare.read(schema)
    if said.person is not None and said.person not in said.columns:
        said = said.with_identifier(said.person)
    declared = frozenset(name for name in said.columns if (of := said.of(name)) and of.whole_domain)
    by_schema = declared.union(said.identifiers) if form_by_schema else frozenset()
    read = _encode_all(came, _Reader.of(came, said, missing), by_schema)
    layout = _layout(came["data"], read, by_schema)
    texts = tuple(name for name, encoded in read.items() if is_free_text(encoded, said.of(name)))
    return LoadedTable(
        table=_table(read, "data", came["data"].data.num_rows),
        layout=replace(layout, csv=said.csv.form) if form_by_schema else layout,
        notes=tuple(_notes(came, read)),
        input=_input(came["data"], read),
        declared=declared & read.keys(),
        identifiers=tuple(
            name for name, encoded in read.items() if name in texts or identifies(encoded, said.of(name))
        ),
        texts=texts,
        declared_identifiers={name: form for name, form in said.identifiers.items() if name in read},
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Reader:
    """What the user says about columns, and which texts mean missing."""

    declared: declare.SchemaFile
    markers: pa.Array

    @classmethod
    def of(cls, came: Mapping[str, Source], declared: declare.SchemaFile, missing: Iterable[str]) -> Self:
        declared.require_known({name for source in came.values() for name in source.data.column_names})
        given = (missing,) if isinstance(missing, str) else tuple(missing)
        markers = pa.array([marker.strip() for marker in (*given, *declared.missing)], pa.large_string())
        return cls(declared=declared, markers=markers)

    def without_bounds(self) -> Self:
        return replace(self, declared=self.declared.without_bounds())

    def encode(self, came: Mapping[str, Source], name: str, *, form_by_schema: bool = False) -> EncodedColumn:
        """Read one column of the tables that have it."""
        pieces = {
            role: piece_of(
                role,
                name,
                source.column(name),
                verbatim=source.verbatim,
                comma=source.csv is not None and source.csv.delimiter != ",",
                missing=self.markers,
            )
            for role, source in came.items()
            if name in source.data.column_names
        }
        return encode(name, pieces, self.declared.of(name), form_by_schema=form_by_schema)

    def encode_names(self, came: Mapping[str, Source], name: str) -> EncodedColumn:
        """Read a column that names people as it is written, whatever it looks like: 007 is not 7."""
        entry = self.declared.columns.get(name)
        said = self if entry is not None else replace(self, declared=self.declared.with_identifier(name))
        return said.encode(came, name)

    def identifier_in(self, came: Mapping[str, Source], name: str) -> EncodedColumn | None:
        """Return a column that only some tables have, if it names people."""
        try:
            encoded = self.without_bounds().encode(came, name)
        except SchemaError:  # it cannot be read, and that some tables lack it is said first
            return None
        return encoded if identifies(encoded, self.declared.of(name)) else None


def _encode_all(
    came: Mapping[str, Source],
    reader: _Reader,
    by_schema: Collection[str] = (),
    without: Collection[str] = (),
) -> dict[str, EncodedColumn]:
    """Decide and read every column of all tables; those in ``by_schema`` stand as they are declared."""
    dropped = reader.declared.drop
    leader = next(iter(came.values()))
    names = [name for name in leader.data.column_names if name not in dropped and name not in without]
    if not names:
        raise SchemaError("The tables have no columns." if not dropped else "schema: drop leaves no columns.")
    return {name: reader.encode(came, name, form_by_schema=name in by_schema) for name in names}


def _table(read: Mapping[str, EncodedColumn], role: str, n_rows: int) -> Table:
    values = np.empty((n_rows, len(read)), order="F")  # columns are read one by one
    for position, encoded in enumerate(read.values()):
        values[:, position] = encoded.cells[role]
    return Table(schema=Schema(tuple(encoded.column for encoded in read.values())), values=values)


def _layout(source: Source, read: Mapping[str, EncodedColumn], by_schema: Collection[str] = ()) -> Layout:
    """Bind the columns' places to the table they leave as."""
    places = {}
    positions = {name: position for position, name in enumerate(source.data.column_names)}
    for name, encoded in read.items():
        position = positions[name]
        if name in by_schema:  # the types of a dataframe may follow from its rows: a gap makes 1 a 1.0
            places[name] = replace(encoded.place, label=source.labels[position])
            continue
        mine = source.data.schema.field(position).type == encoded.place.type or source.csv is not None
        places[name] = replace(
            encoded.place,
            label=source.labels[position],
            dtype=source.dtypes[position] if mine else None,
            blank=source.blanks[position],
        )
    return Layout(library=source.library, columns=places, csv=source.csv)


def _input(
    source: Source, read: Mapping[str, EncodedColumn], kept: Mapping[str, EncodedColumn] | None = None
) -> Input:
    """Identify a table: a file by its bytes, a dataframe by its content whatever library holds it.

    ``kept`` are the columns that are left where some are dropped: a digest of them stands beside the other.
    """
    return Input(
        rows=source.data.num_rows,
        columns=source.data.num_columns,
        sha256=source.sha256 or _content_digest(source.role, read),
        audited_columns=None if kept is None else len(kept),
        audited_sha256=None if kept is None else _content_digest(source.role, kept),
    )


def _content_digest(role: str, read: Mapping[str, EncodedColumn]) -> str:
    """Digest the columns of one table."""
    return sources.content_digest(
        {name: encoded.content(role) for name, encoded in read.items() if role in encoded.unbound}
    )


def _notes(came: Mapping[str, Source], read: Mapping[str, EncodedColumn]) -> list[str]:
    marked: dict[str, list[str]] = {}
    for name, encoded in read.items():
        for marker in encoded.markers:
            marked.setdefault(marker, []).append(name)
    return [
        *(note for source in came.values() for note in source.notes),
        *(note for encoded in read.values() for note in encoded.notes),
        *(
            f'"{marker}" counts as a label in {listed(names)}: if it means missing, say --missing "{marker}".'
            for marker, names in marked.items()
        ),
    ]


def _identifier_note(found: Sequence[str]) -> tuple[str, ...]:
    if not found:
        return ()
    advice = "if these are identifiers, leave them out with --drop-identifiers."
    return (f"Nearly every row has its own value in {listed(found)}: {advice}",)
