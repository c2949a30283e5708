"""Gradient boosted trees that guess one column from others."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from tabveil.core.sampling import in_order
from tabveil.core.table import Floats, Numeric, Table
from tabveil.engines.trees.boosting import ROUNDS, STEPS, Trees, train

GENERAL_ROUNDS = 10  # what holds for many people is learned first


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelGuesses:
    """Which label, how probable it is, how probable it was to the general rules alone, and the truth's."""

    label: Floats  # (n,)
    probability: Floats  # (n,)
    general: Floats  # (n,)
    of_truth: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelModel:
    """Trees that guess a column of labels."""

    labels: Floats  # (k,) the labels in the rows learned from, ascending
    trees: Trees | None  # None where there is only one

    @classmethod
    def fit(cls, table: Table, secret: str, known: tuple[str, ...]) -> Self:
        """Learn from the rows of a table that have the secret; there must be one."""
        table = _with(table, secret)
        labels, codes = np.unique(table.column(secret), return_inverse=True)
        if len(labels) == 1:
            return cls(labels=labels, trees=None)
        several = {"objective": "multi:softprob", "num_class": len(labels)}
        goal = {"objective": "binary:logistic"} if len(labels) == 2 else several  # noqa: PLR2004 - yes or no
        return cls(labels=labels, trees=train(table.select(known), codes, goal))

    def guess(self, known: Table, truth: Floats) -> LabelGuesses:
        """Guess the label of each row."""
        n, every = len(known), np.arange(len(known))
        if self.trees is None or n == 0:
            sure = np.ones(n)
            return LabelGuesses(
                label=np.full(n, self.labels[0]),
                probability=sure,
                general=sure,
                of_truth=(truth == self.labels[0]).astype(np.float64),
            )
        general, chances = map(_chances, self.trees.predict_after(known, GENERAL_ROUNDS, ROUNDS))
        best = chances.argmax(axis=1)
        at = np.minimum(np.searchsorted(self.labels, truth), len(self.labels) - 1)
        return LabelGuesses(
            label=self.labels[best],
            probability=chances[every, best],
            general=general[every, best],
            of_truth=np.where(self.labels[at] == truth, chances[every, at], 0.0),
        )


def _chances(found: Floats) -> Floats:
    """Return the probability of each label, (n, k); of two labels, trees give that of the second only."""
    return found if found.ndim == 2 else np.column_stack([1 - found, found])  # noqa: PLR2004 - (n, k)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberModel:
    """Trees that guess a column of numbers."""

    column: Numeric
    trees: Trees

    @classmethod
    def fit(cls, table: Table, secret: Numeric, known: tuple[str, ...]) -> Self:
        """Learn from the rows of a table that have the secret; there must be one."""
        table = _with(table, secret.name)
        steps = (table.column(secret.name) - secret.low) / secret.width * STEPS
        return cls(column=secret, trees=train(table.select(known), steps, {"objective": "reg:squarederror"}))

    def guess(self, known: Table) -> Floats:
        """Guess the number of each row."""
        if len(known) == 0:
            return np.empty(0)
        return self.column.low + self.trees.predict(known) / STEPS * self.column.width


def _with(table: Table, secret: str) -> Table:
    """Return the rows that have the secret, in the order of their content."""
    return in_order(table.take(np.flatnonzero(~np.isnan(table.column(secret))))).table
