"""Copies as data: how many rows of a release are training rows, and how many of those are chance."""

import json
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import binom
from supplies.populations import SCHEMAS, adult_thirds, population, rows, split, split_keeping_equal_rows
from supplies.strategies import splits

from tabveil.auditing.judging import Grounds, judge
from tabveil.auditing.policy import Policy
from tabveil.core.sampling import held_chance
from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.core.table import Categorical, Numeric, Schema, Split
from tabveil.errors import ParameterError
from tabveil.metrics.control.copies import RARE, Copies, copies

LINE = Schema((Numeric(name="x", low=0, high=1000),))
SIZES = [(100, 1000, 400), (500, 500, 500), (1000, 100, 500), (3000, 50, 500)]  # 1:10, 1:1, 10:1, 60:1
by_sizes = pytest.mark.parametrize("sizes", SIZES, ids=["1:10", "1:1", "10:1", "60:1"])


def rng():
    return np.random.default_rng(0)


def ask(train, control, synthetic, **parameters):
    return copies(split(LINE, train, control, synthetic), rng=rng(), **parameters)


def far_apart(n, start):
    """Numbers that no other call has, none near another."""
    return np.arange(n) * 10.0 + start


def test_by_hand_at_equal_sizes():
    # 1 and 2 equal only a training row, 3 both, 4 only a control row (twice in the release), 9 none.
    found = ask([1, 2, 3, 5], [3, 4, 6, 7], [1, 2, 3, 4, 4, 9])
    assert (found.n_synthetic, found.n_train, found.n_control) == (6, 4, 4)
    assert (found.equal_train, found.equal_control) == (3, 3)
    assert found.expected == 3
    assert found.share.value == 0
    assert (found.people, found.people_expected) == (3, 2)
    assert not found.kept_together


def test_a_copy_whose_twin_explains_it_counts_less_where_control_is_small():
    # One of four training rows is exchanged for the control row. 1 loses its match when that one is it, and
    # stands for one row; 2 cannot lose it, for it has a twin; 8 is brought by the control row, for four.
    found = ask([1, 2, 2, 5], [8], [1, 2, 8])
    assert found.equal_train == 2
    assert found.share.value == pytest.approx((1 - 4) / 3)
    assert found.expected == pytest.approx(2 + 3)


def test_a_large_control_is_sampled_down_in_closed_form():
    # Two of four control rows would be drawn: 7 with chance 1/2, 6 (twice) with 1 - (2/4)(1/3) = 5/6.
    found = ask([1, 2], [6, 6, 7, 8], [1, 6, 7])
    assert found.expected == pytest.approx(1 / 2 + 5 / 6)
    assert found.share.value == pytest.approx((1 - 1 / 2 - 5 / 6) / 3)


def test_the_exchange_is_the_average_over_all_exchanges():
    tables = population("levels", (60, 25, 80), leak=0.2, seed=3)
    expected = copies(tables, rng=rng()).share.value
    values = {role: [tuple(row) for row in getattr(tables, role).values] for role in ("train", "synthetic")}
    control = {tuple(row) for row in tables.control.values}
    before = sum(row in set(values["train"]) for row in values["synthetic"])
    losses = []
    for seed in range(3000):
        kept = np.random.default_rng(seed).permutation(60)[25:]
        after = {values["train"][i] for i in kept} | control
        losses.append(before - sum(row in after for row in values["synthetic"]))
    assert expected == pytest.approx(np.mean(losses) * 60 / 25 / 80, abs=0.003)


def test_no_match_in_train_is_no_copy_for_certain():
    found = ask(far_apart(20, 0), far_apart(20, 1), [*far_apart(15, 2), 1, 11, 21])
    assert found.equal_train == 0
    assert found.share.high == 0
    assert found.p_value == 1
    assert not found.seen(0.5)


