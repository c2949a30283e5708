"""Arrow types that files hold but Arrow itself cannot compute with, made into ones it can.

Polars writes views of strings, and dictionaries of them; neither can be taken, filtered or unified.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from tabveil.errors import SchemaError
from tabveil.tables.reading.wording import quoted


def computable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the same cells: views as strings, runs written out, dictionaries with one entry a value."""
    if pt.is_run_end_encoded(column.type):
        return computable(pc.run_end_decode(column))
    if pt.is_dictionary(column.type):
        kind = pa.dictionary(column.type.index_type, _plain(column.type.value_type), column.type.ordered)
        return pa.chunked_array([_without_null_entries(chunk) for chunk in column.chunks], kind)
    plain = _plain(column.type)
    return column if plain == column.type else column.cast(plain)


def _plain(kind: pa.DataType) -> pa.DataType:
    if pt.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pt.is_binary_view(kind) else kind


def _without_null_entries(array: pa.DictionaryArray) -> pa.DictionaryArray:
    """Let a missing cell be missing, not the code of an entry that is."""
    entries = array.dictionary.cast(_plain(array.dictionary.type))
    codes = array.indices
    if entries.null_count:
        held = entries.is_valid().to_numpy(zero_copy_only=False)
        into = pa.array(np.cumsum(held) - 1, mask=~held).cast(codes.type)
        codes, entries = into.take(codes), entries.drop_null()
    return pa.DictionaryArray.from_arrays(codes, entries, ordered=array.type.ordered, safe=False)


def take_rows(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Keep these rows, in this order, and the types of all columns."""
    indices = pa.array(rows)
    taken = [_take(name, table.column(place), indices) for place, name in enumerate(table.column_names)]
    return pa.Table.from_arrays(taken, schema=table.schema)


def _take(name: str, column: pa.ChunkedArray, indices: pa.Array) -> pa.ChunkedArray:
    try:
        if pt.is_run_end_encoded(column.type):
            taken = computable(column).take(indices)
            return pc.run_end_encode(taken, run_end_type=column.type.run_end_type).cast(column.type)
        return column.cast(_plain(column.type)).take(indices).cast(column.type)
    except pa.ArrowNotImplementedError:
        raise SchemaError(
            f"Column {quoted(name)} has type {quoted(column.type)}, of which rows cannot be taken. "
            "Convert the column or drop it."
        ) from None
