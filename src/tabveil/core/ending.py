"""With which code the process ends, whoever ends it."""

import ctypes
from contextlib import suppress

OUR_FAULT = 70
"""The exit code of a fault of tabveil itself, of a library or of an installation."""


def end_with(code: int) -> None:
    """End the process with this code, whoever ends it from now on.

    Linear algebra ends the program for want of memory with code 1, and so does Python where it cannot go on.
    That is the code of a verdict, and no crash may look like a finding. So the system is told what to do when
    a process ends; of several such orders, the one given last is done first.
    """
    with suppress(AttributeError, OSError, TypeError):  # where the system has no such call
        system = ctypes.CDLL(None)
        system["__cxa_atexit"](system["_exit"], ctypes.c_void_p(code), None)
