"""Hierarchies of dates: calendar units, each wider than the one before."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats
from tabveil.synthesis.anonymize.building.assembling import assemble
from tabveil.synthesis.anonymize.building.faults import EntryError
from tabveil.synthesis.anonymize.building.values import ColumnValues
from tabveil.synthesis.anonymize.hierarchy import Hierarchy

ENTRY = "dates"
Moments = NDArray[np.datetime64]
_DECADE, _CENTURY, _MONTHS = 10, 100, 12


def _year(moments: Moments) -> NDArray[np.int64]:
    return moments.astype("M8[Y]").astype(np.int64) + 1970


def _month(moments: Moments) -> NDArray[np.int64]:
    return moments.astype("M8[M]").astype(np.int64) % _MONTHS


def _quarters(moments: Moments) -> list[str]:
    years, months = _year(moments).tolist(), _month(moments).tolist()
    return [f"{year}-Q{month // 3 + 1}" for year, month in zip(years, months, strict=True)]


def _halves(moments: Moments) -> list[str]:
    years, months = _year(moments).tolist(), _month(moments).tolist()
    return [f"{year}-H{month // 6 + 1}" for year, month in zip(years, months, strict=True)]


UNITS: dict[str, Callable[[Moments], list[str]]] = {
    "hour": lambda moments: [f"{text}:00" for text in moments.astype("M8[h]").astype(str).tolist()],
    "day": lambda moments: moments.astype("M8[D]").astype(str).tolist(),
    "month": lambda moments: moments.astype("M8[M]").astype(str).tolist(),
    "quarter": _quarters,
    "half year": _halves,
    "year": lambda moments: [str(year) for year in _year(moments).tolist()],
    "decade": lambda moments: [f"{year // _DECADE * _DECADE}s" for year in _year(moments).tolist()],
    "century": lambda moments: [
        f"{year // _CENTURY * _CENTURY} to {year // _CENTURY * _CENTURY + 99}"
        for year in _year(moments).tolist()
    ],
}
"""Each unit as it is written, from the finest to the widest; each lies within the next."""

_WITHIN = {
    "hour": ("h", 1),
    "day": ("D", 1),
    "month": ("M", 1),
    "quarter": ("M", 3),
    "half year": ("M", 6),
    "year": ("Y", 1),
    "decade": ("Y", 10),
    "century": ("Y", 100),
}
"""How long each is, in a unit that calendars count in."""


@dataclass(frozen=True, kw_only=True)
class Dates:
    """Calendar units, such as month, quarter, year; one value for all above."""

    units: tuple[str, ...]

    def check(self, column: str) -> None:
        """Refuse units that are none, or do not widen."""
        if not self.units:
            raise EntryError(column, ENTRY, f"name at least one of {', '.join(UNITS)}.")
        for unit in self.units:
            if unit not in UNITS:
                raise EntryError(column, ENTRY, f"units must be among {', '.join(UNITS)}.")
        order = list(UNITS)
        for below, above in pairwise(self.units):
            if order.index(above) <= order.index(below):
                raise EntryError(column, ENTRY, f"units must widen: {above} does not hold {below}.")

    def build(self, values: ColumnValues) -> Hierarchy:
        """Make the hierarchy of a column of dates."""
        if values.clock is None:
            raise EntryError(values.name, ENTRY, "the column holds no dates.")
        cells, texts = values.possible()
        moments = as_moments(cells, values.clock)
        return assemble(
            values,
            cells,
            [texts, *(UNITS[unit](moments) for unit in self.units)],
            edges=[None, *(_edges(moments, unit, values.clock) for unit in self.units)],
            top=True,
        )


def _edges(moments: Moments, unit: str, clock: int) -> Floats:
    """Return where the unit of each moment begins and ends, as cells, (n, 2)."""
    starts = moments.astype(f"M8[{_WITHIN[unit][0]}]")
    length = _WITHIN[unit][1]
    # Years are counted from 1970, of which centuries are no multiples.
    from_zero = starts.astype(np.int64) + (1970 if _WITHIN[unit][0] == "Y" else 0)
    starts = starts - (from_zero % length).astype(starts.dtype.str.replace("M8", "m8"))
    ends = np.stack((starts, starts + length), axis=1).astype("M8[us]").astype(np.int64)
    edges: Floats = ends / clock
    return edges


def as_moments(cells: Floats, clock: int) -> Moments:
    """Return cells of a column of dates as moments."""
    return (np.round(cells).astype(np.int64) * clock).astype("M8[us]")
