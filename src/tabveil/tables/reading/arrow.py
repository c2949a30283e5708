"""Columns as Arrow holds them: made computable, taken, hashed by what they say, and read as strings.

Polars writes views of strings, and dictionaries of them; neither can be taken, filtered or unified. What
strings say (numbers, truth values) is asked about distinct strings, never cell by cell: every reading returns
one answer a string and a mask of the strings that are something else.
"""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt
from numpy.typing import NDArray

from tabveil.core.check import quoted
from tabveil.errors import SchemaError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

MISSING_WORDS = ("NA", "NaN", "nan", "null", "NULL", "None", "N/A")
"""Missing in a text file's column of numbers, dates or truth values; labels in a column of text."""

NUMBER = r"^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$"
"""A number as programs write it."""

_INFINITY = r"^[+-]?(?i:inf|infinity)$"


def is_missing_word(words: pa.Array) -> Bools:
    """Flag the words that mean "missing" in a column of numbers or dates."""
    return as_bools(pc.is_in(words, pa.array(MISSING_WORDS, words.type)))


def as_bools(flags: pa.Array) -> Bools:
    """Return Arrow truth values as an array, null as False."""
    return np.asarray(pc.fill_null(flags, False).to_numpy(zero_copy_only=False), dtype=np.bool_)


def matches(words: pa.Array, pattern: str) -> Bools:
    """Flag the words that fit a pattern."""
    return as_bools(pc.match_substring_regex(words, pattern))


def joined(kind: pa.DataType, *parts: pa.Array | str) -> pa.Array:
    """Write words and texts one after the other, as strings of this type; null where a word is."""
    same = [pa.scalar(part, kind) if isinstance(part, str) else part.cast(kind) for part in (*parts, "")]
    return pc.binary_join_element_wise(*same)


def has_leading_zero(words: pa.Array) -> bool:
    """Whether any word is written like 00123: a code, not a number."""
    return bool(matches(words, r"^[+-]?0\d").any())


def numbers(words: pa.Array) -> tuple[Floats, Bools]:
    """Read numbers; NaN where the word is none."""
    fits = matches(words, NUMBER)
    read = pc.if_else(pa.array(fits), words, pa.scalar(None, words.type)).cast(pa.float64())
    values = read.to_numpy(zero_copy_only=False).astype(np.float64)
    endless = matches(words, _INFINITY)
    values[endless] = np.inf
    return values, ~(fits | endless)


def booleans(words: pa.Array) -> tuple[Floats, Bools]:
    """Read true and false in any case as 1 and 0."""
    lower = pc.utf8_lower(words)
    true, false = as_bools(pc.equal(lower, "true")), as_bools(pc.equal(lower, "false"))
    return np.where(true, 1.0, np.where(false, 0.0, np.nan)), ~(true | false)


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
    indices, columns = pa.array(rows), []
    for name, column in zip(table.column_names, table.columns, strict=True):
        kind = column.type
        try:
            if pt.is_run_end_encoded(kind):
                taken = pc.run_end_encode(computable(column).take(indices), run_end_type=kind.run_end_type)
            else:
                taken = column.cast(_plain(kind)).take(indices)
            columns.append(taken.cast(kind))
        except pa.ArrowNotImplementedError:
            raise SchemaError(
                f"Column {quoted(name)} has type {quoted(kind)}, of which rows cannot be taken. "
                "Convert the column or drop it."
            ) from None
    return pa.Table.from_arrays(columns, schema=table.schema)


Hashes = NDArray[np.uint64]

RawTable: TypeAlias = pa.Table
"""A file's rows as :func:`tabveil.tables.reading.read_raw` returns them."""

_BINARY = (pt.is_binary, pt.is_large_binary, pt.is_fixed_size_binary)
_MISSING = np.uint64(0x9E3779B97F4A7C15)


def hash_cells(owner: str, data: RawTable) -> list[Hashes]:
    """Hash the cells (n,) of every column by what they say: equal cells agree in every file and order."""
    names = zip(data.column_names, data.columns, strict=True)  # a file may have a name twice
    return [_hash_column(owner, name, column) for name, column in names]


def hash_rows(cells: Iterable[Hashes], n_rows: int) -> Hashes:
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
            owner, f"column {quoted(name)} has type {quoted(column.type)}, which cannot be compared."
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


def put_together(*parts: RawTable) -> RawTable | None:
    """Put the rows of several tables below each other, columns by name; None where they do not fit."""
    first = parts[0].column_names
    if len(set(first)) < len(first) or any(sorted(part.column_names) != sorted(first) for part in parts):
        return None
    try:
        plain = [
            pa.Table.from_arrays([computable(part.column(name)) for name in first], names=first)
            for part in parts
        ]
        return pa.concat_tables(plain, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        return None
