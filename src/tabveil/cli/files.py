"""Output files that must not be written, refused before the long work begins: one rule for all commands."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from tabveil.errors import ParameterError

Force = Annotated[
    bool,
    typer.Option(
        "--force", help="Replace files that are already there; behind a link, the file it leads to."
    ),
]

Html = Annotated[Path | None, typer.Option(metavar="FILE", help="Write a page to read and print.")]
Json = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write all numbers as JSON; '-' is standard output.")
]


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
    if any(other is not None and _same(other, target) for other in not_over):
        raise ParameterError(option, f"{path} is also used for something else; choose another name.")
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
        return _whereto(one) == _whereto(other)


def _whereto(path: Path) -> Path:
    """Return where a name leads; a link that leads to itself leads nowhere else."""
    try:
        return path.resolve()
    except RuntimeError:
        return path.absolute()


def _try(option: str, place: Path, *, shown: Path) -> None:
    if not place.is_dir():
        raise ParameterError(option, f"there is no folder {shown}.")
    trial = place / f".tabveil-{os.getpid()}"
    try:
        trial.touch()
    except OSError as error:
        raise ParameterError(option, f"cannot write into {shown}: {error.strerror}.") from None
    finally:
        trial.unlink(missing_ok=True)
