"""Where cells are kept: addresses made of all that decides a cell, and one file at each of them.

A file is written at one stroke the moment its cell is known, so whatever ends a run loses nothing that was
done. Several processes, on several machines, may write into a folder at once.
"""

import hashlib
import inspect
import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tabveil.core.settings.registry import describe
from tabveil.core.storage.files import OWNER_FOLDER, replacing, write_text
from tabveil.core.storage.plain import to_plain
from tabveil.core.table import Table
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS


def digest(data: Any, *, written: Callable[[Any], str] | None = None) -> str:  # noqa: ANN401 - JSON types
    """Return the address of plain data; what is not plain is ``written`` first, or refused.

    >>> digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(data, sort_keys=True, allow_nan=written is not None, default=written)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def content(table: Table) -> str:
    """Digest what decides which people are drawn and what they hold: cells, their order, the columns."""
    text = hashlib.sha256(repr(table.schema).encode())
    text.update(table.row_hash().tobytes())
    return text.hexdigest()


def identified(thing: Any) -> dict[str, Any]:  # noqa: ANN401 - an object of any registered class
    """Describe an object so that another description is another object: name, settings, and foreign code.

    That of a generator which a risk model names counts, too, and what stands in files that settings name.
    """
    found: dict[str, Any] = to_plain(describe(thing))
    kinds: list[Any] = [type(thing), GENERATORS.get(str(getattr(thing, "generator", "")))]
    own = __name__.partition(".")[0]
    code = [_code(kind) for kind in kinds if kind is not None and kind.__module__.partition(".")[0] != own]
    files = dict(_files(found))
    return found | ({"code": code} if code else {}) | ({"files": files} if files else {})


def _files(settings: Any) -> Iterator[tuple[str, str]]:  # noqa: ANN401 - JSON types
    """Digest the files that settings name, so that what a former one led to is not taken for what it says."""
    match settings:
        case {"file": str(name)} if Path(name).is_file():
            yield name, hashlib.sha256(Path(name).read_bytes()).hexdigest()
        case dict():
            for value in settings.values():
                yield from _files(value)
        case list():
            for value in settings:
                yield from _files(value)


@cache
def _code(kind: type) -> str | None:
    """Digest the source of a class of a user's own, so that its old answers are not taken for new ones."""
    try:
        return hashlib.sha256(inspect.getsource(kind).encode()).hexdigest()
    except (OSError, TypeError):  # typed into a console
        return None


@dataclass(frozen=True, kw_only=True)
class JsonFolder:
    """Cells as JSON, each in a file called after its address; of one that cannot be read, a ``complaint``."""

    folder: Path
    complaint: str

    def keys(self) -> set[str]:
        """Return all addresses that hold something."""
        return {path.stem for path in self.folder.glob("[!.]*.json")}

    def read(self, key: str) -> Any:  # noqa: ANN401 - JSON types
        """Return what stands at an address, None if nothing does."""
        try:
            return json.loads(self._path(key).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise self.unreadable(key) from None

    def unreadable(self, key: str) -> ParameterError:
        """Return what to say about a file that is not what was written there."""
        return ParameterError(f"{self._path(key)}: {self.complaint}")

    def write(self, key: str, data: Any) -> None:  # noqa: ANN401 - JSON types
        """Keep something; the same data are the same text."""
        text = json.dumps(to_plain(data), sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_text(self._path(key), f"{text}\n")

    def drop(self, key: str) -> None:
        """Keep nothing at this address any more."""
        self._path(key).unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


@dataclass(frozen=True, kw_only=True)
class GuardedFolder:
    """Cells that may tell of single people, as arrays; only their owner can read them."""

    folder: Path

    def prepare(self) -> None:
        """Make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(OWNER_FOLDER)

    def read(self, key: str) -> Mapping[str, NDArray[Any]] | None:
        """Return the arrays at an address; None if there are none, or none that can be read."""
        try:
            with (self.folder / f"{key}.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            return None

    def write(self, key: str, **arrays: Any) -> None:  # noqa: ANN401 - arrays, or what becomes one
        """Keep arrays."""
        with replacing(self.folder / f"{key}.npz", guarded=True) as temporary:
            np.savez_compressed(temporary, **arrays)