@pytest.mark.parametrize("n_control", [100, 10, 1000])
def test_no_match_in_control_still_bounds_what_chance_explains(n_control):
    found = ask(far_apart(100, 0), far_apart(n_control, 1), [*far_apart(30, 0), *far_apart(70, 2)])
    to_train = 100 / (100 + n_control)
    assert found.expected == pytest.approx(0, abs=1e-9)
    assert found.share.value == found.share.high == pytest.approx(0.3)
    assert found.share.low == pytest.approx((30 - log(0.025) / log(to_train)) / 100)
    assert found.p_value == pytest.approx(to_train**30)
    assert found.seen(0.01) == (n_control != 10)  # (100 / 110)^30 = 0.057


def test_the_p_value_is_that_of_a_binomial_law():
    train, control = far_apart(200, 0), far_apart(100, 1)
    found = ask(train, control, [*train[:25], *control[:6], *far_apart(20, 2)])
    assert found.p_value == pytest.approx(binom.sf(24, 31, 2 / 3))
    assert found.share.value == pytest.approx((25 - 12) / 51)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_the_interval_and_the_p_value_agree(confidence):
    train, control = far_apart(200, 0), far_apart(100, 1)
    for n_copies in range(10, 60, 3):
        found = ask(train, control, [*train[:n_copies], *control[:8], 7.5], confidence=confidence)
        assert (found.share.low > 0) == found.seen((1 - confidence) / 2)
        assert found.share.low <= found.share.value <= found.share.high


def test_one_row_over_and_over_is_one_event():
    found = ask(far_apart(50, 0), far_apart(50, 1), [0] * 300 + [7.5] * 700)
    assert found.share.value == 0.3
    assert found.p_value == pytest.approx(0.5)  # it would as well stand in control
    assert found.share.low < 0


def test_without_control_matches_are_counted_and_nothing_is_concluded():
    found = ask([1, 1, 2], [], [1, 1, 3])
    assert (found.equal_train, found.equal_control, found.people) == (2, 0, 2)
    assert found.share is found.p_value is found.expected is found.people_expected is found.near is None
    assert not found.seen(0.5)


@pytest.mark.parametrize("kind", ["normal", "mixed"])
def test_three_copies_in_a_hundred_are_seen_and_counted(kind):
    found = copies(population(kind, (1500, 1500, 1000), leak=0.03, seed=1), rng=rng())
    assert found.share.value == pytest.approx(0.03, abs=0.01)
    assert 0 < found.share.low < 0.03 <= found.share.high
    assert found.seen(0.01)
    assert 30 <= found.people <= 60


def drawn(sizes, *, leak, seeds):
    """Tables of few skewed values, where fresh rows often equal real ones; and what the truth is.

    A planted row is a copy beyond chance where a fresh train would not hold it.
    """
    schema = Schema(tuple(Categorical(name=f"c{i}", labels=tuple("abcdefgh")) for i in range(4)))
    chances = 1 / np.arange(1, 9)
    chances /= chances.sum()
    found, truth = [], []
    for seed in range(seeds):
        generator = np.random.default_rng([11, seed])
        train, control, synthetic = (generator.choice(8, (n, 4), p=chances) for n in sizes)
        planted = round(leak * sizes[2])
        synthetic[:planted] = train[generator.integers(0, sizes[0], planted)]
        rare = chances[synthetic[:planted]].prod(axis=1)
        truth.append(float(((1 - rare) ** sizes[0]).sum()) / sizes[2])
        found.append(copies(split(schema, train, control, synthetic), rng=generator))
    return found, np.array(truth)


@by_sizes
def test_chance_matches_raise_no_alarm(sizes):
    found, _ = drawn(sizes, leak=0, seeds=80)
    assert np.mean([item.equal_train for item in found]) > 40
    assert sum(item.seen(0.025) for item in found) <= 6  # one in 200 at the level itself
    covered = [item.share.low <= 0 <= item.share.high for item in found]
    assert np.mean(covered) >= 0.9
    values = np.array([item.share.value for item in found])
    assert abs(values.mean()) < 3 * values.std() / np.sqrt(len(values))


