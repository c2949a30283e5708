import numpy as np
import pytest
from scipy.stats import mannwhitneyu
from sklearn.metrics import roc_auc_score, roc_curve
from supplies.configurations import by_name
from supplies.populations import SCHEMAS, population, risks, split

from tabveil.core.rng import stream
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks.membership import PROPORTIONS, THRESHOLDS, MembershipDistance, grade, simulate
from tabveil.metrics.attacks.roc import Ranking, judge, levels

LINE = Schema((Numeric(name="x", low=0, high=100, decimals=0),))


def ask(tables, **settings):
    return MembershipDistance(**settings)(tables, rng=stream(0, "membership_distance"))


# The curve ------------------------------------------------------------------------------------------------


def test_an_area_by_hand_with_ties():
    ranked = Ranking.of(np.array([3.0, 2.0, 2.0, 1.0]), np.array([2.0, 1.0, 1.0, 0.0]))
    # 3 beats all four; each 2 ties one and beats three; 1 ties two and beats one.
    assert ranked.area().value == (4 + 3.5 + 3.5 + 2) / 16
    false, true = ranked.curve()
    assert false.tolist() == [0, 0, 0.25, 0.75, 1]
    assert true.tolist() == [0, 0.25, 0.75, 1, 1]
    assert ranked.true_positives(0.25).value == 0.75
    assert ranked.true_positives(0.5).value == 0.875  # halfway between two points of the curve
    assert ranked.points() == ((0, 0), (0, 0.25), (0.25, 0.75), (0.75, 1), (1, 1))


@pytest.mark.parametrize("grid", [3, 20, 10**6])
def test_area_and_curve_are_those_of_the_textbook(grid):
    rng = np.random.default_rng(grid)
    train, control = rng.integers(0, grid, 300) * 1.1, rng.integers(0, grid, 170) * 1.0
    ranked, member = Ranking.of(train, control), np.repeat([1, 0], [300, 170])
    scores = np.concatenate([train, control])
    assert ranked.area().value == pytest.approx(roc_auc_score(member, scores), abs=1e-12)
    assert ranked.area().value == pytest.approx(mannwhitneyu(train, control).statistic / (300 * 170))
    false, true, _ = roc_curve(member, scores, drop_intermediate=False)
    np.testing.assert_allclose(np.column_stack(ranked.curve()), np.column_stack([false, true]), atol=1e-12)


def test_ties_are_broken_by_the_second_score():
    train, control = np.array([1.0, 1.0]), np.array([1.0, 1.0])
    assert Ranking.of(train, control).area().value == 0.5
    assert Ranking.of(train, control, (np.array([2.0, 1.0]), np.array([0.0, 0.0]))).area().value == 1


def test_what_rounding_separates_is_a_tie():
    assert Ranking.of(np.array([0.1 + 0.2]), np.array([0.3])).area().value == 0.5


def normal(rng, n, m):
    return rng.normal(size=n), rng.normal(size=m)


def shifted(rng, n, m):
    return rng.normal(size=n) + 2**0.5, rng.normal(size=m)


def mostly_tied(rng, n, m):
    return tuple(np.where(rng.random(size) < 0.8, 0.0, rng.normal(size=size)) for size in (n, m))


def leaked(rng, n, m):
    return np.where(rng.random(n) < 0.2, 9.0, rng.normal(size=n)), rng.normal(size=m)


def copied(rng, n, m):
    return np.zeros(n), np.where(rng.random(m) < 0.1, 0.0, -rng.random(m))


@pytest.mark.parametrize("sizes", [(250, 250), (200, 60), (20, 20)])
@pytest.mark.parametrize(
    ("scores", "truth"),
    [(normal, 0.5), (shifted, 0.8413447), (mostly_tied, 0.5), (leaked, 0.6), (copied, 0.95)],
)
def test_the_interval_of_the_area_covers_the_truth(scores, truth, sizes):
    rng = np.random.default_rng(5)
    found = [Ranking.of(*scores(rng, *sizes)).area() for _ in range(300)]
    assert np.mean([area.low <= truth <= area.high for area in found]) >= 0.915  # 2.8 deviations below 95 %
    if sizes == (250, 250):  # and not by being endless
        spread = np.std([area.value for area in found])
        assert np.mean([area.high - area.low for area in found]) < 1.15 * 2 * 1.96 * spread


