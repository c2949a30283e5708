"""Columns that link tables: which of their cells are the same key, in all tables and databases together."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tabveil.core.table import Indices, Numeric
from tabveil.tables.reading.encode import encode
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.infer import Declaration
from tabveil.tables.reading.raw_column import Kind, piece_of


def different_keys(source: Source, name: str) -> list[object]:
    """Return the different cells of a key column as they stand there."""
    found: list[object] = pc.unique(source.column(name)).to_pylist()
    return found


def number_keys(columns: Sequence[tuple[Source, str]], missing: Sequence[str] = ()) -> list[Indices]:
    """Give equal cells of some columns, each of a source, equal numbers from 0 on; −1 is none.

    Where all of them hold whole numbers, 7 and 7.0 are one key, as programs write numbers in more than one
    way; else cells are equal as they are written, and 007 is not 7. The numbers follow the order of the keys.
    """
    markers = pa.array(missing, pa.large_string())
    pieces = {
        str(place): piece_of(
            source.role, name, source.column(name), verbatim=source.verbatim, missing=markers
        )
        for place, (source, name) in enumerate(columns)
    }
    name = columns[0][1]
    numbers = all(piece.kind in (Kind.NUMBER, Kind.NOTHING) for piece in pieces.values())
    read = encode(name, pieces) if numbers else None
    if read is None or not isinstance(read.column, Numeric) or not read.column.integer:
        read = encode(name, pieces, Declaration(type="identifier"))
    cells = list(read.cells.values())
    whole = np.concatenate(cells)
    codes = np.full(len(whole), -1, dtype=np.int64)
    known = ~np.isnan(whole)
    codes[known] = np.unique(whole[known], return_inverse=True)[1]
    return np.split(codes, np.cumsum([len(each) for each in cells])[:-1])
