"""People with all that is theirs, in an order that follows from what they hold, not from the files."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from tabveil.core.linked import Keys, LinkedRows, LinkedTables
from tabveil.core.people import Flags
from tabveil.core.table import Indices, Table
from tabveil.tables.linked.keys import DatabaseKeys, Pairs

_ROW = ""
"""Where a row stood in its file; no column has this name."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Arrangement:
    """The people of one database, and where their rows stood in the files, by table."""

    people: LinkedTables
    rows: Mapping[str, Indices]

    @classmethod
    def of(cls, tables: Mapping[str, Table], keys: DatabaseKeys, pairs: Pairs, kept: Flags) -> Self:
        """Put rows with their people and both in order; only the people who are ``kept`` (n_people,) stay."""
        linkage, person = keys.linkage, keys.linkage.person
        orders = {name: _order(table, keys.of(name)) for name, table in tables.items()}
        places = {name: np.argsort(order) for name, order in orders.items()}  # where each row of a file goes

        def with_rows(name: str) -> Keys:
            order = orders[name]
            return {column: codes[order] for column, codes in keys.of(name).items()} | {_ROW: order}

        linked = {
            link.table: LinkedRows.of(
                tables[link.table].take(orders[link.table]),
                places[person][pairs[link.table][0]],
                places[link.table][pairs[link.table][1]],
                len(tables[person]),
                order=link.order,
                keys=with_rows(link.table),
            )
            for link in linkage.links
        }
        own = tables[person].take(orders[person])
        people = LinkedTables(linkage=linkage, own=own, linked=linked, keys=with_rows(person))
        people = people.take(np.flatnonzero(kept[orders[person]]))
        people = people.take(np.lexsort((people.keys[linkage.key], people.person_hash())))
        rows = {name: each.keys[_ROW] for name, each in people.linked.items()}
        return cls(
            people=replace(
                people,
                keys=_without_rows(people.keys),
                linked={
                    name: replace(each, keys=_without_rows(each.keys)) for name, each in people.linked.items()
                },
            ),
            rows={person: people.keys[_ROW], **rows},
        )


def _order(table: Table, keys: Keys) -> Indices:
    return np.lexsort((*keys.values(), table.row_hash()))


def _without_rows(keys: Keys) -> Keys:
    return {name: codes for name, codes in keys.items() if name != _ROW}
