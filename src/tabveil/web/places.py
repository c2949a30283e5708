"""Files below one folder, and no others: what pages list, and what a form may name."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from tabveil.core.settings.yaml_files import SUFFIXES
from tabveil.errors import ParameterError
from tabveil.tables.reading.files import ARROW, SHEETS, TEXT
from tabveil.tables.reading.folder import PARQUET

TABLES = (*TEXT, *(f"{ending}.gz" for ending in TEXT), *PARQUET, *ARROW, *SHEETS)
"""How names of tables end."""

MOST_LISTED = 500
_MOST_SEEN = 20_000
_DEEPEST = 8
_LONGEST = 1000


@dataclass(frozen=True)
class Below:
    """All that lies below a folder, wherever links lead: what they lead to elsewhere does not."""

    root: Path

    def find(self, name: str) -> Path:
        """Return where a name leads that somebody gave, a file's or a folder's that is there.

        The name is as :meth:`name` writes it. What is hidden is refused, and what leaves the folder, by
        whatever way; in the same words as what is not there.
        """
        parts = PurePosixPath(name).parts
        plain = 0 < len(name) <= _LONGEST and "\0" not in name and not name.startswith("/")
        if not plain or not parts or any(part.startswith(".") for part in parts):
            raise _absent()
        try:
            found = self.root.joinpath(*parts).resolve(strict=True)
        except (OSError, RuntimeError, ValueError):
            raise _absent() from None
        if not found.is_relative_to(self.root):
            raise _absent()
        return found

    def file(self, name: str) -> Path:
        """Return the ordinary file that a name leads to."""
        found = self.find(name)
        if not found.is_file():
            raise _absent()
        return found

    def name(self, path: Path) -> str:
        """Return the name of a place: its way from the folder, with slashes."""
        return path.relative_to(self.root).as_posix()

    def listed(self, endings: tuple[str, ...]) -> list[str]:
        """Return the names of files that end so, in their order: as many as a page can hold."""
        found = sorted(name for name in self._names() if name.lower().endswith(endings))
        return found[:MOST_LISTED]

    def tables(self) -> list[str]:
        """Return the names of tables."""
        return self.listed(TABLES)

    def settings(self) -> list[str]:
        """Return the names of files of settings."""
        return self.listed(SUFFIXES)

    def _names(self) -> Iterator[str]:
        """Name every file that may be chosen; what jobs made is found on its project's page."""
        seen = 0
        for folder, folders, files in os.walk(self.root):
            here = Path(folder)
            depth = len(here.relative_to(self.root).parts)
            made = (here / PROJECT).is_file()
            folders[:] = sorted(
                name
                for name in folders
                if not name.startswith(".") and depth < _DEEPEST and not (made and name in OURS)
            )
            for file in files:
                seen += 1
                if seen > _MOST_SEEN:
                    return
                if file.startswith(".") or (made and file == PROJECT) or not _is_text(file):
                    continue
                name = self.name(here / file)
                try:
                    self.file(name)
                except ParameterError:
                    continue
                yield name


PROJECT = "project.json"
"""The file that makes a folder a project."""

OURS = ("runs", "signed")
"""Folders of a project that jobs and signatures are kept in."""


def _absent() -> ParameterError:
    return ParameterError("there is no such file below this folder.")


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
