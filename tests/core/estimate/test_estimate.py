import numpy as np
import pytest
from scipy.stats import binom, norm

from tabveil.core.estimate import (
    AreaUnderCurve,
    Estimate,
    around,
    bounded_distance,
    error_score,
    excess,
    grouped_error,
    known,
    mean_of,
    mean_share,
    part_of_room,
    percentile_interval,
    rate_beyond,
    ratio_of_means,
    risk_of_errors,
    risk_toward,
    share,
    sidak,
    strongest,
    wilson,
)
from tabveil.errors import ParameterError


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


def test_a_distance_keeps_its_value_between_its_bounds():
    found = bounded_distance(0.3, 0.5, 0.0, (10, 20))
    assert 0 == found.low < found.value < found.high
    assert bounded_distance(0.0, 0.0, 0.0, (1, 1)).high > 1  # a row says nothing


def test_a_mean_share_is_worth_as_many_tosses_as_its_variance_says():
    assert mean_share(0.2, 0.2 * 0.8 / 50, 400, 0.95, independent=400).low == wilson(10, 50).low
    assert mean_share(0.0, 0.0, 400, 0.95, independent=30).high == wilson(0, 30).high  # where nothing varies


def test_a_mean_share_near_one_may_vary_more_than_any_share():
    # A hundred scores of 1 but for two of 0.1: the losses are too few to trust how large they are.
    found = mean_share(0.982, 0.0128**2, 100, 0.95, independent=100)
    assert found.low == min(0.982 - 1.959963984540054 * 0.0128, wilson(98.2, 100).low)
    assert found.high == 1  # and no share exceeds all


def test_the_risk_toward_a_worst_case_has_the_errors_of_no_risk():
    attack, control = Estimate(value=1.0, low=0.7, high=1.0, n=5), Estimate(value=0.5, low=0.3, high=0.6, n=9)
    risk = risk_toward(attack, control)
    assert (risk.value, risk.n) == (1.0, 5)
    assert risk.low == pytest.approx(1 - np.hypot(0.3, 0.1) / 0.5)
    assert risk.high == 1  # 1.4 by its error, and none exceeds 1
    assert excess(attack, control).low == pytest.approx(1 - 0.3 / 0.5)  # forgets the control's error
    assert risk_toward(attack, control, worst=0.5) is None


def test_gains_and_losses_err_to_opposite_sides():
    gained, lost = Estimate(value=0.4, low=0.3, high=0.45, n=8), Estimate(value=0.1, low=0.1, high=0.3, n=8)
    found = part_of_room(0.6, gained, lost, 0.5)
    assert found.low == pytest.approx(0.6 - np.hypot(0.1, 0.2) / 0.5)
    assert found.high == pytest.approx(0.6 + 0.05 / 0.5)


@pytest.mark.parametrize("shift", [0.0, 1.0, 2.5])
def test_the_area_covers_at_its_level(shift):
    rng = np.random.default_rng(8)
    truth, held = norm.cdf(shift / np.sqrt(2)), []
    for _ in range(400):
        train, control = rng.normal(shift, size=80), rng.normal(size=120)
        outranked = train[:, None] > control
        held.append(
            covers(AreaUnderCurve.of(outranked.mean(axis=1), (~outranked).mean(axis=0)).within(), truth)
        )
    assert 0.925 <= np.mean(held) <= 0.99


def test_the_area_of_equal_rows_leaves_doubt():
    assert AreaUnderCurve.of(np.ones(5), np.zeros(5)).within().low < 0.9
    assert covers(AreaUnderCurve.of(np.full(1, 0.5), np.full(1, 0.5)).within(), 0.1)


def test_a_rate_beyond_a_threshold_errs_with_the_threshold():
    sharp = rate_beyond(0.2, 500, level=0.01, n_others=100, slope=0.0)
    assert (sharp.low, sharp.high) == pytest.approx((wilson(100, 500).low, wilson(100, 500).high))
    found = rate_beyond(0.2, 500, level=0.01, n_others=100, slope=5.0)
    threshold = 5 * 1.959964 * np.sqrt(0.01 * 0.99 / 100)
    assert found.high == pytest.approx(0.2 + np.hypot(wilson(100, 500).high - 0.2, threshold))
    assert rate_beyond(0.2, 500, level=0.01, n_others=1, slope=5.0).low == 0


def test_a_mean_of_equal_rows_leaves_doubt():
    found = mean_of(np.zeros(10))
    assert found.high == -found.low == pytest.approx(2.262157 / 10)


def test_a_ratio_of_means_covers_at_its_level():
    rng = np.random.default_rng(9)
    held = []
    for _ in range(600):
        below = rng.gamma(4, size=150)
        above = below * rng.gamma(4, size=150) / 8  # half as large, and dependent
        held.append(covers(ratio_of_means(above, below, offset=1.0, sign=-1.0), 0.5))
    assert np.mean(held) == pytest.approx(0.945, abs=0.025)


def test_the_score_of_errors_by_hand():
    squares = np.array([0.01, 0.09, 0.01, 0.09])
    found = error_score(squares)
    error = np.std(squares, ddof=1) / 2 / (2 * np.sqrt(0.05))
    assert found.value == pytest.approx(1 - np.sqrt(0.05))
    assert found.high - found.value == pytest.approx(3.182446 * error)


def test_the_risk_of_errors_is_bounded_on_the_scale_of_logarithms():
    rng = np.random.default_rng(10)
    train, control = rng.normal(0, 0.1, 400) ** 2, rng.normal(0, 0.2, 300) ** 2
    risk = risk_of_errors(train, control)
    assert covers(risk, 0.5)
    assert (1 - risk.low) / (1 - risk.value) == pytest.approx((1 - risk.value) / (1 - risk.high))
