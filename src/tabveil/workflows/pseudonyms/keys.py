"""Which pseudonym a value gets: its keyed hash, or an invented one; and the key, in a file of its own."""

import hashlib
import hmac
import os
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from tabveil.core import check
from tabveil.core.storage.files import OWNER_FILE, Unreadable, read_bytes
from tabveil.errors import ParameterError
from tabveil.tables.reading.rewriting import ColumnTexts
from tabveil.workflows.synthesizing.fresh_identifiers import fresh_texts

N_BYTES = 32
"""As many as SHA-256 makes: no more would help."""

_MOST_BYTES = 4096  # of a file: a key, and a line's end or two
_OTHERS = 0o077  # what a file's mode says about anybody but its owner


def read_key(path: str | Path) -> bytes:
    """Read a key: one line of 64 hexadecimal digits, readable by its owner alone.

    One byte over and over, such as zeros, is none: a damaged disk may leave it, and anybody can guess it.
    """
    path = Path(path)
    check.ordinary_file("key", path)
    try:
        if os.name == "posix" and path.stat().st_mode & _OTHERS:
            raise ParameterError("key", f"others can open {path}; take that from them first (chmod 600).")
        text = read_bytes(path, most=_MOST_BYTES).strip()
    except Unreadable:  # too large for a key
        text = b""
    except OSError as error:
        raise ParameterError("key", f"cannot read {path}: {error.strerror}.") from None
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:  # what it says instead may be a secret of another kind
        key = b""
    if len(key) != N_BYTES:
        raise ParameterError("key", f"{path} holds no key, which is {2 * N_BYTES} hexadecimal digits.")
    if len(set(key)) == 1:
        raise ParameterError(
            "key", f"{path} holds no key, but one byte over and over, which anybody can guess."
        )
    return key


def make_key(path: str | Path) -> bytes:
    """Draw a key and write it into a new file; one that is there is never written over."""
    path = Path(path)
    check.ordinary_file("key", path)
    key = secrets.token_bytes(N_BYTES)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_FILE)
    except OSError as error:
        raise ParameterError("key", f"cannot make {path}: {error.strerror}.") from None
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(f"{key.hex()}\n")
            file.flush()
            os.fsync(descriptor)  # what is made with a key that is lost can never be traced
    except BaseException as error:  # half a key would be in the way of the next
        path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise ParameterError("key", f"cannot write {path}: {error.strerror}.") from None
        raise
    return key


Style = Literal["hash", "invented"]

N_DIGITS = 32
"""Hexadecimal digits of a pseudonym, 128 bits: two people never share one."""


@dataclass(frozen=True, kw_only=True, eq=False)
class ColumnPseudonyms:
    """The pseudonyms of all values of a column, whichever tables have it."""

    pseudonyms: Mapping[str, str]
    whole: bool = False  # whether they are whole numbers, as the values are

    def of(self, column: ColumnTexts) -> ColumnTexts:
        """Return a column with pseudonyms."""
        return replace(column, texts=tuple(self.pseudonyms[text] for text in column.texts), whole=self.whole)


def hide(
    name: str, columns: Sequence[ColumnTexts], key: bytes, style: Style, *, neutral: bool = False
) -> ColumnPseudonyms:
    """Give every value of a column a pseudonym; an invented one that is ``neutral`` looks like no value."""
    texts = sorted({text for column in columns for text in column.texts})
    if style == "hash":
        return ColumnPseudonyms(pseudonyms=hashes(texts, key))
    whole = all(column.whole for column in columns)
    pseudonyms = invented(name, texts, key, whole=whole and not neutral, neutral=neutral)
    return ColumnPseudonyms(pseudonyms=pseudonyms, whole=whole and all(map(str.isdigit, pseudonyms.values())))


def hashes(texts: Sequence[str], key: bytes) -> dict[str, str]:
    """Return the keyed hash of each text."""
    return {text: _digest(key, text)[:N_DIGITS] for text in texts}


def invented(
    name: str, texts: Sequence[str], key: bytes, *, whole: bool = False, neutral: bool = False
) -> dict[str, str]:
    """Deal out identifiers of the same form, or neutral ones, in an order that only the key tells."""
    rng = np.random.default_rng(int(_digest(key, name), 16))
    drawn = fresh_texts(name, texts, whole=whole, neutral=neutral, rng=rng)
    in_order = sorted(texts, key=lambda text: _digest(key, text))
    return dict(zip(in_order, drawn.tolist(), strict=True))


def _digest(key: bytes, text: str) -> str:
    """Hash a text with a key; letters that look alike are written alike before (NFC)."""
    composed = unicodedata.normalize("NFC", text)
    return hmac.new(key, composed.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()
