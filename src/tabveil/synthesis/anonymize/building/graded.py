"""Hierarchies by rule: intervals of numbers, calendar units of dates, masked characters of codes.

Or made from the values themselves, where nobody wrote one down. Cuts that follow the data tell where its
quantiles are, so they are rounded. Labels are kept by how frequent they are: at each level half as many stay
themselves, and all rarer ones are "other".
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Categorical, Floats, Numeric
from tabveil.synthesis.anonymize.building.column_values import ColumnValues, EntryError, assemble
from tabveil.synthesis.anonymize.hierarchy import EVERYTHING, Hierarchy

INTERVALS = "intervals"
ROUNDING = 1e-9  # a width of 0.3 is three of 0.1, whatever their last bits say


@dataclass(frozen=True, kw_only=True)
class NumberIntervals:
    """Intervals of rising widths from an origin, or between cuts; one value for all above.

    Widths are each a multiple of the one before, and cuts of a level among those of the level before. Values
    from ``top`` on, and those below ``bottom``, are each one value at every level.
    """

    widths: tuple[float, ...] = ()
    cuts: tuple[tuple[float, ...], ...] = ()
    origin: float = 0.0
    bottom: float | None = None
    top: float | None = None

    def check(self, column: str) -> None:
        """Refuse levels that are not nested, and bounds in the wrong order."""
        if not self.widths and not self.cuts:
            raise EntryError(column, INTERVALS, "name at least one width, such as [5, 10, 20].")
        if any(not width > 0 for width in self.widths):
            raise EntryError(column, INTERVALS, "widths must be above 0.")
        for below, above in pairwise(self.widths):
            ratio = above / below
            if ratio < 2 - ROUNDING or abs(ratio - round(ratio)) > ROUNDING * ratio:
                raise EntryError(
                    column, INTERVALS, f"levels must be nested: {above:g} is not a multiple of {below:g}."
                )
        for number, level in enumerate(self.cuts, start=1):
            if not level or any(not low < high for low, high in pairwise(level)):
                raise EntryError(column, INTERVALS, f"the cuts of level {number} must ascend, at least one.")
        for number, (finer, coarser) in enumerate(pairwise(self.cuts), start=2):
            if not set(coarser) < set(finer):
                raise EntryError(
                    column,
                    INTERVALS,
                    f"levels must be nested: cuts of level {number} must be fewer, of those before.",
                )
        if self.bottom is not None and self.top is not None and not self.bottom < self.top:
            raise EntryError(column, INTERVALS, "bottom must be below top.")

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column of numbers."""
        column = values.column
        if not isinstance(column, Numeric) or values.clock is not None:
            raise EntryError(values.name, INTERVALS, "the column holds no numbers.")
        cells, texts = values.possible()
        levels: list[tuple[str, ...]] = [texts]
        edges: list[Floats | None] = [None]
        for number in range(len(self.widths) or len(self.cuts)):
            low, high = self._ends(cells, number)
            pairs, places = np.unique(np.stack((low, high), axis=1), axis=0, return_inverse=True)
            names = [_label(start, end, integer=column.integer) for start, end in pairs.tolist()]
            levels.append(tuple(names[place] for place in places.ravel()))
            edges.append(np.stack((low, high), axis=1))
        return assemble(values, cells, levels, edges=edges, top=True)

    def _ends(self, cells: Floats, number: int) -> tuple[Floats, Floats]:
        """Return where each value's interval begins and ends, the end left out."""
        if self.widths:
            width = self.widths[number]
            steps = np.floor((cells - self.origin) / width + ROUNDING)
            # Both ends of a level's interval are ends of the level before, to the last bit.
            unit = self.widths[0]
            ratio = round(width / unit)
            low, high = self.origin + steps * ratio * unit, self.origin + (steps + 1) * ratio * unit
        else:
            cuts = np.array([-np.inf, *self.cuts[number], np.inf])
            places = np.searchsorted(cuts, cells, side="right")
            low, high = cuts[places - 1], cuts[places]
        if self.top is not None:
            above = cells >= self.top
            low, high = np.where(above, self.top, low), np.where(above, np.inf, np.minimum(high, self.top))
        if self.bottom is not None:
            under, ends = cells < self.bottom, np.maximum(low, self.bottom)
            low, high = np.where(under, -np.inf, ends), np.where(under, self.bottom, high)
        return low, high


def _label(low: float, high: float, *, integer: bool) -> str:
    """Write an interval: of whole numbers with both ends, of others with the end left out.

    >>> _label(20, 25, integer=True), _label(0.5, 1, integer=False), _label(90, np.inf, integer=True)
    ('20-24', '[0.5, 1)', '>=90')
    """
    if np.isinf(low):
        return f"<{_number(high)}" if np.isfinite(high) else "*"
    if np.isinf(high):
        return f">={_number(low)}"
    if integer and float(low).is_integer() and float(high).is_integer():
        return f"{low:.0f}" if high - low == 1 else f"{low:.0f}-{high - 1:.0f}"
    return f"[{_number(low)}, {_number(high)})"


def _number(value: float) -> str:
    return f"{value:.12g}"


DATES = "dates"
Moments = NDArray[np.datetime64]


