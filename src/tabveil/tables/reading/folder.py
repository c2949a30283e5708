"""A folder of Parquet files as one table, of which one column at a time is read.

Its files, in the order of their names, hold the rows one after the other. What large tables are kept in
(Spark, Dask, a database's export) writes such folders. Nothing is left out silently: a file that is none of
Parquet, a column that only some files have, a column that stands in the names of folders, are refused.
Names that begin with "." or "_" are the notes of programs beside the data, and passed over by all that read
such folders.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.types as pt

from tabveil.core import check
from tabveil.core.check import listed, quoted, shown
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.reading import trial
from tabveil.tables.reading.arrow import computable

PARQUET = (".parquet", ".pq")

MOST_CELLS = 1_000
"""How many cells a Parquet file may hold for each of its bytes; tables of people have less than ten."""

_ALWAYS_READ = 1 << 25
_LONGEST_PATH = 160
_AT_ONCE = 1 << 20  # bytes of a file that are looked at

Found = TypeVar("Found")


def most_cells(n_bytes: int) -> int:
    """Return how many cells a Parquet or Arrow file of this size may hold."""
    return max(_ALWAYS_READ, MOST_CELLS * n_bytes)


def files_in(path: Path, role: str) -> tuple[Path, ...]:
    """Return the Parquet files in and below a folder, in the order of their names; refuse all others."""
    found: list[Path] = []
    for folder, folders, names in os.walk(path, onerror=_refuse(path, role)):
        place = Path(folder)
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        for name in folders:
            what = f"the folder {shown(path, _LONGEST_PATH)}"
            if "=" in name:
                column = quoted(name.partition("=")[0])
                raise ParameterError(
                    role, f"{what} keeps column {column} in the names of folders; write it into the files."
                )
            if (place / name).is_symlink():
                raise ParameterError(role, f"{what} holds a link to a folder, {quoted(name)}; name that one.")
        found += [place / name for name in names if not name.startswith((".", "_"))]
    for file in found:
        if file.suffix.lower() not in PARQUET:
            raise ParameterError(
                role,
                f"the folder {shown(path, _LONGEST_PATH)} holds {quoted(file.name)} beside its table; "
                "a table in a folder is of .parquet files alone.",
            )
        check.ordinary_file(role, file)
    if not found:
        raise ParameterError(
            role, f"the folder {shown(path, _LONGEST_PATH)} holds no .parquet file, so it is no table."
        )
    return tuple(sorted(found, key=lambda file: file.relative_to(path).parts))


def _refuse(path: Path, role: str) -> Callable[[OSError], None]:
    def refuse(error: OSError) -> None:
        reason = error.strerror or "not a usable path"
        raise ParameterError(role, f"cannot read {shown(path, _LONGEST_PATH)}: {reason}.") from None

    return refuse


@dataclass(frozen=True, kw_only=True, eq=False)
class _FolderFile:
    """One of the files: what it was when it was looked at first, and what it says of itself."""

    path: Path
    what: str  # how a message calls it
    size: int
    stamp: tuple[int, int, int]
    sha256: str
    metadata: Any = None  # of Parquet
    schema: pa.Schema = None

    @classmethod
    def of(cls, path: Path, what: str, role: str) -> Self:
        try:
            with path.open("rb") as file:
                digest = hashlib.sha256()
                while piece := file.read(_AT_ONCE):
                    digest.update(piece)
                stat = os.fstat(file.fileno())
        except OSError as error:
            reason = error.strerror or "not a usable path"
            raise ParameterError(role, f"cannot read {shown(path, _LONGEST_PATH)}: {reason}.") from None
        if not stat.st_size:
            raise SchemaError(f"{what} is empty.")
        stamp = stat.st_size, stat.st_mtime_ns, stat.st_ino
        return cls(path=path, what=what, size=stat.st_size, stamp=stamp, sha256=digest.hexdigest())

    def described(self) -> Self:
        """Return the same with what the file says that it holds."""

        def describe(file: pq.ParquetFile) -> tuple[Any, pa.Schema]:
            return file.metadata, file.schema_arrow

        metadata, schema = self.opened(describe)
        cells = metadata.num_rows * metadata.num_columns
        if cells > most_cells(self.size):
            raise SchemaError(
                f"{self.what} says that it holds {cells:,} cells, more than {MOST_CELLS:,} for each of its "
                "bytes."
            )
        return replace(self, metadata=metadata, schema=schema)

    def opened(self, look: Callable[[pq.ParquetFile], Found]) -> Found:
        """Look into the file, which must be as it was."""
        try:
            with self.path.open("rb") as file:
                stat = os.fstat(file.fileno())
                if (stat.st_size, stat.st_mtime_ns, stat.st_ino) != self.stamp:
                    raise SchemaError(self.what, "it was changed while it was read.")
                return look(pq.ParquetFile(pa.PythonFile(file, mode="r"), metadata=self.metadata))
        except UnicodeDecodeError:
            raise SchemaError(self.what, "the name of a column is not UTF-8 text.") from None
        except (pa.ArrowException, OSError, NotImplementedError):
            raise SchemaError(f"{self.what} is damaged or not a Parquet file.") from None

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column, and make sure that it is sound: Arrow's other functions trust the file."""
        leaves = [_leaves(field.type) for field in self.schema]
        place = self.schema.names.index(name)
        first = sum(leaves[:place])
        if sum(leaves) != self.metadata.num_columns:
            raise SchemaError(f"{self.what} is damaged or not a Parquet file.")
        wanted = [*range(first, first + leaves[place])]

        def read(file: pq.ParquetFile) -> pa.ChunkedArray:
            return file.reader.read_all(column_indices=wanted, use_threads=False).column(0)

        cells = self.opened(read)
        try:
            cells.validate(full=True)
        except pa.ArrowException as error:
            how = "holds text that is not UTF-8" if "UTF8" in str(error) else "is damaged"
            raise SchemaError(self.what, f"column {quoted(name)} {how}.") from None
        return cells


