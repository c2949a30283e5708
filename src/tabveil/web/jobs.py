"""Jobs: commands of tabveil that run as processes of their own, and are found again whoever asks.

A job is a folder: what is to be run, what it wrote, how it ended. Nothing about it is kept in the server. Its
state is read from the folder and from a lock that its processes hold, so that two servers see the same, and
one that was killed finds its jobs again.
"""

import datetime as dt
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal, Self

from tabveil.core.progress_file import Progress
from tabveil.core.storage.files import Unreadable, read_json
from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.errors import ParameterError, TabveilError
from tabveil.web import runner
from tabveil.web.keys import own_key, same, seal
from tabveil.web.places import PROJECT
from tabveil.web.runner import began, write

State = Literal["waiting", "running", "done", "failed", "cancelled", "killed"]
OVER: tuple[State, ...] = ("done", "failed", "cancelled", "killed")
RUNS = "runs"
READ_BY_COMMANDS = ("audit.yaml", "release.yaml")
"""Files in a job's folder that say what a command does."""

MOST_WAITING = 20
MOST_KEPT = 1000
"""Jobs of a project; whoever has so many must delete some."""

_MOST_BYTES = 1 << 20
_LONGEST_ERROR = 4000
_INTERRUPTED = (runner.INTERRUPTED, 143, 128 + signal.SIGINT, 128 + signal.SIGTERM)
_LIGHT_AT_ONCE = 2


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a job is to do: commands, each the words after ``tabveil``, and the exit codes that are no fault.

    ``makes`` are the files without which it was not done, whatever the code says: Python, interrupted while
    it starts, ends with the code of a verdict. ``light`` ones take seconds and do not wait for others.
    ``about`` is what pages want to know of it.
    """

    kind: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    fine: tuple[int, ...] = (0,)
    makes: tuple[str, ...] = ()
    light: bool = False
    at: str = ""
    seal: str = ""  # of whoever asked for it
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Run:
    """One run of a job, in its folder."""

    folder: Path
    asked: Asked

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """Return the job of a folder; None where there is none."""
        try:
            return cls(folder, from_plain(Asked, read_json(folder / runner.JOB, most=_MOST_BYTES)))
        except (OSError, Unreadable, ValueError):
            return None

    @property
    def name(self) -> str:
        """What it is called in its project."""
        return self.folder.name

    @property
    def project(self) -> Path:
        """The project's folder."""
        return self.folder.parent.parent

    @property
    def code(self) -> int | None:
        """The exit code of its last command, once it has ended."""
        found = _read(self.folder / runner.ENDED).get("code")
        return found if isinstance(found, int) else None

    @property
    def state(self) -> State:
        """Where it stands."""
        code = self.code
        if code is None and self.runs:
            return "running"
        code = self.code if code is None else code  # it may have ended between both questions
        if code is None:
            return "killed" if (self.folder / runner.STARTED).exists() else "waiting"
        if code in self.asked.fine and all((self.folder / name).is_file() for name in self.asked.makes):
            return "done"
        return "cancelled" if code in _INTERRUPTED or self.stopped else "failed"

    @property
    def runs(self) -> bool:
        """Whether one of its processes lives."""
        with _locked(self.folder / runner.LOCK, fcntl.LOCK_SH) as free:
            return not free

    @property
    def stopped(self) -> int:
        """How often somebody asked it to end."""
        found = _read(self.folder / runner.STOPPED).get("times")
        return found if isinstance(found, int) else 0

    @property
    def progress(self) -> Progress | None:
        """How far it is, if it says so."""
        return Progress.read(self.folder / runner.PROGRESS)

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        try:
            start = (self.folder / runner.STARTED).stat().st_mtime
            end = (self.folder / runner.ENDED).stat().st_mtime if self.code is not None else None
        except OSError:
            return None
        return max((dt.datetime.now(tz=dt.UTC).timestamp() if end is None else end) - start, 0.0)

    def said(self, name: str = runner.ERRORS) -> str:
        """Return the end of what it printed, without the folders above."""
        try:
            with (self.folder / name).open("rb") as file:
                left_out = os.fstat(file.fileno()).st_size - _LONGEST_ERROR
                file.seek(max(left_out, 0))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return ""
        text = f"…{text[text.find(chr(10)) :]}" if left_out > 0 else text
        return text.replace(f"{self.folder}/", "").replace(f"{self.project.parent}/", "").strip()

    def stop(self, *, at_once: bool = False) -> None:
        """Press Ctrl-C, as on a terminal: every process of the job hears it; or end them ``at_once``."""
        write(self.folder / runner.STOPPED, {"times": self.stopped + 1})
        started = _read(self.folder / runner.STARTED)
        pid = started.get("pid")
        if isinstance(pid, int) and pid > 1 and self.runs and started.get("began") == began(pid):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(pid, signal.SIGKILL if at_once else signal.SIGINT)


