"""Values in ascending order: what a cell's place is, where missing stands, how many rows have each."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.matrices import ordinal
from tabveil.tables.matrices.ordinal import (
    ComparedLevels,
    CountedValues,
    OrderedValues,
    find,
    label_codes,
    possible_values,
    seen_values,
)

NAN = np.nan


def labels(n):
    return Categorical(name="a", labels=tuple(map(str, range(n))))


def number(low=0.0, high=100.0, decimals=0):
    return Numeric(name="a", low=low, high=high, decimals=decimals)


def test_places_among_values_by_hand():
    places, known = find(np.array([1.0, 3.0]), np.array([0.0, 1.0, 2.0, 3.0, 4.0, NAN]))
    assert places.tolist() == [0, 0, 1, 1, 2, 2]
    assert known.tolist() == [False, True, False, True, False, False]
    places, known = find(np.array([1.0, NAN]), np.array([1.0, 2.0, NAN]))  # missing may be one of them
    assert places.tolist() == [0, 1, 1]
    assert known.tolist() == [True, False, True]


def test_values_that_occur_and_values_that_may():
    cells = np.array([4.0, NAN, 2.0]), np.array([2.0])
    assert seen_values(labels(6), *cells).tolist() == [2, 4]
    assert possible_values(labels(6), *cells).tolist() == [0, 1, 2, 3, 4, 5]
    assert possible_values(number(), *cells).tolist() == [2, 4]


def test_missing_comes_last_by_place_and_first_by_code():
    cells = np.array([30.0, NAN, 10.0])
    values = OrderedValues(column=number(), values=seen_values(number(), cells))
    assert values.places(cells).tolist() == [1, 2, 0]
    assert values.codes(cells).tolist() == [2, 0, 1]
    assert label_codes(labels(4), np.array([3.0, NAN, 0.0])).tolist() == [3, 4, 0]


@pytest.mark.parametrize("decimals", [0, None])  # counted off and sorted
def test_a_number_that_was_not_seen_counts_as_the_next_larger(decimals):
    column = number(decimals=decimals)
    values = OrderedValues(column=column, values=np.array([10.0, 30.0]))
    asked = np.array([0.0, 5.0, 20.0, 99.0, 100.0, 130.0, -7.0])
    assert values.codes(asked).tolist() == [1, 1, 2, 2, 2, 2, 1]


def test_a_label_that_was_not_seen_has_a_code_of_its_own():
    seen = CountedValues.of(labels(9), np.array([2.0, 7.0]))
    assert seen.codes(np.array([2.0, 5.0, 7.0, 8.0, NAN])).tolist() == [1, 3, 2, 3, 0]
    np.testing.assert_array_equal(seen.cells(np.array([1, 3, 2, 3, 0])), [2, NAN, 7, NAN, NAN])


@settings(max_examples=60, deadline=None)
@given(
    low=st.integers(-(2**53), 2**53 - 60),
    steps=st.lists(st.integers(0, 50), min_size=1, max_size=30),
    missing=st.booleans(),
)
def test_counting_off_and_sorting_say_the_same(low, steps, missing):
    column = Numeric(name="a", low=float(low), high=float(low) + 50, decimals=0)
    cells = low + np.array([*steps, *[NAN] * missing])
    asked = low + np.append(np.arange(51.0), NAN)
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for most in (1000, -1):
            patch.setattr(ordinal, "MOST_MARKS", most)
            values = OrderedValues(column=column, values=seen_values(column, cells))
            found.append((values.values.tolist(), values.places(asked).tolist()))
    assert found[0] == found[1]


def test_counted_values_by_hand():
    cells = np.array([30.0, NAN, 10.0, 30.0])
    seen = CountedValues.of(number(), cells)
    assert seen.values.tolist() == [10, 30]
    assert seen.counts.tolist() == [1, 1, 2, 0]  # missing, 10, 30, strange labels
    assert seen.counted(np.array([2, 2])).counts.tolist() == [0, 0, 2, 0]


def test_numbers_count_in_ranges_with_equally_many_rows():
    low, high = CountedValues.of(number(high=1000), np.arange(400.0)).ranges()
    assert (low[0], high[0]) == (0, 1)  # missing is no number
    assert set((high - low)[1:401]) == {20}
    few = CountedValues.of(number(), np.array([1.0, 5.0, 5.0]))
    assert (few.ranges()[1] - few.ranges()[0]).tolist() == [1, 1, 1, 1]


def test_levels_are_shared_between_tables():
    column = number(high=9, decimals=None)
    tables = [
        Table(schema=Schema((column,)), values=np.array([cells]).T) for cells in ([3, NAN, 1.0], [9, 3.0])
    ]
    levels = ComparedLevels.of(column, tables)
    assert len(levels) == 4
    assert levels.values.tolist() == [1, 3, 9]
    assert [rows.tolist() for rows in levels.rows] == [[1, 3, 0], [2, 1]]
    assert [rows.tolist() for rows in levels.in_bins(2).rows] == [[0, 2, 0], [1, 0]]


def test_levels_of_labels_are_all_there_are():
    table = Table(schema=Schema((labels(3),)), values=np.array([[1.0], [NAN]]))
    levels = ComparedLevels.of(labels(3), [table])
    assert levels.values.tolist() == [0, 1, 2]
    assert levels.rows[0].tolist() == [1, 3]
    assert levels.merged(np.array([0, 1, 1])).rows[0].tolist() == [1, 2]
