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
from contextlib import suppress
from pathlib import Path

import pyarrow as pa

from tabveil.tables.reading.trial_reader import HAS_THE_FILE

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
        child.kill()
        child.wait()
        said.close()
        with suppress(BrokenPipeError):  # what is left is flushed first
            given.close()
    return end if began else 0
