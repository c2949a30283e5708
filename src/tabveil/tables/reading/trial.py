"""Whether a Parquet or Arrow file can be read at all: a process of its own tries it first.

Arrow trusts much of what such a file says of itself. A damaged one, or one that was made to harm, may end the
process that reads it, by an abort or a segmentation fault: an audit would be gone without a line, and a
notebook with all that is in it. So the bytes are read by a child before they are read here. It takes about
0.08 s (Arrow 18 or later; 0.14 s before) and, of a large file, as long as reading it takes. Text files and
spreadsheets need none: their readers raise.
"""

import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from tabveil.tables.reading.trial_reader import HAS_THE_FILE, IS_THROUGH, SIZES

READER = Path(__file__).with_name("trial_reader.py")

_survived: set[str] = set()
"""Digests of what a child read: the same bytes are not tried again, as the real rows of many attacks."""


def survives(data: bytes, sha256: str, *, kind: str, most_cells: int) -> bool:
    """Tell whether a process that reads these bytes lives on; so it is where none can be started.

    What claims to hold more than ``most_cells`` is not unpacked, here neither.
    """
    if sha256 in _survived:
        return True
    libraries = str(Path(pa.__file__).parent.parent)
    end = _end([str(READER), libraries, pa.__version__, kind, str(most_cells), str(len(data))], data)
    if end == -getattr(signal, "SIGKILL", 9):  # the system's answer to who takes too much
        raise MemoryError
    if end == 0:
        _survived.add(sha256)
    return end == 0


_AT_ONCE = 1 << 20  # bytes of a file that are handed over


def first_deadly(files: Sequence[tuple[Path, int, str]], most_cells: Callable[[int], int]) -> int | None:
    """Return which of some Parquet files, each with its size and digest, is the first to kill its reader.

    One child tries them all, one after the other and each by its groups of rows, so that neither process ever
    holds more than one file and one group. A child that was killed for its memory raises MemoryError.
    """
    new = [place for place, (_, _, sha256) in enumerate(files) if sha256 not in _survived]
    if not new:
        return None
    pipe = subprocess.PIPE
    words = [str(READER), str(Path(pa.__file__).parent.parent), pa.__version__, "parts"]
    try:
        child = subprocess.Popen(  # noqa: S603 - our own
            [sys.executable, "-I", "-S", *words], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
    except OSError:  # no fault of the files
        return None
    try:
        for place in new:
            path, size, sha256 = files[place]
            began, through = _try(child, path, size, most_cells(size))
            if not through:
                if child.wait() == -getattr(signal, "SIGKILL", 9):
                    raise MemoryError
                return place if began else None
            _survived.add(sha256)
    finally:
        _close(child)
    return None


def _try(child: "subprocess.Popen[bytes]", path: Path, size: int, most_cells: int) -> tuple[bool, bool]:
    """Hand one file to a child; tell whether it has it, and whether it came through."""
    given, said = child.stdin, child.stdout
    assert given is not None
    assert said is not None
    try:
        given.write(SIZES.pack(size, most_cells))
        left = size
        with path.open("rb") as file:
            while left and (piece := file.read(min(left, _AT_ONCE))):
                given.write(piece)
                left -= len(piece)
        given.write(bytes(left))  # it became shorter meanwhile, which whoever reads it next finds out
        given.flush()
    except BrokenPipeError:
        return False, False
    return said.read(1) == HAS_THE_FILE, said.read(1) == IS_THROUGH


def _close(child: "subprocess.Popen[bytes]") -> None:
    child.kill()
    child.wait()
    for end in (child.stdout, child.stdin):
        if end is not None:
            with suppress(BrokenPipeError):  # what is left is flushed first
                end.close()


def _end(words: list[str], data: bytes) -> int:
    """Return how a child that is handed these bytes ends: with 0, unless it dies of them.

    It is a Python without settings, paths and folders of anybody's. It ends when this process does, for then
    nobody holds the other end of its standard input.
    """
    pipe = subprocess.PIPE
    try:
        child = subprocess.Popen(  # noqa: S603 - our own
            [sys.executable, "-I", "-S", *words], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
        )
    except OSError:  # no fault of the file
        return 0
    given, said = child.stdin, child.stdout
    assert given is not None
    assert said is not None
    try:
        with suppress(BrokenPipeError):
            given.write(data)
            given.flush()
        began = said.read(1) == HAS_THE_FILE
        end = child.wait()
    finally:
        _close(child)
    return end if began else 0
