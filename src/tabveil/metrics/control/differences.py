"""Do two tables hold the same kind of people? Their largest difference, beside what chance gives.

Columns are compared in cells: each of the most usual labels, the numbers up to an eighth, two eighths ... of
them, missing. Random pairs of columns are compared in a coarse grid, since tables can agree in every column
and still not in how columns go together. The surest difference counts, at a level for all cells together.

Where a table was split by person, its rows hold less news than they seem to: by whose they are if that is
known, and else by which may be one person's (``repeated_rows``).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import stdtr, xlogy

from tabveil.core.people import numbered_together, rows_worth
from tabveil.core.sampling import in_order
from tabveil.core.table import Column, Floats, Indices, Numeric, Table
from tabveil.metrics.control.repeated_rows import Error, error_by_repeated_rows

LEVEL = 0.005
MATERIAL = 0.02
"""Rows in a hundred by which a cell must differ: what is less moves no risk that matters, however sure."""

_LABELS, _COARSE_LABELS = 12, 3
_PARTS, _COARSE_PARTS = 8, 4
_PAIRS = 60
_LEAST_EXPECTED = 5.0


@dataclass(frozen=True, kw_only=True)
class Differences:
    """How often chance gives as sure a difference, among how many cells, and which columns differ."""

    chance: float
    n_compared: int
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Coded:
    """A column as a few cells, the last one for missing; ``ordered`` ones are numbers from low to high."""

    fine: Indices  # (n,)
    coarse: Indices  # (n,)
    n_fine: int
    n_coarse: int
    ordered: bool


@dataclass(frozen=True, kw_only=True, eq=False)
class _Compared:
    """How sure each cell's difference is, corrected for nothing, and whether it is large enough to matter."""

    chances: Floats  # (k,)
    matters: NDArray[np.bool_]  # (k,)
    columns: tuple[int, ...]

    def surest(self) -> float:
        return float(self.chances.min(initial=1.0))

    def surest_that_matters(self) -> float:
        return float(self.chances[self.matters].min(initial=1.0))


def differences(train: Table, control: Table, *, rng: Generator) -> Differences:
    """Compare two tables in all columns and in pairs of them."""
    names = sorted(train.schema.names)  # no answer may depend on the order of columns, nor on that of rows
    tables = [in_order(table).table.select(names) for table in (train, control)]
    cells = np.concatenate([table.values for table in tables])  # (n, d)
    side = _Sides(is_train=np.arange(len(cells)) < len(train))
    coded = [_code(train.schema[name], cells[:, j]) for j, name in enumerate(names)]
    noise: _People | _RepeatedRows
    if train.people is not None:
        noise = _People.of(*tables)
    else:
        scores = np.column_stack([_score(column, rng=rng) for column in coded])
        noise = _RepeatedRows(error=error_by_repeated_rows(cells, scores, side.is_train, rng=rng))
    compared = [*_columns(coded, side, noise), *_pairs(coded, side, noise, rng=rng)]
    n_compared = sum(len(item.chances) for item in compared)
    if n_compared == 0:
        return Differences(chance=1.0, n_compared=0, columns=())
    found = [item for item in compared if item.surest_that_matters() * n_compared <= LEVEL]
    alone = [item for item in found if len(item.columns) == 1]  # pairs differ where one of their columns does
    ranked = sorted(alone or found, key=_Compared.surest_that_matters)
    surest = min(item.surest() for item in compared)
    return Differences(
        chance=min(surest * n_compared, 1.0),
        n_compared=n_compared,
        columns=tuple(dict.fromkeys(names[j] for item in ranked for j in item.columns)),
    )


def _code(column: Column, cells: Floats) -> _Coded:
    missing = np.isnan(cells)
    if isinstance(column, Numeric):
        (fine, n_fine), (coarse, n_coarse) = (_parts(cells, missing, n) for n in (_PARTS, _COARSE_PARTS))
    else:
        (fine, n_fine), (coarse, n_coarse) = (_labels(cells, missing, n) for n in (_LABELS, _COARSE_LABELS))
    return _Coded(
        fine=fine, coarse=coarse, n_fine=n_fine, n_coarse=n_coarse, ordered=isinstance(column, Numeric)
    )


def _score(column: _Coded, *, rng: Generator) -> Floats:
    """Give the cells of a column numbers: their rank, or random ones where they have no order."""
    ranks = np.arange(column.n_fine, dtype=np.float64)
    return (ranks if column.ordered else rng.normal(size=column.n_fine))[column.fine]


def _parts(cells: Floats, missing: NDArray[np.bool_], n_parts: int) -> tuple[Indices, int]:
    """Cut numbers into parts that hold equally many, as far as ties allow; return codes and how many."""
    known = cells[~missing]
    cuts = np.unique(np.quantile(known, np.arange(1, n_parts) / n_parts)) if len(known) else known
    return np.where(missing, len(cuts) + 1, np.searchsorted(cuts, cells, side="left")), len(cuts) + 2


def _labels(cells: Floats, missing: NDArray[np.bool_], most: int) -> tuple[Indices, int]:
    """Keep the most usual labels and make one cell of all others; return codes and how many."""
    codes = np.where(missing, 0, cells).astype(np.int64)
    counts = np.bincount(codes[~missing], minlength=int(codes.max()) + 1)
    number = np.full(len(counts), most)
    usual = np.argsort(-counts, kind="stable")[:most]
    number[usual] = np.arange(len(usual))
    return np.where(missing, most + 1, number[codes]), most + 2


@dataclass(frozen=True, kw_only=True, eq=False)
class _Spread:
    """How much more the shares of cells vary than those of rows split one by one.

    ``n_groups`` of rows tell so. ``worth`` is how many rows of the smaller table each row there is worth.
    """

    inflation: Floats  # (n_cells,) of the variance, at least 1
    n_groups: int
    worth: Floats  # (n_cells,)


