"""The local outlier factor: by hand, against scikit-learn, and where rows repeat."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.neighbors import LocalOutlierFactor
from supplies.strategies import schemas, tables

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.neighbors import Space, local_outlier_factors
from tabveil.errors import ParameterError


def numbers(values):
    values = np.asarray(values, dtype=float)
    names = [f"x{position}" for position in range(values.shape[1])]
    return Table(schema=Schema(tuple(Numeric(name=n, low=-1000, high=1000) for n in names)), values=values)


def gower(table, n_neighbors):
    return local_outlier_factors(Space.gower(table.schema), table, n_neighbors=n_neighbors)


def by_definition(points, n_neighbors):
    """Every copy is a row; neighborhoods reach to the k-th distinct row. Distances must not be tied."""
    n = len(points)
    distance = np.abs(points[:, None] - points[None, :]).sum(axis=2)
    last = [np.unique(row[row > 0])[n_neighbors - 1] for row in distance]
    around = [[j for j in range(n) if j != i and distance[i, j] <= last[i]] for i in range(n)]
    density = [1 / np.mean([max(distance[i, j], last[j]) for j in around[i]]) for i in range(n)]
    return np.array([np.mean([density[j] for j in around[i]]) / density[i] for i in range(n)])


@pytest.mark.parametrize("n_neighbors", [1, 5, 20])
def test_it_is_scikit_learn_s_where_no_row_repeats(n_neighbors):
    rng = np.random.default_rng(n_neighbors)
    values = np.concatenate(
        [rng.normal(size=(200, 3)), rng.normal(5, 0.1, (50, 3)), rng.normal(0, 9, (8, 3))]
    )
    table = numbers(values)
    expected = LocalOutlierFactor(n_neighbors=n_neighbors).fit(values / values.std(axis=0))
    found = local_outlier_factors(Space.euclidean(table), table, n_neighbors=n_neighbors)
    assert found == pytest.approx(-expected.negative_outlier_factor_, rel=1e-6)


def test_copies_count_in_neighborhoods_but_do_not_fill_them():
    rng = np.random.default_rng(3)
    distinct = rng.normal(size=(30, 2))
    values = np.repeat(distinct, rng.integers(1, 9, 30), axis=0)
    assert gower(numbers(values), 4) == pytest.approx(by_definition(values, 4))


def test_three_people_by_hand():
    # 0 twice, 1 and 3. Nearest other: 1, 0, 1. Reach of 0 to itself and to 1: 1, 1; of 1 to both 0: 1, 1;
    # of 3 to 1: 2. Densities 1, 1, 1 / 2, so 3 is twice as sparse as its neighbor.
    assert gower(numbers([[0], [3], [0], [1]]), 1) == pytest.approx([1, 2, 1, 1])


def test_who_differs_a_little_from_what_many_are_is_no_outlier():
    crowd = np.zeros((500, 1))
    others = np.arange(1.0, 30.0)[:, None]
    factors = gower(numbers(np.concatenate([crowd, others, [[900.0]]])), 5)
    assert factors[:-1].max() < 3
    assert factors[-1] == factors.max() > 50


def test_a_lonely_person_is_found_among_categories_and_missing_values():
    schema = Schema((Categorical(name="town", labels=tuple("abc")), Numeric(name="age", low=0, high=100)))
    rng = np.random.default_rng(0)
    values = np.column_stack([np.zeros(100), rng.uniform(30, 40, 100)])
    table = Table(schema=schema, values=np.concatenate([values, [[2, np.nan]]]))
    assert np.argmax(gower(table, 10)) == 100


def test_more_neighbors_than_there_are_is_all_of_them():
    table = numbers([[0], [1], [2], [9]])
    assert np.array_equal(gower(table, 3), gower(table, 50))


@pytest.mark.parametrize("values", [[[1]], [[1], [1], [1]], [[np.nan], [np.nan]], np.empty((0, 1))])
def test_nobody_is_an_outlier_among_equals(values):
    assert gower(numbers(values), 20).tolist() == [1] * len(values)


@given(data=st.data(), n_neighbors=st.integers(1, 30), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_has_factors_that_no_order_changes(data, n_neighbors, seed):
    table = data.draw(tables(data.draw(schemas())))
    factors = gower(table, n_neighbors)
    assert np.isfinite(factors).all()
    assert (factors > 0).all()
    order = np.random.default_rng(seed).permutation(len(table))
    assert gower(table.take(order), n_neighbors) == pytest.approx(factors[order], rel=1e-12)
    assert gower(table.select(table.schema.names[::-1]), n_neighbors) == pytest.approx(factors, rel=1e-12)
    for number in table.row_hash():
        assert len(np.unique(factors[table.row_hash() == number])) == 1


def test_a_neighborhood_has_somebody():
    with pytest.raises(ParameterError, match=r"^local_outlier_factors: n_neighbors must be >= 1, got 0\.$"):
        gower(numbers([[0], [1]]), 0)
