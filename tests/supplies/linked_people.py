"""Databases of invented patients and their visits, of whom some are leaked."""

from dataclasses import replace
from functools import cache

import numpy as np

from tabveil.core.linked import LinkedSplit
from tabveil.datasets import clinic
from tabveil.tables.linked import load_database

CLINIC = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
}


@cache
def databases(n=300, first_seed=1):
    """Train, control and a release that nobody learned from."""
    train, control, synthetic = (clinic(n, seed=first_seed + step) for step in range(3))
    return load_database(CLINIC, train=train, control=control, synthetic=synthetic).split


def leaky(split, n, *, own=True, linked=True):
    """The same with people of train in the release: with their own rows, their linked rows, or both."""
    some, rest = np.arange(n), np.arange(n, len(split.synthetic))
    theirs, instead = split.train.take(some), split.synthetic.take(some)
    planted = replace(
        theirs, own=(theirs if own else instead).own, linked=(theirs if linked else instead).linked
    )
    planted = replace(
        planted,
        keys=instead.keys,
        linked={name: replace(rows, keys={}) for name, rows in planted.linked.items()},
    )
    rest = split.synthetic.take(rest)
    rest = replace(rest, linked={name: replace(rows, keys={}) for name, rows in rest.linked.items()})
    return replace(split, synthetic=planted.joined(rest))


def moved(split, days):
    """The same with all dates of the release later by so many days."""
    rows = split.synthetic.linked["visits"]
    values = rows.table.values.copy()
    values[:, rows.table.schema.position("day")] += days
    columns = [
        replace(column, high=column.high + days) if column.name == "day" else column
        for column in rows.table.schema.columns
    ]
    schema = type(rows.table.schema)(tuple(columns))

    def under(people, cells):
        visits = people.linked["visits"]
        return replace(
            people,
            linked={"visits": replace(visits, table=replace(visits.table, schema=schema, values=cells))},
        )

    return LinkedSplit(
        train=under(split.train, split.train.linked["visits"].table.values),
        control=under(split.control, split.control.linked["visits"].table.values),
        synthetic=under(split.synthetic, values),
    )