def test_the_interval_of_a_true_positive_rate_covers_the_truth():
    rng = np.random.default_rng(6)
    for rate in (0.01, 0.1):
        truth = 0.2 + 0.8 * rate
        found = [Ranking.of(*leaked(rng, 400, 400)).true_positives(rate) for _ in range(300)]
        assert np.mean([item.low <= truth <= item.high for item in found]) >= 0.915


def test_intervals_stay_sane_at_the_ends():
    for n in (1, 2, 5, 500):
        perfect = Ranking.of(np.ones(n), np.zeros(n)).area()
        assert perfect.value == 1
        assert 1 - 4 / n < perfect.low < 1
        worst = Ranking.of(np.zeros(n), np.ones(n)).area()
        assert (worst.value, worst.low) == (0, pytest.approx(0, abs=1e-12))
        equal = Ranking.of(np.ones(n), np.ones(n)).area()
        assert equal.low < equal.value == 0.5 < equal.high


@pytest.mark.parametrize(
    ("n_control", "expected"),
    [
        (4, ()),
        (20, (0.5, 0.25)),
        (100, (0.5, 0.1, 0.05)),
        (4000, (0.5, 0.1, 0.01, 0.00125)),
        (10**5, (0.5, 0.1, 0.01, 0.001)),
    ],
)
def test_levels_leave_five_control_rows(n_control, expected):
    assert levels(n_control) == pytest.approx(expected)


def test_every_configuration_counts_for_the_correction():
    rng = np.random.default_rng(7)
    rankings = Ranking.of(*normal(rng, 4000, 4000)), Ranking.of(*normal(rng, 400, 400))
    choice = judge("a", rankings[0], {"b": rankings[1]}, confidence=0.95)
    assert len(by_name(choice)) == 6
    assert choice.details["confidence_of_each"] == pytest.approx(0.95 ** (1 / 6))
    assert choice.gain.low == max(item["gain"].low for item in by_name(choice).values() if item["gain"])
    assert by_name(choice)["a, 2·AUC − 1"]["gain"] is None  # an area is no share of people


def test_a_small_leak_moves_the_far_left_of_the_curve():
    rng = np.random.default_rng(8)
    train, control = normal(rng, 4000, 4000)
    train[:40] = 9
    choice = judge("a", Ranking.of(train, control), confidence=0.95)
    assert choice.setting.name == "a, 0.1% most confident"
    assert choice.leading.risk.low > 0
    assert by_name(choice)["a, 2·AUC − 1"]["risk"].low < 0
    assert len(choice.curve.points) <= 200


# The attack -----------------------------------------------------------------------------------------------


def test_four_people_by_hand():
    # Distances to the nearest of 10 and 50: train 0, 0, 10, 40; control 1, 5, 20, 50 (in hundredths).
    found = ask(split(LINE, [[10], [50], [60], [90]], [[11], [45], [70], [100]], [[10], [50]]))
    # Wins of train over control: 4, 4, 2 (over 20 and 50), 1.
    assert found.curve.area.value == 11 / 16
    assert found.risk.value == pytest.approx(2 * 11 / 16 - 1)
    assert (found.attack.value, found.control.value, found.baseline.value) == (11 / 16, 0.5, 0.5)
    scores = {item.table: dict(zip(item.rows, item.values, strict=True)) for item in found.sensitive_scores}
    assert scores["train"] == pytest.approx({0: 0, 1: 0, 2: -0.1, 3: -0.4})
    assert scores["control"] == pytest.approx({0: -0.01, 1: -0.05, 2: -0.2, 3: -0.5})


def test_a_copy_is_seen_and_graded_poor():
    fresh = population("mixed", (1000, 1000, 1000), seed=1)
    copy = ask(split(fresh.schema, fresh.train.values, fresh.control.values, fresh.train.values))
    assert copy.risk.value > 0.8
    assert copy.curve.area.value > 0.9
    assert copy.details["simulation"]["grade"] == "Poor"
    clean = ask(fresh)
    assert clean.risk.low < 0 < clean.risk.high
    assert clean.details["simulation"]["grade"] in {"Excellent", "Very Good"}


def test_rarity_orders_matches_that_tie():
    # Many common people match the release by chance; the leaked ones are unusual.
    rng = np.random.default_rng(2)
    schema = SCHEMAS["levels"]
    people = [np.minimum(rng.geometric(0.75, (1500, 4)) - 1, 5).astype(float) for _ in range(3)]
    people[0][:25] = rng.integers(3, 6, (25, 4))
    people[2][:25] = people[0][:25]
    found = ask(split(schema, *people))
    assert found.details["ties_broken_by_rarity"]
    assert found.risk.low > 0


