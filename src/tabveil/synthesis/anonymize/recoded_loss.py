"""What a recoding loses, by any measure: for one node what the search found, and for several as well."""

import numpy as np

from tabveil.core.table import Floats
from tabveil.synthesis.anonymize.losses import (
    AverageClassSize,
    Discernibility,
    Entropy,
    GeneralizationLoss,
    LossModel,
)
from tabveil.synthesis.anonymize.recoding import Recoding


def column_losses(recoding: Recoding) -> Floats:
    """Return the share of its values that a cell of each column stands for, above that of one value, (d,)."""
    combinations = recoding.combinations
    n_rows = combinations.n_rows
    found = []
    for column, hierarchy in enumerate(combinations.hierarchies):
        least = n_rows / len(hierarchy.leaves)
        total = float(recoding.shares(column) @ combinations.counts)
        found.append(max((total - least) / (n_rows - least), 0.0) if n_rows > least else 0.0)
    return np.array(found)


def recoded_loss(loss: LossModel, recoding: Recoding) -> float:
    """Return the loss of a recoding."""
    n_rows, n_suppressed = recoding.combinations.n_rows, recoding.n_suppressed
    match loss:
        case GeneralizationLoss(mean=mean):
            lost = column_losses(recoding)
            return float(np.expm1(np.log1p(lost).mean()) if mean == "geometric" else lost.mean())
        case Discernibility():
            sizes = recoding.classes[1].astype(np.float64)
            return float(sizes @ sizes + n_rows * n_suppressed)
        case AverageClassSize():
            return n_rows / (len(recoding.classes[1]) + (n_suppressed > 0))
        case Entropy():
            return sum(_lost_bits(recoding, column) for column in range(len(recoding.nodes[0])))
    raise TypeError(f"no such loss: {loss!r}")


def _lost_bits(recoding: Recoding, column: int) -> float:
    """Return the bits that a column loses; suppressed rows count as the last round generalizes them."""
    combinations = recoding.combinations
    hierarchy, leaves = combinations.hierarchies[column], combinations.leaves[column]
    counts = combinations.leaf_counts(column).astype(np.float64)
    lost = 0.0
    for place, node in enumerate(recoding.nodes):
        codes = hierarchy.codes[node[column]]
        chosen = recoding.rounds == place
        if place == len(recoding.nodes) - 1:
            chosen |= ~recoding.kept
        totals = np.bincount(codes, weights=counts)[codes]  # rows with each leaf's value
        own = leaves[chosen]
        lost += float(combinations.counts[chosen] @ np.log2(totals[own] / counts[own]))
    hidden = ~recoding.kept
    values = hierarchy.codes[recoding.nodes[-1][column]][leaves[hidden]]
    held = np.bincount(values, weights=combinations.counts[hidden])
    held = held[held > 0]
    return lost - float(held @ np.log2(held / held.sum())) if len(held) else lost
