"""A grown forest as arrays, and a fast way of many rows through it.

The answers are XGBoost's own to the last bit: the same leaves, added up in the same order and precision.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tabveil.core.table import Floats
from tabveil.core.workers import announce_compilation
from tabveil.engines.trees.forest_kernels import add_leaves

Singles = NDArray[np.float32]

TREE = np.dtype([("margin", np.int32), ("first", np.int64), ("end", np.int64)])
NODE = np.dtype(
    [
        ("column", np.int32),  # -1 at a leaf
        ("left", np.int32),
        ("right", np.int32),
        ("n_left", np.int32),  # so many of the first codes go left ...
        ("first_label", np.int32),  # ... but for these
        ("end_of_labels", np.int32),
        ("missing_left", np.bool_),
        ("value", np.float32),  # what a leaf adds, or where another node cuts numbers
    ]
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Forest:
    """All trees, one after the other, and the codes by which they know the cells of each column."""

    trees: NDArray[Any]  # (t,) of TREE: the margin it adds to, and where its nodes are
    nodes: NDArray[Any]  # (m,) of NODE; in a tree, children come after their parents
    labels: NDArray[np.int32]  # those that nodes send to the right
    cuts: tuple[Singles | None, ...]  # (d,) where numbers are cut, ascending; None for a column of labels
    n_codes: NDArray[np.int64]  # (d,) the last one is that of missing values

    @classmethod
    def read(cls, model: bytearray, n_labels: Sequence[int | None]) -> Self:
        """Read a model in XGBoost's JSON; ``n_labels`` of a column is None where it has numbers."""
        content = json.loads(model)["learner"]["gradient_booster"]["model"]
        grown = content["trees"]
        trees = np.zeros(len(grown), dtype=TREE)
        trees["margin"] = content["tree_info"]
        trees["end"] = np.cumsum([len(tree["left_children"]) for tree in grown])
        trees["first"][1:] = trees["end"][:-1]
        nodes, labels = _nodes(grown, trees["first"])
        cuts: list[Singles | None] = []
        n_codes = np.zeros(len(n_labels), dtype=np.int64)
        for column, n in enumerate(n_labels):
            asking = nodes["column"] == column
            if n is None:
                cut_at = nodes["value"][asking]
                numbers = np.unique(cut_at)
                nodes["n_left"][asking] = np.searchsorted(numbers, cut_at) + 1
                cuts.append(numbers)
                n_codes[column] = len(numbers) + 2
            else:
                nodes["n_left"][asking] = n
                cuts.append(None)
                n_codes[column] = n + 1
        return cls(trees=trees, nodes=nodes, labels=labels, cuts=tuple(cuts), n_codes=n_codes)

    def codes(self, cells: Floats) -> NDArray[np.int32]:
        """Return the codes (d, n) of cells (n, d); labels are their own, if they are known or missing."""
        found = np.empty(cells.shape[::-1], dtype=np.int32)
        for column, numbers in enumerate(self.cuts):
            mine = cells[:, column].astype(np.float32)  # as XGBoost compares
            missing = np.isnan(mine)
            found[column] = (
                np.nan_to_num(mine) if numbers is None else np.searchsorted(numbers, mine, "right")
            )
            found[column, missing] = self.n_codes[column] - 1
        return found

    def add(self, margins: Singles, codes: NDArray[np.int32], trees: slice) -> Singles:
        """Return margins (k, n) with what some of the trees add to each row."""
        announce_compilation(add_leaves)
        sums = np.array(margins, dtype=np.float32, order="C")
        add_leaves(codes, self.n_codes, self.trees[trees], self.nodes, self.labels, sums)
        return sums


def _nodes(
    grown: Sequence[dict[str, Any]], firsts: NDArray[np.int64]
) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Join the nodes of all trees, and the labels that they send to the right."""

    def joined(field: str, kind: type[np.generic]) -> NDArray[Any]:
        return np.concatenate([tree[field] for tree in grown]).astype(kind)

    left = joined("left_children", np.int32)
    nodes = np.zeros(len(left), dtype=NODE)
    nodes["left"], nodes["right"] = left, joined("right_children", np.int32)
    nodes["column"] = np.where(left < 0, -1, joined("split_indices", np.int32))
    nodes["missing_left"] = joined("default_left", np.bool_)
    nodes["value"] = joined("split_conditions", np.float32)
    n_labels = np.array([len(tree["categories"]) for tree in grown])
    n_asking = [len(tree["categories_nodes"]) for tree in grown]
    asking = joined("categories_nodes", np.int64) + np.repeat(firsts, n_asking)
    starts = joined("categories_segments", np.int64) + np.repeat(np.cumsum(n_labels) - n_labels, n_asking)
    nodes["first_label"][asking] = starts
    nodes["end_of_labels"][asking] = starts + joined("categories_sizes", np.int64)
    return nodes, joined("categories", np.int32)
