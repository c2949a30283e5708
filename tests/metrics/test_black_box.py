"""Planted truths: a copy is told, a shuffled label is not; intervals hold the truth as often as they say."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Table
from tabveil.errors import ParameterError
from tabveil.metrics.black_box import (
    InferenceGame,
    MembershipGame,
    Pool,
    Ridge,
    Targets,
    judge_inference,
    judge_membership,
    judged_areas,
    judged_guesses,
    mean_area,
    membership_scores,
    true_positives,
)
from tabveil.synthesis.generators.baselines import Bootstrap, Marginals

N_FITS = 80


def targets_of(n, vulnerable=None):
    first = n if vulnerable is None else vulnerable
    return Targets(
        rows=np.arange(n),
        ranks=np.arange(1, n + 1),
        groups=("vulnerable",) * first + ("random",) * (n - first),
    )


def played(game, synthesizer, n_drawn, n_fits=N_FITS):
    """Fit, draw and look, fit after fit: (m, t, p)."""
    watch = game.watch(game.real)
    seen = []
    for fit in range(n_fits):
        rng = game.pool.rng(fit, "generator")
        model = synthesizer.fit(game.train(fit), rng=rng)
        seen.append(watch.look(model.sample(n_drawn, rng=rng)))
    return np.stack(seen)


@pytest.fixture(scope="module")
def people():
    return Table(schema=SCHEMAS["mixed"], values=rows("mixed", 150, np.random.default_rng(0)))


@pytest.fixture(scope="module")
def pool_and_targets(people):
    targets = Targets.choose(people, 12, rng=np.random.default_rng(1))
    pool = Pool.draw(targets.rows, n_data=150, n_control=0, n_rows=100, game="fixed", seed=0)
    return pool, targets


def test_a_bootstrap_copy_is_told(people, pool_and_targets):
    pool, targets = pool_and_targets
    game = MembershipGame(real=people, pool=pool)
    found = judge_membership(game, played(game, Bootstrap(), 1000), targets)
    assert found.groups[0].group == "vulnerable"
    assert found.groups[0].found.value > 0.99
    assert found.n_seen >= 6
    assert found.groups[0].readings[-1].true_positives.value > 0.95
    assert found.strongest.found.low > 0.8


def test_independent_columns_tell_nothing():
    # Every label is somebody else's, too: one that only the target has would be told by any generator.
    people = Table(schema=SCHEMAS["levels"], values=rows("levels", 900, np.random.default_rng(0)))
    targets = Targets.choose(people, 12, rng=np.random.default_rng(1))
    pool = Pool.draw(targets.rows, n_data=900, n_control=0, n_rows=800, game="fixed", seed=0)
    game = MembershipGame(real=people, pool=pool)
    found = judge_membership(game, played(game, Marginals(), 800), targets)
    for group in found.groups:
        assert group.found.low < 0.5 < group.found.high
    assert found.n_seen == 0


def test_shuffled_labels_tell_nothing(people, pool_and_targets):
    pool, targets = pool_and_targets
    game = MembershipGame(real=people, pool=pool)
    seen = played(game, Bootstrap(), 1000)
    inside = game.labels(N_FITS)
    shuffled = np.random.default_rng(0).permuted(inside, axis=0)
    found = judged_areas("x", *membership_scores(seen, shuffled), targets)
    for group in found.groups:
        assert group.found.low < 0.5 < group.found.high
    assert found.n_seen == 0


def test_an_independent_secret_is_guessed_by_chance_and_a_copied_one_is_known(people, pool_and_targets):
    pool, targets = pool_and_targets
    game = InferenceGame(real=people, pool=pool, secret="sex")
    chance = judge_inference(game, played(game, Marginals(), 100, 120), targets)
    assert (chance.chance, chance.secret, chance.n_values) == (0.5, "sex", 2)
    for group in chance.groups:
        assert group.found.low < 0.5 < group.found.high
    assert chance.n_seen == 0
    known = judge_inference(game, played(game, Bootstrap(), 1000, 120), targets)
    assert known.groups[0].found.value > 0.9
    assert known.n_seen >= 6


def test_a_secret_of_many_values_is_guessed_by_chance_one_in_all_of_them(people, pool_and_targets):
    pool, targets = pool_and_targets
    game = InferenceGame(real=people, pool=pool, secret="region")
    n_values = len(game.examples)
    chance = judge_inference(game, played(game, Marginals(), 100, 120), targets)
    assert chance.chance == 1 / n_values
    for group in chance.groups:
        assert group.found.low < 1 / n_values < group.found.high
    known = judge_inference(game, played(game, Bootstrap(), 1000, 120), targets)
    assert known.groups[0].found.low > 2 / n_values


def simulated(rng, n_fits, shifts, shared=0.0):
    """Return scores with a known area: normal, and higher by ``shifts`` (t,) where a target is in."""
    inside = rng.random((n_fits, len(shifts))) < 0.5
    noise = rng.normal(size=inside.shape) * np.sqrt(1 - shared) + rng.normal(size=(n_fits, 1)) * np.sqrt(
        shared
    )
    return noise + inside * shifts, inside


@pytest.mark.parametrize("shift", [0.0, 1.0, 3.0])
@pytest.mark.parametrize("shared", [0.0, 0.5])
def test_intervals_of_a_mean_area_cover(shift, shared):
    rng = np.random.default_rng(int(10 * shift + shared * 2))
    shifts = shift * np.linspace(0.5, 1.5, 8)
    truth = float(ndtr(shifts / np.sqrt(2)).mean())
    held = 0
    for _ in range(300):
        found = mean_area(*simulated(rng, 60, shifts, shared))
        held += found.low <= truth <= found.high
    assert held >= 0.92 * 300


@pytest.mark.parametrize("shift", [0.0, 1.5])
@pytest.mark.parametrize("level", [0.05, 0.1])
def test_intervals_of_a_pooled_rate_cover_though_targets_have_other_scales(shift, level):
    rng = np.random.default_rng(int(100 * level + shift))
    shifts = np.full(8, shift)
    scale, place = rng.uniform(0.1, 10, 8), rng.normal(size=8) * 100
    truth = float(ndtr(shift - ndtri(1 - level)))
    held, values = 0, []
    for _ in range(300):
        scores, inside = simulated(rng, 100, shifts)
        found = true_positives(scores * scale + place, inside, level)
        held += found.low <= truth <= found.high
        values.append(found.value)
    assert held >= 0.92 * 300
    assert -0.04 < np.mean(values) - truth < 0.01  # a curve that bends is read a little too low, never high


def test_a_rate_too_low_for_the_fits_is_not_read():
    scores, inside = simulated(np.random.default_rng(0), 100, np.zeros(4))
    assert true_positives(scores, inside, 0.001) is None
    assert true_positives(scores, inside, 0.1) is not None


def test_equal_scores_are_worth_what_chance_is():
    inside = np.arange(40)[:, None] % 2 == np.zeros((1, 3))
    equal = np.zeros((40, 3))
    assert mean_area(equal, inside).value == 0.5
    assert np.isclose(true_positives(equal, inside, 0.1).value, 0.1)


def test_one_target_is_seen_only_beyond_what_many_tries_explain():
    rng = np.random.default_rng(0)
    called = [
        judged_areas("x", *simulated(rng, 60, np.zeros(20)), targets_of(20)).n_seen > 0 for _ in range(100)
    ]
    assert np.mean(called) <= 0.08


def test_a_group_is_told_apart_from_the_other():
    scores, inside = simulated(np.random.default_rng(0), 200, np.array([4.0] * 3 + [0.0] * 5))
    found = judged_areas("x", scores, inside, targets_of(8, vulnerable=3))
    vulnerable, random = found.groups
    assert (vulnerable.n_targets, random.n_targets) == (3, 5)
    assert vulnerable.found.low > 0.95
    assert random.found.low < 0.5 < random.found.high
    assert [target.seen for target in found.targets] == [True] * 3 + [False] * 5


def test_too_few_fits_are_refused():
    with pytest.raises(ParameterError, match="too few fits"):
        judged_areas("x", np.zeros((4, 2)), np.ones((4, 2), dtype=bool), targets_of(2))


def test_guesses_are_counted_by_hand():
    right = np.array([[True, False], [True, False], [True, True], [True, False]])
    found = judged_guesses("x", right, targets_of(2, vulnerable=1), secret="s", n_values=4)
    assert [target.found.value for target in found.targets] == [1.0, 0.25]
    assert [group.found.value for group in found.groups] == [1.0, 0.25]
    assert found.chance == 0.25


def test_the_dual_form_is_ridge_regression():
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(30, 5)), rng.random(30)
    model = Ridge.fit(features, labels)
    scaled = (features - features.mean(axis=0)) / features.std(axis=0)
    expected = []
    for shrinkage in 10.0 ** np.arange(-3.0, 4.0):
        strength = shrinkage * np.trace(scaled @ scaled.T) / 30
        inverse = np.linalg.inv(scaled.T @ scaled + strength * np.eye(5))
        expected.append(scaled @ inverse @ scaled.T @ (labels - labels.mean()) + labels.mean())
    assert np.isclose(model.score(features), expected).all(axis=1).any()


def test_what_never_varies_is_not_looked_at():
    rng = np.random.default_rng(0)
    features = np.column_stack([np.full(20, 7.0), rng.normal(size=20)])
    model = Ridge.fit(features, rng.random(20))
    assert model.weights[0] == 0
    moved = features + np.array([[1e6, 0.0]])
    assert np.allclose(model.score(features), model.score(moved))
    nothing = Ridge.fit(np.ones((20, 2)), rng.random(20))
    assert np.ptp(nothing.score(rng.normal(size=(5, 2)))) == 0
