"""What is attacked: something that makes releases, again and again, and the real rows it learns from.

A registered generator is run as ``tabveil synthesize`` runs it. Anything else is a command of the user's own,
in any language, that reads a table and writes another. It is started without a shell, in a folder of its own
that is removed again, with limits on its time and on what it writes. A guard ends all that it started, also
where this process is killed. What it prints is not shown, for it may be somebody's record.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import check
from tabveil.core.check import listed, quoted
from tabveil.core.result import Input
from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import to_plain
from tabveil.core.table import Table
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.black_box.games import other_kind
from tabveil.protocols import Model, Synthesizer
from tabveil.synthesis.generators.dependencies import dependencies_of
from tabveil.synthesis.generators.rare_values import pool_rare_labels
from tabveil.synthesis.risks.generated import fit_and_draw
from tabveil.tables import reading as frame
from tabveil.tables.reading import Layout, load_split, load_table
from tabveil.tables.reading.files import ending_of_parts
from tabveil.tables.reading.raw_column import Kind
from tabveil.workflows.black_box import guard as guarding
from tabveil.workflows.cells.store import identified
from tabveil.workflows.synthesizing.learning import RareLabels, needing_extra, pools_labels


@dataclass(frozen=True, kw_only=True, eq=False)
class RealSources:
    """Where the real rows come from, and how they are to be read."""

    data: Any  # a path or a table of any dataframe library
    control: Any = None
    schema: Any = None
    missing: tuple[str, ...] = ()

    def beside(self, release: Any) -> tuple[Table, Table]:  # noqa: ANN401 - a path or a table
        """Read a release and all real rows under one schema: the real rows first."""
        loaded = load_split(self.data, release, self.control, schema=self.schema, missing=self.missing)
        return loaded.split.train.joined(loaded.split.control), loaded.split.synthetic


@dataclass(frozen=True, kw_only=True, eq=False)
class RealPeople:
    """All real rows under one schema; the first ``n_data`` are those of the release."""

    real: Table
    n_data: int
    layout: Layout
    declared: frozenset[str]  # columns whose labels a schema lists
    identifiers: tuple[str, ...]  # columns that name people
    declared_identifiers: tuple[str, ...]
    input: Input
    notes: tuple[str, ...]

    @classmethod
    def read(cls, sources: RealSources) -> Self:
        """Read them."""
        alone = load_table(sources.data, schema=sources.schema, missing=sources.missing)
        if not len(alone.table):
            raise ParameterError("attack", "the data have no rows.")
        real = alone.table if sources.control is None else sources.beside(sources.data)[0]
        if (other := other_kind(alone.table.schema, real.schema)) is not None:
            raise ParameterError("attack", f"column {other!r} is of another kind in control than in data.")
        return cls(
            real=real,
            n_data=len(alone.table),
            layout=alone.layout,
            declared=alone.declared,
            identifiers=alone.identifiers,
            declared_identifiers=tuple(alone.declared_identifiers),
            input=alone.input,
            notes=alone.notes,
        )

    @property
    def kept_labels(self) -> frozenset[str]:
        """Columns whose labels are no secret however rare: those that are listed, and truths."""
        truths = {name for name, place in self.layout.columns.items() if place.kind is Kind.BOOLEAN}
        return self.declared | truths

    def without(self, names: Iterable[str]) -> Self:
        """Leave out columns that name people: a generator is not shown them."""
        gone = set(names)
        if not gone:
            return self
        kept = [name for name in self.real.schema.names if name not in gone]
        if not kept:
            left = f"no columns are left without identifiers ({listed(sorted(gone))})."
            raise ParameterError("attack", left)
        note = f"Left out as identifiers, which no generator is shown: {listed(sorted(gone))}."
        places = {name: place for name, place in self.layout.columns.items() if name not in gone}
        return replace(
            self,
            real=self.real.select(kept),
            layout=replace(self.layout, columns=places),
            notes=(*self.notes, note),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneratorReleases:
    """A registered generator, with what is done before it learns: labels that few rows share are pooled.

    Types, labels and ranges are those of all real rows, whoever is in.
    """

    synthesizer: Synthesizer
    rare_labels: RareLabels
    people: RealPeople

    @property
    def name(self) -> str:
        """The generator's name."""
        return str(self.synthesizer.name)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its settings, and what becomes of rare labels."""
        own: dict[str, Any] = to_plain(describe(self.synthesizer)["settings"])
        return {**own, "rare_labels": self.rare_labels} if pools_labels(self.synthesizer) else own

    @property
    def identity(self) -> Mapping[str, Any]:
        """Name, settings, and the code of one that is the user's own."""
        return {
            **identified(self.synthesizer),
            "rare_labels": self.rare_labels,
            "kept": sorted(self.people.kept_labels),
            "declared": sorted(self.people.declared),
        }

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> tuple[Table, Table]:
        """Fit and draw."""
        if self.rare_labels == "pool" and pools_labels(self.synthesizer):
            followed = dependencies_of(train) if self.synthesizer.keeps_dependencies else ()
            kept = self.people.kept_labels.union(self.synthesizer.names_labels)
            train = pool_rare_labels(train, keep=kept, dependencies=followed, rng=rng).table
        asked = Table(schema=train.schema, values=np.empty((n_drawn, len(train.schema))))
        with needing_extra(self.name):
            told: Any = self
            made, _ = fit_and_draw("attack", told, train, asked, rng=rng)
        return real, made.rows

    def fit(self, table: Table, *, rng: Generator) -> Model:
        """Learn a table, told how its columns are written."""
        people = self.people
        return self.synthesizer.fit_written(table, people.layout, declared=people.declared, rng=rng)


