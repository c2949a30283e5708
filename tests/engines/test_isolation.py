"""Whom few random cuts set apart: planted rows, and nothing that order or scale decides."""

import numpy as np
import pytest

import tabveil
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.isolation import isolation_scores
from tabveil.errors import ParameterError

SCHEMA = Schema(
    (
        Numeric(name="x", low=-1000, high=1000),
        Categorical(name="job", labels=("cook", "nurse", "pilot")),
        Numeric(name="y", low=-1000, high=1000),
    )
)


def scores(table, seed=1):
    return isolation_scores(table, rng=np.random.default_rng(seed))


def crowd(n=400):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.normal(size=n), rng.integers(0, 2, n), rng.normal(size=n)])


def test_a_far_number_and_a_rare_label_are_set_apart_and_so_is_a_lone_missing_value():
    cells = crowd()
    cells[3, 0], cells[5, 1], cells[7, 2] = 30, 2, np.nan
    found = scores(Table(schema=SCHEMA, values=cells))
    assert set(np.argsort(-found)[:3]) == {3, 5, 7}
    assert np.all((found > 0) & (found < 1))
    assert np.median(found) < 0.5 < found[3]


def test_a_small_crowd_far_from_all_others_is_seen_that_the_local_outlier_factor_takes_for_ordinary():
    cells = crowd(800)
    cells[:40, [0, 2]] = cells[:40, [0, 2]] * 0.1 + 20
    table = Table(schema=SCHEMA, values=cells)
    asked = {"representation": "mixed", "share": 0.05, "n_neighbors": 20}
    forest = tabveil.outliers(table, detector="isolation_forest", **asked)
    assert len(set(forest.rows) & set(range(40))) > 35
    assert len(set(tabveil.outliers(table, **asked).rows) & set(range(40))) < 20


def test_neither_order_nor_scale_nor_the_names_of_labels_change_a_score():
    cells = crowd(200)
    cells[4, 0] = np.nan
    table, shuffle = Table(schema=SCHEMA, values=cells), np.random.default_rng(3).permutation(200)
    expected = scores(table)
    np.testing.assert_array_equal(scores(table.take(shuffle)), expected[shuffle])
    np.testing.assert_array_equal(scores(table.select(("y", "job", "x"))), expected)
    relabeled = cells.copy()
    relabeled[:, 1] = 2 - relabeled[:, 1]
    # Rows stand in the order of their content, which labels decide: the draw differs, what is found does not.
    assert np.corrcoef(scores(Table(schema=SCHEMA, values=relabeled)), expected)[0, 1] > 0.9
    assert not np.array_equal(scores(table, seed=2), expected)


def test_representations_that_learn_nothing_agree_and_the_seed_decides():
    table = Table(schema=SCHEMA, values=crowd(100))
    one, other, again = (
        tabveil.outliers(table, detector="isolation_forest", representation=near, seed=seed).scores
        for near, seed in (("mixed", 1), ("euclidean", 1), ("mixed", 2))
    )
    np.testing.assert_array_equal(one, other)
    assert not np.array_equal(one, again)


@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_equal_rows_have_equal_scores_and_few_rows_are_no_error(n_rows):
    table = Table(schema=SCHEMA, values=np.tile([1.0, 0, np.nan], (n_rows, 1)))
    found = scores(table)
    assert np.isfinite(found).all()
    assert len(set(found.tolist())) == 1


def test_an_embedding_is_cut_along_its_axes():
    pytest.importorskip("torch")
    small = {"name": "contrastive", "width": 32, "layers": 1, "dimension": 8, "epochs": 2, "batch_size": 128}
    table = Table(schema=SCHEMA, values=crowd(60))
    found = tabveil.outliers(table, detector="isolation_forest", representation=small)
    assert not np.array_equal(
        found.scores, tabveil.outliers(table, detector="isolation_forest", representation="mixed").scores
    )


def test_it_says_how_rows_were_found_and_refuses_what_it_does_not_know():
    table = Table(schema=SCHEMA, values=crowd(40))
    found = tabveil.outliers(table, detector="isolation_forest", representation="mixed")
    assert repr(found).startswith("2 of 40 rows stand apart (5.00%), by an isolation forest, mixed: rows ")
    with pytest.raises(ParameterError, match=r"^outliers: detector must be .*got 'forest'"):
        tabveil.outliers(table, detector="forest", representation="mixed")
