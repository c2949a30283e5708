"""How the door speaks: one line, names and row numbers, and no value that too few rows share to be told."""

import difflib
from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

_LONGEST_NAME = 40
_MOST_ROWS = 3


def shown(name: object, longest: int = _LONGEST_NAME) -> str:
    r"""Return a name as it may stand in a message: printable, on one line, not too long.

    >>> shown("a\nb")
    'a?b'
    """
    text = "".join(letter if letter.isprintable() else "?" for letter in str(name))
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def quoted(name: object) -> str:
    """Return a name in quotes, fit for a message."""
    return f"'{shown(name)}'"


def listed(names: Sequence[object], most: int = 6) -> str:
    """Return several names, the first few of them if they are many.

    >>> listed(["a", "b"])
    'a, b'
    """
    first = ", ".join(shown(name, 24) for name in names[:most])
    more = len(names) - most
    return f"{first} and {more} more" if more > 0 else first


def rows(flags: NDArray[np.bool_]) -> str:
    """Name the first flagged rows, counted from 1 as people do.

    >>> rows(np.array([False, True, True]))
    'rows 2, 3'
    """
    found = np.flatnonzero(flags) + 1
    first = ", ".join(str(row) for row in found[:_MOST_ROWS])
    more = len(found) - _MOST_ROWS
    word = "row" if len(found) == 1 else "rows"
    return f"{word} {first} and {more} more" if more > 0 else f"{word} {first}"


def nearest(name: str, known: Collection[str]) -> str | None:
    """Return the known name that was probably meant: another case, spaces, a typing slip.

    >>> nearest("Marital Status", ["age", "marital_status"])
    'marital_status'
    """
    alike = {_core(other): other for other in known}
    if _core(name) in alike:
        return alike[_core(name)]
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return close[0] if close else None


def _core(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())