TRAIN, OUT, ROWS, SEED = "{train}", "{out}", "{rows}", "{seed}"
TIME_LIMIT = 600.0
SIZE_LIMIT = 1000.0
"""Seconds that a fit may take, and megabytes that it may write."""

_MEGABYTE = 1_000_000
_LOOKED_AT = 0.02  # seconds between two looks
_LONGEST_COMPLAINT = 20_000  # bytes that are kept of what a command says when it fails


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
            ending=ending_of_parts(Path(sources.data)) if isinstance(sources.data, (str, Path)) else ".csv",
            time_limit=time_limit,
            size_limit=size_limit,
        )

    name: ClassVar[str] = "command"

    @property
    def settings(self) -> Mapping[str, Any]:
        """The command as it is run; files by their names alone."""
        return {"command": shlex.join(Path(word).name if os.sep in word else word for word in self.words)}

    @property
    def identity(self) -> Mapping[str, Any]:
        """The command, and what is in the files that it names: another script is another generator."""
        digests = {
            word: _digest(Path(word)) for word in self.words if os.sep in word and Path(word).is_file()
        }
        return {"command": list(self.words), "files": digests, "ending": self.ending}

    def __call__(self, train: Table, real: Table, n_drawn: int, *, rng: Generator) -> tuple[Table, Table]:
        """Write train, run the command, and read what it wrote."""
        with tempfile.TemporaryDirectory(prefix="tabveil-", ignore_cleanup_errors=True) as temporary:
            folder = Path(temporary)
            given, out = folder / f"train{self.ending}", folder / f"out{self.ending}"
            frame.write(train, self.layout, given)
            values = {TRAIN: str(given), OUT: str(out), ROWS: str(n_drawn), SEED: str(rng.integers(2**31))}
            words = list(self.words)
            for place, value in values.items():
                words = [word.replace(place, value) for word in words]
            self._run(words, folder)
            return self._read(out, real)

    def _run(self, words: list[str], folder: Path) -> None:
        """Run the command to its end, or end it where it takes too long or writes too much."""
        complaints = folder / ".complaints"
        guard = [sys.executable, "-I", "-S", str(Path(guarding.__file__)), str(folder)]
        with complaints.open("wb") as errors:
            try:
                process = subprocess.Popen(  # noqa: S603 - without a shell
                    [*guard, _program(words[0]), *words[1:]],
                    cwd=folder,
                    env={**os.environ, "TMPDIR": str(folder)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,  # Ctrl-C is for us
                )
            except OSError as error:
                raise CommandFailed("command", f"cannot be started: {error.strerror}.") from None
        with process:  # its end closes standard input, and the guard ends the command and all that it started
            why = self._watched(process, folder)
            said = b"" if why or process.stdout is None else process.stdout.read()
            complaint = _last(complaints)  # before the folder is gone
        if why is None and said != b"0":
            why = _end_of(said.decode())
        if why is not None:
            raise CommandFailed("command", f"{why}.", complaint=complaint)

    def _watched(self, process: subprocess.Popen[bytes], folder: Path) -> str | None:
        """Wait for the end; return why it must not be waited for any longer, if so."""
        start = time.monotonic()
        while True:
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOKED_AT)
            ended = process.returncode is not None
            if _size(folder) > self.size_limit * _MEGABYTE:
                return f"wrote more than {self.size_limit:,g} MB, the limit (--size-limit)"
            if ended:
                return None
            if time.monotonic() - start > self.time_limit:
                return f"took longer than {self.time_limit:,g} s, the limit (--time-limit)"

    def _read(self, out: Path, real: Table) -> tuple[Table, Table]:
        if out.is_symlink() or not out.is_file():
            raise CommandFailed("command", f"wrote no file {OUT}.")
        try:
            people, rows = self.sources.beside(out)
        except TabveilError as error:
            raise CommandFailed("command", "what it wrote cannot be used", error) from None
        if (other := other_kind(real.schema, people.schema)) is not None:
            what = f"column {other!r} must hold values of the same kind as in the data."
            raise CommandFailed("command", f"what it wrote cannot be used: {what}")
        return people, rows