@dataclass(frozen=True, kw_only=True, eq=False)
class _RepeatedRows:
    """Rows that may be one person's, where nobody said whose they are."""

    error: Error

    def spread(self, codes: Indices, n_codes: int, columns: tuple[int, ...], *, cumulated: bool) -> _Spread:  # noqa: ARG002 - the same for all cells of a column
        """Return the largest spread of the columns."""
        return _Spread(
            inflation=np.full(n_codes, self.error.inflation[list(columns)].max()),
            n_groups=self.error.n_groups,
            worth=np.ones(n_codes),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class _People:
    """Whose the rows are, where somebody may have several: those of train first."""

    whose: Indices  # (n,) numbered from 0
    rows: Indices  # (n_people,) how many each has
    n_train: int
    n_groups: int  # people who tell, if each had as many rows

    @classmethod
    def of(cls, train: Table, control: Table) -> Self:
        whose = numbered_together(train, control)
        return cls(
            whose=whose,
            rows=np.bincount(whose),
            n_train=train.n_people,
            n_groups=max(round(min(rows_worth(train), rows_worth(control))), 2),
        )

    def spread(self, codes: Indices, n_codes: int, columns: tuple[int, ...], *, cumulated: bool) -> _Spread:  # noqa: ARG002 - codes tell all of them
        """Compute the spread of each cell.

        What people have in a cell beyond their part varies alike in both tables, as all splits of the people
        are equally likely. Fewer rows are expected in a cell, too: so many as vary that much.
        """
        n_people = len(self.rows)
        counts = np.bincount(self.whose * n_codes + codes, minlength=n_people * n_codes)
        held = counts.reshape(n_people, n_codes).astype(np.float64)
        if cumulated:
            held = _half_lines(held)
        share = held.sum(axis=0) / len(self.whose)  # (n_codes,)
        variance = (held - self.rows[:, None] * share).var(axis=0, ddof=1)
        rows = int(self.rows[: self.n_train].sum())
        sides = ((self.n_train, rows), (n_people - self.n_train, len(self.whose) - rows))
        of_people = variance * sum(people / size**2 for people, size in sides)
        of_rows = share * (1 - share) * sum(1 / size for _, size in sides)
        more = np.divide(of_people, of_rows, out=np.ones(n_codes), where=of_rows > 0)
        inflation = np.maximum(np.asarray(more, dtype=np.float64), 1.0)
        return _Spread(inflation=inflation, n_groups=self.n_groups, worth=1 / inflation)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sides:
    """Which rows are train."""

    is_train: NDArray[np.bool_]  # (n,)

    @property
    def sizes(self) -> tuple[int, int]:
        n_train = int(self.is_train.sum())
        return n_train, len(self.is_train) - n_train

    def count(self, codes: Indices, n_codes: int) -> tuple[Floats, Floats]:
        """Count the rows of every cell on either side."""
        both = np.bincount(codes + n_codes * self.is_train, minlength=2 * n_codes).astype(np.float64)
        return both[n_codes:], both[:n_codes]


def _half_lines(counts: Floats) -> Floats:
    """Turn counts of parts into those of all parts up to each; missing, the last cell, stays apart."""
    return np.concatenate([np.cumsum(counts[..., :-1], axis=-1), counts[..., -1:]], axis=-1)


def _columns(coded: list[_Coded], side: _Sides, noise: _People | _RepeatedRows) -> Iterator[_Compared]:
    for j, column in enumerate(coded):
        train, control = side.count(column.fine, column.n_fine)
        if column.ordered:  # half-lines, which see a shift better than the parts between them
            train, control = _half_lines(train), _half_lines(control)
        spread = noise.spread(column.fine, column.n_fine, (j,), cumulated=column.ordered)
        yield _compare(train, control, side.sizes, spread, (j,))


def _pairs(
    coded: list[_Coded], side: _Sides, noise: _People | _RepeatedRows, *, rng: Generator
) -> Iterator[_Compared]:
    pairs = list(combinations(range(len(coded)), 2))
    for place in rng.permutation(len(pairs))[:_PAIRS]:
        a, b = pairs[place]
        codes = coded[a].coarse * coded[b].n_coarse + coded[b].coarse
        n_codes = coded[a].n_coarse * coded[b].n_coarse
        spread = noise.spread(codes, n_codes, (a, b), cumulated=False)
        yield _compare(*side.count(codes, n_codes), side.sizes, spread, (a, b))


def _compare(
    train: Floats, control: Floats, sizes: tuple[int, int], spread: _Spread, columns: tuple[int, ...]
) -> _Compared:
    """Compare the shares of cells by the root of their deviance, which follows the normal law into the tails.

    Only in cells where enough rows are expected, within and without, on both sides.
    """
    n_train, n_control = sizes
    pooled = (train + control) / (n_train + n_control)
    enough = np.minimum(pooled, 1 - pooled) * min(sizes) * spread.worth >= _LEAST_EXPECTED
    train, control, pooled = train[enough], control[enough], pooled[enough]
    deviance = 2 * sum(
        xlogy(rows, rows / n / pooled) + xlogy(n - rows, (n - rows) / n / (1 - pooled))
        for rows, n in ((train, n_train), (control, n_control))
    )
    surprise = np.sqrt(np.maximum(deviance, 0.0) / spread.inflation[enough])
    chances = 2 * stdtr(spread.n_groups - 1, -surprise)
    matters = np.abs(train / n_train - control / n_control) >= MATERIAL
    return _Compared(chances=np.asarray(chances), matters=matters, columns=columns)
