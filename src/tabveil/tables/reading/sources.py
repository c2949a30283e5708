"""Tables in: files, pandas, polars and Arrow, all turned into one Arrow table with distinct names.

And which columns the tables of an audit have in common.
"""

import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import narwhals as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.types as pt

from tabveil.core.check import listed, nearest, quoted, shown
from tabveil.core.result import DroppedColumn, Role
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading import files
from tabveil.tables.reading.arrow import computable
from tabveil.tables.reading.csvfile import MOST_COLUMNS
from tabveil.tables.reading.declare import columns_named
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.folder import ParquetParts
from tabveil.tables.reading.layout import Library


def read(source: Any, role: str, *, lazily: bool = False) -> Source:  # noqa: ANN401 - a path or any kind of table
    """Take in a file's path, a dataframe, or what was read before; nothing of it is ever changed.

    Of a folder that is read ``lazily`` no row is held: a column is read when it is asked for.
    """
    if isinstance(source, Source):
        return replace(source, role=role)
    if isinstance(source, (str, Path)):
        return _from_file(Path(source), role, lazily=lazily)
    native = nw.to_native(source, pass_through=True)
    if nw.dependencies.is_polars_lazyframe(native):
        native = native.collect()
    if nw.dependencies.is_pandas_dataframe(native):
        return _from_pandas(native, role)
    if nw.dependencies.is_polars_dataframe(native):
        return _from_polars(native, role)
    if nw.dependencies.is_pyarrow_table(native):
        names = _distinct(native.column_names, role)
        return Source(role=role, library=Library.ARROW, data=_computable(native, names), labels=names)
    raise ParameterError(
        role, f"expected a path or a pandas, polars or Arrow table, got {type(source).__name__}."
    )


def leave_out(data: Any, drop: str | Iterable[str]) -> Any:  # noqa: ANN401 - a path or any kind of table
    """Return a table without columns that are named, before anybody decided what types the others have.

    A dataframe stays one, and a file is read; without a name everything stays as it is.
    """
    names = columns_named(drop)
    if not names:
        return data
    if isinstance(data, (str, Path, Source)):
        source = read(data, "data")
        kept = files.kept_beside(names, source.data.column_names)
        return replace(source, data=source.data.select(kept), labels=tuple(kept))
    frame = nw.from_native(data)
    held = frame.collect_schema().names()
    kept = files.kept_beside(names, [str(name) for name in held])
    return frame.select([name for name in held if str(name) in kept]).to_native()


def require_names(tables: Mapping[str, Source], drop: Collection[str]) -> None:
    """Refuse columns without a name, unless they are left out."""
    for source in tables.values():
        names = source.data.column_names
        unnamed = [place for place, name in enumerate(names, 1) if not name.strip() and name not in drop]
        if unnamed:
            shown_name = shlex.quote(names[unnamed[0] - 1])
            raise SchemaError(
                f"The {source.role} table has no name for column {unnamed[0]}. Name it, or leave it out with "
                f"--drop {shown_name} (such a column is often the number of a row that a program wrote)."
            )


def _distinct(labels: list[Any], role: str) -> tuple[str, ...]:
    """Return the column names as text, if no two are the same."""
    names = tuple(str(label) for label in labels)
    if len(names) > MOST_COLUMNS:
        raise SchemaError(
            f"The {role} table has {len(names):,} columns; an absurd width, more than {MOST_COLUMNS:,}."
        )
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise SchemaError(
            f"The {role} table has several columns of the same name: {listed(twice)}. Rename them."
        )
    return names


def _computable(data: pa.Table, names: tuple[str, ...]) -> pa.Table:
    """Return a table under these names, in types that Arrow can compute with, and nothing else."""
    return _table([computable(column) for column in data.columns], names, data.num_rows)


def _from_file(path: Path, role: str, *, lazily: bool) -> Source:
    raw = files.read(path, role, lazily=lazily)
    notes = list(raw.notes)
    if raw.csv is not None and raw.csv.encoding not in ("utf-8", "utf-8-sig"):
        notes.append(f"The {role} file is not UTF-8; it was read as {raw.csv.encoding}.")
    kept = [place for place, name in enumerate(raw.labels) if not _is_written_index(name, place, raw)]
    left_out = f"The {role} file has a row-number column that pandas wrote; it is left out."
    notes += [left_out] * (len(raw.labels) - len(kept))
    names = _distinct([raw.labels[place] for place in kept], role)
    if isinstance(raw.data, ParquetParts):
        data = raw.data.select(names)
    else:
        data = _computable(raw.data.select(kept), names)
    return replace(raw, data=data, labels=names, notes=tuple(notes))


def _is_written_index(name: str, place: int, raw: Source) -> bool:
    """Tell the index that pandas writes beside the data: a column without a name that counts from 0."""
    if not raw.verbatim:
        return name.startswith("__index_level_")
    cells = raw.data.column(place)
    if name or not (pt.is_integer(cells.type) or pt.is_large_string(cells.type)):
        return False
    counted = pa.array(np.arange(len(cells)).astype(str), pa.large_string())
    return bool(cells.cast(pa.large_string()).combine_chunks().equals(counted))


def _from_pandas(frame: pd.DataFrame, role: str) -> Source:
    names = _distinct(list(frame.columns), role)
    series = {name: frame.iloc[:, position] for position, name in enumerate(names)}
    return Source(
        role=role,
        library=Library.PANDAS,
        data=_table([_column(item, name, role) for name, item in series.items()], names, len(frame)),
        labels=tuple(frame.columns),
        dtypes={name: item.dtype for name, item in series.items()},
        blanks={name: _blank(item) for name, item in series.items()},
    )


