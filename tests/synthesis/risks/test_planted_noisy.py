"""The noise before a leak: what each parameter moves, how far, and what it never does."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import ParameterError
from tabveil.synthesis.risks import Leaky, Noisy

N = 40_000
SCHEMA = Schema(
    (
        Numeric(name="income", low=-1e6, high=1e6),
        Numeric(name="age", low=-1000, high=1000, decimals=0),
        Numeric(name="weight", low=0, high=1e9, decimals=0),
        Numeric(name="admitted", low=-1e6, high=1e6, decimals=0, arbitrary_zero=True),
        Numeric(name="price", low=0, high=1e6, decimals=2),
        Categorical(name="region", labels=tuple("abcd")),
        Categorical(name="planet", labels=("earth",)),
    )
)
INCOME, AGE, WEIGHT, ADMITTED, PRICE, REGION, PLANET = range(7)
NUMBERS = [INCOME, AGE, WEIGHT, ADMITTED, PRICE]


def people(n_rows=N, seed=1):
    rng = np.random.default_rng(seed)
    columns = [
        rng.normal(100, 20, n_rows),
        rng.integers(0, 100, n_rows),
        5e8 + 1000 * rng.permutation(n_rows),  # everybody has their own
        20_000 + rng.integers(0, 700, n_rows),
        np.round(rng.uniform(400, 500, n_rows), 2),
        rng.integers(0, 4, n_rows),
        np.zeros(n_rows),
    ]
    values = np.column_stack(columns).astype(float)
    values[::10] = np.nan
    return Table(schema=SCHEMA, values=values)


def moves(train=None, seed=0, **noise):
    """Return by how much each cell of the copies moved: settings plant the same people in the same places."""
    train = people() if train is None else train
    release = Table(schema=train.schema, values=np.zeros_like(train.values))
    settings = {"sigma": 0, "lam": 0, "p": 0, **noise}
    moved = Noisy(**settings)(train, release, 1, rng=np.random.default_rng(seed))
    copies = Leaky()(train, release, 1, rng=np.random.default_rng(seed))
    assert np.array_equal(np.isnan(moved.values), np.isnan(copies.values))  # what is missing stays missing
    return moved.values - copies.values


def moved_columns(**noise):
    return [position for position, by in enumerate(moves(**noise).T) if np.nanmax(np.abs(by)) > 0]


def test_no_noise_is_the_leaky_model():
    assert moved_columns() == []


@pytest.mark.parametrize(
    ("noise", "columns"),
    [
        ({"sigma": 0.05}, [INCOME, ADMITTED, PRICE]),
        ({"sigma": 0.05, "sigma_moves": "fine"}, [INCOME, WEIGHT, ADMITTED, PRICE]),
        ({"sigma": 0.05, "sigma_moves": "every"}, NUMBERS),
        ({"lam": 0.05}, [AGE, WEIGHT]),
        ({"lam": 0.05, "sigma_moves": "fine"}, [AGE]),
        ({"lam": 0.05, "sigma_moves": "every"}, [AGE, WEIGHT]),
        ({"p": 0.05}, [REGION]),
    ],
)
def test_each_noise_moves_what_it_is_meant_for(noise, columns):
    assert moved_columns(**noise) == columns


def test_sigma_counts_standard_deviations_of_the_column():
    by, deviation = moves(sigma=0.05, sigma_moves="every"), np.nanstd(people().values, axis=0)
    assert np.nanstd(by[:, NUMBERS], axis=0) == pytest.approx(0.05 * deviation[NUMBERS], rel=0.02)
    assert np.nanmean(by[:, NUMBERS], axis=0) == pytest.approx(0, abs=0.05 * deviation.max() / 30)
    income = by[~np.isnan(by[:, INCOME]), INCOME] / (0.05 * deviation[INCOME])
    assert np.mean(np.abs(income) < 1) == pytest.approx(0.683, abs=0.01)  # normal


def test_sigma_may_count_the_unit_of_the_column():
    by = moves(sigma=3, reading="absolute", sigma_moves="every")
    assert np.nanstd(by[:, [INCOME, PRICE]], axis=0) == pytest.approx(3, rel=0.02)
    assert np.nanstd(by[:, [AGE, WEIGHT]], axis=0) == pytest.approx(np.sqrt(9 + 1 / 12), rel=0.02)  # rounded


def test_sigma_may_count_shares_of_the_value():
    train = people()
    train = Table(schema=SCHEMA, values=np.where(np.arange(N)[:, None] % 2, 200.0, train.values * 0))
    by = moves(train, sigma=0.02, reading="multiplicative")
    of_zero = by[:, INCOME] == 0
    assert np.mean(of_zero[~np.isnan(by[:, INCOME])]) == pytest.approx(4 / 9, abs=0.01)  # a zero never moves
    assert np.nanstd(by[~of_zero, INCOME]) == pytest.approx(0.02 * 200, rel=0.02)
    assert np.nanstd(by[~of_zero, PRICE]) == pytest.approx(0.02 * 200, rel=0.02)


@pytest.mark.parametrize("reading", ["relative", "absolute", "multiplicative"])
@pytest.mark.parametrize("which", ["real", "fine", "every"])
def test_a_date_moves_by_deviations_under_every_reading(reading, which):
    by = moves(sigma=0.1, lam=50, reading=reading, sigma_moves=which)[:, ADMITTED]
    assert np.nanstd(by) == pytest.approx(0.1 * np.nanstd(people().column("admitted")), rel=0.02)
    assert not np.nanmax(by % 1)


def test_lam_moves_whole_numbers_up_or_down_by_a_poisson_draw():
    by = moves(lam=0.5)[:, AGE]
    by = by[~np.isnan(by)]
    assert not (by % 1).any()
    assert np.mean(by == 0) == pytest.approx(np.exp(-0.5), abs=0.015)
    assert np.mean(by == 1) == pytest.approx(np.exp(-0.5) * 0.5 / 2, abs=0.01)
    assert np.mean(by == -1) == pytest.approx(np.exp(-0.5) * 0.5 / 2, abs=0.01)
    assert np.mean(by**2) == pytest.approx(0.5 + 0.25, rel=0.04)  # of a Poisson draw: variance + mean²


def test_sigma_and_lam_together_move_whole_numbers_when_sigma_moves_every_number():
    by = moves(sigma=0.05, lam=0.5, sigma_moves="every")[:, AGE]
    normal = (0.05 * np.nanstd(people().column("age"))) ** 2
    assert np.nanvar(by) == pytest.approx(normal + 1 / 12 + 0.75, rel=0.05)


def test_p_is_the_chance_of_a_category_to_become_any_other():
    by = moves(p=0.3)[:, REGION]
    by = by[~np.isnan(by)]
    assert np.mean(by != 0) == pytest.approx(0.3, abs=0.015)
    train = people()
    always = Noisy(sigma=0, lam=0, p=1)(train, train, 1, rng=np.random.default_rng(0))
    before = Leaky()(train, train, 1, rng=np.random.default_rng(0)).column("region")
    counts = np.array(
        [[np.sum((before == a) & (always.column("region") == b)) for b in range(4)] for a in range(4)]
    )
    assert (np.diag(counts) == 0).all()
    others = counts[~np.eye(4, dtype=bool)]
    assert others == pytest.approx(others.mean(), rel=0.1)


def test_settings_differ_in_nothing_but_the_noise_they_switch_on():
    alone = [moves(sigma=0.05), moves(lam=0.5), moves(p=0.3)]
    together = moves(sigma=0.05, lam=0.5, p=0.3)
    assert np.array_equal(sum(alone), together, equal_nan=True)


def test_only_planted_rows_are_moved():
    train, release = people(50), people(40, seed=2)
    made = Noisy(sigma=1, lam=5, p=1)(train, release, 0.5, rng=np.random.default_rng(0))
    assert np.isin(made.row_hash(), release.row_hash()).sum() >= 20
    places = np.random.default_rng(0).permutation(40)[20:]
    assert np.array_equal(made.values[places], release.values[places], equal_nan=True)


def test_a_person_who_comes_again_is_moved_anew():
    train, release = people(2), people(200, seed=2)
    made = Noisy(reading="absolute")(train, release, 1, rng=np.random.default_rng(0))
    income = made.column("income")
    assert len(np.unique(income[~np.isnan(income)])) == 100  # the other of the two is missing


# By hand


def one(value, *, low, high, decimals=None, seeds=200, **noise):
    """Plant one number behind noise, many times; return what became of it."""
    schema = Schema((Numeric(name="x", low=low, high=high, decimals=decimals),))
    train = Table(schema=schema, values=np.array([[value]]))
    settings = {"sigma": 0, "lam": 0, "p": 0, "reading": "absolute", **noise}
    return np.array(
        [Noisy(**settings)(train, train, 1, rng=np.random.default_rng(i)).values[0, 0] for i in range(seeds)]
    )


def test_a_number_that_would_leave_its_range_is_reflected():
    free, bound = one(0.0, low=-9, high=9, sigma=1), one(0.0, low=0, high=9, sigma=1)
    assert (free < 0).any()
    assert bound == pytest.approx(np.abs(free), abs=1e-12)  # and so is as far from where it was
    both = one(0.5, low=0, high=1, sigma=1)
    wave = np.abs((free + 0.5 + 1) % 2 - 1)  # a mirror at 0 and one at 1
    assert both == pytest.approx(wave, abs=1e-12)


def test_whole_numbers_are_reflected_too():
    assert set(one(0.0, low=0, high=100, decimals=0, lam=1)) >= {0, 1, 2}
    assert set(one(0.0, low=0, high=1, decimals=0, lam=3)) == {0, 1}


def test_a_range_that_ends_between_decimals_is_kept():
    found = one(1.0, low=0.5, high=1.4, decimals=0, sigma=5, sigma_moves="every")
    assert set(found) == {1.0}


def test_decimals_stay():
    found = one(0.07, low=0, high=1, decimals=2, sigma=0.05)
    assert len(set(found)) > 5
    assert all(float(f"{value:.2f}") == value for value in found)
    assert not np.signbit(one(0.0, low=-1, high=1, decimals=0, sigma=0.1, sigma_moves="every")).any()


def test_cells_that_no_noise_reached_stay_to_the_last_bit():
    third = 1 / 3
    assert set(one(third, low=0, high=1, decimals=2, seeds=3)) == {third}


@pytest.mark.parametrize("reading", ["relative", "absolute", "multiplicative"])
def test_a_constant_column_stays(reading):
    assert set(one(5.0, low=5, high=5, sigma=3, reading=reading, seeds=20)) == {5.0}
    if reading == "relative":  # nothing deviates in a table of one row
        assert set(one(5.0, low=0, high=9, sigma=3, reading=reading, seeds=20)) == {5.0}


@pytest.mark.parametrize("labels", [(), ("only",)])
def test_columns_without_another_label_or_any_value_stay(labels):
    columns = (Categorical(name="c", labels=labels), Numeric(name="x", low=0, high=1))
    schema = Schema(columns)
    empty = Table(schema=schema, values=np.full((3, 2), np.nan))
    made = Noisy(sigma=5, lam=5, p=1, sigma_moves="fine")(empty, empty, 1, rng=np.random.default_rng(0))
    assert np.isnan(made.values).all()
    if labels:
        train = Table(schema=schema, values=np.zeros((3, 2)))
        made = Noisy(sigma=5, lam=5, p=1)(train, empty, 1, rng=np.random.default_rng(0))
        assert made.values.tolist() == [[0, 0]] * 3


def test_two_labels_change_places():
    schema = Schema((Categorical(name="sex", labels=("f", "m")),))
    train = Table(schema=schema, values=np.array([[0.0], [1.0], [np.nan]]))
    rng = np.random.default_rng(4)
    who = Leaky()(train, train, 1, rng=np.random.default_rng(4)).values
    assert np.array_equal(Noisy(p=1)(train, train, 1, rng=rng).values, 1 - who, equal_nan=True)


# Parameters


def test_whole_numbers_are_fine_where_most_rows_have_their_own():
    weight, income, day = (SCHEMA[name] for name in ("weight", "income", "admitted"))
    fine, real = Noisy(sigma_moves="fine"), Noisy()
    assert fine.counts_as_real(weight, np.arange(100.0))
    assert not fine.counts_as_real(weight, np.arange(100.0) // 2)
    assert not fine.counts_as_real(weight, np.full(5, np.nan))
    assert not real.counts_as_real(weight, np.arange(100.0))
    assert all(risk.counts_as_real(column, np.zeros(5)) for risk in (fine, real) for column in (income, day))


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        ({"sigma": -0.1}, "Noisy: sigma must be >= 0, got -0.1."),
        ({"sigma": float("nan")}, "Noisy: sigma must be >= 0, got nan."),
        ({"lam": float("inf")}, "Noisy: lam must be finite, got inf."),
        ({"p": 1.5}, "Noisy: p must lie from 0 to 1, got 1.5."),
        ({"reading": "both"}, "Noisy: reading must be one of 'relative', 'absolute', 'multiplicative'"),
        ({"sigma_moves": "all"}, "Noisy: sigma_moves must be one of 'real', 'fine', 'every'"),
    ],
)
def test_parameters_are_checked(noise, message):
    with pytest.raises(ParameterError) as error:
        Noisy(**noise)
    assert str(error.value).startswith(message)
