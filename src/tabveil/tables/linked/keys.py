"""Keys first: whose rows are whose, and every way in which a database may fail to say so.

Each fault is one line with table, column and count, and never shows a key.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from tabveil.core.check import nearest, quoted
from tabveil.core.linked import Linkage
from tabveil.core.people import Flags
from tabveil.core.table import Indices
from tabveil.core.wording import plural, verb
from tabveil.errors import SchemaError
from tabveil.tables.reading.files import Source
from tabveil.tables.reading.key_columns import number_keys

Databases = Mapping[str, Mapping[str, Source]]
"""Tables as they came, by role and by name."""

Pairs = Mapping[str, tuple[Indices, Indices]]
"""Each pair of a person and a row of theirs, by linked table: where they stand in their files, (n_pairs,)."""

MOST_HOLDERS = 20
"""People a row may belong to on average: few share an account, many a product or a district."""


class Place(NamedTuple):
    """A column of a table."""

    table: str
    column: str


@dataclass(frozen=True, kw_only=True, eq=False)
class DatabaseKeys:
    """The keys of one database, as numbers that are equal where keys are, in all databases read together."""

    linkage: Linkage
    role: str
    n_rows: Mapping[str, int]  # by table
    numbers: Mapping[Place, Indices]

    def of(self, table: str) -> dict[str, Indices]:
        """Return the keys of a table, by column; a release may lack the ids that link nothing."""
        return {
            column: self.numbers[Place(table, column)]
            for column in self.linkage.keys(table)
            if Place(table, column) in self.numbers
        }

    def require_sound(self, optional: Collection[str] = ()) -> None:
        """Refuse keys that are missing or not unique, and rows that belong to nobody.

        ``optional`` tables may have such rows, as a list of products has those that nobody bought.
        """
        linkage = self.linkage
        person = Place(linkage.person, linkage.key)
        self._require_there(person)
        self._require_unique(person, "their key with another row; a person has one row")
        for link in linkage.links:
            self._require_there(Place(link.table, link.key))
            if link.id is not None and (place := Place(link.table, link.id)) in self.numbers:
                self._require_unique(place, "their id with another row")
        for link in linkage.links:
            theirs, ours = Place(link.through, link.on), Place(link.table, link.key)
            orphans = ~np.isin(self.numbers[ours], self.numbers[theirs]) & (link.table not in optional)
            whose = f"to no row of {quoted(link.through)}"
            self._refuse(
                ours, orphans, f"is an orphan and belongs {whose}", f"are orphans and belong {whose}"
            )
            if link.key == link.id:
                named = self.numbers[theirs]
                lost = (named >= 0) & ~np.isin(named, self.numbers[ours])
                nothing = f"no row of {quoted(link.table)}"
                self._refuse(theirs, lost, f"names {nothing}", f"name {nothing}")

    def _require_there(self, place: Place) -> None:
        self._refuse(place, self.numbers[place] < 0, "has no key", "have no key")

    def _require_unique(self, place: Place, what: str) -> None:
        held = self.numbers[place]
        _, which, times = np.unique(held, return_inverse=True, return_counts=True)
        self._refuse(place, (times[which] > 1) & (held >= 0), "", f"share {what}")

    def _refuse(self, place: Place, bad: Flags, one: str, several: str) -> None:
        if n_bad := int(bad.sum()):
            problem = f"{plural(n_bad, 'row')} {verb(n_bad, one, several)}"
            raise SchemaError(f"{place.table} of {self.role}", f"column {quoted(place.column)}: {problem}.")

    def all_pairs(self) -> Pairs:
        """Return the pairs of every linked table."""
        return {link.table: self.pairs(link.table) for link in self.linkage.links}

    def pairs(self, table: str) -> tuple[Indices, Indices]:
        """Return each pair of a person and a row of a linked table that is theirs, once."""
        person = row = np.arange(self.n_rows[self.linkage.person])
        for link in self.linkage.path(table):
            onward = self.numbers[Place(link.through, link.on)][row]
            ours = self.numbers[Place(link.table, link.key)]
            n_rows = max(len(ours), 1)
            order = np.argsort(ours, kind="stable")
            first, last = (np.searchsorted(ours[order], onward, side=side) for side in ("left", "right"))
            times = np.where(onward < 0, 0, last - first)
            if int(times.sum()) > MOST_HOLDERS * n_rows:
                raise LookupTableError(
                    f"{link.table} of {self.role}",
                    f"column {quoted(link.key)}: a row belongs to {times.sum() / n_rows:,.0f} people on "
                    f"average (at most {MOST_HOLDERS}); leave the table out, it is one to look things up in.",
                    table=link.table,
                )
            starts = np.cumsum(times) - times
            places = np.arange(int(times.sum())) + np.repeat(first - starts, times)
            joined = np.unique(np.repeat(person, times) * n_rows + order[places])
            person, row = joined // n_rows, joined % n_rows
        return person, row


class LookupTableError(SchemaError):
    """A linked table turns out to be one that people refer to, and not one of rows that are theirs."""

    def __init__(self, *said: object, table: str = "", hint: str = "") -> None:
        super().__init__(*said, hint=hint)
        self.table = table


def read_keys(
    databases: Databases,
    linkage: Linkage,
    missing: Sequence[str] = (),
    optional: Collection[str] = (),
) -> dict[str, DatabaseKeys]:
    """Read the keys of all databases together, by role, and refuse those that are not sound."""
    numbers: dict[str, dict[Place, Indices]] = {role: {} for role in databases}
    for places in _groups(linkage):
        there = [
            (role, place)
            for role, tables in databases.items()
            for place in places
            if _has(tables[place.table], place, role, linkage)
        ]
        for role, tables in databases.items():  # a control of nobody may have no columns
            numbers[role] |= {
                place: np.zeros(0, np.int64) for place in places if not tables[place.table].data.num_rows
            }
        columns = [(_named(databases[role], place.table, role), place.column) for role, place in there]
        for (role, place), codes in zip(there, number_keys(columns, missing), strict=True):
            numbers[role][place] = codes
    keys = {
        role: DatabaseKeys(
            linkage=linkage,
            role=role,
            n_rows={name: source.data.num_rows for name, source in tables.items()},
            numbers=numbers[role],
        )
        for role, tables in databases.items()
    }
    for each in keys.values():
        each.require_sound(optional)
    return keys


def _named(tables: Mapping[str, Source], table: str, role: str) -> Source:
    return replace(tables[table], role=f"{table} of {role}")


def _groups(linkage: Linkage) -> list[list[Place]]:
    """Return the columns of all keys; those that links compare with each other stand together."""

    def merge(groups: list[set[Place]], pair: set[Place]) -> list[set[Place]]:
        meeting = [group for group in groups if group & pair]
        return [*(group for group in groups if not group & pair), pair.union(*meeting)]

    pairs = [{Place(link.table, link.key), Place(link.through, link.on)} for link in linkage.links]
    single = [{Place(table, column)} for table in linkage.tables for column in linkage.keys(table)]
    groups = reduce(merge, [*pairs, *single], list[set[Place]]())
    return sorted(sorted(group) for group in groups)


def _has(source: Source, place: Place, role: str, linkage: Linkage) -> bool:
    """Whether a table has a key; it must, but for ids that link nothing, which a release may lack."""
    names = source.data.column_names
    if place.column in names:
        return True
    links = {Place(link.table, link.key) for link in linkage.links}
    links |= {Place(link.through, link.on) for link in linkage.links}
    empty = source.data.num_rows == source.data.num_columns == 0
    if (role == "control" and empty) or (role == "synthetic" and place not in links):
        return False
    close = nearest(place.column, names)
    joins = {Place(link.through, link.on) for link in linkage.links if link.through != linkage.person}
    hint = "If it has another name there, say that one with 'on'." if place in joins else ""
    hint = f"Did you mean {quoted(close)}?" if close else hint
    raise SchemaError(
        f"{place.table} of {role}", f"there is no key column {quoted(place.column)}.", hint=hint
    )
