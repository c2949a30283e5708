from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies.populations import population
from supplies.strategies import splits

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.core.workers import working
from tabveil.metrics.attacks.singling_out.isolation import Isolation, chance_of_one
from tabveil.metrics.attacks.singling_out.predicates import (
    LISTED,
    Predicates,
    around_rows,
    draw_isolating,
    draw_naive,
    half_lines,
    match,
    univariate,
    windows,
)
from tabveil.tables.matrices.ordinal import MISSING
from tabveil.tables.matrices.ranked_tables import ValueRanks

NAN = np.nan
SCHEMA = Schema((Numeric(name="x", low=0, high=99), Categorical(name="c", labels=("O'Brien", '"', "b", ""))))
on_tables = settings(max_examples=40, deadline=None)


def table(*rows):
    return Table(schema=SCHEMA, values=np.array(rows, dtype=float).reshape(-1, 2))


def coded(synthetic, *others):
    return ValueRanks.of(synthetic, *others).encode(synthetic)


def holds(predicates, encoded):
    """Compare every predicate with every row: (m, n)."""
    cells = encoded.codes[predicates.columns]  # (m, k, n)
    return ((cells >= predicates.low[:, :, None]) & (cells <= predicates.high[:, :, None])).all(axis=1)


def ranges(form, encoded, column):
    """Return {code: (low, high)} for the codes the column holds."""
    at = encoded.ranks.offsets[column]
    held = np.flatnonzero(encoded.counts(column))
    return {int(code): (int(form.low[at + code]), int(form.high[at + code])) for code in held}


@pytest.mark.parametrize("cells", [[1, 2, 3, 4], [1, 2, 2, 2, 9], [1, 1, 5, 5], [7], [2, NAN, 8, NAN, 9]])
def test_half_lines_turn_at_the_median(cells):
    encoded = coded(table(*([cell, 0] for cell in cells)))
    values, median = encoded.ranks.columns[1].values, np.nanmedian(cells)
    for code, found in ranges(half_lines(encoded), encoded, 1).items():
        if code == MISSING:
            assert found == (MISSING, MISSING)
        else:
            assert found == ((code, len(values)) if values[code - 1] > median else (1, code))


def test_half_lines_reach_beyond_the_synthetic_values_but_not_to_missing():
    encoded = coded(table([3, 0], [5, 1]), table([1, 0], [9, 0], [NAN, 0]))
    assert ranges(half_lines(encoded), encoded, 1) == {2: (1, 2), 3: (3, 4)}


def test_windows_count_distinct_synthetic_values():
    encoded = coded(table(*([x, 0] for x in (10, 20, 20, 20, 30, 40, 50, NAN))), table([15, 0], [35, 0]))
    # Values 10 15 20 30 35 40 50; five distinct ones are synthetic, 20 % of them is one to each side.
    expected = {0: (0, 0), 1: (1, 3), 3: (1, 4), 4: (3, 6), 6: (4, 7), 7: (6, 7)}
    assert ranges(windows(encoded, 0.2), encoded, 1) == expected
    assert ranges(windows(encoded, 0.05), encoded, 1) == {code: (code, code) for code in expected}


def test_categories_are_met_by_equality():
    encoded = coded(table([1, 0], [1, 1], [1, NAN]))
    for form in (half_lines(encoded), windows(encoded, 1.0)):
        assert ranges(form, encoded, 0) == {0: (0, 0), 1: (1, 1), 2: (2, 2)}


def test_univariate_predicates_by_hand():
    encoded = coded(table([1, 0], [2, 0], [2, 1], [7, 1], [NAN, 2]), table([9, 0]))
    guesses = univariate(encoded, 100, rng=np.random.default_rng(0))
    found = {
        (int(c), int(a), int(b))
        for c, a, b in zip(guesses.columns[:, 0], guesses.low[:, 0], guesses.high[:, 0], strict=True)
    }
    # c: the third label; x (values 1 2 7 9): missing, = 1, = 7, at most 1, at least 7.
    assert found == {(0, 3, 3), (1, 0, 0), (1, 1, 1), (1, 3, 3), (1, 1, 1), (1, 3, 4)}
    assert len(guesses) == 6  # "= 1" and "at most 1" are two guesses
    assert len(univariate(encoded, 2, rng=np.random.default_rng(0))) == 2


def all_isolating(encoded, form, n_columns):
    """Try every row with every set of columns."""
    found = set()
    for columns in combinations(range(encoded.n_columns), n_columns):
        at = encoded.ranks.offsets[list(columns)][:, None] + encoded.codes[list(columns)]  # (k, n)
        shape = (encoded.codes.shape[1], n_columns)
        tried = Predicates(
            columns=np.broadcast_to(np.array(columns, np.int32), shape),
            low=form.low[at].T,
            high=form.high[at].T,
        )
        alone = holds(tried, encoded).sum(axis=1) == 1
        found |= {(int(row), columns) for row in np.flatnonzero(alone)}
    return found


@given(tables=splits(max_rows=25))
@on_tables
def test_drawn_predicates_are_distinct_and_isolate_one_row(tables):
    encoded = coded(tables.synthetic, tables.train, tables.control)
    rng = np.random.default_rng(0)
    for form in (half_lines(encoded), windows(encoded, 0.1)):
        for n_columns in range(1, min(encoded.n_columns, 3) + 1):
            expected = all_isolating(encoded, form, n_columns)
            for wanted in (5, 10_000):
                drawn = draw_isolating(encoded, form, n_columns, wanted, rng=rng)
                inside = holds(drawn, encoded)
                assert (inside.sum(axis=1) == 1).all()
                found = {
                    (int(row), tuple(sorted(columns)))
                    for row, columns in zip(inside.argmax(axis=1), drawn.columns.tolist(), strict=True)
                }
                assert len(found) == len(drawn)
                assert len(found) == min(wanted, len(expected))
                assert found <= expected


