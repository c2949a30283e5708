"""Which people to train on, and which to hold back: people are dealt, and all rows that are theirs follow.

People who share a row, such as one of an account, stay together, and so do those who share rows with these:
a row that was trained on must not be held back. People who are equal in all that is there stay together, too,
where chance does not explain it: they may be one person, stored twice. Rows are never read into types: they
leave as they came.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tabveil.core import check
from tabveil.core.check import listed
from tabveil.core.rng import stream
from tabveil.core.table import Indices, mix_bits
from tabveil.core.wording import plural, verb
from tabveil.errors import SchemaError
from tabveil.tables.holdout import Parts, choose_groups, coincide
from tabveil.tables.linked.database_file import Database, read_database
from tabveil.tables.linked.folders import places_in
from tabveil.tables.linked.keys import DatabaseKeys, Pairs
from tabveil.tables.linked.one_database import OneDatabase
from tabveil.tables.reading import native_parts
from tabveil.tables.reading.arrow import Hashes, hash_cells, hash_rows
from tabveil.tables.reading.files import Source

DATA = "data"


@dataclass(frozen=True, kw_only=True, eq=False)
class DealtPeople:
    """People dealt to train and control: where the rows of each side stand in the files, by table."""

    database: Database
    train: Mapping[str, Indices]
    control: Mapping[str, Indices]
    groups: Indices  # people of each group that shares rows, and stays together
    equals: Indices  # people of each group that is equal in all that is there, and stays together
    notes: tuple[str, ...]

    @property
    def n_people(self) -> tuple[int, int]:
        """How many people train and control have."""
        person = self.database.linkage.person
        return len(self.train[person]), len(self.control[person])

    @property
    def together(self) -> str:
        """Say how many people stay together because they share rows; nothing where nobody does."""
        return _staying(self.groups, "share linked rows with others, directly or through others")

    @property
    def twice(self) -> str:
        """Say how many people stay together because they look like one person, stored twice."""
        return _staying(
            self.equals,
            "are equal to others in their own row and all their linked rows, more than chance explains, as "
            "people are who were stored twice",
        )


def _staying(groups: Indices, why: str) -> str:
    joined = groups[groups > 1]
    if not len(joined):
        return ""
    stay = verb(len(joined), "one group that stays", f"{len(joined):,} groups that stay")
    return (
        f"{plural(int(joined.sum()), 'person', 'people')} {why}: {stay} together "
        f"(the largest has {int(joined.max()):,})."
    )


def deal(database: Database, *, control: float, seed: int) -> DealtPeople:
    """Deal the people of the database called ``data``; a share ``control`` of them is held back.

    Who goes where depends on the seed and on what the person's table holds, not on the order of its rows,
    its columns, or the files. The share is met as closely as the groups allow; no side is ever empty.
    """
    check.between("split", "control", control, 0, 1)
    read = OneDatabase.read(database, DATA)
    person, held, theirs = read.linkage.person, read.keys, read.pairs
    sharing, equal = groups_of(held, theirs), equal_people(read)
    if sharing.max() == 0:
        raise _undealable(held, theirs)
    groups = _joined(sharing, equal)
    weight = np.bincount(groups)
    if len(weight) == 1:
        raise SchemaError(
            "split",
            f"all {plural(read.n_people, 'person', 'people')} are equal to each other or share linked rows, "
            "so nobody can be held back.",
        )
    hashes = _hashes(read.sources[person])
    first = np.full(len(weight), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(first, groups, hashes)
    chosen = choose_groups(weight, first, control, stream(seed, "holdout"))[groups]
    sides = [_rows(theirs, person, side) for side in (~chosen, chosen)]
    return DealtPeople(
        database=read.database,
        train=sides[0],
        control=sides[1],
        groups=np.bincount(sharing),
        equals=np.bincount(equal),
        notes=read.notes,
    )


def equal_people(read: OneDatabase) -> Indices:
    """Return the group of each person (n_people,), 0, 1 …: people who look like one, stored twice.

    They are equal in their own row and in all their linked rows. Where different people are so by chance, as
    where little is known of each, everybody is a group of their own. Keys are not compared.
    """
    person = read.linkage.person
    cells = _cells(read, person)
    for table, (whose, row) in sorted(read.pairs.items()):
        parts = _cells(read, table)
        rows = mix_bits(hash_rows(parts, read.keys.n_rows[table]) + np.uint64(1))
        held: Hashes = np.zeros(read.n_people, dtype=np.uint64)
        np.add.at(held, whose, rows[row])  # a sum, so that the order of a person's rows means nothing
        cells.append(held)
    if coincide(cells):
        return np.arange(read.n_people)
    return np.unique(hash_rows(cells, read.n_people), return_inverse=True)[1].reshape(-1)


def _cells(read: OneDatabase, table: str) -> list[Hashes]:
    """Hash the cells of a table's columns, in the order of their names, without keys and what is dropped."""
    data, left_out = read.sources[table].data, read.database.schema_of(table).drop
    names = sorted(set(data.column_names) - set(left_out))
    return hash_cells("split", data.select(names))


