import numpy as np
import pytest
from supplies.populations import (
    SCHEMAS,
    adult_thirds,
    population,
    risks,
    rows,
    split,
    split_keeping_equal_rows,
)

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.metrics.indicators import IdenticalMatchShare

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
    assert result.sensitive_scores[0].values.tolist() == [1, 1, 1, 0]


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


def test_a_smaller_control_is_exchanged_for_a_part_of_train():
    # One of three training rows is exchanged for the control row. B loses its match when it is the one, and
    # gains 3 * 1/3; A has a twin and loses nothing; C gains a match, which stands for three. By chance, then,
    # 2 - (1 - 3) of 4 rows would match.
    result = ask(train=[A, A, B], control=[C], synthetic=[A, B, C, D])
    assert result.attack.value == 0.5
    assert result.control.value == 1
    assert result.risk.value == pytest.approx((0.5 - 1) / 0.5)


def test_a_larger_control_is_sampled_down_to_train():
    # Two of four control rows are drawn: A with 1 - (2/4)(1/3) = 5/6, B with 1/2.
    result = ask(train=[A, D], control=[A, A, B, C], synthetic=[A, B, D, [9, 1]])
    assert result.attack.value == 0.5
    assert result.control.value == pytest.approx((5 / 6 + 1 / 2) / 4)
    assert result.risk.value == pytest.approx((1 / 2 - 1 / 3) / (1 - 1 / 3))


def test_where_equal_rows_were_kept_on_one_side_each_counts_once():
    generator = np.random.default_rng(2)
    train, control = split_keeping_equal_rows(rows("levels", 3000, generator), 0.2, generator)
    fresh = split(SCHEMAS["levels"], train, control, rows("levels", 800, generator))
    result = IdenticalMatchShare()(fresh, rng=RNG)
    assert result.risk.low <= 0 <= result.risk.high
    assert "each different row counts once" in result.notes[0]


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
