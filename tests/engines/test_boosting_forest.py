"""The fast way through boosted trees leads to the leaves that XGBoost finds, to the last bit."""

import numpy as np
import pytest
import xgboost

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.boosting import ROUNDS, Forest, train

GOALS = {
    "reg:squarederror": ({}, lambda ward, age: age * 3 + (ward == 2) * 40),
    "binary:logistic": ({}, lambda ward, age: (age + 20 * (ward == 1) > 50).astype(float)),
    "multi:softprob": ({"num_class": 3}, lambda ward, age: (ward * 7 + age // 10) % 3),
}


def made(n_rows, n_labels, *, seed):
    """Draw wards, ages with ties, a constant number and a constant label, some of the first two missing."""
    schema = Schema(
        (
            Categorical(name="ward", labels=tuple(f"w{i}" for i in range(n_labels))),
            Numeric(name="age", low=0, high=99, decimals=0),
            Numeric(name="size", low=0, high=1),
            Numeric(name="same", low=3, high=3),
            Categorical(name="one", labels=("x",)),
        )
    )
    rng = np.random.default_rng(seed)
    values = np.column_stack(
        [
            rng.integers(0, n_labels, n_rows).astype(float),
            rng.integers(0, 99, n_rows).astype(float),
            rng.random(n_rows),
            np.full(n_rows, 3.0),
            np.zeros(n_rows),
        ]
    )
    return Table(schema=schema, values=values), rng


def without_some(table, rng):
    values = table.values.copy()
    values[:, :3][rng.random((len(values), 3)) < 0.1] = np.nan
    return Table(schema=table.schema, values=values)


def own_margins(trees, table, rounds):
    """Ask XGBoost itself, with labels that the trees never saw as missing values."""
    cells = (table.values - [0, 0, 0, 3, 0]) / [1, 99, 1, 1, 1]
    cells[~np.isin(cells[:, 0], np.flatnonzero(trees.seen[0])), 0] = np.nan
    matrix = xgboost.DMatrix(cells, feature_types=["c", "q", "q", "q", "c"], enable_categorical=True)
    return trees.booster.predict(matrix, iteration_range=(0, rounds), output_margin=True).T


@pytest.mark.parametrize("objective", GOALS)
@pytest.mark.parametrize("n_labels", [3, 90])
def test_rows_fall_into_the_leaves_that_xgboost_finds(objective, n_labels):
    table, rng = made(600, n_labels, seed=1)
    settings, goal = GOALS[objective]
    learned = without_some(table.take(np.flatnonzero(table.column("ward") != 1)), rng)
    wanted = goal(np.nan_to_num(learned.column("ward")), np.nan_to_num(learned.column("age")))
    trees = train(learned, wanted, {"objective": objective, **settings})
    asked = without_some(made(1500, n_labels, seed=2)[0], rng)  # more than go through at once
    own = own_margins(trees, asked, ROUNDS)
    codes = trees.forest.codes(trees._cells(asked))
    start = np.atleast_2d(own_margins(trees, asked, 1))
    sums = trees.forest.add(start, codes, slice(len(start), None))
    assert np.array_equal(sums, np.atleast_2d(own))
    early, late = trees.predict_after(asked, 10, ROUNDS)
    match objective:
        case "reg:squarederror":
            assert np.array_equal(late, own)
            assert np.array_equal(early, own_margins(trees, asked, 10))
        case "binary:logistic":
            assert np.allclose(late, 1 / (1 + np.exp(-own)), atol=1e-6)
        case _:
            raised = np.exp(own_margins(trees, asked, 10))
            assert np.allclose(early, (raised / raised.sum(axis=0)).T, atol=1e-6)


def test_trees_of_one_leaf_add_that_leaf():
    table, _ = made(50, 3, seed=3)
    constant = table.select(["same", "one"])
    trees = train(constant, np.arange(50.0), {"objective": "reg:squarederror"})
    assert len(trees.forest.nodes) == len(trees.forest.trees) == ROUNDS
    assert trees.predict(constant) == pytest.approx(np.full(50, 24.5), abs=0.01)


def test_nobody_asked_is_nobody_predicted():
    table, _ = made(50, 3, seed=4)
    trees = train(table, np.arange(50.0) % 3, {"objective": "multi:softprob", "num_class": 3})
    assert trees.predict(table.take(np.arange(0))).shape[0] == 0


@pytest.mark.parametrize("objective", GOALS)
def test_trees_that_are_stored_otherwise_are_left_to_xgboost(objective, monkeypatch):
    table, _ = made(200, 3, seed=5)
    settings, goal = GOALS[objective]
    wanted = goal(table.column("ward"), table.column("age"))
    known = train(table, wanted, {"objective": objective, **settings})
    assert known.forest is not None

    def turned(model, n_labels):
        """Read the sides of every node the wrong way round."""
        found = read(model, n_labels)
        found.nodes["left"], found.nodes["right"] = found.nodes["right"].copy(), found.nodes["left"].copy()
        return found

    def unknown(model, n_labels):
        raise KeyError("trees")

    read = Forest.read
    for other in (turned, unknown):
        monkeypatch.setattr(Forest, "read", other)
        trees = train(table, wanted, {"objective": objective, **settings})
        assert trees.forest is None
        for fast, own in zip(
            known.predict_after(table, 10, ROUNDS), trees.predict_after(table, 10, ROUNDS), strict=True
        ):
            assert np.array_equal(fast, own)
