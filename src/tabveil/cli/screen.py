r"""Where people look: everything that commands print goes through here, and no terminal obeys what is in it.

Names of columns, labels and files come from outside. A terminal takes some of their characters for orders
(another title, another color, text that runs backwards); here they are shown as escapes, such as ``\x1b``.
"""

import errno
import os
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from tabveil.core.wording import escaped

LOUD = "bold red"
"""The style of what nobody must miss."""


class Screen(Console):
    """Standard output or standard error, for people: texts are shown as they are, never taken for markup."""

    def __init__(self, **settings: Any) -> None:  # noqa: ANN401 - rich's own settings, passed on as they are
        super().__init__(markup=False, emoji=False, highlight=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything; all texts come by here, also those in tables."""
        match renderable:
            case str():
                renderable = escaped(renderable)
            case Text():
                renderable = _harmless(renderable)
        return super().render(renderable, options)

    def on_broken_pipe(self) -> None:
        """Let the rest go nowhere where nobody reads on, and say so: who prints knows what that means."""
        self.quiet = True
        with suppress(OSError, ValueError):  # what is no file has nobody behind it
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def show_rows(self, headings: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Print a table without a frame."""
        grid = Table(*headings, box=None, pad_edge=False, header_style="dim")
        for row in rows:
            grid.add_row(*row)
        self.print(grid)

    def say(self, line: str, style: str = "") -> None:
        """Print one line, however long: programs and people search for it as a whole."""
        self.print(Text(line, style=style), soft_wrap=True)


def _harmless(text: Text) -> Text:
    """Escape a text and keep its styles."""
    if escaped(text.plain) == text.plain:
        return text
    places = [place for place, letter in enumerate(text.plain) if escaped(letter) != letter]
    parts = text.divide([end for place in places for end in (place, place + 1)])
    for part in parts:
        part.plain = escaped(part.plain)
    return text.blank_copy().join(parts)


def show(text: str) -> None:
    """Write a file's text to standard output: exactly, unless it is a terminal that would obey it."""
    sys.stdout.write(escaped(text) if sys.stdout.isatty() else text)


def show_json(text: str) -> None:
    """Write JSON to standard output; what a terminal would obey is in strings, so JSON has escapes for it."""
    import json

    sys.stdout.write(escaped(text, lambda letter: json.dumps(letter)[1:-1]) + "\n")


def complain(message: str, code: int) -> int:
    """Say in one line on standard error what is at fault; return the exit code that says it, too."""
    line = " ".join(message.split())
    with suppress(OSError):  # nobody listens: then the code says it alone
        sys.stderr.write(f"tabveil: {escaped(line)}\n")
        sys.stderr.flush()
    return code
