"""The process that runs one job: it starts the commands, waits, and writes down how they ended.

It is no part of the server and outlives it. Whoever holds the lock of a job's folder is its runner, or a
command that it started: as long as one of them lives the job does, and when none is left the lock is free.
Ctrl-C and SIGTERM are for the command, which puts away what it began; the runner stays to tell how it ended.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

JOB, STARTED, ENDED, LOCK, PROGRESS = "job.json", "started.json", "ended.json", "lock", "progress.json"
STOPPED = "stopped.json"
INTERRUPTED = 130
OUT, ERRORS = "stdout.txt", "stderr.txt"


def main(folder: Path, lock: int) -> int:
    """Run the commands of a job, one after the other, until one ends otherwise than it may."""
    heard: list[int] = []
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # A handler is not inherited by commands, as it would be if the signal were ignored.
        signal.signal(signum, lambda number, _: heard.append(number))
    job = json.loads((folder / JOB).read_text(encoding="utf-8"))
    write(folder / STARTED, {"pid": os.getpid(), "began": began(os.getpid())})
    code = 0
    with (folder / OUT).open("ab") as out, (folder / ERRORS).open("ab") as errors:
        for words in job["commands"]:
            # Whoever stops a job says so first and then looks for whom to tell: one of both is seen here.
            if heard or (folder / STOPPED).exists():
                code = INTERRUPTED
                break
            command = subprocess.Popen(  # noqa: S603 - the words are ours, and no shell reads them
                [sys.executable, "-P", "-m", "tabveil", *words],
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                pass_fds=(lock,),
                env={**os.environ, "TABVEIL_PROGRESS": str(folder / PROGRESS), "COLUMNS": "100"},
            )
            if heard:  # while it began
                command.send_signal(signal.SIGINT)
            code = command.wait()
            if code not in job["fine"]:
                break
    write(folder / ENDED, {"code": code if code >= 0 else 128 - code})
    return 0


def began(pid: int) -> str:
    """Return when a process began, as the system counts; empty where it does not say."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[19]
    except (OSError, IndexError, UnicodeDecodeError):
        return ""


def write(path: Path, found: dict[str, Any]) -> None:
    """Write a small file at one stroke."""
    half = path.with_name(f".{path.name}.{os.getpid()}")
    half.write_text(json.dumps(found), encoding="utf-8")
    half.replace(path)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
