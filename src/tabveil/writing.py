"""Files and folders that are either written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tabveil.errors import ParameterError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Hand out a temporary neighbor of ``path`` that takes its place once the block has ended well."""
    temporary = path.with_name(f".{os.getpid()}-{path.name}")  # the suffix stays: writers look at it
    try:
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file at one stroke."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def refuse_existing(folder: Path) -> None:
    """Refuse a folder that is there already: what is in it may be the only trace of what was released."""
    if folder.exists():
        raise ParameterError(f"{folder} is already there; choose another folder.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Hand out a place where nothing is yet; what is made there becomes ``folder`` if the block ends well."""
    refuse_existing(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".") as beside:
        place = Path(beside, folder.name)
        yield place
        place.rename(folder)
