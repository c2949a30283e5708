"""Databases of linked tables on the command line: what says how they hang together, and folders of tables."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tabveil.cli import files
from tabveil.errors import ParameterError

if TYPE_CHECKING:
    from tabveil.tables.linked import Database

FILE = "db.yaml"
"""How a database file is called that is written beside the tables it speaks of."""


def asked_database(
    tables: Path | None, metadata: Path | None, person_table: str | None, data: Path | None
) -> "Database | None":
    """Read the database that is asked for; None where one table is."""
    if tables is None and metadata is None:
        if person_table is not None:
            raise ParameterError("--person-table", "goes with --metadata: it names the person's table.")
        if data is None:
            raise ParameterError("--data", "is missing: name a table; linked tables by --tables.")
        return None
    if tables is not None and metadata is not None:
        raise ParameterError("--metadata", "--tables says already how the tables hang together.")
    if tables is not None and data is not None:
        raise ParameterError(
            "--data", f"names one table; where linked tables are says {tables.name} (data: FOLDER)."
        )
    if tables is not None and person_table is not None:
        raise ParameterError("--person-table", f"goes with --metadata; {tables.name} says who the person is.")
    if metadata is not None and data is None:
        raise ParameterError("--data", "is missing: name the folder with the tables of the metadata.")
    from tabveil.tables.linked import read_database

    return read_database(tables, metadata=metadata, person=person_table, data=data)


def audit_command(
    tables: Path | None, metadata: Path | None, person_table: str | None, data: Path | None
) -> str:
    """Return the audit of what is asked for, ready to be typed, but for where the release is."""
    words = ["tabveil", "audit"]
    if tables is not None:
        words += ["--tables", str(tables)]
    if metadata is not None:
        words += ["--metadata", str(metadata), "--train", str(data)]
        words += [] if person_table is None else ["--person-table", person_table]
    return shlex.join(words)


NOT_DROPPED = "their file says which columns to leave out (schemas: {orders: {drop: [note]}})."


def refuse(why: str, **given: object) -> None:
    """Refuse options that mean nothing for linked tables; those that were not given are None or False."""
    for name, value in given.items():
        if value not in (None, False):
            raise ParameterError(f"--{name.replace('_', '-')}", f"does not go with linked tables: {why}")


def places(
    option: str,
    folder: Path,
    tables: Mapping[str, Path],
    *,
    force: bool,
    not_over: Iterable[Path | None],
) -> dict[str, Path]:
    """Return where to write each table, in a folder that is made if need be; no input is written over.

    A table is written as a file of the kind that it came from.
    """
    from tabveil.tables.reading.files import ending_of_parts

    place = files.folder(option, folder)
    taken = [*not_over, *tables.values()]
    found: dict[str, Path] = {}
    for table, path in tables.items():
        if Path(table).name != table:
            raise ParameterError(option, f"a table called {table!r} cannot be the name of a file; rename it.")
        target = place / f"{table}{ending_of_parts(path)}"
        found[table] = files.writable(option, target, force=force, not_over=[*taken, *found.values()])
    return found
