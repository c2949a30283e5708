"""Large arrays on disk in the place of memory, in files that have no name and that nobody else can read.

Where memory is bounded (:attr:`tabveil.core.workers.Workers.memory`), what grows with the rows of a table is
laid into such files: the system keeps in memory what of them is used, and takes it back where others need
it. A file is removed from its folder as soon as it is open, so that nothing is left of it however the process
ends, and it was its owner's alone before (mode 0600). Its room on the disk is taken at once: a full disk is
an error then, and not a signal in the middle of a computation.

The folder is that of ``TMPDIR``; where that is not set, ``/var/tmp``, for ``/tmp`` may itself be memory.
"""

import os
import tempfile
import weakref
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tabveil.core import workers
from tabveil.errors import ParameterError

PART = 4096
"""An array that takes more than this part of the memory is laid into a file."""

TOGETHER = 1 << 26
"""Bytes of a file that several arrays share, or there would be more files open than a process may have."""

_ROWS_AT_ONCE = 1 << 14
_ON_DISK = "/var/tmp"  # noqa: S108 - nothing there has a name


def room(
    shape: tuple[int, ...], dtype: DTypeLike = np.float64, order: Literal["C", "F"] = "C"
) -> NDArray[Any]:
    """Return an array to be written; where memory is bounded, a large one on disk."""
    kind = np.dtype(dtype)
    n_bytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    if not belongs_on_disk(n_bytes):
        return np.empty(shape, dtype=kind, order=order)
    return np.asarray(_bytes(n_bytes)).view(kind).reshape(shape, order=order)


def kept(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same array, a large one read from disk where memory is bounded."""
    if not belongs_on_disk(array.nbytes) or _on_disk(array):
        return array
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    there = room(array.shape, array.dtype, order)
    there[...] = array
    return there


def take_rows(values: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any]:
    """Return ``values[rows]`` of a matrix."""
    if not belongs_on_disk(len(rows) * values.shape[1] * values.itemsize):
        taken: NDArray[Any] = values[rows]
        return taken
    places = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows
    there = room((len(places), values.shape[1]), values.dtype)
    for start in range(0, len(places), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        there[some] = values[places[some]]
    return there


def take_columns(values: NDArray[Any], positions: Sequence[int]) -> NDArray[Any]:
    """Return ``values[:, positions]`` of a matrix."""
    if not belongs_on_disk(len(values) * len(positions) * values.itemsize):
        return values[:, list(positions)]
    there = room((len(values), len(positions)), values.dtype, "F")
    for place, position in enumerate(positions):
        there[:, place] = values[:, position]
    return there


def stacked(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return ``np.concatenate(parts)`` of matrices, in the order that NumPy gives it."""
    if not belongs_on_disk(sum(part.nbytes for part in parts)):
        return np.concatenate(parts)
    n_rows = sum(map(len, parts))
    by_columns = all(part.flags.f_contiguous for part in parts)
    there = room((n_rows, parts[0].shape[1]), parts[0].dtype, "F" if by_columns else "C")
    ends = np.cumsum([0, *map(len, parts)])
    for part, start, stop in zip(parts, ends[:-1], ends[1:], strict=True):
        there[start:stop] = part
    return there


def belongs_on_disk(n_bytes: int) -> bool:
    """Tell whether memory is bounded, and so much of it had better be left free."""
    memory = workers.current().memory
    return memory is not None and n_bytes > memory // PART


def folder() -> Path:
    """Return where the files are."""
    if os.environ.get("TMPDIR") or not os.access(_ON_DISK, os.W_OK):
        return Path(tempfile.gettempdir())
    return Path(_ON_DISK)


def _on_disk(array: NDArray[Any]) -> bool:
    owner: Any = array
    while isinstance(owner, np.ndarray) and not isinstance(owner, np.memmap):
        owner = owner.base
    return isinstance(owner, np.memmap)


class _SharedFile:
    """The file that small arrays are laid into, as long as one of them is in use."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._there: Callable[[], Any] = lambda: None
        self._used = 0

    def take(self, n_bytes: int) -> NDArray[np.uint8]:
        with self._lock:
            file = self._there()
            if file is None or self._used + n_bytes > TOGETHER:
                file = _file(TOGETHER)
                self._there, self._used = weakref.ref(file), 0
            start, self._used = self._used, self._used + -(-n_bytes // _ALIGNED) * _ALIGNED
            part: NDArray[np.uint8] = file[start : start + n_bytes]
            return part


_shared_file = _SharedFile()
_ALIGNED = 64


def _bytes(n_bytes: int) -> NDArray[np.uint8]:
    return _shared_file.take(n_bytes) if n_bytes <= TOGETHER // 4 else _file(n_bytes)


def _file(n_bytes: int) -> NDArray[np.uint8]:
    try:
        with tempfile.TemporaryFile(dir=folder()) as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            return np.memmap(file, dtype=np.uint8, mode="r+", shape=(n_bytes,))
    except OSError as error:
        raise ParameterError(
            "memory",
            f"cannot lay {n_bytes / 2**30:.1f} GiB of rows into {folder()}: {error.strerror}. Set TMPDIR to "
            "a folder with more room.",
        ) from None
