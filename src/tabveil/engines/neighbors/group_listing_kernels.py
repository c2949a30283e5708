"""The compiled list of groups that differ from a query in so many columns, by whichever road is cheaper.

Levels are asked for one after the other. What is listed stays, so that queries with equal codes share it.
"""

# mypy: allow-untyped-defs
from numba import njit

from tabveil.engines.neighbors.group_count_kernels import (
    count_mismatches,
    counting_is_cheaper,
    list_counted,
)
from tabveil.engines.neighbors.group_tree_kernels import gather_level, list_level, start_listing


@njit(cache=True, nogil=True)
def start_levels(finder, codes, query, room):
    """Begin with a query (c,) among groups (c, n): no level is listed."""
    marks, waiting, listed, _, mismatches, lowest, _, _, notes = room
    notes[0], notes[1] = 0, counting_is_cheaper(codes, notes[2:])
    if notes[1]:
        count_mismatches(codes, query, mismatches, lowest)
    else:
        start_listing(finder, query, marks, waiting, listed)
        notes[2] += 1


@njit(cache=True, nogil=True)
def groups_at(finder, query, level, most, room):
    """Return the groups that differ from the query in ``level`` columns.

    Nobody will ask for levels beyond ``most`` before the next query begins. ``room`` is that of a
    ``GroupTree``; in the end of it, what was done: the first level not listed, whether all groups are counted
    for this query, and how many walks, tiles and groups there were.
    """
    marks, waiting, listed, counts, mismatches, lowest, found, begins, notes = room
    if notes[1]:
        notes[0] = list_counted(mismatches, lowest, notes[0], level, found, begins)
        return found[begins[level] : begins[level + 1]]
    while notes[0] <= level:
        notes[3] += list_level(finder, query, marks, notes[0], most, waiting, listed, counts)
        notes[0] += 1
    n = gather_level(listed, level, found)
    notes[4] += n
    return found[:n]
