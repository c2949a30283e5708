"""Keys of people and rows that nobody has: whole numbers of a length that no real key has."""

import re
from collections.abc import Iterable, Mapping

import numpy as np

from tabveil.core.linked import Linkage
from tabveil.core.table import Indices
from tabveil.tables.linked.keys import Place
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.key_columns import different_keys

_WHOLE = re.compile(r"\s*[+-]?(\d+)(?:\.0*)?\s*")
LONGEST = 18
"""Digits of a whole number that every kind of file holds."""


def beginning(real: Iterable[object], n_keys: int) -> int:
    """Return the first of so many whole numbers in a row, none of which any real key is.

    They have a number of digits that no real key has which is a whole number, however it is written. Only
    where there is no such number are they larger than all of these.

    >>> beginning([1, 2, 13], 5), beginning(["P-7", "007", "x"], 5), beginning([], 20)
    (100, 10, 10)
    """
    found = [int(match[1]) for key in real if (match := _WHOLE.fullmatch(str(key)))]
    lengths = {len(str(number)) for number in found}
    for length in range(1, LONGEST + 1):
        if length not in lengths and 9 * 10 ** (length - 1) >= n_keys:
            return int(10 ** (length - 1))
    return max(number for number in found if len(str(number)) <= LONGEST) + 1


def real_keys(sources: Mapping[str, Source], places: Iterable[Place]) -> list[object]:
    """Return the different keys in some columns of the tables that were learned from."""
    found: list[object] = []
    for place in places:
        found += different_keys(sources[place.table], place.column)
    return found


def key_spaces(linkage: Linkage) -> list[list[Place]]:
    """Return the columns of keys; those that hold keys of one kind stand together, their origin first."""
    spaces: list[list[Place]] = []
    where: dict[Place, list[Place]] = {}
    for table in linkage.tables:
        for column in linkage.keys(table):
            place = Place(table, column)
            origin = None
            if table != linkage.person and linkage[table].key == column:
                origin = Place(linkage[table].through, linkage[table].on)
            if origin is None:
                where[place] = [place]
                spaces.append(where[place])
            else:
                where[place] = where[origin]
                where[origin].append(place)
    return spaces


def written(codes: Indices, first: int) -> Indices:
    """Return the keys that numbers from 0 on stand for; -1 stays none."""
    return np.where(codes < 0, -1, codes + first)
