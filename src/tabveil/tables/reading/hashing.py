"""Rows compared by what they say, before anybody decided what types their columns have."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from tabveil.errors import SchemaError
from tabveil.tables.reading.arrow_types import computable
from tabveil.tables.reading.wording import quoted

Hashes = NDArray[np.uint64]

RawTable: TypeAlias = pa.Table
"""A file's rows as :func:`tabveil.tables.reading.read_raw` returns them."""

_BINARY = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary)
_MISSING = np.uint64(0x9E3779B97F4A7C15)


def hash_cells(owner: str, data: RawTable) -> list[Hashes]:
    """Hash the cells (n,) of every column by what they say: equal cells agree in every file and order."""
    return [  # by place, for a file may have a name twice
        _hash_column(owner, name, data.column(place)) for place, name in enumerate(data.column_names)
    ]


def hash_rows(cells: Sequence[Hashes], n_rows: int) -> Hashes:
    """Hash rows (n,) from their cells; columns in another order make other hashes."""
    total = np.zeros(n_rows, dtype=np.uint64)
    for each in cells:
        total = (total ^ each) * np.uint64(0xBF58476D1CE4E5B9)
        total ^= total >> np.uint64(29)
    return total


def _hash_column(owner: str, name: str, column: pa.ChunkedArray) -> Hashes:
    try:
        column = computable(column)
        if pt.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        is_binary = any(test(column.type) for test in _BINARY)
        texts = column.cast(pa.large_binary() if is_binary else pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        raise SchemaError(
            f"{owner}: column {quoted(name)} has type {quoted(column.type)}, which cannot be compared."
        ) from None
    coded = texts.combine_chunks().dictionary_encode()
    distinct = np.asarray(coded.dictionary.to_numpy(zero_copy_only=False), dtype=object)
    salted = pd.util.hash_array(distinct, categorize=False) if len(distinct) else np.zeros(0, np.uint64)
    codes = pc.fill_null(coded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    each: Hashes = np.append(salted, _MISSING).astype(np.uint64)
    cells: Hashes = each[codes]  # -1 is the last
    return cells


def missing_cells(data: RawTable, name: str) -> NDArray[np.bool_]:
    """Flag the missing cells (n,) of a column; in a text file, they are empty."""
    column = computable(data.column(name))
    missing = column.is_null()
    if pt.is_string(column.type) or pt.is_large_string(column.type):
        missing = pc.or_(missing, pc.equal(pc.fill_null(pc.utf8_trim_whitespace(column), ""), ""))
    return np.asarray(missing.to_numpy(), dtype=np.bool_)
