"""Linked tables as arrays: a person is a row of one table, and all rows of other tables that belong to it.

Which column names whom is settled at the door (``tables.linked``). From here on a linked table is a
:class:`Table` of rows with arrays that say whose they are, in the order of their events where there is one.
Keys are no columns of these tables, so nothing compares them by accident; they stand beside them as numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core import check
from tabveil.core.crew import once
from tabveil.core.people import by_first_row
from tabveil.core.table import Indices, Schema, Split, Table, mix_bits
from tabveil.errors import SchemaError

Keys = Mapping[str, Indices]
"""A number for each row (n,), by the key's column: equal where keys are, in all three databases; −1 for none.

The numbers tell which keys are the same, as where a release repeats those of train, and show no value.
"""


@dataclass(frozen=True, kw_only=True)
class Link:
    """How one linked table hangs on another: its ``key`` equals the column ``on`` of the table ``through``.

    ``through`` is the person's table, or a linked table that joins the two. ``order`` is the column that puts
    the rows of a person in order, ``id`` one that names the rows themselves, and that nobody compares.
    """

    table: str
    key: str
    through: str
    on: str
    order: str | None = None
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Linkage:
    """The tables of a database, and how they hang on the person's.

    Links are put in the order of their paths, then of their names, so that a table stands after the one it
    hangs on, and the order in which somebody listed them means nothing.

    >>> right = Link(table="rights", key="client", through="clients", on="client")
    >>> order = Link(table="orders", key="account", through="rights", on="account", order="date")
    >>> bank = Linkage(person="clients", key="client", links=(order, right))
    >>> [link.table for link in bank.links], [link.table for link in bank.path("orders")]
    (['rights', 'orders'], ['rights', 'orders'])
    >>> bank.keys("clients"), bank.keys("rights"), bank.keys("orders")
    (('client',), ('account', 'client'), ('account',))
    >>> Linkage.from_json(bank.to_json()) == bank
    True
    """

    person: str  # the person's table
    key: str  # its column that names the person
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        if not self.links:
            raise SchemaError("linked", "no table is linked; a table alone is audited without --tables.")
        names = [link.table for link in self.links]
        for name in names:
            if name == self.person:
                raise SchemaError(f"linked.{name}", "this is the person's own table.")
            if names.count(name) > 1:
                raise SchemaError(f"linked.{name}", "the table stands there twice.")
        for link in self.links:
            check.known_names(f"linked.{link.table}", "table", [link.through], self.tables)
            if link.order in (link.key, link.id) and link.order is not None:
                raise SchemaError(
                    f"linked.{link.table}",
                    f"column {check.quoted(link.order)} is a key and cannot be the order.",
                )
        by_depth = sorted(self.links, key=lambda link: (len(self.path(link.table)), link.table))
        object.__setattr__(self, "links", tuple(by_depth))

    @property
    def tables(self) -> tuple[str, ...]:
        """All tables, the person's first."""
        return (self.person, *(link.table for link in self.links))

    @cached_property
    def _by_name(self) -> dict[str, Link]:
        return {link.table: link for link in self.links}

    def __getitem__(self, table: str) -> Link:
        check.known_names("linked", "table", [table], self._by_name)
        return self._by_name[table]

    def path(self, table: str) -> tuple[Link, ...]:
        """Return the links that lead from the person's table to a linked one, in the order of the walk."""
        walked: list[Link] = []
        while table != self.person:
            link = self[table]
            if link in walked:
                circle = check.listed([each.table for each in reversed(walked)])
                raise SchemaError(f"linked.{table}", f"its path leads in a circle ({circle}), to nobody.")
            walked.append(link)
            table = link.through
        return tuple(reversed(walked))

    def keys(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table that are keys, by name: they link tables, and are not compared."""
        found = {link.on for link in self.links if link.through == table}
        if table == self.person:
            found.add(self.key)
        else:
            link = self[table]
            found |= {link.key} if link.id is None else {link.key, link.id}
        return tuple(sorted(found))

    def behind(self, table: str) -> tuple[str, ...]:
        """Return a linked table and those that are reached through it."""
        return tuple(link.table for link in self.links if self[table] in self.path(link.table))

    def to_json(self) -> dict[str, Any]:
        """Return plain data: names of tables and columns."""
        return {"person": self.person, "key": self.key, "links": [dict(vars(link)) for link in self.links]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Rebuild what :meth:`to_json` wrote."""
        links = tuple(Link(**link) for link in data["links"])
        return cls(person=data["person"], key=data["key"], links=links)


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedRows:
    """The rows of one linked table, and whose they are.

    Those of person ``i`` are ``rows[starts[i]:starts[i + 1]]``, in the order of their events where there is
    one, else of what they hold. A row that belongs to several people stands once in ``table`` and counts for
    each; one that belongs to nobody does not exist.
    """

    table: Table
    starts: Indices  # (n_people + 1,)
    rows: Indices  # (n_pairs,) of table
    keys: Keys = field(default_factory=dict, repr=False)  # each (n_rows,)

    def __post_init__(self) -> None:
        for name in ("starts", "rows"):
            array = np.asarray(getattr(self, name), dtype=np.int64).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        ends = self.starts[[0, -1]].tolist() if len(self.starts) else []
        if ends != [0, len(self.rows)] or (np.diff(self.starts) < 0).any():
            raise SchemaError("LinkedRows", "starts must rise from 0 to the number of rows.")
        if any(len(codes) != len(self.table) for codes in self.keys.values()):
            raise SchemaError("LinkedRows", f"expected a key for each of {len(self.table)} rows.")

    @classmethod
    def of(
        cls,
        table: Table,
        person: Indices,
        row: Indices,
        n_people: int,
        *,
        order: str | None = None,
        keys: Keys | None = None,
    ) -> Self:
        """Arrange pairs of a person and a row of theirs, each (n_pairs,); a pair given twice counts once.

        ``order`` is a column of the table. Rows without a value there come last, and what is equal there
        stands in the order of what it holds, so that the order of the file means nothing.
        """
        person, row = np.divmod(np.unique(person * max(len(table), 1) + row), max(len(table), 1))
        hashes = table.row_hash()[row]
        when = np.zeros(len(row)) if order is None else table.column(order)[row]
        arranged = np.lexsort((hashes, when, person))
        starts = np.concatenate([[0], np.cumsum(np.bincount(person, minlength=n_people))])
        found = cls(table=table, starts=starts, rows=row[arranged], keys=keys or {})
        return found.take(np.arange(n_people))  # rows of nobody are left out

    def __len__(self) -> int:
        return len(self.table)

    @property
    def n_people(self) -> int:
        """How many people there are, with rows or without."""
        return len(self.starts) - 1

    @property
    def sizes(self) -> Indices:
        """How many rows each person has (n_people,)."""
        return np.diff(self.starts)

    @property
    def whose(self) -> Indices:
        """Whose each of ``rows`` is (n_pairs,)."""
        return np.repeat(np.arange(self.n_people), self.sizes)

    @property
    def n_shared(self) -> int:
        """How many rows belong to more than one person."""
        return int((np.bincount(self.rows, minlength=len(self.table)) > 1).sum())

    def of_person(self, person: int) -> Indices:
        """Return the rows of one person, in order."""
        return self.rows[self.starts[person] : self.starts[person + 1]]

    def take(self, people: Indices) -> Self:
        """Keep the rows of these people, in this order; rows stand in the order of who has them first."""
        sizes = self.sizes[people]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(starts[-1]) + np.repeat(self.starts[:-1][people] - starts[:-1], sizes)
        taken = self.rows[places]
        kept = taken[np.sort(np.unique(taken, return_index=True)[1])]
        return replace(
            self,
            table=self.table.take(kept),
            starts=starts,
            rows=by_first_row(taken),
            keys={name: codes[kept] for name, codes in self.keys.items()},
        )

    def joined(self, other: "LinkedRows") -> Self:
        """Return the people of both with their rows, these first."""
        return replace(
            self,
            table=self.table.joined(other.table),
            starts=np.concatenate([self.starts, self.starts[-1] + other.starts[1:]]),
            rows=np.concatenate([self.rows, len(self.table) + other.rows]),
            keys=_joined_keys(self.keys, other.keys),
        )

    def set_hash(self) -> NDArray[np.uint64]:
        """Hash what each person has here (n_people,): equal sets of rows have equal hashes, in any order."""
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mix_bits(self.table.row_hash()[self.rows]))])
        return mix_bits(sums[self.starts[1:]] - sums[self.starts[:-1]] + self.sizes.astype(np.uint64))


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedTables:
    """People: their own rows, and the rows of linked tables that belong to them.

    ``linked`` holds the linked tables by name, in the order of the links; a table of keys alone has no
    columns there, and tells how many rows each person has.
    """

    linkage: Linkage
    own: Table  # a row for each person
    linked: Mapping[str, LinkedRows]
    keys: Keys = field(default_factory=dict, repr=False)  # of the person's table, each (n_people,)

    def __post_init__(self) -> None:
        check.known_names("LinkedTables", "table", self.linked, self.linkage.tables[1:])
        for name, rows in self.linked.items():
            if rows.n_people != len(self.own):
                raise SchemaError(
                    f"LinkedTables: {name} has rows of {rows.n_people} people, and there are {len(self.own)}."
                )

    def __len__(self) -> int:
        return len(self.own)

    @property
    def schemas(self) -> dict[str, Schema]:
        """The columns of every table, the person's first."""
        own = {self.linkage.person: self.own.schema}
        return own | {name: rows.table.schema for name, rows in self.linked.items()}

    def take(self, people: Indices) -> Self:
        """Keep these people with all that is theirs, in this order."""
        return replace(
            self,
            own=self.own.take(people),
            linked={name: rows.take(people) for name, rows in self.linked.items()},
            keys={name: codes[people] for name, codes in self.keys.items()},
        )

    def select(self, tables: Iterable[str]) -> Self:
        """Keep these of the linked tables, beside the people's own rows."""
        check.known_names("LinkedTables", "table", tables := tuple(tables), self.linked)
        return replace(self, linked={name: rows for name, rows in self.linked.items() if name in tables})

    def joined(self, other: "LinkedTables") -> Self:
        """Return the people of both, these first; keys stay where both have them."""
        return replace(
            self,
            own=self.own.joined(other.own),
            linked={name: rows.joined(other.linked[name]) for name, rows in self.linked.items()},
            keys=_joined_keys(self.keys, other.keys),
        )

    def table(self, name: str) -> Table:
        """Return the rows of one table; of the person's own, a row for each."""
        return self.own if name == self.linkage.person else self.linked[name].table

    def keys_of(self, name: str) -> Keys:
        """Return the keys of the rows of one table."""
        return self.keys if name == self.linkage.person else self.linked[name].keys

    def with_table(self, name: str, table: Table) -> Self:
        """Return the same people with other values in the rows of one table."""
        if name == self.linkage.person:
            return replace(self, own=table)
        return replace(self, linked={**self.linked, name: replace(self.linked[name], table=table)})

    def person_hash(self) -> NDArray[np.uint64]:
        """Hash all that each person is (n_people,): equal for people who are equal in every table."""
        return self._person_hash

    @once
    def _person_hash(self) -> NDArray[np.uint64]:
        total = self.own.row_hash().copy()
        for place, name in enumerate(sorted(self.linked), 1):
            total += mix_bits(self.linked[name].set_hash() + np.uint64(place))
        return mix_bits(total)


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedPeople:
    """What belongs to the people of a table whose rows sum it up: ``Table.linked``.

    ``origins`` names the columns of that table which are summaries, each with the linked table it sums up;
    ``sources`` the column there that it is made of, None where it counts rows.
    """

    tables: LinkedTables
    origins: Mapping[str, str]
    sources: Mapping[str, str | None]

    def __len__(self) -> int:
        return len(self.tables)

    def take(self, people: Any) -> Self:  # noqa: ANN401 - places, flags or a slice of them
        """Keep these people, in this order."""
        return replace(self, tables=self.tables.take(np.arange(len(self))[people]))

    def joined(self, other: "LinkedPeople") -> Self:
        """Return the people of both, these first."""
        return replace(self, tables=self.tables.joined(other.tables))

    def set_hashes(self) -> list[NDArray[np.uint64]]:
        """Hash what each person has in each linked table, (n_people,) each."""
        linked = self.tables.linked
        return [mix_bits(linked[name].set_hash() + np.uint64(at)) for at, name in enumerate(sorted(linked))]


