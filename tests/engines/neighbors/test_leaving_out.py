"""One search without each column finds what a search of its own would, to the last bit and the last tie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies.spaces import KINDS as ALL_KINDS
from supplies.spaces import SHAPES, make_space, population
from supplies.strategies import schemas, tables

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.neighbors import Neighbors, NeighborsWithout, Space
from tabveil.errors import ParameterError

KINDS = [kind for kind in ALL_KINDS if kind != "tolerant"]  # which has a most that a number may cost


def rest(schema, name):
    return [other for other in schema.names if other != name]


def assert_like_single_searches(kind, reference, queries, seed):
    """Compare with a search for each column left out, among shuffled rows, and among some of the rows."""
    rng = np.random.default_rng(seed)
    names = reference.schema.names
    spaces = [make_space(kind, reference.select(rest(reference.schema, name))) for name in names]
    engine = NeighborsWithout(make_space(kind, reference), reference, spaces)
    orders = [rng.permutation(len(reference)) for _ in names]
    some = [rng.random(len(reference)) < 0.5 for _ in names]
    for counted in some:
        counted[rng.integers(len(reference))] = True
    found, among = engine.nearest(queries), engine.nearest(queries, some).distance
    index = found.first(orders)
    for position, name in enumerate(names):
        others = rest(reference.schema, name)
        rows, asked = reference.select(others), queries.select(others)
        alone = Neighbors(spaces[position], rows.take(orders[position])).nearest(asked)
        np.testing.assert_array_equal(found.distance[:, position], alone.distance[:, 0])
        np.testing.assert_array_equal(index[:, position], alone.index[:, 0])
        few = Neighbors(spaces[position], rows.take(np.flatnonzero(some[position]))).nearest(asked)
        np.testing.assert_array_equal(among[:, position], few.distance[:, 0])


def assert_only_what_is_sought_counts(kind, reference, queries, seed):
    """Compare with a search in which all is sought: of one distinct row, its copies share what is sought."""
    rng = np.random.default_rng(seed)
    names = reference.schema.names
    spaces = [make_space(kind, reference.select(rest(reference.schema, name))) for name in names]
    engine = NeighborsWithout(make_space(kind, reference), reference, spaces)
    some = [rng.random(len(reference)) < 0.5 for _ in names]
    for counted in some:
        counted[rng.integers(len(reference))] = True
    orders = [rng.permutation(len(reference)) for _ in names]
    sought = rng.random((len(queries), len(names))) < 0.3
    for among in (None, some):
        everything, part = engine.nearest(queries, among), engine.nearest(queries, among, sought)
        np.testing.assert_array_equal(part.distance[sought], everything.distance[sought])
        if among is None:
            np.testing.assert_array_equal(part.first(orders)[sought], everything.first(orders)[sought])


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_is_not_sought_moves_no_other_answer(data):
    schema = data.draw(schemas().filter(lambda schema: len(schema) > 1))
    reference, queries = data.draw(tables(schema)), data.draw(tables(schema))
    assert_only_what_is_sought_counts(data.draw(st.sampled_from(KINDS)), reference, queries, seed=0)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_sought_moves_no_answer_among_many_rows(kind):
    reference, queries = (population((3, 2, 4, 20, 0.1), 1500, seed) for seed in (1, 2))
    assert_only_what_is_sought_counts(kind, reference, queries.take(np.arange(200)), seed=3)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_hypothesis_tables_match_single_searches(data):
    schema = data.draw(schemas().filter(lambda schema: len(schema) > 1))
    reference, queries = data.draw(tables(schema)), data.draw(tables(schema))
    assert_like_single_searches(data.draw(st.sampled_from(KINDS)), reference, queries, seed=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "shape", [shape for name, shape in SHAPES.items() if "hundred" not in name], ids=lambda s: str(s[:3])
)
def test_every_road_matches_single_searches(shape, kind):
    reference, queries = population(shape, 1500, seed=1), population(shape, 200, seed=2)
    assert_like_single_searches(kind, reference, queries, seed=3)


def test_hand_computed():
    schema = Schema((Numeric(name="age", low=0, high=100), Categorical(name="sex", labels=("f", "m"))))
    reference = Table(schema=schema, values=np.array([[20, 0], [50, 1], [np.nan, 0]]))
    queries = Table(schema=schema, values=np.array([[40, 0], [np.nan, 1]]))
    age, sex = (Space.gower(schema.select([name])) for name in schema.names)
    found = NeighborsWithout(Space.gower(schema), reference, [age, sex, Space.gower(schema)]).nearest(queries)
    # 40/f: age alone .1 (of 50), sex alone 0 (of two rows), both (.2 + 0) / 2. Missing/m: 0, 0, (1 + 0) / 2.
    np.testing.assert_allclose(found.distance, [[0.1, 0.0, 0.1], [0.0, 0.0, 0.5]])
    straight, turned = [np.arange(3)] * 3, [np.array([2, 1, 0])] * 3
    np.testing.assert_array_equal(found.first(straight), [[1, 0, 0], [2, 1, 1]])
    np.testing.assert_array_equal(found.first(turned), [[1, 0, 2], [0, 1, 0]])  # places in the order given


def test_a_column_that_only_queries_miss_can_be_left_out():
    schema = Schema(tuple(Numeric(name=name, low=0, high=10) for name in ("x", "y")))
    reference = Table(schema=schema, values=np.array([[1.0, 1.0], [5.0, 5.0]]))
    queries = Table(schema=schema, values=np.array([[np.nan, 4.0]]))
    parts = [Space.gower(schema.select([name])) for name in ("x", "y")]
    found = NeighborsWithout(Space.gower(schema), reference, parts).nearest(queries)
    np.testing.assert_allclose(found.distance, [[1.0, 0.1]])


def test_equal_rows_answer_by_their_first_copy():
    schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in ("x", "y")))
    reference = Table(schema=schema, values=np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]))
    parts = [Space.gower(schema.select(["y"]))]
    found = NeighborsWithout(Space.gower(schema), reference, parts).nearest(reference)
    np.testing.assert_array_equal(found.first([np.array([2, 0, 1])]), [[1], [0], [0]])


def test_answers_do_not_depend_on_the_number_of_threads():
    reference, queries = (population((2, 1, 3, 20, 0.1), 2000, seed) for seed in (3, 4))
    spaces = [Space.gower(reference.schema.select(rest(reference.schema, "m0")))] * 2
    orders = [np.arange(2000), np.arange(2000)[::-1]]
    answers = []
    for threads in (1, 3):
        with workers.working(threads=threads):
            found = NeighborsWithout(Space.gower(reference.schema), reference, spaces).nearest(queries)
            answers.append((found.distance, found.first(orders)))
    np.testing.assert_array_equal(answers[0][0], answers[1][0])
    np.testing.assert_array_equal(answers[0][1], answers[1][1])


@pytest.mark.parametrize("part", [["x"], ["x", "y", "z", "v"]])
def test_a_space_lacks_one_column_at_most(part):
    schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in "vxyz"))
    table = Table(schema=schema, values=np.zeros((2, 4)))
    with pytest.raises(ParameterError, match="lack one column"):
        NeighborsWithout(Space.gower(schema.select("xyz")), table, [Space.gower(schema.select(part))])


def test_a_space_with_a_most_is_refused():
    schema = Schema(tuple(Numeric(name=name, low=0, high=1) for name in "xyz"))
    table = Table(schema=schema, values=np.zeros((2, 3)))
    space, part = (Space.tolerant(table.select(names), 0.4) for names in ("xyz", "xy"))
    with pytest.raises(ParameterError, match="lack one column"):
        NeighborsWithout(space, table, [part])
