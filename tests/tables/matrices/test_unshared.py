"""Numbers that few rows share come back near, as round as they were, but not as somebody's."""

import numpy as np
import pytest

from tabveil.core.table import Numeric
from tabveil.tables.matrices.unshared import StandInRanges, shared_range, stand_ins


def rng(seed=0):
    return np.random.default_rng(seed)


def drawn(cells, *, decimals=0, n=20_000, **rest):
    """Draw stand-ins for random rows of a column."""
    cells = np.asarray(cells, dtype=float)
    column = Numeric(name="a", low=cells.min(), high=cells.max(), decimals=decimals, **rest)
    values, counts = np.unique(cells, return_counts=True)
    which = np.searchsorted(values, rng(1).choice(cells, n))
    return values[which], StandInRanges.of(column, values, counts).draw(column, which, rng=rng(2))


def test_spikes_and_zeros_stay_where_they_are():
    cells = np.concatenate([np.zeros(500), np.full(50, 1250.0), rng().gamma(2, 400, 300).round()])
    before, after = drawn(cells)
    for spike in (0, 1250):
        assert (after[before == spike] == spike).all()


def test_ten_rows_make_a_spike_and_nine_do_not():
    cells = np.concatenate([np.full(10, 500.25), np.full(9, 700.75), rng().random(300) * 1000])
    before, after = drawn(cells, decimals=None)
    assert (after[before == 500.25] == 500.25).all()
    assert not (after[before == 700.75] == 700.75).any()


def test_round_numbers_stay_as_round():
    cells = np.concatenate([rng().integers(1, 2000, 1000) * 500, rng(1).integers(1, 1_000_000, 1000)])
    before, after = drawn(cells)
    assert (after[before % 500 == 0] % 500 == 0).mean() > 0.95
    assert (after[before % 5 != 0] % 500 == 0).mean() < 0.02
    assert (after == before).mean() < 0.4
    assert np.quantile(after, [0.25, 0.5, 0.75]) == pytest.approx(
        np.quantile(before, [0.25, 0.5, 0.75]), rel=0.02
    )


def test_round_numbers_do_not_become_more():
    # Last digits are even: a fifth of the numbers ends in 0 or 5, and a tenth in 0.
    before, after = drawn(rng().integers(10_000, 99_999, 3000))
    for size in (5, 10, 100):
        assert np.mean(after % size == 0) == pytest.approx(np.mean(before % size == 0), abs=0.02)
    tenths = rng().integers(100, 999, 600) / 10
    before, after = drawn(tenths, decimals=1)
    assert np.mean(np.rint(after * 10) % 5 == 0) == pytest.approx(
        np.mean(np.rint(before * 10) % 5 == 0), abs=0.03
    )
    assert (after == before).mean() < 0.4


def test_round_numbers_do_not_become_fewer_where_numbers_are_dense():
    # Each number has its neighbors one apart: a step of 5 is wider than where a stand-in is drawn from.
    column = Numeric(name="a", low=0, high=999, decimals=0)
    values = np.arange(1000.0)
    groups = np.repeat(np.arange(50), 20)
    around = StandInRanges.of(column, values, np.full(1000, 3), places=np.arange(1000), groups=groups)
    after = around.draw(column, rng(1).integers(0, 1000, 20_000), rng=rng(2))
    assert np.mean(after % 5 == 0) == pytest.approx(0.2, abs=0.02)


def test_spikes_do_not_grow():
    # A quarter of the rows at each of the multiples of 7 that are spikes, single numbers between them.
    spikes = 7.0 * np.arange(20, 40)
    cells = np.concatenate([np.repeat(spikes, 10), np.arange(100.0, 400.0)])
    before, after = drawn(cells)
    assert np.isin(after, spikes).mean() == pytest.approx(np.isin(before, spikes).mean(), abs=0.02)


def test_a_number_between_spikes_does_not_come_back_as_it_was():
    # Only 4 is rare among the whole numbers: were spikes closed to it, it would be drawn every time.
    before, after = drawn(np.repeat([0, 1, 2, 3, 4, 5, 6], [50, 50, 50, 50, 1, 50, 50]))
    assert (after[before == 4] == 4).mean() < 0.5


def test_a_step_that_all_numbers_fit_is_kept():
    _, after = drawn(rng().integers(1, 4000, 1000) * 25)
    assert (after % 25 == 0).all()
    days = 86_400 * rng().integers(10_000, 19_000, 500)
    assert (drawn(days, arbitrary_zero=True)[1] % 86_400 == days[0] % 86_400).all()


@pytest.mark.parametrize("cells", [[5.0], [5.0, 7.0], [0.0] * 20 + [777.5]])
def test_few_numbers_stay_in_their_range(cells):
    _, after = drawn(cells, decimals=None)
    assert min(cells) <= after.min() <= after.max() <= max(cells)


