"""A project is a folder: what was asked, what was found, who signed. There is nothing else to it.

``project.json`` says which tables it is about; ``schema.yaml`` the types of columns; every job has a folder
in ``runs``, every signature a file in ``signed``.
"""

import datetime as dt
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from tabveil.core.settings import yaml_files
from tabveil.core.storage.files import Unreadable, read_json, write_text
from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.errors import ParameterError, TabveilError
from tabveil.tables.reading import declare
from tabveil.web.jobs import Jobs, Run
from tabveil.web.places import OURS, PROJECT, Below

SCHEMA = "schema.yaml"
MAKING = ("make", "pipeline")
"""Jobs that make a release."""

MOST_PROJECTS = 500
MOST_RELEASES = 100
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9 _-]{0,58}[A-Za-z0-9])?")
_MOST_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class ProjectFile:
    """What a project says of itself; tables by their names below the folder of all projects."""

    made: str = ""
    data: str = ""  # all the real rows, of which a control is held back
    train: str = ""
    control: str = ""
    missing: tuple[str, ...] = ()
    releases: Mapping[str, str] = field(default_factory=dict)  # named files


@dataclass(frozen=True)
class Project:
    """One project."""

    below: Below
    folder: Path

    @classmethod
    def named(cls, below: Below, name: str) -> Self:
        """Return the project of this name."""
        if not _NAME.fullmatch(name):
            raise TabveilError("there is no such project.")
        folder = below.find(name)
        if folder.parent != below.root or not (folder / PROJECT).is_file():
            raise TabveilError("there is no such project.")
        return cls(below, folder)

    @classmethod
    def new(cls, below: Below, name: str) -> Self:
        """Make a project, in a folder that is not there yet."""
        name = name.strip()
        if not _NAME.fullmatch(name):
            raise ParameterError(
                "name",
                "must have 1 to 60 letters from A to Z, digits, spaces, '-' or '_', and begin with one.",
            )
        folder = below.root / name
        try:
            folder.mkdir(mode=0o700)
        except FileExistsError:
            raise ParameterError("name", "there is a folder of this name already.") from None
        found = cls(below, folder)
        found.save(ProjectFile(made=dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds")))
        for kept in OURS:
            (folder / kept).mkdir()
        return found

    @classmethod
    def all(cls, below: Below) -> list[Self]:
        """Return all projects, in the order of their names."""
        names = sorted(path.parent.name for path in below.root.glob(f"*/{PROJECT}"))
        found = []
        for name in names[:MOST_PROJECTS]:
            try:
                found.append(cls.named(below, name))
            except TabveilError:  # a folder that somebody else called so, or a link
                continue
        return found

    @property
    def name(self) -> str:
        """What it is called: its folder."""
        return self.folder.name

    @property
    def file(self) -> ProjectFile:
        """What it says."""
        try:
            return from_plain(ProjectFile, read_json(self.folder / PROJECT, most=_MOST_BYTES))
        except (OSError, Unreadable, ValueError):
            raise TabveilError("the project's file cannot be read; it was changed by hand.") from None

    def save(self, file: ProjectFile) -> None:
        """Write what it says."""
        plain: Any = to_plain(file)
        write_text(self.folder / PROJECT, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")

    def change(self, **said: Any) -> None:  # noqa: ANN401 - fields of the file
        """Change some of what it says."""
        self.save(replace(self.file, **said))

    def job(self, name: str) -> Run:
        """Return a job by its name."""
        found = None
        if re.fullmatch(r"[0-9a-f-]{1,60}", name):
            folder = self.folder / "runs" / name
            found = Run.read(folder) if folder.resolve() == folder else None  # no link
        if found is None:
            raise TabveilError("there is no such run.")
        return found

    @property
    def schema(self) -> Path | None:
        """The file of column types, where somebody corrected them."""
        path = self.folder / SCHEMA
        return path if path.is_file() else None

    @property
    def declared(self) -> declare.SchemaFile:
        """What is said about columns."""
        return declare.read(self.schema)

    def declare(self, said: Mapping[str, Any]) -> None:
        """Write the file of column types, if it says what it may say."""
        declare.read(said)
        text = "# Types of columns, as they were corrected; 'tabveil audit --schema' reads it.\n"
        write_text(self.folder / SCHEMA, text + yaml_files.to_yaml(said))


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The tables that a project works with, as far as they are there.

    A release that was made counts only beside the rows it was learned from: beside others its audit would
    find nothing.
    """

    train: Path | None
    control: Path | None
    releases: Mapping[str, Path]

    @classmethod
    def of(cls, project: Project, jobs: Jobs) -> Self:
        """Find them: what was chosen, what was held back last, what was made."""
        file = project.file
        done = [job for job in jobs.of(project.folder) if job.state == "done"]
        train, control = file.train, file.control
        if file.data:
            parted = next(
                (
                    job
                    for job in done
                    if job.asked.kind == "split" and job.asked.about.get("data") == file.data
                ),
                None,
            )
            train, control = ("", "")
            if parted is not None:
                train, control = (_made(project.below, parted, part) for part in ("train", "control"))
        made = {
            job.asked.about.get("release", job.name): _made(project.below, job, "out")
            for job in reversed(done)
            if job.asked.kind in MAKING and job.asked.about.get("train") == train
        }
        named = {**file.releases, **made}
        found = {name: _there(project.below, place) for name, place in named.items()}
        return cls(
            train=_there(project.below, train),
            control=_there(project.below, control),
            releases={name: path for name, path in found.items() if path is not None},
        )


def _made(below: Below, job: Run, what: str) -> str:
    """Return the name of a file that a job made; nothing where it says none, or one elsewhere."""
    name = job.asked.about.get(what, "")
    return below.name(job.folder / name) if name and Path(name).name == name else ""


def _there(below: Below, name: str) -> Path | None:
    if not name:
        return None
    try:
        return below.file(name)
    except TabveilError:
        return None
