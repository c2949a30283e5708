"""Values that many rows share and few people: before a linked table is learned, nobody's stay what they were.

A generator of one table keeps labels and numbers that ten rows share. Ten events may be one person's. So
numbers that fewer than ten people have are drawn anew between their neighbors, none beyond what ten people
reach, and labels are written so that they count as rare, and are pooled with the rare ones.
"""

from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.random import Generator

from tabveil.core.people import LEAST_SHARED, LEAST_SHARED_IN_WORDS
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Schema, Table, within
from tabveil.core.wording import plural
from tabveil.tables.matrices.unshared import StandInRanges
from tabveil.tables.reading import LoadedTable
from tabveil.tables.reading.raw_column import Kind

Pairs = tuple[Indices, Indices]
"""A person and a row of theirs, (n_pairs,) each."""


def shared_by_people(
    loaded: LoadedTable, pairs: Pairs, *, besides: Collection[str] = (), rng: Generator
) -> tuple[LoadedTable, tuple[str, ...]]:
    """Return a linked table in which what few people share is rare for everybody, and what was done.

    Columns whose labels are declared, ordered ones and ``besides`` stay as they are.
    """
    table, n_cells = loaded.table, 0
    columns, cells = list(table.schema.columns), np.array(table.values)
    for k, column in enumerate(columns):
        place = loaded.layout.columns[column.name]
        if column.name in besides or column.name in loaded.identifiers:
            continue
        if isinstance(column, Numeric):
            changed = _numbers(column, cells[:, k], pairs, rng=rng)
            same = (changed == cells[:, k]) | np.isnan(cells[:, k])
            cells[:, k], n_cells = changed, n_cells + int((~same).sum())
        elif (
            not column.ordered
            and column.holds == "labels"
            and column.name not in loaded.declared
            and place.kind is Kind.LABELS
        ):
            columns[k], cells[:, k], n = _labels(column, cells[:, k], pairs)
            n_cells += n
    if not n_cells:
        return loaded, ()
    note = (
        f"Values that fewer than {LEAST_SHARED_IN_WORDS} people share, or that lie beyond what "
        f"{LEAST_SHARED_IN_WORDS} people reach, though more rows have them: {plural(n_cells, 'cell')}; "
        "learned as rare labels and as numbers near them."
    )
    changed_table = Table(schema=Schema(tuple(columns)), values=cells)
    return replace(loaded, table=changed_table), (note,)


def people_of_values(cells: Floats, pairs: Pairs) -> tuple[Floats, Indices]:
    """Return the different values of a column, ascending, and how many people have each.

    >>> person, row = np.array([0, 0, 1]), np.array([0, 1, 2])
    >>> people_of_values(np.array([5.0, 5.0, 7.0]), (person, row))
    (array([5., 7.]), array([1, 1]))
    """
    person, row = pairs
    held = ~np.isnan(cells[row])
    each = np.unique(np.column_stack([cells[row][held], person[held]]), axis=0)
    values, counts = np.unique(each[:, 0], return_counts=True)
    return values, counts


def reach(cells: Floats, pairs: Pairs) -> tuple[float, float]:
    """Return between which numbers the most extreme ones of ten people lie; of fewer, their mean twice.

    >>> person = row = np.arange(40)
    >>> reach(np.arange(40.0), (person, row))
    (9.0, 30.0)
    """
    person, row = pairs
    held = ~np.isnan(cells[row])
    person, numbers = person[held], cells[row][held]
    people = np.unique(person)
    if len(people) < 2 * LEAST_SHARED:
        mean = float(numbers.mean()) if len(numbers) else 0.0
        return mean, mean
    place = np.searchsorted(people, person)
    lows, highs = np.full(len(people), np.inf), np.full(len(people), -np.inf)
    np.minimum.at(lows, place, numbers)
    np.maximum.at(highs, place, numbers)
    return float(np.sort(lows)[LEAST_SHARED - 1]), float(np.sort(highs)[-LEAST_SHARED])


def _numbers(column: Numeric, cells: Floats, pairs: Pairs, *, rng: Generator) -> Floats:
    """Return numbers with others for those that many rows and few people share, all within reach."""
    values, n_people = people_of_values(cells, pairs)
    if not len(values):
        return cells
    held = ~np.isnan(cells)
    places = np.searchsorted(values, cells[held])
    n_rows = np.bincount(places, minlength=len(values))
    odd = ((n_rows >= LEAST_SHARED) & (n_people < LEAST_SHARED))[places]
    changed = cells.copy()
    if odd.any():
        drawn = StandInRanges.of(column, values, n_people).draw(column, places[odd], rng=rng)
        changed[np.flatnonzero(held)[odd]] = within(column, drawn)
    return np.clip(changed, *reach(cells, pairs))


def _labels(column: Categorical, cells: Floats, pairs: Pairs) -> tuple[Column, Floats, int]:
    """Return labels of which those of many rows and few people are parted, so that each part has few rows."""
    values, n_people = people_of_values(cells, pairs)
    held = ~np.isnan(cells)
    n_rows = np.bincount(np.searchsorted(values, cells[held]), minlength=len(values))
    odd = np.flatnonzero((n_rows >= LEAST_SHARED) & (n_people < LEAST_SHARED))
    labels, changed, n_cells = list(column.labels), cells.copy(), 0
    known = set(labels)
    for value in values[odd]:
        rows = np.flatnonzero(cells == value)
        n_cells += len(rows)
        for part, begin in enumerate(range(LEAST_SHARED - 1, len(rows), LEAST_SHARED - 1), 2):
            label = f"{column.labels[int(value)]} ({part})"
            while label in known:
                label += "'"
            known.add(label)
            changed[rows[begin : begin + LEAST_SHARED - 1]] = len(labels)
            labels.append(label)
    return replace(column, labels=tuple(labels)), changed, n_cells
