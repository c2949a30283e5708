"""DP-CTGAN keeps its promise: accounting, clipping, noise by hand, and an attack that tries to break it."""

import math
from itertools import combinations

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.generator_tables import labels, rng
from supplies.strategies import schemas, tables

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError
from tabveil.synthesis import generators
from tabveil.synthesis.generators.dpctgan.synthesizer import (
    ADJACENCY,
    DpCtgan,
    NoiseBudget,
    least_noise,
    nearest_shares,
    noisy_counts,
)
from tabveil.workflows.epsilon.bounds import Guess, least_epsilon

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")

from tabveil.synthesis.generators.ctgan_network import Critic, EncodedRows, RowLayout  # noqa: E402 - needs torch
from tabveil.synthesis.generators.dpctgan import network as dpctgan_network  # noqa: E402 - needs torch
from tabveil.synthesis.generators.dpctgan.network import PrivateCritic, Steepest  # noqa: E402 - needs torch

QUICK = {
    "epochs": 2,
    "sampled": 0.5,
    "batch_size": 20,
    "embedding": 8,
    "layers": (16,),
    "critic_layers": (8,),
}


@pytest.fixture(autouse=True)
def _one_thread():
    with workers.working(threads=1):
        yield


SCHEMA = Schema(
    (
        labels("ward", 5),
        Numeric(name="cost", low=0, high=4000, decimals=0),
        Numeric(name="grade", low=1, high=6, decimals=0),
    )
)


def people(n=100, seed=0):
    random = rng(seed)
    ward = random.choice(3, n, p=[0.6, 0.3, 0.1])
    return Table(schema=SCHEMA, values=np.column_stack([ward, 1000 * (ward + 1), random.integers(1, 7, n)]))


SETTINGS = [
    # epsilon, delta, counting, sampled, steps
    (1.0, 1e-5, 0.3, 0.05, 2000),
    (10.0, 1e-5, 0.3, 0.05, 2000),
    (3.0, 1e-5, 0.1, 0.05, 2000),
    (0.1, 1e-6, 0.5, 0.01, 1000),
    (1.0, 1e-9, 0.3, 0.2, 100),
    (2.0, 1e-5, 0.3, 1.0, 10),
    (0.5, 1e-5, 0.9, 0.5, 50),
    (8.0, 1e-6, 0.2, 0.01, 5000),
    (1.0, 1e-5, 0.3, 1.0, 1),
    (4.0, 1e-7, 0.01, 0.1, 300),
]


@pytest.mark.parametrize(("epsilon", "delta", "counting", "sampled", "steps"), SETTINGS)
def test_the_noise_is_enough_and_no_more(epsilon, delta, counting, sampled, steps):
    budget = NoiseBudget(epsilon=epsilon, delta=delta, counting=counting, sampled=sampled, steps=steps)

    def spent(count_noise, step_noise=None):
        accountant = pld.PLDAccountant(value_discretization_interval=1e-4 * min(1, epsilon))
        accountant.compose(dp_accounting.GaussianDpEvent(count_noise))
        if step_noise is not None:
            step = dp_accounting.PoissonSampledDpEvent(sampled, dp_accounting.GaussianDpEvent(step_noise))
            accountant.compose(dp_accounting.SelfComposedDpEvent(step, steps))
        return accountant.get_epsilon(delta)

    assert 0.98 * epsilon * counting < spent(budget.count_noise) <= epsilon * counting * (1 + 1e-6)
    assert 0.98 * epsilon < spent(budget.count_noise, budget.step_noise) <= epsilon * (1 + 1e-6)


def test_the_noise_stands_beside_a_known_number():
    # A Gaussian mechanism keeps (1, 1e-5) from a noise multiplier of 3.73 on (Balle and Wang, 2018).
    assert least_noise(1.0, 1e-5) == pytest.approx(3.7304, rel=2e-3)


def test_as_many_steps_are_taken_as_are_paid_for(monkeypatch):
    steps = []
    learn = PrivateCritic.learn
    monkeypatch.setattr(PrivateCritic, "learn", lambda self, fake: steps.append(1) or learn(self, fake))
    settings_ = DpCtgan(**{**QUICK, "epochs": 3, "sampled": 0.3})
    settings_.fit(people(), rng=rng())
    assert len(steps) == settings_.budget.steps == 9


def rows_by_hand(n=4):
    layout = RowLayout(sizes=(2,), scalar=(), single=(), conditional=(0,))
    return EncodedRows(layout, np.arange(n)[:, None] % 2, np.zeros((n, 1)), "cpu")


