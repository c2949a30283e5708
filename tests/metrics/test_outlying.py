"""Who has nobody like them: by hand, by planted truths, and without a value of anybody."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.strategies import schemas, tables

import tabveil
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.neighbors import Space
from tabveil.errors import ParameterError

NUMBERS = Schema((Numeric(name="x", low=0, high=100),))
MIXED = Schema(
    (Categorical(name="job", labels=("cook", "nurse", "pilot")), Numeric(name="x", low=0, high=40))
)


def numbers(values):
    return Table(schema=NUMBERS, values=np.asarray(values, dtype=float)[:, None])


def test_distances_by_hand():
    found = tabveil.vulnerable(numbers([20, 21, 23, 26, 90]), n_neighbors=2, share=0.4)
    # The two nearest others of 20 are 1 and 3 away, of 21 1 and 2, …; the range is 100.
    np.testing.assert_allclose(found.distance * 100, [2, 1.5, 2.5, 4, 65.5])
    assert found.order.tolist() == [4, 3, 2, 0, 1]
    assert found.rows.tolist() == [4, 3]


def test_nobody_is_their_own_neighbor_and_an_equal_row_is_one():
    found = tabveil.vulnerable(numbers([10, 10, 50, 60]), n_neighbors=1)
    np.testing.assert_allclose(found.distance * 100, [0, 0, 10, 10])
    np.testing.assert_allclose(tabveil.vulnerable(numbers([7, 7, 7])).distance, 0)


def test_all_others_count_where_there_are_fewer_than_asked_for():
    np.testing.assert_allclose(tabveil.vulnerable(numbers([0, 10, 40])).distance * 100, [25, 20, 35])


def test_rarity_by_hand():
    # The range is 40: numbers within 1 of each other are alike.
    cells = [[0, 10], [0, 11], [0, 12], [1, np.nan], [np.nan, 10]]
    found = tabveil.vulnerable(Table(schema=MIXED, values=np.array(cells)))
    shares = [(3, 3), (3, 4), (3, 2), (1, 1), (1, 3)]
    np.testing.assert_allclose(found.rarity, [-math.log(a / 5) - math.log(b / 5) for a, b in shares])


def test_of_equally_distant_rows_the_rarer_comes_first():
    jobs = [0] * 8 + [1] * 2
    cells = [[job, 10] for job in jobs] + [[0, 30], [1, 30]]
    table = Table(schema=MIXED, values=np.array(cells, dtype=float))
    found = tabveil.vulnerable(table, n_neighbors=1, share=0.2)
    assert found.distance[10] == found.distance[11]
    assert found.rarity[11] > found.rarity[10]
    assert found.rows.tolist() == [11, 10]


def test_a_far_crowd_has_no_outliers_but_a_lone_person_is_vulnerable():
    table = numbers([*np.linspace(0, 1, 60), *np.linspace(80, 81, 60), 40])
    assert tabveil.vulnerable(table, share=0.01).rows.tolist() == [120]


@pytest.mark.parametrize(("share", "n"), [(0, 0), (0.29, 29), (0.001, 0), (1, 100)])
def test_never_more_rows_than_the_share_says(share, n):
    assert len(tabveil.vulnerable(numbers(range(100)), share=share)) == n


def test_frames_paths_and_tables_of_ours_are_one(tmp_path):
    frame = tabveil.datasets.hospital(80, seed=1)
    frame.to_csv(tmp_path / "people.csv", index=False)
    ours = tabveil.vulnerable(tabveil.tables.reading.load_table(frame).table)
    for source in (frame, str(tmp_path / "people.csv")):
        found = tabveil.vulnerable(source)
        np.testing.assert_allclose(found.distance, ours.distance)
        np.testing.assert_allclose(found.rarity, ours.rarity)


def test_it_shows_ranks_and_positions_and_no_value():
    frame = pd.DataFrame({"job": ["nurse"] * 60 + ["astronaut\x1b[2J"], "age": [*range(60), 187]})
    found = tabveil.vulnerable(frame, share=0.1)
    text = repr(found)
    assert text.startswith("the 6 most vulnerable of 61 rows (9.84%)")
    assert "5 nearest others, mixed: rows 60, " in text
    assert len(text.splitlines()) == 1
    assert "astronaut" not in text
    assert "187" not in text
    told = found.to_frame()
    assert list(told.columns) == ["rank", "row", "distance", "rarity"]
    assert told["rank"].tolist() == [1, 2, 3, 4, 5, 6]
    assert told["row"].tolist() == found.rows.tolist()
    assert told["distance"].is_monotonic_decreasing
    assert repr(tabveil.vulnerable(numbers([1, 2]))) == "the 0 most vulnerable of 2 rows."


def test_columns_that_name_people_are_told_and_can_be_left_out():
    frame = pd.DataFrame({"patient": [f"P{i:05}" for i in range(60)], "age": [*[30, 31] * 29, 31, 90]})
    assert any("drop_identifiers=True" in note for note in tabveil.vulnerable(frame).notes)
    without = tabveil.vulnerable(frame, drop_identifiers=True)
    np.testing.assert_array_equal(without.distance, tabveil.vulnerable(frame[["age"]]).distance)
    with pytest.raises(ParameterError, match=r"^vulnerable: no columns are left"):
        tabveil.vulnerable(frame[["patient"]], drop_identifiers=True)


def test_any_representation_can_be_asked_for():
    pytest.importorskip("torch")
    small = {"width": 32, "layers": 1, "dimension": 8, "epochs": 2, "batch_size": 128}
    table = numbers([*range(40), 100])
    one, again = (
        tabveil.vulnerable(table, representation={"name": "contrastive", **small}, seed=2) for _ in range(2)
    )
    np.testing.assert_array_equal(one.distance, again.distance)
    assert tabveil.vulnerable(table, representation="euclidean", share=0.03).rows.tolist() == [40]


@given(data=st.data())
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_of_two_rows_has_an_order(data):
    table = data.draw(tables(data.draw(schemas())))
    if len(table) < 2:
        with pytest.raises(ParameterError, match=r"^vulnerable: the table has (no rows|one row)"):
            tabveil.vulnerable(table)
        return
    found = tabveil.vulnerable(table, share=0.3)
    space = Space.gower(table.schema)
    each = [
        np.sort(tabveil.engines.neighbors.Neighbors(space, table.take(np.delete(np.arange(len(table)), i)))
        .nearest(table.take(np.array([i])), min(5, len(table) - 1)).distance[0]).mean()
        for i in range(len(table))
    ]  # fmt: skip
    np.testing.assert_allclose(found.distance, each, atol=1e-11)
    assert np.isfinite(found.rarity).all()
    assert (found.rarity >= 0).all()
    assert (np.diff(found.distance[found.order]) <= 0).all()
    shuffle = np.random.default_rng(0).permutation(len(table))
    other = tabveil.vulnerable(table.take(shuffle), share=0.3)
    assert table.take(found.rows).row_hash().tolist() == table.take(shuffle[other.rows]).row_hash().tolist()


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"share": 1.5}, "vulnerable: share must lie from 0 to 1, got 1.5"),
        ({"n_neighbors": 0}, "vulnerable: n_neighbors must be >= 1, got 0"),
        ({"representation": "mixd"}, "vulnerable: no representation 'mixd'. Did you mean 'mixed'?"),
        ({"representation": 3}, "vulnerable: representation must be"),
    ],
)
def test_wrong_parameters_are_refused(given, complaint):
    with pytest.raises(ParameterError) as refused:
        tabveil.vulnerable(numbers([1, 2]), **given)
    assert str(refused.value).startswith(complaint)
