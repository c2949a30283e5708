"""A column's cells become slots and scalars and come back as they were."""

import json

import numpy as np
import pytest

from tabveil.core.storage.files import Unreadable
from tabveil.core.table import Categorical, Numeric
from tabveil.tables.matrices.modes import (
    MOST_MODES,
    LabelSlots,
    ModeSlots,
    declared_labels,
    equal_modes,
    fitted_modes,
    seen_labels,
    slots_from_json,
)

NAN = float("nan")
WARD = Categorical(name="ward", labels=("a", "b", "c", "d"))
COST = Numeric(name="cost", low=0.0, high=1000.0, decimals=0)


def rng(seed=0):
    return np.random.default_rng(seed)


def there_and_back(slots, cells):
    return slots.decode(*slots.encode(cells, rng=rng()))


def two_peaks(n=1000, seed=0):
    random = rng(seed)
    return np.clip(np.round(random.normal(np.where(random.random(n) < 0.5, 200, 700), 20)), 0, 1000)


def test_labels_that_occur_have_slots_and_others_do_not():
    slots = seen_labels(WARD, np.array([3.0, 1.0, NAN, 3.0]))
    assert slots.codes == (1, 3)
    assert len(slots) == 3
    chosen, scalars = slots.encode(np.array([1.0, 3.0, NAN]), rng=rng())
    assert chosen.tolist() == [0, 1, 2]
    assert scalars.tolist() == [0, 0, 0]
    np.testing.assert_array_equal(there_and_back(slots, np.array([1.0, NAN, 3.0])), [1.0, NAN, 3.0])


def test_without_missing_values_there_is_no_slot_for_them():
    assert len(seen_labels(WARD, np.array([0.0, 2.0]))) == 2
    assert not fitted_modes(COST, np.array([1.0, 2.0]), rng=rng()).has_missing


def test_a_place_within_a_mode_by_hand():
    slots = ModeSlots(
        column=COST,
        low=COST.low,
        high=COST.high,
        points=(0.0,),
        centers=(100.0, 500.0),
        reaches=(40.0, 200.0),
        weights=None,
        has_missing=True,
    )
    chosen, scalars = slots.encode(np.array([0.0, 90.0, 600.0, NAN, 1000.0]), rng=rng())
    assert chosen.tolist() == [0, 1, 2, 3, 2]
    assert scalars.tolist() == [0.0, -0.25, 0.5, 0.0, 1.0]  # the last is out of reach and cut
    assert slots.single == (0, 3)
    np.testing.assert_array_equal(slots.decode(chosen, scalars), [0.0, 90.0, 600.0, NAN, 700.0])


def test_a_mode_is_drawn_by_how_well_it_explains_a_number():
    # Both modes have the same spread and 150 lies in the middle: the weights alone decide, 3 to 1.
    slots = ModeSlots(
        column=COST,
        low=COST.low,
        high=COST.high,
        points=(),
        centers=(100.0, 200.0),
        reaches=(400.0, 400.0),
        weights=(0.75, 0.25),
        has_missing=False,
    )
    chosen, _ = slots.encode(np.full(4000, 150.0), rng=rng())
    assert np.mean(chosen == 0) == pytest.approx(0.75, abs=0.03)
    # At 100 the second mode is one standard deviation away: odds of 3 to exp(-1/2).
    chosen, _ = slots.encode(np.full(4000, 100.0), rng=rng())
    assert np.mean(chosen == 0) == pytest.approx(3 / (3 + np.exp(-0.5)), abs=0.03)


def test_a_mode_that_does_not_reach_a_number_is_not_drawn():
    slots = ModeSlots(
        column=COST,
        low=COST.low,
        high=COST.high,
        points=(),
        centers=(100.0, 900.0),
        reaches=(50.0, 900.0),
        weights=(0.999, 0.001),
        has_missing=False,
    )
    chosen, scalars = slots.encode(np.full(100, 160.0), rng=rng())
    assert (chosen == 1).all()
    assert (np.abs(scalars) <= 1).all()


