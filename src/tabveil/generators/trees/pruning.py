"""Trees cut back to what holds for rows they were not grown from: a split that says nothing tells on people.

A tree that is grown until its leaves are small parts the rows of a column that depends on nothing, too, and
who knows a person's other values then finds the leaf with that person's. Rows of the same table that had no
part in the growth tell such splits from true ones (reduced-error pruning, Quinlan 1987).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabveil.encode.ordinal import Codes
from tabveil.table import Floats, Indices

GROWN_FROM = 2 / 3
"""The share of the rows that a tree is grown from where the others prune it."""
BEYOND_CHANCE = 1.0
"""A split stays if it lowers the squared error by more than so many standard errors of what it lowers."""


class Splits(NamedTuple):
    """The nodes of a tree; children are -1 in a leaf, and stand after their parents."""

    feature: Codes  # (nodes,) the column looked at
    threshold: Floats  # (nodes,) rows up to here go left
    left: Codes  # (nodes,)
    right: Codes  # (nodes,)


def grown_splits(
    positions: NDArray[np.float32], wanted: Floats, *, min_leaf: int, pruned: bool, seed: int
) -> Splits:
    """Part rows at ``positions`` (n, columns) by what is ``wanted`` (n, directions)."""
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 - slow to load

    n_grown = int(len(wanted) * GROWN_FROM) if pruned else len(wanted)
    least = max(int(min_leaf * GROWN_FROM), 1) if pruned else min_leaf
    learner = DecisionTreeRegressor(min_samples_leaf=least, random_state=seed)
    grown = learner.fit(positions[:n_grown], wanted[:n_grown]).tree_
    left, right = (side.astype(np.int32) for side in (grown.children_left, grown.children_right))
    splits = Splits(grown.feature.astype(np.int32), grown.threshold, left, right)
    if not pruned:
        return splits
    leaves = grown.apply(positions)
    sizes = np.bincount(leaves, minlength=len(left))
    kept = _kept(splits, sizes, min_leaf, grown.value[:, :, 0], leaves[n_grown:], wanted[n_grown:])
    return _cut(splits, kept)


def _kept(  # noqa: PLR0917 - a tree, what it may be cut to, and the rows that tell
    splits: Splits, sizes: Indices, min_leaf: int, means: Floats, leaves: Codes, wanted: Floats
) -> list[bool]:
    """Say for each node whether it stays parted, by rows that ended in these leaves.

    ``sizes`` (nodes,) is how many of all rows are in each leaf, ``means`` (nodes, directions) what each node
    predicts, ``wanted`` (n, directions) what the rows have.
    """
    order = np.argsort(leaves, kind="stable")
    bounds = np.searchsorted(leaves[order], np.arange(len(sizes) + 1))
    rows = [order[first:end] for first, end in pairwise(bounds)]
    losses = ((wanted - means[leaves]) ** 2).sum(axis=1)  # of what is left of the tree
    kept = [False] * len(sizes)
    for node in range(len(sizes) - 1, -1, -1):
        children = splits.left[node], splits.right[node]
        if children[0] < 0:
            continue
        sizes[node] = sum(sizes[child] for child in children)
        rows[node] = np.concatenate([rows[child] for child in children])
        whole = ((wanted[rows[node]] - means[node]) ** 2).sum(axis=1)
        gains = whole - losses[rows[node]]
        better = gains.sum() > BEYOND_CHANCE * np.sqrt((gains**2).sum())
        kept[node] = bool(better) and min(sizes[child] for child in children) >= min_leaf
        if not kept[node]:
            losses[rows[node]] = whole
    return kept


def _cut(splits: Splits, kept: list[bool]) -> Splits:
    """Make leaves of the nodes that do not stay parted, and leave out what is below them."""
    reached = np.zeros(len(kept), dtype=np.bool_)
    reached[0] = True
    for node in np.flatnonzero(kept):
        if reached[node]:
            reached[[splits.left[node], splits.right[node]]] = True
    place = np.cumsum(reached, dtype=np.int32) - 1
    parted = np.array(kept)[reached]

    def kept_or(instead: int, codes: Codes) -> Codes:
        return np.where(parted, codes[reached], instead).astype(np.int32)

    return Splits(
        feature=kept_or(-1, splits.feature),
        threshold=splits.threshold[reached],
        left=kept_or(-1, place[splits.left]),
        right=kept_or(-1, place[splits.right]),
    )