def people_behind(table: Table) -> LinkedTables | None:
    """Return the people whose rows these are, with all that is linked to them; None where nothing is."""
    return table.linked.tables if isinstance(table.linked, LinkedPeople) else None


def _joined_keys(first: Keys, second: Keys) -> Keys:
    return {name: np.concatenate([first[name], second[name]]) for name in first if name in second}


@dataclass(frozen=True, kw_only=True, eq=False)
class LinkedSplit:
    """The three databases of an audit: the same tables under the same schemas.

    ``control`` may have nobody, and then no linked rows either.
    """

    train: LinkedTables
    control: LinkedTables
    synthetic: LinkedTables

    def __post_init__(self) -> None:
        for role in ("control", "synthetic"):
            other = getattr(self, role)
            if other.linkage != self.linkage or other.schemas != self.train.schemas:
                raise SchemaError("LinkedSplit", f"{role} must have the tables and schemas of train.")
        for role in ("train", "synthetic"):
            if len(getattr(self, role)) == 0:
                raise SchemaError(f"The {role} database has nobody.")

    @property
    def linkage(self) -> Linkage:
        """How the tables hang together."""
        return self.train.linkage

    @property
    def own(self) -> Split:
        """The people's own rows, as the three tables of an audit of one table; they must have columns."""
        return Split(train=self.train.own, control=self.control.own, synthetic=self.synthetic.own)

    def select(self, tables: Iterable[str]) -> Self:
        """Keep these of the linked tables, beside the people's own rows."""
        tables = tuple(tables)
        train, control, synthetic = (
            each.select(tables) for each in (self.train, self.control, self.synthetic)
        )
        return replace(self, train=train, control=control, synthetic=synthetic)
