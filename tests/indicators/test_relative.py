"""Indicators that weigh several distances of one row: the ratio and the adversarial accuracy."""

import numpy as np
import pytest
from populations import population, split

from tabveil.errors import NotApplicable
from tabveil.indicators import AdversarialAccuracy, NeighborDistanceRatio
from tabveil.indicators.adversarial import _linked
from tabveil.table import Categorical, Numeric, Schema

LINE = Schema((Numeric(name="x", low=0, high=100),))
LETTERS = Schema(tuple(Categorical(name=name, labels=tuple("abcd")) for name in "pq"))


def rng():
    return np.random.default_rng(0)


def test_ratio_by_hand():
    # To train {0, 10, 100}: 0/10, 4/6, 10/80. To control {20, 40, 60}: 20/40, 16/36, 30/50.
    tables = split(LINE, [0, 10, 100], [20, 40, 60], [0, 4, 90])
    result = NeighborDistanceRatio()(tables, rng=rng())
    to_train = np.array([0, 4 / 6, 10 / 80])
    to_control = np.array([20 / 40, 16 / 36, 30 / 50])
    order = np.argsort(result.scores[0].rows)
    assert result.scores[0].values[order].tolist() == pytest.approx(1 - to_train)
    assert result.attack.value == pytest.approx(to_train.mean())
    assert result.control.value == pytest.approx(to_control.mean())
    assert result.risk.value == pytest.approx(1 - to_train.mean() / to_control.mean())
    assert result.details["to_train"]["median"] == pytest.approx(0.125)


def test_a_twin_is_not_the_second_nearest():
    alone = split(LINE, [0, 10, 100], [20, 40, 60], [0, 4, 90])
    twins = split(LINE, [0, 0, 10, 10, 100, 100], [20, 20, 20, 40, 60, 60], [0, 4, 90])
    assert (
        NeighborDistanceRatio()(alone, rng=rng()).risk.value
        == NeighborDistanceRatio()(twins, rng=rng()).risk.value
    )


def test_a_copied_table_of_few_levels_is_seen():
    tables = population("levels", (2000, 2000, 10))
    copy = split(tables.schema, tables.train.values, tables.control.values, tables.train.values)
    result = NeighborDistanceRatio()(copy, rng=rng())
    assert result.risk.value == 1
    assert result.risk.low > 0


def test_two_records_that_no_column_tells_apart_have_ratio_one():
    # y does not vary on train, so the Euclidean distance, standardized on train, does not see it: from (0, 1)
    # two control records are at distance zero; from (8, 1) they are 1 and 8 away (train: 1 and 3).
    schema = Schema((Numeric(name="x", low=0, high=9), Numeric(name="y", low=0, high=9)))
    tables = split(schema, [[0, 1], [5, 1], [9, 1]], [[0, 1], [0, 2], [9, 5]], [[0, 1], [8, 1]])
    result = NeighborDistanceRatio(distance="euclidean")(tables, rng=rng())
    assert result.attack.value == pytest.approx((0 + 1 / 3) / 2)
    assert result.control.value == pytest.approx((1 + 1 / 8) / 2)


@pytest.mark.parametrize(
    ("train", "control", "synthetic", "reason"),
    [
        ([0, 1], [5], [0], "at least 2 control rows"),
        ([3, 3], [5, 6], [0], "two different train rows"),
        ([0, 9], [5, 6], [5, 6], "every synthetic row equals a control row"),
        ([0, 99], [5, 88], [1, 2], "same nearest real row"),
    ],
)
def test_ratio_says_why_it_has_no_answer(train, control, synthetic, reason):
    with pytest.raises(NotApplicable, match=reason):
        NeighborDistanceRatio()(split(LINE, train, control, synthetic), rng=rng())


def test_adversarial_accuracy_by_hand():
    # Train {0, 10, 50, 58}, control {20, 23, 80, 90}, synthetic {1, 11, 70, 79}.
    # d_TS = 1, 1, 20 (70), 12 (70); d_TT = 10, 10, 8, 8            -> right: 0, 0, 1, 1
    # d_ST = 1, 1, 12, 21; d_SS = 10, 10, 9, 9                      -> right: 0, 0, 1, 1
    # d_CS = 9, 12, 1, 11; d_CC = 3, 3, 10, 10                      -> right: 1, 1, 0, 1
    # d_SC = 19, 9, 10, 1; d_SS = 10, 10, 9, 9                      -> right: 1, 0, 1, 0
    tables = split(LINE, [0, 10, 50, 58], [20, 23, 80, 90], [1, 11, 70, 79])
    result = AdversarialAccuracy()(tables, rng=rng())
    assert result.details["train"] == {"real_side": 0.5, "synthetic_side": 0.5}
    assert result.details["control"] == {"real_side": 0.75, "synthetic_side": 0.5}
    assert result.attack.value == 0.5
    assert result.control.value == 0.625
    assert result.details["privacy_loss"] == 0.125
    assert result.risk.value == pytest.approx(0.2)
    order = np.argsort(result.scores[0].rows)
    assert result.scores[0].values[order].tolist() == pytest.approx([0.09, 0.09, -0.03, -0.12])


def test_ties_count_half():
    rows = [[0, 0], [0, 0], [1, 1], [1, 1]]
    result = AdversarialAccuracy()(split(LETTERS, rows, rows, rows), rng=rng())
    assert result.attack.value == result.control.value == 0.5
    assert result.risk.value == 0


def test_rows_linked_through_neighbors_form_sets():
    groups = _linked(np.array([1, 0, 1, 4, 3]))
    assert groups[0] == groups[1] == groups[2] != groups[3] == groups[4]


@pytest.mark.parametrize(
    ("train", "control", "synthetic", "reason"),
    [
        ([0, 1], [], [0, 1], "control"),
        ([0], [0, 1], [0, 1], "two rows in every table"),
        ([0, 1], [5, 6], [0, 1], "each other's neighbors"),
        ([0, 1, 50, 51], [10, 20, 70, 90], [10, 20, 70, 90], "copies of control"),
    ],
)
def test_adversarial_accuracy_says_why_it_has_no_answer(train, control, synthetic, reason):
    with pytest.raises(NotApplicable, match=reason):
        AdversarialAccuracy()(split(LINE, train, control, synthetic), rng=rng())
