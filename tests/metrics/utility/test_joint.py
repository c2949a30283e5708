"""Associations by hand and beside SciPy, with their influences; and the mean difference of all pairs."""

import math

import numpy as np
import pytest
from scipy import stats
from supplies.populations import SCHEMAS, population, rows, split

from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.joint import Cells, associate, relate

NAN = np.nan


def numbers(*cells):
    return Cells(cells=np.array(cells, dtype=float))


def codes(*cells, n_levels=None):
    return Cells(cells=np.array(cells), n_levels=n_levels or max(cells) + 1)


def related(tables):
    return relate(ComparedTables.of(tables, rng=np.random.default_rng(0)), rng=np.random.default_rng(0))


def test_pearson_by_hand():
    assert associate(numbers(1, 2, 3), numbers(2, 4, 6)).value == pytest.approx(1)
    assert associate(numbers(1, 2, 3), numbers(3, 2, 1)).value == pytest.approx(-1)
    # only the rows that have both: (1, 1), (2, 3), (3, 2)
    assert associate(numbers(1, 2, 3, 9, NAN), numbers(1, 3, 2, NAN, 9)).value == pytest.approx(0.5)


def test_correlation_ratio_by_hand():
    # groups 1 2 3 and 5 6 7: within 4 of a total of 28, so 1 - 1/7 · 5/4
    found = associate(numbers(1, 2, 3, 5, 6, 7, NAN), codes(0, 0, 0, 1, 1, 1, 1))
    assert found.value == pytest.approx(math.sqrt(1 - 5 / 28))
    assert associate(numbers(1, 1, 5, 5), codes(0, 0, 1, 1)).value == 1
    assert associate(numbers(1, 2, 1, 2), codes(0, 0, 1, 1)).value == 0


def test_cramers_v_by_hand():
    assert associate(codes(0, 0, 1, 1, 2, 2), codes(1, 1, 2, 2, 0, 0)).value == pytest.approx(1)
    assert associate(codes(0, 0, 1, 1), codes(0, 1, 0, 1)).value == 0
    # 8 of 10 on the diagonal: phi² = 0.36, less 1/9, over 2 - 1/9 - 1
    pairs = codes(*[0] * 5, *[1] * 5), codes(0, 0, 0, 0, 1, 1, 1, 1, 1, 0)
    assert associate(*pairs).value == pytest.approx(math.sqrt((0.36 - 1 / 9) / (8 / 9)))


def test_cramers_v_beside_scipy():
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 20_000)
    b = np.where(rng.random(20_000) < 0.5, a % 3, rng.integers(0, 3, 20_000))
    table = np.bincount(a * 3 + b, minlength=12).reshape(4, 3)
    assert associate(codes(*a), codes(*b)).value == pytest.approx(
        stats.contingency.association(table), abs=1e-3
    )


@pytest.mark.parametrize("pair", [(numbers(1, 1, 1), codes(0, 1, 2)), (numbers(NAN, NAN), numbers(1, 2))])
def test_a_column_that_does_not_vary_goes_with_nothing(pair):
    assert associate(*pair).value == 0
    assert associate(*pair[::-1]).variance == 0


def test_chance_is_taken_off():
    rng = np.random.default_rng(1)
    labels = [codes(*rng.integers(0, 10, 200), n_levels=10) for _ in range(2)]
    income = numbers(*rng.normal(size=200))
    assert associate(*labels).value < 0.15  # uncorrected: about sqrt(81 / 200 / 9) = 0.21
    assert associate(income, labels[0]).value < 0.2


def pairs_of_columns(n, rng):
    age = rng.normal(size=n)
    income = age + rng.normal(size=n)
    income[rng.random(n) < 0.1] = NAN
    region = rng.integers(0, 3, n)
    job = np.where(rng.random(n) < 0.5, region, rng.integers(0, 4, n))
    wealth = region + rng.normal(size=n)
    wealth[rng.random(n) < 0.2] = NAN
    return {
        "pearson": (Cells(cells=age), Cells(cells=income)),
        "ratio": (Cells(cells=wealth), Cells(cells=region, n_levels=3)),
        "cramer": (Cells(cells=region, n_levels=3), Cells(cells=job, n_levels=4)),
    }


