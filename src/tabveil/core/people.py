"""People behind rows: rows of one person stand or fall together, and count as one observation.

Where a table says whose each row is (``Table.people``), a person is what is dealt, exchanged and counted.
Everything here is about rows themselves where it does not: then every row is another person. A value is told
only where enough people share it (:data:`LEAST_SHARED`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from tabveil.core.table import Floats, Indices, Split, Table
from tabveil.errors import NotApplicable

LEAST_SHARED = 10
"""A value is shown, drawn, or learned as a value of its own only if at least so many people share it.

A value that few share can be somebody's. Ten is the rule of thumb by which European statistical offices let
tables leave the rooms where single records are kept (Brandt et al. 2010, Guidelines for the checking of
output based on microdata research).
"""

LEAST_SHARED_IN_WORDS = "ten"
"""The same in sentences."""


Flags = NDArray[np.bool_]


def rows_worth(table: Table) -> float:
    """Return how many independent rows a table is worth, if rows of one person are all alike.

    That is the number of people where all have equally many, and fewer where some have many (Kish 1965).

    >>> from tabveil.core.table import Numeric, Schema
    >>> rows = Table(schema=Schema((Numeric(name="age", low=0, high=99),)), values=np.zeros((4, 1)))
    >>> rows_worth(rows)
    4.0
    >>> rows_worth(Table(schema=rows.schema, values=rows.values, people=np.array([0, 0, 1, 1])))
    2.0
    >>> rows_worth(Table(schema=rows.schema, values=rows.values, people=np.array([0, 0, 0, 1])))
    1.6
    """
    if table.people is None:
        return float(len(table))
    _, sizes = np.unique(table.people, return_counts=True)
    return float(sizes.sum() ** 2 / max((sizes**2).sum(), 1))


def any_of_person(flags: Flags, people: Indices | None) -> Flags:
    """Flag the people with a flagged row, in the order of their numbers.

    >>> any_of_person(np.array([True, False, False]), np.array([4, 4, 1]))
    array([False,  True])
    """
    return flags if people is None else sum_by_person(flags, people) > 0


def sum_by_person(values: NDArray[Any], people: Indices | None) -> NDArray[Any]:
    """Add up what the rows of each person have, in the order of their numbers; without people, the values.

    >>> sum_by_person(np.array([0.0, 1.0, 2.0]), np.array([7, 7, 3]))
    array([2., 1.])
    """
    if people is None:
        return values
    different, whose = np.unique(people, return_inverse=True)
    return np.asarray(np.bincount(whose, weights=values, minlength=len(different)))


def mean_by_person(values: NDArray[Any], people: Indices | None) -> NDArray[Any]:
    """Return the mean of each person's rows, in the order of their numbers; without people, the values.

    >>> mean_by_person(np.array([0.0, 1.0, 2.0]), np.array([7, 7, 3]))
    array([2. , 0.5])
    """
    if people is None:
        return values
    return np.asarray(sum_by_person(values, people) / np.unique(people, return_counts=True)[1])


def numbered(table: Table) -> Indices:
    """Return whose each row is, the people numbered from 0, (n_rows,)."""
    if table.people is None:
        return np.arange(len(table))
    return np.unique(table.people, return_inverse=True)[1].astype(np.int64)


def numbered_together(train: Table, control: Table) -> Indices:
    """Return whose each row of both tables is, (n + m,): people of train come first, then of control."""
    return np.concatenate([numbered(train), train.n_people + numbered(control)])


def by_first_row(people: Indices) -> Indices:
    """Return whose each row is, (n,), the people numbered from 0 in the order of their first rows.

    >>> by_first_row(np.array([7, 3, 7, 9]))
    array([0, 1, 0, 2])
    """
    _, first, whose = np.unique(people, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[whose])


def require_people(name: str, split: Split, confidence: float) -> None:
    """Refuse to compare so few people that every way of dealing them to train and control is likely.

    A difference is chance at least as often as one in all ways: with three people in each table, one in 20.
    """
    if split.train.people is None:
        return
    n_train, n_control = split.train.n_people, split.control.n_people
    log_ways = math.lgamma(n_train + n_control + 1) - math.lgamma(n_train + 1) - math.lgamma(n_control + 1)
    if log_ways < math.log(2 / (1 - confidence)):  # two tails
        raise NotApplicable(
            name,
            f"{n_train:,} training and {n_control:,} control people are too few to tell a leak from "
            "chance, however many rows they have.",
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Holders:
    """How many people of train and of control hold each different row.

    What is counted of different rows can be counted of their ``owner``, one of the people who hold a row:
    those of train come first, then those of control, and last nobody. It is None where every row is another
    person: then a different row is what its holders have, and all they have.
    """

    n_train: int  # people
    n_control: int
    train: Indices  # (n_different,) people
    control: Indices  # (n_different,)
    owner: Indices | None  # (n_different,)
    commonest: tuple[Indices, Indices]  # (n_different,) likewise, if each had only what most others have

    @classmethod
    def of(cls, split: Split, groups: Sequence[Indices], n_groups: int) -> Self:
        """Count; ``groups`` say which different row each row of train and of control is."""
        sides = [_Holding.of(table, group) for table, group in zip(_real(split), groups, strict=True)]
        counts = [np.bincount(side.row, minlength=n_groups) for side in sides]
        owner, commonest = None, (counts[0], counts[1])
        if split.train.people is not None:
            of_both = counts[0] + counts[1]
            commonest = sides[0].commonest(of_both), sides[1].commonest(of_both)
            owner = np.full(n_groups, sides[0].n_people + sides[1].n_people)
            for side, before in ((sides[1], sides[0].n_people), (sides[0], 0)):
                owner[side.row[::-1]] = before + side.person[::-1]  # the first of several
        return cls(
            n_train=sides[0].n_people,
            n_control=sides[1].n_people,
            train=counts[0],
            control=counts[1],
            owner=owner,
            commonest=commonest,
        )

    def by_owner(self, values: Floats) -> Floats:
        """Add up what different rows have, (n_different,), by whose they are."""
        if self.owner is None:
            return values
        added = np.bincount(self.owner, weights=values, minlength=self.n_train + self.n_control + 1)
        return np.asarray(added, dtype=np.float64)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Holding:
    """Who of a table holds which different row: each pair once."""

    row: Indices  # (n_pairs,)
    person: Indices  # (n_pairs,)
    n_people: int

    @classmethod
    def of(cls, table: Table, group: Indices) -> Self:
        whose = numbered(table)
        n_people = table.n_people
        if table.people is None:
            return cls(row=group, person=whose, n_people=n_people)
        pairs = np.unique(group * max(n_people, 1) + whose)
        return cls(row=pairs // n_people, person=pairs % n_people, n_people=n_people)

    def commonest(self, holders: Indices) -> Indices:
        """Count the people who hold each different row, each with the one that has most holders alone."""
        order = np.lexsort((self.row, -holders[self.row], self.person))
        first = np.diff(self.person[order], prepend=-1) > 0
        return np.bincount(self.row[order][first], minlength=len(holders))


def count_sharers_once(split: Split, groups: Sequence[Indices]) -> tuple[Split, tuple[Indices, ...]]:
    """Make one person of all who hold the same row, directly or through others, in either table.

    Where every row is another person, one of each set of equal rows is kept.
    """
    if split.train.people is None:
        kept = [np.unique(group, return_index=True)[1] for group in groups]
        tables = [table.take(rows) for table, rows in zip(_real(split), kept, strict=True)]
        groups = groups[0][kept[0]], groups[1][kept[1]]
    else:
        joined = [_joined(numbered(table), group) for table, group in zip(_real(split), groups, strict=True)]
        joined[1] += 1 + joined[0].max(initial=0)
        tables = [replace(table, people=one) for table, one in zip(_real(split), joined, strict=True)]
    return Split(train=tables[0], control=tables[1], synthetic=split.synthetic), tuple(groups)


def _joined(whose: Indices, group: Indices) -> Indices:
    """Return which set of people, linked by equal rows, each row is of, (n_rows,)."""
    if len(whose) == 0:
        return whose
    n_people = int(whose.max()) + 1
    size = n_people + int(group.max()) + 1
    links = coo_array((np.ones(len(whose)), (whose, n_people + group)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1][whose], dtype=np.int64)


def _real(split: Split) -> tuple[Table, Table]:
    return split.train, split.control
