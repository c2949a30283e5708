"""Labels dealt by the compiled loops are those that NumPy deals, and counts are NumPy's."""

import numpy as np
import pytest

from tabveil.core.estimate import Scanned
from tabveil.core.estimate.ranking import chances_of_hits, shuffled


@pytest.mark.parametrize("n_people", [0, 1, 2, 3, 64, 65, 1000, 4097])
@pytest.mark.parametrize("half_a_word_left", [False, True])
def test_deals_are_numpy_s_own_to_the_last_label_and_leave_the_generator_where_it_leaves_it(
    n_people, half_a_word_left
):
    labels = np.tile(np.arange(n_people) % 3 == 0, (7, 1))
    ours, numpy_s = (np.random.default_rng([n_people, 5]) for _ in range(2))
    if half_a_word_left:
        assert ours.integers(9, dtype=np.uint32) == numpy_s.integers(9, dtype=np.uint32)
    np.testing.assert_array_equal(shuffled(labels, rng=ours), numpy_s.permuted(labels, axis=1))
    assert ours.bit_generator.state == numpy_s.bit_generator.state
    assert labels[:, :1].all()  # what was handed over stays


def test_generators_of_another_kind_deal_as_numpy_lets_them():
    labels = np.tile(np.arange(50) < 20, (3, 1))
    ours, numpy_s = (np.random.Generator(np.random.Philox(1)) for _ in range(2))
    np.testing.assert_array_equal(shuffled(labels, rng=ours), numpy_s.permuted(labels, axis=1))


def test_chances_are_those_of_sums_and_counts_by_numpy():
    rng = np.random.default_rng(3)
    n_people, n_first, depths = 300, 120, np.array([5, 9, 30])
    ranks = np.round(rng.permutation(n_people) / 2) + 0.5
    ranking = Scanned(order=np.argsort(-ranks)[:40], ranks=ranks, depths=depths)
    dealt = rng.permuted(np.tile(np.arange(n_people) < n_first, (25, 1)), axis=1)
    found = ranking.chances(dealt, n_first)
    for at, depth in enumerate(depths):
        hits = dealt[:, ranking.order[:depth]].sum(axis=1)
        np.testing.assert_array_equal(found[:, at], chances_of_hits(int(depth), n_first, n_people)[hits])
    order = np.argsort(dealt @ ranks, kind="stable")
    assert (np.diff(found[order, -1]) <= 0).all()  # the larger the sum, the less likely


def test_a_table_of_chances_cannot_be_changed_for_the_next_who_asks():
    with pytest.raises(ValueError, match="read-only"):
        chances_of_hits(2, 2, 4)[0] = 0
