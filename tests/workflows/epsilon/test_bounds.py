"""Bounds of ε: by hand, by published numbers, and never above the truth where the truth is known."""

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import beta, binom

from tabveil.core.estimate import exact_rate
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.aim import zcdp
from tabveil.synthesis.generators.pategan import accounting as gaussian
from tabveil.workflows.epsilon import bounds
from tabveil.workflows.epsilon.bounds import (
    CanaryGuesses,
    Guess,
    GuessCounts,
    ceiling,
    guess_members,
    guess_pairs,
    least_epsilon,
    least_rho,
)

ALPHA, DELTA = 0.05, 1e-5


def perfect(n):
    return GuessCounts(hits=n, n_with=n, false_alarms=0, n_without=n)


def test_exact_rates_are_those_of_the_beta_distribution():
    for k, n in ((0, 7), (3, 7), (7, 7), (40, 1000)):
        found = exact_rate(k, n, 0.9)
        assert found.low == pytest.approx(beta.ppf(0.05, k, n - k + 1) if k else 0.0)
        assert found.high == pytest.approx(beta.ppf(0.95, k + 1, n - k) if k < n else 1.0)
        assert found.value == k / n
        # What makes them exact: beyond either bound the count would be rarer than the tail.
        assert binom.sf(k - 1, n, found.low) == pytest.approx(0.05 if k else 1.0)
        assert binom.cdf(k, n, found.high) == pytest.approx(0.05 if k < n else 1.0)


def test_a_bound_by_hand():
    counts = GuessCounts(hits=90, n_with=100, false_alarms=20, n_without=200)
    low, high = beta.ppf(0.025, 90, 11), beta.ppf(0.975, 21, 180)
    assert least_epsilon(counts, "any", delta=0.01, alpha=ALPHA) == pytest.approx(
        math.log((low - 0.01) / high)
    )


@pytest.mark.parametrize(("n", "most"), [(100, 3.3), (400, 4.7), (1000, 5.6), (5000, 7.2)])
def test_perfect_guesses_reach_the_ceiling_and_no_more(n, most):
    q = (ALPHA / 2) ** (1 / n)
    assert ceiling(n, delta=0, alpha=ALPHA) == pytest.approx(math.log(q / (1 - q)))
    assert round(ceiling(n, delta=0, alpha=ALPHA), 1) == most
    low = np.arange(2 * n).reshape(-1, 1)
    high = low + 9 * n
    guess = Guess.learn(high[::2], low[::2])
    counts = guess.count(high[1::2], low[1::2])
    assert guess.area(high[1::2], low[1::2], 0.9).value == 1
    assert least_epsilon(counts, "any", delta=0, alpha=ALPHA) == ceiling(n, delta=0, alpha=ALPHA)


@pytest.mark.parametrize("kind", ["any", "concentrated", "gaussian"])
def test_guesses_that_tell_nothing_or_the_wrong_thing_prove_nothing(kind):
    for hits, alarms in ((50, 50), (0, 100), (0, 0), (100, 100)):
        counts = GuessCounts(hits=hits, n_with=100, false_alarms=alarms, n_without=100)
        assert least_epsilon(counts, kind, delta=DELTA, alpha=ALPHA) == 0


def test_delta_is_taken_off():
    counts = GuessCounts(hits=5, n_with=100, false_alarms=0, n_without=10_000)
    assert least_epsilon(counts, "any", delta=0, alpha=ALPHA) > 3
    assert least_epsilon(counts, "any", delta=0.5, alpha=ALPHA) == 0


def test_impossible_counts_are_refused():
    with pytest.raises(ParameterError, match="hits must be <= 3"):
        GuessCounts(hits=4, n_with=3, false_alarms=0, n_without=3)
    with pytest.raises(ParameterError, match="fits must be >= 1"):
        GuessCounts(hits=0, n_with=0, false_alarms=0, n_without=3)


# Gaussian and concentrated privacy


