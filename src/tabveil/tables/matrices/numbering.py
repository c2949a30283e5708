"""Cells as whole numbers from zero on, and back: labels by place, decimals exactly, others by interval.

Numbers without decimals are not numbered by their place among the values, as in
:mod:`~tabveil.tables.matrices.ordinal`: whoever draws one would repeat a real number to its last digit.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import Generator

from tabveil.core.people import LEAST_SHARED
from tabveil.core.storage.arrays import require
from tabveil.core.storage.files import Unreadable
from tabveil.core.storage.plain import FORBID_OTHERS, require_plain, to_plain
from tabveil.core.table import Categorical, Column, Floats, Indices, Numeric, holds
from tabveil.tables.matrices import ordinal
from tabveil.tables.matrices.ordinal import in_last_places, places_a_unit

EXACT = 2**53
"""Whole numbers below are exact as 64-bit floats."""
MOST_INTERVALS = 1000
LEAST_IN_INTERVAL = 5
LEAST_FOR_STEP = 10
"""So many different numbers do not have a common step by accident."""


@dataclass(frozen=True, kw_only=True)
class OfKind:
    """What is stored by its kind and its fields, and nothing else, for the column that it is of."""

    __pydantic_config__ = FORBID_OTHERS

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        stored = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "column"}
        return {"kind": self.kind, **to_plain(stored)}


@dataclass(frozen=True, kw_only=True)
class SeenLabels(OfKind):
    """Labels: the numbers count those that were seen."""

    codes: tuple[int, ...]
    kind: ClassVar[str] = "labels"

    @cached_property
    def _seen(self) -> Floats:
        return np.array(self.codes, dtype=np.float64)

    def numbers(self, cells: Floats) -> Indices:
        """Return each label's place among the seen ones."""
        return ordinal.label_places(self._seen, cells)

    def cells(self, numbers: Indices, *, rng: Generator | None = None) -> Floats:
        """Return the labels' codes."""
        del rng
        return ordinal.at_places(self._seen, numbers)


