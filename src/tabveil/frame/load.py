"""The joint load: three tables in, one schema, checked together once."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tabveil.errors import SchemaError
from tabveil.frame import declare, sources
from tabveil.frame.encode import Encoded, encode
from tabveil.frame.identifiers import identifies
from tabveil.frame.layout import Layout
from tabveil.frame.raw_column import piece_of
from tabveil.frame.sources import Source
from tabveil.frame.wording import listed, nearest, quoted
from tabveil.result import Input
from tabveil.table import Schema, Split, Table

SchemaSource = str | Path | Mapping[str, Any] | declare.SchemaFile | None


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedTables:
    """The tables of an audit, and what to know about how they were read."""

    split: Split
    layout: Layout  # of train
    notes: tuple[str, ...]
    inputs: dict[str, Input]


@dataclass(frozen=True, kw_only=True, eq=False)
class LoadedTable:
    """One table, and what to know about how it was read."""

    table: Table
    layout: Layout
    notes: tuple[str, ...]
    input: Input
    declared: frozenset[str] = frozenset()  # columns whose domain the schema says, and no row was asked
    identifiers: tuple[str, ...] = ()  # columns that name people, declared so or not
    declared_identifiers: Mapping[str, str | None] = field(default_factory=dict)  # with the form of each


def load_split(
    train: Any,  # noqa: ANN401 - a path or any kind of table
    synthetic: Any,  # noqa: ANN401 - likewise
    control: Any = None,  # noqa: ANN401 - likewise
    *,
    schema: SchemaSource = None,
    missing: Iterable[str] = (),
    drop_identifiers: bool = False,
) -> LoadedTables:
    """Read the tables of an audit and check them against each other, once and for all.

    Parameters
    ----------
    train, synthetic, control
        Paths (.csv, .tsv, .txt, also with .gz; .parquet; .feather, .arrow; .xlsx) or pandas, polars or Arrow
        tables.
        They must have the same columns, in any order. A control without rows is like none.
    schema
        What the user says about columns: a YAML or JSON file, or a mapping; see :func:`describe`.
    missing
        Texts that mean missing, such as "?".
    drop_identifiers
        Leave out columns in which nearly every row has its own value.
    """
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
    declared = declare.read(schema)
    read = _encode_all(came, declared.without_bounds(), missing)
    kept, notes = _without_identifiers(read, declared, drop=drop_identifiers)
    tables = {role: _table(kept, role, source.data.num_rows) for role, source in came.items()}
    empty = Table(schema=tables["train"].schema, values=np.empty((0, len(kept))))
    return LoadedTables(
        split=Split(
            train=tables["train"], control=tables.get("control", empty), synthetic=tables["synthetic"]
        ),
        layout=_layout(came["train"], kept),
        notes=(*_notes(came, read), *notes),
        inputs={role: _input(source, read) for role, source in came.items()},
    )


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
    declared = frozenset(name for name in said.columns if (of := said.of(name)) and of.whole_domain)
    by_schema = declared.union(said.identifiers) if form_by_schema else frozenset()
    read = _encode_all(came, said, missing, by_schema)
    layout = _layout(came["data"], read, by_schema)
    return LoadedTable(
        table=_table(read, "data", came["data"].data.num_rows),
        layout=replace(layout, csv=said.csv.form) if form_by_schema else layout,
        notes=tuple(_notes(came, read)),
        input=_input(came["data"], read),
        declared=declared & read.keys(),
        identifiers=tuple(name for name, encoded in read.items() if identifies(encoded, said.of(name))),
        declared_identifiers={name: form for name, form in said.identifiers.items() if name in read},
    )


def _encode_all(
    came: Mapping[str, Source],
    declared: declare.SchemaFile,
    missing: Iterable[str],
    by_schema: Collection[str] = (),
) -> dict[str, Encoded]:
    """Decide and read every column of all tables; those in ``by_schema`` stand as they are declared."""
    given = (missing,) if isinstance(missing, str) else tuple(missing)
    markers = pa.array([marker.strip() for marker in (*given, *declared.missing)], pa.large_string())
    declared.require_known({name for source in came.values() for name in source.data.column_names})
    leader = next(iter(came.values()))
    names = [name for name in leader.data.column_names if name not in declared.drop]
    for other in came.values():
        _require_same_columns(names, other, leader.role, declared.drop)
    if not names:
        raise SchemaError(
            "The tables have no columns." if not declared.drop else "schema: drop leaves no columns."
        )
    return {
        name: encode(
            name,
            {
                role: piece_of(
                    role,
                    name,
                    source.column(name),
                    verbatim=source.verbatim,
                    comma=source.csv is not None and source.csv.delimiter != ",",
                    missing=markers,
                )
                for role, source in came.items()
            },
            declared.of(name),
            form_by_schema=name in by_schema,
        )
        for name in names
    }


def _require_same_columns(names: list[str], other: Source, leader: str, dropped: Iterable[str]) -> None:
    """Refuse tables whose columns differ, showing only the difference."""
    ours, theirs = set(names), set(other.data.column_names) - set(dropped)
    ours_only = [name for name in names if name not in theirs]
    theirs_only = [name for name in other.data.column_names if name in theirs and name not in ours]
    if not ours_only and not theirs_only:
        return
    parts = [
        f"only in {role}: {listed(only, most=4)}"
        for role, only in ((leader, ours_only), (other.role, theirs_only))
        if only
    ]
    pairs = [(name, close) for name in theirs_only if (close := nearest(name, ours_only))]
    hint = f" Did you mean {quoted(pairs[0][1])} by {quoted(pairs[0][0])}?" if pairs else ""
    raise SchemaError(f"The columns of {leader} and {other.role} differ: {'; '.join(parts)}.{hint}")


def _table(read: Mapping[str, Encoded], role: str, n_rows: int) -> Table:
    values = np.empty((n_rows, len(read)), order="F")  # columns are read one by one
    for position, encoded in enumerate(read.values()):
        values[:, position] = encoded.cells[role]
    return Table(schema=Schema(tuple(encoded.column for encoded in read.values())), values=values)


def _layout(source: Source, read: Mapping[str, Encoded], by_schema: Collection[str] = ()) -> Layout:
    """Bind the columns' places to the table they leave as."""
    columns = {}
    positions = {name: position for position, name in enumerate(source.data.column_names)}
    for name, encoded in read.items():
        position = positions[name]
        if name in by_schema:  # the types of a dataframe may follow from its rows: a gap makes 1 a 1.0
            columns[name] = replace(encoded.place, label=source.labels[position])
            continue
        mine = source.data.schema.field(position).type == encoded.place.type or source.csv is not None
        columns[name] = replace(
            encoded.place,
            label=source.labels[position],
            dtype=source.dtypes[position] if mine else None,
            blank=source.blanks[position],
        )
    return Layout(library=source.library, columns=columns, csv=source.csv)


