"""PATE-GAN keeps to its budget, one row moves no sum of votes by more than 1, and attacks find no more."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.generator_tables import labels, patients, rng
from supplies.strategies import schemas, tables

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError, TabveilError
from tabveil.synthesis.generators import GENERATORS, load_model
from tabveil.synthesis.generators.pategan.accounting import (
    GaussianSums,
    VotingPlan,
    delta_of,
    epsilon_of,
    mu_of,
)
from tabveil.synthesis.generators.pategan.synthesizer import PateGan
from tabveil.workflows.epsilon.bounds import GuessCounts, least_epsilon

torch = pytest.importorskip("torch")

from tabveil.synthesis.generators.pategan import network as voting  # noqa: E402 - needs torch
from tabveil.synthesis.generators.pategan.network import AgreementTeachers, ballot  # noqa: E402 - needs torch

QUICK = {"iterations": 5, "batch_size": 16, "width": 16, "latent": 4}
OUTSPOKEN = {"epsilon": 500.0, "n_teachers": 500, "iterations": 100, "width": 32, "latent": 8}


@pytest.fixture(autouse=True)
def _one_thread():
    with workers.working(threads=1):
        yield


people = partial(patients, with_constant=True)


# The accounting


@pytest.mark.parametrize(
    ("epsilon", "delta", "iterations", "batch_size"),
    [
        (0.1, 1e-5, 100, 64),
        (0.5, 1e-5, 300, 128),
        (1.0, 1e-5, 300, 128),
        (1.0, 1e-9, 300, 128),
        (1.0, 1e-5, 1, 2),
        (2.0, 1e-6, 1000, 64),
        (3.0, 1e-5, 2000, 32),
        (5.0, 1e-3, 50, 512),
        (10.0, 1e-5, 300, 128),
        (20.0, 1e-7, 10, 10),
    ],
)
def test_the_noise_is_that_of_a_privacy_loss_distribution(epsilon, delta, iterations, batch_size):
    dp_accounting = pytest.importorskip("dp_accounting")
    from dp_accounting import pld  # noqa: PLC0415 - slow to load, and an extra

    plan = VotingPlan.within(
        GaussianSums(), epsilon, delta, iterations=iterations, votes=batch_size, noise=None
    )
    accountant = pld.PLDAccountant(
        dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,  # one row moves a sum by 1
        value_discretization_interval=1e-3 * epsilon,
    )
    accountant.compose(dp_accounting.GaussianDpEvent(plan.noise), iterations * batch_size)
    assert accountant.get_epsilon(delta) == pytest.approx(epsilon, rel=0.01)


def test_delta_by_hand():
    # mu = 2, ε = 2: Φ(0) - e² Φ(-2) = 0.5 - 7.389056 × 0.022750
    assert delta_of(2.0, 2.0) == pytest.approx(0.5 - math.exp(2) * 0.0227501319, abs=1e-9)
    assert delta_of(0.0, 1.0) == 0.0


@given(st.floats(0.01, 30), st.floats(1e-12, 0.1))
@settings(max_examples=50, deadline=None)
def test_cost_and_promise_are_inverse(epsilon, delta):
    mu = mu_of(epsilon, delta)
    assert delta_of(mu, epsilon) <= delta
    assert delta_of(mu * 1.001, epsilon) > delta
    assert epsilon_of(mu, delta) == pytest.approx(epsilon, rel=1e-6)


@given(st.floats(0.05, 20), st.floats(1, 3000), st.integers(2, 300), st.integers(1, 2000))
@settings(max_examples=100, deadline=None)
def test_training_stops_before_the_budget_would_be_passed(epsilon, noise, batch_size, iterations):
    plan = VotingPlan.within(
        GaussianSums(), epsilon, 1e-5, iterations=iterations, votes=batch_size, noise=noise
    )
    assert 0 <= plan.iterations <= iterations
    assert delta_of(math.sqrt(plan.n_votes) / noise, epsilon) <= 1e-5
    if plan.iterations < iterations:  # one batch more would be too much
        assert delta_of(math.sqrt((plan.iterations + 1) * batch_size) / noise, epsilon) > 1e-5


def test_as_many_votes_are_held_as_were_planned(monkeypatch):
    seen = []
    held = AgreementTeachers.vote

    def counting(self, asked, usual):
        seen.append((len(asked), self.noise))
        return held(self, asked, usual)

    monkeypatch.setattr(AgreementTeachers, "vote", counting)
    model = PateGan(**{**QUICK, "noise": 40.0, "iterations": 1000}).fit(people(), rng=rng())
    # mu for ε = 1, δ = 1e-5 is 0.26805; (40 × 0.26805)² = 114.96 votes are 7 batches of 16
    assert seen == [(16, 40.0)] * 7
    assert len(model.history) == 7
    assert model.privacy.epsilon == pytest.approx(epsilon_of(math.sqrt(112) / 40, 1e-5))
    assert model.privacy.epsilon < 1


def test_a_noise_too_small_for_one_iteration_is_refused():
    with pytest.raises(
        ParameterError, match=r"pategan: noise 5 is too little for a single iteration of 16 votes"
    ):
        PateGan(**QUICK, noise=5.0).fit(people(), rng=rng())


# The votes


def only(votes, noise, *, rng):
    return votes


def teachers_of(rows, n_levels, n_teachers, seed=0):
    random = rng(seed)
    teacher = random.integers(n_teachers, size=len(rows))
    settings_ = PateGan(n_teachers=n_teachers)
    return AgreementTeachers(np.asarray(rows), teacher, n_levels, settings_, noise=1.0, rng=random)


def marks(*rows):
    return np.array(rows, dtype=np.float32)


def test_every_row_belongs_to_one_teacher():
    teachers = teachers_of(np.arange(100)[:, None], 100, 7)  # every row has a level to itself
    assert sorted(teachers.rows.indices) == list(range(100))
    n_own = np.diff(teachers.first, append=100)
    assert n_own.sum() == 100
    assert len(n_own) == 7
    assert (n_own > 4).all()  # 14.3 on average; divided at random, not in the order of the rows
    assert not np.array_equal(teachers.rows.indices, np.arange(100))


def test_votes_by_hand(monkeypatch):
    monkeypatch.setattr(voting, "add_gaussian", only)
    teachers = teachers_of([[0, 2], [0, 3]], 4, 1)  # one teacher; levels 0 or 1, and 2 or 3
    asked = marks([1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1])
    # columns that agree with its rows: 2 and 1, 1 and 2, 1 and 0, 0 and 1; mean squares 2.5, 2.5, 0.5, 0.5
    # less what is usual, 1, 4, 0 and 1: scores 1.5, -1.5, 0.5, -0.5
    np.testing.assert_array_equal(teachers.vote(asked, marks(1, 4, 0, 1)), [0.5, -0.5, 0.5, -0.5])
    assert teachers.held == 4


def test_teachers_vote_by_their_own_rows_alone(monkeypatch):
    monkeypatch.setattr(voting, "add_gaussian", only)
    teachers = teachers_of([[0], [0], [0], [1]], 2, 1000)  # a teacher for each row
    assert len(teachers.first) == 4
    np.testing.assert_allclose(1000 * teachers.vote(marks([1, 0], [0, 1]), marks(0.5, 0.5)), [1, -1])  # 3:1


def test_each_teacher_calls_half_of_a_batch_real():
    votes = ballot(rng().normal(size=(50, 16)))
    np.testing.assert_array_equal(votes.sum(axis=1), 0)
    assert set(np.unique(votes)) == {-0.5, 0.5}


def test_a_teacher_without_rows_abstains(monkeypatch):
    monkeypatch.setattr(voting, "add_gaussian", only)
    teachers = teachers_of([[0]], 2, 1000)
    sums = 1000 * teachers.vote(marks([1, 0], [0, 1]), marks(0.5, 0.5))
    np.testing.assert_allclose(sums, [0.5, -0.5])


@pytest.mark.parametrize("change", ["replaced", "added", "removed"])
@given(seed=st.integers(0, 2**32 - 1), n_teachers=st.sampled_from([1, 3, 40]))
@settings(max_examples=40, deadline=None)
def test_one_row_moves_no_sum_by_more_than_one(change, seed, n_teachers):
    random = rng(seed)
    rows = random.integers([0, 5, 10], [5, 10, 15], (20, 3))
    other = rows.copy()
    other[-1] = random.integers([0, 5, 10], [5, 10, 15])
    other = {"replaced": other, "added": np.vstack([rows, other[-1:]]), "removed": rows[:-1]}[change]
    asked, usual = random.integers(0, 2, (30, 15)).astype(np.float32), random.random(30, dtype=np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(voting, "add_gaussian", only)
        first, second = (
            teachers_of(table, 15, n_teachers, seed).vote(asked, usual) for table in (rows, other)
        )
    assert np.abs(first - second).max() * n_teachers <= 1 + 1e-9


def test_noise_has_the_stated_size_and_halves_only():
    noisy = voting.add_gaussian(np.full(20_000, 3.5), 25.0, rng=rng())
    assert noisy.mean() == pytest.approx(3.5, abs=0.7)
    assert noisy.std() == pytest.approx(25.0, rel=0.02)
    np.testing.assert_array_equal(2 * noisy, np.round(2 * noisy))


def test_secrets_have_more_bits_than_a_seed_of_torch(monkeypatch):
    manual_seed, given_to, heard = torch.manual_seed, [], []
    made, add_noise = AgreementTeachers.__init__, voting.add_gaussian

    def watched(self, levels, teacher, *args, **kwargs):
        given_to.append(teacher)
        made(self, levels, teacher, *args, **kwargs)

    def overheard(votes, noise, *, rng):
        heard.append(add_noise(np.zeros_like(votes), noise, rng=rng))
        return votes + heard[-1]

    monkeypatch.setattr(torch, "manual_seed", lambda _: manual_seed(0))
    monkeypatch.setattr(AgreementTeachers, "__init__", watched)
    monkeypatch.setattr(voting, "add_gaussian", overheard)
    for seed in (5, 5 + 2**32, 5 + 2**63):  # alike for a generator with a seed of 32 or 63 bits
        PateGan(**{**QUICK, "iterations": 1}).fit(people(), rng=rng(seed))
    for found in (heard, given_to):
        assert len({item.tobytes() for item in found}) == 3


# What an attacker finds


def proven(hits, misses, n, delta):
    """The ε that an attack proves, whatever the mechanism."""
    counts = GuessCounts(hits=hits, n_with=n, false_alarms=misses, n_without=n)
    return least_epsilon(counts, "any", delta=delta, alpha=0.05)


def proven_by_votes(noise, n_votes, cut, *, delta, n=20_000):
    """Attack the votes of a single teacher whose only row is replaced: every sum moves by 1."""
    asked = np.tile(np.eye(2, dtype=np.float32), (n * n_votes // 2, 1))
    sides = np.where(asked[:, 0] == 1, 1.0, -1.0)
    found = []
    for seed, level in enumerate((0, 1)):
        teachers = AgreementTeachers(
            np.array([[level]]), np.array([0]), 2, PateGan(n_teachers=1), noise=noise, rng=rng(10 + seed)
        )
        votes = teachers.vote(asked, np.full(len(asked), 0.5, dtype=np.float32))
        found.append((votes * sides).reshape(n, n_votes).sum(axis=1) / (noise * math.sqrt(n_votes)))
    return proven(int((found[0] > cut).sum()), int((found[1] > cut).sum()), n, delta)


@pytest.mark.parametrize(("epsilon", "near"), [(1.0, 0.1), (10.0, 4.0)])
def test_votes_betray_less_than_stated_but_not_much_less(epsilon, near):
    plan = VotingPlan.within(GaussianSums(), epsilon, 1e-5, iterations=1, votes=8, noise=None)
    proven = [proven_by_votes(plan.noise, 8, cut, delta=1e-5) for cut in (1.5, 2.5)]
    assert near < max(proven) < epsilon


def test_counting_batches_instead_of_votes_would_be_seen():
    mu = mu_of(1.0, 1e-5)
    assert proven_by_votes(1 / mu, 64, 2.0, delta=1e-5, n=4000) > 1


# Learning


def shares(table, name, n):
    cells = table.column(name)
    return np.bincount(cells[~np.isnan(cells)].astype(int), minlength=n) / len(cells)


@pytest.mark.parametrize("side", ["share", "majority"])
def test_columns_are_reproduced_where_the_budget_is_large(side):
    table = people(2000)
    model = PateGan(**OUTSPOKEN, labels=side, public=table.schema.names).fit(table, rng=rng())
    drawn = model.sample(4000, rng=rng(1))
    assert np.abs(shares(drawn, "ward", 5) - shares(table, "ward", 5)).sum() / 2 < 0.15
    assert np.isnan(drawn.column("age")).mean() == pytest.approx(0.25, abs=0.1)
    dose = drawn.column("dose")
    assert np.mean((dose > 5) & (dose < 35)) > 0.7  # 0.997 of the rows, 0.3 of the range


def test_what_goes_with_what_is_learned_by_teachers_with_some_rows():
    first = rng().choice(4, 2000, p=[0.4, 0.3, 0.2, 0.1])
    table = Table(schema=Schema((labels("a", 4), labels("b", 4))), values=np.column_stack([first, 3 - first]))
    model = PateGan(epsilon=10.0, n_teachers=500).fit(table, rng=rng())
    a, b = model.sample(4000, rng=rng(1)).values.T
    assert np.mean(b == 3 - a) > 0.45  # 0.3 if columns were independent


def test_hardly_anything_is_learned_where_the_budget_is_small():
    table = people(2000)
    drawn = PateGan(**{**OUTSPOKEN, "epsilon": 1e-4}).fit(table, rng=rng()).sample(4000, rng=rng(1))
    assert np.abs(shares(drawn, "ward", 5) - shares(table, "ward", 5)).sum() / 2 > 0.2


# The contract


def test_what_is_promised_names_its_limits():
    table = people()
    model = PateGan(**QUICK, public=("ward", "dose", "site")).fit(table, rng=rng())
    assert model.privacy.public == ("ward", "dose", "site")
    assert model.privacy.read_from_data == {"age": ("range", "decimals", "missing values", "form")}
    assert "1 of 4 columns: age (range, decimals, missing values, form)." in model.notes[0]
    assert model.privacy.epsilon == pytest.approx(1.0)
    assert model.privacy.epsilon <= 1.0
    declared = PateGan(**QUICK, public=table.schema.names).fit(table, rng=rng())
    assert not declared.privacy.read_from_data
    assert not any("WARNING" in note for note in declared.notes)


def test_declared_columns_are_not_looked_at():
    full, empty = people(), people()
    empty = Table(schema=empty.schema, values=np.full_like(empty.values, np.nan))
    synthesizer = PateGan(**QUICK, public=full.schema.names)
    sizes = [synthesizer.fit(table, rng=rng()).network.sizes for table in (full, empty)]
    assert sizes[0] == sizes[1] == (6, 23, 23, 2)


def test_values_outside_the_declared_bounds_count_as_the_bounds():
    table = Table(schema=Schema((Numeric(name="x", low=0, high=1),)), values=np.array([[-7.0], [9.0]]))
    drawn = PateGan(**QUICK, public=("x",)).fit(table, rng=rng()).sample(50, rng=rng(1)).column("x")
    present = drawn[~np.isnan(drawn)]
    assert ((present >= 0) & (present <= 1)).all()


def test_a_seed_gives_the_same_model_and_leaves_global_state_alone():
    before = torch.get_rng_state()
    first, second = (
        PateGan(**QUICK).fit(people(), rng=rng(3)).sample(40, rng=rng(4)).values for _ in range(2)
    )
    np.testing.assert_array_equal(first, second)
    assert torch.equal(torch.get_rng_state(), before)


def test_storing_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("tabveil.synthesis.generators.GENERATORS", {**GENERATORS, "pategan": PateGan})
    model = PateGan(**QUICK, public=("ward",)).fit(people(), rng=rng())
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(model.sample(50, rng=rng(8)).values, loaded.sample(50, rng=rng(8)).values)
    assert (loaded.made_by, loaded.privacy, loaded.notes) == (model.made_by, model.privacy, model.notes)


def test_an_interruption_keeps_what_was_learned():
    def interrupt(doing, share):
        if share > 0.5:
            raise KeyboardInterrupt

    with workers.working(listener=interrupt):
        model = PateGan(**QUICK).fit(people(), rng=rng())
    assert INTERRUPTED in model.notes
    assert model.privacy.epsilon == pytest.approx(1.0)  # what was planned, not what was spent
    assert len(model.sample(10, rng=rng(1))) == 10


def test_progress_rises_to_the_end():
    heard = []
    with workers.working(listener=lambda _, share: heard.append(share)):
        PateGan(**QUICK).fit(people(), rng=rng())
    assert all(a < b for a, b in pairwise(heard))
    assert heard[-1] == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilon": 0},
        {"delta": 1},
        {"n_teachers": 0},
        {"teachers": "both"},
        {"batch_size": 1},
        {"noise": 0},
        {"averaging": 1.0},
        {"labels": "both"},
    ],
)
def test_settings_are_checked(wrong):
    with pytest.raises(ParameterError, match=f"^pategan: {next(iter(wrong))} must"):
        PateGan(**wrong)


def test_unknown_public_columns_are_refused():
    with pytest.raises(ParameterError, match="Did you mean 'ward'"):
        PateGan(public=("wards",)).fit(people(), rng=rng())


def test_ten_thousand_labels_and_three_hundred_columns():
    many = Table(schema=Schema((labels("code", 10_000),)), values=np.arange(50.0)[:, None])
    wide = Table(
        schema=Schema(tuple(labels(f"c{i}", 2) for i in range(300))),
        values=rng().integers(0, 2, (20, 300)).astype(float),
    )
    for table in (many, wide):
        drawn = PateGan(**{**QUICK, "iterations": 1}).fit(table, rng=rng()).sample(9, rng=rng(1))
        assert drawn.values.shape == (9, len(table.schema))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables(data):
    table = data.draw(tables(data.draw(schemas()), max_rows=12))
    try:
        drawn = PateGan(**{**QUICK, "iterations": 2}).fit(table, rng=rng()).sample(7, rng=rng(9))
    except TabveilError as error:
        if not str(error).startswith("pategan: "):
            raise
        return
    assert drawn.schema == table.schema
    for column in table.schema.columns:
        cells, known = drawn.column(column.name), table.column(column.name)
        present = cells[~np.isnan(cells)]
        assert len(present) == len(cells) or np.isnan(known).any()
        assert len(present) == 0 or not np.isnan(known).all()
        match column:
            case Numeric(low=low, high=high):
                assert ((present >= low) & (present <= high)).all()
            case Categorical():
                assert np.isin(present, np.arange(len(column.labels))).all()