def test_each_gradient_is_clipped_by_itself():
    # Without layers the gradient of a row's score is the row itself and 1 for the bias: its length is √2.
    critic = PrivateCritic(
        DpCtgan(critic_layers=(), max_grad_norm=1.0), rows_by_hand(), 2, noise=0.0, n_rows=4, rng=rng()
    )
    weight, bias = critic._clipped_sum(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]))
    np.testing.assert_allclose(weight, np.array([[1, 2]]) / math.sqrt(2), rtol=1e-5)
    np.testing.assert_allclose(bias, [3 / math.sqrt(2)], rtol=1e-5)
    wide = PrivateCritic(
        DpCtgan(critic_layers=(), max_grad_norm=5.0), rows_by_hand(), 2, noise=0.0, n_rows=4, rng=rng()
    )
    np.testing.assert_allclose(wide._clipped_sum(torch.tensor([[1.0, 0.0]]))[0], [[1.0, 0.0]], rtol=1e-5)


def test_a_large_row_counts_no_more_than_any_other():
    with torch.random.fork_rng():
        critic = PrivateCritic(
            DpCtgan(critic_layers=(8, 8)), rows_by_hand(), 2, noise=0.0, n_rows=4, rng=rng()
        )
    for row in ([[1.0, 0.0]], [[1e6, -1e6]]):
        total = math.sqrt(sum(float((part**2).sum()) for part in critic._clipped_sum(torch.tensor(row))))
        assert total <= 1 + 1e-4


def test_no_row_drawn_is_noise_alone():
    empty = rows_by_hand(0)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        critic = PrivateCritic(DpCtgan(critic_layers=(64,)), empty, 2, noise=3.0, n_rows=20.0, rng=rng())
        before = [weight.clone() for weight in critic.critic.parameters()]
        critic.learn(torch.zeros(2, 2))
    assert any(not torch.equal(a, b) for a, b in zip(before, critic.critic.parameters(), strict=True))


