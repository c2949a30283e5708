"""A ratio of two uncertain numbers: by hand, by search, by simulation; and when there is none."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from tabveil.core.estimate import Estimate, difference, known, ratio


def around(value, below, above=None):
    return Estimate(value=value, low=value - below, high=value + (below if above is None else above), n=10)


def by_fieller(a, error_a, b, error_b):
    """Fieller's interval of a / b with symmetric errors, from the textbook."""
    g = (error_b / b) ** 2
    middle = a / b
    half = math.sqrt(error_a**2 * (1 - g) + middle**2 * error_b**2) / b
    return (middle - half) / (1 - g), (middle + half) / (1 - g)


@pytest.mark.parametrize(
    ("a", "error_a", "b", "error_b"), [(1, 0.2, 2, 0.4), (0.1, 0.3, 1, 0.5), (-1, 0.1, 2, 1)]
)
def test_symmetric_errors_give_the_interval_of_fieller(a, error_a, b, error_b):
    found = ratio(around(a, error_a), around(b, error_b))
    assert (found.low, found.high) == pytest.approx(by_fieller(a, error_a, b, error_b))
    assert found.value == a / b


def test_what_is_known_exactly_has_an_exact_ratio():
    assert ratio(known(3.0, 5), known(4.0, 5)) == Estimate(value=0.75, low=0.75, high=0.75, n=5)
    only_over = ratio(around(3.0, 1.0), known(4.0, 5))
    assert (only_over.low, only_over.high) == pytest.approx((0.5, 1.0))


@pytest.mark.parametrize("under", [around(0.2, 0.2), around(0.0, 0.1), around(-1.0, 0.1), known(0.0, 9)])
def test_what_may_be_zero_has_no_ratio(under):
    assert ratio(around(1.0, 0.1), under) is None


@pytest.mark.parametrize("unknown", [math.nan, math.inf])
def test_what_is_no_number_has_no_ratio(unknown):
    clear = around(1.0, 0.1)
    assert ratio(replace(clear, high=unknown), clear) is None
    assert ratio(clear, replace(clear, high=unknown)) is None


def bounds(over, under):
    """The interval by search: where zero leaves the bounds of over - r · under."""

    def low(r):
        other = under.high - under.value if r > 0 else under.value - under.low
        return over.value - r * under.value - math.hypot(over.value - over.low, r * other)

    def high(r):
        other = under.value - under.low if r > 0 else under.high - under.value
        return over.value - r * under.value + math.hypot(over.high - over.value, r * other)

    return brentq(low, -1e6, 1e6), brentq(high, -1e6, 1e6)


@given(
    st.floats(-2, 2),
    st.floats(0.001, 2),
    st.floats(0.001, 2),
    st.floats(0.1, 2),
    st.floats(0.01, 0.95),
    st.floats(0.001, 3),
)
def test_the_interval_is_where_zero_leaves_the_bounds(value, below, above, under, part_below, beyond):
    over, other = around(value, below, above), around(under, under * part_below, beyond)
    found = ratio(over, other)
    assert found.low <= found.value <= found.high
    assert (found.low, found.high) == pytest.approx(bounds(over, other), rel=1e-5, abs=1e-7)
    turned = ratio(Estimate(value=-over.value, low=-over.high, high=-over.low, n=10), other)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


def gain(rng, n, rate, caught):
    """The gain of an attack over a control of which so many were caught."""
    return difference(int(rng.binomial(n, rate)), n, caught, n, 0.95)


@pytest.mark.parametrize(
    ("pipeline", "generator", "shared"),
    [(0.1, 0.3, False), (0.3, 0.3, True), (0.0, 0.2, True), (0.4, 0.15, False), (0.02, 0.04, True)],
)
def test_intervals_hold_the_truth_as_often_as_they_say(pipeline, generator, shared):
    rng, n, base, repeats = np.random.default_rng(1), 400, 0.1, 500
    n_shown = n_missed = 0
    for _ in range(repeats):
        caught = rng.binomial(n, base, size=2)
        over = gain(rng, n, base + pipeline, int(caught[0]))
        under = gain(rng, n, base + generator, int(caught[0 if shared else 1]))
        found = ratio(over, under)
        n_shown += found is not None
        n_missed += found is not None and not found.low <= pipeline / generator <= found.high
    chance = 3 * math.sqrt(0.05 * 0.95 / repeats)
    assert n_missed / repeats <= 0.05 + chance  # of all comparisons, those counted that show nothing
    if generator >= 0.15:
        assert n_shown == repeats
