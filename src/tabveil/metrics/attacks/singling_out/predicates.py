"""Predicates about one person, and the people of a table they hold for.

A predicate is a conjunction: in each of its columns the code of the value, its rank (see
:mod:`~tabveil.tables.matrices.ranked_tables`), lies in a range. Equality, "at most", "at least", a window and
"is missing" are all that; missing is a code of its own that no other range holds. A :class:`Form` says which
range a predicate built around a value has.

Only the rows in a predicate's most selective range are looked at; where one match too many settles the
question, the search ends there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from tabveil.core import workers
from tabveil.core.table import Floats, Indices, Numeric
from tabveil.metrics.attacks.singling_out.predicate_kernels import (
    count_matches,
    count_people,
    draw_columns,
    isolate,
)
from tabveil.tables.matrices.ordinal import MISSING, Codes
from tabveil.tables.matrices.ranked_tables import RankedTable

LISTED = 16  # people named for a predicate; one that holds for more is hardly about a person
DEVIATIONS = 1.5  # so that windows of 10 % hold noise of 5 % of the deviation, three times over
_AT_ONCE = 2048  # predicates a thread takes at a time
_ATTEMPTS_AT_ONCE = 262_144
_ATTEMPTS_A_PREDICATE = 500


@dataclass(frozen=True, kw_only=True, eq=False)
class Form:
    """The range of codes, from low to high, of a predicate built around a code; at offsets[column] + code."""

    low: Codes
    high: Codes

    def equals(self, other: Self) -> bool:
        """Say whether two forms give the same ranges everywhere."""
        return np.array_equal(self.low, other.low) and np.array_equal(self.high, other.high)


def half_lines(synthetic: RankedTable) -> Form:
    """At least the value where it is above the median of the column, at most the value elsewhere."""

    def around(counts: Codes, _: Floats) -> tuple[Codes, Codes]:
        codes = np.arange(len(counts), dtype=np.int32)
        n = int(counts[1:].sum())
        # The median is the mean of two middle values: a value is above it from the upper one of these on,
        # if they differ.
        below = np.cumsum(counts) - counts[MISSING] - counts  # present rows below each code
        above = below >= n / 2
        return np.where(above, codes, 1), np.where(above, len(counts) - 1, codes)

    return _form(synthetic, around)


def windows(synthetic: RankedTable, width: float) -> Form:
    """Within ``width`` of the value: a share of the distinct synthetic values, or of their deviation.

    The farther of the two. Ranks follow the density of the values; but where nearly all are equal and a few
    lie far out, noise of a small part of the deviation passes over any number of ranks.
    """

    def around(counts: Codes, values: Floats) -> tuple[Codes, Codes]:
        held = np.flatnonzero(counts[1:]) + 1
        low, high = (np.arange(len(counts), dtype=np.int32) for _ in range(2))
        if len(held):
            rank, ranks = np.arange(len(held)), int(width * len(held) + 0.5)
            n, mean = int(counts[1:].sum()), float((values * counts[1:]).sum()) / int(counts[1:].sum())
            deviation = float(np.sqrt(((values - mean) ** 2 * counts[1:]).sum() / n))
            near = DEVIATIONS * width * deviation
            here = values[held - 1]
            low[held] = np.minimum(
                held[np.maximum(rank - ranks, 0)], np.searchsorted(values, here - near) + 1
            )
            high[held] = np.maximum(
                held[np.minimum(rank + ranks, len(held) - 1)], np.searchsorted(values, here + near, "right")
            )
        return low, high

    return _form(synthetic, around)


def bins(synthetic: RankedTable, n_bins: int) -> Form:
    """In the same one of ``n_bins`` equally wide bins, from the least to the largest synthetic value."""

    def around(counts: Codes, values: Floats) -> tuple[Codes, Codes]:
        held = np.flatnonzero(counts[1:])
        if not len(held):
            codes = np.arange(len(counts), dtype=np.int32)
            return codes, codes
        least, largest = values[held[0]], values[held[-1]]
        places = (values - least) / (largest - least or 1.0)
        # The largest value is in the last bin. What lies outside of all bins is in no synthetic row either.
        inside = np.clip(np.floor(places * n_bins), -1, n_bins - 1)
        numbers = np.where(values > largest, n_bins, inside)
        first, last = (np.searchsorted(numbers, numbers, side=side) for side in ("left", "right"))
        return np.concatenate([[MISSING], first + 1]), np.concatenate([[MISSING], last])

    return _form(synthetic, around)


def _form(synthetic: RankedTable, around: Callable[[Codes, Floats], tuple[Codes, Codes]]) -> Form:
    """Put together the ranges of numeric columns; categories, and missing, are met by equality."""
    ranks = synthetic.ranks
    low, high = (np.zeros(ranks.offsets[-1], dtype=np.int32) for _ in range(2))
    for position, column in enumerate(ranks.schema.columns):
        here = slice(ranks.offsets[position], ranks.offsets[position + 1] - 1)
        equal = np.arange(here.stop - here.start)
        low[here], high[here] = equal, equal
        if isinstance(column, Numeric):
            low[here], high[here] = around(synthetic.counts(position), ranks.columns[position].values)
            low[here.start] = high[here.start] = MISSING
    return Form(low=low, high=high)


@dataclass(frozen=True, kw_only=True, eq=False)
class Predicates:
    """Conjunctions of ranges: every array is (n_predicates, n_columns)."""

    columns: Codes
    low: Codes
    high: Codes

    def __len__(self) -> int:
        return len(self.columns)

    def take(self, rows: Indices) -> Self:
        """Keep these predicates, in this order."""
        return type(self)(columns=self.columns[rows], low=self.low[rows], high=self.high[rows])

    @classmethod
    def empty(cls, n_predicates: int, n_columns: int) -> Self:
        """Make room for predicates."""
        shape = (n_predicates, n_columns)
        return cls(**{name: np.empty(shape, dtype=np.int32) for name in ("columns", "low", "high")})

    @classmethod
    def join(cls, *parts: Self) -> Self:
        """Put predicates on equally many columns one after the other."""
        return cls(
            columns=np.concatenate([part.columns for part in parts]),
            low=np.concatenate([part.low for part in parts]),
            high=np.concatenate([part.high for part in parts]),
        )


def around_rows(
    synthetic: RankedTable, form: Form, n_columns: int, rows: Indices, *, rng: Generator, most: int = 1
) -> Predicates:
    """Build a predicate on random columns around each of some rows, and keep those that single it out."""
    columns = _random_columns(synthetic, n_columns, len(rows), seed=int(rng.integers(2**62)))
    return _isolating(synthetic, form, rows, columns, most)[0]


def draw_isolating(
    synthetic: RankedTable, form: Form, n_columns: int, n_predicates: int, *, rng: Generator, most: int = 1
) -> Predicates:
    """Draw distinct predicates around random rows, on random columns, that hold for that row alone.

    Or for ``most`` rows, where as many can be one person's. The number of attempts is bounded; where few rows
    are alone there will be fewer than asked for.
    """
    n_choices = comb(synthetic.n_columns, n_columns)
    most_attempts = _ATTEMPTS_A_PREDICATE * n_predicates
    if n_choices * len(synthetic) <= most_attempts:
        return _try_all(synthetic, form, n_columns, n_predicates, rng=rng, most=most)
    seed = int(rng.integers(2**62))
    keys_of_rows, keys_of_columns = (
        rng.integers(2**64, size=size, dtype=np.uint64) for size in (len(synthetic), synthetic.n_columns)
    )
    found, keys = Predicates.empty(0, n_columns), np.empty(0, dtype=np.uint64)
    attempts = 0
    while len(found) < n_predicates and attempts < most_attempts:
        rate = (len(found) + 1) / (attempts + 1)
        missing = n_predicates - len(found)
        batch = int(min(1.1 * missing / rate + 100, _ATTEMPTS_AT_ONCE, most_attempts - attempts))
        columns = _random_columns(synthetic, n_columns, batch, seed=seed, first=attempts)
        drawn = rng.integers(len(synthetic), size=batch)
        more, rows = _isolating(synthetic, form, drawn, columns, most)
        attempts += batch
        # A predicate around a row, that holds for no other, is known by that row and its columns.
        more_keys = keys_of_rows[rows] ^ keys_of_columns[more.columns].sum(axis=1, dtype=np.uint64)
        keys = np.concatenate([keys, more_keys])
        kept = np.sort(np.unique(keys, return_index=True)[1])[:n_predicates]
        keys, found = keys[kept], Predicates.join(found, more).take(kept)
    return found


def _try_all(
    synthetic: RankedTable, form: Form, n_columns: int, n_predicates: int, *, rng: Generator, most: int
) -> Predicates:
    """Try all choices of a row and columns, in random order."""
    choices = np.array(list(combinations(range(synthetic.n_columns), n_columns)), dtype=np.int32)
    rows, choice = np.divmod(rng.permutation(len(synthetic) * len(choices)), len(choices))
    found = Predicates.empty(0, n_columns)
    for start in range(0, len(rows), _ATTEMPTS_AT_ONCE):
        part = slice(start, start + _ATTEMPTS_AT_ONCE)
        more, _ = _isolating(synthetic, form, rows[part], choices[choice[part]], most)
        found = Predicates.join(found, more)
        if len(found) >= n_predicates:
            break
    return found.take(np.arange(min(len(found), n_predicates)))


def _isolating(
    synthetic: RankedTable, form: Form, rows: Indices, columns: Codes, most: int
) -> tuple[Predicates, Indices]:
    """Build a predicate around each row on its columns (m, k); keep those that hold for ``most`` at most.

    Returns the predicates and the rows they are built around.
    """
    drawn = Predicates(columns=columns, low=np.empty_like(columns), high=np.empty_like(columns))
    isolated = np.zeros(len(rows), dtype=np.bool_)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        isolate(
            *_arrays(synthetic),
            form.low,
            form.high,
            rows[part],
            columns[part],
            most,
            drawn.low[part],
            drawn.high[part],
            isolated[part],
        )

    workers.announce_compilation(isolate)
    workers.each_chunk(len(rows), _AT_ONCE, work, doing="drawing predicates")
    kept = np.flatnonzero(isolated)
    return drawn.take(kept), rows[kept]


def _random_columns(
    synthetic: RankedTable, n_columns: int, n_draws: int, *, seed: int, first: int = 0
) -> Codes:
    columns = np.empty((n_draws, n_columns), dtype=np.int32)
    workers.announce_compilation(draw_columns)
    draw_columns(seed, first, synthetic.n_columns, columns)
    return columns


def univariate(synthetic: RankedTable, n_predicates: int, *, rng: Generator, most: int = 1) -> Predicates:
    """Draw predicates on one column that hold for one row: a value, missing, the least, the largest.

    Or for ``most`` rows, where as many can be one person's.
    """
    found = []
    for position, column in enumerate(synthetic.ranks.schema.columns):
        counts = synthetic.counts(position)
        few = (counts >= 1) & (counts <= most)
        ranges = np.repeat(np.flatnonzero(few)[:, None], 2, axis=1)  # equality
        present = np.flatnonzero(counts[1:]) + 1
        if isinstance(column, Numeric) and len(present):
            ends = np.array([[1, present[0]], [present[-1], len(counts) - 1]])
            ranges = np.concatenate([ranges, ends[few[present[[0, -1]]]]])
        found.append(np.insert(ranges, 0, position, axis=1))
    parts = np.concatenate(found).astype(np.int32)
    parts = parts[rng.permutation(len(parts))[:n_predicates]]
    return Predicates(columns=parts[:, [0]], low=parts[:, [1]], high=parts[:, [2]])


def draw_naive(
    synthetic: RankedTable, form: Form, n_columns: int, n_predicates: int, *, rng: Generator
) -> Predicates:
    """Draw predicates of the same form without looking at a row: on random columns, around random values."""
    columns = _random_columns(synthetic, n_columns, n_predicates, seed=int(rng.integers(2**62)))
    sizes = np.array([len(codes) for codes in synthetic.held])
    begins = np.cumsum([0, *sizes[:-1]])
    picks = (rng.random(columns.shape) * sizes[columns]).astype(np.int64)
    at = synthetic.ranks.offsets[columns] + np.concatenate(synthetic.held)[begins[columns] + picks]
    return Predicates(columns=columns, low=form.low[at], high=form.high[at])


@dataclass(frozen=True, kw_only=True, eq=False)
class Matches:
    """How many people of a table each predicate holds for, and which."""

    counts: Indices  # (m,)
    people: Codes  # (m, LISTED) the first of them; what is beyond the count has no meaning


def match(predicates: Predicates, table: RankedTable, whose: Indices | None = None) -> Matches:
    """Count and list the people each predicate holds for.

    ``whose`` (n,) numbers the person that each row is about, from 0 on; without it every row is another.
    """
    counts = np.zeros(len(predicates), dtype=np.int64)
    people = np.empty((len(predicates), LISTED), dtype=np.int32)
    n_people = 0 if whose is None else int(whose.max(initial=-1)) + 1
    kernel: Any = count_matches if whose is None else count_people
    more = () if whose is None else (whose, n_people)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        kernel(
            *_arrays(table),
            predicates.columns[part],
            predicates.low[part],
            predicates.high[part],
            *more,
            counts[part],
            people[part],
        )

    workers.announce_compilation(kernel)
    workers.each_chunk(len(predicates), _AT_ONCE, work, doing="singling out")
    return Matches(counts=counts, people=people)


def _arrays(table: RankedTable) -> tuple[Codes, Codes, Codes, Indices]:
    return table.codes, table.order, table.starts, table.ranks.offsets
