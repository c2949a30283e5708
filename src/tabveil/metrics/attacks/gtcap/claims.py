"""Claims that a release makes about people with some keys, and what real rows say to them.

See docs/definitions.md, Claims. Rows are arranged by their keys. Keys that must be equal (labels, and whether
a number is missing) form classes; numeric keys stay numbers, in units of their last decimal place, so that
differences are exact. Rows equal in keys and target are one *kind* with a count, so crowds cost no more than
single rows. Where people have several rows, only rows of the same person are of one kind.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from tabveil.core import workers
from tabveil.core.crew import once
from tabveil.core.estimate import CONFIDENCE, Estimate, mean_share, probit
from tabveil.core.result import Role
from tabveil.core.sampling import group_equal_rows
from tabveil.core.table import Categorical, Floats, Indices, Numeric, Schema, Split, Table
from tabveil.metrics.attacks.gtcap import claim_kernels as kernels
from tabveil.metrics.attacks.guessing import Bools
from tabveil.tables.matrices.ordinal import in_last_places, places_a_unit

CLAIMS_AT_ONCE = 1024
ROUNDING = 1 + 1e-9  # 0.4 is within 0.1 of 0.3, whatever their last bits say


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinds:
    """The different rows of one table: keys, target and how many rows are so."""

    keys: Floats  # (k, d) numeric keys, sorted within their class by the first
    targets: Floats  # (k,)
    groups: Indices  # (k,) class of the other keys, ascending
    counts: Floats  # (k,) number of rows
    of_row: Indices  # (n,) the kind of each row
    people: Indices | None = None  # (k,) whose rows they are, numbered from 0 on

    @classmethod
    def of(cls, groups: Indices, keys: Floats, targets: Floats, people: Indices | None = None) -> Self:
        """Bring equal rows together; where people have several, those of each person."""
        whose = np.zeros(len(groups), dtype=np.int64)
        if people is not None:
            whose = np.unique(people, return_inverse=True)[1]
        cells = np.column_stack([groups, keys, targets, whose])
        order = np.lexsort(cells.T[::-1])
        new = np.ones(len(order), dtype=bool)
        new[1:] = (np.diff(cells[order], axis=0) != 0).any(axis=1)
        of_row = np.empty(len(order), dtype=np.int64)
        of_row[order] = np.cumsum(new) - 1
        starts = np.flatnonzero(new)
        first = order[starts]
        return cls(
            keys=np.ascontiguousarray(keys[first]),
            targets=targets[first],
            groups=groups[first],
            counts=np.diff(np.append(starts, len(order))).astype(np.float64),
            of_row=of_row,
            people=None if people is None else whose[first],
        )

    def __len__(self) -> int:
        return len(self.targets)

    def starts(self, n_groups: int) -> Indices:
        """Return where each class begins, and where the last one ends."""
        return np.searchsorted(self.groups, np.arange(n_groups + 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyIndex:
    """The three tables by keys and target, in one numbering of classes."""

    train: Kinds
    control: Kinds
    synthetic: Kinds
    n_groups: int
    widths: Floats  # (d,) of the numeric keys, in last decimal places
    target_width: float | None  # None for labels, which are right or wrong
    naive: float  # the guess of one who sees no keys: the most frequent label, the median

    def reach(self, radius: float) -> tuple[Floats, float]:
        """Return how far keys and targets may be apart."""
        half_a_code = 0.5
        target = half_a_code if self.target_width is None else self.target_width * radius * ROUNDING
        return self.widths * radius * ROUNDING, target


def arrange(split: Split, keys: Sequence[str], target: str) -> KeyIndex:
    """Sort the rows of the three tables by the keys."""
    tables = (split.train, split.control, split.synthetic)
    groups = group_equal_rows(*(_compared_by_equality(table, keys) for table in tables))
    numeric = _most_telling_first(split.synthetic, keys)
    kinds = []
    for table, group in zip(tables, groups, strict=True):
        cells = np.empty((len(table), len(numeric)))
        for position, key in enumerate(numeric):
            cells[:, position] = np.nan_to_num(_above_low(key, table.column(key.name)), nan=0.0)
        kinds.append(Kinds.of(group, cells, _target_values(table, target), table.people))
    column, claimed = split.schema[target], _target_values(split.synthetic, target)
    if isinstance(column, Categorical):
        values, counts = np.unique(claimed, return_counts=True)
        naive = values[np.argmax(counts)]
    else:
        present = np.sort(claimed[claimed >= 0])
        naive = present[len(present) // 2] if len(present) else claimed[0]
    return KeyIndex(
        train=kinds[0],
        control=kinds[1],
        synthetic=kinds[2],
        n_groups=1 + max(int(group.max(initial=0)) for group in groups),
        widths=np.array([_width(key) for key in numeric]),
        target_width=_width(column) if isinstance(column, Numeric) else None,
        naive=float(naive),
    )


def _above_low(column: Numeric, cells: Floats) -> Floats:
    """Return numbers above the column's lowest, in its last decimal places; missing stays missing."""
    low = in_last_places(np.array(column.low), column.decimals)
    return in_last_places(cells, column.decimals) - low + 0.0