def _input(source: Source, read: Mapping[str, Encoded]) -> Input:
    """Identify a table: a file by its bytes, a dataframe by its content whatever library holds it."""
    sha256 = source.sha256 or sources.content_digest(
        {name: encoded.content(source.role) for name, encoded in read.items()}
    )
    return Input(rows=source.data.num_rows, columns=source.data.num_columns, sha256=sha256)


def _notes(came: Mapping[str, Source], read: Mapping[str, Encoded]) -> list[str]:
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


def _without_identifiers(
    read: dict[str, Encoded], declared: declare.SchemaFile, *, drop: bool
) -> tuple[dict[str, Encoded], tuple[str, ...]]:
    """Name the columns that look like identifiers, and leave them out if that is wanted."""
    found = [name for name, encoded in read.items() if identifies(encoded, declared.of(name))]
    if not found:
        return read, ()
    if not drop:
        advice = "if these are identifiers, leave them out with --drop-identifiers."
        return read, (f"Nearly every row has its own value in {listed(found)}: {advice}",)
    kept = {name: encoded for name, encoded in read.items() if name not in found}
    if not kept:
        raise SchemaError(f"No columns are left once identifiers are dropped ({listed(found)}).")
    return kept, (f"Left out, as nearly every row has its own value: {listed(found)}.",)
