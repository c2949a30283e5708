"""Gradient boosted trees that guess one column from others: XGBoost as it comes, made repeatable.

All columns go in by name, rows in an order of their content, on one thread: sums of floating-point numbers in
another order would grow other trees.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tabveil.drawing import in_order
from tabveil.table import Categorical, Floats, Numeric, Table

ROUNDS = 100  # XGBoost's default, like all other settings
GENERAL_ROUNDS = 10  # what holds for many people is learned first
STEPS = 1000.0  # numbers are learned in thousandths of their range, or small ones would not be split at all


@dataclass(frozen=True, kw_only=True, eq=False)
class GuessedLabels:
    """Which label, how probable it is, how probable it was to the general rules alone, and the truth's."""

    label: Floats  # (n,)
    probability: Floats  # (n,)
    general: Floats  # (n,)
    of_truth: Floats  # (n,)


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelModel:
    """Trees that guess a column of labels."""

    labels: Floats  # (k,) the labels in the rows learned from, ascending
    booster: Any  # None where there is only one

    @classmethod
    def fit(cls, table: Table, secret: str, known: tuple[str, ...]) -> Self:
        """Learn from the rows of a table that have the secret; there must be one."""
        table = _with(table, secret)
        labels, codes = np.unique(table.column(secret), return_inverse=True)
        if len(labels) == 1:
            return cls(labels=labels, booster=None)
        several = {"objective": "multi:softprob", "num_class": len(labels)}
        goal = {"objective": "binary:logistic"} if len(labels) == 2 else several  # noqa: PLR2004 - yes or no
        return cls(labels=labels, booster=_train(table.select(known), codes, goal))

    def guess(self, known: Table, truth: Floats) -> GuessedLabels:
        """Guess the label of each row."""
        n, every = len(known), np.arange(len(known))
        if self.booster is None or n == 0:
            sure = np.ones(n)
            return GuessedLabels(
                label=np.full(n, self.labels[0]),
                probability=sure,
                general=sure,
                of_truth=(truth == self.labels[0]).astype(np.float64),
            )
        rows = _matrix(known)
        chances, general = self._chances(rows, ROUNDS), self._chances(rows, GENERAL_ROUNDS)
        best = chances.argmax(axis=1)
        at = np.minimum(np.searchsorted(self.labels, truth), len(self.labels) - 1)
        return GuessedLabels(
            label=self.labels[best],
            probability=chances[every, best],
            general=general[every, best],
            of_truth=np.where(self.labels[at] == truth, chances[every, at], 0.0),
        )

    def _chances(self, rows: Any, rounds: int) -> Floats:  # noqa: ANN401 - XGBoost's matrix
        """Return the probability of each label, (n, k), after some rounds of learning."""
        found = self.booster.predict(rows, iteration_range=(0, rounds)).astype(np.float64)
        return found if found.ndim == 2 else np.column_stack([1 - found, found])  # noqa: PLR2004 - (n, k)


@dataclass(frozen=True, kw_only=True, eq=False)
class NumberModel:
    """Trees that guess a column of numbers."""

    column: Numeric
    booster: Any

    @classmethod
    def fit(cls, table: Table, secret: Numeric, known: tuple[str, ...]) -> Self:
        """Learn from the rows of a table that have the secret; there must be one."""
        table = _with(table, secret.name)
        steps = (table.column(secret.name) - secret.low) / secret.width * STEPS
        return cls(
            column=secret, booster=_train(table.select(known), steps, {"objective": "reg:squarederror"})
        )

    def guess(self, known: Table) -> Floats:
        """Guess the number of each row."""
        if len(known) == 0:
            return np.empty(0)
        steps = self.booster.predict(_matrix(known)).astype(np.float64)
        return np.asarray(self.column.low + steps / STEPS * self.column.width)


def _with(table: Table, secret: str) -> Table:
    """Return the rows that have the secret, in the order of their content."""
    return in_order(table.take(np.flatnonzero(~np.isnan(table.column(secret))))).table


def _train(known: Table, goal: Floats | np.ndarray[Any, np.dtype[np.intp]], settings: dict[str, Any]) -> Any:  # noqa: ANN401 - a booster
    import xgboost  # noqa: PLC0415 - slow to load, and only this attack needs it

    rows = xgboost.QuantileDMatrix(
        known.values, label=goal, feature_types=_kinds(known), enable_categorical=True, nthread=1
    )
    fixed = {"tree_method": "hist", "seed": 0, "nthread": 1}
    return xgboost.train({**settings, **fixed}, rows, num_boost_round=ROUNDS)


def _matrix(known: Table) -> Any:  # noqa: ANN401 - XGBoost's matrix
    import xgboost  # noqa: PLC0415 - see above

    return xgboost.DMatrix(known.values, feature_types=_kinds(known), enable_categorical=True, nthread=1)


def _kinds(known: Table) -> list[str]:
    """Say which columns are categories: unordered, one code in all tables."""
    return ["c" if isinstance(column, Categorical) else "q" for column in known.schema.columns]
