"""People as one table: their own columns, and columns that sum up what each has in linked tables.

Attacks that look at columns then see people: how many rows somebody has, the first and the last of them, the
label that most of them have. The sets themselves go along (:attr:`tabveil.core.table.Table.linked`) for those
who look at them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabveil.core.linked import Link, LinkedPeople, LinkedRows, LinkedSplit, people_behind
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Schema, Split, Table

MANY_COLUMNS = 8
"""A linked table with more columns is summed up by one column for each."""


@dataclass(frozen=True, kw_only=True, eq=False)
class PersonColumn:
    """One column that sums up linked rows: how many there are, or what is in one of their columns.

    ``source`` is the column it is made of, None for a number of rows; ``alike`` says that it holds values of
    that column, and no others, such as a mean or a number of days.
    """

    column: Column
    table: str
    source: str | None
    alike: bool
    cells: tuple[Floats, Floats, Floats]  # of train, control and synthetic people


@dataclass(frozen=True, kw_only=True, eq=False)
class PeopleTables:
    """The three tables of an audit, a row for each person, and what its columns were made of."""

    split: Split
    summaries: tuple[PersonColumn, ...]


def people_tables(databases: LinkedSplit) -> PeopleTables:
    """Sum up databases; a summary that is the same for everybody is left out.

    >>> from tabveil.datasets import clinic
    >>> from tabveil.tables.linked import load_database
    >>> hangs = {"person": {"table": "patients", "key": "patient"}}
    >>> hangs["linked"] = {"visits": {"key": "patient", "order": "day"}}
    >>> loaded = load_database(hangs, train=clinic(60, seed=1), synthetic=clinic(40, seed=2))
    >>> people = people_tables(loaded.split).split.train
    >>> people.schema.names[:4], people.schema.names[4:7]
    (('born', 'sex', 'town', 'weight'), ('visits: rows', 'visits: cost, first', 'visits: cost, last'))
    """
    roles = (databases.train, databases.control, databases.synthetic)
    taken = set(databases.train.own.schema.names)
    found: list[PersonColumn] = []
    for link in databases.linkage.links:
        sides = tuple(people.linked[link.table] for people in roles)
        made = [each for each in _of_table(link, sides) if _varies(each)]
        for summary in made or list(_of_table(link, sides))[:1]:
            name = summary.column.name
            while name in taken:
                name += "*"
            taken.add(name)
            found.append(replace(summary, column=replace(summary.column, name=name)))
    origins = {summary.column.name: summary.table for summary in found}
    sources = {summary.column.name: summary.source for summary in found}
    tables = []
    for at, people in enumerate(roles):
        schema = Schema((*people.own.schema.columns, *(summary.column for summary in found)))
        values = np.column_stack([people.own.values, *(summary.cells[at] for summary in found)])
        linked = LinkedPeople(tables=people, origins=origins, sources=sources)
        tables.append(Table(schema=schema, values=values, linked=linked))
    train, control, synthetic = tables
    return PeopleTables(
        split=Split(train=train, control=control, synthetic=synthetic), summaries=tuple(found)
    )


def databases_of(split: Split) -> LinkedSplit | None:
    """Return the databases that tables of people were made of; None where nothing is linked to them."""
    train, control, synthetic = map(people_behind, (split.train, split.control, split.synthetic))
    if train is None or control is None or synthetic is None:
        return None
    return LinkedSplit(train=train, control=control, synthetic=synthetic)


def resummed(split: Split, column: str, change: Callable[[Split, str], Split | None]) -> Split | None:
    """Change the column of a table that a column of people is of, or sums up, and sum people up again.

    None where it is of none, as a number of rows, or ``change`` has nothing to do.
    """
    databases, linked = databases_of(split), split.train.linked
    if databases is None or not isinstance(linked, LinkedPeople):
        return None
    person = databases.linkage.person
    table, source = linked.origins.get(column, person), linked.sources.get(column, column)
    sides = {role: getattr(databases, role) for role in ("train", "control", "synthetic")}
    rows = {role: people.table(table) for role, people in sides.items()}
    if source is None or min(len(rows["train"]), len(rows["synthetic"])) == 0:
        return None
    found = change(Split(**rows), source)
    if found is None:
        return None
    sides = {role: people.with_table(table, getattr(found, role)) for role, people in sides.items()}
    return people_tables(LinkedSplit(**sides)).split


def _varies(summary: PersonColumn) -> bool:
    cells = np.concatenate(summary.cells)
    return len(np.unique(cells)) > 1  # NumPy takes all NaNs for one value


Sides = tuple[LinkedRows, ...]


def _of_table(link: Link, sides: Sides) -> Iterator[PersonColumn]:
    """Sum up one linked table: the number of rows first."""
    sizes = tuple(side.sizes.astype(np.float64) for side in sides)
    most = max((float(each.max(initial=0.0)) for each in sizes), default=0.0)
    rows = Numeric(name=f"{link.table}: rows", low=0.0, high=most, decimals=0)
    yield _summary(rows, link, None, sizes)
    schema = sides[0].table.schema
    few = len(schema) <= MANY_COLUMNS
    for column in schema.columns:
        if most <= 1:
            yield _kept(column, link, "", [_cells(side, column.name, _first(side)) for side in sides])
            continue
        yield from _of_column(column, link, sides, few=few)


def _of_column(column: Column, link: Link, sides: Sides, *, few: bool) -> Iterator[PersonColumn]:
    """Sum up a column: by the first and the last event where there is an order, and by all of them."""
    name = column.name
    if name == link.order:
        yield _kept(column, link, ", first", [_cells(side, name, _first(side)) for side in sides])
        yield from _of_times(column, link, sides)
        return
    if link.order is not None:
        if few:
            yield _kept(column, link, ", first", [_cells(side, name, _first(side)) for side in sides])
        yield _kept(column, link, ", last", [_cells(side, name, _last(side)) for side in sides])
    if few or link.order is None:
        yield from _of_all(column, link, sides, extremes=few and link.order is None)


def _of_times(column: Column, link: Link, sides: Sides) -> Iterator[PersonColumn]:
    if not isinstance(column, Numeric):
        return
    gaps = tuple(_gap(side, column.name) for side in sides)
    longest = max((float(np.nanmax(each)) for each in gaps if not np.isnan(each).all()), default=0.0)
    yield _summary(
        Numeric(name=f"{link.table}: {column.name}, mean gap", low=0.0, high=longest), link, column.name, gaps
    )


def _of_all(column: Column, link: Link, sides: Sides, *, extremes: bool) -> Iterator[PersonColumn]:
    name = column.name
    if isinstance(column, Categorical):
        yield _kept(column, link, ", commonest", [_commonest(side, name) for side in sides])
        return
    dates = column.arbitrary_zero  # whose mean is no date
    if not dates:
        mean = replace(column, decimals=None)
        yield _kept(mean, link, ", mean", [_mean(side, name) for side in sides], alike=False)
    if extremes or dates:
        yield _kept(column, link, ", least", [_extreme(side, name, np.minimum) for side in sides])
        yield _kept(column, link, ", most", [_extreme(side, name, np.maximum) for side in sides])


def _kept(
    column: Column, link: Link, what: str, cells: Sequence[Floats], *, alike: bool = True
) -> PersonColumn:
    """Make a summary of the values of a column."""
    named = replace(column, name=f"{link.table}: {column.name}{what}")
    return replace(_summary(named, link, column.name, cells), alike=alike)


def _summary(column: Column, link: Link, source: str | None, cells: Sequence[Floats]) -> PersonColumn:
    train, control, synthetic = cells
    return PersonColumn(
        column=column, table=link.table, source=source, alike=False, cells=(train, control, synthetic)
    )


def _first(side: LinkedRows) -> Indices:
    return side.starts[:-1]


def _last(side: LinkedRows) -> Indices:
    return np.maximum(side.starts[1:] - 1, 0)


def _cells(side: LinkedRows, name: str, places: Indices) -> Floats:
    """Return what stands in one of each person's places, missing where there are no rows."""
    cells = np.full(side.n_people, np.nan)
    there = side.sizes > 0
    cells[there] = side.table.column(name)[side.rows[places[there]]]
    return cells