@by_sizes
def test_copies_among_chance_matches_are_counted_without_bias(sizes):
    found, truth = drawn(sizes, leak=0.2, seeds=80)
    values = np.array([item.share.value for item in found])
    assert abs((values - truth).mean()) < 3 * values.std() / np.sqrt(len(values))
    covered = [item.share.low <= true <= item.share.high for item, true in zip(found, truth, strict=True)]
    assert np.mean(covered) >= 0.9


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_equal_rows_that_were_kept_together_raise_no_alarm(share):
    alarms, together = 0, 0
    for seed in range(60):
        generator = np.random.default_rng([13, seed])
        train, control = split_keeping_equal_rows(rows("levels", 2500, generator), share, generator)
        tables = split(SCHEMAS["levels"], train, control, rows("levels", 600, generator))
        found = copies(tables, rng=generator)
        alarms += found.seen(0.025)
        together += found.kept_together
    assert together == 60
    assert alarms <= 5


def test_a_twin_kept_on_one_side_explains_nothing():
    generator = rng()
    people = np.repeat(rows("normal", 800, generator), 2, axis=0)  # every row occurs twice
    train, control = split_keeping_equal_rows(people, 0.3, generator)
    release = rows("normal", 500, generator)
    release[:15] = train[::2][:15]
    found = copies(split(SCHEMAS["normal"], train, control, release), rng=generator)
    assert found.kept_together
    assert found.share.value == pytest.approx(0.03)
    assert found.people == 30
    assert found.seen(0.01)


def test_near_copies_by_hand():
    # Fresh rows come as near as 1 (control), others 3 and more; so nearer than 1 to a training row is near.
    train, control = np.arange(0.0, 200, 10), np.array([1.0, 25, 48, 77])
    found = ask(train, control, [0.5, 0.6, 10, 25.5, 47, 52, 120.9]).near
    assert found.distance == pytest.approx(0.001)
    assert found.rate == pytest.approx(1 / (len(train) + len(control) + 1))
    # Control's 1 explains 0.5 and 0.6; 120.9 remains; 25.5 is near to control alone, which stands for 20 / 4.
    assert (found.near_train, found.near_control) == (3, 3)
    assert found.share.value == pytest.approx((1 - 5) / 7)
    assert found.expected == pytest.approx(2 + 5)


def test_rows_equal_to_real_ones_are_no_near_copies():
    train, control = far_apart(30, 0), far_apart(30, 3)
    found = ask(train, control, [*train[:10], *control[:10], 6.5]).near
    assert (found.near_train, found.near_control, found.share.value) == (0, 0, 0)


@by_sizes
def test_near_copies_are_found_and_fresh_rows_raise_no_alarm(sizes):
    alarms, values = 0, []
    for seed in range(40):
        tables = population("normal", sizes, seed=seed)
        generator = np.random.default_rng([17, seed])
        alarms += copies(tables, rng=generator).near.seen(0.025)
        leaked, n_copies = np.array(tables.synthetic.values), sizes[2] // 10
        leaked[:n_copies] = tables.train.values[generator.choice(sizes[0], n_copies, replace=False)] + 1e-5
        near = split(tables.schema, tables.train.values, tables.control.values, leaked)
        found = copies(near, rng=generator)
        assert found.equal_train == 0
        values.append(found.near.share.value)
        assert found.near.share.low <= 0.1 <= found.near.share.high + 0.01
    assert alarms <= 4
    assert np.mean(values) == pytest.approx(0.1, abs=0.01)


def test_the_rate_of_near_copies_is_what_the_rows_can_tell():
    few = copies(population("normal", (300, 200, 10)), rng=rng()).near
    assert few.rate == pytest.approx(1 / 501)
    many = copies(population("normal", (15_000, 9_000, 10)), rng=rng()).near
    assert many.rate == pytest.approx(RARE, rel=0.01)


def test_where_all_fresh_rows_equal_training_rows_there_is_no_near():
    assert ask([1, 1, 2, 2], [1, 2], [1, 3]).near is None
    assert ask([1], [1], [3]).near is None


