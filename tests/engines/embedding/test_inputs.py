"""Rows that were placed before are looked up: with the answers of placing all of them, and less work."""

import numpy as np
import pytest

from tabveil.engines.embedding import inputs as places_module
from tabveil.engines.embedding.inputs import MISSING, Encoded, Places

NOTHING = np.zeros(3, dtype=bool)


def encoded(numbers, tokens):
    return Encoded(
        numbers=np.array(numbers, dtype=np.float32).reshape(-1, 1),
        tokens=np.array(tokens, dtype=np.int64).reshape(-1, 2),
    )


class Counted:
    """Places a row at what is seen of it, and keeps what it was asked for."""

    def __init__(self, mask=NOTHING):
        self.mask, self.asked = mask, []

    def __call__(self, rows):
        self.asked.append(len(rows))
        cells = np.column_stack([np.nan_to_num(rows.numbers, nan=-7), rows.tokens]).astype(np.float32)
        cells[:, self.mask] = -1
        return cells


ROWS = encoded([1, 2, 1, np.nan, np.nan, 0, -0.0], [[3, 4], [3, 4], [3, 4], [3, 1], [3, 1], [5, 5], [5, 5]])


def test_equal_rows_are_placed_once():
    place, places = Counted(), Places()
    found = places.find(ROWS, NOTHING, place)
    np.testing.assert_array_equal(found, Counted()(ROWS))
    assert (found.dtype, place.asked) == (np.float64, [4])


def test_masked_columns_make_rows_equal():
    mask = np.array([True, False, False])
    place, places = Counted(mask), Places()
    np.testing.assert_array_equal(places.find(ROWS, mask, place), Counted(mask)(ROWS))
    assert place.asked == [3]


def test_what_was_placed_before_is_not_placed_again():
    place, places = Counted(), Places()
    places.find(ROWS, NOTHING, place)
    more = encoded([9, 2, 1, 9], [[3, 4], [3, 4], [3, MISSING], [3, 4]])
    np.testing.assert_array_equal(places.find(more, NOTHING, place), Counted()(more))
    np.testing.assert_array_equal(places.find(more, NOTHING, place), Counted()(more))
    np.testing.assert_array_equal(places.find(ROWS, NOTHING, place), Counted()(ROWS))
    assert place.asked == [4, 2]


def test_each_masking_has_its_own_places():
    places = Places()
    for mask in (NOTHING, np.array([True, False, False]), np.array([False, True, False]), NOTHING):
        place = Counted(mask)
        np.testing.assert_array_equal(places.find(ROWS, mask, place), Counted(mask)(ROWS))
    assert place.asked == []


def test_different_rows_that_share_a_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(places_module, "mix_bits", lambda bits: bits // np.uint64(2**40))
    place, places = Counted(), Places()
    for _ in range(2):
        np.testing.assert_array_equal(places.find(ROWS, NOTHING, place), Counted()(ROWS))


def test_memory_is_limited_and_what_was_asked_for_last_is_kept(monkeypatch):
    a_masking = 4 * (8 + 3 * 4 + 3 * 4)
    monkeypatch.setattr(places_module, "MOST_BYTES", 2 * a_masking)
    masks = [NOTHING, np.array([False, True, False]), np.array([False, False, True])]
    place, places = Counted(), Places()
    for turn in (0, 1, 0, 2, 0, 1):
        places.find(ROWS, masks[turn], place)
    assert place.asked == [4, 4, 4, 4]  # the second was forgotten for the third, the first never
    monkeypatch.setattr(places_module, "MOST_BYTES", a_masking - 1)
    alone = Counted()
    for _ in range(2):
        np.testing.assert_array_equal(places.find(ROWS, NOTHING, alone), Counted()(ROWS))
    assert len(alone.asked) >= 1


@pytest.mark.parametrize("n", [0, 1])
def test_few_rows(n):
    place, few = Counted(), ROWS.take(np.arange(n))
    assert Places().find(few, NOTHING, place).shape == (n, 3)
