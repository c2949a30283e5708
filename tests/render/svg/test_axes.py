"""Scales: round ticks, and places for zero and for powers of ten."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tabveil.render.svg.axes import Scale


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (-0.01, 0.05, (0, 0.02, 0.04)),
        (-0.3, 1, (0, 0.5, 1)),
        (0, 0.0123, (0, 0.0025, 0.005, 0.0075, 0.01)),
    ],
)
def test_ticks_are_round(low, high, ticks):
    assert Scale(low=low, high=high, start=0, end=100).ticks() == ticks


def test_bent_scales_have_places_for_zero_and_for_powers_of_ten():
    root = Scale(low=0, high=0.25, start=0, end=400, bend="root")
    assert [root.at(value) for value in (0, 0.0625, 0.25)] == [0, 200, 400]
    assert root.ticks()[0] == 0
    log = Scale(low=0.001, high=1, start=0, end=300, bend="log")
    assert [round(log.at(value), 9) for value in (0, 0.001, 0.01, 1)] == [0, 0, 100, 300]
    assert log.ticks() == (0.001, 0.01, 0.1, 1)


@given(st.sampled_from(["linear", "root", "log"]), st.floats(0, 100))
def test_a_place_goes_back_to_its_value(bend, place):
    scale = Scale(low=0.001, high=1, start=0, end=100, bend=bend)
    assert scale.at(scale.back(place)) == pytest.approx(place, abs=1e-6)