def test_every_step_has_noise_of_the_size_that_was_asked_for(monkeypatch):
    seen = []
    settings_ = DpCtgan(critic_layers=(1000,), sampled=0.5, max_grad_norm=2.0)
    critic = PrivateCritic(settings_, rows_by_hand(0), 2, noise=3.0, n_rows=40.0, rng=rng())
    monkeypatch.setattr(
        critic.optimizer,
        "step",
        lambda: seen.append([weight.grad.clone() for weight in critic.critic.parameters()]),
    )
    fake = torch.zeros(2, 2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for _ in range(3):
            against = [part / 2 for part in critic._clipped_sum(fake.clone())]
            critic.learn(fake.clone())
            noise = torch.cat([(a - b).flatten() for a, b in zip(seen[-1], against, strict=True)])
            assert float(noise.std()) == pytest.approx(
                3 * 2 / 20, rel=0.05
            )  # on the sum, over 20 expected rows
    assert not torch.equal(seen[0][0], seen[1][0])


ALIKE = (5, 5 + 2**32, 5 + 2**63)
"""Seeds that a generator with a seed of 32 or 63 bits cannot tell apart."""


def first_slopes(seed, monkeypatch, **budget):
    """What the critic's first step learns, all else being equal: exact counts, one seed for torch."""
    seen = []
    step, manual_seed = torch.optim.Adam.step, torch.manual_seed

    def overheard(self, *args):
        seen.append([weight.grad.clone() for group in self.param_groups for weight in group["params"]])
        return step(self, *args)

    with monkeypatch.context() as patched:
        for name, value in {"count_noise": 0.0, **budget}.items():
            patched.setattr(NoiseBudget, name, value)
        patched.setattr(torch, "manual_seed", lambda _: manual_seed(0))
        patched.setattr(torch.optim.Adam, "step", overheard)
        sampled = 1.0 if budget["step_noise"] else 0.5
        table = people().select(("ward",))
        DpCtgan(**{**QUICK, "epochs": 1, "sampled": sampled}).fit(table, rng=rng(seed))
    return torch.cat([slope.flatten() for slope in seen[0]])


@pytest.mark.parametrize("step_noise", [1.0, 0.0], ids=["noise", "rows drawn"])
def test_secrets_have_more_bits_than_a_seed_of_torch(step_noise, monkeypatch):
    with torch.random.fork_rng():  # what torch keeps of a seed on a CPU
        drawn = [torch.manual_seed(seed) and torch.randn(9) for seed in ALIKE[:2]]
    assert torch.equal(*drawn)
    slopes = [first_slopes(seed, monkeypatch, step_noise=step_noise) for seed in ALIKE]
    assert torch.equal(slopes[0], first_slopes(ALIKE[0], monkeypatch, step_noise=step_noise))
    for one, other in combinations(slopes, 2):
        assert not torch.equal(one, other)


def test_real_rows_pull_up_and_generated_rows_pull_down(monkeypatch):
    # One slot is real and the other generated; all gradients are (1, 0, 1) or (0, 1, 1), cut from √2 to 1.
    seen = []
    layout = RowLayout(sizes=(2,), scalar=(), single=(), conditional=(0,))
    rows = EncodedRows(layout, np.zeros((4, 1), dtype=np.int64), np.zeros((4, 1)), "cpu")
    critic = PrivateCritic(DpCtgan(critic_layers=(), sampled=1.0), rows, 2, noise=0.0, n_rows=4.0, rng=rng())
    monkeypatch.setattr(
        critic.optimizer,
        "step",
        lambda: seen.extend(weight.grad.clone() for weight in critic.critic.parameters()),
    )
    critic.learn(torch.tensor([[0.0, 1.0]] * 3))
    np.testing.assert_allclose(seen[0], np.array([[-1, 1]]) / math.sqrt(2), rtol=1e-5)
    np.testing.assert_allclose(seen[1], [0.0], atol=1e-6)


def test_no_layer_stretches():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        critic = Critic(6, layers=(5, 4), pac=1, dropout=0.0)
        for layer in (critic.score[0], critic.score[2]):
            layer.weight.data *= 50
        gentle = critic.score[4].weight.data.clone()
        steepest = Steepest(critic)
        for _ in range(60):
            steepest.limit()
    for layer in (critic.score[0], critic.score[2]):
        assert torch.linalg.matrix_norm(layer.weight, 2).item() == pytest.approx(1.0, abs=1e-3)
    if torch.linalg.matrix_norm(gentle, 2) <= 1:
        assert torch.equal(critic.score[4].weight, gentle)


def test_counts_by_hand():
    chosen = np.array([[0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 2, 0]])
    n_rows, frequencies = noisy_counts(chosen, (2, 3, 1), noise=0.0, rng=rng())
    assert n_rows == 4
    assert [share.tolist() for share in frequencies] == [[1.0, 0.0], [0.25, 0.5, 0.25], [1.0]]


def test_counts_have_noise_for_all_columns_that_a_row_counts_in():
    chosen = np.zeros((0, 4), dtype=np.int64)
    totals = [noisy_counts(chosen, (2, 2, 2, 2), noise=5.0, rng=rng(seed))[0] for seed in range(400)]
    # Four columns: each slot has noise of 5·√4 = 10, each total 10·√2, their mean 10/√2; cut at 1 from below.
    above = np.array([total for total in totals if total > 1])
    assert np.sqrt(np.mean(above**2)) == pytest.approx(10 / math.sqrt(2), rel=0.15)


def test_nearest_shares():
    np.testing.assert_allclose(nearest_shares(np.array([0.2, 0.3])), [0.45, 0.55])
    np.testing.assert_allclose(nearest_shares(np.array([5.0, -3.0, 0.1])), [1.0, 0.0, 0.0])


def test_what_is_not_declared_is_said_loudly():
    model = DpCtgan(**QUICK, public=("cost",)).fit(people(), rng=rng())
    assert model.privacy.public == ("cost",)
    assert set(model.privacy.read_from_data) == {"ward", "grade"}
    assert model.privacy.adjacency == ADJACENCY
    assert model.privacy.epsilon == 1.0
    assert "WARNING" in model.notes[0]
    assert "ward (labels, missing values, form), grade (" in model.notes[0]
    declared = DpCtgan(**QUICK, public=SCHEMA.names).fit(people(), rng=rng())
    assert declared.privacy.read_from_data == {}
    assert not any("WARNING" in note for note in declared.notes)


def test_declared_columns_do_not_show_which_labels_occur():
    slots = [
        DpCtgan(**QUICK, public=SCHEMA.names).fit(table, rng=rng()).slots
        for table in (people(50), people(3, seed=9))
    ]
    assert slots[0] == slots[1]
    undeclared = DpCtgan(**QUICK).fit(people(50), rng=rng())
    assert undeclared.sample(500, rng=rng()).column("ward").max() <= 2


def test_a_generous_budget_keeps_the_columns():
    model = DpCtgan(**QUICK, epsilon=200.0, public=SCHEMA.names).fit(people(2000), rng=rng())
    drawn = model.sample(3000, rng=rng(1))
    shares = (
        np.bincount(drawn.column("ward")[~np.isnan(drawn.column("ward"))].astype(int), minlength=5) / 3000
    )
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1, 0, 0], atol=0.12)


def test_a_seed_gives_the_same_rows_and_history_is_the_generators():
    models = [DpCtgan(**QUICK).fit(people(), rng=rng(4)) for _ in range(2)]
    np.testing.assert_array_equal(*(model.sample(30, rng=rng(5)).values for model in models))
    assert len(models[0].history) == 2
    assert all(epoch.validation is None for epoch in models[0].history)