def test_no_number_beyond_those_that_were_seen_is_drawn():
    cells = np.concatenate([rng().normal(300, 10, 500), [250.0, 370.0]])
    slots = fitted_modes(COST, cells, rng=rng())
    drawn = [slots.decode(np.full(2, slot), np.array([-1.0, 1.0])) for slot in range(len(slots))]
    assert (np.min(drawn), np.max(drawn)) == (250.0, 370.0)
    assert (COST.low, COST.high) != (250.0, 370.0)


@pytest.mark.parametrize("ends", [(5.0, 4.0), (-1.0, 4.0), (0.0, 1e9), (NAN, 4.0)])
def test_ends_that_are_none_are_refused(ends):
    data = {**fitted_modes(COST, two_peaks(), rng=rng()).to_json(), "low": ends[0], "high": ends[1]}
    with pytest.raises(Unreadable, match="must be those of its values"):
        slots_from_json(COST, data)


def test_two_peaks_are_found():
    slots = fitted_modes(COST, two_peaks(), rng=rng())
    assert 2 <= len(slots) <= MOST_MODES
    centers = np.array(slots.centers)
    assert np.min(np.abs(centers - 200)) < 15
    assert np.min(np.abs(centers - 700)) < 15
    assert not ((centers > 300) & (centers < 600)).any()


def test_a_frequent_number_is_a_mode_by_itself():
    cells = np.concatenate([np.full(300, 40.0), two_peaks(700)])
    slots = fitted_modes(COST, cells, rng=rng())
    assert slots.points == (40.0,)
    chosen, scalars = slots.encode(np.array([40.0, 41.0]), rng=rng())
    assert chosen[0] == 0
    assert chosen[1] > 0
    assert scalars[0] == 0


def test_few_numbers_are_kept_exactly():
    dose = Numeric(name="dose", low=-1.0, high=1.0)
    cells = np.array([0.1, 0.2, 1 / 3, NAN])
    slots = fitted_modes(dose, cells, rng=rng())
    assert not slots.has_scalar
    assert len(slots) == 4
    np.testing.assert_array_equal(there_and_back(slots, cells), cells)


@pytest.mark.parametrize("cells", [np.full(5, NAN), np.array([7.0]), np.full(30, 7.0)])
def test_columns_without_a_choice(cells):
    slots = fitted_modes(COST, cells, rng=rng())
    assert len(slots) == 1
    assert not slots.has_scalar
    np.testing.assert_array_equal(there_and_back(slots, cells), cells)


def test_equal_modes_by_hand():
    slots = equal_modes(COST, n_modes=4, has_values=True, has_missing=True)
    assert slots.points == (0.0, 1000.0)
    assert slots.centers == (125.0, 375.0, 625.0, 875.0)
    assert slots.reaches == (125.0,) * 4
    chosen, scalars = slots.encode(np.array([0.0, 1000.0, 50.0, 400.0, NAN]), rng=rng())
    assert chosen.tolist() == [0, 1, 2, 3, 6]
    assert scalars.tolist() == [0.0, 0.0, -0.6, 0.2, 0.0]


def test_few_possible_numbers_have_a_mode_each():
    grade = Numeric(name="grade", low=1.0, high=2.0, decimals=1)
    slots = equal_modes(grade, n_modes=11, has_values=True, has_missing=False)
    assert slots.points == tuple(np.round(np.arange(10, 21) / 10, 1).tolist())
    assert not slots.has_scalar
    assert equal_modes(grade, n_modes=10, has_values=True, has_missing=False).has_scalar


def test_declared_domains_do_not_depend_on_rows():
    assert declared_labels(WARD) == LabelSlots(column=WARD, codes=(0, 1, 2, 3), has_missing=True)
    constant = Numeric(name="x", low=3.0, high=3.0)
    assert equal_modes(constant, has_values=True, has_missing=True).points == (3.0,)
    assert len(equal_modes(COST, has_values=False, has_missing=True)) == 1


def test_plain_data_there_and_back():
    for column, slots in (
        (WARD, seen_labels(WARD, np.array([1.0, NAN]))),
        (COST, fitted_modes(COST, two_peaks(), rng=rng())),
        (COST, equal_modes(COST, has_values=True, has_missing=True)),
    ):
        assert slots_from_json(column, json.loads(json.dumps(slots.to_json()))) == slots
