"""Rows in the places of training people are seen; tables that are sorted, grouped or drift alike are not."""

import numpy as np
import pytest

import tabveil
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.datasets import hospital
from tabveil.metrics.traces import order
from tabveil.tables.reading import load_split

LEVEL = 0.001


def split_of(train, synthetic, labels=()):
    """Make tables of columns of numbers; those in ``labels`` are codes of categories."""
    columns = tuple(
        Categorical(name=name, labels=tuple(f"{name}{code}" for code in range(100)))
        if name in labels
        else Numeric(name=name, low=-1e9, high=1e9)
        for name in train
    )
    tables = [
        Table(
            schema=Schema(columns), values=np.column_stack([np.asarray(own[name], float) for name in train])
        )
        for own in (train, synthetic)
    ]
    return Split(train=tables[0], control=tables[0].take(np.arange(0)), synthetic=tables[1])


def found(train, synthetic, labels=(), seed=0):
    return order(split_of(train, synthetic, labels), rng=np.random.default_rng(seed))


def of_columns(n, seed):
    """A skewed number, a whole one with many ties, a rare label, and one that is mostly missing."""
    rng = np.random.default_rng(seed)
    return {
        "cost": rng.lognormal(size=n).round(2),
        "age": rng.integers(18, 95, n),
        "ward": rng.choice(4, n, p=[0.7, 0.2, 0.06, 0.04]),
        "dose": np.where(rng.random(n) < 0.9, np.nan, rng.random(n)),
    }


def test_four_columns_of_forty_rows_by_hand():
    """Moved by any number of rows, 0 to 39 is nowhere equal to itself turned by seven, but for one place."""
    places = np.arange(40)
    values = (places * 7) % 40  # goes up and down: no order of its own
    trace = found({"x": values}, {"x": values})
    assert trace.rows == 40
    assert trace.rows_expected == 0
    assert trace.gain.value == 1
    assert trace.people == trace.n_people == 40
    assert trace.proven
    assert trace.p_value < LEVEL


@pytest.mark.parametrize("column", ["cost", "age", "ward", "dose"])
def test_one_column_in_order_is_seen_and_named(column):
    train, release = of_columns(1000, 1), of_columns(1000, 2)
    release[column] = train[column]
    trace = found(train, release, labels=["ward"])
    assert trace.seen(LEVEL)
    assert trace.columns == (column,)
    assert trace.gain.value == pytest.approx(1)
    assert column in trace.sentence


def test_noise_does_not_hide_numbers_in_order():
    train, release = of_columns(1000, 1), of_columns(1000, 2)
    release["age"] = train["age"] + np.random.default_rng(3).normal(0, 20, 1000)
    trace = found(train, release, labels=["ward"])
    assert trace.seen(LEVEL)
    assert trace.columns == ("age",)
    assert 0.5 < trace.gain.value < 0.9
    assert "rank correlation" in trace.sentence


def test_a_part_of_the_cells_in_their_places_is_measured():
    train, release = of_columns(2000, 1), of_columns(2000, 2)
    kept = np.arange(2000) < 200
    release["cost"] = np.where(kept, train["cost"], release["cost"])
    trace = found(train, release, labels=["ward"])
    assert trace.seen(LEVEL)
    assert trace.gain.low < 0.1 < trace.gain.high


@pytest.mark.parametrize("rows", [slice(0, 300), slice(700, 1000), slice(2, 1000)])
def test_a_run_of_train_is_seen_at_its_start_and_its_end(rows):
    train = of_columns(1000, 1)
    release = {name: cells[rows] for name, cells in of_columns(1000, 2).items()}
    release["age"] = train["age"][rows]
    trace = found(train, release, labels=["ward"])
    assert trace.seen(LEVEL)
    assert trace.gain.value == pytest.approx(len(release["age"]) / 1000, abs=0.01)
    assert trace.share == pytest.approx(1, abs=0.05)


def test_train_at_the_start_of_a_longer_release_is_seen():
    train, release = of_columns(500, 1), of_columns(2000, 2)
    release["cost"] = np.concatenate([train["cost"], release["cost"][500:]])
    trace = found(train, release, labels=["ward"])
    assert trace.seen(LEVEL)
    assert trace.gain.value == pytest.approx(1)


def by(columns, *names):
    rows = np.lexsort([columns[name] for name in reversed(names)])
    return {name: cells[rows] for name, cells in columns.items()}


def test_fresh_rows_are_not_seen_in_many_draws():
    seen = [
        found(of_columns(300, seed), of_columns(300, 1000 + seed), ["ward"]).p_value for seed in range(100)
    ]
    assert np.mean(np.array(seen) <= 0.05) <= 0.05


