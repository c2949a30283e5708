"""The planted leaks and noises of benchmarks/, on which the statements about power rest."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from leaks import Noise, is_real, leaky, noisy, split_of
from trials import Setting, Trial, chosen, run

from tabveil.auditing import DEFAULT
from tabveil.table import Categorical, Numeric, Schema, Table

SCHEMA = Schema(
    (
        Numeric(name="income", low=0, high=100),
        Numeric(name="age", low=0, high=99, decimals=0),
        Categorical(name="region", labels=tuple("abcd")),
        Categorical(name="planet", labels=("earth",)),
    )
)


def people(n_rows, *, seed):
    rng = np.random.default_rng(seed)
    columns = [
        rng.uniform(0, 100, n_rows),
        rng.integers(0, 100, n_rows),
        rng.integers(0, 4, n_rows),
        np.zeros(n_rows),
    ]
    values = np.column_stack(columns).astype(float)
    values[::10, 1:3] = np.nan
    values[5::100, 0] = np.nan
    return Table(schema=SCHEMA, values=values)


def is_in(table, other):
    return np.isin(table.row_hash(), other.row_hash())


@pytest.mark.parametrize(("level", "expected"), [(0, 0), (0.25, 10), (1, 40)])
def test_exactly_the_share_asked_for_is_leaked(level, expected):
    train, release = people(50, seed=1), people(40, seed=2)
    synthetic = leaky(train, release, level, rng=np.random.default_rng(0))
    assert len(synthetic) == 40
    assert is_in(synthetic, train).sum() == expected
    assert is_in(synthetic, release).sum() == 40 - expected
    assert len(np.unique(synthetic.row_hash())) == 40  # nobody twice


def test_a_higher_level_leaks_the_rows_of_a_lower_one_and_more():
    train, release = people(50, seed=1), people(40, seed=2)
    few, many = (
        set(synthetic.row_hash()[is_in(synthetic, train)].tolist())
        for synthetic in (leaky(train, release, level, rng=np.random.default_rng(5)) for level in (0.1, 0.5))
    )
    assert few < many


def test_more_than_train_cannot_leak():
    with pytest.raises(ValueError, match="40 rows cannot be drawn from 30"):
        leaky(people(30, seed=1), people(40, seed=2), 1, rng=np.random.default_rng(0))


def test_no_noise_changes_nothing():
    table = people(100, seed=1)
    assert np.array_equal(
        noisy(table, Noise(), rng=np.random.default_rng(0)).values, table.values, equal_nan=True
    )


def test_each_noise_moves_what_it_is_meant_for():
    table = people(20_000, seed=1)

    def moves(**noise):
        return noisy(table, Noise(**noise), rng=np.random.default_rng(0)).values - table.values

    by_sigma, by_rate, by_swap = moves(sigma=0.05), moves(rate=0.05), moves(swap=0.05)
    deviation = np.nanstd(table.values, axis=0)
    assert np.nanstd(by_sigma[:, 0]) == pytest.approx(0.05 * deviation[0], rel=0.05)
    assert np.nanmax(np.abs(by_sigma[:, 1:])) == 0  # whole numbers that repeat are not real
    everywhere = moves(sigma=0.05, every_number=True)
    assert np.nanstd(everywhere[:, 1]) == pytest.approx(0.05 * deviation[1], rel=0.05)
    assert np.nanmax(np.abs(everywhere[:, 1] % 1)) == 0  # but stay whole when moved
    assert np.nanmax(np.abs(everywhere[:, 2:])) == 0
    assert np.nanmax(np.abs(by_rate[:, [0, 2, 3]])) == 0
    assert np.nanmean(by_rate[:, 1] != 0) == pytest.approx(1 - np.exp(-0.05), abs=0.11)  # a tenth is missing
    assert np.nanmean(np.abs(by_rate[:, 1])) == pytest.approx(0.05, rel=0.15)
    assert abs(np.nanmean(by_rate[:, 1])) < 0.01
    known = ~np.isnan(table.values[:, 2])
    assert np.mean(by_swap[known, 2] != 0) == pytest.approx(0.05, abs=0.006)
    assert np.nanmax(np.abs(by_swap[:, [0, 1, 3]])) == 0  # the only label of a column stays


def test_whole_numbers_that_hardly_repeat_are_real():
    weight = Numeric(name="weight", low=0, high=1e6, decimals=0)
    assert is_real(weight, np.arange(100.0))
    assert not is_real(weight, np.arange(100.0) // 2)
    assert not is_real(SCHEMA["age"], np.full(5, np.nan))
    assert is_real(SCHEMA["income"], np.zeros(5))


def test_a_swapped_category_is_any_other_one():
    table = people(20_000, seed=1)
    swapped = noisy(table, Noise(swap=1.0), rng=np.random.default_rng(0))
    was, is_now = table.column("region"), swapped.column("region")
    known = ~np.isnan(was)
    assert np.array_equal(np.isnan(is_now), ~known)
    counts = np.array([[np.sum((was == a) & (is_now == b)) for b in range(4)] for a in range(4)])
    assert (np.diag(counts) == 0).all()
    assert counts[counts > 0].min() / counts.max() > 0.85


def test_ranges_span_what_noise_moved():
    train = people(100, seed=1)
    moved = noisy(train, Noise(sigma=2.0), rng=np.random.default_rng(0))
    split = split_of(train, people(10, seed=2), moved)
    assert split.schema["income"].low == np.nanmin(moved.column("income")) < 0
    assert split.schema["region"] == SCHEMA["region"]


def test_trials_are_disjoint_and_the_same_for_every_setting():
    trial = Trial(table=people(300, seed=1), n_rows=90, settings=(), metrics=())
    leak, small = (
        trial.split(Setting(name="leak", leak=0.5), 3),
        trial.split(Setting(name="small", control=1 / 3), 3),
    )
    assert np.array_equal(leak.train.values, small.train.values, equal_nan=True)
    assert (len(leak.control), len(small.control), len(small.synthetic)) == (90, 30, 90)
    assert not is_in(leak.control, leak.train).any()
    assert not is_in(small.synthetic, small.train).any()
    assert is_in(leak.synthetic, leak.train).sum() == 45


def test_seeds_run_in_processes_and_answer_in_order():
    settings = (Setting(name="leak", leak=0.5), Setting(name="none"))
    trial = Trial(table=people(300, seed=1), n_rows=90, settings=settings, metrics=("identical_match_share",))
    found = run(trial, 2, processes=1)
    assert found["seed"].tolist() == [0, 0, 1, 1]
    assert found["risk"].tolist() == [0.5, 0.0, 0.5, 0.0]
    assert (found["low"] <= found["risk"]).all()


def test_every_default_metric_is_run_unless_some_are_named():
    assert chosen(None) == DEFAULT
    assert chosen(["mmd"]) == ("mmd",)
    with pytest.raises(SystemExit, match="Unknown metric 'mdm'"):
        chosen(["mdm"])
