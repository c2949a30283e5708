"""Files of rows, as they stand: text, Parquet and Arrow files, read into Arrow and written back.

Spreadsheets are read as well, but not written: what came as one leaves as text.
"""

import gzip
import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from tabveil.core import check, workers
from tabveil.core.check import listed, quoted, shown
from tabveil.core.storage.files import replacing
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading import csvfile, sheet
from tabveil.tables.reading.csvfile import CsvForm
from tabveil.tables.reading.folder import MOST_CELLS, PARQUET, ParquetParts, most_cells
from tabveil.tables.reading.layout import Library
from tabveil.tables.reading.raw_column import unreadable
from tabveil.tables.reading.trial import survives
from tabveil.tables.reading.written import TextFormat, render

TEXT = (".csv", ".tsv", ".txt")
ARROW = (".feather", ".arrow", ".ipc")
SHEETS = (".xlsx",)

_LONGEST_PATH = 160


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """One table as it came."""

    role: str
    library: Library = Library.FILE
    data: pa.Table  # or what is asked like one and reads a column when it is asked for
    labels: tuple[Any, ...]  # the columns' own names; a file's, as it stands, may be twice there, or empty
    dtypes: Mapping[str, Any] = field(default_factory=dict)  # of a dataframe's columns
    blanks: Mapping[str, Any] = field(default_factory=dict)  # the missing value of each pandas object column
    csv: CsvForm | None = None
    verbatim: bool = False  # any kind of value may hide in its strings
    sha256: str | None = None  # of a file's bytes
    notes: tuple[str, ...] = ()

    def column(self, name: str) -> pa.Array:
        """Return one column in one piece."""
        chunked = self.data.column(name)
        try:
            if pt.is_dictionary(chunked.type):
                chunked = chunked.unify_dictionaries()
            if chunked.num_chunks == 1:
                return chunked.chunk(0)
            return pa.concat_arrays(chunked.chunks) if chunked.num_chunks else pa.nulls(0, chunked.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise unreadable(self.role, name, chunked.type) from None


def read(path: Path, role: str, *, lazily: bool = False) -> Source:
    """Read a file of any known kind as it stands, or say in one line why not; or a folder of Parquet files.

    Of a folder that is read ``lazily``, and of a Parquet file where memory is bounded, each column is read
    when it is asked for.
    """
    if path.is_dir():
        return _source(ParquetParts.of_folder(path, role), role, lazily=lazily)
    kind = _kind(path, role)
    if lazily and kind in PARQUET and workers.current().memory is not None and path.is_file():
        return _source(ParquetParts.of_file(path, role), role, lazily=True)
    what = f"The {role} file {quoted(path.name)}"
    data = _bytes(path, role)
    sha256 = hashlib.sha256(data).hexdigest()
    if not data:
        raise SchemaError(f"{what} is empty.")
    if kind in TEXT:
        names, table, form = csvfile.parse(data, what=what, tabs=kind == ".tsv")
        return Source(role=role, data=table, labels=tuple(names), csv=form, verbatim=True, sha256=sha256)
    if kind in SHEETS:
        names, table, notes = sheet.parse(data, role=role, what=what)
        return Source(role=role, data=table, labels=tuple(names), verbatim=True, sha256=sha256, notes=notes)
    family = "parquet" if kind in PARQUET else "arrow"
    if not survives(data, sha256, kind=family, most_cells=most_cells(len(data))):
        raise SchemaError(
            what, "it ended a process that tried to read it: it is damaged, or memory is too small."
        )
    table = _columnar(data, kind, what)
    return Source(role=role, data=table, labels=tuple(table.column_names), sha256=sha256)


def _source(parts: ParquetParts, role: str, *, lazily: bool) -> Source:
    data = parts if lazily else parts.whole()
    return Source(role=role, data=data, labels=tuple(parts.column_names), sha256=parts.sha256)


def is_text_file(path: Path) -> bool:
    """Whether a path names a file of delimited text; refuses what cannot be written."""
    return _written_kind(path) in TEXT


def ending_of_parts(path: Path) -> str:
    """Return the ending of files that are to hold some rows of this one."""
    if path.is_dir():
        return ".parquet"
    if path.suffix.lower() in SHEETS:
        return ".csv"
    return "".join(path.suffixes[-2:]) if path.suffix.lower() == ".gz" else path.suffix


def _written_kind(path: Path) -> str:
    kind = _kind(path, "out")
    if kind in SHEETS:
        raise ParameterError("out", f"{kind} files are read but not written; choose .csv or .parquet.")
    return kind


def _kind(path: Path, role: str) -> str:
    name = path.name.lower()
    packed = name.endswith(".gz")
    kind = Path(name.removesuffix(".gz")).suffix
    if kind in TEXT or (kind in (*PARQUET, *ARROW, *SHEETS) and not packed):
        return kind
    if path.is_dir():
        raise ParameterError(role, f"{shown(path, _LONGEST_PATH)} is a folder, not a file.")
    known = ", ".join((*TEXT, *PARQUET, *ARROW, *SHEETS))
    raise ParameterError(
        role,
        f"cannot tell what kind of file {quoted(path.name)} is; its name must end in one of {known} "
        "(text files also with .gz).",
    )


def _bytes(path: Path, role: str) -> bytes:
    try:
        check.ordinary_file(role, path)
        return path.read_bytes()
    except ParameterError:
        raise
    except FileNotFoundError:
        raise ParameterError(role, f"there is no file {shown(path, _LONGEST_PATH)}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "not a usable path"
        raise ParameterError(role, f"cannot read {shown(path, _LONGEST_PATH)}: {reason}.") from None


def _columnar(data: bytes, kind: str, what: str) -> pa.Table:
    try:
        table = _parquet(data, what) if kind in PARQUET else _arrow(data)
        names = table.column_names
    except UnicodeDecodeError:
        raise SchemaError(what, "the name of a column is not UTF-8 text.") from None
    except (pa.ArrowException, OSError, NotImplementedError):
        name = "a Parquet" if kind in PARQUET else "an Arrow"
        raise SchemaError(f"{what} is damaged or not {name} file.") from None
    for name, column in zip(names, table.columns, strict=True):
        try:  # Arrow's other functions trust the file, and would trip over what is not sound
            column.validate(full=True)
        except pa.ArrowException as error:
            how = "holds text that is not UTF-8" if "UTF8" in str(error) else "is damaged"
            raise SchemaError(what, f"column {quoted(name)} {how}.") from None
    return table


def _parquet(data: bytes, what: str) -> pa.Table:
    """Read a Parquet file; unlike ``read_table``, also one that has a name twice."""
    file = pq.ParquetFile(pa.BufferReader(data))
    cells = file.metadata.num_rows * file.metadata.num_columns
    if cells > most_cells(len(data)):
        raise SchemaError(
            f"{what} says that it holds {cells:,} cells, more than {MOST_CELLS:,} for each of its bytes."
        )
    return file.read()


def _arrow(data: bytes) -> pa.Table:
    try:
        return pa.ipc.open_file(pa.BufferReader(data)).read_all()
    except pa.ArrowInvalid:  # the other of Arrow's two file formats
        return pa.ipc.open_stream(pa.BufferReader(data)).read_all()


def read_raw(path: str | Path, drop: Iterable[str] = ()) -> pa.Table:
    """Read a file's rows verbatim: cells of text files as strings, typed files with their types.

    Columns to ``drop`` are left out, and must be there.
    """
    raw, gone = read(Path(path), "data"), tuple(drop)
    renamed = raw.data.rename_columns(list(raw.labels))
    renamed = renamed.replace_schema_metadata(raw.data.schema.metadata)  # pandas keeps its types there
    return renamed.select(kept_beside(gone, renamed.column_names)) if gone else renamed


def kept_beside(drop: Collection[str], held: Sequence[str]) -> list[str]:
    """Return the columns that are not left out: what is left out must be there, and something must stay.

    Without a name may be an index that pandas wrote, which is left out by itself.
    """
    check.known_names("drop", "column", [name for name in drop if name], held)
    kept = [name for name in held if name not in drop]
    if not kept:
        raise SchemaError("drop", "no column is left.")
    return kept


def listed_columns(names: Iterable[str]) -> str:
    """List columns for a message; an index that a program wrote may have no name.

    >>> listed_columns(["", "age"])
    'a column without a name, age'
    """
    return listed([name if name.strip() else "a column without a name" for name in names], most=4)


def _is_text(path: Path) -> bool:
    return not path.is_dir() and _kind(path, "data") in TEXT


def write_raw(table: pa.Table, path: str | Path, like: str | Path | None = None) -> None:
    """Write rows verbatim, as the path's suffix says; a text file is written like the file ``like``."""
    form = read(Path(like), "data").csv if like is not None and _is_text(Path(like)) else None
    if is_text_file(Path(path)):
        columns = [
            pa.chunked_array([render(chunk, TextFormat()) for chunk in column.chunks], pa.large_string())
            for column in table.columns
        ]
        table = pa.Table.from_arrays(columns, names=table.column_names)
    write(table, Path(path), form)


def write(table: pa.Table, path: Path, form: CsvForm | None = None) -> None:
    """Write an Arrow table, whole or not at all."""
    kind = _written_kind(path)
    if kind in TEXT:
        form = form or CsvForm()
        if kind == ".tsv" or path.name.lower().endswith(".tsv.gz"):
            form = CsvForm(delimiter="\t", encoding=form.encoding)
        data = csvfile.compose(table, form)
        data = gzip.compress(data, mtime=0) if path.name.lower().endswith(".gz") else data
    else:
        data = _packed(table, kind, path)
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise ParameterError("out", f"cannot write {shown(path, _LONGEST_PATH)}: {error.strerror}.") from None


def _packed(table: pa.Table, kind: str, path: Path) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    try:
        if kind in PARQUET:
            pq.write_table(table, sink, compression="zstd")
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table)
    except pa.ArrowException:  # its own message may quote a value
        where = shown(path, _LONGEST_PATH)
        raise ParameterError(
            "out", f"{where} cannot hold a column of this type; try another format."
        ) from None
    return sink.getvalue()
