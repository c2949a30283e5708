"""Files of our own: opened with care, as by somebody else, and written whole or not at all.

A model's folder may be damaged (a full disk, a broken copy) or made to harm. Whatever stands there, opening
it must not hang, fill the memory or run code: only ordinary files are opened, and what an archive claims to
hold is compared with its size before any of it is unpacked. What holds single people's data, or was learned
from them, is written for its owner alone (``guarded``).
"""

import json
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from tabveil.errors import ParameterError, TabveilError

MOST_JSON = 1 << 28
"""Bytes of a JSON file; the largest that we write list the labels of a column, one for each row."""
LONGEST_MESSAGE = 300
_DEEPEST_JSON = 100  # levels of lists and mappings; the deepest of ours has about twenty
_MOST_JSON_DIGITS = 300  # of a whole number, so that all of them are finite

_KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_MAGIC = b"\x93NUMPY\x01\x00"
_HEADER = re.compile(
    rb"\{'descr': '([<>|][biuf]\d)', 'fortran_order': (False|True), 'shape': \(((?:\d+,? ?)*)\), \} *\n"
)
"""What numpy writes before an array of plain numbers: text of one form, so nothing has to be evaluated."""
_CHUNK = 1 << 24
_MOST_DIGITS = 18  # of a length: below 2**63


class Unreadable(ValueError):  # noqa: N818 - an answer about a file, for the opener to word
    """What is stored is not what should stand there; the message says what is wrong, in one line."""

    def __str__(self) -> str:
        text = " ".join(super().__str__().split())
        return text if len(text) <= LONGEST_MESSAGE else f"{text[:LONGEST_MESSAGE]}…"


@contextmanager
def opening(place: Path) -> Iterator[None]:
    """Say in one line, with the folder's name, what is wrong with a model that is opened in the block."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise ParameterError(place, "there is no model in this folder.") from None
    except TabveilError as error:
        raise ParameterError(place, f"{Unreadable(error)}") from error
    except Unreadable as error:
        raise ParameterError(place, f"the model cannot be read: {error}; fit it again.") from error
    except OSError as error:
        raise ParameterError(place, f"the model cannot be read: {error.strerror}.") from error
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ParameterError(place, "the model cannot be read; fit it again.") from error


def require_format(about: Any, key: str, form: int) -> None:  # noqa: ANN401 - whatever stands in a file
    """Refuse a form that another version wrote; it stands under ``key``."""
    match about.get(key) if isinstance(about, dict) else None:
        case int(found) if found == form:
            return
        case None:
            raise Unreadable("it does not say which form it has")
    version = about.get("version")
    if not isinstance(version, str):
        raise Unreadable("it does not say which form it has")
    raise ParameterError(
        f"stored by tabveil {version} in a form this version does not read; fit the model again."
    )


def open_file(path: Path) -> BinaryIO:
    """Open an ordinary file to read; anything else is refused without waiting for it."""
    _require_ordinary(path, path.stat())
    # In between it may have become a pipe, which would wait for somebody to write.
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    file = os.fdopen(handle, "rb")
    try:
        _require_ordinary(path, os.fstat(handle))
    except Unreadable:
        file.close()
        raise
    return file


def _require_ordinary(path: Path, about: os.stat_result) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = _KINDS.get(stat.S_IFMT(about.st_mode), "a folder")
        raise Unreadable(f"{path.name} is {kind}, not a file")


def read_bytes(path: Path, *, most: int) -> bytes:
    """Read an ordinary file of so many bytes at most."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise Unreadable(f"{path.name} has {size:,} bytes; at most {most:,} are read")
        return file.read(size)


def read_json(path: Path, *, most: int | None = None) -> Any:  # noqa: ANN401 - JSON types
    """Read a JSON file of ``most`` so many bytes, as :func:`parse_json` reads it."""
    return parse_json(read_bytes(path, most=MOST_JSON if most is None else most), path.name)


