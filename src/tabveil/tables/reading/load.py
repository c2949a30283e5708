"""The joint load: three tables in, one schema, checked together once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from tabveil.core.check import listed
from tabveil.core.drawn import Asked, Drawn
from tabveil.core.result import DroppedColumn, Input
from tabveil.core.table import Split, Table
from tabveil.core.workers import side_by_side
from tabveil.errors import SchemaError
from tabveil.tables.reading import declare, sources
from tabveil.tables.reading.code_columns import as_labels, with_codes
from tabveil.tables.reading.columns import ColumnReader, encode_all
from tabveil.tables.reading.csvfile import CsvForm
from tabveil.tables.reading.encode import EncodedColumn, content_digest, split_of, strangers, table_of
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.identifiers import as_word_counts, as_words, identifies, is_free_text, notes_on
from tabveil.tables.reading.layout import Layout
from tabveil.tables.reading.people import RowOwners, people_on_both_sides, require_person, suspects

Name = TypeVar("Name", bound=str)
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
    words: Split | None = None  # these of all linked tables, a row for each row of a person
    identifiers: Split | None = None  # what names people in train and in the release, compared or not
    hardly_shared: tuple[str, ...] = ()  # of the columns compared, those of identifiers and of free text
    given: Split  # as the files have it
    turned: tuple[str, ...] = ()  # released columns that attacks read on another scale
    parted_by: tuple[str, ...] = ()  # columns by which rows of one person stand in train and in control
    grouped_by: tuple[str, ...] = ()  # columns whose values repeat, but stand on one side each
    person: str | None = None  # the column that says whose row it is
    drawn: Drawn | None = None  # whom an audit asks, where it does not ask everybody

    def shown(self, asked: Asked, of: Split | None = None) -> Split:
        """Return the tables for a measure that asks so; ``of`` are others of the same rows."""
        whole = of or self.split
        return whole if self.drawn is None else self.drawn.split(asked, whole)


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
        Paths (.csv, .tsv, .txt, also with .gz; .parquet, or a folder of such files; .feather, .arrow; .xlsx)
        or pandas, polars or Arrow tables. They must have the same columns, in any order, but for
        those that are left out. A control without rows is like none.
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
    (loaded,) = load_releases(
        train,
        {"synthetic": synthetic},
        control,
        schema=schema,
        missing=missing,
        drop_identifiers=drop_identifiers,
        person=person,
        independent_rows=independent_rows,
    ).values()
    return loaded


def load_releases(
    train: Any,  # noqa: ANN401 - a path or any kind of table
    releases: Mapping[Name, Any],
    control: Any = None,  # noqa: ANN401 - likewise
    *,
    schema: SchemaSource = None,
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
    person: str | None = None,
    independent_rows: bool = False,
) -> dict[Name, LoadedTables]:
    """Read several releases of one train and control, as :func:`load_split` reads one.

    Every column is decided and read once, from all tables: numbers that come from different releases stand on
    one scale. Labels that no row of train, control and a release has are no labels there. Columns that one of
    the tables lacks are compared in none.
    """
    given = _sources(train, releases, control)
    reader = ColumnReader.of(given, declare.read(schema), missing)
    declared = reader.declared
    person = person or declared.person
    if person is not None:
        require_person(given, person, declared.drop)
    passed = {*declared.drop, *([] if person is None else [person])}
    uneven = sources.uneven(given, passed)
    uneven_identifiers = {
        name: encoded for name in uneven if (encoded := reader.identifier_in(given, name)) is not None
    }
    sources.require_same(given, passed, uneven_identifiers, dropping=drop_identifiers)
    together = _Together(
        given=given,
        declared=declared,
        even=with_codes(
            encode_all(given, reader.without_bounds(), without=passed.union(uneven)), "train", declared
        ),
        uneven_identifiers=uneven_identifiers,
        person=person,
        person_column={} if person is None else {person: reader.encode_names(given, person)},
        drop_identifiers=drop_identifiers,
        seek_people=person is None and not independent_rows and "control" in given,
    )
    return {name: together.with_release(name) for name in releases}


@dataclass(frozen=True, kw_only=True, eq=False)
class _Together:
    """Train, control and all releases, and their columns."""

    given: Mapping[str, Source]
    declared: declare.SchemaFile
    even: Mapping[str, EncodedColumn]  # columns that all tables have
    uneven_identifiers: Mapping[str, EncodedColumn]  # that name people, and some tables lack
    person: str | None
    person_column: Mapping[str, EncodedColumn]
    drop_identifiers: bool
    seek_people: bool  # whether columns are looked at that may tell whose row it is

    def with_release(self, release: str) -> LoadedTables:
        """Return train and control with one of the releases."""
        tables = {"train": "train", "control": "control", "synthetic": release}
        given = {role: self.given[name] for role, name in tables.items() if name in self.given}
        held = set(chain.from_iterable(source.data.column_names for source in given.values()))
        even, uneven_identifiers, person_column = (
            {name: self._of_tables(encoded, tables) for name, encoded in columns.items() if name in held}
            for columns in (self.even, self.uneven_identifiers, self.person_column)
        )
        may_name = even | uneven_identifiers
        even = {name: as_labels(each) if each.place.code else each for name, each in even.items()}
        declared, person = self.declared, self.person
        texts = [name for name, encoded in even.items() if is_free_text(encoded, declared.of(name))]
        identifiers = [
            name
            for name, encoded in even.items()
            if name not in texts and identifies(encoded, declared.of(name))
        ]
        left_out = set(identifiers) if self.drop_identifiers else set[str]()
        compared = {
            name: as_word_counts(self.even[name]).of_tables(tables) if name in texts else encoded
            for name, encoded in even.items()
            if name not in left_out
        }
        if not compared:
            raise SchemaError(f"No columns are left once identifiers are dropped ({listed(identifiers)}).")
        everything = even | uneven_identifiers | person_column
        n_rows = {role: source.data.num_rows for role, source in given.items()}
        split = split_of(compared.values(), n_rows)
        words = as_words(everything, texts=texts, identifiers={*declared.identifiers, *person_column})
        written = split_of(words, n_rows) if words else None
        naming = {*identifiers, *uneven_identifiers, *person_column}
        both = [
            encoded
            for name, encoded in everything.items()
            if name in naming and {"train", "synthetic"} <= encoded.cells.keys()
        ]
        named = split_of(both, n_rows) if both else None
        owners = None if person is None else RowOwners.of(person_column[person])
        if owners is not None:
            split = owners.number(split)
            written, named = (None if each is None else owners.number(each) for each in (written, named))
        dropped = sources.dropped(given, declared.drop, left_out.union(uneven_identifiers), person)
        return LoadedTables(
            split=split,
            given=split,
            layout=_layout(given["train"], compared),
            notes=(
                *_notes(given, {name: each for name, each in even.items() if name not in texts}, identifiers),
                *notes_on(texts, [] if self.drop_identifiers else identifiers),
                *(() if owners is None or person is None else owners.notes(person)),
            ),
            inputs={
                role: replace(
                    _input(source, everything, compared if dropped else None),
                    people=None if getattr(split, role).people is None else getattr(split, role).n_people,
                )
                for role, source in given.items()
            },
            dropped=dropped,
            person=person,
            written=written,
            identifiers=named,
            hardly_shared=tuple(name for name in compared if name in {*identifiers, *texts}),
            parted_by=people_on_both_sides(may_name, declared.identifiers, texts) if self.seek_people else (),
            grouped_by=suspects(may_name) if self.seek_people else (),
        )

    def _of_tables(self, encoded: EncodedColumn, tables: Mapping[str, str]) -> EncodedColumn:
        said = self.declared.of(encoded.column.name)
        listed = self.given.keys() <= set(tables.values()) or (said is not None and said.labels is not None)
        return encoded.of_tables(tables, listed=listed)


def person_columns(
    source: Any,  # noqa: ANN401 - a path or any kind of table
    *,
    drop: str | Iterable[str] = (),
) -> tuple[str, ...]:
    """Return the columns by which one person seems to have several rows, which no split may part."""
    given = {"data": sources.read(source, "data", lazily=True)}
    try:
        columns = encode_all(given, ColumnReader.of(given, declare.read(None, drop=drop), ()))
    except SchemaError:  # nothing is known about columns that cannot be read, and a split need not read them
        return ()
    texts = [name for name, encoded in columns.items() if is_free_text(encoded)]
    return people_on_both_sides(columns, (), texts)


def _sources(train: Any, releases: Mapping[Name, Any], control: Any) -> dict[str, Source]:  # noqa: ANN401
    """Read the tables as they are, and refuse those without rows; a control may have none, and no columns."""
    asked = {"train": (train, "train")}
    if control is not None:
        asked["control"] = (control, "control")
    asked |= {str(name): (release, "synthetic") for name, release in releases.items()}
    read = side_by_side([partial(sources.read, *source, lazily=True) for source in asked.values()])
    given = dict(zip(asked, read, strict=True))
    for name in ("train", *map(str, releases)):
        if given[name].data.num_rows == 0:
            raise SchemaError(f"The {given[name].role} table has no rows.")
    if control is not None and given["control"].data.num_rows == given["control"].data.num_columns == 0:
        nobody = given["train"].data.schema.empty_table()
        given["control"] = replace(given["control"], data=nobody, labels=given["train"].labels)
    return given


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
    given = {"data": sources.read(source, "data", lazily=True)}
    declared = declare.read(schema)
    if declared.person is not None and declared.person not in declared.columns:
        declared = declared.with_identifier(declared.person)
    whole = frozenset(name for name in declared.columns if (of := declared.of(name)) and of.whole_domain)
    by_schema = whole.union(declared.identifiers) if form_by_schema else frozenset()
    columns = encode_all(given, ColumnReader.of(given, declared, missing), by_schema)
    columns = columns if form_by_schema else with_codes(columns, "data", declared)
    layout = _layout(given["data"], columns, by_schema)
    texts = tuple(name for name, encoded in columns.items() if is_free_text(encoded, declared.of(name)))
    csv = CsvForm(delimiter=declared.csv.delimiter, encoding=declared.csv.encoding)
    return LoadedTable(
        table=table_of(columns.values(), "data", given["data"].data.num_rows),
        layout=replace(layout, csv=csv) if form_by_schema else layout,
        notes=tuple(_notes(given, columns)),
        input=_input(given["data"], columns),
        declared=whole & columns.keys(),
        identifiers=tuple(
            name
            for name, encoded in columns.items()
            if name in texts or identifies(encoded, declared.of(name))
        ),
        texts=texts,
        declared_identifiers={name: form for name, form in declared.identifiers.items() if name in columns},
    )


def _layout(source: Source, columns: Mapping[str, EncodedColumn], by_schema: Collection[str] = ()) -> Layout:
    """Bind the columns' places to the table they leave as."""
    labels = dict(zip(source.data.column_names, source.labels, strict=True))
    places = {}
    for name, encoded in columns.items():
        places[name] = place = replace(encoded.place, label=labels[name])
        if name in by_schema:  # the types of a dataframe may follow from its rows: a gap makes 1 a 1.0
            continue
        mine = source.data.schema.field(name).type == place.type or source.csv is not None
        dtype = source.dtypes.get(name) if mine else None
        places[name] = replace(place, dtype=dtype, blank=source.blanks.get(name))
    return Layout(library=source.library, columns=places, csv=source.csv)


