"""What databases must be to be compared: rows, columns that agree, an order that is one, new people.

Each fault is one line with table, column and count, and never shows a value.
"""

from collections.abc import Mapping

import numpy as np

from tabveil.core.check import listed, nearest, quoted
from tabveil.core.linked import Link, Linkage
from tabveil.core.people import Flags
from tabveil.core.table import Categorical, Schema, Table
from tabveil.core.wording import plural, verb
from tabveil.errors import SchemaError
from tabveil.tables.linked.database_file import Database
from tabveil.tables.linked.keys import DatabaseKeys, Databases, Pairs, Place
from tabveil.tables.reading import LoadedTables

AUDITED = ("train", "control", "synthetic")
"""The databases of an audit, as :class:`tabveil.core.linked.LinkedSplit` calls them."""


def require_rows(came: Databases) -> None:
    """Refuse tables without rows; a control may have any of them empty."""
    for role, tables in came.items():
        for table, source in tables.items():
            if role != "control" and source.data.num_rows == 0:
                raise SchemaError(f"{table} of {role}", "the table has no rows.")


def require_same_columns(came: Databases, database: Database) -> None:
    """Refuse tables whose columns differ between databases, by their names, whatever their order is."""
    for table in database.linkage.tables:
        passed = set(database.schema_of(table).drop)
        ours = [name for name in came["train"][table].data.column_names if name not in passed]
        for role in AUDITED[1:]:
            source = came.get(role, {}).get(table)
            if source is None or (role == "control" and source.data.num_rows == source.data.num_columns == 0):
                continue
            theirs = [name for name in source.data.column_names if name not in passed]
            only = {
                "train": [name for name in ours if name not in theirs],
                role: [name for name in theirs if name not in ours],
            }
            differing = [name for names in only.values() for name in names]
            if not differing:
                continue
            parts = "; ".join(
                f"only in {where}: {listed(names, most=4)}" for where, names in only.items() if names
            )
            close = [(name, near) for name in only[role] if (near := nearest(name, only["train"]))]
            hint = f"Leave out by schemas: {{{table}: {{drop: [{listed(differing, most=4)}]}}}}."
            if close:
                hint = f"Did you mean {quoted(close[0][1])} by {quoted(close[0][0])}?"
            raise SchemaError(table, f"the columns of train and {role} differ: {parts}.", hint=hint)


def require_order(link: Link, tables: Mapping[str, Table], loaded: LoadedTables | None) -> list[str]:
    """Refuse to order rows by what has no order; say how many rows do not tell their place."""
    if link.order is None:
        return []
    schema = Schema(()) if loaded is None else loaded.split.schema
    if loaded is not None and loaded.written is not None and link.order in loaded.written.schema.names:
        words = loaded.written.schema[link.order]
        if isinstance(words, Categorical) and words.holds == "text":
            schema = loaded.written.schema
    require_ordered(link.table, link.order, schema)
    unknown = {role: int(np.isnan(each.column(link.order)).sum()) for role, each in tables.items()}
    return [
        f"{link.table} of {role}: {plural(n, 'row')} {verb(n, 'has', 'have')} no {quoted(link.order)} and "
        f"{verb(n, 'stands', 'stand')} last among those of a person."
        for role, n in unknown.items()
        if n
    ]


def require_ordered(table: str, order: str, schema: Schema) -> None:
    """Refuse to order rows by a column that is not there, or that has no order."""
    if order not in schema.names:
        close = nearest(order, schema.names)
        hint = f"Did you mean {quoted(close)}?" if close else ""
        raise SchemaError(table, f"there is no column {quoted(order)} to order by.", hint=hint)
    column = schema[order]
    if isinstance(column, Categorical) and not column.ordered:
        what = "text" if column.holds == "text" else "categories"
        raise SchemaError(
            table,
            f"column {quoted(order)} holds {what}, which have no order; order by numbers, dates or an "
            "ordered category.",
        )


def new_people(keys: Mapping[str, DatabaseKeys]) -> Flags:
    """Flag the people of control whose key nobody in train has; refuse where there is nobody else."""
    if "control" not in keys:
        return np.zeros(0, dtype=np.bool_)
    linkage = keys["train"].linkage
    person = Place(linkage.person, linkage.key)
    new = ~np.isin(keys["control"].numbers[person], keys["train"].numbers[person])
    if len(new) and not new.any():
        raise SchemaError(
            f"{person.table} of control",
            f"column {quoted(person.column)}: all {plural(len(new), 'row')} have a key that is in train, "
            "too, so nobody is new to the generator.",
            hint="Split by person before training: tabveil split --tables.",
        )
    return new


def known_people(new: Flags, linkage: Linkage) -> list[str]:
    """Say how many people of control are left out because they are in train."""
    n_known = int((~new).sum())
    if not n_known:
        return []
    who = f"{plural(n_known, 'person', 'people')} of control"
    told = f"Left out: {who} whose key (column {quoted(linkage.key)} of {linkage.person}) is in train, too, "
    return [told + "with all their rows. Split by person before training: tabveil split --tables."]


def parted_rows(keys: Mapping[str, DatabaseKeys], pairs: Mapping[str, Pairs], new: Flags) -> list[str]:
    """Say how many people of control share linked rows, such as those of an account, with people of train."""
    if "control" not in keys:
        return []
    linkage = keys["train"].linkage
    for link in linkage.links:
        if link.through == linkage.person and link.on == linkage.key:
            continue
        place = Place(link.table, link.key)
        known = np.isin(keys["control"].numbers[place], keys["train"].numbers[place])
        person, row = pairs["control"][link.table]
        sharing = np.unique(person[known[row] & new[person]])
        if len(sharing):
            who = plural(len(sharing), "person", "people")
            told = f"{who} of control {verb(len(sharing), 'shares', 'share')} rows of {link.table} (column "
            told += f"{quoted(link.key)}) with people of train: these rows are not new to the generator. "
            return [told + "tabveil split --tables keeps such people together."]
    return []
