"""What trees tell about a release: rows apart, labels, numbers."""

import numpy as np

from tabveil.table import Floats, Indices, Table
from tabveil.trees import STEPS, matrix, train


def tell_apart(rows: Table, positive: Indices, asked: Table) -> Floats:
    """Learn which rows are positive (1) and which are not (0); return the asked rows' probabilities."""
    booster = train(rows, positive, {"objective": "binary:logistic"})
    return np.asarray(booster.predict(matrix(asked)), dtype=np.float64)


def guess_labels(rows: Table, labels: Floats, asked: Table) -> Floats:
    """Learn the label of each row; return the most probable label of the asked rows."""
    known, codes = np.unique(labels, return_inverse=True)
    if len(known) == 1:
        return np.full(len(asked), known[0])
    if len(known) == 2:  # noqa: PLR2004 - yes or no
        return np.asarray(known[(tell_apart(rows, codes, asked) > 0.5).astype(np.int64)])  # noqa: PLR2004
    booster = train(rows, codes, {"objective": "multi:softprob", "num_class": len(known)})
    return np.asarray(known[booster.predict(matrix(asked)).argmax(axis=1)])


def guess_numbers(rows: Table, shares: Floats, asked: Table) -> Floats:
    """Learn the number of each row, as a share of its range; return the asked rows' expected shares."""
    booster = train(rows, shares * STEPS, {"objective": "reg:squarederror"})
    return np.asarray(booster.predict(matrix(asked)), dtype=np.float64) / STEPS
