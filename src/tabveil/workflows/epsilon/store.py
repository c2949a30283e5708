"""Where the fits of an audit are kept, so that whatever ends a run loses nothing that was done.

There is a file for every few of them, at an address made of all that decides what they show.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.storage.writing import write_text
from tabveil.core.table import Indices
from tabveil.errors import ParameterError
from tabveil.version import __version__


@dataclass(frozen=True, kw_only=True)
class FitStore:
    """A folder of what releases showed: counts of invented rows, nobody's data."""

    folder: Path

    @classmethod
    def at(cls, folder: Path, description: Mapping[str, Any]) -> "FitStore":
        """Return the place for fits of this description, by its digest."""
        text = json.dumps({"version": __version__, **description}, sort_keys=True, default=repr)
        place = folder / hashlib.sha256(text.encode()).hexdigest()[:16]
        place.mkdir(parents=True, exist_ok=True)
        return cls(folder=place)

    def read(self, n_chunks: int, shape: tuple[int, int, int]) -> dict[int, Indices]:
        """Return the chunks that are there, of the first so many."""
        found = {}
        for index in range(n_chunks):
            path = self._path(index)
            try:
                observed = np.array(json.loads(path.read_text(encoding="utf-8")), dtype=np.int64)
            except FileNotFoundError:
                continue
            except (OSError, ValueError, TypeError, OverflowError):
                raise _unreadable(path) from None
            if observed.shape != shape:
                raise _unreadable(path)
            found[index] = observed
        return found

    def write(self, index: int, observed: Indices) -> None:
        """Keep a chunk, at one stroke."""
        write_text(self._path(index), json.dumps(observed.tolist()) + "\n")

    def _path(self, index: int) -> Path:
        return self.folder / f"fits-{index:06}.json"


def _unreadable(path: Path) -> ParameterError:
    return ParameterError(f"{path}: is not what an audit of ε wrote; delete it, and run the audit again.")
