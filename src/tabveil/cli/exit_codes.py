"""How a command ends: one clear line for every fault, never a traceback, never a value from the data.

=====  ==================================================================
code   meaning
=====  ==================================================================
0      the command did what was asked; with a policy: the release is within it
1      with a policy: the release is above a threshold; of a benchmark: cells failed; of a
       promise: violated; of a search: no configuration has numbers
2      the command line, a file or the data is at fault, or memory or the disk is too small;
       one line says how
3      with a policy, or of a promise: inconclusive
70     a fault of tabveil itself, of a library or of an installation
130    interrupted
141    nobody read on what was printed; of an audit only where that was the JSON: if only its
       table was cut off, the code is that of the verdict
143    ended by the system (SIGTERM)
=====  ==================================================================

Those of a verdict (0, 1, 3) are kept with it, in ``tabveil.auditing.verdict``.
"""

import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from typer.core import TyperGroup

from tabveil.cli.screen import complain
from tabveil.core.ending import OUR_FAULT, end_with
from tabveil.errors import ParameterError, TabveilError, cut, shortened

CELLS_FAILED = 1
NOTHING_FOUND = 1
BAD_INPUT = 2
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

        def command() -> Any:  # noqa: ANN401 - what a command returns
            _require_text(given)
            result = run(given, prog_name or "tabveil", **settings)
            sys.stdout.flush()  # what is not printed was not done
            return result

        code = exit_code(command)
        _give_up_printing()
        end_with(code)
        sys.exit(code)


def _require_text(given: Sequence[str]) -> None:
    """Refuse a command line that has bytes which are no text: reports and errors could not name them."""
    for word in given:
        try:
            word.encode()
        except UnicodeEncodeError:
            seen = cut(word.encode("ascii", "backslashreplace").decode())
            raise ParameterError("the command line", f"'{seen}' is not UTF-8 text.") from None


def _give_up_printing() -> None:
    """Leave nothing to print where nobody takes it: Python would try again when it ends, and complain."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


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


def exit_code(command: Callable[[], Any]) -> int:
    """Run a command and return its exit code, after one line on standard error where something went wrong."""
    try:
        code = command()
    except BaseException as error:  # noqa: BLE001 - the last door: nothing beyond it may print a traceback
        line, code = _meaning(error)
        return complain(line, code) if line else code
    if code == INTERRUPTED:
        return complain("interrupted.", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _meaning(error: BaseException) -> tuple[str, int]:
    """Return the line that says what went wrong, if it needs one, and its exit code."""
    match error:
        case Terminated():
            return "ended by the system.", TERMINATED
        case Interrupted() | KeyboardInterrupt():
            return str(error) or "interrupted.", INTERRUPTED
        case TabveilError():
            return str(error), BAD_INPUT
        case MemoryError() | OSError(errno=errno.ENOMEM):
            return "not enough memory for tables of this size.", BAD_INPUT
        case (
            BrokenPipeError() | SystemExit(__context__=BrokenPipeError())
        ):  # the parser makes one of the other
            return "", UNREAD
        case OSError(errno=int()):  # without a number, it is no file's: a library could not be loaded
            place = cut(str(error.filename or "what is printed"))
            return f"{place}: {error.strerror or 'cannot be used'}.", BAD_INPUT
        case _:
            return _meaning_of_others(error)


def _meaning_of_others(error: BaseException) -> tuple[str, int]:
    """Do the same for what the parser raises, and for what nobody thought of, which may be raised again."""
    if hasattr(error, "format_message"):  # what the parser raises, in every version of it
        context = getattr(error, "ctx", None)
        hint = f" See '{context.command_path} --help'." if context else ""
        return f"{shortened(error.format_message().rstrip('. '))}.{hint}", BAD_INPUT
    if os.environ.get("TABVEIL_DEBUG"):
        raise error
    if isinstance(error, SystemExit):
        return f"a library, or code of your own, ended the program (exit code {error.code!r}).", OUR_FAULT
    kind = type(error).__name__
    return f"something went wrong inside tabveil ({kind}); set TABVEIL_DEBUG=1 to see where.", OUR_FAULT
