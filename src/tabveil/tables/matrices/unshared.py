"""Numbers that few rows share, drawn anew between their neighbors: near, as round, but not somebody's.

A number that enough rows share says nothing about any of them and is kept, zeros and other spikes among them.
Any other is drawn evenly between the midpoints to the numbers beside it, so that groups of numbers keep
their shape, gaps and tails. A number that was a multiple of 500 is one afterwards, too. One that was not does
not become one, and is not drawn onto a spike: else round numbers and spikes would grow, and of evenly spread
last digits 36 in 100 would be 0 or 5, not 20. Where that leaves too little to choose from, spikes are open to
it: else a number between spikes would come back as it was.

The largest number of all is somebody's, and so is the smallest. No stand-in lies beyond where enough rows lie
(:func:`shared_range`), whoever draws it: a network pushes many rows to the end of the range that it knows,
and of whole numbers a tree would draw the last one as it is.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Floats, Indices, Numeric, within
from tabveil.tables.matrices.numbering import EXACT, LEAST_FOR_STEP, common_step
from tabveil.tables.matrices.ordinal import in_last_places, places_a_unit

FEWEST_NEIGHBORS = 5
"""A group with fewer different numbers that few rows share says too little about what lies between them."""
NEIGHBORHOOD = 20
FAR = 5
"""On either side a neighborhood takes in one in so many of a group's numbers, and at most so many."""
MOST_STEP = 2.0
"""A number is as round as the largest step that divides it and is at most so many times its interval."""
STEPS_ASIDE = 1.5
"""A stand-in may be so many steps away at least: else a round number would mostly come back as it was.

Twice as many where it must not be rounder than it was, since half of the steps may then be closed to it.
"""
FEWEST_OPEN = 5
"""Spikes are closed to a stand-in where so many other numbers are left to it."""
REDRAWS = 8
"""So often a stand-in is drawn again that is rounder than its number or on a spike; then it is let be."""


@dataclass(frozen=True, kw_only=True, eq=False)
class StandInRanges:
    """For each of some numbers the interval its stand-in is drawn from, and the step that it must fit."""

    low: Floats
    high: Floats
    step: Floats  # in last decimal places; 0 where any number will do
    rounder: Floats  # in last decimal places: no multiple of it may be drawn; 0 where all may
    origin: float  # from where steps are counted
    spikes: Floats  # the numbers that enough rows share
    shuns: NDArray[np.bool_]  # whether a stand-in must not be one of these
    ends: Floats  # (2,) that enough rows reach: nothing is drawn beyond

    @classmethod
    def of(
        cls,
        column: Numeric,
        values: Floats,
        counts: Indices,
        *,
        places: Indices | None = None,
        groups: Indices | None = None,
    ) -> Self:
        """Look around numbers in groups.

        ``values`` are those of the column, ascending, and ``counts`` how many rows have each. The numbers are
        given by their ``places`` among them and by their ``groups``: sorted by group, ascending within each.
        Without, they are the column's values themselves, in one group.
        """
        if places is None:
            places = np.arange(len(values))
        groups = np.zeros(len(places), dtype=np.int64) if groups is None else groups
        cells = values[places]
        begin, end = places_around(places, groups, counts)
        low, high = values[begin], values[end]
        step, origin = steps_of(column, values, cells, high - low)
        rounder = _rounder(column, cells, step, high - low)
        aside = STEPS_ASIDE * np.where(rounder > 0, 2, 1) * step / places_a_unit(column.decimals)
        ends = shared_range(column, values, counts)
        low = np.clip(np.minimum(low, cells - aside), *ends)
        high = np.clip(np.maximum(high, cells + aside), *ends)
        kept = counts[places] >= LEAST_SHARED
        spikes = values[counts >= LEAST_SHARED]
        steps = (high - low) * places_a_unit(column.decimals) / np.maximum(step, 1.0) + 1
        rounder_too = np.where(rounder > 0, step / np.maximum(rounder, 1.0), 0.0)  # the share of the steps
        passed = np.searchsorted(spikes, high, side="right") - np.searchsorted(spikes, low)
        return cls(
            low=np.where(kept, cells, low),
            high=np.where(kept, cells, high),
            step=np.where(kept, 0.0, step),
            rounder=np.where(kept, 0.0, rounder),
            origin=origin,
            spikes=spikes,
            shuns=~kept & ((step == 0) | (steps * (1 - rounder_too) - passed >= FEWEST_OPEN)),
            ends=ends,
        )

    def draw(self, column: Numeric, which: Indices, *, rng: Generator) -> Floats:
        """Draw a stand-in for some of the numbers."""
        low, high, step = self.low[which], self.high[which], self.step[which]
        drawn = self._fitting(column, low + (high - low) * rng.random(len(which)), step)
        for _ in range(REDRAWS):
            again = np.flatnonzero(self._unlike(column, which, drawn))
            if len(again) == 0:
                break
            anew = low[again] + (high - low)[again] * rng.random(len(again))
            drawn[again] = self._fitting(column, anew, step[again])
        return drawn

    def _fitting(self, column: Numeric, numbers: Floats, step: Floats) -> Floats:
        """Round numbers to their steps: one step back where that leads beyond the ends."""
        rounded, back = _rounded(column, numbers, step, self.origin), step / places_a_unit(column.decimals)
        rounded = np.where(rounded > self.ends[1], rounded - back, rounded)
        rounded = np.where(rounded < self.ends[0], rounded + back, rounded)
        return np.clip(rounded, *self.ends)

    def _unlike(self, column: Numeric, which: Indices, drawn: Floats) -> NDArray[np.bool_]:
        """Say which stand-ins are rounder than their numbers, or on a spike where their numbers are not."""
        rounder = self.rounder[which]
        too_round = (rounder > 0) & (in_last_places(drawn, column.decimals) % np.maximum(rounder, 1.0) == 0)
        return np.asarray(too_round | (self.shuns[which] & np.isin(drawn, self.spikes)))


