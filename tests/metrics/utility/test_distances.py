"""Each distance by hand, beside SciPy, and its slopes by small steps."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import jensenshannon

from tabveil.metrics.utility.distances import (
    LevelCounts,
    cramers_v,
    jensen_shannon,
    kolmogorov_smirnov,
    total_variation,
    wasserstein,
)
from tabveil.metrics.utility.marginals import beside_missing

SUPPORT = np.array([0.0, 0.1, 0.4, 1.0])
DISTANCES = {
    "total_variation": total_variation,
    "jensen_shannon": jensen_shannon,
    "cramers_v": cramers_v,
    "wasserstein": lambda counts: wasserstein(counts, SUPPORT),
    "kolmogorov_smirnov": kolmogorov_smirnov,
}
every_distance = pytest.mark.parametrize("distance", DISTANCES.values(), ids=DISTANCES)


def counts(real, other):
    return LevelCounts(real=np.array(real), other=np.array(other))


def test_total_variation_by_hand():
    # shares ¾ ¼ 0 and ½ 0 ½: half of ¼ + ¼ + ½
    assert total_variation(counts([3, 1, 0], [2, 0, 2])).value == 0.5
    assert total_variation(counts([3, 1, 0], [2, 0, 2]), halved=False).value == 1.0


def test_jensen_shannon_by_hand():
    assert jensen_shannon(counts([4, 0], [0, 7])).value == 1.0
    # p = (1, 0), q = (½, ½): ½ log2(4/3) + ½ (½ log2(2/3) + ½ log2(2))
    expected = 0.5 * math.log2(4 / 3) + 0.25 * math.log2(2 / 3) + 0.25
    assert jensen_shannon(counts([4, 0], [2, 2])).value == pytest.approx(math.sqrt(expected))


def test_cramers_v_by_hand():
    # 2 × 2 table 30 10 / 20 20: chi-squared = 80 (30·20 - 10·20)² / (40·40·50·30) = 5.333
    found = cramers_v(counts([30, 10], [20, 20]))
    assert found.value**2 * 80 == pytest.approx(16 / 3)
    assert cramers_v(counts([5, 0], [0, 9])).value == pytest.approx(1)


def test_wasserstein_by_hand():
    # all at 0 against half at 0.1 and half at 1: (0.1 + 1) / 2
    assert wasserstein(counts([2, 0, 0, 0], [0, 1, 0, 1]), SUPPORT).value == pytest.approx(0.55)


def test_kolmogorov_smirnov_by_hand():
    # distribution functions ½ 1 1 1 and ¼ ¼ ½ 1
    assert kolmogorov_smirnov(counts([2, 2, 0, 0], [1, 0, 1, 2])).value == 0.75


@pytest.mark.parametrize("seed", range(5))
def test_beside_scipy(seed):
    rng = np.random.default_rng(seed)
    real, other = rng.integers(0, 4, 60), rng.choice(4, 45, p=[0.1, 0.2, 0.3, 0.4])
    both = LevelCounts.of(real, other, 4)
    test = stats.chi2_contingency(np.vstack([both.real, both.other]), correction=False)
    assert cramers_v(both).value ** 2 * 105 == pytest.approx(test.statistic)
    assert jensen_shannon(both).value == pytest.approx(jensenshannon(both.real, both.other, base=2))
    assert wasserstein(both, SUPPORT).value == pytest.approx(
        stats.wasserstein_distance(SUPPORT[real], SUPPORT[other])
    )
    assert kolmogorov_smirnov(both).value == pytest.approx(stats.ks_2samp(real, other).statistic)


def slope_by_steps(distance, sides, side, level):
    """Move a millionth of all rows from the last level to this one."""
    step, found = 1e-6, []
    for sign in (1, -1):
        moved = [side.astype(float) for side in sides]
        moved[side][level] += sign * step * moved[side].sum()
        moved[side][-1] -= sign * step * moved[side].sum()
        found.append(distance(LevelCounts(real=moved[0], other=moved[1])).value)
    return (found[0] - found[1]) / (2 * step)


class Fractions(LevelCounts):
    """Rows may be fractions, for small steps."""

    @property
    def n_real(self):
        return float(self.real.sum())

    @property
    def n_other(self):
        return float(self.other.sum())


@pytest.fixture(autouse=True)
def _fractions(monkeypatch, request):
    if "slopes" in request.node.name:
        monkeypatch.setitem(globals(), "LevelCounts", Fractions)
        monkeypatch.setattr("tabveil.metrics.utility.marginals.LevelCounts", Fractions)


@every_distance
def test_slopes(distance):
    found = distance(counts([30, 20, 40, 10], [25, 30, 10, 35]))
    sides = np.array([30, 20, 40, 10]), np.array([25, 30, 10, 35])
    for side, slope in enumerate((found.by_real, found.by_other)):
        for level in range(3):
            expected = slope_by_steps(distance, sides, side, level)
            assert slope[level] - slope[-1] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("name", ["wasserstein", "kolmogorov_smirnov"])
@pytest.mark.parametrize("n_missing", [(7, 30), (30, 7), (0, 5), (5, 0)])
def test_slopes_beside_missing(name, n_missing):
    def distance(both):
        return beside_missing(both, DISTANCES[name])

    sides = np.array([30, 20, 40, 10, n_missing[0]]), np.array([25, 30, 10, 35, n_missing[1]])
    if 0 in n_missing:  # at the edge there is no step down
        sides = sides[0] + 1, sides[1] + 1
    found = distance(Fractions(real=sides[0], other=sides[1]))
    for side, slope in enumerate((found.by_real, found.by_other)):
        for level in range(4):
            expected = slope_by_steps(distance, sides, side, level)
            assert slope[level] - slope[-1] == pytest.approx(expected, abs=1e-4)


def test_missing_numbers_by_hand():
    # real: half missing, half at 0; other: a quarter missing, the rest at 1.
    # Half of the rows move by 1, a quarter loses its number at a cost of 1.
    both = LevelCounts(real=np.array([2, 0, 2]), other=np.array([0, 3, 1]))
    found = beside_missing(both, lambda numbers: wasserstein(numbers, np.array([0.0, 1.0])))
    assert found.value == 0.75
    assert beside_missing(both, kolmogorov_smirnov).value == 0.75


@pytest.mark.parametrize(
    ("real", "other", "value"), [((0, 3), (0, 4), 0), ((0, 3), (4, 0), 1), ((3, 0), (2, 2), 0.5)]
)
def test_a_side_without_numbers(real, other, value):
    found = beside_missing(counts(real, other), lambda both: wasserstein(both, np.zeros(1)))
    assert found.value == value
    assert found.estimate(counts(real, other)).high >= value


@every_distance
def test_equal_tables_are_at_zero_and_swapping_changes_nothing(distance):
    assert distance(counts([5, 0, 2, 3], [10, 0, 4, 6])).value == pytest.approx(0, abs=1e-12)
    there, back = distance(counts([5, 1, 2, 3], [2, 0, 4, 1])), distance(counts([2, 0, 4, 1], [5, 1, 2, 3]))
    assert there.value == pytest.approx(back.value)
    assert there.floor == pytest.approx(back.floor)


@every_distance
def test_the_floor_is_what_equal_populations_score(distance):
    rng = np.random.default_rng(1)
    found = [
        distance(LevelCounts.of(rng.integers(0, 4, 300), rng.integers(0, 4, 200), 4)) for _ in range(300)
    ]
    mean, floor = np.mean([item.value for item in found]), np.mean([item.floor for item in found])
    assert 0.6 * floor < mean < 1.1 * floor  # ties make Kolmogorov's floor too high, roots of means others'


@every_distance
@pytest.mark.parametrize("shares", [(0.25, 0.25, 0.25, 0.25), (0.2, 0.3, 0.3, 0.2), (0.1, 0.1, 0.2, 0.6)])
def test_intervals_hold_the_distance_of_the_populations(distance, shares):
    rng = np.random.default_rng(2)
    many = 10**9  # rows that have exactly the shares of the populations, in the proportion of the tables
    truth = distance(counts([many // 4 * 3 // 2] * 4, np.round(np.array(shares) * many).astype(int))).value
    held = []
    for _ in range(200):
        both = LevelCounts.of(rng.integers(0, 4, 300), rng.choice(4, 200, p=shares), 4)
        estimate = distance(both).estimate(both)
        held.append(estimate.low <= truth <= estimate.high)
    assert np.mean(held) >= 0.93
