"""A search made once answers whoever asks the same, as if each had searched alone."""

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.core.sampling import in_order
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.core.workers import sharing
from tabveil.engines.neighbors import NearPeople, Neighbors, Space, shared, to_others
from tabveil.engines.neighbors.shared import Search


def table(rng, n, *, n_numbers=2, people=None):
    """Rows of few values, so that many are equal and many equally near."""
    columns = [Categorical(name=f"label {i}", labels=("a", "b", "c")) for i in range(2)]
    columns += [Numeric(name=f"number {i}", low=0, high=9, decimals=0) for i in range(n_numbers)]
    values = np.column_stack(
        [rng.integers(0, 3, (n, 2)).astype(float), rng.integers(0, 10, (n, n_numbers)).astype(float)]
    )
    values[rng.random(values.shape) < 0.05] = np.nan
    whose = None if people is None else rng.integers(0, people, n)
    return Table(schema=Schema(tuple(columns)), values=values, people=whose)


@pytest.fixture
def searched(monkeypatch):
    """Every search that is made: how many rows, for how many, how many neighbors."""
    made = []
    for kind in (Neighbors, NearPeople):

        def nearest(self, queries, k=1, search=kind.nearest):
            made.append((len(queries), k))
            return search(self, queries, k)

        monkeypatch.setattr(kind, "nearest", nearest)
    return made


def assert_same(found, alone):
    np.testing.assert_array_equal(found.distance, alone.distance)
    np.testing.assert_array_equal(found.index, alone.index)


SPACES = ["gower", "euclidean", "tolerant"]


def space_of(name, reference):
    if name == "tolerant":
        return Space.tolerant(reference, 0.4)
    return Space.euclidean(reference) if name == "euclidean" else Space.gower(reference.schema)


@pytest.mark.parametrize("name", SPACES)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 12), fewer=st.integers(1, 12))
@settings(max_examples=25, deadline=None)
def test_the_first_of_more_neighbors_are_the_neighbors(name, seed, k, fewer):
    rng = np.random.default_rng(seed)
    reference, queries = (table(rng, int(rng.integers(12, 200))) for _ in range(2))
    space, fewer = space_of(name, reference), min(k, fewer)
    whole, first = (Neighbors(space, reference).nearest(queries, n) for n in (k, fewer))
    np.testing.assert_array_equal(whole.distance[:, :fewer], first.distance)
    np.testing.assert_array_equal(whole.index[:, :fewer], first.index)


@given(seed=st.integers(0, 10_000))
@settings(max_examples=25, deadline=None)
def test_people_are_those_of_a_search_alone_after_a_search_for_more(seed):
    rng = np.random.default_rng(seed)
    reference, queries = in_order(table(rng, 150, people=20)).table, table(rng, 60)
    space = Space.gower(reference.schema)
    with sharing(seed=0):
        for k in (4, 3, 1):
            asked = Search(space=space, reference=reference, queries=queries, n_neighbors=k, by_person=True)
            assert_same(shared.nearest(asked), NearPeople(space, reference).nearest(queries, k))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("ks", [(1, 5, 2), (5, 2, 1), (2, 2, 2)])
def test_answers_are_those_of_a_search_alone_whoever_asks_first(name, ks):
    rng = np.random.default_rng(3)
    reference, queries = in_order(table(rng, 300)).table, table(rng, 200)
    space = space_of(name, reference)
    shuffled = queries.take(rng.permutation(len(queries)))
    with sharing(seed=0):
        for k in ks:
            for asked in (queries, shuffled, in_order(queries).table, reference):
                found = shared.nearest(Search(space=space, reference=reference, queries=asked, n_neighbors=k))
                assert_same(found, Neighbors(space, reference).nearest(asked, k))


def test_a_question_is_searched_for_once_and_fewer_neighbors_not_again(searched):
    rng = np.random.default_rng(4)
    train, release = (in_order(table(rng, 100)).table for _ in range(2))
    space = Space.gower(train.schema)
    again = release.take(rng.permutation(len(release)))  # other tables of the same rows
    with sharing(seed=0):
        shared.expect([Search(space=space, reference=train, queries=again, n_neighbors=5)])
        for queries, k in ((release, 1), (again, 5), (release, 2)):
            shared.nearest(Search(space=space, reference=train, queries=queries, n_neighbors=k))
        some = Search(space=space, reference=train, queries=release, n_neighbors=2)
        shared.nearest_to_some(some, np.array([3, 1]))
        shared.distances(space, train, release)
    assert searched == [(100, 5)]


