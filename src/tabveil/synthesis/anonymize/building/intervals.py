"""Hierarchies of numbers: intervals of some widths, or between some cuts."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tabveil.core.table import Floats, Numeric
from tabveil.synthesis.anonymize.building.assembling import assemble
from tabveil.synthesis.anonymize.building.faults import EntryError
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

ENTRY = "intervals"
ROUNDING = 1e-9  # a width of 0.3 is three of 0.1, whatever their last bits say


@dataclass(frozen=True, kw_only=True)
class Intervals:
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
            raise EntryError(column, ENTRY, "name at least one width, such as [5, 10, 20].")
        if any(not width > 0 for width in self.widths):
            raise EntryError(column, ENTRY, "widths must be above 0.")
        for below, above in pairwise(self.widths):
            ratio = above / below
            if ratio < 2 - ROUNDING or abs(ratio - round(ratio)) > ROUNDING * ratio:
                raise EntryError(
                    column, ENTRY, f"levels must be nested: {above:g} is not a multiple of {below:g}."
                )
        for number, level in enumerate(self.cuts, start=1):
            if not level or any(not low < high for low, high in pairwise(level)):
                raise EntryError(column, ENTRY, f"the cuts of level {number} must ascend, at least one.")
        for number, (finer, coarser) in enumerate(pairwise(self.cuts), start=2):
            if not set(coarser) < set(finer):
                raise EntryError(
                    column,
                    ENTRY,
                    f"levels must be nested: cuts of level {number} must be fewer, of those before.",
                )
        if self.bottom is not None and self.top is not None and not self.bottom < self.top:
            raise EntryError(column, ENTRY, "bottom must be below top.")

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column of numbers."""
        column = values.column
        if not isinstance(column, Numeric) or values.clock is not None:
            raise EntryError(values.name, ENTRY, "the column holds no numbers.")
        cells, texts = values.possible()
        levels: list[tuple[str, ...]] = [texts]
        edges: list[Floats | None] = [None]
        for number in range(len(self.widths) or len(self.cuts)):
            low, high = self._ends(cells, number)
            low, high = self._capped(cells, low, high)
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
            return self.origin + steps * ratio * unit, self.origin + (steps + 1) * ratio * unit
        cuts = np.array([-np.inf, *self.cuts[number], np.inf])
        places = np.searchsorted(cuts, cells, side="right")
        return cuts[places - 1], cuts[places]

    def _capped(self, cells: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
        if self.top is not None:
            above = cells >= self.top
            low, high = np.where(above, self.top, low), np.where(above, np.inf, np.minimum(high, self.top))
        if self.bottom is not None:
            under = cells < self.bottom
            low, high = (
                np.where(under, -np.inf, np.maximum(low, self.bottom)),
                np.where(under, self.bottom, high),
            )
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