def parse_json(written: bytes, name: str) -> Any:  # noqa: ANN401 - JSON types
    """Return JSON that we may have written: finite numbers, text that can be written again, no key twice."""
    try:
        data = json.loads(
            written.decode("utf-8"),
            parse_float=_finite,
            parse_int=_bounded,
            parse_constant=_refuse_constant,
            object_pairs_hook=_mapping,
        )
        if b"\\u" in written:  # half a character, which only an escape can stand for
            json.dumps(data, ensure_ascii=False).encode("utf-8")
    except Unreadable as error:
        raise Unreadable(f"{name} holds {error}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"{name} is not valid JSON") from error
    if written.count(b"[") + written.count(b"{") > _DEEPEST_JSON and _is_deeper(data, _DEEPEST_JSON):
        raise Unreadable(f"{name} has lists and mappings that lie too deep in each other")
    return data


def _mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unreadable("a key twice")
    return found


def _is_deeper(data: object, depth: int) -> bool:
    """Whether lists and mappings lie deeper in each other than that; whoever reads them calls itself."""
    level: list[Any] = [data]
    for _ in range(depth):
        inside = (item.values() if isinstance(item, dict) else item for item in level)
        level = [part for parts in inside for part in parts if isinstance(part, (dict, list))]
    return bool(level)


def _bounded(text: str) -> int:
    if len(text) > _MOST_JSON_DIGITS:
        raise Unreadable(f"a whole number of more than {_MOST_JSON_DIGITS} digits")
    return int(text)


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse_constant(text)


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"not a number: {text}")


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Read an archive of arrays that ``numpy.savez`` wrote.

    It does not pack, so all arrays together are no larger than the file: an archive that unpacks to more is
    not one of ours.
    """
    with _archive(path, _memory(), "more than this machine's memory", "archive of arrays") as (archive, size):
        members = archive.infolist()
        if sum(item.file_size for item in members) > size or not all(map(_is_plain, members)):
            raise Unreadable(f"{path.name} holds more than its size allows")
        found = {item.filename.removesuffix(".npy"): _read_array(archive, item) for item in members}
    if len(found) < len(members):
        raise Unreadable(f"{path.name} holds an array twice")
    return found


def read_members(path: Path, known: Collection[str], *, most: int) -> dict[str, bytes]:
    """Read an archive of files that are stored as they are, with no other names than ``known`` ones.

    Nothing is unpacked to a disk. Links, folders, names that lead elsewhere, files that unpack to more than
    they are, and archives of more than ``most`` bytes are refused before anything of them is read.
    """
    with _archive(path, most, f"at most {most:,} are read", "archive, or a damaged one") as (archive, size):
        members = archive.infolist()
        if len(members) > len(known) or any(item.filename not in known for item in members):
            raise Unreadable(f"{path.name} holds other files than it may")
        if sum(item.file_size for item in members) > size or not all(map(_is_stored, members)):
            raise Unreadable(f"{path.name} holds more than its size allows, or no plain files")
        found = {item.filename: bytes(_read_member(archive, item)) for item in members}
    if len(found) < len(members):
        raise Unreadable(f"{path.name} holds a file twice")
    return found


@contextmanager
def _archive(path: Path, most: float, limit: str, kind: str) -> Iterator[tuple[zipfile.ZipFile, int]]:
    """Open an archive of so many bytes at most, with its size; what is wrong with it is said in one line."""
    with open_file(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most:
            raise Unreadable(f"{path.name} has {size:,} bytes; {limit}")
        try:
            with zipfile.ZipFile(file) as archive:
                yield archive, size
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise Unreadable(f"{path.name} is no {kind}") from error
        except UnicodeError as error:
            raise Unreadable(f"{path.name} has names that are no text") from error


def _is_stored(item: zipfile.ZipInfo) -> bool:
    """Whether it is a file, neither packed nor encrypted; its mode says whether it is a link."""
    kind = stat.S_IFMT(item.external_attr >> 16)
    plain = item.compress_type == zipfile.ZIP_STORED and item.file_size == item.compress_size
    return plain and kind in {0, stat.S_IFREG} and not item.flag_bits & 1


def _memory() -> float:
    """Return the bytes of memory that this machine has."""
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not every system says
        return math.inf


def _is_plain(item: zipfile.ZipInfo) -> bool:
    return _is_stored(item) and item.filename.endswith(".npy")


def _read_array(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> NDArray[Any]:
    data = _read_member(archive, item)
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(data[len(_MAGIC) : start], "little")
    header = _HEADER.fullmatch(bytes(data[start:end]))
    if not data.startswith(_MAGIC) or header is None:
        raise Unreadable(f"array {_name(item)} is not written as numbers are")
    kind, by_column, lengths = header.groups()
    shape = tuple(map(_length, re.findall(rb"\d+", lengths)))
    try:
        dtype = np.dtype(kind.decode())
    except TypeError as error:
        raise Unreadable(f"array {_name(item)} is of no known type") from error
    if math.prod(shape) * dtype.itemsize != len(data) - end:
        raise Unreadable(f"array {_name(item)} must have {math.prod(shape):,} numbers, got another size")
    try:
        return np.ndarray(shape, dtype, buffer=data, offset=end, order="F" if by_column == b"True" else "C")
    except ValueError as error:  # more dimensions than an array can have
        raise Unreadable(f"array {_name(item)} has no shape of an array") from error


def _read_member(archive: zipfile.ZipFile, item: zipfile.ZipInfo) -> bytearray:
    """Return a member's bytes, held once; at its end the archive compares their checksum."""
    data = bytearray(item.file_size)
    with archive.open(item) as member:
        for start in range(0, len(data), _CHUNK):
            part = member.read(_CHUNK)
            if len(part) != min(_CHUNK, len(data) - start):
                raise EOFError
            data[start : start + len(part)] = part
    return data


