"""How the linked tables of an audit hang together, and how many rows people have."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from tabveil.core.linked import Linkage, LinkedTables
from tabveil.core.people import LEAST_SHARED
from tabveil.core.result import Role
from tabveil.core.storage.plain import Number, PlainData
from tabveil.core.table import Indices, Split, Table
from tabveil.tables.linked.summaries import databases_of
from tabveil.tables.reading.sources import ROLES

QUANTILES = (0.1, 0.5, 0.9)
"""What is told of the numbers of rows that people have."""


@dataclass(frozen=True, kw_only=True)
class SetSizes:
    """How many rows of a linked table the people of one database have; None where too few people tell.

    ``quantiles`` are those of :data:`QUANTILES`: each is told only if ten people or more lie on either side.
    """

    role: Role
    rows: int
    without: int | None  # people who have none
    mean: Number
    quantiles: tuple[int | None, ...]
    shared: int | None = 0  # rows that belong to several people


@dataclass(frozen=True, kw_only=True)
class TableOverview:
    """One table: what it hangs on and by which keys, its columns, and whose rows it holds."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    through: str | None = None  # None: the person's own table
    key: str | None = None
    order: str | None = None
    depth: int = 0
    sizes: tuple[SetSizes, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LinkedOverview(PlainData):
    """The tables of an audit, and how they hang together; the person's stands first.

    ``origins`` names the summaries of linked tables among the columns, each with its table.
    """

    tables: tuple[TableOverview, ...]
    people: Mapping[Role, int]
    origins: Mapping[str, str]

    @property
    def person(self) -> str:
        """The person's table."""
        return self.tables[0].name

    def table_of(self, column: str) -> str:
        """Return the table that a column is of, or sums up."""
        return self.origins.get(column, self.person)


def overview(split: Split) -> LinkedOverview | None:
    """Describe the tables that hang together, and of fewer than ten people nothing; None where none do."""
    linked = databases_of(split)
    if linked is None or split.train.linked is None:
        return None
    linkage = linked.linkage
    databases: Mapping[Role, LinkedTables] = {role: getattr(linked, role) for role in ROLES}
    own = TableOverview(
        name=linkage.person,
        columns=linked.train.own.schema.names,
        keys=linkage.keys(linkage.person),
    )
    return LinkedOverview(
        tables=(own, *_linked_tables(linkage, databases)),
        people={role: len(each) for role, each in databases.items() if len(each)},
        origins=dict(split.train.linked.origins),
    )


def _linked_tables(linkage: Linkage, databases: Mapping[Role, LinkedTables]) -> Iterator[TableOverview]:
    for link in linkage.links:
        sides = {role: each.linked[link.table] for role, each in databases.items() if len(each)}
        yield TableOverview(
            name=link.table,
            columns=databases["train"].linked[link.table].table.schema.names,
            keys=linkage.keys(link.table),
            through=link.through,
            key=link.key,
            order=link.order,
            depth=len(linkage.path(link.table)),
            sizes=tuple(
                SetSizes(
                    role=role,
                    rows=len(side),
                    without=_if_shared(int((side.sizes == 0).sum())),
                    mean=float(side.sizes.mean()),
                    quantiles=quantiles(side.sizes),
                    shared=_if_shared(side.n_shared),
                )
                for role, side in sides.items()
            ),
        )


def _if_shared(count: int) -> int | None:
    return count if count == 0 or count >= LEAST_SHARED else None


def quantiles(sizes: Indices) -> tuple[int | None, ...]:
    """Return those quantiles beyond which ten people or more lie.

    >>> quantiles(np.arange(30)), quantiles(np.arange(1000))
    ((None, 14, None), (99, 499, 899))
    """
    return tuple(
        int(np.quantile(sizes, q, method="inverted_cdf"))
        if round(min(q, 1 - q) * len(sizes), 6) >= LEAST_SHARED
        else None
        for q in QUANTILES
    )


FEW_TABLES = 3
"""Each of so many tables is linked to each other one; of more, each to all others together."""


def pairs_of_tables(people: Table) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return the pairs of sets of columns that attackers may want to link: those of one table, and of others.

    One more pair has every other column of each table: two tables of which one tells of nobody could not be
    linked, whatever is copied. Empty where no tables are linked.
    """
    if people.linked is None:
        return ()
    origins = people.linked.origins
    by_table: dict[str, tuple[str, ...]] = {}
    for name in people.schema.names:
        table = origins.get(name, "")
        by_table[table] = (*by_table.get(table, ()), name)
    sets = list(by_table.values())
    pairs = [(one, other) for at, one in enumerate(sets) for other in sets[at + 1 :]]
    if len(sets) > FEW_TABLES:
        pairs = [(one, tuple(name for other in sets if other is not one for name in other)) for one in sets]
    mixed = (
        tuple(name for one in sets for name in one[::2]),
        tuple(name for one in sets for name in one[1::2]),
    )
    return (*pairs, *([mixed] if all(mixed) and len(sets) > 1 else []))
