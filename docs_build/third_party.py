"""Whose work tabveil builds on, and under which licences: made from the metadata of what is installed.

``python docs_build/third_party.py`` writes THIRD_PARTY.md anew, in the environment of ``make test``.
"""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "THIRD_PARTY.md"
EXTRAS = ("deep", "web", "xlsx", "pii", "cluster", "tune")
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")
_OTHER_SYSTEMS = re.compile(r"win32|Windows|Darwin|darwin|emscripten|PyPy|cuda|nvidia|triton")
_HEAD = (
    "# Third-party licenses\n\n"
    "tabveil is under the Apache License 2.0. It contains no code of others; these packages are installed "
    "beside it, each under its own license. The list is made from their metadata by "
    "`docs_build/third_party.py`: names as each package writes them, for the versions in "
    "`constraints.txt` on Linux.\n\n| package | license | needed by |\n| --- | --- | --- |\n"
)


def normal(name: str) -> str:
    """Write a package's name as indexes do."""
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(name: str, extra: str | None = None) -> set[str]:
    """Return what a package asks for, by itself or for one of its extras, and all that asks for in turn."""
    found, left = set[str](), _asked(distribution(name), extra)
    while left:
        package = left.pop()
        if package in found:
            continue
        try:
            left |= _asked(distribution(package), None)
        except PackageNotFoundError:  # of another system
            continue
        found.add(package)
    return found


def _asked(of: Distribution, extra: str | None) -> set[str]:
    found = set()
    for line in of.requires or []:
        named, marker = _NAME.match(line), line.partition(";")[2]
        wanted = _EXTRA.search(marker)
        if named is None or (wanted and wanted[1]) != extra or _OTHER_SYSTEMS.search(line):
            continue
        found.add(normal(named[0]))
    return found - {"tabveil"}


def license_of(name: str) -> str:
    """Return the license that a package's metadata names: its expression, its classifier or its text."""
    about = distribution(name).metadata
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in about.get_all("Classifier") or []
        if line.startswith("License ::")
    ]
    told = about.get("License-Expression") or "; ".join(classifiers) or about.get("License") or "not stated"
    return told.strip().splitlines()[0]


def page() -> str:
    """Return the whole page."""
    core = needed("tabveil")
    users: dict[str, list[str]] = {name: ["core"] for name in core}
    for extra in EXTRAS:
        for name in needed("tabveil", extra) - core:
            users.setdefault(name, []).append(f"`{extra}`")
    rows = [f"| {name} | {license_of(name)} | {', '.join(users[name])} |" for name in sorted(users)]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