def _present(side: LinkedRows, name: str) -> tuple[Indices, Floats]:
    """Return the values that are not missing, and whose each is."""
    cells, whose = side.table.column(name)[side.rows], side.whose
    there = ~np.isnan(cells)
    return whose[there], cells[there]


def _mean(side: LinkedRows, name: str) -> Floats:
    whose, cells = _present(side, name)
    counts = np.bincount(whose, minlength=side.n_people)
    sums = np.bincount(whose, weights=cells, minlength=side.n_people)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))


def _extreme(side: LinkedRows, name: str, pick: np.ufunc) -> Floats:
    whose, cells = _present(side, name)
    found = np.full(side.n_people, np.inf if pick is np.minimum else -np.inf)
    pick.at(found, whose, cells)
    return np.where(np.isinf(found), np.nan, found)


def _commonest(side: LinkedRows, name: str) -> Floats:
    """Return the label that most rows of each person have; of equals the schema's first."""
    whose, cells = _present(side, name)
    found = np.full(side.n_people, np.nan)
    if len(whose) == 0:
        return found
    n_labels = int(cells.max()) + 1
    pairs, counts = np.unique(whose * n_labels + cells.astype(np.int64), return_counts=True)
    order = np.lexsort((-(pairs % n_labels), counts, pairs // n_labels))  # of each person the best last
    found[pairs[order] // n_labels] = pairs[order] % n_labels
    return found


def _gap(side: LinkedRows, name: str) -> Floats:
    """Return the mean time between events that follow each other; missing for less than two."""
    whose, cells = _present(side, name)
    same = np.diff(whose) == 0
    gaps, of = np.diff(cells)[same], whose[1:][same]
    counts = np.bincount(of, minlength=side.n_people)
    sums = np.bincount(of, weights=gaps, minlength=side.n_people)
    return np.asarray(np.where(counts > 0, sums / np.maximum(counts, 1), np.nan))