def _rounder(column: Numeric, cells: Floats, step: Floats, widths: Floats) -> Floats:
    """Return the step after that of each cell, in last decimal places; 0 where it may be drawn.

    It may where the cell fits it, and where it is too wide for the interval: rounder numbers do not keep it
    there either, and would become fewer if others could not take their place.
    """
    if column.decimals is None or column.arbitrary_zero:
        return np.zeros(len(cells))
    power = 10.0 ** np.floor(np.log10(np.maximum(step, 1.0)))
    following = np.where(step < 5 * power, 5, 10) * power
    limits = MOST_STEP * widths * places_a_unit(column.decimals)
    fits = (step > 0) & (following % np.maximum(step, 1.0) == 0) & (following <= limits)
    numbers = in_last_places(cells, column.decimals)
    return np.where(fits & (numbers % following != 0), following, 0.0)


def _rounded(column: Numeric, numbers: Floats, step: Floats, origin: float) -> Floats:
    """Return the nearest numbers that fit steps, given in last decimal places; 0 fits any number."""
    unit, size = places_a_unit(column.decimals), np.maximum(step, 1.0)
    rounded = (np.rint((numbers * unit - origin) / size) * size + origin) / unit
    return np.where(step > 0, rounded, numbers)


def shared_range(column: Numeric, values: Floats, counts: Indices) -> Floats:
    """Return the two ends that numbers may have, so that enough rows lie at or beyond either.

    ``values`` are those of the column, ascending, and ``counts`` how many rows have each. An end is a number
    that enough rows share, or else lies halfway from the last that is needed to the next, as round as all
    are. With fewer rows than two ends take, both are the mean.

    >>> children = Numeric(name="children", low=0, high=11, decimals=0)
    >>> shared_range(children, np.array([0.0, 1.0, 2.0, 5.0, 11.0]), np.array([50, 30, 15, 8, 1])).tolist()
    [0.0, 2.0]
    """
    if counts.sum() < 2 * LEAST_SHARED:
        low = high = float(np.average(values, weights=counts))
    else:
        low, high = _end(values, counts), _end(values[::-1], counts[::-1])
    if low > high:  # few rows on either side of a number that few share
        low = high = (low + high) / 2
    ends = np.array([low, high])
    return _rounded(column, ends, *steps_of(column, values, ends, np.zeros(2)))


