"""Indicators that weigh several distances of one row: the ratio and the adversarial accuracy."""

import numpy as np
import pytest
from supplies.populations import population, split

from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import NotApplicable
from tabveil.metrics.indicators import AdversarialAccuracy, NeighborDistanceRatio
from tabveil.metrics.indicators.comparison import Exchange, ScoreGap
from tabveil.metrics.indicators.exchanging import _linked

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
    order = np.argsort(result.sensitive_scores[0].rows)
    assert result.sensitive_scores[0].values[order].tolist() == pytest.approx(1 - to_train)
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


def test_ratio_after_an_exchange_by_hand():
    # Two of three training rows are exchanged for two equal control rows. Which ones is chance; the mean
    # ratio after it, scaled from two to all three, is the control.
    tables = split(LINE, [0, 10, 100], [80, 80], [0, 4, 90])
    before = np.array([0, 4 / 6, 10 / 80])
    found = {}
    for seed in range(40):
        result = NeighborDistanceRatio()(tables, rng=np.random.default_rng(seed))
        assert result.attack.value == pytest.approx(before.mean())
        assert "2 of 3 training rows were exchanged" in result.notes[0]
        found[round(result.control.value, 6)] = round(result.risk.value, 6)
    kept = {  # the ratios to the kept row and 80
        0: [0 / 80, 4 / 76, 10 / 90],
        10: [10 / 80, 6 / 76, 10 / 80],
        100: [80 / 100, 76 / 96, 10 / 10],
    }
    expected = {}
    for ratios in kept.values():
        control = before.mean() + (np.mean(ratios) - before.mean()) * 3 / 2
        quotient = max(control, 0) / before.mean()
        risk = 1 - 1 / quotient if quotient > 1 else quotient - 1
        expected[round(float(np.clip(control, 0, 1)), 6)] = round(float(risk), 6)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    ("train", "control", "synthetic", "reason"),
    [
        ([0, 1], [5], [0], "at least 2 control rows"),
        ([3, 3], [5, 6], [0], "two different train rows"),
        ([0, 9], [0, 9], [0, 9], "a risk has no room"),
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
    order = np.argsort(result.sensitive_scores[0].rows)
    assert result.sensitive_scores[0].values[order].tolist() == pytest.approx([0.09, 0.09, -0.03, -0.12])


def test_ties_count_half():
    # Train and release are the same rows in pairs, so every row ties with its twin; control is far from both.
    rows = [[0, 0], [0, 0], [1, 1], [1, 1]]
    result = AdversarialAccuracy()(split(LETTERS, rows, [[2, 2], [2, 2], [3, 3], [3, 3]], rows), rng=rng())
    assert result.attack.value == 0.5
    assert result.control.value == 1
    assert result.risk.value == 1  # a copy whose rows have twins scores no less
    with pytest.raises(NotApplicable, match="a risk has no room"):
        AdversarialAccuracy()(split(LETTERS, rows, rows, rows), rng=rng())


def test_a_release_smaller_than_train_meets_a_part_of_it():
    tables = population("normal", (600, 600, 10), seed=2)
    copy = split(tables.schema, tables.train.values, tables.control.values, tables.train.values[:200])
    values = [AdversarialAccuracy()(copy, rng=np.random.default_rng(seed)).risk.value for seed in range(20)]
    assert np.mean(values) == pytest.approx(1, abs=0.1)
    assert max(values) <= 1
    result = AdversarialAccuracy()(copy, rng=rng())
    assert "sampled down: train (600)" in result.notes[0]


def gap(train, fresh, error_train, error_fresh, n=200):
    """Scores whose errors are independent and known."""
    noise = np.zeros(2 * n)
    by_train, by_fresh = noise.copy(), noise.copy()
    by_train[:n] = np.where(np.arange(n) % 2, 1, -1) * error_train / np.sqrt(n)
    by_fresh[n:] = np.where(np.arange(n) % 2, 1, -1) * error_fresh / np.sqrt(n)
    groups = np.arange(2 * n)
    return ScoreGap(
        train=train, fresh=fresh, by_train=by_train, by_fresh=by_fresh, groupings=(groups, groups),
        n_groups=10**6,
    )  # fmt: skip


def test_a_gap_is_a_part_of_the_larger_score():
    assert gap(0.4, 0.5, 0.001, 0.001).risk("test", 1, 0.95).value == pytest.approx(0.2)
    assert gap(0.5, 0.4, 0.001, 0.001).risk("test", 1, 0.95).value == pytest.approx(-0.2)
    assert gap(0.5, -0.1, 0.001, 0.001).risk("test", 1, 0.95).value == -1
    assert gap(0.0, 0.4, 0.0, 0.001).risk("test", 1, 0.95).low == 1


def test_a_gap_with_known_errors_has_fiellers_interval():
    found = gap(0.4, 0.5, 0.02, 0.03).risk("test", 1, 0.95)
    for end in (found.low, found.high):
        quotient = 1 / (1 - end)  # where fresh - quotient * train is 1.96 errors from zero
        error = np.hypot(0.03, quotient * 0.02)
        assert abs(0.5 - quotient * 0.4) == pytest.approx(1.96 * error, rel=0.01)


def test_a_gap_of_which_nothing_is_known_may_be_anything():
    found = gap(0.4, 0.5, 0.4, 5.0).risk("test", 1, 0.95)
    assert (found.low, found.high) == (-1, 1)
    copied = gap(0.0, 0.4, 0.0, 5.0).risk("test", 1, 0.95)
    assert (copied.low, copied.value, copied.high) == (-1, 1, 1)


def test_exchanged_rows_are_as_many_as_can_be():
    tables = population("normal", (50, 20, 10))
    found = Exchange.of(tables.train, tables.control, rng=rng())
    assert (len(found.before), len(found.after), len(found.kept), found.part) == (50, 50, 30, 0.4)
    kept = {tuple(row) for row in found.before.values[found.kept]}
    assert kept < {tuple(row) for row in tables.train.values}
    assert {tuple(row) for row in found.after.values} - kept == {tuple(row) for row in tables.control.values}
    assert found.fresh(0.5, 0.6) == pytest.approx(0.75)
    assert "20 of 50 training rows" in found.note()[0]
    large = Exchange.of(tables.control, tables.train, rng=rng())
    assert (len(large.after), len(large.kept), large.part, large.note()) == (20, 0, 1, ())


def test_rows_linked_through_neighbors_form_sets():
    groups = _linked(np.array([1, 0, 1, 4, 3]))
    assert groups[0] == groups[1] == groups[2] != groups[3] == groups[4]


@pytest.mark.parametrize(
    ("train", "control", "synthetic", "reason"),
    [
        ([0, 1], [], [0, 1], "control"),
        ([0], [0, 1], [0, 1], "two rows in every table"),
        ([0, 1], [5, 6], [0, 1], "each other's neighbors"),
        ([0, 9, 50, 80], [0, 9, 50, 80], [0, 9, 50, 80], "a risk has no room"),
    ],
)
def test_adversarial_accuracy_says_why_it_has_no_answer(train, control, synthetic, reason):
    with pytest.raises(NotApplicable, match=reason):
        AdversarialAccuracy()(split(LINE, train, control, synthetic), rng=rng())
