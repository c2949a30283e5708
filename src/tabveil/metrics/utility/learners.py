"""What trees tell about a release: rows apart, labels, numbers."""

import numpy as np

from tabveil.core.table import Floats, Indices, Table
from tabveil.engines.trees.boosting import STEPS, train

WIDE = 64  # columns; time grows with them
COLUMNS_A_TREE = 32  # of a wider table, drawn anew for each tree


def tell_apart(rows: Table, positive: Indices, asked: Table) -> Floats:
    """Learn which rows are positive (1) and which are not (0); return the asked rows' probabilities."""
    return train(rows, positive, {"objective": "binary:logistic", **_some_columns(rows)}).predict(asked)


def _some_columns(rows: Table) -> dict[str, float]:
    n_columns = len(rows.schema)
    return {"colsample_bytree": COLUMNS_A_TREE / n_columns} if n_columns > WIDE else {}


def guess_labels(rows: Table, labels: Floats, asked: Table) -> Floats:
    """Learn the label of each row; return the most probable label of the asked rows."""
    known, codes = np.unique(labels, return_inverse=True)
    if len(known) == 1:
        return np.full(len(asked), known[0])
    if len(known) == 2:  # noqa: PLR2004 - yes or no
        return np.asarray(known[(tell_apart(rows, codes, asked) > 0.5).astype(np.int64)])  # noqa: PLR2004
    trees = train(rows, codes, {"objective": "multi:softprob", "num_class": len(known)})
    return np.asarray(known[trees.predict(asked).argmax(axis=1)])


def guess_numbers(rows: Table, shares: Floats, asked: Table) -> Floats:
    """Learn the number of each row, as a share of its range; return the asked rows' expected shares."""
    return train(rows, shares * STEPS, {"objective": "reg:squarederror"}).predict(asked) / STEPS
