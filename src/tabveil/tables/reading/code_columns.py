"""Which whole numbers stand for something, such as those of wards or diagnoses, and are no quantities?

It is decided once, where a table is read. Who takes a code for a quantity proposes ranges of codes, calls
codes near that have nothing in common, or draws codes between two codes. Looking at rows to tell breaks a
promise of ε: where one is to be made, only a schema says so.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Column, Floats, Numeric, Schema, Table
from tabveil.tables.matrices.ordinal import CountedValues
from tabveil.tables.reading.declare import SchemaFile
from tabveil.tables.reading.encode import EncodedColumn
from tabveil.tables.reading.identifiers import identifies, is_free_text, name_words
from tabveil.tables.reading.raw_column import Kind

CALLED_CODES = frozenset(
    {"id", "code", "codes", "recode", "cd", "zip", "zipcode", "postcode", "plz", "fips", "icd", "drg", "ccs"}
)
"""Words of a column's name that say of whole numbers that they stand for something."""
CALLED_KINDS = frozenset(
    {"race", "ethnicity", "sex", "gender", "religion", "nationality", "occupation", "industry", "country"}
    | {"county", "state", "district", "region", "ward", "department", "dept", "diagnosis"}
)
"""The same of names that end so: what they name has no order."""
HOW_MANY = frozenset({"number", "num", "n", "no", "count", "total"})
COVERED = 0.5
"""Of the rows that have a value, so many must have one that enough rows share: else it is no catalog."""
COVERED_WITHOUT_NAME = 0.95
MOST_CODES = 200
"""Different values of a column that is no quantity by its looks alone."""
FEWEST_CODES = 5
DENSE = 0.2
"""Who numbers things uses so many of the numbers between the first and the last. Amounts of money use few,
and may be as unlike their neighbors: a loss of 1,902 is that of some kind of people."""
UNORDERED = 1.0
"""Neighbors among values differ so many times as much as any two, on average over the other columns; of a
quantity, much less: of 60 in the shared tables none reached 0.91, the source of an admission has 1.5."""
CHANCE = 5
"""Values differ in another column only if they do by so many standard errors."""
MOST_LABELS = 8
"""So many labels of another column are looked at, the most frequent ones."""
MOST_ROWS = 20_000
MOST_BESIDE = 64
"""So many rows, and other columns, are looked at."""


def with_codes(
    columns: Mapping[str, EncodedColumn], table: str, declared: SchemaFile
) -> dict[str, EncodedColumn]:
    """Mark the columns that are codes by their names or their looks in one table.

    None of which a schema says what it is, and none that names people: such a column is not asked, either.
    """
    asked = [
        name
        for name, encoded in columns.items()
        if declared.of(name) is not None or not (is_free_text(encoded) or identifies(encoded))
    ]
    looked = [columns[name] for name in asked if table in columns[name].cells]
    numbers = [
        each.column.name
        for each in looked
        if declared.of(each.column.name) is None and _is_whole(each, table)
    ]
    if not numbers:
        return dict(columns)
    rows = _some_rows([each.cells[table] for each in looked], len(looked[0].cells[table]))
    values = np.column_stack([each.cells[table][rows] for each in looked])
    seen = Table(schema=Schema(tuple(each.column for each in looked)), values=values)
    codes = {name for name in numbers if is_code(seen, seen.schema.position(name))}
    return {
        name: replace(encoded, place=replace(encoded.place, code=True)) if name in codes else encoded
        for name, encoded in columns.items()
    }


def _is_whole(encoded: EncodedColumn, table: str) -> bool:
    """Whether one table holds whole numbers; a release may hold others."""
    if not isinstance(encoded.column, Numeric) or encoded.place.kind is not Kind.NUMBER:
        return False
    cells = encoded.cells[table]
    return encoded.column.integer or bool((np.isnan(cells) | (cells == np.floor(cells))).all())


