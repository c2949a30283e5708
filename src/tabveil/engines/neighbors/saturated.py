"""Search where a column costs 1 at most: rows that agree in few columns are passed over a block at a time.

Such a cost prunes badly in boxes: rows far away in one number are no farther than rows a little away. But all
columns are alike then, labels and numbers, and what each costs is bounded from below in single precision, for
many rows at once.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.neighbors.index import SortedRows, encode_codes, encode_values
from tabveil.engines.neighbors.saturated_kernels import (
    AT_ONCE,
    BLOCK,
    bound_blocks,
    order_rows,
    search_saturated,
)
from tabveil.engines.neighbors.space import Space

Singles = NDArray[np.float32]

_FARTHEST = 2.0**15  # from the middle, in units of what costs 1: beyond, places are no farther
_NOWHERE = 2.0**20  # where a missing number stands: far from all, and at no distance from its like
_SINGLE = 2.0**-24  # the rounding error of single precision
_ROWS_TOLD_BY = 4096  # which columns tell rows apart
_KINDS = 251  # of labels: some that differ look alike in a byte, which an exact look tells apart


@dataclass(frozen=True, kw_only=True, eq=False)
class _Layout:
    """Where numbers count from, and in which order columns are looked at: first those that tell most."""

    middle: Floats  # (d,)
    labels: Indices  # (c,)
    numbers: Indices  # (d,)

    @classmethod
    def of(cls, codes: NDArray[Any], values: Floats, weights: Floats) -> Self:
        middle = np.array([_median(column) for column in values.T])
        some = slice(0, _ROWS_TOLD_BY)
        gaps = (values[some] - np.roll(values[some], 1, axis=0)) * weights
        costs = np.minimum(np.where(np.isnan(gaps), 1.0, gaps) ** 2, 1.0)
        differ = codes[some] != np.roll(codes[some], 1, axis=0)
        return cls(
            middle=middle,
            labels=np.argsort(-differ.sum(axis=0), kind="stable"),
            numbers=np.argsort(-costs.sum(axis=0), kind="stable"),
        )


def _median(column: Floats) -> float:
    present = column[~np.isnan(column)]
    return float(np.median(present)) if len(present) else 0.0


@dataclass(frozen=True, kw_only=True, eq=False)
class SaturatedRows:
    """The different rows of a table, those that are alike side by side."""

    codes: NDArray[Any]  # (n, c)
    values: Floats  # (n, d), NaN where missing
    weights: Floats  # (d,)
    labels: NDArray[np.uint8]  # (n, c') the codes as bytes
    numbers: Singles  # (n, d') places in units of what costs 1
    kind_of: Indices  # (m,) which of the different rows each row of the table is
    members: tuple[Indices, Indices]  # where the copies of each begin, and they
    layout: _Layout

    @classmethod
    def of(cls, space: Space, table: Table, layout: _Layout | None = None) -> Self:
        """Arrange a table, by itself or in the ``layout`` of another; columns of zeros fill the last step."""
        unweighted = tuple(column.name for column in space.measured if column.weight <= 0)
        codes = encode_codes(space, table, unweighted)  # these differ only where one of two is missing
        values, weights = encode_values(space, table)
        rows = SortedRows.of(codes, values)
        kinds = rows.representatives
        codes, values = codes[:, kinds].T, values[kinds]
        layout = layout or _Layout.of(codes, values, weights)
        places = np.clip((values - layout.middle) * weights, -_FARTHEST, _FARTHEST)
        places[np.isnan(places)] = _NOWHERE
        labels, numbers = _filled(codes[:, layout.labels]), _filled(places[:, layout.numbers])
        order = np.arange(len(kinds))
        order_rows(_as_places(labels, numbers), BLOCK, order)
        at_least = np.promote_types(codes.dtype, np.uint16)  # or loops are compiled for bytes as well
        return cls(
            codes=codes[order].astype(at_least),
            values=values[order],
            weights=weights,
            labels=(labels % _KINDS).astype(np.uint8)[order],
            numbers=numbers.astype(np.float32)[order],
            kind_of=rows.places_in(order),
            members=rows.copies_in(order),
            layout=layout,
        )

    def __len__(self) -> int:
        return len(self.codes)


def _filled(columns: NDArray[Any]) -> NDArray[Any]:
    """Add columns of zeros (n, j) until whole steps go through them."""
    missing = -columns.shape[1] % AT_ONCE
    return np.pad(columns, ((0, 0), (0, missing)))


def _as_places(labels: NDArray[Any], numbers: NDArray[Any]) -> Singles:
    """Return all columns as numbers of which a difference of 1 is as good as any larger one."""
    return np.ascontiguousarray(np.column_stack([labels, numbers]), dtype=np.float32)


class SaturatedIndex:
    """Reference rows in blocks, and what is known of each block."""

    def __init__(self, space: Space, table: Table) -> None:
        """Arrange rows, of which there must be one."""
        self.space = space
        self.rows = SaturatedRows.of(space, table)
        starts = np.arange(0, len(self.rows), BLOCK)
        places = _as_places(self.rows.labels, self.rows.numbers)
        self._low = np.ascontiguousarray(np.minimum.reduceat(places, starts).T)  # (c' + d', b)
        self._high = np.ascontiguousarray(np.maximum.reduceat(places, starts).T)
        self._blocks = (
            _in_blocks(self.rows.labels),
            _in_blocks(self.rows.numbers),
            np.diff(starts, append=len(self.rows)),
        )
        # Places are rounded, and so is a gap, of which at most 1 counts, in its square twice; then their sum.
        n_columns = places.shape[1]
        present = np.where(self.rows.numbers == _NOWHERE, 0, np.abs(self.rows.numbers))
        gap = 2 * _SINGLE * (np.minimum(present.max(axis=0) + 1, _FARTHEST) + 1)
        self.slack = 4 * float(gap.sum()) + 2 * _SINGLE * n_columns**2

    def asked(self, table: Table) -> SaturatedRows:
        """Return rows as they are searched for."""
        return SaturatedRows.of(self.space, table, self.rows.layout)

    def search(self, asked: SaturatedRows, some: slice, best: Floats, found: Indices) -> None:
        """Find the nearest of some of the different queries; answers go to ``best`` and ``found`` (m, k)."""
        places = _as_places(asked.labels[some], asked.numbers[some])
        bounds = np.empty((len(places), self._low.shape[1]), dtype=np.float32)
        bound_blocks(self._low, self._high, places, bounds)
        search_saturated(
            self._blocks,
            (self.rows.codes, self.rows.values, self.rows.weights, *self.rows.members),
            (asked.labels[some], asked.numbers[some], asked.codes[some], asked.values[some]),
            bounds,
            np.argsort(bounds.sum(axis=0), kind="stable"),
            self.slack,
            best,
            found,
        )


def _in_blocks(columns: NDArray[Any]) -> NDArray[Any]:
    """Return rows (n, j) as (blocks, j, BLOCK); zeros fill the last block."""
    n, width = columns.shape
    n_blocks = -(-n // BLOCK)
    padded = np.zeros((n_blocks * BLOCK, width), dtype=columns.dtype)
    padded[:n] = columns
    return np.ascontiguousarray(padded.reshape(n_blocks, BLOCK, width).transpose(0, 2, 1))