def _end(values: Floats, counts: Indices) -> float:
    """Return the end on the side where the values begin."""
    place = int(np.searchsorted(np.cumsum(counts), LEAST_SHARED))
    if counts[place] >= LEAST_SHARED:
        return float(values[place])
    return float(values[place] + values[place + 1]) / 2


def stand_ins(column: Numeric, cells: Floats, *, rng: Generator) -> Floats:
    """Return the cells of a column with a stand-in for each number that few rows share.

    Where only few rows have a number at all, all are missing.
    """
    drawn = np.full(len(cells), np.nan) if only_few_have(cells) else np.array(cells)
    known = ~np.isnan(drawn)
    if known.any():
        values, places, counts = np.unique(drawn[known], return_inverse=True, return_counts=True)
        drawn[known] = within(column, StandInRanges.of(column, values, counts).draw(column, places, rng=rng))
    return drawn


def only_few_have(cells: Floats) -> bool:
    """Say whether few rows have a number, while others have none: whatever is near it would be theirs."""
    known = ~np.isnan(cells)
    return bool(0 < known.sum() < LEAST_SHARED and not known.all())


def places_around(places: Indices, groups: Indices, counts: Indices) -> tuple[Indices, Indices]:
    """Return the places of the numbers between which each number's stand-in is drawn.

    In its group, of the numbers that few rows share; in the whole column where the group has too few.
    """
    begin, end = np.maximum(places - FAR, 0), np.minimum(places + FAR, len(counts) - 1)
    few = np.flatnonzero(counts[places] < LEAST_SHARED)
    new = np.ones(len(few), dtype=np.bool_)
    new[1:] = (np.diff(groups[few]) != 0) | (np.diff(places[few]) != 0)
    distinct = few[new]  # one for each number in each group
    if len(distinct):
        first, last = _neighborhoods(groups[distinct])
        number = np.cumsum(new) - 1  # of few: which of the distinct ones
        near = (last > first)[number]
        begin[few[near]] = places[distinct][first][number][near]
        end[few[near]] = places[distinct][last][number][near]
    return begin, end


def _neighborhoods(groups: Indices) -> tuple[Indices, Indices]:
    """Return where each number's neighborhood begins and ends; a group that is too small has none."""
    sizes = np.bincount(groups)
    size, start = sizes[groups], (np.cumsum(sizes) - sizes)[groups]
    reach = np.where(size < FEWEST_NEIGHBORS, 0, np.clip(size // NEIGHBORHOOD, 1, FAR))
    here = np.arange(len(groups))
    return np.maximum(here - reach, start), np.minimum(here + reach, start + size - 1)


def steps_of(column: Numeric, values: Floats, cells: Floats, widths: Floats) -> tuple[Floats, float]:
    """Return how round each cell is, in last decimal places, and from where steps are counted.

    Steps are 1, 5, 10, 50, 100 and so on, but never less than the one that all values of the column fit. They
    have no meaning for dates, which only keep that one: whole days stay whole days.
    """
    unit = places_a_unit(column.decimals)
    if column.decimals is None or np.abs(values).max() * unit >= EXACT:
        return np.zeros(len(cells)), 0.0
    whole = in_last_places(values, column.decimals).astype(np.int64)
    origin = int(whole[0]) if column.arbitrary_zero else 0
    least = common_step(whole - origin) if len(values) >= LEAST_FOR_STEP else 1
    step = np.full(len(cells), float(least))
    if not column.arbitrary_zero:
        numbers = in_last_places(cells, column.decimals).astype(np.int64)
        limits = MOST_STEP * widths * unit
        for power in range(len(str(np.abs(whole).max()))):
            for size in (10**power, 5 * 10**power):
                fits = (numbers % size == 0) & (size <= limits) & (size % least == 0)
                step = np.where(fits, np.maximum(step, size), step)
    return step, float(origin)
