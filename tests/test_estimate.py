import numpy as np
import pytest
from scipy.stats import binom

from tabveil.errors import ParameterError
from tabveil.estimate import (
    Estimate,
    around,
    excess,
    grouped_error,
    known,
    percentile_interval,
    share,
    sidak,
    strongest,
    wilson,
)


def covers(estimate, truth):
    return estimate.low <= truth <= estimate.high


def test_wilson_by_hand():
    estimate = wilson(1, 10)
    assert estimate.value == pytest.approx((1 + 1.959964**2 / 2) / (10 + 1.959964**2))
    assert (estimate.low, estimate.high) == pytest.approx((0.017876, 0.404150), abs=1e-6)
    assert wilson(0, 10).low == pytest.approx(0, abs=1e-12)
    assert wilson(10, 10).high == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize(("successes", "trials"), [(-1, 10), (11, 10), (0, 0), (np.nan, 10)])
def test_wilson_refuses_impossible_counts(successes, trials):
    with pytest.raises(ParameterError):
        wilson(successes, trials)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("trials", [30, 300])
def test_wilson_covers_at_its_level(trials, confidence):
    intervals = [wilson(k, trials, confidence) for k in range(trials + 1)]
    coverage = []
    for rate in np.linspace(0.02, 0.98, 97):
        hit = np.array([covers(interval, rate) for interval in intervals])
        coverage.append(binom.pmf(np.arange(trials + 1), trials, rate) @ hit)
    assert np.mean(coverage) == pytest.approx(confidence, abs=0.012)
    assert np.min(coverage) > confidence - 0.12


def test_share_shows_the_observed_value():
    assert share(1.0, 50).value == share(1.0, 50).high == 1.0
    assert share(0.0, 50).low == pytest.approx(0, abs=1e-12)
    assert share(0.3, 1000, effective=10).low == pytest.approx(wilson(3, 10).low)


def test_excess_by_hand():
    risk = excess(Estimate(value=0.6, low=0.5, high=0.8, n=9), Estimate(value=0.2, low=0.1, high=0.25, n=7))
    assert risk.value == pytest.approx(0.5)
    assert risk.low == pytest.approx(0.5 - np.hypot(0.1 / 0.8, 0.05 * 0.4 / 0.64))
    assert risk.high == pytest.approx(0.5 + np.hypot(0.2 / 0.8, 0.1 * 0.4 / 0.64))
    assert risk.n == 9


def test_excess_toward_a_worst_case_of_zero():
    risk = excess(Estimate(value=0.2, low=0.1, high=0.4, n=1), known(0.8, 1), worst=0.0)
    assert risk.value == pytest.approx(0.75)
    assert (risk.low, risk.high) == pytest.approx((0.5, 0.875))


def test_excess_has_no_answer_without_room():
    assert excess(known(1.0, 1), known(1.0, 1)) is None


@pytest.mark.parametrize(("attack", "control"), [(0.5, 0.5), (0.9, 0.9), (0.95, 0.9), (0.3, 0.1)])
def test_excess_covers_at_its_level_also_where_the_control_succeeds_often(attack, control):
    rng = np.random.default_rng(1)
    n, truth = 800, (attack - control) / (1 - control)
    found = [excess(wilson(a, n), wilson(c, n)) for a, c in rng.binomial(n, (attack, control), (2000, 2))]
    assert np.mean([covers(risk, truth) for risk in found]) == pytest.approx(0.95, abs=0.02)
    # The classic fault, an error without the factor 1 / (1 - control), must not pass the line above.
    if control >= 0.5:
        forgotten = np.mean(
            [abs(risk.value - truth) <= (risk.high - risk.value) * (1 - control) for risk in found]
        )
        assert forgotten < 0.75


@pytest.mark.parametrize("draw", ["skewed", "tied"])
def test_percentiles_of_resamples_cover_at_their_level(draw):
    rng = np.random.default_rng(2)
    hits, repeats, n = 0, 800, 120
    for _ in range(repeats):
        values = rng.exponential(size=n) if draw == "skewed" else rng.integers(0, 3, n) * 1.0
        resampled = values[rng.integers(n, size=(1000, n))].mean(axis=1)
        hits += covers(percentile_interval(values.mean(), resampled, n), 1.0)
    assert hits / repeats == pytest.approx(0.945, abs=0.02)


def test_percentile_interval_holds_the_value():
    assert covers(percentile_interval(5.0, np.linspace(0, 1, 100), 10), 5.0)


def test_sidak_intervals_hold_together():
    rng = np.random.default_rng(4)
    n, count, repeats = 400, 6, 1500
    rates = np.linspace(0.2, 0.8, count)
    together, plain, first = 0, 0, 0
    for successes in rng.binomial(n, rates, (repeats, count)):
        joint = [wilson(k, n, sidak(0.95, count)) for k in successes]
        together += all(map(covers, joint, rates))
        plain += all(map(covers, (wilson(k, n) for k in successes), rates))
        best = strongest({str(i): item for i, item in enumerate(joint)})
        first += joint[int(best)].low > rates[int(best)]
    assert together / repeats == pytest.approx(0.95, abs=0.02)
    assert plain / repeats < 0.85
    assert first / repeats < 0.04


def test_strongest_takes_the_largest_lower_bound():
    wide = Estimate(value=0.9, low=-0.5, high=1.0, n=3)
    narrow = Estimate(value=0.2, low=0.1, high=0.3, n=300)
    assert strongest({"wide": wide, "narrow": narrow, "same": narrow}) == "narrow"


def test_grouped_error_sees_groups_that_stand_or_fall_together():
    rng = np.random.default_rng(5)
    groups = np.repeat(np.arange(60), 5)
    sums, errors, alone = [], [], []
    for _ in range(400):
        influence = np.repeat(rng.normal(size=60), 5) + rng.normal(size=300) * 0.1
        sums.append(influence.sum())
        errors.append(grouped_error(influence, groups))
        alone.append(grouped_error(influence, np.arange(300)))
    assert np.mean(errors) == pytest.approx(np.std(sums), rel=0.1)
    assert np.mean(alone) < np.std(sums) * 0.6


def test_grouped_error_adds_two_groupings():
    rng = np.random.default_rng(6)
    first, second = (index.ravel() for index in np.divmod(np.arange(900), 30))
    sums, errors = [], []
    for _ in range(300):
        influence = rng.normal(size=30)[first] + rng.normal(size=30)[second]
        sums.append(influence.sum())
        errors.append(grouped_error(influence, first, second))
    assert np.mean(errors) == pytest.approx(np.std(sums), rel=0.12)


def test_grouped_error_ignores_the_order_of_records():
    rng = np.random.default_rng(7)
    influence, first, second = rng.normal(size=50), rng.integers(0, 9, 50), rng.integers(0, 9, 50)
    order = rng.permutation(50)
    assert grouped_error(influence, first, second) == grouped_error(
        influence[order], first[order], second[order]
    )


def test_around_widens_where_the_error_is_itself_a_guess():
    many, few = around(0.0, 1.0, 9, groups=10_000), around(0.0, 1.0, 9, groups=3)
    assert many.high == pytest.approx(1.96, abs=0.001)
    assert few.high == pytest.approx(4.303, abs=0.001)
