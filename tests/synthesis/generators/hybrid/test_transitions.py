"""From generalized values back to concrete ones: each transition by hand, and what all of them keep."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.anonymized_by_head import CLASS, JOBS, OTHERS, SCHEMA, TREE, drawn, generalized, people, table
from supplies.strategies import schemas, tables

from tabveil.core.table import Categorical, Numeric, Schema, Table, holds
from tabveil.errors import ParameterError, TabveilError
from tabveil.metrics.properties import measure
from tabveil.synthesis.anonymize import KAnonymity, anonymize
from tabveil.synthesis.anonymize.building import ColumnValues, read_entry
from tabveil.synthesis.generators.hybrid import TRANSITIONS, GeneralizedRows, read_transition
from tabveil.tables.reading import load_table

KINDS = [
    "uniform",
    "single",
    {"name": "single", "numbers": "median", "labels": "leaf"},
    "conditional",
    {"name": "conditional", "smoothed": True},
    {"name": "conditional", "joint": True},
    {"name": "conditional", "joint": True, "smoothed": True},
    "smoothed_conditional",
    {"name": "smoothed_conditional", "towards": "uniform", "support": 1, "bins": 3},
    "noisy_conditional",
    {"name": "noisy_conditional", "noise": "laplace", "epsilon": 50, "bins": 4},
]
"""Every transition, with the settings that change what it does."""
AGE, JOB, PAY, ILL = range(4)


def test_every_transition_is_tried():
    assert {each if isinstance(each, str) else each["name"] for each in KINDS} == set(TRANSITIONS)


# Single


def test_the_mean_of_an_interval_is_its_middle():
    found = drawn(read_transition("single"), people())
    assert found[:5, AGE].tolist() == [25] * 5  # as in the thesis: [20, 30) is 25
    assert found[5:, AGE].tolist() == [45] * 3
    assert found[:, PAY].tolist() == [1.5] * 5 + [5.5] * 3


def test_the_median_is_the_middle_one_of_the_values():
    found = drawn(read_transition({"name": "single", "numbers": "median"}), people())
    assert found[:5, AGE].tolist() == [24] * 5  # of 20 to 29, the lower of 24 and 25
    assert found[:5, PAY].tolist() == [1.5] * 5


def test_the_mode_is_the_most_frequent_label_and_a_leaf_the_first():
    mode = drawn(read_transition("single"), people())
    assert [JOBS[int(code)] for code in mode[:, JOB]] == ["nurse"] * 5 + ["professor"] * 3
    leaf = drawn(read_transition({"name": "single", "labels": "leaf"}), people())
    assert [JOBS[int(code)] for code in leaf[:, JOB]] == ["nurse"] * 5 + ["teacher"] * 3


def test_of_equally_frequent_labels_the_first_is_taken():
    rows = generalized([(20, 1, 1, 0), (21, 0, 1, 0)], {"job": TREE}, {"job": 1})
    assert drawn(read_transition("single"), rows)[:, JOB].tolist() == [0, 0]


def test_single_keeps_the_classes_as_large_as_they_were():
    made = Table(schema=SCHEMA, values=drawn(read_transition("single"), people()))
    assert measure(made, quasi_identifiers=["age", "job", "pay"]).k == 3


# Uniform


def test_uniform_draws_all_numbers_of_an_interval_and_no_others_equally_often():
    found = drawn(read_transition("uniform"), people(), n=2000)[:, AGE].reshape(2000, 8)
    values, counts = np.unique(found[:, :5], return_counts=True)
    assert values.tolist() == list(range(20, 30))
    np.testing.assert_allclose(counts / counts.sum(), 0.1, atol=0.01)
    assert set(found[:, 5:].ravel()) == set(range(40, 50))


def test_uniform_draws_real_numbers_evenly():
    pay = drawn(read_transition("uniform"), people(), n=2000)[:, PAY].reshape(2000, 8)[:, 0]
    assert 1 <= pay.min() < 1.01
    assert 1.99 < pay.max() < 2
    assert pay.mean() == pytest.approx(1.5, abs=0.02)
    assert len(np.unique(pay)) == 2000


def test_uniform_draws_every_leaf():
    found = drawn(read_transition("uniform"), people(), n=2000)[:, JOB].reshape(2000, 8)
    assert set(found[:, 0]) == {0, 1}
    assert (found[:, 0] == 0).mean() == pytest.approx(0.5, abs=0.04)
    assert set(found[:, 7]) == {2, 3}


def test_a_range_ends_where_the_column_ends():
    rows = generalized(
        [(80, 0, 1, 0), (79, 0, 1, 0), (18, 0, 1, 0)], {"age": {"intervals": [50]}}, {"age": 1}
    )
    found = drawn(read_transition("uniform"), rows, n=2000)[:, AGE].reshape(2000, 3)
    assert (found[:, 0].min(), found[:, 0].max()) == (50, 80)
    assert (found[:, 2].min(), found[:, 2].max()) == (18, 49)


def test_what_stands_for_everything_is_drawn_from_the_whole_column():
    rows = generalized(CLASS, {"age": {"intervals": [10]}, "pay": {"intervals": [1]}}, {"age": 2, "pay": 2})
    found = drawn(read_transition("uniform"), rows, n=2000)
    assert (found[:, AGE].min(), found[:, AGE].max()) == (18, 80)
    assert found[:, PAY].min() < 0.1
    assert found[:, PAY].max() > 9.9  # though nobody of these has more than 2


def test_uniform_asks_no_row():
    """Other people with the same generalized values are drawn alike, number by number."""
    hierarchies, levels = {"age": {"intervals": [10]}, "job": TREE}, {"age": 1, "job": 1}
    one = generalized([(21, 0, 1, 0), (41, 2, 1, 0)], hierarchies, levels)
    other = generalized([(29, 1, 1, 0), (48, 3, 1, 0)], hierarchies, levels)
    found = [drawn(read_transition("uniform"), rows, n=20) for rows in (one, other)]
    np.testing.assert_array_equal(*found)


# Conditional


def test_conditional_draws_the_values_of_the_class_as_often_as_they_occur():
    found = drawn(read_transition("conditional"), people(), n=3000).reshape(3000, 8, 4)[:, 0]
    values, counts = np.unique(found[:, AGE], return_counts=True)
    assert values.tolist() == [21, 22, 23, 28]
    np.testing.assert_allclose(counts / 3000, [0.4, 0.2, 0.2, 0.2], atol=0.03)  # as in the thesis
    assert (found[:, JOB] == 0).mean() == pytest.approx(0.8, abs=0.03)


def test_columns_are_drawn_by_themselves_unless_jointly():
    alone = drawn(read_transition("conditional"), people(), n=3000).reshape(3000, 8, 4)[:, 0]
    joint = drawn(read_transition({"name": "conditional", "joint": True}), people(), n=3000)
    joint = joint.reshape(3000, 8, 4)[:, 0]
    assert {tuple(row) for row in joint[:, :3]} == {row[:3] for row in CLASS}
    assert ((joint[:, AGE] == 23) == (joint[:, JOB] == 1)).all()
    assert ((alone[:, AGE] == 23) != (alone[:, JOB] == 1)).any()
    assert (joint[:, AGE] == 21).mean() == pytest.approx(0.4, abs=0.03)


def test_only_rows_that_take_part_are_drawn_from():
    rows = people()
    some = GeneralizedRows(found=rows.found, chosen=np.array([0, 1, 5, 6, 7]))
    assert set(drawn(read_transition("conditional"), some, n=50)[:, AGE].reshape(50, 5)[:, 0]) == {21}


def test_smoothed_numbers_vary_around_those_of_the_class_within_its_interval():
    found = drawn(read_transition({"name": "conditional", "smoothed": True}), people(), n=4000)
    age, pay = found.reshape(4000, 8, 4)[:, 0, AGE], found.reshape(4000, 8, 4)[:, 0, PAY]
    assert age.min() >= 20
    assert age.max() <= 29
    assert set(age) == set(range(20, 30))  # more than the four values of the class
    assert ((age >= 20) & (age <= 24)).mean() > 0.7  # and most of them where it has most
    assert pay.min() >= 1
    assert pay.max() < 2
    assert len(np.unique(pay)) > 3900


def test_a_class_that_does_not_vary_is_not_smoothed():
    rows = generalized([(25, 0, 1.5, 0)] * 4, {"age": {"intervals": [10]}}, {"age": 1})
    assert set(drawn(read_transition({"name": "conditional", "smoothed": True}), rows, n=50)[:, AGE]) == {25}


@pytest.mark.parametrize("kind", [each for each in KINDS if "conditional" in str(each)], ids=str)
def test_a_combination_that_is_no_class_is_drawn_evenly_column_by_column(kind):
    rows = people()
    invented = rows.table.take(np.array([0])).values.copy()
    invented[0, JOB] = rows.table.column("job")[-1]  # young, and in education: nobody is
    odd = Table(schema=rows.table.schema, values=invented)
    found = drawn(read_transition(kind), rows, n=2000, of=odd)
    assert set(found[:, AGE]) == set(range(20, 30))
    assert (found[:, JOB] == 2).mean() == pytest.approx(0.5, abs=0.05)


# Smoothed conditional


def shares(transition, rows, column, *, row=0, n=20_000):
    """How often each value of a column is drawn for one of the rows."""
    found = drawn(transition, rows, n=n, of=rows.table.take(np.array([row])))[:, column]
    return {float(value): float((found == value).mean()) for value in np.unique(found)}


def sectors(counts):
    """People in health by (young nurses, young doctors, old nurses, old doctors)."""
    rows = [(age, job, 1, 0) for (age, job), n in zip(AGES_AND_JOBS, counts, strict=True) for _ in range(n)]
    return generalized(rows, {"age": {"intervals": [10]}, "job": TREE}, {"age": 1, "job": 1})


AGES_AND_JOBS = [(25, 0), (25, 1), (45, 0), (45, 1)]


def test_a_class_is_mixed_with_all_rows_of_the_same_value_by_its_size():
    rows = sectors([8, 2, 1, 9])
    kind = {"name": "smoothed_conditional", "strength": 10, "support": 1}
    found = shares(read_transition(kind), rows, JOB)
    # Eight nurses of ten, and of all twenty nine: (8 + 10 · 9/20) / 20.
    assert found[0] == pytest.approx(12.5 / 20, abs=0.01)
    assert found[1] == pytest.approx(7.5 / 20, abs=0.01)


def test_towards_uniform_all_leaves_get_the_same():
    rows = sectors([8, 2, 1, 9])
    kind = {"name": "smoothed_conditional", "strength": 10, "support": 1, "towards": "uniform"}
    assert shares(read_transition(kind), rows, JOB)[0] == pytest.approx((8 + 5) / 20, abs=0.01)


def test_what_fewer_rows_have_than_must_support_it_counts_for_nothing():
    rows = sectors([8, 2, 1, 9])
    kind = {"name": "smoothed_conditional", "strength": 10, "support": 5}
    # Two doctors are too few in their class; eleven of all twenty are enough: (10 · 11/20) / 18.
    assert shares(read_transition(kind), rows, JOB)[1] == pytest.approx(5.5 / 18, abs=0.01)


def test_what_too_few_rows_have_anywhere_is_not_drawn_at_all():
    rows = sectors([8, 1, 9, 2])
    assert set(shares(read_transition({"name": "smoothed_conditional", "support": 5}), rows, JOB)) == {0.0}


def test_where_nothing_is_supported_all_is_drawn_evenly():
    rows = sectors([3, 1, 0, 0])
    found = shares(read_transition({"name": "smoothed_conditional", "support": 5}), rows, JOB)
    assert found[0] == pytest.approx(0.5, abs=0.02)


def test_between_its_bins_a_number_is_drawn_evenly():
    rows = generalized([(21, 0, 1, 0)] * 20, {"age": {"intervals": [10]}}, {"age": 1})
    kind = {"name": "smoothed_conditional", "bins": 2, "strength": 1e-9}
    found = shares(read_transition(kind), rows, AGE)
    assert sorted(found) == [20, 21, 22, 23, 24]  # the bin of 21, not 21 itself
    assert found[21] == pytest.approx(0.2, abs=0.02)


# Noisy conditional


def test_with_a_large_epsilon_a_noisy_histogram_is_that_of_the_class():
    rows = sectors([8, 2, 1, 9])
    found = shares(read_transition({"name": "noisy_conditional", "epsilon": 1e6}), rows, JOB)
    assert found[0] == pytest.approx(0.8, abs=0.01)


@pytest.mark.parametrize("noise", ["geometric", "laplace"])
def test_noise_is_as_large_as_epsilon_shared_by_the_columns_wants(noise):
    transition = read_transition({"name": "noisy_conditional", "epsilon": 1.0, "noise": noise})
    rows, rng = sectors([400, 100, 0, 0]), np.random.default_rng(0)
    found = []
    for _ in range(800):
        weights = transition.learn(rows, rng=rng).weights[1]
        found.append(weights[0] / weights[1])  # (400 + X) / (100 + Y)
    # Two columns, two counts moved in each: a quarter of ε. Var X = 2 a / (1 - a)² with a = e^-0.25, or
    # 2 / 0.25².
    a = np.exp(-0.25)
    variance = {"geometric": 2 * a / (1 - a) ** 2, "laplace": 2 / 0.25**2}[noise]
    expected = np.sqrt(variance * (1 / 100**2 + 400**2 / 100**4))
    assert np.std(found) == pytest.approx(expected, rel=0.15)
    assert np.mean(found) == pytest.approx(4, abs=0.1)


def test_geometric_noise_keeps_its_epsilon():
    """The chances of a count and of the one beside it differ by no more than e^ε."""
    transition = read_transition({"name": "noisy_conditional", "epsilon": 1.0})
    noise = transition._drawn(2_000_000, 0.7, rng=np.random.default_rng(0))
    counts = {value: int((noise == value).sum()) for value in range(-4, 5)}
    for value in range(-4, 4):
        ratio = counts[value + 1] / counts[value]
        assert max(ratio, 1 / ratio) == pytest.approx(np.exp(0.7), rel=0.06)


def test_a_noisy_transition_says_what_its_epsilon_covers():
    covers = read_transition({"name": "noisy_conditional", "epsilon": 0.5}).covers
    assert "(ε = 0.5)" in covers
    assert "does not cover which classes there are" in covers


def test_bins_that_nobody_is_in_get_noise_as_well():
    rows, rng = sectors([400, 0, 0, 0]), np.random.default_rng(0)
    transition = read_transition({"name": "noisy_conditional", "epsilon": 1.0})
    weights = [transition.learn(rows, rng=rng).weights[1][1] for _ in range(200)]
    assert 0.2 < np.mean(np.array(weights) > 0) < 0.6


# What all of them keep


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_columns_that_are_not_generalized_stay_as_they_are(kind):
    rows = generalized(CLASS, {"age": {"intervals": [10]}, "job": TREE}, {"age": 1, "job": 0})
    found = drawn(read_transition(kind), rows)
    np.testing.assert_array_equal(found[:, 1:], np.array(CLASS, dtype=float)[:, 1:])


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_missing_values_stay_missing_and_no_others_are_invented(kind):
    cells = [*OTHERS, *CLASS, (np.nan, 0, 1.5, 0), (24, np.nan, 1.5, 0), (25, 0, np.nan, np.nan)]
    hierarchies = {"age": {"intervals": [10]}, "job": TREE, "pay": {"intervals": [1]}}
    rows = generalized(cells, hierarchies, {"age": 1, "job": 1, "pay": 1})
    found = drawn(read_transition(kind), rows, n=20).reshape(20, 11, 4)
    for made in found:
        np.testing.assert_array_equal(np.isnan(made), np.isnan(np.array(cells)))


def test_where_missing_is_generalized_with_all_others_it_is_one_value_among_them():
    rows = generalized([(20, 0, 1, 0), (20, np.nan, 1, 0)], {"job": TREE}, {"job": 2})
    found = drawn(read_transition("uniform"), rows, n=4000)[:, JOB]
    assert np.isnan(found).mean() == pytest.approx(1 / 5, abs=0.02)  # four labels, and missing


@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_decimals_stay_decimals(kind):
    schema = Schema((Numeric(name="kg", low=50, high=99.9, decimals=1),))
    rows = table([[61.3], [64.9], [69.9], [71.2]], schema)
    found = drawn(read_transition(kind), generalized(rows, {"kg": {"intervals": [10]}}, {"kg": 1}), n=200)
    np.testing.assert_array_equal(found, np.round(found, 1))
    assert (found.reshape(200, 4)[:, :3] < 70).all()
    assert (found.reshape(200, 4)[:, 3] >= 70).all()


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("unit", ["D", "s"])
def test_dates_stay_on_their_grid_and_in_their_month(kind, unit):
    moments = np.array(["2020-02-03", "2020-02-17", "2020-03-31", "2021-01-01"], dtype=f"M8[{unit}]")
    if unit == "s":
        moments += np.array([1, 3600, 7199, 86399])
    loaded = load_table(pd.DataFrame({"seen": moments}))
    built = read_entry("seen", {"dates": ["month", "year"]}, None).build(
        ColumnValues.of(loaded.table, "seen", loaded.layout)
    )
    found = anonymize(loaded.table, [built], models=[KAnonymity(k=1)], levels={"seen": 1})
    rows = GeneralizedRows(found=found, chosen=np.arange(4))
    made = drawn(read_transition(kind), rows, n=300)[:, 0].reshape(300, 4)
    assert holds(loaded.table.schema["seen"], made.ravel())
    days = made / (1 if unit == "D" else 86400)
    months = days.astype("i8").astype("M8[D]").astype("M8[M]").astype(str)
    assert (months == ["2020-02", "2020-02", "2020-03", "2021-01"]).all()
    if kind == "uniform":
        assert len(np.unique(made[:, 0])) > 25  # any day of February, not those of the table


def test_leaves_of_a_file_that_the_table_lacks_are_not_drawn(tmp_path):
    (tmp_path / "job.csv").write_text("nurse;care;*\nmidwife;care;*\ndoctor;care;*\nteacher;school;*\n")
    rows = table([(20, 0, 1, 0), (21, 1, 1, 0), (22, 2, 1, 0)])
    built = read_entry("job", {"file": "job.csv"}, tmp_path).build(ColumnValues.of(rows, "job"))
    found = anonymize(rows, [built], models=[KAnonymity(k=1)], levels={"job": 1})
    taking_part = GeneralizedRows(found=found, chosen=np.arange(3))
    made = drawn(read_transition("uniform"), taking_part, n=200)[:, JOB].reshape(200, 3)
    assert set(made[:, 0]) == {0, 1}
    assert set(made[:, 2]) == {2}


def test_codes_that_are_numbers_are_drawn_from_what_was_listed(tmp_path):
    (tmp_path / "code.csv").write_text("1;low;*\n4;low;*\n9;high;*\n")
    rows = table([[1], [9], [4]], Schema((Numeric(name="code", low=1, high=9, decimals=0),)))
    built = read_entry("code", {"file": "code.csv"}, tmp_path).build(ColumnValues.of(rows, "code"))
    found = anonymize(rows, [built], models=[KAnonymity(k=1)], levels={"code": 2})
    made = drawn(read_transition("uniform"), GeneralizedRows(found=found, chosen=np.arange(3)), n=200)
    assert set(made.ravel()) == {1, 4, 9}


@pytest.mark.parametrize("kind", KINDS, ids=str)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables_come_back_in_their_schema(kind, data):
    rows = data.draw(tables(data.draw(schemas(max_columns=3)), max_rows=12))
    built = []
    for name in rows.schema.names:
        try:
            built.append(read_entry(name, "auto", None).build(ColumnValues.of(rows, name)))
        except TabveilError:  # a column without any value has no hierarchy
            return
    levels = {item.column: data.draw(st.integers(0, item.n_levels - 1)) for item in built}
    found = anonymize(rows, built, models=[KAnonymity(k=1)], levels=levels)
    taking_part = GeneralizedRows(found=found, chosen=np.arange(len(rows)))
    if all(level == 0 for level in levels.values()):
        return
    made = drawn(read_transition(kind), taking_part, n=3)
    for column, cells, known in zip(rows.schema.columns, made.T, rows.values.T, strict=True):
        assert holds(column, cells)
        if not np.isnan(known).any():
            assert not np.isnan(cells).any()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("unifrom", "transition: no transition 'unifrom'. Did you mean 'uniform'?"),
        ({"joint": True}, "transition: it must be a name, or a mapping with a name and its settings."),
        (5, "transition: it must be a name"),
        ({"name": "uniform", "joint": True}, "uniform: there are no settings, got 'joint'."),
        ({"name": "conditional", "jont": True}, "conditional: no setting 'jont'. Did you mean 'joint'?"),
        ({"name": "conditional", "joint": "maybe"}, "conditional: joint must be true or false, got 'maybe'."),
        ({"name": "single", "numbers": "mode"}, "single: numbers must be one of mean, median, got 'mode'."),
        ({"name": "single", "labels": "mean"}, "single: labels must be one of mode, leaf, got 'mean'."),
        ({"name": "smoothed_conditional", "strength": 0}, "strength must lie between 0 and inf, got 0"),
        ({"name": "smoothed_conditional", "support": 0}, "support must be >= 1, got 0"),
        ({"name": "smoothed_conditional", "bins": 0}, "bins must be >= 1, got 0"),
        ({"name": "noisy_conditional", "epsilon": -1}, "epsilon must lie between 0 and inf, got -1"),
        ({"name": "noisy_conditional", "noise": "gauss"}, "noise must be one of geometric, laplace"),
    ],
)
def test_transitions_that_are_none_are_refused(given, words):
    with pytest.raises(ParameterError) as caught:
        read_transition(given)
    assert words in str(caught.value)


def test_labels_of_a_generalized_column_are_those_of_its_hierarchy():
    assert isinstance(people().table.schema["age"], Categorical)
