"""Gradient boosted trees: XGBoost as it comes, made repeatable.

Each model grows on one thread, from rows that callers hand over in an order of their content and columns by
name: sums of floating-point numbers in another order would grow other trees. Several models may grow on
several threads.
"""

from typing import Any

from numpy.typing import NDArray

from tabveil.encode import unit
from tabveil.table import Categorical, Table

ROUNDS = 100  # XGBoost's default, like all other settings
STEPS = 1000.0  # numbers are learned in thousandths of their range, or small ones would not be split at all


def train(rows: Table, goal: NDArray[Any], settings: dict[str, Any]) -> Any:  # noqa: ANN401 - a booster
    """Fit trees to a goal for each row."""
    import xgboost  # noqa: PLC0415 - slow to load, and few need it

    data = xgboost.QuantileDMatrix(
        unit(rows), label=goal, feature_types=_kinds(rows), enable_categorical=True, nthread=1
    )
    fixed = {"tree_method": "hist", "seed": 0, "nthread": 1}
    return xgboost.train({**settings, **fixed}, data, num_boost_round=ROUNDS)


def matrix(rows: Table) -> Any:  # noqa: ANN401 - XGBoost's matrix
    """Return rows in the form that trained trees predict from."""
    import xgboost  # noqa: PLC0415 - see above

    return xgboost.DMatrix(unit(rows), feature_types=_kinds(rows), enable_categorical=True, nthread=1)


def _kinds(rows: Table) -> list[str]:
    """Say which columns are categories: unordered, one code in all tables."""
    return ["c" if isinstance(column, Categorical) else "q" for column in rows.schema.columns]
