"""The key of pseudonyms: a secret in a file of its own, which only its owner can read. It is never shown."""

import os
import secrets
from pathlib import Path

from tabveil.core import check
from tabveil.core.storage.writing import OWNER_FILE
from tabveil.errors import ParameterError

N_BYTES = 32
"""As many as SHA-256 makes: no more would help."""

_OTHERS = 0o077  # what a file's mode says about anybody but its owner


def read_key(path: str | Path) -> bytes:
    """Read a key: one line of 64 hexadecimal digits, readable by its owner alone."""
    path = Path(path)
    check.ordinary_file("key", path)
    try:
        if os.name == "posix" and path.stat().st_mode & _OTHERS:
            raise ParameterError(f"key: others can open {path}; take that from them first (chmod 600).")
        text = path.read_bytes().strip()
    except OSError as error:
        raise ParameterError(f"key: cannot read {path}: {error.strerror}.") from None
    try:
        key = bytes.fromhex(text.decode("ascii"))
    except ValueError:  # what it says instead may be a secret of another kind
        key = b""
    if len(key) != N_BYTES:
        raise ParameterError(f"key: {path} holds no key, which is {2 * N_BYTES} hexadecimal digits.")
    return key


def make_key(path: str | Path) -> bytes:
    """Draw a key and write it into a new file; one that is there is never written over."""
    path = Path(path)
    key = secrets.token_bytes(N_BYTES)
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_FILE)
    except OSError as error:
        raise ParameterError(f"key: cannot make {path}: {error.strerror}.") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{key.hex()}\n")
    return key