def test_other_rows_columns_values_and_people_are_other_questions(searched):
    rng = np.random.default_rng(5)
    rows = in_order(table(rng, 80, people=9)).table
    other = rows.values.copy()
    other[7, 2] = 9 - other[7, 2] if np.isfinite(other[7, 2]) else 1.0
    changed = in_order(Table(schema=rows.schema, values=other)).table
    fewer = rows.select(rows.schema.names[:3])
    gower = Space.gower(rows.schema)
    dealt = Table(schema=rows.schema, values=rows.values, people=np.roll(rows.people, 1))
    asked = [
        Search(space=gower, reference=rows, queries=rows),
        Search(space=gower, reference=changed, queries=rows),
        Search(space=gower, reference=rows, queries=changed),
        Search(space=Space.tolerant(rows, 0.4), reference=rows, queries=rows),
        Search(space=Space.gower(fewer.schema), reference=in_order(fewer).table, queries=fewer),
        Search(space=gower, reference=rows, queries=rows, n_neighbors=2, by_person=True),
        Search(space=gower, reference=dealt, queries=rows, n_neighbors=2, by_person=True),
    ]
    with sharing(seed=0):
        for search in asked * 2:
            assert_same(shared.nearest(search), search.alone())


def test_some_of_many_rows_are_searched_for_alone_where_nobody_asks_for_all(searched):
    rng = np.random.default_rng(6)
    train, release = (in_order(table(rng, 100)).table for _ in range(2))
    search = Search(space=Space.gower(train.schema), reference=train, queries=release, n_neighbors=2)
    some = np.array([50, 3, 3, 99])
    with sharing(seed=0):
        found = shared.nearest_to_some(search, some)
    assert searched == [(4, 2)]
    assert_same(found, search.engine(train).nearest(release.take(some), 2))


def test_rows_in_an_order_of_their_own_keep_their_ties(searched):
    rng = np.random.default_rng(7)
    ordered = in_order(table(rng, 200)).table
    reference = ordered.take(rng.permutation(len(ordered)))
    queries, space = table(rng, 50), Space.gower(ordered.schema)
    with sharing(seed=0):
        search = Search(space=space, reference=reference, queries=queries, n_neighbors=3)
        for _ in range(2):
            assert_same(shared.nearest(search), Neighbors(space, reference).nearest(queries, 3))
        distance = shared.distances(space, reference, queries, 3)  # distances know no order
        np.testing.assert_array_equal(distance, Neighbors(space, reference).nearest(queries, 3).distance)
        shared.distances(space, ordered, queries, 2)
    assert searched.count((50, 3)) == 6  # two alone beside their oracles, one more and its oracle
    assert (50, 2) not in searched


@pytest.mark.parametrize("people", [None, 30])
def test_the_nearest_others_are_those_of_a_search_alone(people):
    rng = np.random.default_rng(8)
    rows = table(rng, 200, people=people)
    ordered, space = in_order(rows).table, Space.gower(rows.schema)
    engine = Neighbors(space, ordered) if people is None else NearPeople(space, ordered)
    with sharing(seed=0):
        found = shared.nearest_other(space, ordered, 2, by_person=people is not None)
        crowd = shared.distances_to_others(space, rows)
    assert_same(found, engine.nearest_other(2))
    np.testing.assert_array_equal(crowd, to_others(space, rows))


def test_answers_that_were_not_asked_for_longest_are_let_go(searched, monkeypatch):
    monkeypatch.setattr(shared, "MOST_CELLS", 450)
    rng = np.random.default_rng(9)
    reference = in_order(table(rng, 50)).table
    space = Space.gower(reference.schema)
    asked = [table(rng, 100) for _ in range(3)]  # 200 cells each
    with sharing(seed=0):
        for place in (0, 1, 0, 2, 0, 1):
            shared.distances(space, reference, asked[place])
    assert len(searched) == 4  # the second was let go for the third


def test_nothing_is_kept_where_nothing_is_shared(searched):
    rng = np.random.default_rng(10)
    rows = in_order(table(rng, 50)).table
    for _ in range(2):
        shared.nearest(Search(space=Space.gower(rows.schema), reference=rows, queries=rows))
    assert len(searched) == 2


def test_an_answer_cannot_be_changed_by_who_asked():
    rows = in_order(table(np.random.default_rng(11), 50)).table
    with sharing(seed=0):
        found = shared.nearest(Search(space=Space.gower(rows.schema), reference=rows, queries=rows))
        with pytest.raises(ValueError, match="read-only"):
            found.distance[0, 0] = 1.0


def test_threads_that_ask_the_same_at_once_search_once(searched):
    rng = np.random.default_rng(12)
    reference, queries = in_order(table(rng, 400)).table, table(rng, 400)
    search = Search(space=Space.gower(reference.schema), reference=reference, queries=queries, n_neighbors=2)
    with sharing(seed=0):
        shared.expect([search])
        with ThreadPoolExecutor(8) as pool:
            contexts = [copy_context() for _ in range(16)]
            found = list(pool.map(lambda context: context.run(shared.nearest, search), contexts))
    assert searched == [(400, 2)]
    for answer in found:
        np.testing.assert_array_equal(answer.index, found[0].index)
