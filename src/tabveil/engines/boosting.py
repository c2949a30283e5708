"""Gradient boosted trees: XGBoost as it comes, made repeatable, and a fast way of many rows through them.

Each model grows on one thread, from rows that callers hand over in an order of their content and columns by
name: sums of floating-point numbers in another order would grow other trees. Several models may grow on
several threads.

The fast way leads to XGBoost's own sums, to the last bit: the same leaves, added up in the same order and
precision. It takes a seventh of the CPU time, so that all of ``ml_inference`` takes two thirds of what it
takes otherwise (``make bench``). Trees are read from JSON: to read the binary form ourselves saved no more
than a twentieth of that.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from tabveil.core.table import Categorical, Floats, Table
from tabveil.core.workers import announce_compilation
from tabveil.engines.forest_kernels import add_leaves
from tabveil.tables.matrices.ordinal import unit

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


ROUNDS = 100  # XGBoost's default, like all other settings
CHECKED = 64  # rows for which the fast way through the trees is compared with XGBoost's own
STEPS = 1000.0  # numbers are learned in thousandths of their range, or small ones would not be split at all

_MEANING: dict[str, Callable[[Floats], Floats]] = {
    "reg:squarederror": lambda sums: sums[0],
    "binary:logistic": lambda sums: np.asarray(expit(sums[0])),
    "multi:softprob": lambda sums: np.asarray(softmax(sums, axis=0)).T,
}
"""What the sums of leaves (k, n) predict, for each objective."""


@dataclass(frozen=True, kw_only=True, eq=False)
class BoostedTrees:
    """Trees that were grown, and the labels each column had in the rows they grew from."""

    booster: Any
    forest: Forest | None  # the fast way; None where it is not XGBoost's
    objective: str
    seen: tuple[NDArray[np.bool_] | None, ...]  # by column and code; None for numbers

    def predict(self, rows: Table) -> Floats:
        """Predict each row."""
        return self.predict_after(rows, ROUNDS)[0]

    def predict_after(self, rows: Table, *rounds: int) -> list[Floats]:
        """Predict each row as it would have been after so many rounds of learning, fewest first."""
        cells = self._cells(rows)
        way = (
            self._own_sums(cells, rounds) if self.forest is None else _sums(self, self.forest, cells, rounds)
        )
        return [_MEANING[self.objective](sums.astype(np.float64)) for sums in way]

    def checked(self, rows: Table) -> Self:
        """Give up the fast way if it leads elsewhere: other versions of XGBoost may store trees otherwise."""
        if self.forest is None:
            return self
        cells = self._cells(rows)
        fast, own = _sums(self, self.forest, cells, [ROUNDS]), self._own_sums(cells, [ROUNDS])
        return self if np.array_equal(next(fast), next(own)) else replace(self, forest=None)

    def _own_sums(self, cells: Floats, rounds: Sequence[int]) -> Iterator[Singles]:
        """Let XGBoost add up the leaves (k, n) after so many rounds each."""
        for wanted in rounds:
            found = self.booster.inplace_predict(cells, iteration_range=(0, wanted), predict_type="margin")
            yield np.reshape(found, (len(cells), -1)).T if len(cells) else np.zeros((1, 0), np.float32)

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


def _sums(trees: BoostedTrees, forest: Forest, cells: Floats, rounds: Sequence[int]) -> Iterator[Singles]:
    """Add up the leaves (k, n) after so many rounds each, fewest first.

    XGBoost itself predicts the first round, and so decides where to start from.
    """
    codes = forest.codes(cells)
    first = trees.booster.inplace_predict(cells, iteration_range=(0, 1), predict_type="margin")
    a_round = len(forest.trees) // ROUNDS
    sums, done = np.reshape(first, (len(cells), a_round)).T, 1
    for wanted in rounds:
        sums = forest.add(sums, codes, slice(done * a_round, wanted * a_round))
        done = wanted
        yield sums


def train(rows: Table, goal: NDArray[Any], settings: dict[str, Any]) -> BoostedTrees:
    """Fit trees to a goal for each row."""
    import xgboost  # noqa: PLC0415 - slow to load, and few need it

    # Categories are unordered, one code in all tables.
    kinds = ["c" if isinstance(column, Categorical) else "q" for column in rows.schema.columns]
    data = xgboost.QuantileDMatrix(
        unit(rows), label=goal, feature_types=kinds, enable_categorical=True, nthread=1
    )
    fixed = {"tree_method": "hist", "seed": 0, "nthread": 1}
    booster = xgboost.train({**settings, **fixed}, data, num_boost_round=ROUNDS)
    seen = tuple(_seen(rows, name) for name in rows.schema.names)
    n_labels = [None if codes is None else len(codes) for codes in seen]
    forest: Forest | None
    try:
        forest = Forest.read(booster.save_raw("json"), n_labels)
    except (KeyError, TypeError, ValueError, IndexError):  # stored in a form that is not known here
        forest = None
    trees = BoostedTrees(booster=booster, forest=forest, objective=settings["objective"], seen=seen)
    return trees.checked(rows.take(np.arange(min(len(rows), CHECKED))))


def _seen(rows: Table, name: str) -> NDArray[np.bool_] | None:
    column = rows.schema[name]
    if not isinstance(column, Categorical):
        return None
    cells = rows.column(name)
    codes = cells[~np.isnan(cells)].astype(np.int64)
    return np.bincount(codes, minlength=max(len(column.labels), 1)) > 0
