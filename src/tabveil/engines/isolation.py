"""How few random cuts set a row apart: an isolation forest over columns of numbers and of labels."""

import numpy as np
from numpy.random import Generator

from tabveil.core.sampling import in_order
from tabveil.core.table import Categorical, Column, Floats, Table

N_TREES = 100
ROWS_A_TREE = 256
"""Both as in the paper: scores of more trees, or of larger ones, hardly differ."""


def isolation_scores(table: Table, *, rng: Generator) -> Floats:
    """Return how easily every row is set apart from all others, (n,): near 1 by few cuts, about 0.5 as most.

    A tree cuts at random places of random columns until each of its rows stands alone. A number is cut where
    it lies. Labels have no order, so they are cut by how rare they are; missing is one more label, and a
    number that is missing lies in the middle and is told apart by a column of its own. How a column is scaled
    changes nothing, nor does the order of rows or columns.

    References
    ----------
    - Liu, F. T., Ting, K. M. and Zhou, Z.-H. (2012). Isolation-Based Anomaly Detection. ACM Transactions on
      Knowledge Discovery from Data.
    """
    from sklearn.ensemble import IsolationForest  # noqa: PLC0415 - slow to load

    ordered = in_order(table.select(sorted(table.schema.names)))
    cells = np.column_stack(
        [axis for column in ordered.table.schema.columns for axis in _axes(column, ordered.table)]
    )
    forest = IsolationForest(
        n_estimators=N_TREES,
        max_samples=min(ROWS_A_TREE, len(cells)),
        random_state=int(rng.integers(2**31)),
    )
    scores = np.empty(len(cells))
    scores[ordered.rows] = -forest.fit(cells).score_samples(cells)
    return scores


def _axes(column: Column, table: Table) -> list[Floats]:
    """Return what is cut of a column: numbers, and where they are missing; of labels, how rare they are."""
    cells = table.column(column.name)
    missing = np.isnan(cells)
    if isinstance(column, Categorical):
        _, which, counts = np.unique(np.where(missing, -1.0, cells), return_inverse=True, return_counts=True)
        return [-np.log(counts[which] / len(cells))]
    middle = float(np.median(cells[~missing])) if not missing.all() else 0.0
    filled = np.where(missing, middle, cells)
    return [filled, missing.astype(np.float64)] if missing.any() else [filled]
