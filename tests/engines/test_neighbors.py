"""Every road through the engine gives the brute-force answer, to the last bit and the last tie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies import brute_force
from supplies.spaces import KINDS, SHAPES, make_space, population
from supplies.strategies import schemas, tables

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.neighbors import Neighbors, Space
from tabveil.engines.neighbors.index import SortedRows
from tabveil.errors import ParameterError


def assert_same(found, expected):
    distance, index = expected
    np.testing.assert_array_equal(found.index, index)
    np.testing.assert_array_equal(found.distance, distance)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_hypothesis_tables_match_brute_force(data):
    schema = data.draw(schemas())
    reference, queries = data.draw(tables(schema)), data.draw(tables(schema))
    space = make_space(data.draw(st.sampled_from(KINDS)), reference)
    k = data.draw(st.integers(1, len(reference)))
    assert_same(
        Neighbors(space, reference).nearest(queries, k), brute_force.nearest(space, reference, queries, k)
    )


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_row_is_never_its_own_neighbor(data):
    schema = data.draw(schemas())
    reference = data.draw(tables(schema, min_rows=2))
    space = make_space(data.draw(st.sampled_from(KINDS)), reference)
    k = data.draw(st.integers(1, len(reference) - 1))
    expected = brute_force.nearest(space, reference, reference, k, skip_self=True)
    found = Neighbors(space, reference).nearest_other(k)
    assert_same(found, expected)
    assert not (found.index == np.arange(len(reference))[:, None]).any()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
@pytest.mark.parametrize("k", [1, 7])
def test_every_road_matches_brute_force(shape, kind, k):
    reference, queries = population(shape, 1500, seed=1), population(shape, 300, seed=2)
    space = make_space(kind, reference)
    assert_same(
        Neighbors(space, reference).nearest(queries, k), brute_force.nearest(space, reference, queries, k)
    )


def test_answers_do_not_depend_on_the_number_of_threads():
    reference, queries = (population((2, 1, 3, 20, 0.1), 3000, seed) for seed in (3, 4))
    space = Space.gower(reference.schema)
    answers = []
    for threads in (1, 2, 5):
        with workers.working(threads=threads):
            answers.append(Neighbors(space, reference).nearest(queries, 3))
    for other in answers[1:]:
        assert_same(other, (answers[0].distance, answers[0].index))


def test_hand_computed_gower():
    schema = Schema((Numeric(name="age", low=0, high=100), Categorical(name="sex", labels=("f", "m"))))
    reference = Table(schema=schema, values=np.array([[20, 0], [50, 1], [np.nan, 0]]))
    queries = Table(schema=schema, values=np.array([[40, 0], [np.nan, 1], [30, np.nan]]))
    found = Neighbors(Space.gower(schema), reference).nearest(queries, 3)
    # 40/f: |40-20|/100 = .2; .1 + 1 = 1.1; missing age = 1. Missing/m: 1 + 1; 1 + 0; 0 + 1 (a tie).
    np.testing.assert_allclose(found.distance * 2, [[0.2, 1.0, 1.1], [1.0, 1.0, 2.0], [1.1, 1.2, 2.0]])
    np.testing.assert_array_equal(found.index, [[0, 2, 1], [1, 2, 0], [0, 1, 2]])


def test_hand_computed_euclidean():
    schema = Schema((Numeric(name="x", low=0, high=4), Categorical(name="c", labels=("a", "b"))))
    train = Table(schema=schema, values=np.array([[0.0, 0], [4.0, 1]]))  # standard deviation 2
    query = Table(schema=schema, values=np.array([[2.0, 1.0]]))
    onehot = Neighbors(Space.euclidean(train), train).nearest(query, 2)
    np.testing.assert_allclose(onehot.distance, [[1.0, np.sqrt(2)]])
    np.testing.assert_array_equal(onehot.index, [[1, 0]])


def test_equal_gaps_are_ties_in_decimal_columns():
    schema = Schema((Numeric(name="x", low=0, high=0.7, decimals=1),))
    reference = Table(schema=schema, values=np.array([[0.3], [0.1]]))  # 0.3 - 0.2 != 0.2 - 0.1 in floats
    found = Neighbors(Space.gower(schema), reference).nearest(
        Table(schema=schema, values=np.array([[0.2]])), 2
    )
    assert found.distance[0, 0] == found.distance[0, 1]
    np.testing.assert_array_equal(found.index, [[0, 1]])


def test_column_order_does_not_move_a_bit():
    table, queries = population((2, 0, 6, 97, 0.1), 400, 5), population((2, 0, 6, 97, 0.1), 100, 6)
    names = table.schema.names[::-1]
    straight = Neighbors(Space.gower(table.schema), table).nearest(queries, 4)
    turned = Neighbors(Space.gower(table.schema.select(names)), table.select(names)).nearest(
        queries.select(names), 4
    )
    assert_same(turned, (straight.distance, straight.index))


def test_a_hash_collision_is_noticed(monkeypatch):
    from tabveil.engines.neighbors import index  # noqa: PLC0415 - patched here only

    honest = index.hashes
    monkeypatch.setattr(
        index, "hashes", lambda codes, bits, salt: honest(codes, bits, salt) >> (60 if salt < 2 else 0)
    )
    table = population((3, 0, 2, 100, 0.0), 200, seed=7)
    rows = SortedRows.of(index.encode_codes(Space.gower(table.schema), table, ()), table.values[:, 3:].copy())
    assert rows.salt >= 2
    assert len(rows.row_start) - 1 == len(np.unique(table.values, axis=0))


def test_progress_is_reported():
    heard = []
    table = population((0, 0, 2, 1000, 0.0), 2000, seed=8)
    with workers.working(listener=lambda doing, share: heard.append((doing, share))):
        Neighbors(Space.gower(table.schema), table).nearest(table)
    assert heard[-1] == ("comparing rows", 1.0)


def test_more_neighbors_than_rows_is_refused():
    table = population((1, 0, 1, 10, 0.0), 3, seed=9)
    engine = Neighbors(Space.gower(table.schema), table)
    with pytest.raises(ParameterError, match="reference rows must be >= 4, got 3"):
        engine.nearest(table, 4)
    with pytest.raises(ParameterError, match="n_neighbors must be >= 1, got 0"):
        engine.nearest(table, 0)
    with pytest.raises(ParameterError, match="reference rows must be >= 4, got 3"):
        engine.nearest_other(3)
