"""How much an installation weighs, package by package: run it with the Python of an environment.

``python benchmarks/installed.py`` prints rows for docs/install.md: everything that a package's own list of
files names, and how much of it is bytecode, which pip writes when it installs.
"""

from importlib.metadata import distributions
from pathlib import Path

MEGABYTE = 1e6
LEAST = 2.0
TOOLS = {"pip", "setuptools", "wheel"}
"""What an empty environment has already."""


def weighed(files):
    """Return the bytes of files, and of those that are bytecode."""
    sizes = {path: path.stat().st_size for path in files if path.is_file()}
    return sum(sizes.values()), sum(size for path, size in sizes.items() if path.suffix == ".pyc")


def main():
    rows = []
    for item in distributions():
        name = item.metadata["Name"]
        if name.lower() not in TOOLS:
            places = [Path(str(item.locate_file(file))) for file in item.files or []]
            rows.append((*weighed(places), name, item.version))
    rows.sort(reverse=True)
    small = [row for row in rows if row[0] < LEAST * MEGABYTE]
    print("| package | MB | of that bytecode |")
    print("| --- | --- | --- |")
    for size, compiled, name, version in rows:
        if size >= LEAST * MEGABYTE:
            print(f"| {name} {version} | {size / MEGABYTE:.0f} | {compiled / MEGABYTE:.0f} |")
    rest, whole = ([sum(row[k] for row in part) / MEGABYTE for k in (0, 1)] for part in (small, rows))
    print(f"| {len(small)} others | {rest[0]:.0f} | {rest[1]:.0f} |")
    print(f"| **all** | **{whole[0]:.0f}** | {whole[1]:.0f} |")


if __name__ == "__main__":
    main()