def _input(
    source: Source, columns: Mapping[str, EncodedColumn], kept: Mapping[str, EncodedColumn] | None = None
) -> Input:
    """Identify a table: a file by its bytes, a dataframe by its content whatever library holds it.

    ``kept`` are the columns that are left where some are dropped: a digest of them stands beside the other.
    """
    return Input(
        rows=source.data.num_rows,
        columns=source.data.num_columns,
        sha256=source.sha256 or content_digest(columns, source.role),
        audited_columns=None if kept is None else len(kept),
        audited_sha256=None if kept is None else content_digest(kept, source.role),
    )


def _notes(
    given: Mapping[str, Source], columns: Mapping[str, EncodedColumn], naming: Collection[str] = ()
) -> list[str]:
    """Say how columns were read; those that are ``naming`` people need not hold the same values anywhere."""
    marked: dict[str, list[str]] = {}
    for name, encoded in columns.items():
        for marker in encoded.markers:
            marked.setdefault(marker, []).append(name)
    return [
        *(note for source in given.values() for note in source.notes),
        *(note for encoded in columns.values() for note in encoded.notes),
        *(note for name, encoded in columns.items() if name not in naming for note in strangers(encoded)),
        *(
            f'"{marker}" counts as a label in {listed(names)}: if it means missing, say --missing "{marker}".'
            for marker, names in marked.items()
        ),
    ]
