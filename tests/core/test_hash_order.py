"""Hashes are put in the order that NumPy's stable sort gives."""

import numpy as np
import pytest

from tabveil.core.hash_order import FEW, hash_order


def drawn(n, n_different, seed):
    rng = np.random.default_rng(seed)
    different = rng.integers(2**64, size=n_different, dtype=np.uint64)
    return different[rng.integers(n_different, size=n)]


@pytest.mark.parametrize("n", [0, 1, 2, FEW, FEW + 1, 5000])
@pytest.mark.parametrize("n_different", [1, 7, 10**6])
def test_equals_stay_as_they_stood(n, n_different):
    hashes = drawn(n, n_different, seed=n)
    np.testing.assert_array_equal(hash_order(hashes), np.argsort(hashes, kind="stable"))


@pytest.mark.parametrize("kept", [1, 2**20 - 1, 2**31 - 1, 2**33 - 1])
def test_hashes_that_differ_in_their_last_bits_only_are_told_apart(kept):
    hashes = drawn(3000, 10**6, seed=1) & np.uint64(kept)
    np.testing.assert_array_equal(hash_order(hashes), np.argsort(hashes, kind="stable"))


def test_the_least_and_the_largest_hash_have_their_places():
    hashes = drawn(3000, 10**6, seed=2)
    hashes[[5, 9, 2999]], hashes[[0, 7, 2998]] = 0, 2**64 - 1
    order = hash_order(hashes)
    assert order[:3].tolist() == [5, 9, 2999]
    assert order[-3:].tolist() == [0, 7, 2998]


def test_hashes_that_stand_apart_in_memory_are_read_where_they_stand():
    hashes = drawn(6000, 10**6, seed=3)
    np.testing.assert_array_equal(hash_order(hashes[::2]), np.argsort(hashes[::2], kind="stable"))
