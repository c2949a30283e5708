"""Distances that are calibrated by other people's, and the exact test that all depths and scores share."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from scipy.stats import binom, fisher_exact, hypergeom
from supplies.populations import population, split

from tabveil.core.estimate import Deals, Scanned, deal, sidak
from tabveil.core.estimate.ranking import chance_of_ranks, chances_of_hits
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.representation import Euclidean, Mixed, Tolerant
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.attacks import (
    MembershipCalibrated,
    MembershipDistance,
    MembershipInfluence,
    MembershipRatio,
    MembershipTrees,
)
from tabveil.metrics.attacks.calibrated import surroundings, unexplained
from tabveil.metrics.attacks.roc import DECIMALS, Ranking, depths, scan

NAN = np.nan
LINE = Schema((Numeric(name="x", low=0, high=100, decimals=0),))
BOTH = (MembershipCalibrated, MembershipRatio)
SAMPLED = (MembershipRatio, MembershipTrees, MembershipInfluence)
both = pytest.mark.parametrize("attack", BOTH, ids=lambda attack: attack.name)
every = pytest.mark.parametrize("attack", [MembershipCalibrated, *SAMPLED], ids=lambda attack: attack.name)


def ask(metric, tables, seed=0):
    return metric(tables, rng=stream(seed, metric.name))


def fast(attack, **settings):
    return attack(n_permutations=199, **settings)


# The exact test -------------------------------------------------------------------------------------------


def test_chances_of_hits_are_hypergeometric():
    for depth, n_first, n_people in ((5, 30, 70), (12, 8, 20), (19, 3, 20)):
        found = chances_of_hits(depth, n_first, n_people)
        hits = np.arange(depth + 1)
        np.testing.assert_allclose(found, hypergeom.sf(hits - 1, n_people, n_first, depth), atol=1e-12)


def test_three_of_four_people_by_hand():
    # Persons 0 and 1 are of the first label. Of the six ways to deal it, one puts both on top.
    ranking = Scanned(
        order=np.array([0, 1, 2, 3]), ranks=np.array([4.0, 3.0, 2.0, 1.0]), depths=np.array([2])
    )
    labels = np.array([[True, True, False, False], [True, False, True, False], [False, False, True, True]])
    np.testing.assert_allclose(ranking.chances(labels, 2)[:, 0], [1 / 6, 5 / 6, 1])
    dealt = deal([ranking], 2, 20_000, rng=np.random.default_rng(0))
    smallest = ranking.chances(labels[:1], 2).min()
    assert dealt.p_value(smallest, 2) == pytest.approx(1 / 6, abs=0.01)


def test_a_sum_of_ranks_that_cannot_vary_says_nothing():
    assert chance_of_ranks(np.array(3.0), np.ones(6), 3) == 1


def test_the_level_is_where_the_joint_test_is_passed():
    smallest = np.sort(np.random.default_rng(1).random(999)) / 10
    dealt = Deals(smallest=smallest)
    tail = (1 - dealt.level(0.95, 40)) / 2
    assert dealt.p_value(tail, 40) <= 0.025 < dealt.p_value(smallest[24], 40)
    assert tail == pytest.approx(smallest[24], rel=1e-6)
    assert Deals(smallest=smallest[:10]).level(0.95, 40) == sidak(0.95, 40)  # too few deals to tell
    assert Deals(smallest=np.ones(999)).level(0.95, 40) == 0.95  # never less than a single interval


def ranked(scores, n_train):
    return Ranking.of(scores[:n_train], scores[n_train:], decimals=DECIMALS)


def test_depths_do_not_cut_ties():
    scores = np.array([9.0] * 7 + [8.0] * 3 + list(np.linspace(0, 1, 190)))
    assert ranked(scores, 100).scanned.depths.tolist() == [7, 10, 12, 15, 18, 20, 50, 100]
    assert not len(ranked(np.zeros(200), 100).scanned.depths)
    assert depths(49) == []


def test_what_is_named_is_counted_by_hand():
    scores = np.concatenate([np.arange(100, 110), np.zeros(40), np.arange(99, 89, -1), np.zeros(40)]).astype(
        float
    )
    pooled = ranked(scores, 50)
    counted = pooled.tally(10)
    assert (counted.train, counted.n_train, counted.control, counted.n_control) == (10, 50, 0, 50)
    found = scan({"score": pooled}, confidence=0.95, n_deals=999, rng=np.random.default_rng(0))
    named = next(item for item in found.configurations if item.setting.label == "score, first 10")
    assert named.gain.value == 0.2
    assert named.p_value == pytest.approx(fisher_exact([[10, 40], [0, 50]], alternative="greater").pvalue)


def test_joint_intervals_lie_above_zero_where_the_joint_test_is_passed():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        first = rng.normal(size=400)
        first[:20] += 1.0
        rankings = {
            "a": ranked(first, 200),
            "b": ranked(first + rng.normal(size=400), 200),
        }
        found = scan(rankings, confidence=0.95, n_deals=199, rng=rng)
        assert (found.gain.low > 0) == (found.p_value <= 0.025)


# Calibrated distance --------------------------------------------------------------------------------------


def test_least_squares_by_numpy():
    rng = np.random.default_rng(3)
    others, distance = rng.random((50, 2)), rng.random(50)
    known = np.column_stack([np.ones(50), others[:, 0], others[:, 1], others[:, 1] ** 2])
    weights = np.linalg.solve(known.T @ known, known.T @ distance)
    np.testing.assert_allclose(unexplained(distance, others), distance - known @ weights, atol=1e-10)


def test_distances_by_hand():
    tables = split(LINE, [[10], [20], [50]], [[12], [90]], [[11], [60]])
    people = Table(schema=LINE, values=np.concatenate([tables.train.values, tables.control.values]))
    found = surroundings(tables, people, Mixed(), rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.release, [0.01, 0.09, 0.1, 0.01, 0.3])
    np.testing.assert_allclose(found.loneliness, [0.02, 0.08, 0.3, 0.02, 0.4])  # the second row is farther
    np.testing.assert_allclose(found.others[:, 0], [0.02, 0.08, 0.3, 0.02, 0.4])
    np.testing.assert_allclose(
        found.others[:, 1],
        [(2 + 10 + 40 + 80) / 400, (8 + 10 + 30 + 70) / 400, 148 / 400, 126 / 400, 268 / 400],
    )


def test_a_second_synthetic_row_is_company():
    tables = split(LINE, [[10], [50]], [[90]], [[10], [11], [50]])
    people = Table(schema=LINE, values=np.concatenate([tables.train.values, tables.control.values]))
    found = surroundings(tables, people, Mixed(), rng=np.random.default_rng(0))
    np.testing.assert_allclose(found.loneliness, [0.01, 0.39, 0.4])


def test_ratios_by_hand():
    # With one control row of two held back, the other is tested.
    tables = split(LINE, [[10], [50]], [[90], [90]], [[11], [60]])
    found = ask(MembershipRatio(n_permutations=9), tables)
    scores = {item.table: dict(zip(item.rows, item.values, strict=True)) for item in found.sensitive_scores}
    assert scores["train"] == pytest.approx({0: np.log(0.801 / 0.011), 1: np.log(0.401 / 0.101)})
    assert list(scores["control"].values()) == pytest.approx([np.log(0.001 / 0.301)])
    assert found.details["n_reference"] == 1


def crowd(n, rng):
    """Half of all people are nearly alike, the others all differ."""
    values = rng.normal(size=(n, 6))
    values[: n // 2] *= 0.05
    return np.clip(rng.permutation(values), -6, 6)


CROWD = Schema(tuple(Numeric(name=f"x{i}", low=-6, high=6) for i in range(6)))


def blurred(seed, *, n=600, leaked=30, noise=0.15):
    """Release people who were trained on, unusual ones, behind noise."""
    rng = np.random.default_rng(seed)
    train, control, release = (crowd(n, rng) for _ in range(3))
    unusual = rng.permutation(np.flatnonzero(np.abs(train).max(axis=1) > 1))[:leaked]
    release[:leaked] = np.clip(train[unusual] + noise * rng.normal(size=(leaked, 6)), -6, 6)
    return split(CROWD, train, control, release)


def share_seen(metric, tables, seeds):
    return np.mean([ask(metric, tables(seed)).gain.low > 0 for seed in range(seeds)])


@both
def test_unusual_people_behind_noise_are_seen_though_the_nearest_distance_does_not_see_them(attack):
    assert share_seen(MembershipDistance(), blurred, 20) <= 0.3
    assert share_seen(fast(attack), blurred, 20) >= 0.9


def test_it_is_the_calibration_that_sees_them(monkeypatch):
    module = "tabveil.metrics.attacks.calibrated.unexplained"
    monkeypatch.setattr(module, lambda distance, others: distance)
    assert share_seen(fast(MembershipCalibrated), blurred, 10) <= 0.4


def test_a_few_exact_copies_are_seen():
    def copied(seed):
        return population("normal", (800, 800, 800), leak=0.015, seed=seed)

    assert share_seen(fast(MembershipCalibrated), copied, 10) >= 0.9


@both
@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
@pytest.mark.parametrize("sizes", [(200, 200, 200), (400, 100, 150), (80, 320, 200)])
def test_fresh_rows_raise_no_more_alarms_than_promised(attack, kind, sizes):
    n_seeds, metric = 60, fast(attack)
    found = [ask(metric, population(kind, sizes, seed=seed), seed) for seed in range(n_seeds)]
    assert sum(item.gain.low > 0 for item in found) <= binom.ppf(0.999, n_seeds, 0.025)
    assert sum(item.p_value <= 0.2 for item in found) <= binom.ppf(0.999, n_seeds, 0.2)
    assert sum(item.gain.high < 0 for item in found) <= binom.ppf(0.999, n_seeds, 0.025)


@pytest.mark.parametrize("attack", SAMPLED, ids=lambda attack: attack.name)
def test_reference_rows_are_never_tested(attack):
    found = ask(fast(attack), population("mixed", (100, 60, 80), seed=1))
    tested = next(item for item in found.sensitive_scores if item.table == "control")
    assert found.details["n_reference"] + len(tested.rows) == 60


@dataclass(frozen=True, kw_only=True)
class Watching:
    """The mixed distance, and what it was shown."""

    shown: list
    name: ClassVar[str] = "watching"

    def view(self, split, *, rng, reference=None):
        self.shown.append((split, reference))
        return Mixed().view(split, rng=rng)


@every
def test_a_representation_is_not_told_who_was_trained_on(attack):
    watching = Watching(shown=[])
    ask(fast(attack, representation=watching), population("mixed", (90, 60, 80), seed=1))
    ((shown, reference),) = watching.shown
    assert len(shown.train) == (150 if attack is MembershipCalibrated else 120)
    assert (reference is None) == (attack is MembershipCalibrated)  # a sample that may be learned from, too


@every
@pytest.mark.parametrize("representation", [Mixed(), Euclidean(), Tolerant()])
def test_any_representation_serves(attack, representation):
    copy = population("mixed", (200, 200, 200), leak=1.0, seed=2)
    assert ask(fast(attack, representation=representation), copy).gain.low > 0.3


# Odd tables -----------------------------------------------------------------------------------------------


@every
def test_control_is_needed(attack):
    with pytest.raises(NotApplicable, match="control"):
        ask(attack(), split(LINE, [[10]], [], [[10]]))


def test_one_row_each():
    found = ask(MembershipCalibrated(n_permutations=19), split(LINE, [[10]], [[90]], [[10]]))
    assert found.gain.low <= 0
    with pytest.raises(NotApplicable, match="at least 2 control rows"):
        ask(MembershipRatio(), split(LINE, [[10]], [[90]], [[10]]))
    found = ask(MembershipRatio(n_permutations=19), split(LINE, [[10]], [[90], [80]], [[10]]))
    assert found.gain.low <= 0


@every
def test_equal_people_cannot_be_told_apart(attack):
    same = np.full((60, 1), 5.0)
    found = ask(fast(attack), split(LINE, same, same, same))
    assert found.gain.low <= 0 <= found.gain.high
    assert found.risk.value == 0 or attack in SAMPLED  # by lot


@every
def test_missing_values_and_constant_columns(attack):
    schema = Schema(
        (
            Numeric(name="x", low=0, high=9),
            Numeric(name="gone", low=0, high=0),
            Categorical(name="only", labels=("a",)),
        )
    )
    rng = np.random.default_rng(1)

    def people(n):
        x = rng.integers(0, 10, n).astype(float)
        x[rng.random(n) < 0.3] = NAN
        return np.column_stack([x, np.full(n, NAN), np.zeros(n)])

    found = ask(fast(attack), split(schema, people(80), people(70), people(60)))
    assert found.gain.low <= 0 <= found.gain.high


@every
def test_parameters_are_checked(attack):
    for settings in ({"n_permutations": 0}, {"n_attacks": 0}):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            attack(**settings)
    with pytest.raises(ParameterError, match="offset"):
        MembershipRatio(offset=0.0)
    if attack in SAMPLED:
        with pytest.raises(ParameterError, match="reference_share"):
            attack(reference_share=1.0)
    for owner, settings in ((MembershipTrees, {"min_leaf": 0}), (MembershipInfluence, {"n_neighbors": 0})):
        with pytest.raises(ParameterError, match=next(iter(settings))):
            owner(**settings)


def test_a_sample_has_equal_counts():
    found = ask(fast(MembershipCalibrated, n_attacks=70), population("mixed", (90, 60, 80), seed=3))
    assert [len(item.rows) for item in found.sensitive_scores] == [60, 60]


@both
def test_no_more_people_are_called_exposed_than_are(attack):
    metric = fast(attack)
    lows = [
        ask(metric, population("mixed", (300,) * 3, leak=0.1, seed=seed), seed).gain.low for seed in range(40)
    ]
    assert sum(low > 0.1 for low in lows) <= binom.ppf(0.999, 40, 0.025)
    assert np.median(lows) > 0.02