@dataclass(frozen=True, kw_only=True)
class Steps(OfKind):
    """Numbers with decimals, dates among them: exactly ``(offset + step × number) / 10**decimals``."""

    decimals: int
    offset: int
    step: int
    kind: ClassVar[str] = "steps"

    @classmethod
    def of(cls, column: Numeric, known: Floats) -> Self | None:
        """Choose offset and step for the fewest digits, or return None if the cells do not fit decimals.

        Of two with equally many digits the offset zero is taken: round numbers stay round. A date's zero
        means nothing, but its step is always kept: whole days stay whole days.
        """
        if column.decimals is None or np.abs(known).max() * places_a_unit(column.decimals) >= EXACT:
            return None
        whole = in_last_places(known, column.decimals).astype(np.int64)
        low, high = int(whole.min()), int(whole.max())
        stepped = column.arbitrary_zero or len(np.unique(whole)) >= LEAST_FOR_STEP
        steps = cls(decimals=column.decimals, offset=low, step=common_step(whole - low) if stepped else 1)
        if low >= 0 and not column.arbitrary_zero:
            natural = cls(decimals=column.decimals, offset=0, step=common_step(whole) if stepped else 1)
            digits = [len(str((high - way.offset) // way.step)) for way in (natural, steps)]
            steps = natural if digits[0] <= digits[1] else steps
        return steps if np.array_equal(steps.cells(steps.numbers(known)), known) else None

    def numbers(self, cells: Floats) -> Indices:
        """Return how many steps from the offset each cell is."""
        whole = in_last_places(cells, self.decimals).astype(np.int64)
        return (whole - self.offset) // self.step

    def cells(self, numbers: Indices, *, rng: Generator | None = None) -> Floats:
        """Return the numbers as they were."""
        del rng
        return np.asarray((self.offset + self.step * numbers) / places_a_unit(self.decimals))


def common_step(differences: Indices) -> int:
    """Return the largest step that leads to all of them: a day for dates in seconds."""
    return int(np.gcd.reduce(differences, initial=0)) or 1


@dataclass(frozen=True, kw_only=True)
class Intervals(OfKind):
    """Numbers without decimals: at most 1,000 intervals with equally many rows, and at least 5 each.

    A cell comes back anywhere in its interval, so no real number is repeated to its last digit; only a number
    that enough rows share is an interval of its own, and comes back exactly.
    """

    lows: tuple[float, ...]
    highs: tuple[float, ...]
    kind: ClassVar[str] = "intervals"

    @classmethod
    def of(cls, known: Floats) -> Self:
        """Divide what was seen."""
        values, counts = np.unique(known, return_counts=True)
        shared = counts >= LEAST_SHARED
        rest = np.where(shared, 0, counts)
        size = max(LEAST_IN_INTERVAL, math.ceil(rest.sum() / MOST_INTERVALS))
        group = (np.cumsum(rest) - rest) // size  # the group of the rows before
        starts = np.ones(len(values), dtype=bool)
        starts[1:] = (np.diff(group) > 0) | shared[1:] | shared[:-1]
        first = np.flatnonzero(starts)
        last = np.append(first[1:], len(values)) - 1
        between = values[last[:-1]] + (values[first[1:]] - values[last[:-1]]) / 2
        lows = np.where(shared[first], values[first], np.append(values[0], between))
        highs = np.where(shared[first], values[first], np.append(between, values[-1]))
        return cls(lows=tuple(lows.tolist()), highs=tuple(highs.tolist()))

    @cached_property
    def _bounds(self) -> tuple[Floats, Floats]:
        return np.array(self.lows), np.array(self.highs)

    def numbers(self, cells: Floats) -> Indices:
        """Return the interval each cell lies in."""
        return np.searchsorted(self._bounds[1], cells)

    def cells(self, numbers: Indices, *, rng: Generator) -> Floats:
        """Return a number from each interval, all equally likely."""
        lows, highs = self._bounds
        return lows[numbers] + (highs - lows)[numbers] * rng.random(len(numbers))


Numbering = SeenLabels | Steps | Intervals


def numbering_of(column: Column, known: Floats) -> Numbering:
    """Choose how the cells of a column, of which there is at least one, are numbered."""
    if isinstance(column, Categorical):
        return SeenLabels(codes=tuple(ordinal.seen_values(column, known).astype(np.int64).tolist()))
    return Steps.of(column, known) or Intervals.of(known)


def numbering_from_json(column: Column, data: object, *, low: int, high: int) -> Numbering:
    """Rebuild what ``to_json`` wrote, for numbers from low to high of this column."""
    what = f"the numbering of {column.name!r}"
    of_column: tuple[Any, ...] = (SeenLabels,) if isinstance(column, Categorical) else (Steps, Intervals)
    kinds = {kind.kind: kind for kind in of_column}
    match data:
        case {"kind": str(name), **parts} if name in kinds:
            numbering: Numbering = require_plain(kinds[name], parts, what)
            require(_can_number(numbering, column, low, high), f"{what} must be one of its values")
            return numbering
    raise Unreadable(f"{what} must be {' or '.join(kinds)}")


def _can_number(numbering: Numbering, column: Column, low: int, high: int) -> bool:
    """Whether all numbers from low to high stand for values of the column."""
    match numbering:
        case SeenLabels(codes=codes):
            known = np.array(codes, dtype=np.float64)
            return ordinal.are_values(column, known) and 0 <= low <= high < len(codes)
        case Steps(decimals=decimals, offset=offset, step=step):
            ends = [offset + step * number for number in (low, high)]
            exact = step >= 1 and low >= 0 and max(map(abs, (*ends, offset))) < EXACT
            same = isinstance(column, Numeric) and decimals == column.decimals
            return exact and same and holds(column, np.array(ends) / places_a_unit(decimals))
        case Intervals(lows=lows, highs=highs):
            edges = np.array([*zip(lows, highs, strict=False)], dtype=np.float64).ravel()
            rising = len(lows) == len(highs) and bool((np.diff(edges) >= 0).all())
            if not rising or not isinstance(column, Numeric):
                return False
            inside = ((edges >= column.low) & (edges <= column.high)).all()
            return 0 <= low <= high < len(lows) and bool(inside)