def _width(column: Numeric) -> float:
    return column.width * places_a_unit(column.decimals)


def _compared_by_equality(table: Table, keys: Sequence[str]) -> Table:
    """Return the labels, and for each number whether it is missing: missing matches missing only."""
    columns, cells = [], []
    for name in keys:
        column = table.schema[name]
        if isinstance(column, Categorical):
            columns.append(column)
            cells.append(table.column(name))
        else:
            columns.append(Categorical(name=name, labels=("present", "missing")))
            cells.append(np.isnan(table.column(name)).astype(np.float64))
    return Table(schema=Schema(tuple(columns)), values=np.column_stack(cells))


def _most_telling_first(synthetic: Table, keys: Sequence[str]) -> list[Numeric]:
    """Return the numeric keys that vary, the one spread widest over its range first, the others by name."""
    numeric = [
        column
        for name in sorted(keys)
        if isinstance(column := synthetic.schema[name], Numeric) and column.width > 0
    ]

    def spread(column: Numeric) -> float:
        cells = synthetic.column(column.name)
        cells = cells[~np.isnan(cells)]
        return float(np.subtract(*np.quantile(cells, [0.75, 0.25]))) / column.width if len(cells) else 0.0

    widest = max(numeric, key=spread, default=None)
    return sorted(numeric, key=lambda column: column is not widest)


def _target_values(table: Table, target: str) -> Floats:
    """Return the targets as numbers of which only near or equal ones are near; missing is far from all."""
    match table.schema[target]:
        case Categorical():
            return np.nan_to_num(table.column(target), nan=-1.0)
        case Numeric() as column:
            return np.nan_to_num(_above_low(column, table.column(target)), nan=-2 * _width(column) - 1)


def find_pure(arranged: KeyIndex, asked: Indices, radius: float) -> Bools:
    """Tell which of the kinds of synthetic rows have near them only rows with their own target."""
    kinds = arranged.synthetic
    starts = kinds.starts(arranged.n_groups)
    reach, target_reach = arranged.reach(radius)
    pure = np.empty(len(asked), dtype=np.bool_)

    def find(begin: int, end: int) -> None:
        kernels.find_pure(
            kinds.keys, kinds.targets, kinds.groups, starts, asked, reach, target_reach, begin, end, pure
        )

    workers.each_chunk(len(asked), CLAIMS_AT_ONCE, find, doing="looking for claims")
    return pure


@dataclass(frozen=True, kw_only=True, eq=False)
class Claims:
    """Kinds of synthetic rows that passed the filter, sorted as the kinds are."""

    arranged: KeyIndex
    radius: float
    soft: bool
    keys: Floats  # (c, d)
    targets: Floats  # (c,)
    groups: Indices  # (c,)
    counts: Floats  # (c,) claims of each kind

    @property
    def total(self) -> float:
        """The number of claims."""
        return float(self.counts.sum())


