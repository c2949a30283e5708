"""Do two tables hold the same kind of people? Their largest difference, beside what chance gives."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.special import stdtr, xlogy

from tabveil.core.people import numbered_together, rows_worth
from tabveil.core.sampling import in_order
from tabveil.core.table import Column, Floats, Indices, Numeric, Table, mix_bits
from tabveil.metrics.agreement import draw_sets

_TRIED = 80  # sets of two, of three and of four columns, beside all single ones
_BELIEVED = 8  # for each column
_ROWS_TO_TRY = 8000
_ROWS_TO_COMPUTE = 20_000
_FEWEST_GROUPS = 50
_MOST_ROWS_TOGETHER = 60
_NOTHING_VARIES = 1e-12

_Spread = tuple[Floats, Floats]
"""How much more the shares of cells vary than those of rows split one by one, (n_cells,) of the variance, at
least 1; and how many rows of the smaller table each row there is worth, (n_cells,)."""


class _Groups:
    """Rows in groups of equal keys: an order in which they stand together, and where each group starts."""

    def __init__(self, key: NDArray[np.uint64]) -> None:
        self.order = np.argsort(key, kind="stable")
        self.starts = np.flatnonzero(np.diff(key[self.order], prepend=~key[self.order[:1]]))

    def sums(self, values: Floats) -> Floats:
        """Add up the values (n, ...) of each group."""
        return np.asarray(np.add.reduceat(values[self.order], self.starts, axis=0))


class _Agreement:
    """How far rows that agree in some columns stand on one side together."""

    def __init__(self, keys: NDArray[np.uint64], side: Floats, columns: tuple[int, ...]) -> None:
        self.columns = columns
        self.together = 0.0  # 0: as chance has it, 1: all of them
        self.sureness = 0.0  # in standard deviations
        self.possible = False  # that they are persons
        groups = _Groups(keys[:, columns].sum(axis=1))
        sizes, variance = np.diff(groups.starts, append=len(groups.order)), float((side**2).mean())
        pairs = float((sizes * (sizes - 1)).sum())
        if pairs > 0 and variance > 0:
            excess = (float((groups.sums(side) ** 2).sum()) - float((side**2).sum())) / variance
            self.together, self.sureness = excess / pairs, excess / float(np.sqrt(2 * pairs))
            self.possible = len(sizes) >= _FEWEST_GROUPS and pairs <= _MOST_ROWS_TOGETHER * len(side)


class RepeatedRows:
    """Rows that may be one person's, where nobody said whose they are.

    The errors of column means are computed by groups of rows that agree in some columns. ``scores`` (n, d)
    has a number for each of the ``cells``, whose means are compared between the two sides.
    """

    def __init__(self, cells: Floats, scores: Floats, is_train: NDArray[np.bool_], *, rng: Generator) -> None:
        n, d = cells.shape
        bits = np.where(np.isnan(cells), np.nan, cells + 0.0).view(np.uint64)
        keys = mix_bits(bits ^ rng.integers(0, 2**63, d, dtype=np.uint64))  # (n, d)
        influence = np.empty_like(scores)
        for side, sign in ((is_train, 1), (~is_train, -1)):
            influence[side] = (scores[side] - scores[side].mean(axis=0)) * (sign / side.sum())
        least = _NOTHING_VARIES * (np.abs(scores).max(axis=0) / n) ** 2
        self.inflation, self.n_groups = np.ones(d), n  # of each column; of rows that tell so
        for found, concerned in _agreements(keys, is_train, rng=rng):
            groups = _Groups(keys[:, found.columns].sum(axis=1))
            if groups.starts[-1] > _ROWS_TO_COMPUTE:  # which ones is chance, as they stand by a hash
                kept = int(np.searchsorted(groups.starts, _ROWS_TO_COMPUTE))
                groups.order, groups.starts = groups.order[: groups.starts[kept]], groups.starts[:kept]
            apart = (influence[groups.order] ** 2).sum(axis=0)
            together = (groups.sums(influence) ** 2).sum(axis=0)
            counts = concerned & (apart > least)
            more = np.divide(together, apart, out=np.ones(d), where=counts)
            self.inflation = np.maximum(self.inflation, more)
            self.n_groups = min(self.n_groups, len(groups.starts))

    def spread(self, codes: Indices, n_codes: int, columns: tuple[int, ...], *, cumulated: bool) -> _Spread:  # noqa: ARG002 - the same for all cells of a column
        """Return the largest spread of the columns."""
        return np.full(n_codes, self.inflation[list(columns)].max()), np.ones(n_codes)


def _agreements(
    keys: NDArray[np.uint64], is_train: NDArray[np.bool_], *, rng: Generator
) -> Iterator[tuple[_Agreement, NDArray[np.bool_]]]:
    """Yield the sets of columns by which rows stand together most surely, and which columns each concerns."""
    n, d = keys.shape
    rows = rng.permutation(n)[:_ROWS_TO_TRY]
    keys, side = keys[rows], is_train[rows].astype(np.float64)
    side -= side.mean()
    some = [columns for size in (2, 3, 4) for columns in draw_sets(d, size, _TRIED, rng=rng)]
    tried = [_Agreement(keys, side, columns) for columns in [*((j,) for j in range(d)), *some]]
    alone = [item.together for item in tried[:d]]
    n_found = np.zeros(d, dtype=np.int64)
    for found in sorted((item for item in tried if item.possible), key=lambda item: -item.sureness):
        concerned = n_found < _BELIEVED
        for column in found.columns:
            concerned[column] &= 2 * alone[column] < found.together
        if concerned.any():
            n_found += concerned
            yield found, concerned


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


class _CodedColumn:
    """A column as a few cells, the last one for missing; ``ordered`` ones are numbers from low to high."""

    def __init__(self, column: Column, cells: Floats) -> None:
        missing, self.ordered = np.isnan(cells), isinstance(column, Numeric)
        cut = _parts if self.ordered else _labels
        sizes = (_PARTS, _COARSE_PARTS) if self.ordered else (_LABELS, _COARSE_LABELS)
        (self.fine, self.n_fine), (self.coarse, self.n_coarse) = (cut(cells, missing, n) for n in sizes)


def differences(train: Table, control: Table, *, rng: Generator) -> Differences:
    """Compare two tables in all columns and in pairs of them."""
    names = sorted(train.schema.names)  # no answer may depend on the order of columns, nor on that of rows
    tables = [in_order(table).table.select(names) for table in (train, control)]
    cells = np.concatenate([table.values for table in tables])  # (n, d)
    is_train = np.arange(len(cells)) < len(train)
    coded = [_CodedColumn(train.schema[name], cells[:, j]) for j, name in enumerate(names)]
    noise: _People | RepeatedRows
    if train.people is not None:
        noise = _People(*tables)
    else:
        # The cells of a column as numbers: their rank, or random ones where they have no order.
        numbers = [
            np.arange(column.n_fine, dtype=np.float64) if column.ordered else rng.normal(size=column.n_fine)
            for column in coded
        ]
        scores = np.column_stack([each[column.fine] for each, column in zip(numbers, coded, strict=True)])
        noise = RepeatedRows(cells, scores, is_train, rng=rng)
    compared = [
        _CellDifferences(codes, n_codes, columns, cumulated=cumulated, is_train=is_train, noise=noise)
        for codes, n_codes, columns, cumulated in _cells(coded, rng=rng)
    ]
    n_compared = sum(item.n for item in compared)
    if n_compared == 0:
        return Differences(chance=1.0, n_compared=0, columns=())
    found = [item for item in compared if item.surest_that_matters * n_compared <= LEVEL]
    alone = [item for item in found if len(item.columns) == 1]  # pairs differ where one of their columns does
    ranked = sorted(alone or found, key=lambda item: item.surest_that_matters)
    surest = min(item.surest for item in compared)
    return Differences(
        chance=min(surest * n_compared, 1.0),
        n_compared=n_compared,
        columns=tuple(dict.fromkeys(names[j] for item in ranked for j in item.columns)),
    )


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


class _People:
    """Whose the rows are, where somebody may have several: those of train first."""

    def __init__(self, train: Table, control: Table) -> None:
        self.whose = numbered_together(train, control)  # (n,) numbered from 0
        self.rows = np.bincount(self.whose)  # (n_people,) how many each has
        self.n_train = train.n_people
        # People who tell, if each had as many rows.
        self.n_groups = max(round(min(rows_worth(train), rows_worth(control))), 2)

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
        return inflation, 1 / inflation


def _half_lines(counts: Floats) -> Floats:
    """Turn counts of parts into those of all parts up to each; missing, the last cell, stays apart."""
    return np.concatenate([np.cumsum(counts[..., :-1], axis=-1), counts[..., -1:]], axis=-1)


def _cells(
    coded: list[_CodedColumn], *, rng: Generator
) -> Iterator[tuple[Indices, int, tuple[int, ...], bool]]:
    """Yield the cell of each row by every column and by some pairs, how many cells, and of which columns.

    And whether all cells up to each are compared: half-lines see a shift better than the parts between them.
    """
    for j, column in enumerate(coded):
        yield column.fine, column.n_fine, (j,), column.ordered
    pairs = list(combinations(range(len(coded)), 2))
    for place in rng.permutation(len(pairs))[:_PAIRS]:
        a, b = pairs[place]
        codes = coded[a].coarse * coded[b].n_coarse + coded[b].coarse
        yield codes, coded[a].n_coarse * coded[b].n_coarse, (a, b), False


class _CellDifferences:
    """How often chance gives the surest difference of some cells, and the surest that is large enough.

    Shares are compared by the root of their deviance, which follows the normal law into the tails. Only in
    cells where enough rows are expected, within and without, on both sides. Nothing is corrected for.
    """

    def __init__(
        self,
        codes: Indices,
        n_codes: int,
        columns: tuple[int, ...],
        *,
        cumulated: bool,
        is_train: NDArray[np.bool_],
        noise: _People | RepeatedRows,
    ) -> None:
        both = np.bincount(codes + n_codes * is_train, minlength=2 * n_codes).astype(np.float64)
        train, control = both[n_codes:], both[:n_codes]
        if cumulated:
            train, control = _half_lines(train), _half_lines(control)
        n_train = int(is_train.sum())
        n_control = len(is_train) - n_train
        inflation, worth = noise.spread(codes, n_codes, columns, cumulated=cumulated)
        pooled = (train + control) / (n_train + n_control)
        enough = np.minimum(pooled, 1 - pooled) * min(n_train, n_control) * worth >= _LEAST_EXPECTED
        train, control, pooled = train[enough], control[enough], pooled[enough]
        deviance = 2 * sum(
            xlogy(rows, rows / n / pooled) + xlogy(n - rows, (n - rows) / n / (1 - pooled))
            for rows, n in ((train, n_train), (control, n_control))
        )
        surprise = np.sqrt(np.maximum(deviance, 0.0) / inflation[enough])
        chances = np.asarray(2 * stdtr(noise.n_groups - 1, -surprise))
        matters = np.abs(train / n_train - control / n_control) >= MATERIAL
        self.columns, self.n = columns, len(chances)
        self.surest = float(chances.min(initial=1.0))
        self.surest_that_matters = float(chances[matters].min(initial=1.0))
