"""Arrays as a model stores them: what each must be, and many short ones end to end as one.

Whoever stores arrays states what each looks like (:class:`Expected`), as a function of the schema and the
settings; :func:`require_arrays` compares before anything is used. Bytes that were never written by a
generator must not reach compiled loops, which trust their indices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core.storage.files import Unreadable

Arrays = Mapping[str, NDArray[Any]]

MOST_ROWS = 2**40
"""No count of rows is larger; even of a million values the sum is exact."""
_SIZES = "_sizes"


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What an array must be: its type, its shape (None where any length will do), the range of its numbers.

    >>> Expected(dtype=np.float64, shape=(None, 2), low=0).fault(np.zeros((3, 2)))
    >>> Expected(dtype=np.float64, shape=(3,), low=0).fault(np.array([0.0, -1.0, 2.0]))
    'numbers from 0 to inf, got -1.0'
    """

    dtype: Any
    shape: tuple[int | None, ...]
    low: float = -np.inf
    high: float = np.inf
    missing: bool = False  # whether NaN may stand there

    def fault(self, array: NDArray[Any]) -> str | None:
        """Say what the array must be and what it is, or nothing if it fits."""
        if array.dtype != np.dtype(self.dtype):
            return f"{np.dtype(self.dtype)}, got {array.dtype}"
        if not self._has_shape(array.shape):
            lengths = ", ".join("any" if length is None else str(length) for length in self.shape)
            return f"of shape ({lengths}), got {array.shape}"
        numbers = array if not self.missing else array[~np.isnan(array)]
        if numbers.size == 0:
            return None
        if not np.isfinite(numbers).all():
            return "finite, got numbers that are not"
        least, largest = numbers.min(), numbers.max()
        if least < self.low or largest > self.high:
            return f"numbers from {self.low} to {self.high}, got {least if least < self.low else largest}"
        return None

    def _has_shape(self, shape: tuple[int, ...]) -> bool:
        return len(shape) == len(self.shape) and all(
            wanted is None or wanted == length for wanted, length in zip(self.shape, shape, strict=True)
        )


def require_arrays(arrays: Arrays, expected: Mapping[str, Expected]) -> None:
    """Require exactly the arrays that are expected, each as it must be."""
    for name in (*expected, *arrays):
        if name not in arrays:
            raise Unreadable(f"array {name!r} is missing")
        if name not in expected:
            raise Unreadable(f"array {name!r} is not one that this generator stores")
        problem = expected[name].fault(arrays[name])
        if problem is not None:
            raise Unreadable(f"array {name!r} must be {problem}")


def require(fits: bool, what: str) -> None:  # noqa: FBT001 - reads like a sentence
    """Require that something holds of what is stored; ``what`` says what must be."""
    if not fits:
        raise Unreadable(what)


def under(arrays: Arrays, prefix: str) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Part the arrays whose names have a prefix, which they lose, from the others."""
    found = {name.removeprefix(prefix): item for name, item in arrays.items() if name.startswith(prefix)}
    return found, {name: item for name, item in arrays.items() if not name.startswith(prefix)}


def ascending(values: NDArray[Any]) -> bool:
    """Whether every value is larger than the one before; NaN counts as the largest."""
    return bool(((values[1:] > values[:-1]) | (np.isnan(values[1:]) & ~np.isnan(values[:-1]))).all())


def join_pieces(pieces: Mapping[str, Sequence[NDArray[Any]]]) -> dict[str, NDArray[Any]]:
    """Put the arrays under each name end to end, and beside them how long each was."""
    sizes = {f"{name}{_SIZES}": np.array([len(item) for item in items]) for name, items in pieces.items()}
    return {**{name: np.concatenate(items) for name, items in pieces.items()}, **sizes}


def expected_pieces(pieces: Mapping[str, Expected], n_pieces: int) -> dict[str, Expected]:
    """State what :func:`join_pieces` returns for so many pieces under each name."""
    sizes = Expected(dtype=np.int64, shape=(n_pieces,), low=0)
    return {**pieces, **{f"{name}{_SIZES}": sizes for name in pieces}}


def split_pieces(arrays: Arrays, name: str) -> list[NDArray[Any]]:
    """Return the pieces that :func:`join_pieces` put end to end."""
    whole, sizes = arrays[name], arrays[f"{name}{_SIZES}"]
    require(sum(sizes.tolist()) == len(whole), f"array {name!r} must be as long as its pieces")
    return np.split(whole, np.cumsum(sizes)[:-1])
