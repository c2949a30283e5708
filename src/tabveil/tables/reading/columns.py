"""Every column of several tables read at once, by what the user says about it."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Self

import pyarrow as pa

from tabveil.core import workers
from tabveil.core.workers import side_by_side
from tabveil.errors import SchemaError
from tabveil.tables.reading import declare, sources
from tabveil.tables.reading.encode import EncodedColumn, encode
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.identifiers import identifies
from tabveil.tables.reading.raw_column import piece_of


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnReader:
    """What the user says about columns, and which texts mean missing."""

    declared: declare.SchemaFile
    markers: pa.Array

    @classmethod
    def of(cls, given: Mapping[str, Source], declared: declare.SchemaFile, missing: Iterable[str]) -> Self:
        """Take what a schema says of the columns of tables; a column that no table has is refused."""
        declared.require_known({name for source in given.values() for name in source.data.column_names})
        words = [missing] if isinstance(missing, str) else missing
        markers = pa.array([word.strip() for word in (*words, *declared.missing)], pa.large_string())
        return cls(declared=declared, markers=markers)

    def without_bounds(self) -> Self:
        """Return the same, for columns whose values may lie beyond what was said."""
        return replace(self, declared=self.declared.without_bounds())

    def encode(
        self, given: Mapping[str, Source], name: str, *, form_by_schema: bool = False
    ) -> EncodedColumn:
        """Read one column of the tables that have it."""
        pieces = {
            table: piece_of(
                source.role,
                name,
                source.column(name),
                verbatim=source.verbatim,
                comma=source.csv is not None and source.csv.delimiter != ",",
                missing=self.markers,
            )
            for table, source in given.items()
            if name in source.data.column_names
        }
        encoded = encode(name, pieces, self.declared.of(name), form_by_schema=form_by_schema).spooled()
        if workers.current().memory is not None:
            pa.default_memory_pool().release_unused()  # or Arrow keeps what the column took for the next one
        return encoded

    def encode_names(self, given: Mapping[str, Source], name: str) -> EncodedColumn:
        """Read a column that names people as it is written, whatever it looks like: 007 is not 7."""
        if name in self.declared.columns:
            return self.encode(given, name)
        return replace(self, declared=self.declared.with_identifier(name)).encode(given, name)

    def identifier_in(self, given: Mapping[str, Source], name: str) -> EncodedColumn | None:
        """Return a column that only some tables have, if it names people."""
        try:
            encoded = self.without_bounds().encode(given, name)
        except SchemaError:  # it cannot be read, and that some tables lack it is said first
            return None
        return encoded if identifies(encoded, self.declared.of(name)) else None


def encode_all(
    given: Mapping[str, Source],
    reader: ColumnReader,
    by_schema: Collection[str] = (),
    without: Collection[str] = (),
) -> dict[str, EncodedColumn]:
    """Decide and read every column of all tables; those in ``by_schema`` stand as they are declared."""
    dropped = reader.declared.drop
    sources.require_names(given, {*dropped, *without})
    leader = next(iter(given.values()))
    names = [name for name in leader.data.column_names if name not in dropped and name not in without]
    if not names:
        raise SchemaError("The tables have no columns." if not dropped else "schema: drop leaves no columns.")
    encoded = side_by_side(
        [partial(reader.encode, given, name, form_by_schema=name in by_schema) for name in names],
        at_once=_columns_at_once(given),
    )
    return dict(zip(names, encoded, strict=True))


_BYTES_A_CELL = 96
"""What reading a column takes of memory for each row of all tables, at most: texts that are all different."""


def _columns_at_once(given: Mapping[str, Source]) -> int:
    """Return how many columns may be read together: as many as there are threads, and as memory holds."""
    settings = workers.current()
    if settings.memory is None:
        return settings.threads
    rows: int = sum(source.data.num_rows for source in given.values())
    fitting: int = settings.memory // 2 // max(_BYTES_A_CELL * rows, 1)
    return max(min(settings.threads, fitting), 1)
