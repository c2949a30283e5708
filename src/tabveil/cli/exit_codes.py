"""How a command ends: one clear line for every fault, never a traceback, never a value from the data.

=====  ==================================================================
code   meaning
=====  ==================================================================
0      the command did what was asked; with a policy: the release is within it
1      with a policy: the release is above a threshold; of a benchmark: cells failed; of a
       promise: violated; of a search: no configuration has numbers
2      the command line, a file or the data is at fault; one line says how
3      with a policy, or of a promise: inconclusive
70     a fault of tabveil itself
130    interrupted
141    nobody read on what was printed
143    ended by the system (SIGTERM)
=====  ==================================================================

Those of a verdict (0, 1, 3) are kept with it, in ``tabveil.auditing.verdict``.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NoReturn

from typer.core import TyperGroup

from tabveil.cli.screen import complain
from tabveil.errors import TabveilError, cut, shortened

CELLS_FAILED = 1
NOTHING_FOUND = 1
BAD_INPUT = 2
OUR_FAULT = 70
INTERRUPTED = 130
UNREAD = 141
TERMINATED = 143


class Commands(TyperGroup):
    """A group of commands that ends with one line and a documented exit code."""

    def main(  # type: ignore[override] # the group only ever runs as a program
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        **settings: Any,  # noqa: ANN401 - the parser's own settings, passed on as they are
    ) -> NoReturn:
        """Run a command line and leave with its exit code; without arguments, show the help."""
        given = list(sys.argv[1:] if args is None else args) or ["--help"]
        run = super().main
        settings["standalone_mode"] = False  # the parser raises instead of printing its own boxes
        try:
            code = _printed(exit_code(lambda: run(given, prog_name or "tabveil", **settings)))
        except SystemExit:  # the parser's, where nobody reads what is printed any more
            code = UNREAD
        _end_with(code)
        sys.exit(code)


def _printed(code: int) -> int:
    """Return the code of a command once all is printed; another one where nobody read to the end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try again when it ends, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return UNREAD
    return code


class Interrupted(Exception):  # noqa: N818 - not an error
    """Somebody pressed Ctrl-C, and there is more to say about it than that."""


class Terminated(BaseException):
    """The system asks the program to end; everything begun is put away on the way out."""


def end_in_order() -> None:
    """Let SIGTERM end the program as an exception does: half-written files are removed.

    A second one is not heard: it would interrupt the removing.
    """

    def end(signum: int, _: object) -> None:
        signal.signal(signum, signal.SIG_IGN)
        raise Terminated

    signal.signal(signal.SIGTERM, end)


def mind_libraries() -> None:
    """Let a library that ends the program end it as a fault.

    Linear algebra does so for want of memory, with code 1, and no crash may look like a finding.
    """
    _end_with(OUR_FAULT)


def _end_with(code: int) -> None:
    """End the process with this code, whoever ends it from now on: what was asked for last is done first."""
    with suppress(AttributeError, OSError):  # where the system has no such call
        system = ctypes.CDLL(None)
        system["__cxa_atexit"](system["_exit"], ctypes.c_void_p(code), None)


def exit_code(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code, after one line on standard error where something went wrong."""
    try:
        code = command()
    except Terminated:
        return complain("ended by the system.", TERMINATED)
    except Interrupted as error:
        return complain(str(error), INTERRUPTED)
    except TabveilError as error:
        return complain(str(error), BAD_INPUT)
    except OSError as error:
        name, why = cut(str(error.filename or "file")), error.strerror or "cannot be used"
        return complain(f"{name}: {why}.", BAD_INPUT)
    except MemoryError:
        return complain("not enough memory for tables of this size.", BAD_INPUT)
    except Exception as error:  # the last door: nothing beyond it may print a traceback
        if hasattr(error, "format_message"):  # what the parser raises, in every version of it
            context = getattr(error, "ctx", None)
            hint = f" See '{context.command_path} --help'." if context else ""
            said = shortened(error.format_message().rstrip(". "))
            return complain(f"{said}.{hint}", BAD_INPUT)
        if os.environ.get("TABVEIL_DEBUG"):
            raise
        kind = type(error).__name__
        return complain(
            f"something went wrong inside tabveil ({kind}); set TABVEIL_DEBUG=1 to see where.", OUR_FAULT
        )
    if code == INTERRUPTED:
        return complain("interrupted.", INTERRUPTED)
    return code if isinstance(code, int) else 0
