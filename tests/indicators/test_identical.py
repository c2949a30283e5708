import numpy as np
import pytest
from populations import adult_thirds, population, risks, split

from tabveil.indicators import IdenticalMatchShare
from tabveil.table import Categorical, Numeric, Schema, Table

SCHEMA = Schema((Numeric(name="age", low=0, high=9), Categorical(name="sex", labels=("f", "m"))))
RNG = np.random.default_rng(0)
A, B, C, D = [1, 0], [2, 1], [3, 0], [4, 1]


def ask(train, control, synthetic):
    return IdenticalMatchShare()(split(SCHEMA, train, control, synthetic), rng=RNG)


def test_by_hand():
    result = ask(train=[A, B, C], control=[A, D, D], synthetic=[A, B, B, [9, 0]])
    assert result.attack.value == 0.75
    assert result.control.value == 0.25
    assert result.risk.value == pytest.approx((0.75 - 0.25) / (1 - 0.25))
    assert result.details["matches_in_train"] == 3
    assert result.details["different_matching_rows"] == 2
    assert result.scores[0].values.tolist() == [1, 1, 1, 0]


def test_duplicates_never_push_the_share_above_one():
    assert ask(train=[A] * 5, control=[D], synthetic=[A] * 8).details["share_in_train"] == 1


def test_missing_equals_missing_and_minus_zero_is_zero():
    result = ask(train=[[np.nan, 0], [0.0, 1]], control=[D, D], synthetic=[[np.nan, 0], [-0.0, 1]])
    assert result.risk.value == 1


def test_equal_hashes_of_different_rows_do_not_count(monkeypatch):
    monkeypatch.setattr(Table, "row_hash", lambda self: np.zeros(len(self), dtype=np.uint64))
    result = ask(train=[A, B, C], control=[A, D, D], synthetic=[A, B, B, [9, 0]])
    assert (result.attack.value, result.control.value) == (0.75, 0.25)


def test_without_control_the_share_stands_alone():
    result = ask(train=[A, B], control=[], synthetic=[A, C])
    assert result.attack.value == 0.5
    assert result.risk is None
    assert result.control is None
    assert "No control" in result.notes[0]


def test_unequal_sizes_compare_samples_of_equal_size():
    # One of three train rows is drawn: A is matched with chance 2/3, B with 1/3; a copy of train would be
    # matched with (2/3 + 2/3 + 1/3) / 3 = 5/9.
    result = ask(train=[A, A, B], control=[C], synthetic=[A, B, C, D])
    assert result.attack.value == pytest.approx((2 / 3 + 1 / 3) / 4)
    assert result.control.value == pytest.approx(1 / 4)
    assert result.risk.value == pytest.approx((0.25 - 0.25) / (5 / 9 - 0.25), abs=1e-12)
    assert "differ in size" in result.notes[0]


def test_the_expected_share_is_that_of_real_samples():
    tables = population("levels", (900, 300, 400), seed=3)
    expected = IdenticalMatchShare()(tables, rng=RNG).attack.value
    rng = np.random.default_rng(1)
    sampled = []
    for _ in range(300):
        rows = tables.train.take(rng.choice(900, 300, replace=False))
        smaller = split(tables.schema, rows.values, tables.control.values, tables.synthetic.values)
        sampled.append(IdenticalMatchShare()(smaller, rng=RNG).attack.value)
    assert expected == pytest.approx(np.mean(sampled), abs=0.004)


@pytest.mark.parametrize("sizes", [(600, 600), (600, 200), (200, 600)])
def test_a_copy_is_one_at_any_sizes(sizes):
    tables = population("levels", (*sizes, 10))
    copy = split(tables.schema, tables.train.values, tables.control.values, tables.train.values)
    assert IdenticalMatchShare()(copy, rng=RNG).risk.value == 1


def test_a_leak_is_measured_at_its_size_whatever_the_control():
    found = risks(IdenticalMatchShare(), "levels", (900, 300, 900), leak=0.3, seeds=40)
    assert found[:, 0].mean() == pytest.approx(0.3, abs=0.025)


def test_no_room_for_a_risk_is_said():
    result = ask(train=[A, B], control=[A, B], synthetic=[A, B])
    assert result.risk is None
    assert "no room" in result.notes[0]


def test_adult_thirds_meet_the_anchor():
    schema, (train, control, release) = adult_thirds()
    result = IdenticalMatchShare()(split(schema, train, control, release), rng=RNG)
    assert result.attack.value == 13 / 16280
    assert result.control.value == 11 / 16280
    assert result.risk.low < 0 < result.risk.high
