"""A hierarchy made from the values themselves, where nobody wrote one down.

Cuts that follow the data tell where its quantiles are, so they are rounded. Labels are kept by how frequent
they are: at each level half as many stay themselves, and all rarer ones are "other".
"""

import math
from dataclasses import dataclass

import numpy as np

from tabveil.core.table import Numeric
from tabveil.synthesis.anonymize.building.column_values import ColumnValues, assemble
from tabveil.synthesis.anonymize.building.graded import Dates, Mask, NumberIntervals, as_moments
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

FEW = 4
"""Values: so few are not grouped, they only have one value for all above them."""
MOST_BINS = 16
OTHER = "other"
_LEAST_CODE, _MOST_MASKED = 3, 4
_ROUNDING = 64  # cuts are rounded to a readable fraction of the range, about this part of it
_DAYS = {"month": 60, "quarter": 180, "year": 730, "decade": 7300}
"""Days that dates must span for a unit to tell any of them apart."""


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The most frequent labels stay themselves, so many at each level; the others are one."""

    sizes: tuple[int, ...]

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column of labels."""
        cells, texts = values.possible()
        counts = np.zeros(len(cells), dtype=np.int64)
        counts[np.searchsorted(cells, values.cells)] = values.counts
        ranks = np.empty(len(cells), dtype=np.int64)
        ranks[np.argsort(-counts, kind="stable")] = np.arange(len(cells))
        other = OTHER
        while other in texts:
            other = f"({other})"
        levels = [
            tuple(text if rank < size else other for text, rank in zip(texts, ranks, strict=True))
            for size in self.sizes
        ]
        return assemble(values, cells, [texts, *levels], top=True)


@dataclass(frozen=True, kw_only=True)
class JoinedLabels:
    """Labels with an order, joined with their neighbors: so many in a group at each level."""

    sizes: tuple[int, ...]

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column of ordered labels."""
        cells, texts = values.possible()
        levels = []
        for size in self.sizes:
            groups = [texts[start : start + size] for start in range(0, len(texts), size)]
            names = [group[0] if len(group) == 1 else f"{group[0]} to {group[-1]}" for group in groups]
            levels.append(tuple(names[place // size] for place in range(len(texts))))
        return assemble(values, cells, [texts, *levels], top=True)


@dataclass(frozen=True, kw_only=True)
class Automatic:
    """Let the values decide: intervals, calendar units, prefixes of codes, neighbors, or frequent labels."""

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column."""
        found = self.choose(values)
        if found is None:
            cells, texts = values.possible()
            return assemble(values, cells, [texts], top=True)
        return found.build(values)

    def choose(self, values: ColumnValues) -> NumberIntervals | Dates | Mask | JoinedLabels | Kept | None:
        """Return what to make of a column; None where its values only have one value above them."""
        n_values = len(values.possible()[0])
        if len(values.cells) <= FEW:
            return None
        if values.clock is not None:
            return _calendar(values)
        if isinstance(values.column, Numeric):
            return _quantiles(values)
        if (steps := _masked(values)) is not None:
            return Mask(side="right", steps=steps)
        if values.column.ordered:
            return JoinedLabels(sizes=_powers(n_values - 1))
        return Kept(sizes=_powers(n_values - 2)[::-1])  # at least two are joined


def _powers(most: int) -> tuple[int, ...]:
    """Return the powers of two from 2 up to a number.

    >>> _powers(9)
    (2, 4, 8)
    """
    return tuple(2**power for power in range(1, most.bit_length()))


def _calendar(values: ColumnValues) -> Dates | None:
    moments = as_moments(values.cells, values.clock or 1)
    days = (moments[-1] - moments[0]) / np.timedelta64(1, "D")
    units = tuple(unit for unit, least in _DAYS.items() if days >= least)
    return Dates(units=units) if units else Dates(units=("day",)) if days >= 2 else None  # noqa: PLR2004 - days that can be told apart


def _quantiles(values: ColumnValues) -> NumberIntervals | None:
    """Cut where equally many rows lie between, at readable numbers; join pairs level by level."""
    low, high = float(values.cells[0]), float(values.cells[-1])
    integer = isinstance(values.column, Numeric) and values.column.integer
    step = _readable((high - low) / _ROUNDING)
    step = max(step, 1.0) if integer else step
    ranks = np.cumsum(values.counts) / values.counts.sum()
    wanted = values.cells[np.searchsorted(ranks, np.arange(1, MOST_BINS) / MOST_BINS)]
    digits = max(0, -math.floor(math.log10(step)))
    cuts = np.unique(np.round(np.round(wanted / step) * step, digits))
    cuts = cuts[(cuts > low) & (cuts <= high)]
    # Two cuts between which nothing lies part nothing.
    places = np.searchsorted(values.cells, cuts)
    cuts = cuts[np.append(True, np.diff(places) > 0)] if len(cuts) else cuts
    levels = []
    while len(cuts):
        levels.append(tuple(cuts.tolist()))
        cuts = cuts[1::2]
    return NumberIntervals(cuts=tuple(levels)) if levels else None


def _readable(width: float) -> float:
    """Return 1, 2 or 5 times a power of ten, at least as large.

    >>> _readable(0.013), _readable(3), _readable(5)
    (0.02, 5.0, 5.0)
    """
    if not width > 0:
        return 1.0
    power = math.floor(math.log10(width))
    for power_of_ten in (power, power + 1):
        for factor in (1, 2, 5):
            step = float(f"{factor}e{power_of_ten}")  # 2e-2 is 0.02, while 2 * 10**-2 may not be
            if step >= width * (1 - 1e-9):
                return step
    return width


def _masked(values: ColumnValues) -> tuple[int, ...] | None:
    """Return how many characters to mask, if the values are codes of one length with digits in them."""
    lengths = {len(text) for text in values.texts}
    length = lengths.pop() if len(lengths) == 1 else 0
    coded = all(any(letter.isdigit() for letter in text) for text in values.texts)
    if length < _LEAST_CODE or not coded:
        return None
    groups = [len({text[: length - step] for text in values.texts}) for step in range(length)]
    # A character that tells nothing apart, such as the dot in A10.2, is no level of its own.
    steps = [step for step in range(1, length) if groups[step] < groups[step - 1] and groups[step] > 1]
    return tuple(steps[:_MOST_MASKED]) or None
