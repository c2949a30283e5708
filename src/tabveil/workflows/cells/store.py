"""Where cells are kept: addresses made of all that decides a cell, and one file at each of them.

A file is written at one stroke the moment its cell is known, so whatever ends a run loses nothing that was
done. Several processes, on several machines, may write into a folder at once. What is read was perhaps
damaged or made by somebody else since: it is compared with what could have been written at its address, and
what cannot be used is named and made again.
"""

import hashlib
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tabveil.core.check import quoted
from tabveil.core.settings.registry import describe
from tabveil.core.storage.arrays import Arrays, Expected, require, require_arrays
from tabveil.core.storage.files import (
    OWNER_FOLDER,
    Unreadable,
    read_arrays,
    read_json,
    replacing,
    write_text,
)
from tabveil.core.storage.plain import to_plain
from tabveil.core.table import Table
from tabveil.core.workers import warn
from tabveil.errors import ParameterError, TabveilError
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
            with Path(name).open("rb") as file:
                yield name, hashlib.file_digest(file, "sha256").hexdigest()
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


class Damaged(TabveilError):  # noqa: N818 - an answer about a file, for whoever needs what it held
    """A file of a store holds something else than was written at its address; the message names it."""

    def __init__(self, path: Path, why: object) -> None:
        place, name = Path(*path.parts[-_PARTS_SHOWN:]), path.name
        super().__init__(f"{place} cannot be read ({str(why).replace(name, 'it')})")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Say which file it is that cannot be read in the block; one that is not there is no fault."""
    try:
        yield
    except (FileNotFoundError, Damaged):
        raise
    except OSError as error:
        raise Damaged(path, error.strerror) from None
    except Unreadable as error:
        raise Damaged(path, error) from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise Damaged(path, "it is not what is written there") from error


Kind = TypeVar("Kind")


@dataclass(frozen=True, kw_only=True)
class Losses:
    """The files of a store that cannot be read, gathered to be told at once."""

    told: list[str] = field(default_factory=list)

    def read(self, reading: Callable[[], Kind | None]) -> Kind | None:
        """Return what is read; None where there is nothing, or nothing that can be used."""
        try:
            return reading()
        except Damaged as damage:
            self.told.append(str(damage))
            return None

    def tell(self, then: str) -> None:
        """Name the first of them, and say what follows, such as "it is made again"."""
        for line in self.told[:_MOST_TOLD]:
            warn(f"{line}: {then}.")
        if len(self.told) > _MOST_TOLD:
            warn(f"{len(self.told) - _MOST_TOLD:,} more files cannot be read: {then}.")


MADE_AGAIN = "it is made again"
_MOST_TOLD = 5
_PARTS_SHOWN = 3  # of a path: the store's own name, the folder in it, the file
_ADDRESS = re.compile(r"[0-9A-Za-z][0-9A-Za-z.-]{0,99}")
_MOST_JSON = 1 << 24  # bytes of a cell; the largest hold the counts of some fits
_KEY, _SEAL = "key", "seal"
"""Beside what is kept in a JSON file stand its address, and a digest of all else."""


def is_address(key: str) -> bool:
    """Whether something can be kept under this name: no other file can be meant by it."""
    return _ADDRESS.fullmatch(key) is not None


@dataclass(frozen=True, kw_only=True)
class JsonFolder:
    """Cells as JSON, each in a file called after its address.

    Each says itself where it belongs and what it held when it was written, so that a file that was moved, and
    every damage to one, is noticed. Files of earlier versions say neither; whoever reads them has to look.
    """

    folder: Path

    def keys(self) -> set[str]:
        """Return all addresses that hold something."""
        return {path.stem for path in self.folder.glob("[!.]*.json") if is_address(path.stem)}

    def read(self, key: str, opened: Callable[[dict[str, Any]], Kind]) -> Kind | None:
        """Return what stands at an address, as it is ``opened``; None if nothing does."""
        path = self.path(key)
        try:
            with naming(path):
                told = read_json(path, most=_MOST_JSON)
                require(isinstance(told, dict), "it holds no names and values")
                if {_KEY, _SEAL} & set(told):
                    require(told.pop(_SEAL, None) == digest(told), "it was changed after it was written")
                    require(told.pop(_KEY) == self._place(key), "it belongs to another address")
                return opened(told)
        except FileNotFoundError:
            return None

    def write(self, key: str, data: Mapping[str, Any]) -> None:
        """Keep something; the same data are the same text."""
        plain = {**to_plain(data), _KEY: self._place(key)}
        sealed = {**plain, _SEAL: digest(plain)}
        text = json.dumps(sealed, sort_keys=True, ensure_ascii=False, allow_nan=False)
        write_text(self.path(key), f"{text}\n")

    def drop(self, key: str) -> None:
        """Keep nothing at this address any more."""
        self.path(key).unlink(missing_ok=True)

    def path(self, key: str) -> Path:
        """Return the file of an address."""
        if not is_address(key):
            raise ParameterError(self.folder, f"{quoted(key)} is no address of a cell.")
        return self.folder / f"{key}.json"

    def _place(self, key: str) -> str:
        return f"{self.folder.name}/{key}"


@dataclass(frozen=True, kw_only=True)
class GuardedFolder:
    """Cells that may tell of single people, as arrays; only their owner can read them.

    Each holds its own address beside its arrays, which are not packed: so no file unpacks to more than it is.
    """

    folder: Path

    def prepare(self) -> None:
        """Make the folder."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(OWNER_FOLDER)

    def read(self, key: str, expected: Mapping[str, Expected]) -> Arrays | None:
        """Return the arrays at an address, which must be as expected; None if there are none."""
        path = self.path(key)
        try:
            with naming(path):
                arrays = read_arrays(path)
                require(_KEY in arrays, "it does not say where it belongs, as earlier versions did not")
                require(arrays.pop(_KEY).tobytes() == key.encode(), "it belongs to another address")
                require_arrays(arrays, expected)
                return arrays
        except FileNotFoundError:
            return None

    def write(self, key: str, **arrays: NDArray[Any]) -> None:
        """Keep arrays of numbers."""
        own = {_KEY: np.frombuffer(key.encode(), dtype=np.uint8)}
        with replacing(self.path(key), guarded=True) as temporary:
            np.savez(temporary, allow_pickle=False, **own, **arrays)

    def path(self, key: str) -> Path:
        """Return the file of an address."""
        return self.folder / f"{key}.npz"
