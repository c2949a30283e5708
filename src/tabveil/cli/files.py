"""Output files that cannot be written, refused before the long work begins."""

import os
from collections.abc import Iterable
from pathlib import Path

from tabveil.errors import ParameterError


def writable(option: str, path: Path, *, not_over: Iterable[Path | None] = ()) -> Path:
    """Make sure a file can be written there, and that it is none of the inputs."""
    target = path.resolve()
    if target.is_dir():
        raise ParameterError(f"{option}: {path} is a folder; name a file in it.")
    if target.exists() and not target.is_file():
        raise ParameterError(f"{option}: {path} is not an ordinary file.")
    if any(other is not None and other.resolve() == target for other in not_over):
        raise ParameterError(f"{option}: {path} is also used for something else; choose another name.")
    _try(option, target.parent, shown=path.parent)
    return target


def refuse_to_replace(path: Path, *, force: bool) -> None:
    """Refuse a file that is there already, unless it may be replaced."""
    if path.exists() and not force:
        raise ParameterError(f"{path} is already there; add --force to replace it.")


def folder(option: str, path: Path) -> Path:
    """Make the folder if need be and make sure that files can be written into it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise ParameterError(f"{option}: {path} is a file; name a folder.") from None
    except OSError as error:
        raise ParameterError(f"{option}: cannot make the folder {path}: {error.strerror}.") from None
    _try(option, path, shown=path)
    return path


def _try(option: str, place: Path, *, shown: Path) -> None:
    if not place.is_dir():
        raise ParameterError(f"{option}: there is no folder {shown}.")
    trial = place / f".tabveil-{os.getpid()}"
    try:
        trial.touch()
    except OSError as error:
        raise ParameterError(f"{option}: cannot write into {shown}: {error.strerror}.") from None
    finally:
        trial.unlink(missing_ok=True)
