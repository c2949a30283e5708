"""A kernel on tables in linear time: how often do two rows fall in the same cell of a random partition?

The kernel is ``exp(-d / width)`` with d the sum of Gower's distance over the columns. Adding it up over all
pairs of rows takes quadratic time. But it is also the probability that two rows share a cell of a suitable
random partition (random binning, Rahimi and Recht 2007, here extended to categories and missing values), and
counting the rows of a cell takes linear time. The average over finitely many partitions is itself a positive
definite kernel. Only integers are summed, so neither threads nor the order of rows can move a digit.
"""

from dataclasses import dataclass
from threading import Lock

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core import workers
from tabveil.core.table import Floats, Indices, Numeric, Schema, Table
from tabveil.metrics.indicators.partition_kernels import add_counts, hash_bins
from tabveil.tables.matrices.scale import unit

_PAIRS_FOR_MEDIAN = 2000
_PARTITIONS_AT_ONCE = 8
_PERSON = np.uint64(0xD1B54A32D192ED03)  # what a person's number adds to the hash of a cell: any odd one
_MISSING = -1.0  # below every cell, and at any pitch in a bin of its own


def unit_cells(table: Table) -> Floats:
    """Return (d, n) cells by column name: numbers in [0, 1], categories as codes, missing as -1."""
    cells = unit(table.select(sorted(table.schema.names)))
    return np.ascontiguousarray(np.nan_to_num(cells, nan=_MISSING).T)


def _is_numeric(schema: Schema) -> NDArray[np.bool_]:
    return np.array([isinstance(schema[name], Numeric) for name in sorted(schema.names)])


def median_distance(cells: Floats, schema: Schema, *, rng: Generator) -> float:
    """Return the median Gower sum between random pairs of rows (the mean where most pairs are equal)."""
    a, b = (cells[:, rng.integers(0, cells.shape[1], _PAIRS_FOR_MEDIAN)] for _ in range(2))
    one_missing = (a == _MISSING) != (b == _MISSING)
    by_difference = _is_numeric(schema)[:, None] & ~one_missing
    sums = np.sort(np.where(by_difference, np.abs(a - b), (a != b) * 1.0).sum(axis=0))
    return float(np.median(sums)) or float(sums.mean())


@dataclass(frozen=True, kw_only=True, eq=False)
class Partitions:
    """How each partition reads each column; every array is (n_partitions, d)."""

    slope: Floats  # bins a unit; 0 where the column is ignored
    offset: Floats
    factor: NDArray[np.uint64]  # what a bin's number adds to the hash of the cell

    def __len__(self) -> int:
        return len(self.slope)


def draw_partitions(schema: Schema, width: float, n_partitions: int, *, rng: Generator) -> Partitions:
    """Draw partitions in which two rows share a cell with probability ``exp(-d / width)``.

    A category counts with probability ``1 - exp(-1 / width)``, so that a mismatch costs 1. A number falls in
    bins of random pitch and offset; pitches from Gamma(2, width) give ``exp(-|a - b| / width)``. As |a - b|
    never exceeds 1, pitches above 1 may be replaced by a mixture of "pitch 1" and "column ignored" without
    changing that; and where the column counts, a missing value is a bin of its own and so costs 1, too.
    """
    numeric, shape = _is_numeric(schema), (n_partitions, len(schema))
    pitch = rng.gamma(2.0, width, shape)
    ignored = np.where(
        numeric,
        (pitch > 1) & (rng.random(shape) < width / (1 + width)),
        rng.random(shape) < np.exp(-1 / width),
    )
    slope = np.where(numeric, 1 / np.clip(pitch, 1e-9, 1.0), 1.0)
    return Partitions(
        slope=np.where(ignored, 0.0, slope),
        offset=np.where(numeric, rng.random(shape), 0.0),
        factor=rng.integers(0, 2**64, shape, dtype=np.uint64) | np.uint64(1),
    )


def count_shared(cells: Floats, roles: NDArray[np.uint8], partitions: Partitions) -> Indices:
    """Count for every row (a column of ``cells``) the rows of each role in its cells, over all partitions.

    ``roles`` are 0, 1 or 2. Returns (n, 3).
    """
    total = np.zeros((len(roles), 3), np.int64)
    lock = Lock()

    def work(start: int, stop: int) -> None:
        shared = np.zeros_like(total)
        for p in range(start, stop):
            keys = hash_bins(cells, partitions.slope[p], partitions.offset[p], partitions.factor[p])
            add_counts(keys, roles, shared)
        with lock:  # integers: the order of the additions does not matter
            np.add(total, shared, out=total)

    workers.each_chunk(len(partitions), _PARTITIONS_AT_ONCE, work, doing="comparing densities")
    return total


def count_shared_of_person(cells: Floats, whose: Indices, partitions: Partitions) -> Indices:
    """Count for every row the rows of the same person in its cells, itself among them, over all partitions.

    The person is one column more, in which every number is a bin of its own. Returns (n,).
    """
    more = np.ones((len(partitions), 1))
    by_person = Partitions(
        slope=np.hstack([partitions.slope, more]),
        offset=np.hstack([partitions.offset, 0 * more]),
        factor=np.hstack([partitions.factor, np.full_like(partitions.factor[:, :1], _PERSON)]),
    )
    with_person = np.ascontiguousarray(np.vstack([cells, whose.astype(np.float64)]))
    return count_shared(with_person, np.zeros(len(whose), dtype=np.uint8), by_person)[:, 0]
