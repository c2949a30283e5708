"""Which columns that stay as they are tell a quasi-identifier more finely than it is released?

``education`` may be generalized, but a column with its number beside it says which it was. Two ways lead
there: a column that stays determines a quasi-identifier, which can then be read off it; or it follows from
one, so that whoever knows the quasi-identifier knows this column, too. Either parts classes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Indices, Table
from tabveil.core.wording import listed, name
from tabveil.tables.matrices.ordinal import Codes, CountedValues
from tabveil.tables.matrices.ranked_kernels import find_determined

REPEATED = 0.5
"""Of the rows that have a value, so many must have one that a row before has: a column in which nearly every
row has its own determines all others, and says nothing."""
CHANCE = 1e-9
"""Columns determine others only if random ones would do so this rarely."""


@dataclass(frozen=True, kw_only=True)
class TellingColumn:
    """A column that stays as it is and tells quasi-identifiers."""

    name: str
    determines: tuple[str, ...]  # quasi-identifiers
    follows_from: tuple[str, ...]  # quasi-identifiers
    k: int  # rows of the smallest class if this column is known, too

    @property
    def sentence(self) -> str:
        """What it does, in words."""
        both = [each for each in self.determines if each in self.follows_from]
        only = [each for each in self.determines if each not in both]
        source = [each for each in self.follows_from if each not in both]
        told = [f"goes one to one with {listed(both)}"] if both else []
        told += [f"determines {listed(only)}"] if only else []
        told += [f"follows from {listed(source)}"] if source else []
        return f"{name(self.name)} stays as it is and {', '.join(told)}: with it k is {self.k:,}."


def telling_columns(
    table: Table, rows: Indices, classes: Indices, generalized: Sequence[str]
) -> tuple[tuple[TellingColumn, ...], int]:
    """Return the columns beside quasi-identifiers that part classes, and k if all of them are known.

    ``rows`` of the table are released in these ``classes`` (n_released,), with ``generalized`` columns.
    """
    kept = [column.name for column in table.schema.columns if column.name not in set(generalized)]
    position = {column: place for place, column in enumerate(table.schema.names)}
    levels = [CountedValues.of(column, table.column(column.name)) for column in table.schema.columns]
    codes = np.column_stack([each.codes(table.values[:, k]) for k, each in enumerate(levels)])
    ours = [position[each] for each in generalized]
    theirs = [position[each] for each in kept]
    tried = np.zeros((len(levels), len(levels)), dtype=np.bool_)
    tried[np.ix_(ours, theirs)] = tried[np.ix_(theirs, ours)] = True
    tried &= _beyond_chance(levels)
    holds = find_determined(
        np.ascontiguousarray(codes.T), np.array([len(each.counts) for each in levels]), tried
    )
    found, before = [], len(np.unique(classes))
    parts: list[Indices | Codes] = [classes]
    for k in theirs:
        determines = [each for each in ours if holds[k, each]]
        follows_from = [each for each in ours if holds[each, k]]
        own: list[Codes] = (
            [codes[rows, each] for each in determines] if not follows_from else [codes[rows, k]]
        )
        if not determines and not follows_from:
            continue
        n_classes, smallest = _classes([classes, *own])
        if n_classes > before:
            parts += own
            found.append(
                TellingColumn(
                    name=table.schema.names[k],
                    determines=tuple(table.schema.names[each] for each in determines),
                    follows_from=tuple(table.schema.names[each] for each in follows_from),
                    k=smallest,
                )
            )
    return tuple(found), _classes(parts)[1]


def _beyond_chance(levels: Sequence[CountedValues]) -> NDArray[np.bool_]:
    """Return (d, d) whether a column that determines another could hardly do so by chance.

    Rows with the same value of a random column would have to agree in the other one by one.
    """
    repeated = np.array([each.counts[1:].sum() - np.count_nonzero(each.counts[1:]) for each in levels])
    enough = repeated >= REPEATED * np.array([max(each.counts[1:].sum(), 1) for each in levels])
    agree = np.array([((each.counts / max(each.counts.sum(), 1)) ** 2).sum() for each in levels])
    return np.asarray(enough[:, None] & (repeated[:, None] * np.log(agree) <= np.log(CHANCE)))


def _classes(columns: Sequence[Indices | Codes]) -> tuple[int, int]:
    """Return how many different rows these columns have, and how many rows the rarest is."""
    _, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
    return len(counts), int(counts.min())
