"""The tree over groups lists exactly the groups that differ in so many columns, whatever the codes are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.engines.neighbors.group_count_kernels import TRIALS
from tabveil.engines.neighbors.group_listing_kernels import groups_at, start_levels
from tabveil.engines.neighbors.group_tree import MOST_BITS, GroupTree
from tabveil.engines.neighbors.group_tree_kernels import TILE, gather_level, list_level, start_listing


def levels(tree, query, most):
    """List the groups of every level up to ``most``, as sets."""
    marks, waiting, listed, counts, *_ = tree.room()
    found = np.empty(tree.codes.shape[1], dtype=np.int64)
    start_listing(tree.arrays, query, marks, waiting, listed)
    each = []
    for level in range(most + 1):
        list_level(tree.arrays, query, marks, level, most, waiting, listed, counts)
        each.append(sorted(found[: gather_level(listed, level, found)].tolist()))
    return each


def assert_lists_all(codes, queries):
    tree = GroupTree(codes)
    np.testing.assert_array_equal(tree.codes, codes[:, tree.order])
    np.testing.assert_array_equal(np.sort(tree.order), np.arange(codes.shape[1]))
    for query in queries.T:
        asked = np.ascontiguousarray(query)
        mismatches = (tree.codes != asked[:, None]).sum(axis=0)
        for most in {len(codes), len(codes) // 2}:
            expected = [np.flatnonzero(mismatches == level).tolist() for level in range(most + 1)]
            assert levels(tree, asked, most) == expected


def related(n_columns, n_groups, n_labels, kind, seed):
    """Return codes of which neighboring columns often agree, as in real tables."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(n_labels, size=(n_columns, n_groups))
    for j in range(1, n_columns):
        same = rng.random(n_groups) < 0.7
        codes[j, same] = codes[j - 1, same]
    return codes.astype(kind)


@settings(max_examples=100, deadline=None)
@given(
    n_columns=st.integers(1, 8),
    n_groups=st.sampled_from([1, 2, TILE, TILE + 1, 5 * TILE + 3]),
    n_labels=st.integers(1, 5),
    seed=st.integers(0, 99),
)
def test_levels_are_what_counting_all_groups_says(n_columns, n_groups, n_labels, seed):
    codes = related(n_columns, n_groups, n_labels, np.uint8, seed)
    assert_lists_all(codes, related(n_columns, 5, n_labels + 1, np.uint8, seed + 1))


@pytest.mark.parametrize(("n_labels", "kind"), [(7, np.uint8), (MOST_BITS + 90, np.uint8), (900, np.uint16)])
def test_labels_that_share_a_bit_are_told_apart(n_labels, kind):
    codes = related(6, 1500, n_labels, kind, seed=1)
    assert_lists_all(codes, np.column_stack([codes[:, :10], related(6, 10, n_labels, kind, seed=2)]))


def test_more_columns_than_a_byte_counts():
    codes = related(300, 200, 3, np.uint8, seed=3)
    assert_lists_all(codes, np.column_stack([codes[:, :3], 2 - codes[:, :3]]))


def test_groups_that_no_sample_tells_apart_share_a_leaf():
    codes = np.zeros((2, 10 * TILE), dtype=np.uint8)
    codes[1, 1] = 1
    assert_lists_all(codes, codes[:, :2])


def test_most_groups_are_passed_over():
    """Where columns hang together, few nodes are looked at: the groups alike a query stand together."""
    rng = np.random.default_rng(5)
    kinds = rng.integers(4, size=(20, 100))
    codes = kinds[:, rng.integers(100, size=20_000)]
    codes[rng.integers(20, size=20_000), np.arange(20_000)] = rng.integers(4, size=20_000)
    tree = GroupTree(codes.astype(np.uint8))
    marks, waiting, listed, counts, *_ = tree.room()
    query = np.ascontiguousarray(tree.codes[:, 0])
    start_listing(tree.arrays, query, marks, waiting, listed)
    n_listed = 0
    for level in range(3):
        list_level(tree.arrays, query, marks, level, len(codes), waiting, listed, counts)
    for level in range(len(codes) + 1):
        n_listed += gather_level(listed, level, np.empty(20_000, dtype=np.int64))
    assert n_listed < 2000


def test_counting_takes_over_where_walks_open_every_leaf():
    """Codes without any order: both roads list the same groups, also for queries that ask for all of them."""
    rng = np.random.default_rng(7)
    codes = rng.integers(5, size=(12, 2000)).astype(np.uint8)
    tree = GroupTree(codes)
    room = tree.room()
    for asked in range(2 * TRIALS):
        query = rng.integers(5, size=12).astype(np.uint8)
        mismatches = (tree.codes != query[:, None]).sum(axis=0)
        start_levels(tree.arrays, tree.codes, query, room)
        assert bool(room[-1][1]) == (asked >= TRIALS)  # the first are walks
        for level in range(13):
            found = groups_at(tree.arrays, query, level, 12, room)
            assert sorted(found.tolist()) == np.flatnonzero(mismatches == level).tolist()