def test_fresh_rows_cover_zero_and_leaks_do_not():
    for kind in ("normal", "levels", "mixed"):
        for sizes in ((250, 250, 250), (450, 150, 250)):
            found = risks(MembershipDistance(), kind, sizes, seeds=40)
            assert np.mean((found[:, 1] <= 0) & (found[:, 2] >= 0)) >= 0.9
    found = risks(MembershipDistance(), "mixed", (400, 400, 400), leak=0.1, seeds=20)
    assert np.mean(found[:, 1] > 0) >= 0.9
    assert 0.04 < found[:, 0].mean() < 0.16


def test_a_sample_has_equal_counts():
    found = ask(population("mixed", (90, 60, 80), seed=3), n_attacks=70)
    assert [len(item.rows) for item in found.sensitive_scores] == [60, 60]


def test_control_is_needed():
    alone = split(LINE, [[10]], [], [[10]])
    with pytest.raises(NotApplicable, match="control"):
        ask(alone)
    one = ask(split(LINE, [[10]], [[90]], [[10]]))
    assert one.risk.value == 1
    assert one.risk.low < 0
    with pytest.raises(ParameterError, match="n_attacks"):
        MembershipDistance(n_attacks=0)


def test_the_simulation_by_hand():
    # The threshold takes the nearest control row only: every train row but one is that near.
    found = simulate(np.array([0.0, 0.0, 0.0, 9.0]), np.array([1.0, 2.0, 3.0, 4.0]))
    assert len(found["attacks"]) == len(THRESHOLDS) * len(PROPORTIONS)
    even = next(item for item in found["attacks"] if item["members"] == 0.5)
    assert even["threshold"] == 1
    assert even["precision"] == pytest.approx(0.75 / (0.75 + 0.25))
    assert even["accuracy"] == pytest.approx((0.75 + 0.75) / 2)
    coin = simulate(np.arange(1000.0), np.arange(1000.0))
    assert coin["precision"] == pytest.approx(0.5)
    assert coin["accuracy"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("precision", "accuracy", "word"),
    [
        (0.49, 0.49, "Excellent"),
        (0.5, 0.5, "Very Good"),
        (0.3, 0.6, "Very Good"),
        (0.65, 0.65, "Good"),
        (0.75, 0.75, "Moderate"),
        (0.95, 0.79, "Moderate"),
        (0.8, 0.8, "Poor"),
    ],
)
def test_grades(precision, accuracy, word):
    assert grade(precision, accuracy) == word


def outlying(n, rng):
    """Nine people in ten are alike, one in ten lies far out."""
    values = rng.normal(size=(n, 3)) * np.where(rng.random(n) < 0.1, 20.0, 1.0)[:, None]
    return np.clip(values, -80, 80)


def of_numbers(train, control, synthetic):
    schema = Schema(tuple(Numeric(name=name, low=-80, high=80) for name in "abc"))
    return Split(
        **{
            role: Table(schema=schema, values=values)
            for role, values in {"train": train, "control": control, "synthetic": synthetic}.items()
        }
    )


def test_outlying_people_are_attacked_by_themselves():
    rng = np.random.default_rng(5)
    train, control, fresh = (outlying(1000, rng) for _ in range(3))
    far = np.argsort(-np.abs(train).max(axis=1))[:50]
    leaky = np.concatenate([train[far], fresh[50:]])
    result = MembershipDistance()(of_numbers(train, control, leaky), rng=np.random.default_rng(0))
    outliers = result.outliers
    assert outliers.share == 0.1
    assert 80 <= outliers.n_control <= 120
    assert outliers.risk.low > 0.2  # half of the outliers leaked
    assert result.risk.value < 0.1  # one person in twenty did


def test_outlying_people_raise_no_more_alarms_than_others():
    alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        tables = (outlying(400, rng) for _ in range(3))
        found = MembershipDistance()(of_numbers(*tables), rng=rng).outliers
        alarms += found.risk.low > 0
    assert alarms <= 4


def test_too_few_outlying_people_are_not_attacked():
    rng = np.random.default_rng(1)
    tables = (outlying(100, rng) for _ in range(3))
    assert MembershipDistance()(of_numbers(*tables), rng=rng).outliers is None
