"""Files and folders that are either written completely or not at all, and read only by whom they are for.

What holds single people's data, or was learned from them, is written for its owner alone (``guarded``).
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tabveil.errors import ParameterError

OWNER_FILE, OWNER_FOLDER = 0o600, 0o700
"""What others may do with a file or folder of the owner's: nothing."""


@contextmanager
def replacing(path: Path, *, guarded: bool = False) -> Iterator[Path]:
    """Hand out a temporary neighbor of ``path`` that takes its place once the block has ended well.

    A ``guarded`` file is there from the start, empty, and only its owner can open it.
    """
    temporary = path.with_name(f".{os.getpid()}-{path.name}")  # the suffix stays: writers look at it
    try:
        if guarded:
            temporary.unlink(missing_ok=True)
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_FILE))
        yield temporary
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, *, guarded: bool = False) -> None:
    """Write a text file at one stroke."""
    with replacing(path, guarded=guarded) as temporary:
        temporary.write_text(text, encoding="utf-8")


def refuse_existing(folder: Path) -> None:
    """Refuse a folder that is there already: what is in it may be the only trace of what was released."""
    if folder.exists():
        raise ParameterError(f"{folder} is already there; choose another folder.")


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Hand out a place where nothing is yet; what is made there becomes ``folder`` if the block ends well.

    It is for models, which hold what was learned from people: only the owner can open anything in it.
    """
    refuse_existing(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent, prefix=".") as beside:
        place = Path(beside, folder.name)
        yield place
        _guard(place)
        place.rename(folder)


def _guard(folder: Path) -> None:
    """Take from others what they may do with a folder and all that is in it."""
    for place, _, names in os.walk(folder):
        Path(place).chmod(OWNER_FOLDER)
        for name in names:
            file = Path(place, name)
            if not file.is_symlink():  # what stands elsewhere is not ours
                file.chmod(OWNER_FILE)
