"""Identifiers as they are written, and fresh ones that nobody in the data has.

A code is a row of places, each with the characters that may stand there: ``AB-1234`` is two letters, a dash
and four digits. A fresh one begins in a way in which none of the data begins. So it is nobody's, without any
list of those that are somebody's, and a model can be stored that knows none of them.
"""

import math
import string
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.storage.plain import FORBID_OTHERS

Texts = NDArray[np.str_]

DIGITS = string.digits
LEADING = "123456789"
"""What a whole number begins with."""
ALPHABETS = (
    LEADING,
    DIGITS,
    string.ascii_lowercase,
    string.ascii_uppercase,
    "0123456789abcdef",
    "0123456789ABCDEF",
    DIGITS + string.ascii_lowercase,
    DIGITS + string.ascii_uppercase,
    string.ascii_letters,
    DIGITS + string.ascii_letters,
)
"""What may vary at a place, the fewest characters first."""
LONGEST = 64
"""Characters of a code."""
MOST_EXACT = 15
"""Digits of a whole number that a 64-bit float holds exactly, whatever they are."""
MOST_SHAPES = 32
MOSTLY = 0.9
"""Codes have at most so many shapes that many rows share, and these make up so much of the column."""
ROOM = 2
"""So many fresh codes are possible for each that is drawn: distinct ones are then found at once."""
AMPLE = 4
"""Ways to begin are kept for so many times the rows: which others are free as well tells about the data."""
MOST_TRIED = 4096
TOKEN_DIGITS = 6
LONGEST_STEM = 24

_CLASSES = str.maketrans(dict.fromkeys(string.ascii_letters + DIGITS, "x"))


@dataclass(frozen=True, kw_only=True)
class Code:
    """A form of identifiers: which characters stand at each place, and how fresh ones begin."""

    __pydantic_config__ = FORBID_OTHERS

    places: tuple[str, ...]
    starts: tuple[str, ...]  # all equally long; the places after them vary freely

    @property
    def capacity(self) -> int:
        """How many different ones there are."""
        return len(self.starts) * math.prod(map(len, self.places[len(self.starts[0]) :]))

    @property
    def sound(self) -> bool:
        """Whether this is a form at all: read from a file, it may be anything."""
        depth = len(self.starts[0]) if self.starts else -1
        return (
            0 <= depth <= len(self.places) <= LONGEST
            and all(place and len(set(place)) == len(place) for place in self.places)
            and len(set(self.starts)) == len(self.starts)
            and all(len(start) == depth for start in self.starts)
            and all(
                letter in place
                for start in self.starts
                for letter, place in zip(start, self.places, strict=False)
            )
        )

    def draw(self, n: int, *, beside: Texts, rng: Generator) -> Texts:
        """Draw distinct ones, none of which is ``beside``; there must be twice as many as are drawn."""
        found = beside.astype(np.str_)
        while len(found) < len(beside) + n:
            both = np.concatenate([found, self._some(len(beside) + n - len(found), rng=rng)])
            found = both[np.sort(np.unique(both, return_index=True)[1])]
        return found[len(beside) :]

    def _some(self, n: int, *, rng: Generator) -> Texts:
        starts = np.array([list(start) for start in self.starts], dtype="<U1")  # (starts, depth)
        letters = np.empty((n, len(self.places)), dtype="<U1")
        depth = len(self.starts[0])
        letters[:, :depth] = starts[rng.integers(len(starts), size=n)]
        for place in range(depth, len(self.places)):
            possible = np.array(list(self.places[place]), dtype="<U1")
            letters[:, place] = possible[rng.integers(len(possible), size=n)]
        return np.ascontiguousarray(letters).view(f"<U{len(self.places)}")[:, 0]


@dataclass(frozen=True, kw_only=True)
class Known:
    """The identifiers of a column by their length: what no fresh one may be."""

    by_length: Mapping[int, Texts]

    @classmethod
    def of(cls, values: Iterable[str]) -> "Known":
        """Collect them."""
        lengths: dict[int, list[str]] = {}
        for value in values:
            if len(value) <= LONGEST:  # no code is longer
                lengths.setdefault(len(value), []).append(value)
        return cls(by_length={length: np.array(each) for length, each in lengths.items()})

    def beginnings(self, length: int, depth: int) -> set[str]:
        """Return how those of a length begin."""
        if length not in self.by_length:
            return set()
        if depth == 0:
            return {""}
        return set(np.unique(self.by_length[length].astype(f"<U{depth}")).tolist())


