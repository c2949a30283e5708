"""Trees cut back to what holds for rows they were not grown from: a split that says nothing tells on people.

A tree that is grown until its leaves are small parts the rows of a column that depends on nothing, too, and
who knows a person's other values then finds the leaf with that person's. Rows of the same table that had no
part in the growth tell such splits from true ones (reduced-error pruning, Quinlan 1987).
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices
from tabveil.tables.matrices.ordinal import Codes

GROWN_FROM = 2 / 3
"""The share of the rows that a tree is grown from where the others prune it."""


class Splits(NamedTuple):
    """The nodes of a tree; children are -1 in a leaf, and stand after their parents."""

    feature: Codes  # (nodes,) the column looked at
    threshold: Floats  # (nodes,) rows up to here go left
    left: Codes  # (nodes,)
    right: Codes  # (nodes,)


def grown_splits(
    positions: NDArray[np.float32], wanted: Floats, *, min_leaf: int, caution: float | None, seed: int
) -> Splits:
    """Part rows at ``positions`` (n, columns) by what is ``wanted`` (n, directions).

    With ``caution`` only some of the rows do so, and a split stays if for the others it lowers the squared
    error by more than so many standard errors of what it lowers.
    """
    from sklearn.tree import DecisionTreeRegressor  # noqa: PLC0415 - slow to load

    n_grown, least = (
        (len(wanted), min_leaf) if caution is None else (share_grown(len(wanted)), share_grown(min_leaf))
    )
    learner = DecisionTreeRegressor(min_samples_leaf=least, random_state=seed)
    grown = learner.fit(positions[:n_grown], wanted[:n_grown]).tree_
    left, right = (side.astype(np.int32) for side in (grown.children_left, grown.children_right))
    splits = Splits(grown.feature.astype(np.int32), grown.threshold, left, right)
    if caution is None:
        return splits
    leaves = grown.apply(positions)
    sizes = np.bincount(leaves, minlength=len(left))
    gains = _Gains(means=grown.value[:, :, 0], leaves=leaves[n_grown:], wanted=wanted[n_grown:])
    return _cut(splits, _kept(splits, sizes, gains, min_leaf=min_leaf, caution=caution))


def share_grown(n_rows: int) -> int:
    """Return how many of so many rows a tree is grown from where the others prune it."""
    return max(int(n_rows * GROWN_FROM), 1)


class _Gains:
    """What splits gain for rows that ended in these leaves, from the leaves up.

    ``means`` (nodes, directions) is what each node predicts, ``wanted`` (n, directions) what the rows have.
    """

    def __init__(self, *, means: Floats, leaves: Codes, wanted: Floats) -> None:
        order = np.argsort(leaves, kind="stable")
        bounds = np.searchsorted(leaves[order], np.arange(len(means) + 1))
        self._means, self._wanted = means, wanted
        self._rows = [order[first:end] for first, end in pairwise(bounds)]
        self._losses = ((wanted - means[leaves]) ** 2).sum(axis=1)  # of what is left of the tree

    def beyond(self, node: int, children: tuple[int, int], caution: float) -> bool:
        """Say whether a node is better parted, beyond chance."""
        rows = self._rows[node] = np.concatenate([self._rows[child] for child in children])
        whole = ((self._wanted[rows] - self._means[node]) ** 2).sum(axis=1)
        gains = whole - self._losses[rows]
        return bool(gains.sum() > caution * np.sqrt((gains**2).sum()))

    def merge(self, node: int) -> None:
        """Make a node a leaf."""
        rows = self._rows[node]
        self._losses[rows] = ((self._wanted[rows] - self._means[node]) ** 2).sum(axis=1)


def _kept(splits: Splits, sizes: Indices, gains: _Gains, *, min_leaf: int, caution: float) -> list[bool]:
    """Say for each node whether it stays parted; ``sizes`` (nodes,) is how many rows are in each leaf."""
    kept = [False] * len(sizes)
    for node in range(len(sizes) - 1, -1, -1):
        children = int(splits.left[node]), int(splits.right[node])
        if children[0] < 0:
            continue
        sizes[node] = sum(sizes[child] for child in children)
        better = gains.beyond(node, children, caution)
        kept[node] = better and min(sizes[child] for child in children) >= min_leaf
        if not kept[node]:
            gains.merge(node)
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