def _texts(moments: Moments, unit: str) -> list[str]:
    texts: list[str] = moments.astype(f"M8[{unit}]").astype(str).tolist()
    return texts


def _years(moments: Moments, length: int = 1) -> list[int]:
    years: list[int] = ((moments.astype("M8[Y]").astype(np.int64) + 1970) // length * length).tolist()
    return years


def _parts(moments: Moments, letter: str, length: int) -> list[str]:
    """Return the parts of the year in which moments lie, so many months long."""
    months = (moments.astype("M8[M]").astype(np.int64) % 12).tolist()
    years = _years(moments)
    return [f"{year}-{letter}{month // length + 1}" for year, month in zip(years, months, strict=True)]


UNITS: dict[str, tuple[str, int, Callable[[Moments], list[str]]]] = {
    "hour": ("h", 1, lambda moments: [f"{text}:00" for text in _texts(moments, "h")]),
    "day": ("D", 1, lambda moments: _texts(moments, "D")),
    "month": ("M", 1, lambda moments: _texts(moments, "M")),
    "quarter": ("M", 3, lambda moments: _parts(moments, "Q", 3)),
    "half year": ("M", 6, lambda moments: _parts(moments, "H", 6)),
    "year": ("Y", 1, lambda moments: [str(year) for year in _years(moments)]),
    "decade": ("Y", 10, lambda moments: [f"{year}s" for year in _years(moments, 10)]),
    "century": ("Y", 100, lambda moments: [f"{year} to {year + 99}" for year in _years(moments, 100)]),
}
"""From the finest to the widest, each within the next: its length in calendar units, how it is written."""


@dataclass(frozen=True, kw_only=True)
class Dates:
    """Calendar units, such as month, quarter, year; one value for all above."""

    units: tuple[str, ...]

    def check(self, column: str) -> None:
        """Refuse units that are none, or do not widen."""
        if not self.units:
            raise EntryError(column, DATES, f"name at least one of {', '.join(UNITS)}.")
        for unit in self.units:
            if unit not in UNITS:
                raise EntryError(column, DATES, f"units must be among {', '.join(UNITS)}.")
        order = list(UNITS)
        for below, above in pairwise(self.units):
            if order.index(above) <= order.index(below):
                raise EntryError(column, DATES, f"units must widen: {above} does not hold {below}.")

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column of dates."""
        if values.clock is None:
            raise EntryError(values.name, DATES, "the column holds no dates.")
        cells, texts = values.possible()
        moments = as_moments(cells, values.clock)
        return assemble(
            values,
            cells,
            [texts, *(UNITS[unit][2](moments) for unit in self.units)],
            edges=[None, *(_edges(moments, unit, values.clock) for unit in self.units)],
            top=True,
        )


def _edges(moments: Moments, unit: str, clock: int) -> Floats:
    """Return where the unit of each moment begins and ends, as cells, (n, 2)."""
    counted, length, _ = UNITS[unit]
    starts = moments.astype(f"M8[{counted}]")
    # Years are counted from 1970, of which centuries are no multiples.
    from_zero = starts.astype(np.int64) + (1970 if counted == "Y" else 0)
    starts = starts - (from_zero % length).astype(starts.dtype.str.replace("M8", "m8"))
    ends = np.stack((starts, starts + length), axis=1).astype("M8[us]").astype(np.int64)
    edges: Floats = ends / clock
    return edges


def as_moments(cells: Floats, clock: int) -> Moments:
    """Return cells of a column of dates as moments."""
    return (np.round(cells).astype(np.int64) * clock).astype("M8[us]")


MASK = "mask"
Side = Literal["right", "left"]


@dataclass(frozen=True, kw_only=True)
class Mask:
    """So many characters masked at each level, from the right or the left; one value for all above."""

    side: Side
    steps: tuple[int, ...]

    def check(self, column: str) -> None:
        """Refuse steps that do not rise."""
        if self.side not in ("right", "left"):
            raise EntryError(column, MASK, "it must be right or left.")
        if not self.steps or self.steps[0] < 1 or any(not low < high for low, high in pairwise(self.steps)):
            raise EntryError(
                column, MASK, "steps must be numbers of characters that rise, such as [1, 2, 3]."
            )

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column."""
        cells, texts = values.possible()
        longest = max(map(len, texts), default=0)
        if self.steps[0] > longest:
            raise EntryError(
                values.name, MASK, f"steps must begin with at most {longest}, the longest value's characters."
            )
        levels = [texts, *(tuple(self._masked(text, step) for text in texts) for step in self.steps)]
        return assemble(values, cells, levels, top=True)

    def _masked(self, text: str, step: int) -> str:
        step = min(step, len(text))
        kept = text[: len(text) - step] if self.side == "right" else text[step:]
        return kept + EVERYTHING * step if self.side == "right" else EVERYTHING * step + kept


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
        ranks = np.argsort(np.argsort(-counts, kind="stable"))
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
        if isinstance(values.column, Numeric) and not values.code:
            return _quantiles(values)
        if (steps := _masked(values)) is not None:
            return Mask(side="right", steps=steps)
        if isinstance(values.column, Categorical) and values.column.ordered:
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
