"""Gradient boosted trees: XGBoost as it comes, made repeatable.

Each model grows on one thread, from rows that callers hand over in an order of their content and columns by
name: sums of floating-point numbers in another order would grow other trees. Several models may grow on
several threads.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tabveil.core.table import Categorical, Floats, Table
from tabveil.engines.trees.forest import Forest, Singles
from tabveil.tables.matrices.ordinal import unit

ROUNDS = 100  # XGBoost's default, like all other settings
CHECKED = 64  # rows for which the fast way through the trees is compared with XGBoost's own
STEPS = 1000.0  # numbers are learned in thousandths of their range, or small ones would not be split at all

_MEANING: dict[str, Callable[[Floats], Floats]] = {
    "reg:squarederror": lambda sums: sums[0],
    "binary:logistic": lambda sums: np.asarray(expit(sums[0])),
    "multi:softprob": lambda sums: np.asarray(softmax(sums, axis=0)).T,
}
"""What the sums of leaves (k, n) predict, for each objective."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Trees:
    """Trees that were grown, and the labels each column had in the rows they grew from."""

    booster: Any
    forest: Forest | None  # the fast way; None where it is not XGBoost's
    objective: str
    seen: tuple[NDArray[np.bool_] | None, ...]  # by column and code; None for numbers

    def predict(self, rows: Table) -> Floats:
        """Predict each row."""
        return self.predict_after(rows, ROUNDS)[0]

    def predict_after(self, rows: Table, *rounds: int) -> list[Floats]:
        """Predict each row as it would have been after so many rounds of learning, fewest first."""
        cells = self._cells(rows)
        way = (
            self._own_sums(cells, rounds) if self.forest is None else _sums(self, self.forest, cells, rounds)
        )
        return [_MEANING[self.objective](sums.astype(np.float64)) for sums in way]

    def checked(self, rows: Table) -> Self:
        """Give up the fast way if it leads elsewhere: other versions of XGBoost may store trees otherwise."""
        if self.forest is None:
            return self
        cells = self._cells(rows)
        fast, own = _sums(self, self.forest, cells, [ROUNDS]), self._own_sums(cells, [ROUNDS])
        return self if np.array_equal(next(fast), next(own)) else replace(self, forest=None)

    def _own_sums(self, cells: Floats, rounds: Sequence[int]) -> Iterator[Singles]:
        """Let XGBoost add up the leaves (k, n) after so many rounds each."""
        for wanted in rounds:
            found = self.booster.inplace_predict(cells, iteration_range=(0, wanted), predict_type="margin")
            yield np.reshape(found, (len(cells), -1)).T if len(cells) else np.zeros((1, 0), np.float32)

    def _cells(self, rows: Table) -> Floats:
        """Return rows in the form that the trees predict from.

        A label the trees never saw counts as missing. Left to itself, XGBoost sends it another way if its
        code is higher than all it saw, and codes follow the order in which tables were read: rows of one
        table would then be predicted worse than rows of another.
        """
        cells = unit(rows)
        for position, seen in enumerate(self.seen):
            if seen is not None:
                column = cells[:, position]
                codes = np.nan_to_num(column).astype(np.int64)
                column[~seen[codes]] = np.nan
        return cells


def _sums(trees: Trees, forest: Forest, cells: Floats, rounds: Sequence[int]) -> Iterator[Singles]:
    """Add up the leaves (k, n) after so many rounds each, fewest first.

    XGBoost itself predicts the first round, and so decides where to start from.
    """
    codes = forest.codes(cells)
    first = trees.booster.inplace_predict(cells, iteration_range=(0, 1), predict_type="margin")
    a_round = len(forest.trees) // ROUNDS
    sums, done = np.reshape(first, (len(cells), a_round)).T, 1
    for wanted in rounds:
        sums = forest.add(sums, codes, slice(done * a_round, wanted * a_round))
        done = wanted
        yield sums


def train(rows: Table, goal: NDArray[Any], settings: dict[str, Any]) -> Trees:
    """Fit trees to a goal for each row."""
    import xgboost  # noqa: PLC0415 - slow to load, and few need it

    data = xgboost.QuantileDMatrix(
        unit(rows), label=goal, feature_types=_kinds(rows), enable_categorical=True, nthread=1
    )
    fixed = {"tree_method": "hist", "seed": 0, "nthread": 1}
    booster = xgboost.train({**settings, **fixed}, data, num_boost_round=ROUNDS)
    seen = tuple(_seen(rows, name) for name in rows.schema.names)
    trees = Trees(booster=booster, forest=_read(booster, seen), objective=settings["objective"], seen=seen)
    return trees.checked(rows.take(np.arange(min(len(rows), CHECKED))))


def _read(booster: Any, seen: Sequence[NDArray[np.bool_] | None]) -> Forest | None:  # noqa: ANN401 - XGBoost's
    n_labels = [None if codes is None else len(codes) for codes in seen]
    try:
        return Forest.read(booster.save_raw("json"), n_labels)
    except (KeyError, TypeError, ValueError, IndexError):  # stored in a form that is not known here
        return None


def _seen(rows: Table, name: str) -> NDArray[np.bool_] | None:
    column = rows.schema[name]
    if not isinstance(column, Categorical):
        return None
    cells = rows.column(name)
    codes = cells[~np.isnan(cells)].astype(np.int64)
    return np.bincount(codes, minlength=max(len(column.labels), 1)) > 0


def _kinds(rows: Table) -> list[str]:
    """Say which columns are categories: unordered, one code in all tables."""
    return ["c" if isinstance(column, Categorical) else "q" for column in rows.schema.columns]