def _joined(one: Indices, other: Indices) -> Indices:
    """Return the groups (n,) of those who are together in one way or the other, or through others."""
    n_one = int(one.max()) + 1
    size = n_one + int(other.max()) + 1
    links = coo_array((np.ones(len(one), dtype=np.int8), (one, n_one + other)), shape=(size, size))
    joined = connected_components(links, directed=False)[1][one]
    return np.unique(joined, return_inverse=True)[1].reshape(-1)


def groups_of(keys: DatabaseKeys, pairs: Pairs) -> Indices:
    """Return the group of each person (n_people,), 0, 1 …: who shares a row with somebody is in theirs."""
    n_people = keys.n_rows[keys.linkage.person]
    people = [np.zeros(0, dtype=np.int64)]
    rows = [np.zeros(0, dtype=np.int64)]
    n_nodes = n_people
    for table, (person, row) in pairs.items():
        people.append(person)
        rows.append(row + n_nodes)
        n_nodes += keys.n_rows[table]
    one, other = np.concatenate(people), np.concatenate(rows)
    links = coo_array((np.ones(len(one), dtype=np.int8), (one, other)), shape=(n_nodes, n_nodes))
    joined = connected_components(links, directed=False)[1][:n_people]
    return np.unique(joined, return_inverse=True)[1].reshape(-1)


def _undealable(keys: DatabaseKeys, pairs: Pairs) -> SchemaError:
    """Say that nobody can be held back, and which tables everybody shares."""
    n_people = keys.n_rows[keys.linkage.person]
    if n_people == 1:
        return SchemaError("split", "there is one person, who cannot be divided.")
    sharing = [table for table in pairs if len(np.unique(groups_of(keys, {table: pairs[table]}))) < n_people]
    return SchemaError(
        "split",
        f"all {plural(n_people, 'person', 'people')} share linked rows with each other, directly or through "
        f"others ({listed(sharing)}), so nobody can be held back.",
        hint="Leave out a table that is no one's own, such as a list of places.",
    )


def _hashes(source: Source) -> Any:  # noqa: ANN401 - uint64 (n_people,)
    """Hash the rows of the person's table, whatever the order of its columns is."""
    names = sorted(source.data.column_names)
    cells = hash_cells("split", source.data.select(names))
    return hash_rows(cells, source.data.num_rows)


def _rows(pairs: Pairs, person: str, chosen: Any) -> dict[str, Indices]:  # noqa: ANN401 - flags (n_people,)
    """Return the rows of these people in every table, in the order of the files."""
    linked = {table: np.unique(row[chosen[whose]]) for table, (whose, row) in pairs.items()}
    return {person: np.flatnonzero(chosen), **linked}


def split_tables(
    tables: str | Path | Mapping[str, Any] | None = None,
    *,
    control: float = 0.3,
    seed: int = 0,
    data: Any = None,  # noqa: ANN401 - a folder, or tables of any dataframe library by name
    metadata: str | Path | Mapping[str, Any] | None = None,
    person_table: str | None = None,
) -> Parts:
    """Hold back people with all their linked rows, as ``tabveil split --tables`` does.

    Parameters
    ----------
    tables
        How the tables hang together: a database file (YAML), or a mapping of the same form.
    control
        The share of people to hold back, between 0 and 1.
    seed
        Another seed, another choice.
    data
        The tables of all people, if ``tables`` does not say where they are: a folder, or a mapping of the
        tables' names to paths or to tables of pandas, polars or Arrow.
    metadata, person_table
        SDV's metadata instead of ``tables``, and the person's table if these do not tell it.

    Returns
    -------
    ``train`` and ``control``: mappings of the tables' names to tables of the kind that came in.

    >>> from tabveil.datasets import clinic
    >>> hangs = {"person": {"table": "patients", "key": "patient"}, "linked": {"visits": {"key": "patient"}}}
    >>> train, held_back = split_tables(hangs, control=0.25, data=clinic(40, seed=1))
    >>> len(train["patients"]), len(held_back["patients"])
    (30, 10)
    >>> set(train["visits"]["patient"]) & set(held_back["patients"]["patient"])
    set()
    """
    check.at_least("split", "seed", seed, 0)
    database = read_database(tables, metadata=metadata, person=person_table, data=data)
    dealt = deal(database, control=control, seed=seed)
    places = places_in(dealt.database.given[DATA], DATA)
    parts = {
        table: native_parts(places[table], [dealt.train[table], dealt.control[table]])
        for table in dealt.database.linkage.tables
    }
    return Parts(*({table: both[side] for table, both in parts.items()} for side in (0, 1)))
