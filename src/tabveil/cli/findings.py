"""Writing what was found: a page to read, JSON for programs, and a table on the screen."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from rich.console import RenderableType

from tabveil.cli import files
from tabveil.cli.screen import Screen, show_json
from tabveil.core.storage.files import write_text

STDOUT = Path("-")


class Finding(Protocol):
    """Anything that has its numbers as JSON."""

    def json_text(self) -> str:
        """Return all numbers."""
        ...


Found = TypeVar("Found", bound=Finding)


def require_writable(html: Path | None, json: Path | None, *, force: bool, not_over: Sequence[Path]) -> None:
    """Refuse places that cannot be written to, before any work is done."""
    targets = list(not_over)
    for option, path in (("--html", html), ("--json", json)):
        if path is not None and path != STDOUT:
            targets.append(files.writable(option, path, force=force, not_over=targets))


def write_found(
    found: Found,
    *,
    page: Callable[[Found], str],
    summary: Callable[[Found], RenderableType],
    html: Path | None,
    json: Path | None,
    quiet: bool,
) -> None:
    """Write page and numbers, and show the table."""
    if html is not None:
        write_text(html.resolve(), page(found))
    if json == STDOUT:
        show_json(found.json_text().rstrip("\n"))
    elif json is not None:
        write_text(json.resolve(), found.json_text())
    if not quiet:
        # JSON on standard output is for a program; the table then goes where people look.
        Screen(stderr=json == STDOUT).print(summary(found))
        if html is not None:
            Screen(stderr=True).say(f"The report to read and print: {html}")
