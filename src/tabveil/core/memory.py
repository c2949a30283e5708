"""How much memory is left of what a caller allows, and where it is not enough.

What counts is the memory of this process that is no file's: a file that is mapped is given back by the system
where others need its place.
"""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from tabveil.core import workers

_BESIDE = 128 * 2**20
"""What the program takes by itself, where the system does not tell."""


def taken() -> int:
    """Return how many bytes this process takes that are no file's."""
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return _BESIDE


def left() -> int | None:
    """Return how many bytes are left, None where all there is may be taken."""
    memory = workers.current().memory
    if memory is None:
        return None
    if taken() > memory // 2:
        _give_back()
    return max(memory - taken(), 0)


def _give_back() -> None:
    """Let the C library return what was freed to the system, of which it else keeps much."""
    with suppress(OSError, AttributeError, TypeError):  # only that of GNU can
        ctypes.CDLL(None).malloc_trim(0)


def shown(n_bytes: float) -> str:
    """Write a size as people read it.

    >>> shown(3 * 2**30), shown(400 * 2**20), shown(1.5 * 2**30)
    ('3GiB', '400MiB', '1.5GiB')
    """
    return f"{n_bytes / 2**30:.2g}GiB" if n_bytes >= 2**30 else f"{n_bytes / 2**20:.0f}MiB"
