"""How benchmarks measure: CPU seconds of all threads, warm, the best of several runs."""

import os
import platform
import resource
import sys
from dataclasses import dataclass
from pathlib import Path

from tabveil.core.storage.files import write_text

DOCS = Path(__file__).resolve().parents[1] / "docs"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def cpu_seconds():
    """Return the user and system time of this process, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def peak_mebibytes():
    """Return the largest resident set so far (``ru_maxrss`` would include what the parent had)."""
    status = Path("/proc/self/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024


def warm(function, repeats=3):
    """Run once to compile and fill caches, then return the least CPU seconds of the repeats."""
    function()
    return min(once(function) for _ in range(repeats))


def once(function):
    """Return the CPU seconds of one run."""
    start = cpu_seconds()
    function()
    return cpu_seconds() - start


def machine():
    """Describe where the numbers come from."""
    model = next(
        (
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ),
        platform.processor(),
    )
    return f"{model}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of a table: what, its seconds, what was asked of it, and whom it is compared with."""

    what: str
    seconds: float
    limit: float | None = None
    peer: str = ""
    peer_seconds: float | None = None
    least_ratio: float | None = None

    def cells(self):
        ratio = None if self.peer_seconds is None else self.peer_seconds / self.seconds
        held = (self.limit is None or self.seconds <= self.limit) and (
            self.least_ratio is None or (ratio is not None and ratio >= self.least_ratio)
        )
        return [
            self.what,
            f"{self.seconds:.3f}",
            "" if self.limit is None else f"≤ {self.limit:g}",
            self.peer and f"{self.peer} {self.peer_seconds:.2f}",
            "" if ratio is None else f"{ratio:.1f} ×",
            "" if self.least_ratio is None else f"≥ {self.least_ratio:g} ×",
            "yes" if held else "**no**",
        ]


HEADER = ["what", "CPU s", "limit", "peer, CPU s", "ratio", "asked", "held"]


def markdown(header, rows):
    """Return a Markdown table."""
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def write(text, path):
    """Write a page whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, text)
    print(f"written: {path.name}", file=sys.stderr)