def with_room(
    places: Sequence[str], known: Known, *, n: int, longest: int = LONGEST, rng: Generator
) -> Code | None:
    """Return a form with room for ``n`` fresh ones: these places, and as many more of the last as it takes.

    None if that needs more than the ``longest`` number of places.
    """
    more = next((place for place in reversed(places) if len(place) > 1), DIGITS)
    for extra in range(max(longest - len(places), 0) + 1):
        found = _free(tuple(places) + (more,) * extra, known, n, rng=rng)
        if found is not None:
            return found
    return None


def _free(places: tuple[str, ...], known: Known, n: int, *, rng: Generator) -> Code | None:
    """Return a form of exactly these places, with the shortest beginnings that are free and have room."""
    if math.prod(map(len, places)) < ROOM * n:
        return None
    for depth in range(len(places) + 1):
        if depth > 0 and len(places[depth - 1]) == 1 and depth < len(places):
            continue  # the next place tells more
        used = known.beginnings(len(places), depth)
        free = [start for start in _beginnings(places[:depth], rng=rng) if start not in used]
        each = math.prod(map(len, places[depth:]))
        if free and len(free) * each >= ROOM * n:
            some = rng.permutation(len(free))[: -(-AMPLE * ROOM * n // each)]
            return Code(places=places, starts=tuple(free[place] for place in sorted(some)))
    return None


def _beginnings(places: tuple[str, ...], *, rng: Generator) -> list[str]:
    """Return all ways to begin, or some at random where there are very many."""
    if math.prod(map(len, places)) <= MOST_TRIED:
        return ["".join(letters) for letters in product(*places)]
    drawn = Code(places=places, starts=("",)).draw(MOST_TRIED // 2, beside=np.empty(0, "<U1"), rng=rng)
    return list(drawn.tolist())


def shapes(values: Sequence[str]) -> dict[tuple[str, ...], int] | None:
    """Return the forms that most of these texts have, and how many have each; None if they are no codes.

    Codes agree in where letters, digits and other characters stand, and have digits. A name has none, and
    free text has no form that many share.
    """
    by_shape: dict[str, list[str]] = {}
    for value in values:
        if len(value) <= LONGEST:
            by_shape.setdefault(value.translate(_CLASSES), []).append(value)
    often = Counter({shape: len(held) for shape, held in by_shape.items() if len(held) >= LEAST_SHARED})
    if len(often) > MOST_SHAPES or sum(often.values()) < MOSTLY * len(values):
        return None
    found = {}
    for shape, count in sorted(often.items()):
        places = tuple(_alphabet(set(letters)) for letters in zip(*by_shape[shape], strict=True))
        if not shape.isascii() or not any(len(place) > 1 and place[0] in DIGITS for place in places):
            return None
        found[places] = count
    return found


def _alphabet(letters: set[str]) -> str:
    """Return the fewest characters of a kind that all of these are among; of one alone, that one."""
    if len(letters) == 1:
        return letters.pop()
    return next(alphabet for alphabet in ALPHABETS if letters <= set(alphabet))


def widths(numbers: Sequence[int]) -> dict[tuple[str, ...], int]:
    """Return the forms of whole numbers by how many digits many of them have, and how many have each."""
    lengths = Counter(len(str(number)) for number in numbers if number > 0)
    often = {length: n for length, n in sorted(lengths.items()) if n >= LEAST_SHARED and length <= MOST_EXACT}
    return {number_places(length): n for length, n in often.items()}


def number_places(length: int) -> tuple[str, ...]:
    """Return the places of a whole number with so many digits."""
    return (LEADING, *(DIGITS,) * (length - 1))


def loosened(places: Sequence[str]) -> tuple[str, ...]:
    """Return places at which a digit that is always the same may vary: zeros before numbers that are small.

    Of a declared form, too, a digit stands for any digit.

    >>> loosened(("A", "0", "0123456789"))
    ('A', '0123456789', '0123456789')
    >>> loosened("A-07")
    ('A', '-', '0123456789', '0123456789')
    """
    return tuple(DIGITS if place in set(DIGITS) else place for place in places)


def token(column: str) -> tuple[str, ...]:
    """Return the places of neutral identifiers that are called after their column.

    >>> "".join(place[0] for place in token("Patient's name"))
    'patient_s_name_000000'
    """
    letters = (letter if letter.isascii() and letter.isalnum() else "_" for letter in column.lower())
    stem = "_".join(part for part in "".join(letters).split("_") if part)[:LONGEST_STEM].strip("_")
    return (*f"{stem or 'value'}_", *(DIGITS,) * TOKEN_DIGITS)


def is_number(places: Sequence[str]) -> bool:
    """Whether all characters are digits, and few enough to be a number exactly."""
    return len(places) <= MOST_EXACT and all(set(place) <= set(DIGITS) for place in places)