def _length(digits: bytes) -> int:
    if len(digits) > _MOST_DIGITS:
        raise Unreadable("an array has no shape of an array")
    return int(digits)


def _name(item: zipfile.ZipInfo) -> str:
    return repr(item.filename.removesuffix(".npy"))


OWNER_FILE, OWNER_FOLDER = 0o600, 0o700
"""What others may do with a file or folder of the owner's: nothing."""
_LONGEST_NAME = 40


@contextmanager
def replacing(path: Path, *, guarded: bool = False) -> Iterator[Path]:
    """Hand out a temporary neighbor of ``path`` that takes its place once the block has ended well.

    It is there from the start, empty, under a name that nobody could guess and where nothing stood: a link
    that somebody laid there would lead what is written elsewhere. A ``guarded`` one only its owner can open.
    What goes wrong, a full disk for one, is said of ``path``.
    """
    name = path.name[-_LONGEST_NAME:]  # its end stays: writers look at the suffix
    temporary = path.with_name(f".{secrets.token_hex(8)}-{name}")
    try:
        with open(temporary, "xb", opener=_for_owner if guarded else None):
            pass
        try:
            yield temporary
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        if error.filename in {None, str(temporary)}:
            error.filename = str(path)
        raise


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, OWNER_FILE)


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

    It is for models, which hold what was learned from people: only the owner can open anything in it. What
    goes wrong, a full disk for one, is said of ``folder``.
    """
    refuse_existing(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent, prefix=".") as beside:
            place = Path(beside, folder.name)
            yield place
            _guard(place)
            place.rename(folder)
    except OSError as error:
        error.filename = str(folder)  # not a name that will be gone
        raise


def _guard(folder: Path) -> None:
    """Take from others what they may do with a folder and all that is in it."""
    for place, _, names in os.walk(folder):
        Path(place).chmod(OWNER_FOLDER)
        for name in names:
            file = Path(place, name)
            if not file.is_symlink():  # what stands elsewhere is not ours
                file.chmod(OWNER_FILE)