def _leaves(kind: pa.DataType) -> int:
    """Return how many columns Parquet makes of one."""
    return sum(_leaves(kind.field(place).type) for place in range(kind.num_fields)) or 1


@dataclass(frozen=True, kw_only=True, eq=False)
class ParquetParts:
    """The rows of one or more Parquet files; it is asked like an Arrow table, and reads only then."""

    parts: Sequence[_FolderFile]
    schema: pa.Schema
    sha256: str
    types: Mapping[str, pa.DataType]  # of columns as they are stored

    @classmethod
    def of_file(cls, path: Path, role: str) -> Self:
        """Return one file as a table that is read by columns."""
        return cls._of([_FolderFile.of(path, f"The {role} file {quoted(path.name)}", role)], role)

    @classmethod
    def of_folder(cls, path: Path, role: str) -> Self:
        """Return a folder as a table; its digest is that of the digests of its files, in order."""
        found = files_in(path, role)
        names = [f"The {role} file {quoted(file.relative_to(path))}" for file in found]
        return cls._of(
            [_FolderFile.of(file, what, role) for file, what in zip(found, names, strict=True)],
            role,
            alone=False,
        )

    @classmethod
    def _of(cls, parts: Sequence[_FolderFile], role: str, *, alone: bool = True) -> Self:
        deadly = trial.first_deadly([(part.path, part.size, part.sha256) for part in parts], most_cells)
        if deadly is not None:
            raise SchemaError(
                parts[deadly].what,
                "it ended a process that tried to read it: it is damaged, or memory is too small.",
            )
        parts = [part.described() for part in parts]
        types = dict(zip(parts[0].schema.names, parts[0].schema.types, strict=True))
        if len(types) < len(parts[0].schema.names):
            raise SchemaError(f"{parts[0].what} has several columns of the same name. Rename them.")
        for part in parts[1:]:
            _require_same_columns(parts[0], part)
            for field in part.schema:
                if pt.is_null(types[field.name]):  # a part in which the column holds nothing
                    types[field.name] = field.type
                elif not pt.is_null(field.type) and field.type != types[field.name]:
                    raise SchemaError(
                        f"Column {quoted(field.name)} of {role} has type {quoted(field.type)} in "
                        f"{quoted(part.path.name)} and {quoted(types[field.name])} in "
                        f"{quoted(parts[0].path.name)}; write all files of a folder with one type."
                    )
        digest = hashlib.sha256("".join(part.sha256 for part in parts).encode()).hexdigest()
        fields = [(name, types[name]) for name in parts[0].schema.names]
        return cls(
            parts=parts,
            schema=pa.schema(fields, metadata=parts[0].schema.metadata),
            sha256=parts[0].sha256 if alone else digest,
            types=types,
        )

    @property
    def column_names(self) -> list[str]:
        """The columns, in the order of the first file."""
        return list(self.schema.names)

    @property
    def num_rows(self) -> int:
        """How many rows all files have."""
        return sum(part.metadata.num_rows for part in self.parts)

    @property
    def num_columns(self) -> int:
        """How many columns are there."""
        return len(self.schema)

    def select(self, names: Sequence[str]) -> "ParquetParts":
        """Keep these columns, whose types are then such as Arrow can compute with."""
        kinds = [computable(pa.chunked_array([], self.types[name])).type for name in names]
        return replace(self, schema=pa.schema(list(zip(names, kinds, strict=True))))

    def column(self, name: str) -> pa.ChunkedArray:
        """Read one column of all files, in types that Arrow can compute with."""
        return computable(self._stored(name))

    def whole(self) -> pa.Table:
        """Read all columns as they are stored, for those who need rows."""
        return pa.Table.from_arrays([self._stored(name) for name in self.schema.names], schema=self.schema)

    def _stored(self, name: str) -> pa.ChunkedArray:
        kind = self.types[name]
        chunks = [chunk for part in self.parts for chunk in part.column(name).chunks]
        return pa.chunked_array(
            [chunk.cast(kind) if pt.is_null(chunk.type) else chunk for chunk in chunks], kind
        )


def _require_same_columns(first: _FolderFile, other: _FolderFile) -> None:
    """Refuse files of one folder whose columns differ; their order may."""
    ours, theirs = first.schema.names, other.schema.names
    parts = [
        f"only in {quoted(part.path.name)}: {listed(only, most=4)}"
        for part, only in (
            (first, [name for name in ours if name not in theirs]),
            (other, [name for name in theirs if name not in ours]),
        )
        if only
    ]
    if parts:
        raise SchemaError(
            f"{other.what} and {quoted(first.path.name)} differ in columns: {'; '.join(parts)}."
        )
    if len(theirs) != len(ours):
        raise SchemaError(f"{other.what} has several columns of the same name. Rename them.")
