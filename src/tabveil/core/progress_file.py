"""How far the work is, in a small file that another program may read while it lasts.

The environment variable ``TABVEIL_PROGRESS`` names the file. Every command that says how far it is writes it,
whole or not at all, and no more than twice a second.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any, Self

from tabveil.core.storage.files import Unreadable, read_json, write_text
from tabveil.core.storage.plain import from_plain, to_plain

VARIABLE = "TABVEIL_PROGRESS"
PAUSE = 0.5
"""Seconds between two writings, at least."""

_MOST_BYTES = 1 << 20
_MOST_PARTS = 500
_LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far it is: the share that is done, what is being done, and the share done of each part by name."""

    doing: str = ""
    share: float = 0.0
    left: float | None = None  # seconds; None while nobody can tell
    parts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Self | None:
        """Return what the file says; None where there is none yet, or it says something else."""
        try:
            return from_plain(cls, read_json(path, most=_MOST_BYTES))
        except (OSError, Unreadable, ValueError):
            return None


class ProgressFile:
    """Writes what it hears; a disk that is full must not end the work."""

    def __init__(self, path: Path, left: Callable[[], float | None]) -> None:
        self._path, self._left = path, left
        self._doing, self._share = "", 0.0
        self._parts: dict[str, float] = {}
        self._written = -PAUSE
        self._lock = Lock()

    @classmethod
    def asked_for(cls, left: Callable[[], float | None]) -> Self | None:
        """Return the one that the environment names, if it names one."""
        path = os.environ.get(VARIABLE)
        return cls(Path(path), left) if path else None

    def hear(self, doing: str, share: float) -> None:
        """Take note of what is being done, and of how much of all is."""
        with self._lock:
            self._doing, self._share = doing[:_LONGEST], min(max(share, 0.0), 1.0)
            self._write(last=share >= 1)

    def note(self, part: str, share: float) -> None:
        """Take note of how much of one part is done."""
        with self._lock:
            if part in self._parts or len(self._parts) < _MOST_PARTS:
                self._parts[part] = max(self._parts.get(part, 0.0), min(share, 1.0))
            self._write(last=False)

    def _write(self, *, last: bool) -> None:
        now = time.monotonic()
        if now - self._written < PAUSE and not last:
            return
        self._written = now
        found = Progress(doing=self._doing, share=self._share, left=self._left(), parts=self._parts)
        plain: Any = to_plain(found)
        with suppress(OSError):
            write_text(self._path, json.dumps(plain))
