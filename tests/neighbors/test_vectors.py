"""Vectors are searched by products of matrices, and the answers are those of every other road."""

import brute_force
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil import workers
from tabveil.neighbors import Neighbors, Space, vectors
from tabveil.neighbors.space import MeasuredColumn
from tabveil.table import Categorical, Numeric, Schema, Table

WIDE = Schema(tuple(Numeric(name=f"x{i:02}", low=-9, high=9) for i in range(20)))
SPACE = Space(
    matched=(),
    measured=tuple(
        MeasuredColumn(name=name, weight=1 + position / 7, decimals=None)
        for position, name in enumerate(WIDE.names)
    ),
    power=2,
)


def table(values):
    return Table(schema=WIDE, values=values)


def rows(n, seed, *, grid=None, near=1.0):
    """Rows on a coarse grid have ties; rows near each other have products that hardly differ."""
    values = np.random.default_rng(seed).normal(size=(n, len(WIDE)))
    return table(np.round(values * grid) / grid if grid else 5 + near * values)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.index, expected[1])
    np.testing.assert_array_equal(found.distance, expected[0])


@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(1, 40), seed=st.integers(0, 99), grid=st.sampled_from([None, 1, 0.3]), k=st.integers(1, 40)
)
def test_any_vectors_match_brute_force(n, seed, grid, k):
    reference, queries, k = rows(n, seed, grid=grid), rows(30, seed + 1, grid=grid), min(k, n)
    assert vectors.Vectors.of(SPACE, reference) is not None
    found = Neighbors(SPACE, reference).nearest(queries, k)
    assert_same(found, brute_force.nearest(SPACE, reference, queries, k))


@pytest.mark.parametrize("near", [1.0, 1e-3, 1e-6, 0.0])
def test_rows_that_single_precision_cannot_tell_apart_are_told_apart(near):
    reference, queries = rows(60, 1, near=near), rows(40, 2, near=near)
    found = Neighbors(SPACE, reference).nearest(queries, 5)
    assert_same(found, brute_force.nearest(SPACE, reference, queries, 5))
    others = Neighbors(SPACE, reference).nearest_other(3)
    assert_same(others, brute_force.nearest(SPACE, reference, reference, 3, skip_self=True))


@pytest.mark.parametrize("threads", [1, 3])
def test_pieces_and_threads_do_not_matter(threads, monkeypatch):
    monkeypatch.setattr(vectors, "ROWS_AT_ONCE", 7)
    reference, queries = rows(50, 3, grid=1), rows(1100, 4, grid=1)
    with workers.working(threads=threads):
        found = Neighbors(SPACE, reference).nearest(queries, 9)
    assert_same(found, brute_force.nearest(SPACE, reference, queries, 9))


def test_what_is_no_vector_takes_another_road():
    missing = rows(30, 5).values.copy()
    missing[3, 4] = np.nan
    long = rows(30, 6).values.copy()
    long[2, 1] = 1e20
    for values in (missing, long):
        assert vectors.Vectors.of(SPACE, table(values)) is None
        for reference, queries in ((table(values), rows(20, 7)), (rows(20, 7), table(values))):
            found = Neighbors(SPACE, reference).nearest(queries, 2)
            assert_same(found, brute_force.nearest(SPACE, reference, queries, 2))
    few = Schema(WIDE.columns[: vectors.FEWEST_NUMBERS - 1])
    assert vectors.Vectors.of(Space.euclidean(table(missing).select(few.names)), rows(9, 8)) is None
    assert vectors.Vectors.of(Space.gower(WIDE), rows(9, 8)) is None
    labeled = Schema((*WIDE.columns, Categorical(name="z", labels=("a",))))
    with_labels = Table(schema=labeled, values=np.zeros((4, len(labeled))))
    assert vectors.Vectors.of(Space.euclidean(with_labels), with_labels) is None
