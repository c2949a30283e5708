"""Copies that stand without a control: rows of training people who are unlike all others.

Somebody is *alone* where no other training person has an equal row, or one that agrees in all columns but
one. A release that draws from a population may meet such a row by chance, and train itself tells how often:
each of its people in turn is taken for a fresh one who meets somebody that is alone but for them. Tables from
which equal rows were removed show no such meeting; there the pairs that agree in all columns but one tell,
by how often two people agree in that column.

No real row beside train is looked at: no control, good or bad, has a part in it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.estimate import chance_of_at_least
from tabveil.core.people import any_of_person, numbered
from tabveil.core.table import Floats, Indices, Split, Table

CAUTION = 3.0
"""Chance is taken to be so many times as frequent as train shows with one meeting more: none seen among n
people may still be three in n."""

_MOST_ODDS = 100.0  # of a column that is (almost) constant, two people always agree


@dataclass(frozen=True, kw_only=True)
class LoneCopies:
    """The rows of a release that equal a row of somebody who is alone in train, and what chance explains."""

    rows: int = 0
    people: int = 0
    expected: float = 0.0
    p_value: float = 1.0


@dataclass(frozen=True, kw_only=True, eq=False)
class _Company:
    """Which rows of a table have others like them."""

    others: Indices  # (n,) whose rows are like it, 0, 1, or 2 for two people and more
    meetings: float  # how many of the people, each left out in turn, equal somebody who is alone without them

    @classmethod
    def of(cls, table: Table, equal: Indices) -> Self:
        """Look at all rows; ``equal`` numbers the different ones."""
        people = numbered(table)
        whole = np.zeros(len(table), dtype=np.uint64)
        for name in table.schema.names:
            whole += table.column_hash(name)
        twins = _met(equal, people)
        n_others, who = twins.n_others, np.where(twins.n_others == 1, twins.other, -1)
        by_column: list[tuple[Indices, float]] = []
        for name in table.schema.names:
            near = _met(whole - table.column_hash(name), people)
            untwinned = (twins.n_others == 0) & (near.n_others == 1)
            by_column.append((np.flatnonzero(untwinned), _odds(table.column(name))))
            same = (n_others == 1) & (near.n_others == 1) & (near.other == who)
            who = np.where(n_others == 0, np.where(near.n_others == 1, near.other, -1), who)
            n_others = np.where(same, 1, np.minimum(n_others + near.n_others, 2))
        only_twin = (twins.n_others == 1) & (n_others == 1)
        equal_pairs = float(len(np.unique(people[only_twin])))
        foretold = sum(odds * len(np.unique(people[rows[n_others[rows] == 1]])) for rows, odds in by_column)
        return cls(others=n_others, meetings=max(equal_pairs, foretold))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Met:
    n_others: Indices  # (n,) people with the same key beside its own, 0, 1, or 2 for more
    other: Indices  # (n,) one of them, -1 where there is none


def _met(keys: NDArray[np.uint64] | Indices, people: Indices) -> _Met:
    """Say of each row how many other people have a row with its key, and who the other is if it is one."""
    _, kind = np.unique(keys, return_inverse=True)
    n_people = int(people.max(initial=0)) + 1
    pairs = np.unique(kind.reshape(-1) * n_people + people)
    held = np.bincount(pairs // n_people)
    total = np.bincount(pairs // n_people, weights=pairs % n_people)
    n_others = np.minimum(held[kind] - 1, 2)
    other = np.where(n_others == 1, total[kind] - people, -1).astype(np.int64)
    return _Met(n_others=n_others, other=other)


def _odds(cells: Floats) -> float:
    """Return the odds that two people agree in a column."""
    _, counts = np.unique(cells, return_counts=True, equal_nan=True)
    n = len(cells)
    agree = float((counts * (counts - 1.0)).sum() / max(n * (n - 1.0), 1.0))
    return min(agree / max(1 - agree, 1 / _MOST_ODDS), _MOST_ODDS)


def lone_copies(split: Split, synthetic: Indices, train: Indices) -> LoneCopies:
    """Count them; ``synthetic`` and ``train`` number the different rows of the tables alike.

    The chance that a released row equals somebody who is alone is that of a left-out training person, with
    caution; the number of different people met is then at most binomial.
    """
    n_people = split.train.n_people
    met = np.isin(train, synthetic)
    if not met.any() or n_people < 2:  # noqa: PLR2004 - nobody is alone by themselves
        return LoneCopies()
    company = _Company.of(split.train, train)
    lone = met & (company.others == 0)
    people = int(any_of_person(lone, split.train.people).sum())
    rows = int(np.isin(synthetic, train[lone]).sum())
    rate = min(CAUTION * (company.meetings + 1) / n_people, 1.0)
    return LoneCopies(
        rows=rows,
        people=people,
        expected=rate * len(synthetic),
        p_value=chance_of_at_least(people, len(synthetic), rate),
    )
