"""A process of its own that runs a command, and leaves nothing of it behind, however the run ends.

It is no part of the program that starts it: it is run as a file, with the command's folder and words. What it
writes to standard output is how the command ended: a number, as Python has it, or why it could not begin.

The command is ended, with all that it started, once it ends by itself, and once nobody holds the other end of
standard input: whoever asked has given up, was interrupted or killed. Then its folder is removed as well.
Linux also finds what left the command's session (a daemon), for it becomes a child of this process when its
parent ends. Elsewhere only what is still in the session is found.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from select import select

_PR_SET_CHILD_SUBREAPER = 36
_LOOKED_AT = 0.02  # seconds between two looks


def run(folder: str, words: list[str]) -> None:
    """Run a command to its end, or until it is not wanted any more, and say how it ended."""
    with suppress(AttributeError, OSError, TypeError):  # only Linux has it
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        command = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True
        )
    except OSError as error:
        os.write(1, f"cannot be started: {error.strerror}".encode())
        return
    while command.poll() is None and not _is_left(_LOOKED_AT):
        pass
    _end_all(command.pid)
    with suppress(BrokenPipeError):
        os.write(1, str(command.returncode).encode())
    if _is_left(0):
        shutil.rmtree(folder, ignore_errors=True)


def _is_left(seconds: float) -> bool:
    """Tell whether nobody holds the other end; nothing is ever written there."""
    return bool(select([0], [], [], seconds)[0])


def _end_all(session: int) -> None:
    """End a session, then every child, and what becomes a child by that, until there is none."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(session, signal.SIGKILL)
    not_ours: set[int] = set()  # such as what runs as somebody else
    while children := set(_children()) - not_ours:
        for child in children:
            try:
                os.kill(child, signal.SIGKILL)
            except PermissionError:
                not_ours.add(child)
                continue
            with suppress(ChildProcessError):
                os.waitpid(child, 0)


def _children() -> Iterator[int]:
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it ended meanwhile
            _state, parent, *_ = (place / "stat").read_bytes().rpartition(b")")[2].split()
            if int(parent) == os.getpid():
                yield int(place.name)


if __name__ == "__main__":
    run(sys.argv[1], sys.argv[2:])
