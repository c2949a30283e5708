"""A generator in any language: a command that reads a table and writes another.

It is started without a shell, in a folder of its own that is removed again, with limits on its time and on
what it writes. What it prints is not shown, for it may be somebody's record.
"""

import hashlib
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from numpy.random import Generator

from tabveil.core import check
from tabveil.core.table import Table
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.black_box.games import other_kind
from tabveil.tables import reading as frame
from tabveil.tables.reading import Layout
from tabveil.tables.reading.files import ending_of_parts
from tabveil.workflows.black_box.releases import RealSources, ReleaseBesideReal

TRAIN, OUT, ROWS, SEED = "{train}", "{out}", "{rows}", "{seed}"
TIME_LIMIT = 600.0
SIZE_LIMIT = 1000.0
"""Seconds that a fit may take, and megabytes that it may write."""

_MEGABYTE = 1_000_000
_LOOKED_AT = 0.02  # seconds between two looks
_LONGEST_COMPLAINT = 20_000  # bytes that are kept of what a command says when it fails
_ENDING_OF_FRAMES = ".csv"


class CommandFailed(ParameterError):  # noqa: N818 - what happened
    """A command that made no release; ``said`` is what it wrote to standard error, which may be anything."""

    def __init__(self, *said: object, hint: str = "", complaint: bytes = b"") -> None:
        super().__init__(*said, hint=hint)
        self.complaint = complaint


@dataclass(frozen=True, kw_only=True, eq=False)
class CommandReleases:
    """A command of the user's own, such as ``python make.py {train} {out}``."""

    words: tuple[str, ...]
    sources: RealSources
    layout: Layout
    ending: str  # of the files it reads and writes
    time_limit: float
    size_limit: float

    @classmethod
    def of(
        cls, command: str, sources: RealSources, layout: Layout, *, time_limit: float, size_limit: float
    ) -> Self:
        """Read a command, and refuse one that cannot be started, or is not told where its files are."""
        for name, limit in (("time_limit", time_limit), ("size_limit", size_limit)):
            if not limit > 0:
                raise ParameterError("attack", f"{name} must be above 0, got {limit:g}.")
        return cls(
            words=_words(command),
            sources=sources,
            layout=layout,
            ending=(
                ending_of_parts(Path(sources.data))
                if isinstance(sources.data, (str, Path))
                else _ENDING_OF_FRAMES
            ),
            time_limit=time_limit,
            size_limit=size_limit,
        )

    @property
    def name(self) -> str:
        """What it is called in a result."""
        return "command"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The command as it is run; files by their names alone."""
        return {"command": shlex.join(Path(word).name if os.sep in word else word for word in self.words)}

    @property
    def identity(self) -> Mapping[str, Any]:
        """The command, and what is in the files that it names: another script is another generator."""
        digests = {word: _digest(Path(word)) for word in self.words if Path(word).is_file()}
        return {"command": list(self.words), "files": digests, "ending": self.ending}

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> ReleaseBesideReal:
        """Write train, run the command, and read what it wrote."""
        with tempfile.TemporaryDirectory(prefix="tabveil-", ignore_cleanup_errors=True) as place:
            folder = Path(place)
            given, out = folder / f"train{self.ending}", folder / f"out{self.ending}"
            frame.write(train, self.layout, given)
            values = {TRAIN: str(given), OUT: str(out), ROWS: str(n_drawn), SEED: str(rng.integers(2**31))}
            self._run([_filled(word, values) for word in self.words], folder)
            return self._read(out, real)

    def _run(self, words: list[str], folder: Path) -> None:
        """Run the command to its end, or end it where it takes too long or writes too much."""
        complaints = folder / ".complaints"
        with complaints.open("wb") as errors:
            try:
                process = subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
                    words,
                    cwd=folder,
                    env={**os.environ, "TMPDIR": str(folder)},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                    start_new_session=True,
                )
            except OSError as error:
                raise CommandFailed("command", f"cannot be started: {error.strerror}.") from None
        try:
            why = self._watched(process, folder)
        finally:
            _end_all(process)
        if why is None and process.returncode != 0:
            code = process.returncode
            why = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
        if why is not None:
            raise CommandFailed("command", f"{why}.", complaint=_last(complaints))

    def _watched(self, process: subprocess.Popen[bytes], folder: Path) -> str | None:
        """Wait for the end; return why it must not be waited for any longer, if so."""
        start = time.monotonic()
        while True:
            try:
                process.wait(_LOOKED_AT)
                ended = True
            except subprocess.TimeoutExpired:
                ended = False
            if _size(folder) > self.size_limit * _MEGABYTE:
                return f"wrote more than {self.size_limit:,g} MB, the limit (--size-limit)"
            if ended:
                return None
            if time.monotonic() - start > self.time_limit:
                return f"took longer than {self.time_limit:,g} s, the limit (--time-limit)"

    def _read(self, out: Path, real: Table) -> ReleaseBesideReal:
        if out.is_symlink() or not out.is_file():
            raise CommandFailed("command", f"wrote no file {OUT}.")
        try:
            people, rows = self.sources.beside(out)
        except TabveilError as error:
            raise CommandFailed("command", "what it wrote cannot be used", error) from None
        if (other := other_kind(real.schema, people.schema)) is not None:
            raise CommandFailed(
                "command",
                f"what it wrote cannot be used: column {other!r} must hold values of the same kind "
                "as in the data.",
            )
        return ReleaseBesideReal(real=people, rows=rows)


def _words(command: str) -> tuple[str, ...]:
    """Split a command as a shell would, and let files that it names be found from another folder."""
    try:
        words = shlex.split(command)
    except ValueError:
        raise ParameterError(
            "attack", "command has a quotation mark or a backslash without its end."
        ) from None
    if not words:
        raise ParameterError("attack", "command is empty.")
    for place in (TRAIN, OUT):
        if not any(place in word for word in words):
            raise ParameterError(
                "attack", f"command must say where {place} belongs, such as 'python make.py {TRAIN} {OUT}'."
            )
    if shutil.which(words[0]) is None:
        raise ParameterError("attack", f"command: there is no program {words[0]!r}.")
    return tuple(str(Path(word).absolute()) if Path(word).is_file() else word for word in words)


def _filled(word: str, values: Mapping[str, str]) -> str:
    for place, value in values.items():
        word = word.replace(place, value)
    return word


def _size(folder: Path) -> int:
    """Add up what is in a folder; what goes away meanwhile counts nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - fifty times a second
            except OSError:
                continue
    return total


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End the command and all that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.wait()


def _last(file: Path) -> bytes:
    try:
        said = file.read_bytes() if file.stat().st_size <= _MEGABYTE else b""
    except OSError:
        return b""
    return said[-_LONGEST_COMPLAINT:]


def _digest(path: Path) -> str | None:
    check.ordinary_file("attack", path)
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None