def test_storing_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(generators, "GENERATORS", {"dpctgan": DpCtgan})
    fitted = DpCtgan(**QUICK, public=("ward",)).fit(people(), rng=rng())
    fitted.save(tmp_path / "model")
    loaded = generators.load_model(tmp_path / "model")
    assert loaded.made_by == fitted.made_by
    assert loaded.privacy == fitted.privacy
    np.testing.assert_array_equal(loaded.sample(50, rng=rng(8)).values, fitted.sample(50, rng=rng(8)).values)


def test_an_interruption_keeps_the_last_weights():
    def interrupt(doing, share):
        if share > 0.5:
            raise KeyboardInterrupt

    with workers.working(listener=interrupt):
        model = DpCtgan(**{**QUICK, "epochs": 4}).fit(people(), rng=rng())
    assert INTERRUPTED in model.notes
    assert len(model.sample(7, rng=rng())) == 7


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables(data):
    table = data.draw(tables(data.draw(schemas()), max_rows=12))
    drawn = DpCtgan(**QUICK).fit(table, rng=rng()).sample(9, rng=rng(1))
    for column in table.schema.columns:
        cells, known = drawn.column(column.name), table.column(column.name)
        assert np.isnan(known).any() or not np.isnan(cells).any()
        present = cells[~np.isnan(cells)]
        if isinstance(column, Categorical):
            assert np.isin(present, known).all()
        else:
            assert ((present >= column.low) & (present <= column.high)).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epsilon": 0.0}, "dpctgan: epsilon must lie between 0 and inf, got 0.0."),
        ({"delta": 1.0}, "dpctgan: delta must lie between 0 and 1, got 1.0."),
        ({"counting": 1.0}, "dpctgan: counting must lie between 0 and 1, got 1.0."),
        ({"sampled": 1.5}, "dpctgan: sampled must be above 0 and at most 1, got 1.5."),
        ({"sampled": 0.0}, "dpctgan: sampled must be above 0 and at most 1, got 0.0."),
        ({"averaging": 1.0}, "dpctgan: averaging must be at least 0 and below 1, got 1.0."),
        ({"batch_size": 1}, "dpctgan: batch_size must be >= 2, got 1."),
        ({"critic_layers": (0,)}, "dpctgan: every width in critic_layers must be >= 1, got 0."),
    ],
)
def test_wrong_settings_are_refused(params, message):
    with pytest.raises(ParameterError) as error:
        DpCtgan(**params)
    assert str(error.value) == message


def test_unknown_public_columns_are_refused():
    with pytest.raises(ParameterError, match="dpctgan: no column 'wart'"):
        DpCtgan(public=("wart",)).fit(people(), rng=rng())


REPETITIONS = 120
AUDITED = DpCtgan(
    epsilon=1.0,
    public=("x",),
    epochs=2,
    sampled=1.0,
    critic_layers=(),
    batch_size=4,
    embedding=1,
    layers=(1,),
    modes=4,
)


def canary_scores(seed, monkeypatch):
    """What the critic's steps tell of an extreme row, with it and without it among the real rows.

    The attacker knows all but that row: the others, the generated rows, the settings. What is left to look at
    is the noisy sum of clipped gradients of each step, in the direction that only the row points to.
    """
    heard = []
    add_noise = dpctgan_network.add_noise

    def overheard(sums, spread, *, rng):
        noisy = add_noise(sums, spread, rng=rng)
        heard.append(noisy[0][0, 1 + 1].item())  # one scalar, then the slots: low, high, ...
        return noisy

    schema = Schema((Numeric(name="x", low=0.0, high=10.0),))
    others = np.full((6, 1), 3.0)
    scores = []
    with monkeypatch.context() as patched:
        patched.setattr(dpctgan_network, "add_noise", overheard)
        for values in (np.vstack([others, [[10.0]]]), others):
            heard.clear()
            for repetition in range(REPETITIONS):
                AUDITED.fit(Table(schema=schema, values=values), rng=rng([seed, len(values), repetition]))
            scores.append(np.array(heard).reshape(REPETITIONS, AUDITED.budget.steps).sum(axis=1))
    return scores


def proven(among, without):
    """A lower bound of ε: the threshold is chosen on one half of the repetitions, the rates on the other."""
    guess = Guess.learn(among[::2, None], without[::2, None])
    counts = guess.count(among[1::2, None], without[1::2, None])
    return least_epsilon(counts, "any", delta=AUDITED.delta, alpha=0.05)


def test_an_attack_finds_no_more_than_was_promised(monkeypatch):
    among, without = canary_scores(1, monkeypatch)
    found = proven(among, without)
    assert found < AUDITED.epsilon


def test_the_attack_finds_out_when_the_noise_is_off(monkeypatch):
    monkeypatch.setattr(NoiseBudget, "step_noise", 0.0)
    among, without = canary_scores(2, monkeypatch)
    found = proven(among, without)
    assert found > 2 * AUDITED.epsilon
