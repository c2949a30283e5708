"""PATE-GAN as published: teachers are networks, every row knows one of them, and every vote is paid for."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from supplies.generator_tables import labels, patients, rng

from tabveil.core import workers
from tabveil.core.table import Schema, Table
from tabveil.errors import ParameterError
from tabveil.synthesis.generators.pategan.accounting import NoisyMajorities, VotingPlan, log_chances
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.workflows.epsilon.bounds import GuessCounts, least_epsilon

torch = pytest.importorskip("torch")

from tabveil.synthesis.generators.pategan import network as network_teachers  # noqa: E402 - needs torch
from tabveil.synthesis.generators.pategan.network import NetworkTeachers  # noqa: E402 - needs torch

DELTA = 1e-5
QUICK = {
    "teachers": "networks",
    "n_teachers": 10,
    "iterations": 5,
    "batch_size": 16,
    "width": 16,
    "latent": 4,
}


@pytest.fixture(autouse=True)
def _one_thread():
    with workers.working(threads=1):
        yield


# The accounting

SETTINGS = [
    # epsilon, delta, votes, teachers
    (0.1, 1e-5, 6400, 1000),
    (0.5, 1e-5, 38_400, 200),
    (1.0, 1e-5, 38_400, 1000),
    (1.0, 1e-9, 38_400, 50),
    (1.0, 1e-5, 2, 10),
    (2.0, 1e-6, 64_000, 10),
    (3.0, 1e-5, 64_000, 500),
    (5.0, 1e-3, 25_600, 100),
    (10.0, 1e-5, 38_400, 1000),
    (20.0, 1e-7, 100, 5),
]


def attained(noise, n_votes, delta, before):
    """The ε of bits whose difference moves by 2 from one place, exactly: no accounting may say less.

    How many bits are 1 tells all that they tell, and is binomial in both worlds.
    """
    yes = [np.exp(log_chances(np.array([float(moved)]), noise)[0][0]) for moved in (before, before + 2)]
    counts = np.arange(n_votes + 1)
    first, second = (binom.logpmf(counts, n_votes, chance) for chance in yes)

    def delta_of(epsilon, one, other):
        above = one > epsilon + other
        return np.sum(np.exp(one[above]) * -np.expm1(epsilon + other[above] - one[above]))

    def least(one, other):
        low, high = 0.0, 100.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (low, middle) if delta_of(middle, one, other) <= delta else (middle, high)
        return high

    return max(least(first, second), least(second, first))


@pytest.mark.parametrize(("epsilon", "delta", "n_votes", "n_teachers"), SETTINGS)
def test_the_noise_is_enough_and_hardly_more(epsilon, delta, n_votes, n_teachers):
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import pld  # noqa: PLC0415 - slow to load, and an extra

    noise = NoisyMajorities(n_teachers=n_teachers).least_noise(n_votes, epsilon, delta)
    worst = max(attained(noise, n_votes, delta, before) for before in (-1, 0, n_teachers // 2 - 1))
    assert worst <= epsilon
    if n_votes > 10:  # with few votes a bound by divergences is loose
        assert worst > 0.88 * epsilon
    counts = pld.PLDAccountant(
        dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE, value_discretization_interval=1e-3 * epsilon
    )
    counts.compose(dp_accounting.LaplaceDpEvent(noise), 2 * n_votes)  # if both noisy counts were released
    assert epsilon < counts.get_epsilon(delta)


def test_chances_by_hand():
    # Two Laplace draws of scale 2 differ by more than 4 with the chance (2 + 2) / 4 · exp(-2).
    yes, no = (np.exp(item) for item in log_chances(np.array([-4.0, 0.0, 4.0]), 2.0))
    np.testing.assert_allclose(yes, [math.exp(-2), 0.5, 1 - math.exp(-2)])
    np.testing.assert_allclose(yes + no, 1)


def test_chances_are_those_of_the_votes():
    draws = network_teachers.add_laplace(np.zeros((2, 40_000)), 5.0, rng=rng())
    for difference in (-7.0, 2.0):
        expected = np.exp(log_chances(np.array([difference]), 5.0)[0][0])
        assert np.mean(difference + draws[0] > draws[1]) == pytest.approx(expected, abs=0.01)


def test_more_teachers_allow_no_less_noise():
    few, many = (NoisyMajorities(n_teachers=n).least_noise(3, 6.0, DELTA) for n in (1, 60))
    assert few < many  # the worst difference is out of reach of one teacher: its bit is worth less


def test_the_search_for_noise_ends_where_it_would_on_any_machine():
    # Stored promises are compared to nine digits, so the least noise must be known to more.
    accountant = NoisyMajorities(n_teachers=50)
    noise = accountant.least_noise(1000, 1.0, DELTA)
    assert accountant.epsilon(1000, noise / (1 + 1e-9), DELTA) == pytest.approx(1, rel=1e-11)
    assert accountant.epsilon(1000, noise, DELTA) < 1


@pytest.mark.parametrize("extreme", [{"epsilon": 1e308}, {"epsilon": 1e-6, "delta": 1e-300}])
def test_what_no_noise_keeps_is_refused(extreme):
    with pytest.raises(ParameterError, match=r"^pategan: no noise is found for ε = 1e"):
        PateGan(**QUICK, **extreme).plan()


def test_a_noise_beyond_all_need_is_no_harm():
    assert PateGan(**QUICK, noise=1e300).plan().iterations == QUICK["iterations"]
    assert PateGan(iterations=7, noise=1e300).plan().iterations == 7


def test_so_many_networks_as_fit_into_memory():
    with pytest.raises(ParameterError, match=r"^pategan: n_teachers must be <= 10,000, got 10001\.$"):
        PateGan(teachers="networks", n_teachers=10_001)
    assert PateGan(n_teachers=10_001).course.n_teachers == 10_001  # simple ones take little


@given(st.floats(0.05, 20), st.floats(1, 3000), st.integers(2, 300), st.integers(1, 2000))
@settings(max_examples=25, deadline=None)
def test_training_stops_before_the_budget_would_be_passed(epsilon, noise, votes, iterations):
    accountant = NoisyMajorities(n_teachers=20)
    plan = VotingPlan.within(accountant, epsilon, DELTA, iterations=iterations, votes=votes, noise=noise)
    assert 0 <= plan.iterations <= iterations
    if plan.iterations:
        assert accountant.epsilon(plan.n_votes, noise, DELTA) <= epsilon
    if plan.iterations < iterations:  # one iteration more would be too much
        assert accountant.epsilon(plan.n_votes + votes, noise, DELTA) > epsilon


def test_as_many_votes_are_held_as_were_planned(monkeypatch):
    seen = []
    vote = NetworkTeachers.vote
    monkeypatch.setattr(
        NetworkTeachers,
        "vote",
        lambda self, asked: seen.append((len(asked), self.noise)) or vote(self, asked),
    )
    synthesizer = PateGan(**QUICK, student_steps=3)
    model = synthesizer.fit(patients(), rng=rng())
    noise = synthesizer.plan().noise
    assert seen == [(16, noise)] * 3 * 5  # every vote of every step of the student
    assert noise == NoisyMajorities(n_teachers=10).least_noise(3 * 5 * 16, 1.0, DELTA)
    assert model.privacy.epsilon == pytest.approx(1.0, rel=1e-4)
    assert model.privacy.epsilon <= 1.0
    assert "240 votes" in model.privacy.accountant


def test_a_noise_too_small_for_one_iteration_is_refused():
    with pytest.raises(ParameterError, match=r"pategan: noise 1 is too little for a single iteration of 32"):
        PateGan(**QUICK, student_steps=2, noise=1.0).fit(patients(), rng=rng())


# The teachers


def only(counts, noise, *, rng):
    return counts


def marks(*levels, n_levels):
    return torch.nn.functional.one_hot(torch.tensor(levels), n_levels).float()


def teachers_of(rows, n_levels, n_teachers, seed=0, noise=1.0, **changed):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        settings_ = PateGan(teachers="networks", n_teachers=n_teachers, **changed)
        random = rng(seed)
        teacher = random.integers(n_teachers, size=len(rows))
        return NetworkTeachers(np.asarray(rows), teacher, n_levels, settings_, noise=noise, rng=random)


def test_every_row_belongs_to_one_teacher_for_good():
    teachers = teachers_of(np.arange(100)[:, None], 100, 7)  # every row has a level to itself
    before = teachers.levels.clone()
    assert sorted(before[:, 0].tolist()) == list(range(100))
    assert teachers.n_own.sum() == 100
    assert (teachers.n_own > 4).all()  # 14.3 on average; divided at random, not in the order of the rows
    assert not torch.equal(before[:, 0], torch.arange(100))
    for _ in range(3):
        teachers.learn(marks(0, 1, 2, 3, n_levels=100))
    assert torch.equal(teachers.levels, before)


def test_a_teacher_sees_its_own_rows_alone():
    teachers = teachers_of(np.arange(20)[:, None], 20, 4)
    with torch.no_grad():
        teachers.weights[0][:] = torch.arange(20.0)[:, None, None]  # so that a row's level is what is seen
    seen = teachers._own(200)[:, :, 0].long()
    for place, (first, n_own) in enumerate(zip(teachers.first, teachers.n_own, strict=True)):
        assert set(seen[:, place].tolist()) == set(teachers.levels[first : first + n_own, 0].tolist())


@pytest.mark.parametrize("change", ["replaced", "added", "removed"])
@pytest.mark.parametrize("n_teachers", [1, 3, 40])
def test_one_row_changes_one_teacher_and_no_difference_by_more_than_two(change, n_teachers, monkeypatch):
    heard = []
    monkeypatch.setattr(network_teachers, "add_laplace", lambda count, *_, **__: heard.append(count) or count)
    rows = rng(1).integers([0, 5, 10], [5, 10, 15], (20, 3))
    replaced = rows.copy()
    replaced[-1] = (rows[-1] - [0, 5, 10] + 1) % 5 + [0, 5, 10]
    other = {"replaced": replaced, "added": np.vstack([rows, replaced[-1:]]), "removed": rows[:-1]}[change]
    asked = marks(*rng(2).integers(15, size=30).tolist(), n_levels=15)
    found = []
    for table in (rows, other):
        teachers = teachers_of(table, 15, n_teachers, teacher_learning_rate=0.05)
        teachers.rng = rng(3)  # a row more takes a number more to be given to a teacher
        for _ in range(30):
            teachers.learn(asked)
        heard.clear()
        teachers.vote(asked)
        found.append((teachers.weights, heard[0] - heard[1]))
    (first, votes), (second, other_votes) = found
    differing = {
        place
        for one, two in zip(first, second, strict=True)
        for place in (one != two).nonzero()[:, 1 if one.ndim == 3 else 0].tolist()
    }
    assert len(differing) == 1
    assert np.abs(votes - other_votes).max() <= 2


def test_teachers_learn_to_tell_their_rows(monkeypatch):
    monkeypatch.setattr(network_teachers, "add_laplace", only)
    teachers = teachers_of(np.zeros((60, 1), dtype=int), 3, 6, teacher_learning_rate=0.05)
    for _ in range(60):
        teachers.learn(marks(1, 2, 1, 2, n_levels=3))
    assert teachers.vote(marks(0, 1, 2, n_levels=3)).tolist() == [1, 0, 0]
    assert teachers.held == 3


def test_a_teacher_without_rows_has_no_say_and_learns_nothing(monkeypatch):
    heard = []
    monkeypatch.setattr(network_teachers, "add_laplace", lambda count, *_, **__: heard.append(count) or count)
    teachers = teachers_of([[0]], 2, 50)
    before = teachers.weights[0].detach().clone()
    teachers.learn(marks(0, 1, n_levels=2))
    teachers.vote(marks(0, 1, n_levels=2))
    np.testing.assert_array_equal(heard[0] + heard[1], [1, 1])  # one vote each, for or against
    changed = (teachers.weights[0] != before).any(dim=2).any(dim=0)
    assert changed.nonzero().flatten().tolist() == np.flatnonzero(teachers.n_own).tolist()


def test_noise_is_laplacian_of_the_stated_scale():
    noise = network_teachers.add_laplace(np.zeros(50_000), 25.0, rng=rng())
    assert np.abs(noise).mean() == pytest.approx(25.0, rel=0.02)  # the mean distance is the scale
    assert noise.std() == pytest.approx(25.0 * math.sqrt(2), rel=0.03)


ALIKE = (5, 5 + 2**32, 5 + 2**63)
"""Seeds that a generator with a seed of 32 or 63 bits cannot tell apart."""


def test_secrets_have_more_bits_than_a_seed_of_torch(monkeypatch):
    manual_seed, given_to, heard = torch.manual_seed, [], []
    made, add_noise = NetworkTeachers.__init__, network_teachers.add_laplace

    def watched(self, *args, **kwargs):
        made(self, *args, **kwargs)
        given_to.append(self.n_own)

    def overheard(count, scale, *, rng):
        heard.append(add_noise(np.zeros_like(count), scale, rng=rng))
        return count + heard[-1]

    monkeypatch.setattr(torch, "manual_seed", lambda _: manual_seed(0))
    monkeypatch.setattr(NetworkTeachers, "__init__", watched)
    monkeypatch.setattr(network_teachers, "add_laplace", overheard)
    noises = []
    for seed in ALIKE:
        heard.clear()
        PateGan(**{**QUICK, "iterations": 1}).fit(patients(), rng=rng(seed))
        noises.append(heard[0])
    for one, other in combinations(range(len(ALIKE)), 2):
        assert not np.array_equal(noises[one], noises[other])
        assert not np.array_equal(given_to[one], given_to[other])


def test_rows_of_a_step_have_more_bits_than_a_seed_of_torch():
    drawn = [teachers_of(np.arange(500)[:, None], 500, 1, seed)._own(9).detach() for seed in ALIKE]
    assert torch.equal(drawn[0], teachers_of(np.arange(500)[:, None], 500, 1, ALIKE[0])._own(9))
    for one, other in combinations(drawn, 2):
        assert not torch.equal(one, other)


# What an attacker finds


def proven(hits, misses, n, delta):
    """The ε that an attack proves, whatever the mechanism."""
    counts = GuessCounts(hits=hits, n_with=n, false_alarms=misses, n_without=n)
    return least_epsilon(counts, "any", delta=delta, alpha=0.05)


def proven_by_votes(noise, n_votes, cut, *, n=20_000):
    """Attack the votes of a single teacher whose only row is replaced: it changes sides on every row."""
    found = []
    for seed, level in enumerate((0, 1)):
        teachers = teachers_of([[level]], 2, 1, 10 + seed, noise, teacher_learning_rate=0.05)
        for _ in range(60):
            teachers.learn(marks(0, 1, n_levels=2))
        bits = teachers.vote(marks(0, n_levels=2).expand(n * n_votes, 2)).numpy()
        found.append(bits.reshape(n, n_votes).mean(axis=1))
    return proven(int((found[0] >= cut).sum()), int((found[1] >= cut).sum()), n, DELTA)


@pytest.mark.parametrize(("epsilon", "near"), [(1.0, 0.3), (10.0, 4.0)])
def test_votes_betray_less_than_stated_but_not_much_less(epsilon, near):
    noise = NoisyMajorities(n_teachers=1).least_noise(8, epsilon, DELTA)
    proven = [proven_by_votes(noise, 8, cut) for cut in (0.625, 0.75, 0.875, 1.0)]
    assert near < max(proven) < epsilon


def test_counting_iterations_instead_of_votes_would_be_seen():
    noise = NoisyMajorities(n_teachers=1).least_noise(1, 1.0, DELTA)
    assert proven_by_votes(noise, 64, 0.6, n=4000) > 1


def canary_found(seed, level, **changed):
    """Whether the attacker says that the only row of a table is the canary, from the fitted generator.

    The last layer's biases start at zero, so what is left in them was learned from the votes.
    """
    quick = {"n_teachers": 1, "iterations": 2, "batch_size": 64, "width": 32, "latent": 2, "student_steps": 1}
    quick |= {
        "teacher_steps": 20,
        "teacher_learning_rate": 0.1,
        "student_learning_rate": 0.1,
    }  # they believe what they see and hear
    table = Table(schema=Schema((labels("a", 2),)), values=np.array([[float(level)]]))
    synthesizer = PateGan(teachers="networks", public=("a",), **quick, **changed)
    usual, canary, _ = synthesizer.fit(table, rng=rng(seed)).network.layers[-1].bias.tolist()
    return canary > usual


def proven_by_models(n, **changed):
    hits = sum(canary_found(seed, 1, **changed) for seed in range(n))
    misses = sum(canary_found(n + seed, 0, **changed) for seed in range(n))
    return proven(hits, misses, n, DELTA)


def test_a_canary_is_found_no_more_often_than_stated():
    assert proven_by_models(80, epsilon=1.0) < 1


def test_without_noise_the_canary_is_found(monkeypatch):
    monkeypatch.setattr(network_teachers, "add_laplace", only)
    assert proven_by_models(40, epsilon=1.0) > 1


# Learning


def test_columns_are_reproduced_where_the_budget_is_large():
    table = patients(2000)
    model = PateGan(
        teachers="networks",
        epsilon=1000.0,
        n_teachers=20,
        iterations=300,
        batch_size=64,
        teacher_steps=5,
        teacher_learning_rate=5e-3,
        student_learning_rate=1e-2,
        learning_rate=1e-3,
        memory=5,
        width=32,
        latent=8,
        public=table.schema.names,
    ).fit(table, rng=rng())
    drawn = model.sample(4000, rng=rng(1))
    wards = [np.nan_to_num(item.column("ward"), nan=5).astype(int) for item in (drawn, table)]
    shares = [np.bincount(ward, minlength=6) / len(ward) for ward in wards]
    assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.2
    assert np.isnan(drawn.column("age")).mean() == pytest.approx(0.25, abs=0.15)
    dose = drawn.column("dose")
    assert np.mean((dose > 5) & (dose < 35)) > 0.7  # 0.997 of the rows, 0.3 of the range


def test_more_levels_than_inputs_share_them():
    table = Table(schema=Schema((labels("code", 3000), labels("b", 2))), values=np.zeros((30, 2)))
    drawn = PateGan(**QUICK, public=("code", "b")).fit(table, rng=rng()).sample(9, rng=rng(1))
    assert drawn.values.shape == (9, 2)
    teachers = teachers_of(np.zeros((30, 2), dtype=int), 3002, 2)
    assert teachers.weights[0].shape[0] == network_teachers.MOST_INPUTS
    assert len(teachers.inputs) == 3002
