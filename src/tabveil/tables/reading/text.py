"""What strings say: numbers and truth values. Asked about distinct strings, never cell by cell.

Every reading returns one answer a string and a mask of the strings that are something else.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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