@given(tables=splits(max_rows=40))
@on_tables
def test_matches_equal_a_comparison_with_every_row(tables):
    ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
    synthetic = ranks.encode(tables.synthetic)
    rng = np.random.default_rng(0)
    for form in (half_lines(synthetic), windows(synthetic, 0.2)):
        for n_columns in range(1, synthetic.n_columns + 1):
            for guesses in (
                around_rows(synthetic, form, n_columns, rng.permutation(len(synthetic))[:100], rng=rng),
                draw_naive(synthetic, form, n_columns, 50, rng=rng),
            ):
                for role in (tables.train, tables.control):
                    encoded = ranks.encode(role)
                    found, inside = match(guesses, encoded), holds(guesses, encoded)
                    np.testing.assert_array_equal(found.counts, inside.sum(axis=1))
                    for i, count in enumerate(found.counts):
                        listed = found.people[i, : min(count, LISTED)]
                        assert inside[i, listed].all()
                        assert len(set(listed.tolist())) == len(listed)


@given(tables=splits(), n_people=st.integers(1, 4))
@settings(max_examples=40, deadline=None)
def test_matched_people_are_those_of_the_matching_rows(tables, n_people):
    ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
    synthetic, encoded = ranks.encode(tables.synthetic), ranks.encode(tables.train)
    rng = np.random.default_rng(n_people)
    whose = rng.integers(n_people, size=len(encoded))
    for n_columns in range(1, synthetic.n_columns + 1):
        guesses = draw_naive(synthetic, half_lines(synthetic), n_columns, 20, rng=rng)
        found, inside = match(guesses, encoded, whose), holds(guesses, encoded)
        for count, people, rows in zip(found.counts, found.people, inside, strict=True):
            assert sorted(people[:count]) == np.unique(whose[rows]).tolist()


def test_random_draws_where_there_are_too_many_to_try_all():
    encoded = coded(population("mixed", (1, 1, 900), seed=1).synthetic)
    form, rng = half_lines(encoded), np.random.default_rng(0)
    assert comb(5, 3) * 900 > 500 * 10
    drawn = draw_isolating(encoded, form, 3, 10, rng=rng)
    assert len(drawn) == 10
    assert (match(drawn, encoded).counts == 1).all()
    assert (np.diff(np.sort(drawn.columns, axis=1), axis=1) > 0).all()


def test_attempts_are_bounded_where_no_row_is_alone():
    schema = Schema(tuple(Categorical(name=str(i), labels=("a", "b")) for i in range(12)))
    same = Table(schema=schema, values=np.zeros((5000, 12)))
    encoded = ValueRanks.of(same).encode(same)
    assert len(draw_isolating(encoded, half_lines(encoded), 6, 100, rng=np.random.default_rng(0))) == 0


def test_threads_do_not_matter():
    encoded = coded(population("mixed", (1, 1, 5000), seed=1).synthetic)
    drawn = []
    for threads in (1, 3):
        with working(threads=threads):
            drawn.append(draw_isolating(encoded, half_lines(encoded), 3, 2000, rng=np.random.default_rng(0)))
    for name in ("columns", "low", "high"):
        np.testing.assert_array_equal(getattr(drawn[0], name), getattr(drawn[1], name))


@pytest.mark.parametrize(("n_rows", "size"), [(1, 1), (7, 7), (7, 3), (7, 1), (40, 13)])
def test_the_chance_of_one_is_hypergeometric(n_rows, size):
    expected = [m * comb(n_rows - m, size - 1) / comb(n_rows, size) if m else 0.0 for m in range(n_rows + 1)]
    np.testing.assert_allclose(chance_of_one(n_rows, n_rows, size), expected, atol=1e-12)


def test_expected_rates_are_those_of_real_samples():
    tables = population("mixed", (900, 300, 300), seed=2)
    ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
    synthetic = ranks.encode(tables.synthetic)
    rng = np.random.default_rng(0)
    guesses = draw_isolating(synthetic, half_lines(synthetic), 3, 300, rng=rng)
    counts = match(guesses, ranks.encode(tables.train)).counts
    expected = chance_of_one(int(counts.max()), 900, 300)[counts].mean()
    sampled = []
    for _ in range(200):
        sample = ranks.encode(tables.train.take(rng.choice(900, 300, replace=False)))
        sampled.append(np.mean(match(guesses, sample).counts == 1))
    assert expected == pytest.approx(np.mean(sampled), abs=4 * np.std(sampled) / np.sqrt(200))


def isolation(guesses, tables, ranks):
    found = [match(guesses, ranks.encode(side)) for side in (tables.train, tables.control)]
    columns = np.zeros((len(found[0].counts), 1), dtype=np.int32)
    return Isolation(
        columns=columns, train=found[0], control=found[1], naive=found[0], n_train=100, n_control=100
    )


def test_guesses_about_one_row_are_worth_one():
    tables = population("normal", (100, 100, 100), leak=1.0)
    ranks = ValueRanks.of(tables.train, tables.control, tables.synthetic)
    synthetic = ranks.encode(tables.synthetic)
    rng = np.random.default_rng(0)
    guesses = around_rows(synthetic, windows(synthetic, 0.0), 4, rng.permutation(100), rng=rng)
    assert isolation(guesses, tables, ranks).independent(rng=rng) > 80
    repeated = guesses.take(np.repeat(np.arange(10), 10))
    assert 7 < isolation(repeated, tables, ranks).independent(rng=rng) < 14
