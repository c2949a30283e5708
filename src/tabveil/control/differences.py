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

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import stdtr, xlogy

from tabveil.control.repeated_rows import Error, error_by_repeated_rows
from tabveil.people import numbered, rows_worth
from tabveil.sampling import in_order
from tabveil.table import Column, Floats, Indices, Numeric, Table

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
    side = _Sides(is_train=np.arange(len(cells)) < len(train), people=_People.of(*tables))
    coded = [_code(train.schema[name], cells[:, j]) for j, name in enumerate(names)]
    error = None
    if side.people is None:
        scores = np.column_stack([_score(column, rng=rng) for column in coded])
        error = error_by_repeated_rows(cells, scores, side.is_train, rng=rng)
    compared = [*_columns(coded, side, error), *_pairs(coded, side, error, rng=rng)]
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
class _People:
    """Whose the rows are, where somebody may have several: those of train first."""

    whose: Indices  # (n,) numbered from 0
    rows: Indices  # (n_people,) how many each has
    n_train: int
    worth: float  # how many people tell, if each had as many rows

    @classmethod
    def of(cls, train: Table, control: Table) -> "_People | None":
        if train.people is None:
            return None
        whose = np.concatenate([numbered(train), train.n_people + numbered(control)])
        return cls(
            whose=whose,
            rows=np.bincount(whose),
            n_train=train.n_people,
            worth=min(rows_worth(train), rows_worth(control)),
        )

    def inflation(self, codes: Indices, n_codes: int, *, cumulated: bool) -> Floats:
        """Return how much more the share of each cell varies than that of rows split one by one, (n_codes,).

        At least 1. What people have in a cell beyond their part varies alike in both tables, as all splits of
        the people are equally likely.
        """
        n_people = len(self.rows)
        held = np.bincount(self.whose * n_codes + codes, minlength=n_people * n_codes).reshape(-1, n_codes)
        if cumulated:
            held = _half_lines(held)
        share = held.sum(axis=0) / len(self.whose)  # (n_codes,)
        variance = (held - self.rows[:, None] * share).var(axis=0, ddof=1)
        rows = int(self.rows[: self.n_train].sum())
        sides = ((self.n_train, rows), (n_people - self.n_train, len(self.whose) - rows))
        of_people = variance * sum(people / size**2 for people, size in sides)
        of_rows = share * (1 - share) * sum(1 / size for _, size in sides)
        return np.maximum(np.divide(of_people, of_rows, out=np.ones(n_codes), where=of_rows > 0), 1.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Sides:
    """Which rows are train, and whose they are."""

    is_train: NDArray[np.bool_]  # (n,)
    people: _People | None

    @property
    def sizes(self) -> tuple[int, int]:
        n_train = int(self.is_train.sum())
        return n_train, len(self.is_train) - n_train

    def count(self, codes: Indices, n_codes: int) -> tuple[Floats, Floats]:
        """Count the rows of every cell on either side."""
        both = np.bincount(codes + n_codes * self.is_train, minlength=2 * n_codes).astype(np.float64)
        return both[n_codes:], both[:n_codes]


def _half_lines(counts: Floats | Indices) -> Floats:
    """Turn counts of parts into those of all parts up to each; missing, the last cell, stays apart."""
    return np.concatenate([np.cumsum(counts[..., :-1], axis=-1), counts[..., -1:]], axis=-1)


def _columns(coded: list[_Coded], side: _Sides, error: Error | None) -> Iterator[_Compared]:
    for j, column in enumerate(coded):
        train, control = side.count(column.fine, column.n_fine)
        if column.ordered:  # half-lines, which see a shift better than the parts between them
            train, control = _half_lines(train), _half_lines(control)
        noise = _noise(column.fine, column.n_fine, side, error, (j,), cumulated=column.ordered)
        yield _compare(train, control, side.sizes, noise, (j,))


def _pairs(coded: list[_Coded], side: _Sides, error: Error | None, *, rng: Generator) -> Iterator[_Compared]:
    pairs = list(combinations(range(len(coded)), 2))
    for place in rng.permutation(len(pairs))[:_PAIRS]:
        a, b = pairs[place]
        n_b = coded[b].n_coarse
        codes, n_codes = coded[a].coarse * n_b + coded[b].coarse, coded[a].n_coarse * n_b
        noise = _noise(codes, n_codes, side, error, (a, b), cumulated=False)
        yield _compare(*side.count(codes, n_codes), side.sizes, noise, (a, b))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Noise:
    """How much more cells vary than those of rows split one by one, and how many groups of rows tell so.

    ``independent`` says that fewer rows are expected in a cell, too: so many as vary that much.
    """

    inflation: Floats  # (n_cells,)
    n_groups: int
    independent: bool


def _noise(
    codes: Indices, n_codes: int, side: _Sides, error: Error | None, columns: tuple[int, ...], *, cumulated: bool
) -> _Noise:
    """Look at people where they are known, and else at rows that may be one person's."""
    if side.people is not None:
        inflation = side.people.inflation(codes, n_codes, cumulated=cumulated)
        return _Noise(inflation=inflation, n_groups=max(round(side.people.worth), 2), independent=True)
    assert error is not None
    inflation = np.full(n_codes, error.inflation[list(columns)].max())
    return _Noise(inflation=inflation, n_groups=error.n_groups, independent=False)


def _compare(
    train: Floats, control: Floats, sizes: tuple[int, int], noise: _Noise, columns: tuple[int, ...]
) -> _Compared:
    """Compare the shares of cells by the root of their deviance, which follows the normal law into the tails.

    Only in cells where enough rows are expected, within and without, on both sides.
    """
    n_train, n_control = sizes
    pooled = (train + control) / (n_train + n_control)
    expected = np.minimum(pooled, 1 - pooled) * min(sizes)
    enough = (expected / noise.inflation if noise.independent else expected) >= _LEAST_EXPECTED
    train, control, pooled, inflation = train[enough], control[enough], pooled[enough], noise.inflation[enough]
    deviance = 2 * sum(
        xlogy(rows, rows / n / pooled) + xlogy(n - rows, (n - rows) / n / (1 - pooled))
        for rows, n in ((train, n_train), (control, n_control))
    )
    chances = 2 * stdtr(noise.n_groups - 1, -np.sqrt(np.maximum(deviance, 0.0) / inflation))
    matters = np.abs(train / n_train - control / n_control) >= MATERIAL
    return _Compared(chances=np.asarray(chances), matters=matters, columns=columns)
