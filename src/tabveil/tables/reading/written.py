"""What stands written in the tables, for those who look for values and passages that reappear.

Rows are compared without their texts, and without identifiers where these are left out. Here stand the words
themselves: every column of labels or texts, also those that only some of the tables have, as a name is that a
release rightly lacks but may hold in a text.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tabveil.core.table import Categorical, Floats, Holds, Numeric, Schema, Split, Table
from tabveil.tables.reading.encode import EncodedColumn
from tabveil.tables.reading.identifiers import names_people
from tabveil.tables.reading.raw_column import EXACT, Kind


def written_split(
    read: Mapping[str, EncodedColumn],
    *,
    n_rows: Mapping[str, int],
    texts: Collection[str],
    identifiers: Collection[str],
) -> Split | None:
    """Return the tables of words; None where there are none. A table that lacks a column has it missing.

    ``texts`` are columns of free text, ``identifiers`` those that the user says name people.
    """
    columns: list[Categorical] = []
    cells: list[Mapping[str, Floats]] = []
    for name, encoded in read.items():
        holds: Holds = "text" if name in texts else "identifiers" if name in identifiers else "labels"
        found = _words_of(encoded, said=name in identifiers)
        if found is not None:
            columns.append(replace(found[0], holds=holds))
            cells.append(found[1])
    if not columns:
        return None
    schema = Schema(tuple(columns))
    return Split(**{role: _table(schema, cells, role, n_rows.get(role, 0)) for role in _ROLES})


def named_split(read: Mapping[str, EncodedColumn], *, n_rows: Mapping[str, int]) -> Split | None:
    """Return columns that name people, as they were read, also where no metric compares them.

    Those that train and release both have; None where there are none. Control may lack some: missing there.
    """
    both = [encoded for encoded in read.values() if {"train", "synthetic"} <= encoded.cells.keys()]
    if not both:
        return None
    schema, cells = Schema(tuple(encoded.column for encoded in both)), [encoded.cells for encoded in both]
    return Split(**{role: _table(schema, cells, role, n_rows.get(role, 0)) for role in _ROLES})


_ROLES = ("train", "control", "synthetic")


def _table(schema: Schema, cells: Sequence[Mapping[str, Floats]], role: str, n_rows: int) -> Table:
    values = np.full((n_rows, len(cells)), np.nan, order="F")
    for position, each in enumerate(cells):
        if role in each:
            values[:, position] = each[role]
    return Table(schema=schema, values=values)


def _words_of(encoded: EncodedColumn, *, said: bool) -> tuple[Categorical, Mapping[str, Floats]] | None:
    """Return a column as labels: labels as they are, and whole numbers that name people as their digits."""
    match encoded.column:
        case Categorical() as column if encoded.place.kind is Kind.LABELS:
            return column, encoded.cells
        case Numeric(name=name, integer=True, low=low, high=high) if (
            encoded.place.kind is Kind.NUMBER and max(abs(low), abs(high)) < EXACT
        ) and (said or names_people(name)):
            return _digits(name, encoded.cells)
    return None


def _digits(name: str, cells: Mapping[str, Floats]) -> tuple[Categorical, Mapping[str, Floats]]:
    known = np.unique(np.concatenate([each[~np.isnan(each)] for each in cells.values()]))
    codes = {
        role: np.where(np.isnan(each), np.nan, np.searchsorted(known, each).astype(np.float64))
        for role, each in cells.items()
    }
    return Categorical(name=name, labels=tuple(f"{number:.0f}" for number in known)), codes