def _end_of(said: str) -> str:
    """Word what a guard says of a command that did not end well."""
    try:
        code = int(said)
    except ValueError:
        return said or "was ended together with who watched over it"
    return f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"


def _words(command: str) -> tuple[str, ...]:
    """Split a command as a shell would, and let files that it names be found from another folder."""
    try:
        words = shlex.split(command)
    except ValueError:
        fault = "command has a quotation mark or a backslash without its end."
        raise ParameterError("attack", fault) from None
    if not words:
        raise ParameterError("attack", "command is empty.")
    for place in (TRAIN, OUT):
        if not any(place in word for word in words):
            raise ParameterError(
                "attack", f"command must say where {place} belongs, such as 'python make.py {TRAIN} {OUT}'."
            )
    if "\0" in command or command != command.encode(errors="ignore").decode():
        raise ParameterError("attack", f"command must be UTF-8 text, got {quoted(command)}.")
    _program(words[0])
    return tuple(
        str(Path(word).absolute()) if Path(word).is_file() and (place or os.sep in word) else word
        for place, word in enumerate(words)
    )


def _program(name: str) -> str:
    """Find the program that a command names: what has no slash on PATH, and never in the current folder."""
    if os.sep in name:
        if shutil.which(name) is None:
            raise ParameterError("attack", f"command: there is no program that can be run at {quoted(name)}.")
        return str(Path(name).absolute())
    places = [
        place for place in os.environ.get("PATH", os.defpath).split(os.pathsep) if Path(place).is_absolute()
    ]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        hint = f"The current folder is not searched; write ./{name} for a program in it."
        raise ParameterError("attack", f"command: there is no program {quoted(name)} on the PATH.", hint=hint)
    return found


def _size(folder: Path) -> int:
    """Add up what is in a folder; what goes away meanwhile counts nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118 - fifty times a second
    return total


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


Releasing = GeneratorReleases | CommandReleases
"""A way to make releases: called with train, which are some of the real rows, it learns, and draws rows.

It returns all real rows in their order, and the release, under the schema that both were read by.
"""
