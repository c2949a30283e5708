"""People who are alone with their values among all real people, and whose values stand in the release.

Who is alone, and whom released rows hit, is settled without a look at who was trained on. So where nothing
leaks, those hit are training people as often as their share of all real people: an exact test at any sizes of
the tables, in which nobody counts twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core import workers
from tabveil.core.table import Indices
from tabveil.metrics.agreement.cells import Cells, Hashes
from tabveil.metrics.agreement.kernels import count_hits, mark_hits

ROWS_AT_ONCE = 2_000_000
"""So many rows are looked up before another thread takes over, in one set or in many."""

Columns = Sequence[Sequence[int]]
"""Sets of cells, by their places."""


@dataclass(frozen=True, kw_only=True)
class Hits:
    """How many people of train and of control are hit, and how many released rows hit either."""

    train: int
    control: int
    rows_train: int
    rows_control: int

    @classmethod
    def of(cls, counts: Indices) -> Self:
        """Name the four counts of one set."""
        train, control, rows_train, rows_control = counts.tolist()
        return cls(train=train, control=control, rows_train=rows_train, rows_control=rows_control)

    @property
    def counts(self) -> Indices:
        """The four counts, (4,)."""
        return np.array([self.train, self.control, self.rows_train, self.rows_control])


def hits(cells: Cells, sets: Columns, *, left_out: bool = False) -> Indices:
    """Count for every set: people hit of train, of control, and rows that hit train, control; (n_sets, 4).

    Sets may name the cells that are ``left_out`` of all, which is faster where they are few.
    """
    members, starts = _joined(sets)
    totals = _totals(cells, left_out=left_out)
    counts = np.zeros((len(sets), 4), dtype=np.int64)

    def work(start: int, stop: int) -> None:
        count_hits(
            cells.real,
            cells.released,
            totals,
            cells.whose,
            cells.n_train,
            cells.n_people,
            members,
            starts[start : stop + 1],
            counts[start:stop],
        )

    workers.announce_compilation(count_hits)
    n_rows = cells.real.shape[1] + cells.released.shape[1]
    workers.each_chunk(len(sets), max(ROWS_AT_ONCE // max(n_rows, 1), 1), work, doing="sets of columns")
    return counts


def union(cells: Cells, sets: Columns, *, left_out: bool = False) -> Hits:
    """Count whom any of the sets hits.

    A row that points at train by one set and at control by another is evidence for neither.
    """
    members, starts = _joined(sets)
    people = np.zeros(cells.n_people, dtype=np.bool_)
    rows = np.zeros(cells.released.shape[1], dtype=np.uint8)
    workers.announce_compilation(mark_hits)
    mark_hits(
        cells.real,
        cells.released,
        _totals(cells, left_out=left_out),
        cells.whose,
        cells.n_train,
        members,
        starts,
        people,
        rows,
    )
    return Hits(
        train=int(people[: cells.n_train].sum()),
        control=int(people[cells.n_train :].sum()),
        rows_train=int(np.sum(rows == 1)),
        rows_control=int(np.sum(rows == 2)),  # noqa: PLR2004 - the mark of control
    )


def _joined(sets: Columns) -> tuple[Indices, Indices]:
    members = np.array([place for columns in sets for place in columns], dtype=np.int64)
    return members, np.cumsum([0, *(len(columns) for columns in sets)]).astype(np.int64)


def _totals(cells: Cells, *, left_out: bool) -> tuple[Hashes, Hashes]:
    if not left_out:
        return np.zeros(0, dtype=np.uint64), np.zeros(0, dtype=np.uint64)
    return cells.real.sum(axis=0, dtype=np.uint64), cells.released.sum(axis=0, dtype=np.uint64)