def test_published_numbers_of_gaussian_noise():
    # Aim at ε = 1, δ = 0.01 has rho = μ² / 2 of μ = 0.455 (membership notes); the rest by quadrature.
    assert math.sqrt(2 * zcdp.rho_of(1.0, 1e-2)) == pytest.approx(0.455, abs=1e-3)
    x = np.linspace(-12, 12, 200_001)
    density = np.exp(-(x**2) / 2) / math.sqrt(2 * math.pi)
    shifted = np.exp(-((x - 1) ** 2) / 2) / math.sqrt(2 * math.pi)
    by_hand = np.trapezoid(np.maximum(shifted - math.e**0.7 * density, 0), x)
    assert gaussian.delta_of(1.0, 0.7) == pytest.approx(by_hand, abs=1e-6)
    area = float(ndtr(1 / math.sqrt(2)))
    assert bounds.epsilon_of_area(area, DELTA) == pytest.approx(gaussian.epsilon_of(1.0, DELTA))
    assert bounds.epsilon_of_area(0.4, DELTA) == 0


def test_the_divergence_of_two_coins_by_hand():
    # Near order 1 it is Kullback's and Leibler's: 0.9 ln 9 + 0.1 ln (1/9).
    assert float(least_rho(0.9, 0.1)) == pytest.approx(0.8 * math.log(9), rel=1e-2)
    order = 3.0
    renyi = math.log(0.9**order * 0.1 ** (1 - order) + 0.1**order * 0.9 ** (1 - order)) / (order - 1)
    assert float(least_rho(0.9, 0.1)) >= renyi / order
    assert float(least_rho(0.3, 0.3)) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_rates_of_gaussian_noise_break_no_account_of_it(mu):
    """Every point of the curve of Gaussian noise is allowed: rho is μ² / 2 at most."""
    alarms = np.linspace(0.001, 0.999, 500)
    hits = ndtr(mu + bounds.ndtri(alarms))
    assert (least_rho(hits, alarms) <= mu**2 / 2 + 1e-12).all()


# Bounds against the truth


def simulate(rng, n, mu):
    """Count the hits and false alarms of the best threshold on Gaussian noise, in many audits."""
    rate = float(ndtr(mu / 2))
    return [
        GuessCounts(hits=int(a), n_with=n, false_alarms=int(b), n_without=n)
        for a, b in zip(rng.binomial(n, rate, 200), rng.binomial(n, 1 - rate, 200), strict=True)
    ]


@pytest.mark.parametrize("epsilon", [1.0, 4.0, 10.0])
@pytest.mark.parametrize("kind", ["any", "concentrated", "gaussian"])
def test_of_gaussian_noise_a_bound_is_below_the_truth(kind, epsilon):
    rng = np.random.default_rng(1)
    mu = gaussian.mu_of(epsilon, DELTA)
    # What concentrated privacy says of the noise is more than the truth: that is what the promise would be.
    truth = zcdp.epsilon_of(mu**2 / 2, DELTA) if kind == "concentrated" else epsilon
    found = np.array([least_epsilon(c, kind, delta=DELTA, alpha=ALPHA) for c in simulate(rng, 500, mu)])
    assert np.mean(found <= truth) >= 0.95
    assert kind == "any" or np.median(found) > 0.4 * truth or epsilon < 4


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_of_randomized_response_a_bound_is_below_the_truth_and_near_it(epsilon):
    rng = np.random.default_rng(2)
    rate = 1 / (1 + math.exp(-epsilon))
    found = []
    for _ in range(300):
        hits, alarms = rng.binomial(2000, [rate, 1 - rate])
        counts = GuessCounts(hits=int(hits), n_with=2000, false_alarms=int(alarms), n_without=2000)
        found.append(least_epsilon(counts, "any", delta=0, alpha=ALPHA))
    assert np.mean(np.array(found) <= epsilon) >= 0.95
    assert np.median(found) > 0.7 * epsilon


@pytest.mark.parametrize(("kind", "epsilon"), [("gaussian", 1.0), ("gaussian", 4.0), ("concentrated", 4.0)])
def test_half_the_noise_is_a_violation(kind, epsilon):
    rng = np.random.default_rng(3)
    by_rho = math.sqrt(2 * zcdp.rho_of(epsilon, DELTA))
    mu = gaussian.mu_of(epsilon, DELTA) if kind == "gaussian" else by_rho
    kept, halved = (
        np.array([least_epsilon(c, kind, delta=DELTA, alpha=ALPHA) > epsilon for c in simulate(rng, 2000, m)])
        for m in (mu, 2 * mu)
    )
    assert kept.mean() <= 0.05
    assert halved.mean() > 0.95


