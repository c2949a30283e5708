"""Numbers as parts of the normal curve, frequent values as choices."""

import numpy as np
import pytest
from scipy.special import ndtri

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.matrices.curves import OUTERMOST, CurvedColumn, CurveScheme, Distribution


def rng(seed=0):
    return np.random.default_rng(seed)


def labels(name, n):
    return Categorical(name=name, labels=tuple(map(str, range(n))))


def number(name, low=0.0, high=100.0, decimals=0):
    return Numeric(name=name, low=low, high=high, decimals=decimals)


def people(n):
    """A label, a number with missing values, and two real numbers."""
    random = rng()
    age = np.where(random.random(n) < 0.25, np.nan, random.integers(18, 100, n))
    columns = labels("ward", 5), number("age"), number("dose", -50, 50, None), number("level", -50, 50, None)
    cells = random.integers(0, 4, n), age, random.normal(size=n), 2 * random.normal(size=n)
    return Table(schema=Schema(columns), values=np.column_stack(cells).astype(float))


def test_a_curve_by_hand():
    # Ten rows of 20: the number 5. The others are alone, in the middle of their twentieth.
    curve = Distribution.of(np.array([5.0] * 10 + list(range(10, 20))))
    start, width = curve.parts(np.array([5.0, 10.0, 19.0]))
    assert start == pytest.approx([0.0, 0.525, 0.975])
    assert width == pytest.approx([0.5, 0.0, 0.0])
    assert curve.cells(np.array([0.0, 0.25, 0.5, 0.525, 0.55, 0.975, 1.0])) == pytest.approx(
        [5, 5, 5, 10, 10.5, 19, 19]
    )


def test_a_number_that_was_not_seen_lies_between_its_neighbors():
    curve = Distribution.of(np.arange(4.0))
    assert curve.parts(np.array([1.5, -9.0, 9.0]))[0] == pytest.approx([0.5, 0.125, 0.875])


def test_a_long_curve_has_a_thousand_points():
    curve = Distribution.of(rng().normal(size=20_000))
    assert 900 <= len(curve.values) <= 1002
    shares = (np.arange(99) + 1) / 100
    assert curve.cells(shares) == pytest.approx(ndtri(shares), abs=0.05)


def test_what_is_a_choice_and_what_a_number():
    def part(column, cells):
        return CurvedColumn.of(column, np.asarray(cells, dtype=float))

    assert part(labels("a", 900), np.arange(900)).curve is None
    assert part(number("a"), np.tile([1, 2, 3], 10)).curve is None  # few values, ten rows each
    assert part(number("a"), [1, 2, 3]).curve is not None  # few values, but everyone has their own
    spiked = part(number("a"), [*np.zeros(60), *np.arange(1, 41), np.nan])
    assert spiked.options[:-1].tolist() == [0.0]  # and missing
    assert np.isnan(spiked.options[-1])
    assert spiked.n_choices == 3  # and some other number
    assert spiked.choose(np.array([0.0, 7.0, np.nan])).tolist() == [0, 2, 1]
    assert part(number("a"), [np.nan, np.nan]).n_choices == 1
    assert part(number("a"), [4, 4]).n_choices == 1


def test_encoded_numbers_are_normal():
    known = people(3000)
    encoding = CurveScheme.of(known)
    rows = encoding.encode(known)
    shares = rows.start + rows.width * rng().random(rows.start.shape)
    numbers = ndtri(np.clip(shares, OUTERMOST, 1 - OUTERMOST))
    assert numbers.shape == (3000, 3)
    assert numbers.mean(axis=0) == pytest.approx(np.zeros(3), abs=0.05)
    assert numbers.std(axis=0) == pytest.approx(np.ones(3), abs=0.05)


def test_an_encoding_is_stored_as_arrays():
    known = people(100)
    encoding = CurveScheme.of(known)
    again = CurveScheme.from_state(known.schema, encoding.state())
    for ours, theirs in zip(encoding.encode(known), again.encode(known), strict=True):
        np.testing.assert_array_equal(ours, theirs)
