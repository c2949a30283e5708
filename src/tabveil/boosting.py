"""Gradient boosted trees: XGBoost as it comes, made repeatable.

Each model grows on one thread, from rows that callers hand over in an order of their content and columns by
name: sums of floating-point numbers in another order would grow other trees. Several models may grow on
several threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tabveil.encode.scale import unit
from tabveil.forest import Forest
from tabveil.table import Categorical, Floats, Table

ROUNDS = 100  # XGBoost's default, like all other settings
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
    forest: Forest
    objective: str
    seen: tuple[NDArray[np.bool_] | None, ...]  # by column and code; None for numbers

    def predict(self, rows: Table) -> Floats:
        """Predict each row."""
        return self.predict_after(rows, ROUNDS)[0]

    def predict_after(self, rows: Table, *rounds: int) -> list[Floats]:
        """Predict each row as it would have been after so many rounds of learning, fewest first.

        XGBoost itself predicts the first round, and so decides where to start from.
        """
        cells = self._cells(rows)
        codes = self.forest.codes(cells)
        first = self.booster.inplace_predict(cells, iteration_range=(0, 1), predict_type="margin")
        a_round = len(self.forest.trees) // ROUNDS
        sums = np.reshape(first, (len(cells), a_round)).T  # (k, n)
        found, done = [], 1
        for wanted in rounds:
            sums = self.forest.add(sums, codes, slice(done * a_round, wanted * a_round))
            done = wanted
            found.append(_MEANING[self.objective](sums.astype(np.float64)))
        return found

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


def train(rows: Table, goal: NDArray[Any], settings: dict[str, Any]) -> Trees:
    """Fit trees to a goal for each row."""
    import xgboost  # noqa: PLC0415 - slow to load, and few need it

    data = xgboost.QuantileDMatrix(
        unit(rows), label=goal, feature_types=_kinds(rows), enable_categorical=True, nthread=1
    )
    fixed = {"tree_method": "hist", "seed": 0, "nthread": 1}
    booster = xgboost.train({**settings, **fixed}, data, num_boost_round=ROUNDS)
    seen = tuple(_seen(rows, name) for name in rows.schema.names)
    return Trees(
        booster=booster,
        forest=Forest.read(
            booster.save_raw("json"), [None if codes is None else len(codes) for codes in seen]
        ),
        objective=settings["objective"],
        seen=seen,
    )


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
