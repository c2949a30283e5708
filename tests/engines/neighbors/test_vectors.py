"""Vectors are searched by products of matrices, and the answers are those of every other road."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies import brute_force

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines import neighbors
from tabveil.engines.neighbors import Neighbors, Space, vectors
from tabveil.engines.neighbors.space import MeasuredColumn

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
    monkeypatch.setattr(neighbors, "VECTORS_AT_ONCE", 7)
    reference, queries = rows(500, 3, grid=1), rows(110, 4, grid=1)
    with workers.working(threads=threads):
        found = Neighbors(SPACE, reference).nearest(queries, 9)
    assert_same(found, brute_force.nearest(SPACE, reference, queries, 9))


@pytest.mark.parametrize("n", [127, 128, 129, 700])
def test_several_blocks_some_of_which_are_never_entered(n):
    far = rows(n, 9).values + 40 * np.arange(n)[:, None] // 150  # heaps that lie far apart
    reference, queries = table(far), table(far[::3] + 0.01 * rows(len(far[::3]), 10).values)
    for k in (1, 6):
        found = Neighbors(SPACE, reference).nearest(queries, k)
        assert_same(found, brute_force.nearest(SPACE, reference, queries, k))


@pytest.mark.parametrize("k", [1, 4, 11])
def test_copies_come_in_the_order_they_stand(k):
    """Corners of a cube around the middle are equally near to it, and copies of each stand far apart."""
    corners = np.zeros((40, len(WIDE)))
    corners[:, 3] = np.tile([1, -1, -1, 1, 2], 8)
    corners[:, 7] = np.tile([1, 1, -1, -1, 2], 8)
    reference, queries = table(np.random.default_rng(0).permutation(corners)), table(np.zeros((3, len(WIDE))))
    flat = Space(matched=(), measured=tuple(_light(column) for column in SPACE.measured), power=2)
    found = Neighbors(flat, reference).nearest(queries, k)
    assert_same(found, brute_force.nearest(flat, reference, queries, k))
    others = Neighbors(flat, reference).nearest_other(k)
    assert_same(others, brute_force.nearest(flat, reference, reference, k, skip_self=True))


def _light(column):
    return MeasuredColumn(name=column.name, weight=1.0, decimals=None)


def test_few_vectors_that_are_very_long_do_not_matter():
    values = rows(300, 11).values.copy()
    values[[5, 170]] *= 1e9
    reference, queries = table(values), table(values[::7] + 0.001)
    found = Neighbors(SPACE, reference).nearest(queries, 3)
    assert_same(found, brute_force.nearest(SPACE, reference, queries, 3))


def test_more_axes_than_are_turned(monkeypatch):
    monkeypatch.setattr(vectors, "MOST_TURNED", 19)
    reference, queries = rows(300, 12, grid=1), rows(50, 13, grid=1)
    found = Neighbors(SPACE, reference).nearest(queries, 3)
    assert_same(found, brute_force.nearest(SPACE, reference, queries, 3))


def test_nobody_is_asked_about():
    found = Neighbors(SPACE, rows(20, 14)).nearest(rows(0, 15), 2)
    assert found.index.shape == found.distance.shape == (0, 2)


def test_columns_without_weight_are_no_numbers_to_compare():
    measured = tuple(
        MeasuredColumn(name=column.name, weight=float(place < 5), decimals=None)
        for place, column in enumerate(SPACE.measured)
    )
    few = Space(matched=(), measured=measured, power=2)
    reference, queries = rows(60, 16), rows(20, 17)
    assert vectors.Vectors.of(few, reference) is None
    found = Neighbors(few, reference).nearest(queries, 2)
    assert_same(found, brute_force.nearest(few, reference, queries, 2))


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