def _blank(series: "pd.Series[Any]") -> Any:  # noqa: ANN401 - None, NaN, NaT or NA
    """Return what an object column writes for missing."""
    if series.dtype != object:
        return None
    missing = series[series.isna()]
    return missing.iloc[0] if len(missing) else None


def _from_polars(frame: Any, role: str) -> Source:  # noqa: ANN401 - polars is optional
    import polars as pl  # noqa: PLC0415 - only for those who brought polars tables

    names = _distinct(frame.columns, role)
    arrays = []
    for name in names:
        series = frame.get_column(name)
        if series.dtype == pl.Categorical:  # its categories may hold those of other columns
            series = series.cast(pl.String)
        if series.dtype == pl.Object:
            raise SchemaError(f"Column {quoted(name)} of {role} holds Python objects; give it one type.")
        arrays.append(_column(series, name, role))
    return Source(
        role=role,
        library=Library.POLARS,
        data=_table(arrays, names, frame.height),
        labels=names,
        dtypes=dict(zip(names, frame.dtypes, strict=True)),
    )


def _column(series: Any, name: str, role: str) -> pa.Array:  # noqa: ANN401 - pandas or polars
    try:
        array = nw.from_native(series, series_only=True).to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError, NotImplementedError):
        # The libraries' own messages quote the cell.
        raise SchemaError(
            f"Column {quoted(name)} of {role} (type {shown(series.dtype)}) mixes kinds of values or holds "
            "Python objects; give it one type, for example text with .astype(str)."
        ) from None
    return array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array


def _table(arrays: list[pa.Array], names: tuple[str, ...], n_rows: int) -> pa.Table:
    if not arrays:
        return pa.table({"": pa.nulls(n_rows)}).select([])
    return pa.Table.from_arrays(arrays, names=list(names))


ROLES: tuple[Role, ...] = get_args(Role)


def uneven(tables: Mapping[str, Source], by_schema: Collection[str]) -> list[str]:
    """Return the columns that some of the tables lack, but for those that a schema leaves out."""
    held = [set(source.data.column_names) for source in tables.values()]
    return [name for name in _all(tables) if name not in by_schema and not all(name in each for each in held)]


def require_same(
    tables: Mapping[str, Source], by_schema: Collection[str], identifiers: Collection[str], *, dropping: bool
) -> None:
    """Refuse tables whose columns differ, showing only the difference and what to do about it.

    ``identifiers`` are those that name people among the columns that some tables lack. While identifiers are
    dropped, they are no difference.
    """
    leader, *others = tables.values()
    passed = {*by_schema, *(identifiers if dropping else ())}
    ours = dict.fromkeys(name for name in leader.data.column_names if name not in passed)
    for other in others:
        theirs = dict.fromkeys(name for name in other.data.column_names if name not in passed)
        ours_only = [name for name in ours if name not in theirs]
        theirs_only = [name for name in theirs if name not in ours]
        differing = [*ours_only, *theirs_only]
        if not differing:
            continue
        if ours_only and theirs_only:  # a name was forgotten, rather than an index written
            require_names(tables, passed)
        only = {leader.role: ours_only, other.role: theirs_only}
        parts = [f"only in {role}: {files.listed_columns(names)}" for role, names in only.items() if names]
        pairs = [(name, close) for name in theirs_only if (close := nearest(name, ours_only))]
        hint = f"Did you mean {quoted(pairs[0][1])} by {quoted(pairs[0][0])}?" if pairs else None
        named = [name for name in differing if name in identifiers]
        hint = hint or _remedy(differing, named, dropping=dropping)
        raise SchemaError(f"The columns of {leader.role} and {other.role} differ: {'; '.join(parts)}. {hint}")


def _remedy(differing: Sequence[str], identifiers: Sequence[str], *, dropping: bool) -> str:
    """Say how to leave out columns that some tables lack."""
    counting = all(_counts_rows(name) for name in differing)
    others = [name for name in differing if counting or name not in identifiers]
    named = [f"--drop {shlex.quote(shown(name))}" for name in others[:_MOST_NAMED]]
    by_name = " ".join(["name them:", *named, *(["..."] if len(others) > _MOST_NAMED else [])])
    if counting:
        return f"They look like the numbers of rows that a program wrote; to leave them out, {by_name}"
    if dropping:
        return f"They do not look like identifiers, which --drop-identifiers leaves out; {by_name}"
    if len(identifiers) == len(differing):
        return "They look like identifiers: leave them out of the audit with --drop-identifiers."
    if identifiers:
        return f"To leave them out, {by_name} (identifiers: --drop-identifiers)"
    return f"To leave them out, {by_name} (one that says whose row it is: --person)"


_MOST_NAMED = 3  # columns of a command to be typed


def _counts_rows(name: str) -> bool:
    """Whether a column is called as programs call the numbers of rows that they write beside them."""
    called = name.strip().lower()
    return called in {"", "index", "level_0"} or called.startswith(("unnamed: ", "__index_level_"))


def dropped(
    tables: Mapping[str, Source],
    by_schema: Collection[str],
    identifiers: Collection[str],
    person: str | None = None,
) -> tuple[DroppedColumn, ...]:
    """Say which columns are left out, why, and which tables lack them anyway; in the order of the tables."""
    return tuple(
        DroppedColumn(
            name=name,
            reason="person" if name == person else "schema" if name in by_schema else "identifier",
            lacking=tuple(
                role for role in ROLES if role in tables and name not in tables[role].data.column_names
            ),
        )
        for name in _all(tables)
        if name in by_schema or name in identifiers or name == person
    )


def _all(tables: Mapping[str, Source]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for source in tables.values() for name in source.data.column_names))