def test_power_is_how_often_it_happens():
    rng = np.random.default_rng(4)
    for kind in ("any", "concentrated", "gaussian"):
        needed = bounds.hits_needed(100, bounds.excess_of(1.0, kind, delta=DELTA), alpha=ALPHA)
        rate = bounds.rate_found(needed, chance=0.8)
        drawn = zip(rng.binomial(100, rate, 400), rng.binomial(100, 1 - rate, 400), strict=True)
        found = [GuessCounts(hits=int(h), n_with=100, false_alarms=int(a), n_without=100) for h, a in drawn]
        proven = [least_epsilon(counts, kind, delta=DELTA, alpha=ALPHA) > 1.0 for counts in found]
        assert np.mean(proven) == pytest.approx(0.8, abs=0.06)
        assert proven == [counts.hits >= needed[counts.false_alarms] for counts in found]
        assert bounds.power(rate, needed) == pytest.approx(0.8, abs=0.001)


def test_a_promise_beyond_the_ceiling_cannot_be_broken():
    needed = bounds.hits_needed(20, bounds.excess_of(4.0, "any", delta=0), alpha=ALPHA)
    assert bounds.rate_found(needed, chance=0.8) is None
    assert (needed == 21).all()


# One run


@pytest.mark.parametrize(
    ("given", "delta", "epsilon"), [((1000, 100, 75), 1e-4, 0.673), ((100_000, 1510, 1439), 1e-5, 2.675)]
)
def test_published_numbers_of_one_run(given, delta, epsilon):
    guesses = CanaryGuesses(**dict(zip(("n_canaries", "n_guesses", "n_right"), given, strict=True)))
    assert guesses.least_epsilon(delta=delta, alpha=ALPHA) == pytest.approx(epsilon, abs=1.5e-3)


def test_one_run_without_delta_is_a_binomial_test():
    guesses = CanaryGuesses(n_canaries=40, n_guesses=40, n_right=32)
    epsilon = guesses.least_epsilon(delta=0, alpha=ALPHA)
    assert binom.sf(31, 40, 1 / (1 + math.exp(-epsilon))) == pytest.approx(ALPHA)
    assert CanaryGuesses(n_canaries=40, n_guesses=40, n_right=20).least_epsilon(delta=0, alpha=ALPHA) == 0
    assert CanaryGuesses(n_canaries=40, n_guesses=0, n_right=0).least_epsilon(delta=0, alpha=ALPHA) == 0
    assert CanaryGuesses(n_canaries=40, n_guesses=0, n_right=0).rate(0.95) is None


def test_of_many_private_answers_one_run_proves_no_more_than_the_truth():
    rng = np.random.default_rng(5)
    epsilon, found = 1.5, []
    for _ in range(300):
        learned = rng.integers(0, 2, 400)
        honest = rng.random(400) < 1 / (1 + math.exp(-epsilon))
        told = np.where(honest, learned, 1 - learned).astype(float)
        guesses = guess_members(told, learned, n_guesses=400, rng=rng)
        found.append(guesses.least_epsilon(delta=0, alpha=ALPHA))
    assert np.mean(np.array(found) <= epsilon) >= 0.95
    assert np.median(found) > 1


def test_the_surest_are_guessed_about():
    rng = np.random.default_rng(0)
    scores, learned = np.array([9.0, 1.0, 5.0, 5.0, 0.0, 8.0]), np.array([1, 0, 0, 1, 1, 1])
    assert guess_members(scores, learned, n_guesses=4, rng=rng) == CanaryGuesses(
        n_canaries=6, n_guesses=4, n_right=3
    )
    assert guess_members(scores, learned, n_guesses=5, rng=rng).n_guesses == 4
    pairs = guess_pairs(np.array([3.0, 2.0, 1.0, 7.0]), np.array([1.0, 2.0, 9.0, 6.0]), n_guesses=3, rng=rng)
    assert pairs == CanaryGuesses(n_canaries=4, n_guesses=3, n_right=2)
    all_pairs = guess_pairs(np.ones(5), np.ones(5), n_guesses=5, rng=rng)
    assert all_pairs == CanaryGuesses(n_canaries=5, n_guesses=0, n_right=0)


def test_ties_are_broken_by_lot():
    learned = np.tile([0, 1], 500)
    right = [
        guess_members(np.zeros(1000), learned, n_guesses=1000, rng=np.random.default_rng(seed)).n_right
        for seed in range(20)
    ]
    assert np.mean(right) == pytest.approx(500, abs=25)
