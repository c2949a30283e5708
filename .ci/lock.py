"""Write requirements.lock: every package of the tests' environment, with the digests of its files.

Reads the reports of ``pip install --dry-run --report`` in a folder, ``core-3.11.json`` and so on: of tabveil
itself, of all with its tests, and of each build of torch that pip finds (``make lock`` runs it all).
``--torch REPORT`` says of one build of torch that pip found, by such a report, that it is in the lock.
"""

import json
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

PYTHONS = ("3.11", "3.12", "3.13")
HEAD = """\
# Every package of the tests' environment: Linux x86_64, Python 3.11 to 3.13, the digests of all its files.
# Made by `make lock` from pyproject.toml and constraints.txt: change those, never this file.
"""
SECTIONS = {
    "core": "what tabveil itself needs, and what builds it",
    "all": "what its extras, its tests and its pages need as well",
    "torch": "builds for the CPU and for GPUs; what the latter need beside, pip brings without digests",
}
FOR_GPUS = ("nvidia-", "cuda-", "triton")
Pins = dict[tuple[str, str], dict[str, set[str]]]
"""Digests by name and version, and by the Python that they are for."""


def pins_of(folder: Path, what: str) -> Pins:
    """Return what the reports of one section found."""
    found: Pins = defaultdict(lambda: defaultdict(set))
    for python in PYTHONS:
        for path in sorted(folder.glob(f"{what}-{python}*.json")):
            for item in json.loads(path.read_text(encoding="utf-8"))["install"]:
                name = item["metadata"]["name"].lower().replace("_", "-")
                if name != "tabveil" and not name.startswith(FOR_GPUS):
                    version = item["metadata"]["version"].partition("+")[0]
                    found[name, version][python].add(digest(item))
    return found


def digest(item: dict[str, Any]) -> str:
    """Return the digest of one file in a report."""
    found: str = item["download_info"]["archive_info"]["hashes"]["sha256"]
    return found


def line(name: str, version: str, files: dict[str, set[str]]) -> str:
    """Return the line of one package; one that only some Pythons need says which."""
    hashes = "".join(f" --hash=sha256:{each}" for each in sorted(set().union(*files.values())))
    pythons = " or ".join(f'python_version == "{python}"' for python in PYTHONS if python in files)
    return f"{name}=={version}{'' if len(files) == len(PYTHONS) else f' ; {pythons}'}{hashes}\n"


def lock(folder: Path) -> str:
    """Return the lines of the lock: its sections, each in the order of the names."""
    text, done = HEAD, set()
    for what, about in SECTIONS.items():
        pins = pins_of(folder, what)
        text += f"# {what}: {about}\n"
        for (name, version), files in sorted(pins.items()):
            if name not in done and (name == "torch") == (what == "torch"):
                text += line(name, version, files)
        done |= {name for name, _ in pins if name != "torch"}
    return text


def line_of_torch(report: Path, locked: str) -> str:
    """Return the line of the build that pip chooses here.

    Given all digests, pip takes the file whose digest its index tells before a build for the CPU that lies on
    this machine: gigabytes for GPUs that are not there.
    """
    (item,) = json.loads(report.read_text(encoding="utf-8"))["install"]
    (known,) = (each for each in locked.splitlines() if each.startswith("torch=="))
    if digest(item) not in known:
        sys.exit(f"requirements.lock: no digest of the torch that pip found ({item['metadata']['version']})")
    return f"{known.split()[0]} --hash=sha256:{digest(item)}\n"


if __name__ == "__main__":
    if sys.argv[1] == "--torch":
        text = Path("requirements.lock").read_text(encoding="utf-8")
        sys.stdout.write(line_of_torch(Path(sys.argv[2]), text))
    else:
        sys.stdout.write(lock(Path(sys.argv[1])))
