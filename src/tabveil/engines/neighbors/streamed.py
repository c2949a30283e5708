"""A search of more rows than fit into memory: consecutive parts of the reference, one after the other.

The nearest of all rows are the nearest among the nearest of each part, and equally near rows count in the
order they stand: a row of an earlier part comes before one of a later. Sums of costs are the same to the last
bit wherever a row stands, so what is found does not depend on how many parts there are. Queries go by parts,
too, and only the best of each are kept.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tabveil.core import memory, workers
from tabveil.core.storage import spool
from tabveil.core.table import Floats, Indices, Table

Search = Callable[[Table, int], tuple[Floats, Indices]]
"""Finds so many nearest rows for each of some queries: their totals, and where they stand."""

A_ROW, A_CELL = 120, 40
"""Bytes that arranging rows takes: measured 300 a row of 12 columns at its peak, in a million rows."""
FEWEST_ROWS = 4096
"""Parts are no smaller: then memory is too small for anything."""
_SHARE = 0.5  # of what is left, for one part and the queries of one turn


def rows_at_once(n_rows: int, n_columns: int) -> int | None:
    """Return how many rows a search may arrange, None where all of them may."""
    left = memory.left()
    if left is None:
        return None
    fitting = int(left * _SHARE) // (2 * (A_ROW + A_CELL * n_columns))  # as many of the queries
    return None if fitting >= n_rows else max(fitting, FEWEST_ROWS)


def search(
    reference: Table, queries: Table, k: int, at_once: int, arranged: Callable[[Table], Search]
) -> tuple[Floats, Indices]:
    """Find the ``k`` nearest rows of every query among parts of ``at_once`` rows, as all at once would."""
    n, m = len(reference), len(queries)
    best, found = spool.room((m, k)), spool.room((m, k), np.int64)
    best[:], found[:] = np.inf, np.iinfo(np.int64).max
    for start in range(0, n, at_once):
        part = _rows(reference, start, start + at_once)
        with workers.part(start / n, min((start + at_once) / n, 1.0)):
            look = arranged(part)
            for first in range(0, m, at_once):
                some = slice(first, first + at_once)
                total, index = look(_rows(queries, first, first + at_once), min(k, len(part)))
                best[some], found[some] = _merged(best[some], found[some], total, index + start)
    return best, found


def _rows(table: Table, start: int, stop: int) -> Table:
    """Return consecutive rows where they stand; nothing is copied."""
    people = None if table.people is None else table.people[start:stop]
    return replace(table, values=table.values[start:stop], people=people)


def _merged(best: Floats, found: Indices, total: Floats, index: Indices) -> tuple[Floats, Indices]:
    """Return the nearest of both; of equally near ones those of the earlier part."""
    totals, rows = np.concatenate([best, total], axis=1), np.concatenate([found, index], axis=1)
    order = np.argsort(totals, axis=1, kind="stable")[:, : best.shape[1]]
    return np.take_along_axis(totals, order, axis=1), np.take_along_axis(rows, order, axis=1)
