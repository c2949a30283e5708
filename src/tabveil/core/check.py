"""One form for every complaint: who, what, what it must be, what it was; names and row numbers on one line.

No value is told that too few rows share.
"""

import difflib
import os
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.errors import ParameterError, told


def at_least(owner: str, name: str, value: float, minimum: float) -> None:
    """Require ``value >= minimum``.

    >>> at_least("Linkability", "n_neighbors", 0, 1)
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: Linkability: n_neighbors must be >= 1, got 0.
    """
    if not value >= minimum:
        raise ParameterError(owner, f"{name} must be >= {minimum}, got {told(value)}.")


def settings_at_least(thing: Any, minimum: float, *names: str) -> None:  # noqa: ANN401 - of a class with a name
    """Require several settings of something that has a name to be at least so much."""
    for name in names:
        at_least(thing.name, name, getattr(thing, name), minimum)


def at_most(owner: str, name: str, value: float, maximum: float) -> None:
    """Require ``value <= maximum``."""
    if not value <= maximum:
        raise ParameterError(owner, f"{name} must be <= {maximum:,}, got {told(value)}.")


def between(owner: str, name: str, value: float, low: float, high: float) -> None:
    """Require ``low < value < high``."""
    if not low < value < high:
        raise ParameterError(owner, f"{name} must lie between {low} and {high}, got {told(value)}.")


def share(owner: str, name: str, value: float) -> None:
    """Require ``0 <= value <= 1``."""
    if not 0 <= value <= 1:
        raise ParameterError(owner, f"{name} must lie from 0 to 1, got {told(value)}.")


def below_one(owner: str, name: str, value: float) -> None:
    """Require ``0 <= value < 1``: a share of which something must be left.

    >>> below_one("ctgan", "averaging", 1.0)
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: ctgan: averaging must be at least 0 and below 1, got 1.0.
    """
    if not 0 <= value < 1:
        raise ParameterError(owner, f"{name} must be at least 0 and below 1, got {told(value)}.")


def settings_below_one(thing: Any, *names: str) -> None:  # noqa: ANN401 - of a class with a name
    """Require several settings of something that has a name to be shares of which something is left."""
    for name in names:
        below_one(thing.name, name, getattr(thing, name))


def positive_share(owner: str, name: str, value: float) -> None:
    """Require ``0 < value <= 1``: a share that may be all, but not nothing."""
    if not 0 < value <= 1:
        raise ParameterError(owner, f"{name} must be above 0 and at most 1, got {told(value)}.")


def one_of(owner: str, name: str, value: object, allowed: Collection[object]) -> None:
    """Require a member of ``allowed``."""
    if value not in allowed:
        choices = ", ".join(repr(choice) for choice in allowed)
        raise ParameterError(owner, f"{name} must be one of {choices}; got {told(value)}.")


def ordinary_file(owner: str, path: Path) -> None:
    """Require that a path can be one, and leads to a file if anything is there: a pipe might never end."""
    try:
        possible = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        possible = False
    if not possible:
        raise ParameterError(owner, f"{quoted(path)} holds a NUL or half a character, which no path has.")
    if path.exists() and not path.is_file():
        what = "a folder, not a file" if path.is_dir() else "not an ordinary file"
        raise ParameterError(owner, f"{path} is {what}.")


def known_names(owner: str, kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Require every name to be known, and offer the nearest spelling where it is not.

    >>> known_names("audit", "metric", ["closest_shar"], ["closest_share", "mmd"])
    Traceback (most recent call last):
    ...
    tabveil.errors.ParameterError: audit: no metric 'closest_shar'. Did you mean 'closest_share'?
    """
    for name in names:
        if name not in known:
            close = get_close_matches(name, known, n=1)
            offered = ", ".join(map(shown, known))
            hint = f"Did you mean {quoted(close[0])}?" if close else f"Known: {offered}."
            raise ParameterError(owner, f"no {kind} {quoted(name)}.", hint=hint)


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
