"""What commands write: refused before the long work begins where that must not be done, and written then."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, TypeVar

from tabveil.cli.screen import Screen, show, show_json
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from tabveil.workflows.benchmark.findings import Findings
    from tabveil.workflows.tuning import SearchFindings

Found = TypeVar("Found", "Findings", "SearchFindings")

STDOUT = Path("-")


def writable(option: str, path: Path, *, force: bool, not_over: Iterable[Path | None] = ()) -> Path:
    """Return the place to write to, where a link leads if it is one, and refuse it if that must not be done.

    Nothing that is read is ever written, whatever it is called: ``not_over`` are the inputs, and the outputs
    so far. A file that is already there is replaced only by ``force``.
    """
    try:
        target = path.resolve()
    except RuntimeError:
        raise ParameterError(option, f"{path} is a link that leads to itself.") from None
    if target.is_dir():
        raise ParameterError(option, f"{path} is a folder; name a file in it.")
    if target.exists() and not target.is_file():
        raise ParameterError(option, f"{path} is not an ordinary file.")
    for other in not_over:
        if other is not None and _same(other, target):
            raise ParameterError(option, f"{path} is also used for something else; choose another name.")
        if other is not None and _holds(other, target):
            raise ParameterError(option, f"{path} would stand in {other}, a folder that is read.")
    if target.exists() and not force:
        raise ParameterError(option, f"{path} is already there; add --force to replace it.")
    _try(option, target.parent, shown=path.parent)
    return target


def folder(option: str, path: Path) -> Path:
    """Make the folder if need be and make sure that files can be written into it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ParameterError(option, f"{path} is a file; name a folder.") from None
    except OSError as error:
        raise ParameterError(option, f"cannot make the folder {path}: {error.strerror}.") from None
    _try(option, path, shown=path)
    return path


def _same(one: Path, other: Path) -> bool:
    """Tell whether two names lead to one file: by a link, another spelling, or as hard links."""
    try:
        return one.samefile(other)
    except OSError:  # one of them is not there
        pass
    places = []
    for path in (one, other):
        try:
            places.append(path.resolve())
        except RuntimeError:  # a link that leads to itself leads nowhere else
            places.append(path.absolute())
    return places[0] == places[1]


def _holds(other: Path, target: Path) -> bool:
    """Tell whether a file would stand in a folder that is read; what a link leads to is no part of it."""
    return other.is_dir() and not other.is_symlink() and target.is_relative_to(other.resolve())


def _try(option: str, place: Path, *, shown: Path) -> None:
    if not place.is_dir():
        raise ParameterError(option, f"there is no folder {shown}.")
    try:
        with TemporaryFile(dir=place):  # without a name, or under one that nobody can guess
            pass
    except OSError as error:
        raise ParameterError(option, f"cannot write into {shown}: {error.strerror}.") from None


def destination(
    option: str, path: Path | None, *, force: bool, not_over: Iterable[Path | None] = ()
) -> Path | None:
    """Return the place to write to, if there is one, and if it is none that is standard output."""
    if path is None or path == STDOUT:
        return path
    return writable(option, path, force=force, not_over=not_over)


def destinations(
    *, force: bool, not_over: Sequence[Path | None] = (), **named: Path | None
) -> list[Path | None]:
    """Return the places of several options by their names: none is an input, and no two are the same."""
    taken = [*not_over]
    for name, path in named.items():
        taken.append(destination(f"--{name}", path, force=force, not_over=taken))
    return taken[len(not_over) :]


def rows_file(out: Path, *, force: bool, not_over: Iterable[Path | None]) -> Path:
    """Return the place to write rows to; its name must say how."""
    from tabveil.tables.reading.files import is_text_file

    is_text_file(Path(os.path.realpath(out)))  # refuses unknown suffixes; a link to itself is refused below
    return writable("--out", out, force=force, not_over=not_over)


def refuse_folder(save: Path) -> None:
    """Refuse a folder for a model that is there already, or cannot be made."""
    if save.exists():
        raise ParameterError("--save", f"{save} is already there; choose another folder.")
    folder("--save", save.resolve().parent)


def write_or_show(text: str, out: Path | None, *, force: bool, not_over: Iterable[Path] = ()) -> None:
    """Write a file that people edit, or show it where none is named."""
    from tabveil.core.storage.files import write_text

    if out is None:
        show(text)
    else:
        write_text(writable("--out", out, force=force, not_over=not_over), text)


def write_json(text: str, json: Path | None, *, guarded: bool = False) -> None:
    """Write JSON to where it was asked for, if it was."""
    from tabveil.core.storage.files import write_text

    if json == STDOUT:
        show_json(text)
    elif json is not None:
        write_text(json, f"{text}\n", guarded=guarded)


def write_found(
    found: Found,
    *,
    page: Callable[[Found], str],
    summary: "Callable[[Found], RenderableType]",
    html: Path | None,
    json: Path | None,
    quiet: bool,
) -> None:
    """Write page and numbers, and show the table."""
    from tabveil.core.storage.files import write_text

    if html is not None:
        write_text(html.resolve(), page(found))
    write_json(found.json_text().rstrip("\n"), json and (json if json == STDOUT else json.resolve()))
    if not quiet:
        # JSON on standard output is for a program; the table then goes where people look.
        Screen(stderr=json == STDOUT).print(summary(found))
        if html is not None:
            Screen(stderr=True).say(f"The report to read and print: {html}")
