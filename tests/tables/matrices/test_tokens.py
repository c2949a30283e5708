"""Rows as tokens and back: exact, and never invalid."""

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies.strategies import schemas, tables

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.tables.matrices.numbering import Intervals, SeenLabels, Steps, numbering_of
from tabveil.tables.matrices.tokens import Drawing, TokenScheme, digit_groups, draw_tokens

NAN = math.nan


def rng(seed=0):
    return np.random.default_rng(seed)


def number(low, high, decimals=0, **more):
    return Numeric(name="x", low=low, high=high, decimals=decimals, **more)


def table(column, cells):
    return Table(schema=Schema((column,)), values=np.array(cells, dtype=float)[:, None])


def scheme_of(column, cells):
    return TokenScheme.of(table(column, cells))


def round_trip(given_table):
    scheme = TokenScheme.of(given_table)
    return scheme.decode(scheme.encode(given_table), rng=rng())


def test_the_digits_of_a_number_by_hand():
    # Five digits: groups of two, two and one, the first digits first.
    scheme = scheme_of(number(0, 99999), [7, 12345, 99340])
    assert [place.seen for place in scheme.places] == [(0, 12, 99), (0, 34), (0, 5, 7)]
    np.testing.assert_array_equal(
        scheme.encode(table(number(0, 99999), [7, 12345, 99340])), [[0, 0, 2], [1, 1, 1], [2, 1, 0]]
    )


def test_missing_is_a_token_at_every_position_of_the_column():
    column = number(0, 2000)
    scheme = scheme_of(column, [1000, NAN, 2011])
    assert [place.seen for place in scheme.places] == [(-1, 10, 20), (-1, 0, 11)]
    np.testing.assert_array_equal(scheme.encode(table(column, [NAN, 2011])), [[0, 0], [2, 2]])


def test_what_never_changes_takes_no_position():
    assert scheme_of(number(0, 9), [4, 4, 4]).sizes == ()
    assert scheme_of(number(0, 9), [NAN, NAN]).sizes == ()
    assert scheme_of(Categorical(name="x", labels=("a", "b")), [1, 1]).sizes == ()
    assert scheme_of(number(0, 9), [4, NAN]).sizes == (2,)
    assert scheme_of(number(0, 20000), [10005, 10107]).sizes == (
        2,
        2,
    )  # 0 and 102 above the smallest: 00 10, then 0 2


def test_only_seen_labels_have_a_token():
    column = Categorical(name="x", labels=tuple("abcdef"))
    scheme = scheme_of(column, [4, 1, NAN, 4])
    assert scheme.sizes == (3,)
    decoded = scheme.decode(np.array([[0], [1], [2]]), rng=rng())
    np.testing.assert_array_equal(decoded.values[:, 0], [NAN, 1, 4])


def test_ten_thousand_labels_take_one_position():
    column = Categorical(name="x", labels=tuple(map(str, range(10_000))))
    assert scheme_of(column, np.arange(10_000)).sizes == (10_000,)


@pytest.mark.parametrize(
    ("column", "cells", "offset", "step"),
    [
        (number(17, 90), [17, 90, 33], 0, 1),  # as many digits either way: round numbers stay round
        (number(1990, 2024), [1990, 2024, 2001], 1990, 1),  # two digits instead of four
        (number(-5, 5), [-5, 5, 0], -5, 1),  # three numbers have a common step by accident
        (number(0, 90000), range(0, 90001, 7500), 0, 7500),  # thirteen do not
        (number(0, 2e6, arbitrary_zero=True), [86400.0, 2 * 86400, 5 * 86400], 86400, 86400),  # days
        (number(0.25, 9.75, 2), [0.25, 9.75], 0, 1),
    ],
)
def test_offset_and_step_by_hand(column, cells, offset, step):
    numbering = numbering_of(column, np.array(cells))
    assert isinstance(numbering, Steps)
    assert (numbering.offset, numbering.step) == (offset, step)
    np.testing.assert_array_equal(round_trip(table(column, cells)).values[:, 0], cells)


def test_moments_in_microseconds_come_back_exactly():
    cells = 1_700_000_000_000_000 + rng().integers(0, 10**14, 50)
    column = number(float(cells.min()), float(cells.max()), arbitrary_zero=True)
    np.testing.assert_array_equal(round_trip(table(column, cells)).values[:, 0], cells)


def test_numbers_too_large_to_be_exact_are_cut_into_intervals():
    cells = np.linspace(0, 1e100, 40)
    numbering = numbering_of(number(0, 1e100), cells)
    assert isinstance(numbering, Intervals)
    assert len(numbering.lows) == 8  # 40 rows, 5 each


