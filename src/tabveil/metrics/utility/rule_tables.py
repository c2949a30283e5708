"""The rows in which rules are looked for, verified and counted, column by column.

A rule is found in training rows. What holds there by accident is dropped by one half of the control rows; the
other half tells how often real people break what is left, so that nothing is compared with rows that were
chosen to keep to it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.sampling import draw, shuffled
from tabveil.core.table import Column, Floats, Indices, Numeric, Split, Table
from tabveil.errors import NotApplicable
from tabveil.tables.matrices.ordinal import Codes, ComparedLevels

MOST_ROWS = 100_000
MOST_COLUMNS = 200
"""Rules are looked for in at most so many rows of each table, and among so many columns."""
LEAST_VERIFIED = 20
"""A rule is verified if it holds in at least so many rows that it had not been found in."""
NUMBERS, TIMES, DATES = range(3)
"""Columns of one of these kinds can be compared by size."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """Some rows, column by column."""

    cells: Floats  # (d, n), NaN for missing
    codes: Codes  # (d, n), equal for equal values of any of the tables

    def __len__(self) -> int:
        return int(self.cells.shape[1])


@dataclass(frozen=True, kw_only=True, eq=False)
class RuleTables:
    """The columns that are looked at, and the rows of each kind."""

    columns: tuple[Column, ...]
    sizes: Indices  # (d,) how many codes each column has
    clocks: Floats  # (d,) microseconds in a unit of a column of times; 1 for others
    kinds: NDArray[np.int64]  # (d,) numbers, times or dates; -1 for labels
    learned: Rows
    verifying: Rows
    fresh: Rows
    synthetic: Rows
    notes: tuple[str, ...]

    @classmethod
    def of(cls, split: Split, *, clocks: Mapping[str, int], rng: Generator) -> Self:
        """Divide the real rows, and keep no more of anything than can be looked at."""
        split, notes = _narrow(split)
        learned, verifying, fresh = _real(split, rng=rng)
        parts = [_at_most(part, rng=rng) for part in (learned, verifying, fresh, split.synthetic)]
        if any(len(whole) > MOST_ROWS for whole in (learned, split.synthetic)):
            notes = (*notes, f"Rules are looked for in at most {MOST_ROWS:,} rows of each table.")
        columns = split.schema.columns
        sizes, codes = [], []
        for column in columns:
            levels = ComparedLevels.of(column, parts)
            sizes.append(len(levels))
            codes.append([rows.astype(np.int32) for rows in levels.rows])
        made = [
            Rows(
                cells=np.ascontiguousarray(part.values.T),
                codes=np.ascontiguousarray(np.vstack([each[place] for each in codes])),
            )
            for place, part in enumerate(parts)
        ]
        return cls(
            columns=columns,
            sizes=np.array(sizes),
            clocks=np.array([float(clocks.get(column.name, 1)) for column in columns]),
            kinds=np.array([_kind(column, clocks) for column in columns]),
            learned=made[0],
            verifying=made[1],
            fresh=made[2],
            synthetic=made[3],
            notes=notes,
        )

    def in_time(self, rows: Rows) -> Floats:
        """Return the cells with times in microseconds, so that days and seconds can be compared."""
        return np.ascontiguousarray(rows.cells * self.clocks[:, None])

    def names(self, places: Sequence[int]) -> tuple[str, ...]:
        """Return the names of columns."""
        return tuple(self.columns[place].name for place in places)


def _kind(column: Column, clocks: Mapping[str, int]) -> int:
    if not isinstance(column, Numeric):
        return -1
    if column.arbitrary_zero:
        return DATES
    return TIMES if column.name in clocks else NUMBERS


def _narrow(split: Split) -> tuple[Split, tuple[str, ...]]:
    """Keep the columns in which the most training rows hold something, by name."""
    names = sorted(split.schema.names)
    if len(names) <= MOST_COLUMNS:
        return split.select(names), ()
    missing = {name: int(np.isnan(split.train.column(name)).sum()) for name in names}
    kept = sorted(sorted(names, key=lambda name: (missing[name], name))[:MOST_COLUMNS])
    note = f"Rules are looked for among {MOST_COLUMNS} of {len(names)} columns, those with the most values."
    return split.select(kept), (note,)


def _real(split: Split, *, rng: Generator) -> tuple[Table, Table, Table]:
    """Return the rows to find rules in, those that verify them, and those that are like a release."""
    if len(split.control):
        rows, least = shuffled(split.control, rng=rng).table, 2 * LEAST_VERIFIED
        half = len(rows) // 2
        parts = split.train, rows.take(np.arange(half)), rows.take(np.arange(half, len(rows)))
    else:
        rows, least = shuffled(split.train, rng=rng).table, 4 * LEAST_VERIFIED
        ends = [0, len(rows) // 2, 3 * len(rows) // 4, len(rows)]
        first, second, third = (rows.take(np.arange(*ends[i : i + 2])) for i in range(3))
        parts = first, second, third
    if len(rows) < least:
        which = "control" if len(split.control) else "training"
        raise NotApplicable(f"rules: needs at least {least} {which} rows to verify any, got {len(rows)}.")
    return parts


def _at_most(table: Table, *, rng: Generator) -> Table:
    """Sample rows, in the order of their content: rules are broken early, however a file is sorted."""
    return draw(table, MOST_ROWS, rng=rng).table
