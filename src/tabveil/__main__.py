"""The program: ``tabveil``, or ``python -P -m tabveil``.

Python ends with code 1 where a module cannot be loaded, for want of memory or because an installation is
damaged. That is the code of a verdict, so whatever goes wrong before there is a program is told here.
"""

import os

NOT_STARTED, INTERRUPTED = 70, 130
"""As in ``tabveil.cli.exit_codes``, which may be what cannot be loaded."""

_LONGEST = 200


def main() -> None:
    """Load the commands and run one."""
    try:
        from tabveil.core.ending import end_with  # noqa: PLC0415 - what may fail

        end_with(NOT_STARTED)  # a library may end the program while it is loaded
        from tabveil.cli import main as run  # noqa: PLC0415 - likewise
    except BaseException as error:  # noqa: BLE001 - none of it is a verdict
        interrupted = isinstance(error, KeyboardInterrupt)
        why = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(": ")[:_LONGEST]
        line = "tabveil: interrupted.\n" if interrupted else f"tabveil: cannot be started ({why}).\n"
        try:
            os.write(2, line.encode(errors="backslashreplace"))
        finally:  # also where nobody listens
            os._exit(INTERRUPTED if interrupted else NOT_STARTED)
    run()


if __name__ == "__main__":
    main()