@pytest.mark.parametrize("names", [("age",), ("ward",), ("ward", "age"), ("ward", "age", "cost"), ("dose",)])
@pytest.mark.parametrize("n", [60, 1000])
def test_tables_that_are_sorted_alike_are_not_seen(names, n):
    trace = found(by(of_columns(n, 1), *names), by(of_columns(n, 2), *names), labels=["ward"])
    assert trace.p_value > 0.05


def test_a_sorted_column_with_the_very_values_of_train_is_not_seen():
    train, release = by(of_columns(1000, 1), "age"), by(of_columns(1000, 2), "age")
    release["age"] = train["age"]
    assert found(train, release, labels=["ward"]).p_value > 0.05


def test_groups_of_equal_size_are_not_seen():
    train, release = of_columns(1000, 1), of_columns(1000, 2)
    for own in (train, release):
        own["ward"] = np.repeat([2, 0, 3, 1], 250)
    assert found(train, release, labels=["ward"]).p_value > 0.05


def test_rows_that_are_numbered_are_not_seen():
    train, release = of_columns(1000, 1), of_columns(1000, 2)
    for own in (train, release):
        own["number"] = np.arange(1000)
    assert found(train, release, labels=["ward"]).p_value > 0.05


@pytest.mark.parametrize("period", [7, 24, 365])
def test_what_comes_again_and_again_is_not_seen(period):
    train, release = of_columns(1500, 1), of_columns(1500, 2)
    for own in (train, release):
        own["day"] = (np.arange(1500) * 5) % period
        own["kind"] = own["day"] % 3
    assert found(train, release, labels=["ward", "kind"]).p_value > 0.05


def test_series_that_drift_are_not_seen():
    def drifting(seed):
        rng = np.random.default_rng(seed)
        walk = np.cumsum(rng.normal(size=1000))
        return {"level": walk.round(1), "trend": np.arange(1000) / 50 + rng.normal(0, 3, 1000)}

    assert min(found(drifting(seed), drifting(100 + seed)).p_value for seed in range(20)) > 0.01


def test_people_with_the_same_number_of_rows_are_not_seen():
    def visits(seed):
        rng = np.random.default_rng(seed)
        return {"age": np.repeat(rng.integers(18, 95, 200), 5), "sex": np.repeat(rng.integers(0, 2, 200), 5)}

    assert min(found(visits(seed), visits(100 + seed), ["sex"]).p_value for seed in range(20)) > 0.01


def test_a_column_that_is_constant_or_missing_tells_nothing():
    nothing = {"x": np.ones(100), "y": np.full(100, np.nan)}
    assert found(nothing, nothing) is None
    few = {"x": np.random.default_rng(0).random(19)}
    assert found(few, few) is None


def test_what_is_missing_in_place_is_seen():
    train, release = of_columns(1000, 1), of_columns(1000, 2)
    release["dose"] = np.where(np.isnan(train["dose"]), np.nan, np.random.default_rng(3).random(1000))
    trace = found(train, release, labels=["ward"])
    assert trace.seen(LEVEL)
    assert trace.columns == ("dose",)


def test_the_order_of_columns_changes_nothing():
    train, release = of_columns(500, 1), of_columns(500, 2)
    release["age"] = train["age"]
    turned = [dict(reversed(own.items())) for own in (train, release)]
    assert found(train, release, ["ward"]) == found(*turned, ["ward"])


@pytest.mark.parametrize("ward", ["as it came", "in groups"])
def test_an_audit_judges_it_without_a_control_too(ward):
    train, control, release = (hospital(600, seed=seed) for seed in (1, 2, 3))
    if ward == "in groups":
        train, release = (own.sort_values("ward", ignore_index=True) for own in (train, release))
    clean = tabveil.audit(train, release, control, quick=True, advice=False)
    (trace,) = [item for item in clean.traces.found if item.name == "order"]
    assert trace.p_value > 0.05
    release["cost"] = train["cost"]
    for with_control in (control, None):
        report = tabveil.audit(train, release, with_control, metrics="identical_match_share", advice=False)
        (judged,) = [item for item in report.verdict.traces if item.found.name == "order"]
        assert judged.state == report.verdict.state == "above threshold"
        assert judged.found.columns == ("cost",)


def test_what_is_synthesized_is_in_no_order_of_train():
    train = hospital(500, seed=1)
    release = tabveil.synthesize(train, generator="copy", seed=3)
    split = load_split(train, release).split
    assert order(split, rng=np.random.default_rng(0)).p_value > 0.05