class Jobs:
    """All jobs of the projects below a folder: asked for, started when it is their turn, found again."""

    def __init__(self, root: Path, *, at_once: int = 1) -> None:
        self._root, self._at_once = root, at_once
        self._key = own_key()
        self._children: list[subprocess.Popen[bytes]] = []
        self._over: set[Path] = set()
        self._mutex = Lock()

    def ask(self, folder: Path, asked: Asked) -> Run:
        """Put a job into the queue; its folder is there already, with what the commands read."""
        if not asked.light and sum(1 for job in self.open() if job.state == "waiting") >= MOST_WAITING:
            raise ParameterError(f"{MOST_WAITING} jobs wait already; cancel one, or wait, too.")
        now = dt.datetime.now(tz=dt.UTC).isoformat(timespec="seconds")
        asked = replace(asked, at=now, seal="")
        found = Run(folder, replace(asked, seal=self._seal(folder, asked)))
        plain: Any = to_plain(found.asked)
        write(folder / runner.JOB, plain)
        self.go_on()
        return found

    def is_own(self, job: Run) -> bool:
        """Whether this user asked for a job: what somebody else put into the folder is never started."""
        return same(job.asked.seal, self._seal(job.folder, replace(job.asked, seal="")))

    def _seal(self, folder: Path, asked: Asked) -> str:
        files = (folder / name for name in READ_BY_COMMANDS)
        read = (path.read_bytes() if path.is_file() else b"" for path in files)
        said = json.dumps(to_plain(asked), sort_keys=True).encode()
        return seal(self._key, (folder.name.encode(), said, *read))

    def of(self, project: Path, *, most: int = MOST_KEPT) -> list[Run]:
        """Return the jobs of a project, the latest first."""
        try:
            names = sorted((item.name for item in (project / RUNS).iterdir()), reverse=True)
        except OSError:
            return []
        folders = (project / RUNS / name for name in names[:most])
        found = (Run.read(folder) for folder in folders if not folder.is_symlink())
        return [job for job in found if job is not None]

    def open(self) -> list[Run]:
        """Return all jobs that are not over, in the order in which they were asked for; own ones alone."""
        found = []
        for path in sorted(self._root.glob(f"*/{RUNS}/*/{runner.JOB}"), key=lambda path: path.parent.name):
            folder = path.parent
            if folder in self._over or not (folder.parent.parent / PROJECT).is_file():
                continue
            job = Run.read(folder)
            if job is None:
                continue
            if job.state in OVER or not self.is_own(job):
                self._over.add(folder)
            else:
                found.append(job)
        return found

    def go_on(self) -> None:
        """Start what waits, as far as there is room; two servers on one folder take turns."""
        with self._mutex, _locked(self._root / ".tabveil-lock", fcntl.LOCK_EX) as free:
            self._children = [child for child in self._children if child.poll() is None]
            if not free:
                return  # another server is at it
            jobs = [(job, job.state) for job in self.open()]
            for light, most in ((False, self._at_once), (True, _LIGHT_AT_ONCE)):
                lane = [(job, state) for job, state in jobs if job.asked.light is light]
                room = most - sum(1 for _, state in lane if state == "running")
                for job in [job for job, state in lane if state == "waiting"][: max(room, 0)]:
                    self._start(job)

    def cancel(self, job: Run, *, at_once: bool = False) -> None:
        """End a job: one that waits never begins, one that runs hears Ctrl-C."""
        with self._mutex:
            if job.state == "waiting":
                with _locked(job.folder / runner.LOCK, fcntl.LOCK_EX) as free:
                    if free and not (job.folder / runner.STARTED).exists():
                        write(job.folder / runner.ENDED, {"code": _INTERRUPTED[0]})
                        return
        job.stop(at_once=at_once)

    def _start(self, job: Run) -> None:
        with _locked(job.folder / runner.LOCK, fcntl.LOCK_EX) as free, suppress(OSError):
            if not free or job.code is not None:
                return
            handle = free.fileno()
            write(job.folder / runner.STARTED, {})  # if the runner cannot begin, it is not tried again
            self._children.append(
                subprocess.Popen(  # noqa: S603 - the words are ours, and no shell reads them
                    [sys.executable, "-P", "-m", runner.__name__, str(job.folder), str(handle)],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    pass_fds=(handle,),
                    start_new_session=True,
                )
            )


def new_folder(project: Path) -> Path:
    """Make the folder of a job, called by the time and something that nobody guesses."""
    now = dt.datetime.now(tz=dt.UTC)
    (project / RUNS).mkdir(exist_ok=True)
    if sum(1 for _ in (project / RUNS).iterdir()) >= MOST_KEPT:
        raise ParameterError(f"the project has {MOST_KEPT} runs already; begin another.")
    folder = project / RUNS / f"{now:%Y%m%d-%H%M%S}-{now.microsecond:06d}-{secrets.token_hex(3)}"
    folder.mkdir(mode=0o700)
    return folder


@contextmanager
def _locked(path: Path, how: int) -> Iterator[Any]:
    """Hand out the open file of a lock, or None where somebody else holds it."""
    try:
        file = path.open("ab")
    except OSError:
        raise TabveilError("the folder cannot be written into.") from None
    with file:
        try:
            fcntl.flock(file, how | fcntl.LOCK_NB)
        except BlockingIOError:
            yield None
            return
        yield file


def _read(path: Path) -> dict[str, Any]:
    try:
        found = read_json(path, most=_MOST_BYTES)
    except (OSError, Unreadable):
        return {}
    return found if isinstance(found, dict) else {}
