"""Diffusion adds and removes noise as the papers say, and learns dependences."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.generator_tables import labels, rng
from supplies.strategies import schemas, tables

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.networks import INTERRUPTED
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import load_model
from tabveil.synthesis.generators.diffusion import WITHOUT_HELD_OUT, Diffusion

torch = pytest.importorskip("torch")

from tabveil.synthesis.generators.diffusion_network import Batch, DiffusionNetwork, NoisyBatch  # noqa: E402 - needs torch

QUICK = {"steps": 10, "batch_size": 32, "timesteps": 8, "width": 16, "layers": 1}
SMALL = {"steps": 500, "batch_size": 128, "timesteps": 40, "width": 64, "layers": 2, "learning_rate": 3e-3}


@pytest.fixture(autouse=True)
def _one_thread():
    with workers.working(threads=1):
        yield


def number(name, low=0.0, high=100.0, decimals=0):
    return Numeric(name=name, low=low, high=high, decimals=decimals)


def table(*columns):
    return Table(
        schema=Schema(tuple(column for column, _ in columns)),
        values=np.column_stack([cells for _, cells in columns]).astype(float),
    )


def people(n=200, seed=0):
    """A label, a number that follows from it, a number with missing values, and two real numbers."""
    random = rng(seed)
    ward = random.integers(0, 4, n)
    age = np.where(random.random(n) < 0.25, np.nan, random.integers(18, 100, n))
    dose = random.normal(size=n)
    return table(
        (labels("ward", 5), ward),
        (number("cost", 0, 2000), 1000 + 137 * ((ward * 7) % 4)),
        (number("age", 0, 120), age),
        (number("dose", -50, 50, None), dose),
        (number("level", -50, 50, None), 2 * dose + 0.3 * random.normal(size=n)),
    )


@pytest.fixture(scope="module")
def fitted():
    with workers.working(threads=1):
        return Diffusion(**SMALL).fit(people(1000), rng=rng())


# Noise


def network(n_numbers=1, sizes=(2, 5), timesteps=10, **rest):
    shape = {"width": 8, "layers": 1, "dropout": 0.0, **rest}
    return DiffusionNetwork(n_numbers, sizes, timesteps=timesteps, **shape)


def test_log_probabilities_add_up_to_one_within_each_choice():
    scores = torch.tensor([[0.0, 0.0, 1000.0, 1000.0, -1000.0], [-5.0, 5.0, 0.0, 1.0, 2.0]])
    probabilities = network(0, (2, 3))._log_softmax(scores).exp()
    assert probabilities[0].tolist() == pytest.approx([0.5, 0.5, 0.5, 0.5, 0.0])
    assert probabilities[:, :2].sum(dim=1).tolist() == pytest.approx([1, 1])
    assert probabilities[:, 2:].sum(dim=1).tolist() == pytest.approx([1, 1])


def test_a_network_starts_with_the_shares_by_hand():
    start = network(1, (2, 3))
    start.know_shares(torch.tensor([[0, 0], [0, 1], [0, 1], [1, 1]]))
    rows = Batch(torch.zeros(1, 1), torch.tensor([[0, 2]]))
    noise, logs = start(rows, torch.tensor([4]))
    # With half a row added to each: 3.5 and 1.5 of 5; 1.5, 3.5 and 0.5 of 5.5.
    assert logs.exp()[0].tolist() == pytest.approx([0.7, 0.3, 1.5 / 5.5, 3.5 / 5.5, 0.5 / 5.5])
    assert noise.tolist() == [[0.0]]


def test_the_loss_by_hand():
    start = network(1, (2, 3))
    start.know_shares(torch.tensor([[0, 0], [0, 1], [0, 1], [1, 1]]))
    clean = Batch(torch.zeros(2, 1), torch.tensor([[0, 1], [1, 2]]))
    noisy = NoisyBatch(rows=clean, noise=torch.tensor([[2.0], [-1.0]]), step=torch.tensor([3, 7]))
    # The network says no noise and the shares, at all times: squares 4 and 1, then the logs; three columns.
    expected = (4 + 1 - np.log(0.7 * 3.5 / 5.5) - np.log(0.3 * 0.5 / 5.5)) / 6
    assert start.loss(clean, noisy).item() == pytest.approx(expected, rel=1e-5)


def test_noise_grows_from_almost_none_to_all_there_is():
    diffusing = network(1, (4,), timesteps=100)
    assert diffusing.left[0] > 0.99
    assert diffusing.left[-1] < 0.001
    assert (diffusing.left[1:] < diffusing.left[:-1]).all()
    torch.manual_seed(0)
    noisy = diffusing.blur(Batch(torch.full((40_000, 1), 3.0), torch.ones(40_000, 1, dtype=torch.int64)))
    assert torch.bincount(noisy.step).tolist() == [400] * 100
    for step in (0, 50, 99):
        left = diffusing.left[step].item()
        rows = Batch(*(part[noisy.step == step] for part in noisy.rows))
        assert rows.numbers.mean().item() == pytest.approx(3 * left**0.5, abs=0.2)
        assert rows.numbers.std().item() == pytest.approx((1 - left) ** 0.5, abs=0.1)
        assert (rows.choices == 1).double().mean().item() == pytest.approx(left + (1 - left) / 4, abs=0.08)


def test_a_step_back_from_a_choice_by_bayes():
    """Compare with the posterior written out: (one step led here) × (the steps before led there)."""
    diffusing = network(0, (3,), timesteps=10)
    step, n, k = 6, 60_000, 3
    stays, before = diffusing.stays[step].item(), diffusing.before[step].item()
    torch.manual_seed(0)
    for present, clean in ((0, 0), (0, 1)):
        here = stays * (np.arange(k) == present) + (1 - stays) / k
        there = before * (np.arange(k) == clean) + (1 - before) / k
        expected = here * there / (here * there).sum()
        drawn = diffusing._clearer_choices(torch.full((n, 1), present), torch.full((n, 1), clean), step)
        assert torch.bincount(drawn[:, 0], minlength=k).double().numpy() / n == pytest.approx(
            expected, abs=0.01
        )


def test_the_last_step_back_is_clean():
    diffusing = network(1, (4,), timesteps=10)
    present, clean = torch.tensor([[0], [1]]), torch.tensor([[3], [1]])
    assert diffusing._clearer_choices(present, clean, 0).tolist() == clean.tolist()
    left = diffusing.left[0].item()
    numbers, noise = torch.tensor([[1.0]]), torch.tensor([[0.5]])
    expected = (1.0 - (1 - left) ** 0.5 * 0.5) / left**0.5
    assert diffusing._clearer_numbers(numbers, noise, 0).item() == pytest.approx(expected, rel=1e-4)


def test_an_untrained_network_draws_independent_columns():
    start = network(2, (4,), timesteps=10)
    start.know_shares(torch.tensor([[0], [1], [1], [3]] * 250))
    torch.manual_seed(0)
    drawn = start.draw_rows(5000)
    assert drawn.numbers.mean(dim=0).numpy() == pytest.approx([0, 0], abs=0.06)
    assert drawn.numbers.std(dim=0).numpy() == pytest.approx([1, 1], abs=0.06)
    shares = torch.bincount(drawn.choices[:, 0], minlength=4).double().numpy() / 5000
    assert shares == pytest.approx([0.25, 0.5, 0, 0.25], abs=0.03)


def test_numbers_come_back_if_the_noise_is_known():
    diffusing = network(1, (), timesteps=50)
    diffusing.unsure.zero_()
    torch.manual_seed(0)
    numbers, truth = torch.randn(5000, 1), 1.5
    for step in reversed(range(50)):
        left = diffusing.left[step]
        numbers = diffusing._clearer_numbers(
            numbers, (numbers - left.sqrt() * truth) / (1 - left).sqrt(), step
        )
    assert numbers.numpy() == pytest.approx(np.full((5000, 1), truth), abs=1e-3)


def test_options_are_chosen_as_likely_as_they_are():
    diffusing = network(0, (2, 3))
    torch.manual_seed(0)
    shares = torch.tensor([0.2, 0.8, 0.5, 0.0, 0.5])
    drawn = diffusing._choose(shares.log().expand(20_000, -1))
    assert drawn[:, 0].double().mean().item() == pytest.approx(0.8, abs=0.02)
    assert torch.bincount(drawn[:, 1]).double().numpy() / 20_000 == pytest.approx([0.5, 0.0, 0.5], abs=0.02)


# Rows


def test_what_follows_from_another_column_follows_in_new_rows(fitted):
    drawn = fitted.sample(1000, rng=rng(1))
    assert np.mean(drawn.column("cost") == 1000 + 137 * ((drawn.column("ward") * 7) % 4)) > 0.95
    assert np.corrcoef(drawn.column("dose"), drawn.column("level"))[0, 1] > 0.95


def test_columns_are_distributed_as_they_were(fitted):
    known, drawn = people(1000), fitted.sample(2000, rng=rng(1))
    for name in ("ward", "cost"):
        values = np.unique(known.column(name))
        shares = [np.mean(each.column(name)[:, None] == values, axis=0) for each in (known, drawn)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.06
    for name in ("age", "dose", "level"):
        ours, theirs = known.column(name), drawn.column(name)
        assert np.isnan(theirs).mean() == pytest.approx(np.isnan(ours).mean(), abs=0.05)
        assert np.nanmean(theirs) == pytest.approx(np.nanmean(ours), abs=0.15 * np.nanstd(ours))
        assert np.nanstd(theirs) == pytest.approx(np.nanstd(ours), rel=0.1)


def test_how_unsure_the_network_is_was_measured(fitted):
    left, unsure = fitted.network.left.numpy(), fitted.network.unsure.numpy()  # (steps,) and (steps, numbers)
    assert (unsure <= left[:, None]).all()
    middle = len(left) // 2
    assert (unsure[middle, 1:] < 0.85 * left[middle]).all()  # dose and level tell each other
    assert unsure[middle, 0] > 0.85 * left[middle]  # age goes with nothing


def test_only_seen_labels_and_numbers_in_the_seen_range(fitted):
    known, drawn = people(1000), fitted.sample(2000, rng=rng(2))
    assert set(drawn.column("ward")) == {0, 1, 2, 3}  # the fifth was never seen
    for name in ("cost", "age", "dose"):
        assert np.nanmin(known.column(name)) <= np.nanmin(drawn.column(name))
        assert np.nanmax(drawn.column(name)) <= np.nanmax(known.column(name))
    assert np.isin(drawn.column("dose"), known.column("dose")).mean() < 0.05  # nobody's number is repeated


def test_the_held_out_loss_falls(fitted):
    assert len(fitted.history) == 50
    assert min(epoch.validation for epoch in fitted.history) < 0.8 * fitted.history[0].validation
    assert all(epoch.train is not None for epoch in fitted.history)


# What every generator does


def test_seeds():
    first, again, other = (Diffusion(**QUICK).fit(people(60), rng=rng(seed)) for seed in (1, 1, 2))
    rows = [model.sample(20, rng=rng(3)).values for model in (first, again, other)]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2], equal_nan=True)
    assert not np.array_equal(rows[0], first.sample(20, rng=rng(4)).values, equal_nan=True)


def test_storing_changes_nothing_and_global_random_numbers_are_left_alone(fitted, tmp_path):
    before = torch.random.get_rng_state()
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(fitted.sample(50, rng=rng(8)).values, loaded.sample(50, rng=rng(8)).values)
    assert (loaded.made_by, loaded.history) == (fitted.made_by, fitted.history)
    Diffusion(**QUICK).fit(people(30), rng=rng())
    assert torch.equal(before, torch.random.get_rng_state())


def test_rows_that_are_all_the_same_need_no_network(tmp_path):
    known = table(
        (labels("a", 3), [2] * 20), (number("b", decimals=None), [5.5] * 20), (number("c"), [np.nan] * 20)
    )
    model = Diffusion().fit(known, rng=rng())
    model.save(tmp_path / "model")
    for each in (model, load_model(tmp_path / "model")):
        np.testing.assert_array_equal(each.sample(3, rng=rng()).values, known.values[:3])


def test_chunks_of_rows_are_only_a_matter_of_memory(monkeypatch):
    monkeypatch.setattr("tabveil.synthesis.generators.diffusion.MOST_NUMBERS", 1000)
    drawn = Diffusion(**QUICK, smoothing=False).fit(people(60), rng=rng()).sample(300, rng=rng(5))
    assert len(drawn) == 300
    assert len(np.unique(drawn.column("dose"))) > 270  # no chunk is drawn twice


def test_an_interruption_keeps_the_best_weights():
    def impatient(doing, share):
        if share >= 0.5 and "step" not in doing:  # when a round is over
            raise KeyboardInterrupt

    with workers.working(listener=impatient):
        model = Diffusion(**QUICK).fit(people(60), rng=rng())
    assert len(model.history) == 5
    assert INTERRUPTED in model.notes
    assert len(model.sample(5, rng=rng())) == 5


def test_progress_rises_through_all_steps():
    heard = []
    with workers.working(listener=lambda _, share: heard.append(share)):
        Diffusion(**{**QUICK, "steps": 3}).fit(people(60), rng=rng())
    assert heard == sorted(heard)
    assert set(heard) == {1 / 3, 2 / 3, 1.0}


def test_too_few_rows_to_hold_any_out_is_said():
    assert WITHOUT_HELD_OUT in Diffusion(**QUICK).fit(people(9), rng=rng()).notes
    assert WITHOUT_HELD_OUT not in Diffusion(**QUICK).fit(people(10), rng=rng()).notes


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"steps": 0}, "steps must be >= 1, got 0"),
        ({"timesteps": 1}, "timesteps must be >= 2, got 1"),
        ({"averaging": -0.1}, "averaging must be at least 0 and below 1, got -0.1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"device": "tpu"}, "device must be one of"),
    ],
)
def test_settings_are_checked(setting, complaint):
    with pytest.raises(ParameterError, match=f"diffusion: {complaint}"):
        Diffusion(**setting)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_said():
    with pytest.raises(ParameterError, match="diffusion: there is no GPU here"):
        Diffusion(**QUICK, device="cuda").fit(people(20), rng=rng())


def test_no_rows_are_refused():
    with pytest.raises(ParameterError, match="diffusion: needs at least 1 row"):
        Diffusion().fit(people(0), rng=rng())


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables(data):
    known = data.draw(tables(data.draw(schemas()), max_rows=30))
    drawn = Diffusion(**QUICK).fit(known, rng=rng()).sample(7, rng=rng(9))
    assert drawn.schema == known.schema
    for column, cells, seen in zip(known.schema.columns, drawn.values.T, known.values.T, strict=True):
        present = cells[~np.isnan(cells)]
        assert np.isnan(seen).any() or len(present) == len(cells)
        if isinstance(column, Categorical):
            assert np.isin(present, seen).all()
        elif len(present):
            assert np.nanmin(seen) <= present.min()
            assert present.max() <= np.nanmax(seen)
            assert column.decimals is None or np.array_equal(present, np.round(present, column.decimals))


def test_wide_and_many_labels():
    wide = table(
        *((number(f"c{j}") if j % 2 else labels(f"c{j}", 3), rng(j).integers(0, 3, 30)) for j in range(300))
    )
    assert Diffusion(**{**QUICK, "steps": 2}).fit(wide, rng=rng()).sample(3, rng=rng()).values.shape == (
        3,
        300,
    )
    many = table((labels("a", 10_000), np.arange(10_000)))
    drawn = Diffusion(**{**QUICK, "steps": 1}).fit(many, rng=rng()).sample(200, rng=rng())
    assert len(np.unique(drawn.values)) > 150
