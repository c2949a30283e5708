"""Columns as a few levels to count: labels, bins of numbers, missing values; and back to values.

Nothing here looks at the rows of a column whose domain was declared: its levels follow from the labels or
bounds alone, and there is always one for missing values. Of other columns the rows decide whether there is
such a level, as they decided the labels and bounds. That is why the values that occur, which
:mod:`~tabveil.tables.matrices.ordinal` numbers, are of no use here: differential privacy forbids to read
them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import draw_given
from tabveil.core.storage.arrays import require
from tabveil.core.storage.plain import require_plain
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, Schema, within
from tabveil.tables.matrices.ordinal import n_steps

PARTS = 5
"""Parts of a bin: how the rows of a bin are spread within it is counted once, without other columns."""

MOST_BINS = 10_000
"""More would not make a number finer, only its table larger."""

_EXACT = 2.0**52  # steps of a grid above this leave no room for the halves between them
_TINY = float(np.nextafter(0.0, 1.0))


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """A number's range, cut up: each bound by itself, and bins of equal width between them.

    The bounds stand alone because zero and the top of a scale are often frequent. ``edges`` are the first
    values of all parts and the end of the last, counted from the lower bound in steps of the last decimal
    (or of 1, where any number is legal); ``bin`` is the bin that each part belongs to.
    """

    column: Numeric
    edges: Floats  # (n_parts + 1,)
    bin: Indices  # (n_parts,)

    @classmethod
    def of(cls, column: Numeric, n_bins: int) -> Self:
        """Cut the range of a column; with few possible values, each has a bin to itself."""
        if column.width == 0:
            return cls(column=column, edges=np.array([0.0, 1.0]), bin=np.zeros(1, dtype=np.int64))
        if _on_grid(column):
            last = float(np.round(column.width / _step(column)))
            starts = np.round(np.linspace(1.0, max(last, 1.0), PARTS * n_bins + 1))
            end = starts[-1] + 1
        else:
            starts = np.linspace(_TINY, column.width, PARTS * n_bins + 1)
            end = starts[-1]
        parts = np.concatenate([[0.0], np.unique(starts)])
        bins = np.searchsorted(np.unique(starts[::PARTS]), parts, side="right")
        return cls(column=column, edges=np.append(parts, end), bin=bins.astype(np.int64))

    def __len__(self) -> int:
        return int(self.bin[-1]) + 1

    @property
    def widths(self) -> Floats:
        """How much of the range each part holds."""
        return np.diff(self.edges)

    def parts(self, cells: Floats) -> Indices:
        """Return the part that each number lies in; numbers outside the range count as its bounds."""
        steps = (np.clip(cells, self.column.low, self.column.high) - self.column.low) / _step(self.column)
        steps = np.round(steps) if _on_grid(self.column) else steps
        return np.searchsorted(self.edges[1:-1], steps, side="right").astype(np.int64)

    def values(self, parts: Indices, *, rng: Generator) -> Floats:
        """Draw a number from each part, all that are legal being equally likely."""
        low, high = self.edges[parts], self.edges[parts + 1]
        steps = low + rng.random(len(parts)) * (high - low)
        steps = np.where(high > _TINY, steps, 0.0)  # half of the way to the next number rounds to that number
        if _on_grid(self.column):
            steps = np.minimum(np.floor(steps), high - 1)
        return self.column.low + steps * _step(self.column)

    def spread(self, counts: Floats, variance: float) -> Floats:
        """Estimate how the rows of each bin are spread over its parts, from noisy counts of all parts.

        Noise alone would make an even bin uneven. So the differences from even parts are kept only as far as
        they are larger than noise makes them (James and Stein's shrinkage).
        """
        share = np.empty(len(counts))
        for i in range(len(self)):
            inside = self.bin == i
            even = self.widths[inside] / (self.widths[inside].sum() or 1.0)
            found = counts[inside]
            excess = found - even * max(found.sum(), 0.0)
            size = float(excess @ excess)
            kept = max(0.0, 1 - (len(found) - 1) * variance / size) if size > 0 else 0.0
            rows = np.maximum(found - (1 - kept) * excess, 0.0)
            share[inside] = rows / rows.sum() if rows.sum() > 0 else (even if even.sum() > 0 else 1.0)
        return share


@dataclass(frozen=True, kw_only=True, eq=False)
class Levels:
    """The levels of one column: its labels or bins, then missing."""

    column: Column
    bins: Bins | None  # None: labels
    has_values: bool
    has_missing: bool
    share: Floats | None = None  # how the rows of each bin are spread over its parts; None: evenly

    @classmethod
    def of(cls, column: Column, n_bins: int, *, has_values: bool, has_missing: bool) -> Self:
        """Lay out the levels of a column, one at least."""
        has_values = has_values and not (isinstance(column, Categorical) and not column.labels)
        bins = Bins.of(column, n_bins) if isinstance(column, Numeric) and has_values else None
        return cls(column=column, bins=bins, has_values=has_values, has_missing=has_missing or not has_values)

    @classmethod
    def seen(cls, column: Column, cells: Floats, n_bins: int) -> Self:
        """Lay out the levels of a column whose rows may be looked at."""
        absent = np.isnan(cells)
        return cls.of(column, n_bins, has_values=not absent.all(), has_missing=bool(absent.any()))

    def __len__(self) -> int:
        return self._n_values + self.has_missing

    def can_share(self, share: Floats) -> bool:
        """Whether these shares leave some part of each bin to draw from."""
        assert self.bins is not None, "labels have no parts"
        return bool((np.bincount(self.bins.bin, weights=share, minlength=len(self.bins)) > 0).all())

    @property
    def n_parts(self) -> int:
        """The number of parts worth counting: none where each bin has one."""
        return 0 if self.bins is None or len(self.bins.bin) == len(self.bins) else len(self.bins.bin)

    @property
    def _n_values(self) -> int:
        if self.bins is not None:
            return len(self.bins)
        return len(self.column.labels) if isinstance(self.column, Categorical) and self.has_values else 0

    def encode(self, cells: Floats) -> Indices:
        """Return the level of each cell; where the column has no level for missing, none is missing."""
        absent = np.isnan(cells)
        levels = np.full(len(cells), len(self) - 1, dtype=np.int64)
        if self.has_values:
            known = cells[~absent]
            levels[~absent] = known if self.bins is None else self.bins.bin[self.bins.parts(known)]
        return levels

    def decode(self, levels: Indices, *, rng: Generator) -> Floats:
        """Draw a value for each level."""
        cells = np.full(len(levels), np.nan)
        known = levels < self._n_values
        if self.bins is None:
            cells[known] = levels[known]
        else:
            bins = self.bins
            chances = np.zeros((len(bins), len(bins.bin)))  # of each part in each bin
            share = np.maximum(bins.widths, _TINY) if self.share is None else self.share
            chances[bins.bin, np.arange(len(bins.bin))] = share
            cells[known] = bins.values(draw_given(chances, levels[known], rng=rng), rng=rng)
        return within(self.column, cells)

    def with_parts(self, counts: Floats, variance: float) -> Self:
        """Learn from noisy counts of the parts how the rows of each bin are spread."""
        assert self.bins is not None, "labels have no parts"
        return replace(self, share=self.bins.spread(counts, variance))


def _on_grid(column: Numeric) -> bool:
    return n_steps(column) < _EXACT


def _step(column: Numeric) -> float:
    return 10.0**-column.decimals if column.decimals is not None and _on_grid(column) else 1.0


def flags_of(levels: Iterable[Levels]) -> list[list[bool]]:
    """Return what of levels does not follow from the schema, as plain data."""
    return [[bool(item.has_values), bool(item.has_missing)] for item in levels]


def levels_from_flags(schema: Schema, n_bins: int, flags: object) -> tuple[Levels, ...]:
    """Lay out the levels of all columns again, from what :func:`flags_of` returned."""
    known = require_plain(tuple[tuple[bool, bool], ...], flags, "levels")
    require(len(known) == len(schema), f"levels must be those of {len(schema)} columns, got {len(known)}")
    return tuple(
        Levels.of(column, n_bins, has_values=has_values, has_missing=has_missing)
        for column, (has_values, has_missing) in zip(schema.columns, known, strict=True)
    )
