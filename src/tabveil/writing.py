"""Files that are either written completely or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
