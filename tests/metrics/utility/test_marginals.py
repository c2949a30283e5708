"""Columns of tables: levels, missing values, means over columns, and bars that betray nobody."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats
from supplies.populations import population, split
from supplies.strategies import splits

from tabveil.core.people import LEAST_SHARED
from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.marginals import MOST_LABELS, MOST_RANGES, bars, measure_columns

SCHEMA = Schema((Numeric(name="age", low=0, high=10), Categorical(name="sex", labels=("f", "m"))))
NAN = np.nan


def measured(tables, **options):
    columns, overall = measure_columns(
        tables, ComparedTables.of(tables, rng=np.random.default_rng(0)), **options
    )
    return {column.name: column for column in columns}, overall


def test_by_hand():
    tables = split(SCHEMA, train=[[0, 0], [4, 1]], control=[[0, 0], [0, 1]], synthetic=[[2, NAN], [NAN, 1]])
    columns, overall = measured(tables)
    figures = columns["age"].figures
    # half of the rows move by 2 of 10, the other half lose their number
    assert figures["wasserstein"].value.value == pytest.approx(0.5 * 0.2 + 0.5)
    assert figures["wasserstein"].reference.value == pytest.approx(0.5 * 0.4)
    assert columns["sex"].figures["total_variation"].value.value == 0.5
    assert columns["sex"].figures["total_variation"].reference.value == 0
    assert overall["total_variation"].value.value == pytest.approx((1.0 + 0.5) / 2)
    assert overall["wasserstein"].value == figures["wasserstein"].value  # the only column of numbers


def test_without_the_half():
    tables = population("levels", (200, 200, 200), seed=0)
    plain, doubled = measured(tables)[1], measured(tables, halved=False)[1]
    assert doubled["total_variation"].value.value == pytest.approx(2 * plain["total_variation"].value.value)


def test_beside_scipy():
    tables = population("mixed", (500, 400, 500), leak=0.5, seed=1)
    columns, _ = measured(tables)
    for name in ("age", "visits"):
        real, synthetic, width = (
            tables.control.column(name),
            tables.synthetic.column(name),
            SCHEMA_WIDTH[name],
        )
        figures = columns[name].figures
        expected = stats.wasserstein_distance(real, synthetic) / width
        assert figures["wasserstein"].value.value == pytest.approx(expected)
        assert figures["kolmogorov_smirnov"].value.value == pytest.approx(
            stats.ks_2samp(real, synthetic).statistic
        )
    codes = tables.control.column("sex"), tables.synthetic.column("sex")
    table = [np.bincount(side.astype(int)) for side in codes]
    expected = stats.chi2_contingency(table, correction=False)
    found = columns["sex"].chi_squared
    assert (found.statistic, found.dof) == (pytest.approx(expected.statistic), expected.dof)
    assert found.p_value == pytest.approx(expected.pvalue)


SCHEMA_WIDTH = {"age": 90, "visits": 10}


def test_chi_squared_takes_rare_levels_together():
    schema = Schema((Categorical(name="town", labels=tuple("abcdefgh")),))
    real = [[0]] * 50 + [[1]] * 44 + [[c] for c in (2, 3, 4, 5, 6, 7)]
    synthetic = [[0]] * 40 + [[1]] * 54 + [[c] for c in (2, 2, 2, 3, 3, 3)]
    columns, _ = measured(split(schema, real, real, synthetic))
    expected = stats.chi2_contingency([[50, 44, 6], [40, 54, 6]], correction=False)
    found = columns["town"].chi_squared
    assert (found.statistic, found.dof) == (pytest.approx(expected.statistic), 2)


def test_a_constant_column_has_no_distance_and_no_test():
    schema = Schema((Numeric(name="one", low=1, high=1), Categorical(name="planet", labels=("earth",))))
    rows = [[1, 0]] * 30
    columns, _ = measured(split(schema, rows, rows, rows))
    for column in columns.values():
        assert all(figure.value.value == 0 for figure in column.figures.values())
        assert column.chi_squared is None


def test_the_mean_counts_that_columns_go_together():
    rng = np.random.default_rng(0)
    twin = Schema((Categorical(name="a", labels=("x", "y")), Categorical(name="b", labels=("x", "y"))))
    real, other = (rng.random(300) < p for p in (0.5, 0.8))
    rows = [np.column_stack([side, side]).astype(float) for side in (real, other)]
    columns, overall = measured(split(twin, rows[0], rows[0], rows[1]))
    assert overall["total_variation"].value == columns["a"].figures["total_variation"].value


def of(real, synthetic, column):
    empty = np.empty((0, 1))
    return bars(split(Schema((column,)), np.array(real), empty, np.array(synthetic)), column.name)


def test_bars_of_labels_by_hand():
    town = Categorical(name="town", labels=("a", "b", "rare", "invented"))
    found = of([0] * 10 + [1] * 20 + [2] * 9 + [3] + [NAN] * 2, [0, 3, NAN, NAN], town)
    shown = [(bar.kind, bar.label, bar.real, bar.synthetic) for bar in found]
    assert shown == [
        ("label", "b", 20 / 42, 0.0),
        ("label", "a", 10 / 42, 0.25),
        ("other", None, 10 / 42, 0.25),
        ("missing", None, 2 / 42, 0.5),
    ]


@pytest.mark.parametrize(("rare", "kinds"), [(0, ["label", "other"]), (1, ["label"]), (9, ["label"])])
def test_a_pool_of_few_people_is_not_drawn(rare, kinds):
    town = Categorical(name="town", labels=("a", "rare", "invented"))
    assert [bar.kind for bar in of([0] * 10 + [1] * rare, [0, 2], town)] == kinds


def test_whoever_may_see_rare_labels_sees_every_pool():
    town = Categorical(name="town", labels=tuple(f"town {place:02}" for place in range(MOST_LABELS + 1)))
    everyone = np.arange(MOST_LABELS + 1.0)[:, None]
    tables = split(Schema((town,)), everyone, np.empty((0, 1)), everyone)
    assert [bar.kind for bar in bars(tables, "town", rare=True)] == ["label"] * MOST_LABELS + ["other"]


def test_bars_of_numbers_by_hand():
    age = Numeric(name="age", low=0, high=99, decimals=0)
    found = of([1] * 10 + [2] * 15 + [3] * 9 + [4] * 9 + [99], [1, 3, 3, 50], age)
    shown = [(bar.low, bar.high, bar.real, bar.synthetic) for bar in found]
    assert shown == [(None, 2, 10 / 44, 0.25), (2, 3, 15 / 44, 0), (3, None, 19 / 44, 0.75)]


@given(tables=splits())
@settings(max_examples=60, deadline=None)
def test_bars_betray_nobody(tables):
    for column in tables.schema.columns:
        real = np.concatenate([tables.train.column(column.name), tables.control.column(column.name)])
        found = bars(tables, column.name)
        left_out = round((1 - sum(bar.real for bar in found)) * len(real))
        assert left_out == 0 or (isinstance(column, Categorical) and left_out < LEAST_SHARED)
        assert left_out or sum(bar.synthetic for bar in found) == pytest.approx(1)
        assert all(
            bar.real == 0 or round(bar.real * len(real)) >= LEAST_SHARED
            for bar in found
            if bar.kind == "other"
        )
        named = [bar for bar in found if bar.kind in {"label", "range"}]
        assert len(named) <= (MOST_LABELS if isinstance(column, Categorical) else MOST_RANGES)
        for bar in named:
            many = round(bar.real * len(real)) >= LEAST_SHARED
            assert many or (bar.kind == "range" and bar.low is None and bar.high is None)


def test_ranges_are_many_where_rows_are_many():
    income = Numeric(name="income", low=-1e6, high=1e6)
    rng = np.random.default_rng(0)
    found = of(rng.normal(0.3, 0.02, 5000), rng.normal(0.3, 0.02, 100), income)
    assert 10 <= len(found) <= MOST_RANGES
    edges = [bar.high for bar in found[:-1]]
    assert all(round(edge, 6) == pytest.approx(edge, abs=1e-12) for edge in edges), "round numbers"
