"""Rows that may be one person's: how much less a table tells than its number of rows says.

Where tables were split by person, the rows of one person are all train or all control, and what they have in
common counts once, not once for each. Who is who is not known here. But rows that agree in some columns may
be one person's, and if they are, they stand on one side: so columns are sought by which rows that agree stand
together. Errors are then computed by groups of such rows (Kish 1965), and the largest is believed. After a
split row by row no columns do that but by chance, and errors hardly change.

A column that alone tells the side (age, where the old are control) makes any group that is formed by it stand
together. That is no person but the very difference that is looked for; by such groups the error of that
column is not computed. And persons have few rows: large groups are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices

_TRIED = 80  # sets of two, of three and of four columns, beside all single ones
_BELIEVED = 8  # for each column
_ROWS_TO_TRY = 8000
_ROWS_TO_COMPUTE = 20_000
_FEWEST_GROUPS = 50
_MOST_ROWS_TOGETHER = 60
_NOTHING_VARIES = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Error:
    """How much more columns vary than those of rows split one by one, and how many groups tell so."""

    inflation: Floats  # (d,) of the variance, at least 1
    n_groups: int


@dataclass(frozen=True, kw_only=True, eq=False)
class _Groups:
    """Rows in groups: an order in which they stand together, and where each group starts."""

    order: Indices
    starts: Indices

    @classmethod
    def by(cls, key: NDArray[np.uint64]) -> "_Groups":
        """Group the rows of equal keys."""
        order = np.argsort(key, kind="stable")
        return cls(order=order, starts=np.flatnonzero(np.diff(key[order], prepend=~key[order[:1]])))

    @property
    def sizes(self) -> Indices:
        return np.diff(self.starts, append=len(self.order))

    def sums(self, values: Floats) -> Floats:
        """Add up the values (n, ...) of each group."""
        return np.asarray(np.add.reduceat(values[self.order], self.starts, axis=0))

    def first(self, n_rows: int) -> "_Groups":
        """Keep whole groups of about so many rows. Which ones is chance, as they stand by a hash."""
        if self.starts[-1] <= n_rows:
            return self
        kept = int(np.searchsorted(self.starts, n_rows))
        return _Groups(order=self.order[: self.starts[kept]], starts=self.starts[:kept])


@dataclass(frozen=True, kw_only=True)
class _Agreement:
    """How far rows that agree in some columns stand on one side together."""

    columns: tuple[int, ...]
    together: float  # 0: as chance has it, 1: all of them
    sureness: float  # in standard deviations
    possible: bool  # that they are persons


def error_by_repeated_rows(
    cells: Floats, scores: Floats, is_train: NDArray[np.bool_], *, rng: Generator
) -> Error:
    """Compute the errors of column means by groups of rows that agree in some columns.

    ``scores`` (n, d) has a number for each of the ``cells``, whose means are compared between the two sides.
    """
    n, d = cells.shape
    bits = np.where(np.isnan(cells), np.nan, cells + 0.0).view(np.uint64)
    keys = _mixed(bits ^ rng.integers(0, 2**63, d, dtype=np.uint64))  # (n, d)
    influence = np.empty_like(scores)
    for side, sign in ((is_train, 1), (~is_train, -1)):
        influence[side] = (scores[side] - scores[side].mean(axis=0)) * (sign / side.sum())
    least = _NOTHING_VARIES * (np.abs(scores).max(axis=0) / n) ** 2
    inflation, n_groups = np.ones(d), n
    for found, concerned in _agreements(keys, is_train, rng=rng):
        groups = _Groups.by(keys[:, found.columns].sum(axis=1)).first(_ROWS_TO_COMPUTE)
        apart = (influence[groups.order] ** 2).sum(axis=0)
        together = (groups.sums(influence) ** 2).sum(axis=0)
        counts = concerned & (apart > least)
        inflation = np.maximum(inflation, np.divide(together, apart, out=np.ones(d), where=counts))
        n_groups = min(n_groups, len(groups.starts))
    return Error(inflation=inflation, n_groups=n_groups)


def _agreements(
    keys: NDArray[np.uint64], is_train: NDArray[np.bool_], *, rng: Generator
) -> Iterator[tuple[_Agreement, NDArray[np.bool_]]]:
    """Yield the sets of columns by which rows stand together most surely, and which columns each concerns."""
    n, d = keys.shape
    rows = rng.permutation(n)[:_ROWS_TO_TRY]
    keys, side = keys[rows], is_train[rows].astype(np.float64)
    side -= side.mean()
    tried = [_agreement(keys, side, columns) for columns in _sets(d, rng=rng)]
    alone = [item.together for item in tried[:d]]
    n_found = np.zeros(d, dtype=np.int64)
    for found in sorted((item for item in tried if item.possible), key=lambda item: -item.sureness):
        concerned = n_found < _BELIEVED
        for column in found.columns:
            concerned[column] &= 2 * alone[column] < found.together
        if concerned.any():
            n_found += concerned
            yield found, concerned


def _agreement(keys: NDArray[np.uint64], side: Floats, columns: tuple[int, ...]) -> _Agreement:
    groups = _Groups.by(keys[:, columns].sum(axis=1))
    sizes, variance = groups.sizes, float((side**2).mean())
    pairs = float((sizes * (sizes - 1)).sum())
    if pairs == 0 or variance == 0:
        return _Agreement(columns=columns, together=0.0, sureness=0.0, possible=False)
    excess = (float((groups.sums(side) ** 2).sum()) - float((side**2).sum())) / variance
    return _Agreement(
        columns=columns,
        together=excess / pairs,
        sureness=excess / float(np.sqrt(2 * pairs)),
        possible=len(sizes) >= _FEWEST_GROUPS and pairs <= _MOST_ROWS_TOGETHER * len(side),
    )


def _sets(d: int, *, rng: Generator) -> Iterator[tuple[int, ...]]:
    """Yield every column, then some of all pairs, triples and quadruples of columns."""
    yield from ((j,) for j in range(d))
    for size in (2, 3, 4):
        if comb(d, size) <= _TRIED:
            yield from combinations(range(d), size)
        else:
            drawn = (tuple(sorted(rng.choice(d, size, replace=False).tolist())) for _ in range(_TRIED))
            yield from dict.fromkeys(drawn)


def _mixed(bits: NDArray[np.uint64]) -> NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