def test_labels_alone_are_never_nearer_without_being_equal():
    found = copies(population("levels", (300, 300, 300)), rng=rng()).near
    assert (found.near_train, found.near_control, found.share.value, found.p_value) == (0, 0, 0, 1)


def test_missing_equals_missing():
    found = ask([np.nan, 2], [3, 4], [np.nan, np.nan, 5])
    assert (found.equal_train, found.people) == (2, 1)


def test_one_row_tables_and_constant_columns():
    found = ask([1], [2], [1])
    assert found.share.value == 1
    assert found.p_value == pytest.approx(0.5)
    constant = Schema((Numeric(name="x", low=3, high=3),))
    found = copies(split(constant, [3, 3], [3], [3, 3]), rng=rng())
    assert (found.equal_train, found.expected, found.share.value) == (2, 2, 0)


def assert_same(one, other):
    """Compare the answers number by number: sums in another order differ in the last digit."""
    for a, b in zip(*(np.ravel(list(flat(to_plain(item)))) for item in (one, other)), strict=True):
        assert a == b or a == pytest.approx(b, rel=1e-9, abs=1e-12)


def flat(plain):
    for value in plain.values():
        yield from flat(value) if isinstance(value, dict) else (value,)


@given(tables=splits(max_rows=25))
@settings(max_examples=40, deadline=None)
def test_any_tables_have_an_answer_that_order_does_not_change(tables):
    found = copies(tables, rng=rng())
    for part in (found, found.near):
        if part is not None and part.share is not None:
            assert part.share.low <= part.share.value <= part.share.high <= 1
            assert 0 <= part.p_value <= 1
            assert part.expected >= -1e-9
    assert found.expected is None or found.expected <= len(tables.synthetic) * len(tables.train)
    turned = Split(
        **{
            role: getattr(tables, role).take(np.arange(len(getattr(tables, role)))[::-1])
            for role in ("train", "control", "synthetic")
        }
    )
    assert_same(copies(turned, rng=rng()), found)
    stored = json.loads(json.dumps(to_plain(found), allow_nan=False))
    assert from_plain(Copies, stored) == found


def test_the_level_is_checked():
    with pytest.raises(ParameterError, match=r"copies: confidence must lie between 0\.5 and 1, got 95"):
        ask([1], [2], [3], confidence=95)


@pytest.mark.parametrize("n_control", [1500, 150])
def test_a_few_columns_of_adult_raise_no_alarm_and_planted_copies_do(n_control):
    schema, thirds = adult_thirds()
    names = [name for name in schema.names if name != "fnlwgt"][:6]
    columns = [schema.position(name) for name in names]
    people = np.concatenate(thirds)[:, columns]
    alarms, seen = 0, 0
    for seed in range(40):
        generator = np.random.default_rng([19, seed])
        order = generator.permutation(len(people))
        cuts = np.split(people[order], [1500, 1500 + n_control, 3000 + n_control])[:3]
        alarms += copies(split(schema.select(names), *cuts), rng=generator).seen(0.025)
        cuts[2][:300] = cuts[0][:300]
        seen += copies(split(schema.select(names), *cuts), rng=generator).seen(0.025)
    assert alarms <= 4
    assert seen == 40 if n_control == 1500 else seen >= 10


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_clean_releases_are_within_where_there_are_rows_enough(kind):
    for seed in range(6):
        tables = population(kind, (4000, 4000, 4000), seed=seed)
        found = copies(tables, rng=np.random.default_rng(seed))
        grounds = Grounds(results=(), n_train=4000, n_control=4000, copies=found)
        assert judge(grounds, Policy()).copies.state == "within threshold"


def test_the_chance_that_a_sample_holds_a_row():
    found = held_chance(np.array([0, 1, 3, 17]), total=20, size=4)
    assert found == pytest.approx([0, 4 / 20, 1 - comb(17, 4) / comb(20, 4), 1])
    assert held_chance(np.array([0, 1, 3]), total=20, size=20).tolist() == [0, 1, 1]
    assert held_chance(np.array([0, 1, 3]), total=20, size=0).tolist() == [0, 0, 0]
