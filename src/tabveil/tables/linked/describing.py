"""The database file with what was found in the tables: how many people and rows, sizes of sets, types.

What stands there is to be edited. No value of a few people does: sizes are means of ten people, and labels
are written only where ten people have each of them.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tabveil.core.check import listed
from tabveil.core.linked import Linkage
from tabveil.core.people import LEAST_SHARED, LEAST_SHARED_IN_WORDS
from tabveil.core.settings.yaml_files import to_yaml
from tabveil.core.table import Indices
from tabveil.core.wording import plural
from tabveil.tables.linked.database_file import ROLES, Database, plain_schema, read_database
from tabveil.tables.linked.one_database import OneDatabase
from tabveil.tables.reading.declare import SchemaFile
from tabveil.tables.reading.describe import Owners, entries
from tabveil.tables.reading.load import LoadedTable

_HEAD = """\
# How these tables hang together, what was found in them, and what tabveil takes each column for.
# Change what is wrong and give the file to the other commands with --tables.
"""
_TYPES = """
# Types are those of 'tabveil schema' for one table. Key columns are not listed: they link tables and are
# never compared. Other columns that name people or rows are better left out: drop: [column].
"""
QUARTERS = (0.25, 0.5, 0.75)


def describe_tables(
    tables: str | Path | Mapping[str, Any] | None = None,
    *,
    data: Any = None,  # noqa: ANN401 - a folder, or tables of any dataframe library by name
    metadata: str | Path | Mapping[str, Any] | None = None,
    person_table: str | None = None,
    missing: Iterable[str] = (),
) -> str:
    r"""Return a database file for linked tables, with comments on what was found, as ``tabveil schema`` does.

    Parameters
    ----------
    tables
        How the tables hang together: a database file (YAML), or a mapping of the same form.
    data
        The tables, if ``tables`` does not say where they are. If it names several databases, the first of
        data, train, control and synthetic is described.
    metadata, person_table
        SDV's metadata instead of ``tables``, and the person's table if these do not tell it.
    missing
        Texts that mean missing, such as "?".

    >>> from tabveil.datasets import clinic
    >>> hangs = {"person": {"table": "patients", "key": "patient"}, "linked": {"visits": {"key": "patient"}}}
    >>> told = describe_tables(hangs, data=clinic(200, seed=1))
    >>> print("\n".join(line for line in told.splitlines() if line.startswith("#   ")))
    #   patients: 200 people, one row each; key: patient.
    #   visits: 739 rows of 180 people, key: patient; rows a person: 2 (quarter), 3 (half), 6 (last quarter).
    """
    words = (missing,) if isinstance(missing, str) else tuple(missing)
    database = read_database(tables, metadata=metadata, person=person_table, data=data)
    return described(database, words, Path())


def described(database: Database, words: tuple[str, ...], folder: Path) -> str:
    """Return the database file to be written into a folder; ``words`` stand for missing values."""
    read = OneDatabase.read(database, *ROLES, missing=words)
    database, linkage = read.database, read.linkage
    who = plural(read.n_people, "person", "people")
    found = [f"{linkage.person}: {who}, one row each; key: {listed(linkage.keys(linkage.person))}."]
    found += [_sentence(linkage, link.table, read.pairs[link.table], read.n_people) for link in linkage.links]
    schemas, notes = {}, list(read.notes)
    for table in linkage.tables:
        loaded = read.loaded(table, words)
        if loaded is not None:
            notes += [f"{table}: {note}" for note in loaded.notes]
            schemas[table] = _schema(database, table, loaded, read.pairs.get(table))
    said = database.to_file(**_written_places(database, folder))
    said.pop("schemas", None)
    comments = "".join(f"#   {line}\n" for line in found)
    looks = "".join(f"#   {line}\n" for line in notes)
    looks = f"#\n# Look at these first:\n{looks}" if looks else ""
    types = f"{_TYPES}{to_yaml({'schemas': schemas})}" if schemas else ""
    return f"{_HEAD}#\n# Found in {read.role}:\n{comments}{looks}\n{to_yaml(said)}{types}"


def shared_quantiles(sizes: Indices) -> list[float]:
    """Return a quarter, the half and three quarters of sizes, each the mean of the ten people around it.

    >>> shared_quantiles(np.array([1] * 20 + [4] * 20))
    [1.0, 2.5, 4.0]
    """
    ordered = np.sort(sizes)
    places = [round(share * len(ordered)) - LEAST_SHARED // 2 for share in QUARTERS]
    begins = [min(max(place, 0), len(ordered) - LEAST_SHARED) for place in places]
    return [float(ordered[begin : begin + LEAST_SHARED].mean()) for begin in begins]


def _sentence(linkage: Linkage, table: str, pairs: Owners, n_people: int) -> str:
    """Say of a linked table how many rows it has, whose, and how many a person has."""
    person, row = pairs
    sizes = np.bincount(person, minlength=n_people)
    n_rows, n_having = len(np.unique(row)), int((sizes > 0).sum())
    link = linkage[table]
    path = "" if link.through == linkage.person else f" through {link.through}"
    shared = int((np.bincount(row) > 1).sum())
    told = f"{table}: {plural(n_rows, 'row')} of {plural(n_having, 'person', 'people')}{path}, "
    told += f"key: {listed(linkage.keys(table))}"
    told += f", in the order of {link.order}" if link.order else ""
    if n_having >= LEAST_SHARED:
        quarter, half, most = (f"{round(each):,}" for each in shared_quantiles(sizes[sizes > 0]))
        told += f"; rows a person: {quarter} (quarter), {half} (half), {most} (last quarter)"
    else:
        told += f"; fewer than {LEAST_SHARED_IN_WORDS} people have any"
    return told + (f"; {shared:,} belong to several people." if shared else ".")


def _schema(database: Database, table: str, loaded: LoadedTable, pairs: Owners | None) -> dict[str, Any]:
    """Return the types of a table's columns: as they are said, else as they were found."""
    said = plain_schema(database.schemas.get(table, SchemaFile()))
    return {**said, "columns": entries(loaded, pairs) | said.get("columns", {})}


def _written_places(database: Database, folder: Path) -> dict[str, str]:
    """Return where the databases are, seen from a folder, as far as these are folders."""
    return {
        role: os.path.relpath(place, folder)
        for role, place in database.given.items()
        if isinstance(place, (str, Path))
    }