@pytest.mark.parametrize("kind", ["pearson", "ratio", "cramer"])
def test_the_variance_is_that_of_repeated_samples(kind):
    rng = np.random.default_rng(3)
    found = [associate(*pairs_of_columns(400, rng)[kind]) for _ in range(400)]
    observed = np.var([item.value for item in found])
    assert np.mean([item.variance for item in found]) == pytest.approx(observed, rel=0.25)
    assert all(abs(item.influence.mean()) < 1e-9 for item in found)


def test_matrices_and_their_mean_difference_by_hand():
    schema = Schema((Numeric(name="b", low=0, high=9), Numeric(name="a", low=0, high=9)))
    tables = split(schema, [[1, 1], [2, 2], [3, 3]], [[1, 1], [2, 3], [3, 2]], [[1, 3], [2, 2], [3, 1]])
    found = related(tables)
    assert found.associations.names == ("a", "b")
    assert np.array(found.associations.real) == pytest.approx(np.array([[1, 0.5], [0.5, 1]]))
    assert np.array(found.associations.synthetic) == pytest.approx(np.array([[1, -1], [-1, 1]]))
    assert found.figure.value.value == pytest.approx(1.5)
    assert found.figure.reference.value == pytest.approx(0.5)


def test_missing_labels_are_a_label():
    schema = Schema((Categorical(name="a", labels=("x",)), Categorical(name="b", labels=("x", "y"))))
    table = [[0, 0], [NAN, 1]] * 10  # a is missing exactly where b is y
    found = related(split(schema, table, table, table))
    assert found.associations.real[0][1] == pytest.approx(1)


def test_levels_that_only_one_table_has_do_not_move_the_others():
    schema = Schema((Categorical(name="a", labels=tuple("xyz")), Categorical(name="b", labels=tuple("xyz"))))
    real = [[0, 0], [1, 1]] * 50
    found = related(split(schema, real, real, [*real, [2, 2]]))
    assert found.figure.value.value < 0.1


def test_fresh_rows_cover_the_reference_and_shuffled_columns_do_not():
    rng = np.random.default_rng(0)
    held = []
    for seed in range(30):
        figure = related(population("mixed", (300, 300, 300), seed=seed)).figure
        held.append(figure.value.low == 0)
        assert abs(figure.value.value - figure.reference.value) < 0.08
    assert np.mean(held) >= 0.93
    train, control, synthetic = (rows("mixed", 2000, rng) for _ in range(3))
    broken = np.column_stack([rng.permutation(column) for column in synthetic.T])
    figure = related(split(SCHEMAS["mixed"], train, control, broken)).figure
    assert figure.value.low > figure.reference.value


def test_one_column_has_no_pairs():
    schema = Schema((Numeric(name="a", low=0, high=9),))
    with pytest.raises(NotApplicable, match="two columns"):
        related(split(schema, [[1]], [[1]], [[1]]))


def test_of_many_columns_the_most_changed_are_listed(monkeypatch):
    monkeypatch.setattr("tabveil.metrics.utility.joint.MOST_SHOWN", 2)
    schema = Schema(tuple(Numeric(name=name, low=0, high=9) for name in "abc"))
    real = [[1, 1, 1], [2, 2, 3], [3, 3, 2]]  # b follows a, c half
    found = related(split(schema, real, real, [[1, 1, 3], [2, 2, 2], [3, 3, 1]]))
    # a-b stays 1; a-c and b-c go from 0.5 to -1: c changes by 3, a and b by 1.5
    assert found.associations.names == ("a", "c")
    assert np.array(found.associations.synthetic) == pytest.approx(np.array([[1, -1], [-1, 1]]))
    assert found.figure.value.value == pytest.approx(1.0)  # of all three pairs
    assert "2 of 3 columns" in found.notes[0]


def test_many_columns_are_compared_on_fewer_rows(monkeypatch):
    monkeypatch.setattr("tabveil.metrics.utility.joint.MOST_CELLS", 0)
    monkeypatch.setattr("tabveil.metrics.utility.joint.LEAST_SAMPLED", 50)
    assert related(population("normal", (100, 100, 100))).figure.value.n == 50
