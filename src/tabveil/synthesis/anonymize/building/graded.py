"""Hierarchies by rule: intervals of numbers, calendar units of dates, masked characters of codes."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Numeric
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
    return moments.astype(f"M8[{unit}]").astype(str).tolist()


def _years(moments: Moments, length: int = 1) -> list[int]:
    return ((moments.astype("M8[Y]").astype(np.int64) + 1970) // length * length).tolist()


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
                values.name,
                MASK,
                f"steps must begin with at most {longest}, the longest value's characters.",
            )
        levels = [texts, *(tuple(self._masked(text, step) for text in texts) for step in self.steps)]
        return assemble(values, cells, levels, top=True)

    def _masked(self, text: str, step: int) -> str:
        step = min(step, len(text))
        kept = text[: len(text) - step] if self.side == "right" else text[step:]
        return kept + EVERYTHING * step if self.side == "right" else EVERYTHING * step + kept