def test_numbers_are_drawn_within_their_own_group():
    # Two groups far apart: whoever stands at the end of one is not drawn toward the other.
    values = np.concatenate([np.arange(20.0), 1000 + np.arange(20.0)]) + 0.5
    column = Numeric(name="a", low=0, high=2000)
    around = StandInRanges.of(
        column, values, np.ones(40, dtype=int), places=np.arange(40), groups=np.repeat([0, 1], 20)
    )
    after = around.draw(column, rng().integers(0, 40, 5000), rng=rng(1))
    assert not ((after > 25) & (after < 995)).any()
    assert not np.isin(after, values).any()


# What a network may learn


def ends_of(cells, *, decimals=None, **rest):
    cells = np.asarray(cells, dtype=float)
    column = Numeric(name="a", low=cells.min(), high=cells.max(), decimals=decimals, **rest)
    return shared_range(column, *np.unique(cells, return_counts=True)).tolist()


def learned(cells, *, seed=0, **column):
    cells = np.asarray(cells, dtype=float)
    known = {"low": np.nanmin(cells), "high": np.nanmax(cells), "decimals": 0, **column}
    return stand_ins(Numeric(name="a", **known), cells, rng=rng(seed))


def test_ten_rows_lie_at_or_beyond_either_end():
    cells = np.arange(100.0)
    assert ends_of(cells) == [9.5, 89.5]  # 0 … 9 and 90 … 99 beyond
    assert ends_of(np.concatenate([[0.0] * 10, cells[1:91], [500.0] * 9])) == [0.0, 89.5]
    assert ends_of([3.0] * 50 + [4.0] * 9) == [3.0, 3.0]
    assert ends_of([3.0] * 50 + [4.0] * 10) == [3.0, 4.0]


def test_too_few_rows_for_two_ends_have_their_mean():
    assert ends_of([7.0]) == [7.0, 7.0]
    assert ends_of([1.0, 2.0, 6.0]) == [3.0, 3.0]
    assert ends_of(np.arange(19.0)) == [9.0, 9.0]
    assert ends_of(np.arange(20.0)) == [9.5, 9.5]
    # Twenty rows, two of which share the middle: halfway from 20 to 41 and from 20 to 8, and between these.
    assert ends_of([*range(9), 20, 20, *range(41, 50)]) == [22.25, 22.25]
    assert ends_of([-1e100, 1e100] * 9, decimals=None) == [0.0, 0.0]


def test_ends_are_as_round_as_all_numbers():
    assert ends_of(25 * np.arange(100), decimals=0) == [250, 2250]
    days = 86_400 * np.arange(100)
    assert np.mod(ends_of(days, decimals=0, arbitrary_zero=True), 86_400).tolist() == [0, 0]
    assert np.mod(learned(days, arbitrary_zero=True), 86_400).max() == 0


def test_stand_ins_are_near_and_none_beyond_the_ends():
    cells = np.concatenate([rng().normal(0, 1, 1000), [40.0, -70.0]])
    after = learned(cells, decimals=None)
    assert not np.isin(after, cells).any()
    assert [after.min(), after.max()] == ends_of(cells)
    assert np.abs(np.sort(after) - np.sort(cells))[20:-20].max() < 0.2
    assert np.corrcoef(cells[:1000], after[:1000])[0, 1] > 0.99


def test_what_ten_rows_share_stays_and_what_one_has_goes():
    children = np.repeat([0, 1, 2, 3, 7, 11], [300, 200, 90, 10, 1, 1])
    after = learned(children)
    np.testing.assert_array_equal(after[:600], children[:600])
    assert set(after) == {0, 1, 2, 3}


def test_missing_stays_missing_and_a_few_numbers_among_many_missing_go():
    cells = np.where(np.arange(200) % 4 == 0, np.nan, np.arange(200))
    np.testing.assert_array_equal(np.isnan(learned(cells)), np.isnan(cells))
    assert np.isnan(learned([np.nan] * 90 + [3.0] * 9)).all()
    assert np.sum(learned([np.nan] * 90 + [3.0] * 10) == 3) == 10
    assert np.isnan(stand_ins(Numeric(name="a", low=0, high=1), np.full(3, np.nan), rng=rng())).all()
    assert len(stand_ins(Numeric(name="a", low=0, high=1), np.empty(0), rng=rng())) == 0


def test_cells_are_left_as_they_were():
    cells = rng().random(50)
    before = cells.copy()
    learned(cells, decimals=None)
    np.testing.assert_array_equal(cells, before)


def test_rounding_never_leads_beyond_the_last_number():
    column = Numeric(name="x", low=-5, high=5, decimals=0)
    values, counts = np.array([-4.0, 0.0, 4.0]), np.array([1, 1, 1])
    intervals = StandInRanges.of(column, values, counts)
    drawn = intervals.draw(column, np.repeat(np.arange(3), 200), rng=np.random.default_rng(0))
    assert drawn.min() >= -4
    assert drawn.max() <= 4
