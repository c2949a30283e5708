"""Columns that another one determines, such as a code and its description: found, so that pairs stay pairs.

Only exact dependencies count: every value of the source, however rare, goes with one value of the column. And
only pairs that enough rows share are ever told: a rarer one can be somebody's.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Numeric, Table
from tabveil.tables.matrices.ordinal import MISSING, Codes, CountedValues
from tabveil.tables.matrices.ranked_kernels import find_determined

COVERED = {"labels": 0.5, "numbers": 0.95}
"""Of the rows that have a value of the source, so many must have one that enough rows share.

Rare labels are mostly replaced before anything is learned; rare numbers stay, and nothing follows from them.
"""
LOST = 0.01
"""In at most so many rows may the column have a value that enough rows share, but by no such source."""
NOTHING = -1


class Dependency(NamedTuple):
    """A column that follows from another, by their positions in the table."""

    source: int
    column: int


def dependencies_of(table: Table) -> list[Dependency]:
    """Return the dependencies in a table."""
    levels = [CountedValues.of(column, table.column(column.name)) for column in table.schema.columns]
    codes = [each.codes(table.values[:, k]) for k, each in enumerate(levels)]
    return find_dependencies(np.column_stack(codes), levels)


def find_dependencies(
    codes: Codes, levels: Sequence[CountedValues], *, lost: float = LOST
) -> list[Dependency]:
    """Return the dependencies in the codes (n, columns) of a table, at most one source for each column.

    A source has more values than the column that follows from it, or as many and stands before it. Of several
    sources the one with the fewest values is taken: a county says more about its state than a street does.
    Whoever keeps values of the column which no shared value of the source has lets any share be ``lost``.
    """
    by_column = np.ascontiguousarray(codes.T)
    counts = [each.counts for each in levels]
    n_values = np.array([np.count_nonzero(each) for each in counts])
    covered = [_covered(each) for each in levels]
    tried = np.zeros((len(counts), len(counts)), dtype=np.bool_)
    ranked = sorted(range(len(counts)), key=lambda column: (-n_values[column], column))
    for place, source in enumerate(ranked):
        tried[source, ranked[place + 1 :]] = covered[source]
    tried &= (n_values > 1)[:, None] & (n_values > 1)
    holds = find_determined(by_column, np.array([len(each) for each in counts]), tried)
    found = []
    for column in range(len(counts)):
        sources = sorted(np.flatnonzero(holds[:, column]).tolist(), key=lambda each: (n_values[each], each))
        for source in sources:
            if _says_enough(by_column[source], by_column[column], lost):
                found.append(Dependency(source, column))
                break
    return found


def _covered(levels: CountedValues) -> bool:
    """Whether most rows that have a value have one that enough rows share."""
    held = np.delete(levels.counts, MISSING)
    kind = "numbers" if isinstance(levels.column, Numeric) else "labels"
    return bool(held[held >= LEAST_SHARED].sum() >= COVERED[kind] * max(held.sum(), 1))


def _says_enough(keys: Codes, goal: Codes, most: float) -> bool:
    """Whether the pairs that enough rows share differ, and hold nearly all values that enough rows share."""
    wanted = pairs(keys, goal, int(keys.max()) + 1)
    told = np.unique(wanted[wanted >= 0])
    held = np.bincount(goal)
    lost = np.setdiff1d(np.flatnonzero(held >= LEAST_SHARED), told)
    return bool(len(told) > 1 and held[lost].sum() <= most * len(goal))


def pairs(keys: Codes, goal: Codes, n_keys: int, *, least: int = LEAST_SHARED) -> Codes:
    """Return the code of the goal that goes with each key, -1 where rows disagree or too few have the key."""
    wanted = np.full(n_keys, NOTHING, dtype=np.int32)
    wanted[keys] = goal
    wanted[keys[wanted[keys] != goal]] = NOTHING
    wanted[np.bincount(keys, minlength=n_keys) < least] = NOTHING
    return wanted


def families(dependencies: Sequence[Dependency]) -> list[list[int]]:
    """Return each column that others follow from, and itself from none, with these others and theirs."""
    following = {item.column for item in dependencies}
    roots = sorted({item.source for item in dependencies} - following)
    return [[root, *_followers(dependencies, root)] for root in roots]


def _followers(dependencies: Sequence[Dependency], source: int) -> list[int]:
    direct = [item.column for item in dependencies if item.source == source]
    return [*direct, *(other for column in direct for other in _followers(dependencies, column))]