class ClaimAnswer:
    """What one table of real people says to the claims."""

    def __init__(self, claims: Claims, real: Kinds, n_people: int) -> None:
        self.claims, self.real, self.n_people = claims, real, n_people
        reach, target_reach = claims.arranged.reach(claims.radius)
        self._reach = (reach, target_reach)
        found = np.empty((len(claims.targets), 4))
        made = claims.keys, claims.targets, claims.groups
        rows = (real.keys, real.targets, real.counts, real.starts(claims.arranged.n_groups))
        whose = np.empty(0, dtype=np.int64) if real.people is None else real.people
        how = reach, target_reach, claims.arranged.naive, claims.soft

        def attribute(begin: int, end: int) -> None:
            kernels.attribute(made, rows, whose, n_people, *how, begin, end, found)

        workers.each_chunk(len(found), CLAIMS_AT_ONCE, attribute, doing="checking claims")
        self.found = found  # (c, 4) people met, their weight, weight with the target, with the naive guess

    def score(self, chance: Floats, column: int = 2) -> float:
        """Return the mean over all claims.

        ``chance`` (n_people + 1,) is the chance that of so many people one is in the sample compared.
        """
        met, near = self.found[:, 0], self.found[:, 1]
        values = np.divide(self.found[:, column], near, out=np.zeros(len(near)), where=near > 0)
        return float((self.claims.counts * values * chance[met.astype(np.int64)]).sum()) / self.claims.total

    def worst(self, chance: Floats) -> float:
        """Return the score if every claim were true of its class, and met somebody."""
        met = np.maximum(self.found[:, 0].astype(np.int64), 1)
        return float((self.claims.counts * chance[met]).sum()) / self.claims.total

    def weigh(self, chance: Floats) -> Floats:
        """Return (kinds, 4), for one row of each kind; where people have several rows, (people, 5).

        How the sum of scores falls without it, the claims it bears, those about it, those true of it, and of
        people those that would be true if they said the most usual value.
        """
        claims, real = self.claims, self.real
        starts = np.searchsorted(claims.groups, np.arange(claims.arranged.n_groups + 1))
        made = (claims.keys, claims.targets, claims.counts, starts)
        rows = real.keys, real.targets, real.groups
        kernel: Any = kernels.weigh_rows
        how: tuple[Any, ...] = (*rows, made, self.found, chance, *self._reach, claims.soft)
        out = np.empty((len(real), 4))
        if real.people is not None:
            of_person = np.argsort(real.people, kind="stable")
            own_rows = of_person, np.searchsorted(real.people[of_person], np.arange(self.n_people + 1))
            kernel = kernels.weigh_people
            naive = claims.arranged.naive
            how = (*rows, real.counts), own_rows, made, self.found, chance, *self._reach, naive, claims.soft
            out = np.empty((self.n_people, 5))

        def weigh(begin: int, end: int) -> None:
            kernel(*how, begin, end, out)

        workers.each_chunk(len(out), CLAIMS_AT_ONCE, weigh, doing="weighing rows")
        return out

    @property
    def _counts(self) -> Floats:
        """The number of people that each line of :meth:`weigh` is about."""
        return self.real.counts if self.real.people is None else np.ones(self.n_people)

    @once
    def exposure(self) -> tuple[Floats, Floats]:
        """Return for every kind of row, or every person, the share of the claims about it that are true.

        And for a guesser who names the most usual value of everybody about whom there is a claim.
        """
        about, true, *said = self.weigh(chance_of_any(self.n_people, self.n_people))[:, 2:].T
        covered, target_reach = about > 0, self._reach[1]

        def share(weight: Floats) -> Floats:
            return np.asarray(np.divide(weight, about, out=np.zeros(len(about)), where=covered))

        if said:
            return share(true), share(said[0])
        usual = np.abs(self.real.targets - self.claims.arranged.naive) <= target_reach
        return share(true), (usual & covered).astype(np.float64)

    def exposed(self) -> float:
        """Return the number of people, each by the share of the claims about them that are true."""
        return float((self.exposure[0] * self._counts).sum())

    def beats_the_usual(self) -> bool:
        """Tell whether claims are truer than the most usual value, of the people they are about.

        Both guess about the same people, so the difference is taken person by person.
        """
        ahead, counts = self.exposure[0] - self.exposure[1], self._counts
        mean = float((counts * ahead).sum()) / self.n_people
        spread = float((counts * (ahead - mean) ** 2).sum()) / self.n_people
        return mean > probit(CONFIDENCE) * math.sqrt(spread / self.n_people)

    def variance(self, chance: Floats) -> float:
        """Return the variance of the score over draws of the real people (jackknife)."""
        influence, counts = self.weigh(chance)[:, 0], self._counts
        mean = float((counts * influence).sum()) / self.n_people
        spread = float((counts * (influence - mean) ** 2).sum())
        return spread * (self.n_people - 1) / self.n_people / self.claims.total**2

    def scored(self, chance: Floats) -> Callable[[float], Estimate]:
        """Return what gives the score with its interval at a level of confidence."""
        total = self.claims.total
        value, variance = self.score(chance), self.variance(chance)
        return partial(mean_share, value, variance, int(total), independent=min(total, self.n_people))

    def facts(self, role: Role) -> dict[str, float | int]:
        """Return the counts and the score in all rows of the table."""
        met = self.found[:, 0] > 0
        every = chance_of_any(self.n_people, self.n_people)
        n_met = float(self.claims.counts[met].sum())
        score = self.score(every)
        return {
            f"claims_met_in_{role}": int(n_met),
            f"score_in_all_of_{role}": score,
            f"score_of_met_in_{role}": score * self.claims.total / n_met if n_met else 0.0,
        }


def chance_of_any(n_people: int, size: int) -> Floats:
    """Return (n_people + 1,): the chance that a sample of ``size`` of the people holds one of c of them."""
    taken = np.arange(n_people)
    missed = np.maximum(n_people - size - taken, 0) / (n_people - taken)
    return 1 - np.append(1.0, np.cumprod(missed))