def _some_rows(cells: Collection[Floats], n_rows: int) -> NDArray[np.int64]:
    """Return the rows to look at: all, or those with the smallest sums of hashes, whatever their order."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    keys = np.zeros(n_rows, dtype=np.uint64)
    for each in cells:
        bits = (each + 0.0).view(np.uint64)
        keys += (bits ^ (bits >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    keys ^= keys >> np.uint64(31)
    return np.sort(np.argsort(keys, kind="stable")[:MOST_ROWS])


def as_labels(encoded: EncodedColumn) -> EncodedColumn:
    """Return a column of codes as one of labels: equal or not, and nothing between."""
    held = [cells[~np.isnan(cells)] for cells in encoded.cells.values()]
    known = np.unique(np.concatenate(held))
    labels = tuple(f"{number:.0f}" if number.is_integer() else f"{number:.15g}" for number in known.tolist())
    cells = {
        table: np.where(np.isnan(each), np.nan, np.searchsorted(known, each).astype(np.float64))
        for table, each in encoded.cells.items()
    }
    column = Categorical(name=encoded.column.name, labels=labels)
    return replace(encoded, column=column, cells=cells)


def called_code(name: str) -> bool:
    """Whether a column's name says that its numbers stand for something.

    >>> [called_code(name) for name in ("CCS Diagnosis Code", "admission_type_id", "zipCode", "paid")]
    [True, True, True, False]
    >>> [called_code(name) for name in ("race", "birth_state", "n_ward", "state_tax")]
    [True, True, False, False]
    """
    words = name_words(name)
    if not CALLED_CODES.isdisjoint(words):
        return True
    return bool(words) and words[-1] in CALLED_KINDS and HOW_MANY.isdisjoint(words)


def is_code(table: Table, position: int) -> bool:
    """Whether whole numbers that nobody explained stand for something, by their name or by their looks."""
    column = table.schema.columns[position]
    cells = table.values[:, position]
    levels = CountedValues.of(column, cells)
    counts = levels.counts[1:-1]
    shared = counts[counts >= LEAST_SHARED].sum() / max(counts.sum(), 1)
    if called_code(column.name):
        return bool(shared >= COVERED)
    if not (shared >= COVERED_WITHOUT_NAME and FEWEST_CODES <= len(counts) <= MOST_CODES):
        return False
    if len(counts) < DENSE * (np.nanmax(cells) - np.nanmin(cells) + 1):
        return False
    return unlikeness_of_neighbors(table, position) >= UNORDERED


def unlikeness_of_neighbors(table: Table, position: int) -> float:
    """Return how much neighbors among a column's values differ in the other columns, beside any two values.

    About 1 where the order of the values means nothing, near 0 where they are a scale, and 0 where values
    differ in nothing. What differs by chance is taken off.
    """
    column, cells = table.schema.columns[position], table.values[:, position]
    held = ~np.isnan(cells)
    _, code, counts = np.unique(cells[held], return_inverse=True, return_counts=True)
    kept = np.flatnonzero(counts >= LEAST_SHARED)
    if len(kept) < FEWEST_CODES:
        return 0.0
    every = np.triu_indices(len(kept), 1)
    beside = (np.arange(len(kept) - 1), np.arange(1, len(kept)))
    near = far = 0.0
    others = sorted(name for name in table.schema.names if name != column.name)[:MOST_BESIDE]
    for name in others:
        for goal in _as_numbers(table.schema[name], table.column(name)[held]):
            means, spread = np.bincount(code, weights=goal) / counts, float(goal.var())
            noise = float(((goal - means[code]) ** 2).mean())
            between = counts[kept] @ (means[kept] - np.average(means[kept], weights=counts[kept])) ** 2
            if between > noise * (len(kept) + CHANCE * np.sqrt(2 * len(kept))):
                near += _difference(means[kept], counts[kept], noise, beside) / spread
                far += _difference(means[kept], counts[kept], noise, every) / spread
    return round(near / far, 9) if far > 0 else 0.0


def _difference(
    means: Floats, counts: NDArray[np.int64], noise: float, pairs: tuple[NDArray[np.int64], ...]
) -> float:
    """Return the mean squared difference of pairs of means, without what chance adds to it."""
    one, other = pairs
    expected = 1 / counts[one] + 1 / counts[other]
    return float(np.average((means[one] - means[other]) ** 2 - noise * expected, weights=1 / expected))


def _as_numbers(column: Column, cells: Floats) -> list[Floats]:
    """Return a column as numbers whose means can be compared: ranks, or whether it is a label."""
    if isinstance(column, Categorical):
        labels, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
        return [
            (cells == label).astype(float)
            for label in labels[np.argsort(-counts, kind="stable")][:MOST_LABELS]
        ]
    held = ~np.isnan(cells)
    ranks = np.full(len(cells), 0.5)
    ranks[held] = np.argsort(np.argsort(cells[held], kind="stable")) / max(int(held.sum()), 1)
    return [ranks]
