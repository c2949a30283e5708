"""Numbers that few rows share come back near, as round as they were, but not as somebody's."""

import numpy as np
import pytest

from tabveil.encode.unshared import Intervals
from tabveil.table import Numeric


def rng(seed=0):
    return np.random.default_rng(seed)


def drawn(cells, *, decimals=0, n=20_000, **rest):
    """Draw stand-ins for random rows of a column."""
    cells = np.asarray(cells, dtype=float)
    column = Numeric(name="a", low=cells.min(), high=cells.max(), decimals=decimals, **rest)
    values, counts = np.unique(cells, return_counts=True)
    which = np.searchsorted(values, rng(1).choice(cells, n))
    return values[which], Intervals.of(column, values, counts).draw(column, which, rng=rng(2))


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
    around = Intervals.of(
        column, values, np.ones(40, dtype=int), places=np.arange(40), groups=np.repeat([0, 1], 20)
    )
    after = around.draw(column, rng().integers(0, 40, 5000), rng=rng(1))
    assert not ((after > 25) & (after < 995)).any()
    assert not np.isin(after, values).any()
