"""Ranges cut into bins, whatever rows there are; and values drawn from them."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric
from tabveil.tables.matrices.bins import Bins, Levels

AGE = Numeric(name="age", low=10, high=20, decimals=0)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_whole_numbers_are_cut_at_whole_numbers_and_the_bounds_stand_alone():
    bins = Bins.of(AGE, 3)
    by_bin = {i: (10 + bins.edges[:-1][bins.bin == i]).tolist() for i in range(len(bins))}
    assert by_bin == {0: [10], 1: [11, 12, 13], 2: [14, 15, 16], 3: [17, 18, 19], 4: [20]}


def test_few_possible_values_have_a_bin_each():
    levels = Levels.of(AGE, 20, has_values=True, has_missing=True)
    assert len(levels) == 11 + 1
    assert levels.n_parts == 0


def test_any_number_goes_to_the_bin_that_holds_it():
    bins = Bins.of(Numeric(name="x", low=-1.0, high=1.0), 4)
    found = bins.bin[bins.parts(np.array([-1.0, -0.9999, -0.5, 0.1, 0.9999, 1.0, 7.0, -7.0]))]
    assert found.tolist() == [0, 1, 2, 3, 4, 5, 5, 0]


@pytest.mark.parametrize(
    "column",
    [
        AGE,
        Categorical(name="ward", labels=tuple("abcd")),
        Numeric(name="share", low=-0.1, high=0.1, decimals=2),
        Numeric(name="constant", low=3.7, high=3.7),
    ],
)
def test_what_has_a_level_to_itself_comes_back_exactly(column):
    if isinstance(column, Numeric):
        cells = np.linspace(column.low, column.high, 21 if column.name == "share" else 11)
        cells = cells if column.decimals is None else np.round(cells, column.decimals)
    else:
        cells = np.arange(4.0)
    cells = np.append(cells, np.nan)
    levels = Levels.of(column, 20, has_values=True, has_missing=True)
    np.testing.assert_array_equal(levels.decode(levels.encode(cells), rng=rng()), cells)


@pytest.mark.parametrize(
    "column",
    [
        Numeric(name="x", low=-3.0, high=1e6),
        Numeric(name="cents", low=0.0, high=999.99, decimals=2),
        Numeric(name="huge", low=-1e17, high=1e17, decimals=0),
        Numeric(name="hours", low=0, high=99, decimals=0),
    ],
)
def test_a_value_drawn_from_a_level_lies_in_that_level(column):
    levels = Levels.of(column, 7, has_values=True, has_missing=False)
    drawn = levels.decode(np.repeat(np.arange(len(levels)), 50), rng=rng())
    assert levels.encode(drawn).tolist() == np.repeat(np.arange(len(levels)), 50).tolist()
    assert drawn[0] == column.low
    assert drawn[-1] == column.high


def test_the_lower_bound_is_drawn_itself_and_not_the_number_after_it():
    levels = Levels.of(Numeric(name="gain", low=0.0, high=9.5), 4, has_values=True, has_missing=False)
    assert (levels.decode(np.zeros(200, dtype=np.int64), rng=rng()) == 0).all()


def test_a_spike_within_a_bin_is_kept_and_noise_is_not():
    bins = Bins.of(Numeric(name="hours", low=0, high=11, decimals=0), 2)
    assert bins.bin.tolist() == [0, *[1] * 5, *[2] * 5, 3]
    counts = np.array([0.0, 0, 0, 1000, 0, 0, 12, 8, 10, 11, 9, 0])
    share = bins.spread(counts, variance=25.0)
    assert share[3] > 0.99
    np.testing.assert_allclose(share[6:11], 0.2)  # differences of 12 and 8 are what noise makes of 10
    assert [share[bins.bin == i].sum() for i in range(4)] == pytest.approx([1, 1, 1, 1])