def test_intervals_by_hand():
    # Ten rows share 2.5, so it stands alone; the other ten are two groups on either side of it.
    cells = np.array([0.5, 0.6, 0.7, 0.8, 0.9, *[2.5] * 10, 3.1, 3.2, 3.3, 3.4, 3.5])
    numbering = Intervals.of(cells)
    assert numbering.lows == pytest.approx((0.5, 2.5, 2.8))
    assert numbering.highs == pytest.approx((1.7, 2.5, 3.5))
    np.testing.assert_array_equal(numbering.numbers(cells), np.repeat([0, 1, 2], [5, 10, 5]))


def test_no_number_without_decimals_is_repeated_unless_shared():
    cells = np.append(rng().normal(size=300), np.full(10, 0.123456789))
    column = Numeric(name="x", low=float(cells.min()), high=float(cells.max()))
    drawn = round_trip(table(column, cells)).values[:, 0]
    np.testing.assert_array_equal(drawn[300:], cells[300:])
    assert not np.isin(drawn[:300], cells).any()
    scheme = scheme_of(column, cells)
    numbering = scheme.columns[0].numbering
    lows, highs = (np.array(bounds)[numbering.numbers(cells)] for bounds in (numbering.lows, numbering.highs))
    assert ((lows <= drawn) & (drawn <= highs)).all()  # each in the interval it came from


def test_never_more_than_a_thousand_intervals():
    cells = rng().normal(size=20_000)
    assert len(Intervals.of(cells).lows) == 1000


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_draw_leaves_the_seen_range_or_comes_to_a_dead_end(data):
    given_table = data.draw(tables(data.draw(schemas()), max_rows=12))
    scheme = TokenScheme.of(given_table)
    drawing = Drawing(scheme, 40)
    random = rng(data.draw(st.integers(0, 99)))
    for position, size in enumerate(scheme.sizes):
        allowed = drawing.allowed(position)
        assert allowed is None or allowed.any(axis=1).all()
        logits = np.zeros((40, size), dtype=np.float32)  # all tokens alike: the worst case
        drawing.take(position, draw_tokens(logits, allowed, random.random(40)))
    drawn = drawing.table(rng=random)
    for column, cells, known in zip(
        given_table.schema.columns, drawn.values.T, given_table.values.T, strict=True
    ):
        seen = known[~np.isnan(known)]
        present = cells[~np.isnan(cells)]
        assert not len(present) or (seen.min() <= present.min() and present.max() <= seen.max())
        assert len(seen) < len(known) or len(present) == len(cells)
        if isinstance(column, Categorical):
            assert np.isin(present, seen).all()


def test_a_prefix_at_the_edge_may_only_be_followed_by_what_stays_inside():
    column = number(0, 99999)
    scheme = scheme_of(column, [19912, 20550, 30112])  # places: 19 20 30, 91 55 11, 2 0
    drawing = Drawing(scheme, 3)
    assert drawing.allowed(0).all()
    drawing.take(0, np.array([0, 1, 2]))
    np.testing.assert_array_equal(  # 11, 55, 91 after 19 (at least 1991), after 20, after 30 (at most 3011)
        drawing.allowed(1), [[False, False, True], [True, True, True], [True, False, False]]
    )


def test_missing_once_is_missing_to_the_end():
    scheme = scheme_of(number(0, 2000), [1000, NAN, 2011])
    drawing = Drawing(scheme, 2)
    assert drawing.allowed(0).all()
    drawing.take(0, np.array([0, 2]))
    np.testing.assert_array_equal(drawing.allowed(1), [[True, False, False], [False, True, True]])


def test_tokens_are_drawn_with_their_probabilities():
    logits = np.log(np.array([[0.2, 0.5, 0.3]], dtype=np.float32)).repeat(4, axis=0)
    uniforms = np.array([0.1, 0.3, 0.69, 0.99999999])
    np.testing.assert_array_equal(draw_tokens(logits, None, uniforms), [0, 1, 1, 2])
    allowed = np.array([[True, False, True]]).repeat(4, axis=0)  # 0.4 and 0.6 are left
    np.testing.assert_array_equal(
        draw_tokens(logits, allowed, np.array([0.0, 0.39, 0.41, 1 - 2**-53])), [0, 0, 2, 2]
    )


def test_groups_of_digits_by_hand():
    assert digit_groups(0) == [(1, 10)]
    assert digit_groups(99) == [(1, 100)]
    assert digit_groups(100) == [(10, 100), (1, 10)]


def test_a_scheme_is_plain_data():
    schema = Schema(
        (number(0, 99), Categorical(name="y", labels=("a", "b")), Numeric(name="z", low=0, high=1))
    )
    values = np.column_stack([rng().integers(0, 99, 60), rng().integers(0, 2, 60), rng().random(60)])
    scheme = TokenScheme.of(Table(schema=schema, values=values))
    assert TokenScheme.from_json(schema, json.loads(json.dumps(scheme.to_json()))) == scheme
    assert isinstance(scheme.columns[1].numbering, SeenLabels)
