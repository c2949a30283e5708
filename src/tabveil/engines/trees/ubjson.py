"""Universal Binary JSON (draft 12), in which XGBoost stores models: read far faster than its text.

Arrays of numbers of one kind come as NumPy arrays, all else as JSON's own types.
"""

from struct import error as struct_error
from struct import unpack_from
from typing import Any

import numpy as np

_NUMBERS = {
    ord(mark): np.dtype(kind)
    for mark, kind in (
        ("i", ">i1"),
        ("U", ">u1"),
        ("I", ">i2"),
        ("l", ">i4"),
        ("L", ">i8"),
        ("d", ">f4"),
        ("D", ">f8"),
    )
}
_LONG, _TEXT, _ARRAY, _OBJECT = map(ord, "LS[{")
_END_OF_ARRAY, _END_OF_OBJECT, _ONE_KIND, _COUNT = map(ord, "]}$#")
_CONSTANTS = {ord("T"): True, ord("F"): False, ord("Z"): None}


def loads(data: bytes | bytearray) -> Any:  # noqa: ANN401 - JSON
    r"""Read a value; what is not well-formed raises a ValueError, KeyError or IndexError.

    >>> loads(b"{i\x03age[$U#i\x02\x07\x08i\x04nameSi\x03Ann}")
    {'age': array([7, 8], dtype=uint8), 'name': 'Ann'}
    """
    try:
        found, end = _value(bytes(data), 0)
    except (struct_error, UnicodeDecodeError) as reason:
        raise ValueError(str(reason)) from None
    if end != len(data):
        raise ValueError("something stands after the end")
    return found


def _value(data: bytes, at: int) -> tuple[Any, int]:
    """Read the value that begins with a mark; return it and where it ends."""
    mark = data[at]
    at += 1
    if mark == _ARRAY:
        return _array(data, at)
    if mark == _OBJECT:
        found = {}
        while data[at] != _END_OF_OBJECT:
            name, at = _text(data, at)
            found[name], at = _value(data, at)
        return found, at + 1
    if mark == _TEXT:
        return _text(data, at)
    if mark in _CONSTANTS:
        return _CONSTANTS[mark], at
    return _number(data, at, mark)


def _number(data: bytes, at: int, mark: int) -> tuple[Any, int]:
    kind = _NUMBERS[mark]
    return np.frombuffer(data, kind, 1, at)[0].item(), at + kind.itemsize


def _size(data: bytes, at: int) -> tuple[int, int]:
    """Read a whole number, with its mark."""
    if data[at] == _LONG:  # nearly always
        return unpack_from(">q", data, at + 1)[0], at + 9
    return _number(data, at + 1, data[at])


def _text(data: bytes, at: int) -> tuple[str, int]:
    size, at = _size(data, at)
    return data[at : at + size].decode(), at + size


def _array(data: bytes, at: int) -> tuple[Any, int]:
    if data[at] == _ONE_KIND and data[at + 2] == _COUNT:
        kind = _NUMBERS[data[at + 1]]
        size, at = _size(data, at + 3)
        return np.frombuffer(data, kind, size, at), at + size * kind.itemsize
    found = []
    if data[at] == _COUNT:
        size, at = _size(data, at + 1)
        for _ in range(size):
            item, at = _value(data, at)
            found.append(item)
        return found, at
    while data[at] != _END_OF_ARRAY:
        item, at = _value(data, at)
        found.append(item)
    return found, at + 1
