"""One tree: what a column depends on, cut back to what holds for rows it was not grown from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from tabveil.core.table import Floats, Indices
from tabveil.synthesis.generators.trees.walk_kernels import find_leaves
from tabveil.tables.matrices.ordinal import MISSING, Codes, CountedValues

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
    leaves, means = grown.apply(positions), grown.value[:, :, 0]
    kept = _kept(splits, means, leaves, wanted, n_grown=n_grown, min_leaf=min_leaf, caution=caution)
    return _cut(splits, kept)


def share_grown(n_rows: int) -> int:
    """Return how many of so many rows a tree is grown from where the others prune it."""
    return max(int(n_rows * GROWN_FROM), 1)


def _kept(
    splits: Splits,
    means: Floats,
    leaves: Codes,
    wanted: Floats,
    *,
    n_grown: int,
    min_leaf: int,
    caution: float,
) -> list[bool]:
    """Say for each node whether it stays parted: whether the rows it was not grown from are better so.

    ``means`` (nodes, directions) is what each node predicts, ``leaves`` (n,) where the rows ended, ``wanted``
    (n, directions) what they have.
    """
    sizes = np.bincount(leaves, minlength=len(means))
    leaves, wanted = leaves[n_grown:], wanted[n_grown:]
    order = np.argsort(leaves, kind="stable")
    bounds = np.searchsorted(leaves[order], np.arange(len(means) + 1))
    rows = [order[first:end] for first, end in pairwise(bounds)]
    losses = ((wanted - means[leaves]) ** 2).sum(axis=1)  # of what is left of the tree
    kept = [False] * len(sizes)
    for node in range(len(sizes) - 1, -1, -1):
        children = int(splits.left[node]), int(splits.right[node])
        if children[0] < 0:
            continue
        sizes[node] = sum(sizes[child] for child in children)
        here = rows[node] = np.concatenate([rows[child] for child in children])
        whole = ((wanted[here] - means[node]) ** 2).sum(axis=1)
        gains = whole - losses[here]
        better = gains.sum() > caution * np.sqrt((gains**2).sum())  # beyond chance
        kept[node] = bool(better) and min(sizes[child] for child in children) >= min_leaf
        if not kept[node]:
            losses[here] = whole
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


MOST_GOALS = 16
"""A goal with more labels is projected to so many random directions: splits then part nearly as well."""


@dataclass(frozen=True, kw_only=True, eq=False)
class GrownTree:
    """A tree as arrays with an entry for each node; children are -1 in a leaf."""

    feature: Codes  # (nodes,) the column looked at
    threshold: Floats  # (nodes,) rows up to here go left
    left: Codes  # (nodes,)
    right: Codes  # (nodes,)
    first_place: Indices  # (columns,) where the places of a column's codes begin; negative: codes are places
    places: Codes
    first: Indices  # (nodes + 1,) where the members of a node begin; only leaves have any
    members: Codes  # (rows,) the codes of the rows in each leaf, ascending

    def fits(self, features: Sequence[int], *, n_codes: int) -> bool:
        """Whether every walk through these arrays ends in a leaf with rows, and stays within them.

        ``features`` are the numbers of codes of the columns looked at, ``n_codes`` that of the goal. Children
        come after their parents, so no walk goes round; compiled loops look at nothing of this.
        """
        n, inner = len(self.left), self.left >= 0
        of_nodes = (self.feature, self.threshold, self.right, self.first[1:])
        if n == 0 or any(len(item) != n for item in of_nodes) or len(self.first_place) != len(features):
            return False
        children = np.concatenate([self.left[inner], self.right[inner]])
        after = np.minimum(self.left, self.right)[inner] > np.flatnonzero(inner)
        looked_at = self.feature[inner]
        placed = self.first_place >= 0
        last_place = (self.first_place + np.array(features, dtype=np.int64))[placed]
        sizes = np.diff(self.first)
        return bool(
            np.array_equal(inner, self.right >= 0)
            and after.all()
            and np.array_equal(np.sort(children), np.arange(1, n))  # every node but the root, once
            and ((looked_at >= 0) & (looked_at < len(features))).all()
            and (last_place <= len(self.places)).all()
            and self.first[0] == 0
            and self.first[-1] == len(self.members)
            and np.array_equal(sizes > 0, ~inner)
            and (sizes >= 0).all()
            and (self.members < n_codes).all()
        )

    def leaves(self, codes: Codes) -> NDArray[np.int32]:
        """Return the leaf of each row (n, columns)."""
        found: NDArray[np.int32] = find_leaves(
            codes, self.feature, self.threshold, self.left, self.right, self.first_place, self.places
        )
        return found

    def filled(self, codes: Codes, goal: Codes) -> Self:
        """Return the tree with these rows in its leaves."""
        leaves = self.leaves(codes)
        sizes = np.bincount(leaves, minlength=len(self.left))
        first = np.concatenate([[0], np.cumsum(sizes)])
        return replace(self, first=first, members=goal[np.lexsort((goal, leaves))])

    def draw(self, leaves: NDArray[np.int32], *, rng: Generator) -> Indices:
        """Draw a member of each leaf; return where it stands among all members."""
        size = self.first[leaves + 1] - self.first[leaves]
        return np.asarray(self.first[leaves] + rng.integers(size))

    def in_leaf(self, leaves: NDArray[np.int32], low: Indices, high: Indices) -> tuple[Indices, Indices]:
        """Count the members of each leaf with codes from ``low`` up to below ``high``, and all of them."""
        width = int(max(self.members.max(initial=0), high.max(initial=0))) + 1
        holds = np.repeat(np.arange(len(self.left)), np.diff(self.first)) * width + self.members
        found = np.searchsorted(holds, leaves * width + high) - np.searchsorted(holds, leaves * width + low)
        return found, self.first[leaves + 1] - self.first[leaves]


def grow(
    codes: Codes,
    goal: Codes,
    *,
    features: Sequence[CountedValues],
    levels: CountedValues,
    min_leaf: int,
    caution: float | None = None,
    rng: Generator,
) -> GrownTree:
    """Grow the tree of a goal (n,) with ``levels`` from the codes (n, columns) of the columns before it.

    With ``caution`` it is grown from the first two thirds of the rows, and pruned by the others.
    """
    seed = int(rng.integers(2**31))
    wanted = directions(goal, levels, rng=rng)  # (n, directions)
    leaf, none = np.array([-1], dtype=np.int32), np.empty(0, dtype=np.int32)
    splits, first_place, packed = Splits(leaf, np.zeros(1), leaf, leaf), np.full(codes.shape[1], -1), [none]
    if codes.shape[1] > 0 and wanted.shape[1] > 0 and len(codes) >= 2 * min_leaf:
        n_seen, least = (
            (len(codes), min_leaf) if caution is None else map(share_grown, (len(codes), min_leaf))
        )
        places = [
            None
            if each.ordered
            else _places(codes[:n_seen, column], wanted[:n_seen], len(each.counts), least)
            for column, each in enumerate(features)
        ]
        positions: NDArray[np.float32] = np.empty(codes.shape, np.float32)  # exact up to 16 million levels
        for column, place in enumerate(places):
            positions[:, column] = codes[:, column] if place is None else place[codes[:, column]]
        splits = grown_splits(positions, wanted, min_leaf=min_leaf, caution=caution, seed=seed)
        for column in np.unique(splits.feature[splits.feature >= 0]):  # only those that the tree looks at
            place = places[column]
            if place is not None:
                first_place[column] = sum(map(len, packed))
                packed.append(place)
    empty = GrownTree(
        **splits._asdict(),
        first_place=first_place,
        places=np.concatenate(packed),
        first=np.zeros(2, dtype=np.int64),
        members=none,
    )
    return empty.filled(codes, goal)


def directions(goal: Codes, levels: CountedValues, *, rng: Generator) -> Floats:
    """Return numbers (n, directions) whose variance a split should lower.

    A number is its rank, and beside it whether it is missing; of labels, missing among them, each is a
    direction. A column with one value has no direction.
    """
    seen = np.flatnonzero(np.bincount(goal, minlength=len(levels.counts)))
    if len(seen) < 2:  # noqa: PLR2004 - one value: nothing to part
        return np.empty((len(goal), 0))
    if levels.ordered:
        ranks = np.cumsum(np.bincount(goal, minlength=len(levels.counts)))[goal].astype(np.float64)
        missing = goal == MISSING
        if missing.any():
            ranks[missing] = ranks[~missing].mean()
            found = np.column_stack([ranks, missing.astype(np.float64)])
        else:
            found = ranks[:, None]
        spread = found.std(axis=0)
        return np.asarray((found / np.where(spread > 0, spread, 1.0))[:, spread > 0])
    if len(seen) == 2:  # noqa: PLR2004 - one direction tells two labels apart
        return np.asarray((goal == seen[1]).astype(np.float64)[:, None])
    if len(seen) <= MOST_GOALS:
        return np.asarray((goal[:, None] == seen).astype(np.float64))
    return rng.normal(size=(len(levels.counts), MOST_GOALS))[goal]


def _places(codes: Codes, wanted: Floats, n_codes: int, min_leaf: int) -> Codes:
    """Order the codes of a column by what the goal is like in their rows.

    Codes with fewer rows than a leaf share one place: ordered singly, they would tell the goal of each row.
    """
    counts = np.bincount(codes, minlength=n_codes)
    centered = wanted - wanted.mean(axis=0)
    sums = np.column_stack([np.bincount(codes, weights=side, minlength=n_codes) for side in centered.T])
    rare = counts < min_leaf
    sums[rare], counts[rare] = sums[rare].sum(axis=0), counts[rare].sum()
    means = sums / np.maximum(counts, 1)[:, None]  # (codes, directions)
    if means.shape[1] > 1:
        weights = np.where(rare, 0, counts)[:, None]
        means = means @ np.linalg.eigh((means * weights).T @ means)[1][:, -1:]
    return np.unique(means[:, 0], return_inverse=True)[1].astype(np.int32)
