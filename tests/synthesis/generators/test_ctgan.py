"""CTGAN learns what goes with what and draws only what was seen; its pieces are checked by hand."""

import math

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
from tabveil.synthesis import generators
from tabveil.synthesis.generators.ctgan import Ctgan

torch = pytest.importorskip("torch")

from tabveil.synthesis.generators.ctgan_network import (  # noqa: E402 - needs torch
    Conditions,
    Critic,
    EncodedRows,
    Generator,
    RowLayout,
    RunningAverage,
    condition_loss,
    penalty,
)

QUICK = {"epochs": 2, "batch_size": 20, "embedding": 8, "layers": (16,), "modes": 4}
LAYOUT = RowLayout(sizes=(3, 1, 2, 3), scalar=(1, 2), single=((), (1,)), conditional=(0, 2, 3))


@pytest.fixture(autouse=True)
def _one_thread():
    with workers.working(threads=1):
        yield


def people(n=200, seed=0):
    """A label, a label and a number that follow from it, and a number that may be missing."""
    random = rng(seed)
    ward = random.choice(4, n, p=[0.5, 0.3, 0.15, 0.05])
    age = np.where(random.random(n) < 0.25, np.nan, random.integers(18, 100, n))
    cost = np.round(random.normal(1000 * (ward + 1), 30))
    schema = Schema(
        (
            labels("ward", 6),
            labels("doctor", 4),
            Numeric(name="cost", low=0, high=9000, decimals=0),
            Numeric(name="age", low=0, high=120, decimals=0),
        )
    )
    return Table(schema=schema, values=np.column_stack([ward, 3 - ward, cost, age]))


@pytest.fixture(scope="module")
def fitted():
    with workers.working(threads=1):
        settings_ = {"batch_size": 100, "layers": (64, 64), "embedding": 16, "learning_rate": 1e-3}
        return Ctgan(**settings_, epochs=120, critic_learning_rate=1e-3).fit(people(500), rng=rng())


def test_what_follows_from_a_label_is_learned(fitted):
    drawn = fitted.sample(2000, rng=rng(1))
    ward, doctor, cost = (drawn.column(name) for name in ("ward", "doctor", "cost"))
    assert np.mean(doctor == 3 - ward) > 0.8
    assert np.mean(np.abs(cost - 1000 * (ward + 1)) < 300) > 0.6  # 0.37 if they did not go together


def test_columns_look_right_by_themselves(fitted):
    drawn = fitted.sample(4000, rng=rng(2))
    shares = np.bincount(drawn.column("ward").astype(int), minlength=6) / 4000
    real = np.bincount(people(500).column("ward").astype(int), minlength=6) / 500
    assert np.abs(shares - real).sum() / 2 < 0.1
    assert np.mean(np.isnan(drawn.column("age"))) == pytest.approx(0.25, abs=0.1)


def test_labels_that_were_not_seen_are_not_drawn(fitted):
    assert fitted.sample(4000, rng=rng(3)).column("ward").max() == 3


def test_history_has_a_loss_for_every_epoch_and_no_held_out_loss(fitted):
    assert [epoch.epoch for epoch in fitted.history] == list(range(120))
    assert all(math.isfinite(epoch.train) and epoch.validation is None for epoch in fitted.history)
    assert fitted.privacy is None


def test_layout_by_hand():
    # Slots in order of their blocks' sizes: column 2 (two slots), then columns 0 and 3 (three each).
    assert LAYOUT.groups == ((0, 1, 2), (2, 2, 3))
    assert LAYOUT.starts[[2, 0, 3]].tolist() == [0, 2, 5]
    assert LAYOUT.n_slots == 8
    assert LAYOUT.width == 10
    assert LAYOUT.condition_slots.tolist() == [2, 3, 4, 0, 1, 5, 6, 7]
    slots = torch.tensor([[0.1, 0.9, 0.0, 1.0, 0.0, 0.2, 0.1, 0.7]])
    assert LAYOUT.chosen(slots).tolist() == [[1, 0, 1, 2]]


def test_softmax_within_blocks():
    out = LAYOUT.by_block(
        torch.tensor([[0.0, 0.0, 1e4, 0.0, 0.0, -1e4, -1e4, -1e4]]), lambda x: x.softmax(-1)
    )
    expected = [0.5, 0.5, 1.0, 0.0, 0.0, 1 / 3, 1 / 3, 1 / 3]
    np.testing.assert_allclose(out[0].numpy(), expected, atol=1e-6)


def test_rows_as_vectors_by_hand():
    slots = np.array([[2, 0, 1, 0], [0, 0, 0, 2], [2, 0, 0, 1]])
    scalars = np.array([[0, 0.5, -0.25, 0], [0, -0.5, 0.75, 0], [0, 0.1, 0.2, 0]])
    rows = EncodedRows(LAYOUT, slots, scalars, "cpu")
    vectors = rows.vectors(torch.arange(2))
    np.testing.assert_allclose(vectors[0].numpy(), [0.5, -0.25, 0, 1, 0, 0, 1, 1, 0, 0])
    np.testing.assert_allclose(vectors[1].numpy(), [-0.5, 0.75, 1, 0, 1, 0, 0, 0, 0, 1])
    # Entry 2 asks for slot 2 of column 0, entry 7 for slot 2 of column 3.
    with torch.random.fork_rng():
        found = rows.matching(torch.tensor([2] * 200 + [7] * 20))
    assert (found[:200, 2 + 2 + 2] == 1).all()
    assert set(found[:200, 0].numpy().round(1).tolist()) == {np.float32(0.5), np.float32(0.1)}
    np.testing.assert_array_equal(found[200:].numpy(), np.tile(vectors[1].numpy(), (20, 1)))


def test_conditions_choose_columns_evenly_and_slots_by_share():
    shares = [np.array([0.0, 3.0, 1.0]), np.ones(1), np.array([1.0, 1.0]), np.array([1.0, 0.0, 0.0])]
    conditions = Conditions(LAYOUT, shares, "cpu")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        entries = conditions.draw(12_000)
    counts = np.bincount(entries.numpy(), minlength=8) / 12_000
    np.testing.assert_allclose(counts, np.array([0, 0.75, 0.25, 0.5, 0.5, 1, 0, 0]) / 3, atol=0.02)
    vectors = conditions.vectors(entries[:5])
    assert vectors.sum(dim=1).tolist() == [1.0] * 5
    assert vectors.argmax(dim=1).tolist() == entries[:5].tolist()


def test_condition_loss_by_hand():
    chances = torch.log(torch.tensor([[0.25, 0.75], [0.5, 0.5]]))
    assert float(condition_loss(chances, torch.tensor([0, 1]))) == pytest.approx(
        (math.log(4) + math.log(2)) / 2
    )
    assert float(condition_loss(chances, torch.tensor([], dtype=torch.long))) == 0


def test_penalty_by_hand():
    # A critic without layers has the slope of its weights everywhere: (3, 4) has length 5, twice 5·√2.
    critic = Critic(2, layers=(), pac=1)
    critic.score[0].weight.data = torch.tensor([[3.0, 4.0]])
    real, fake = torch.zeros(4, 2), torch.ones(4, 2)
    assert penalty(critic, real, fake).item() == pytest.approx(10 * (5 - 1) ** 2)
    packed = Critic(2, layers=(), pac=2)
    packed.score[0].weight.data = torch.tensor([[3.0, 4.0, 3.0, 4.0]])
    assert penalty(packed, real, fake).item() == pytest.approx(10 * (math.sqrt(50) - 1) ** 2, rel=1e-5)


def test_the_critic_judges_packs():
    assert Critic(3, layers=(4,), pac=5)(torch.zeros(20, 3)).shape == (4,)


def test_a_generator_starts_with_the_right_shares():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        generator = Generator(LAYOUT, embedding=4, layers=(8,)).eval()
        shares = [np.array([0.7, 0.2, 0.1]), np.ones(1), np.array([0.9, 0.1]), np.array([0.5, 0.5, 0.0])]
        generator.start_at(shares)
        generator.out.weight.data.zero_()
        rows, chances = generator(torch.zeros(4000, 8))
    np.testing.assert_allclose(chances[0, 2:5].exp().detach(), [0.7, 0.2, 0.1], atol=1e-5)
    chosen = LAYOUT.chosen(rows[:, 2:])
    np.testing.assert_allclose(np.bincount(chosen[:, 0]) / 4000, [0.7, 0.2, 0.1], atol=0.03)
    assert chosen[:, 3].max() == 1


def test_a_single_number_has_no_place_within():
    with torch.random.fork_rng():
        torch.manual_seed(0)
        generator = Generator(LAYOUT, embedding=4, layers=()).eval()
        generator.out.bias.data[:2] = 5.0
        generator.out.weight.data.zero_()
        generator.out.bias.data[2:4] = torch.tensor(
            [-50.0, 50.0]
        )  # column 2 takes its slot 1, a single number
        rows, _ = generator(torch.zeros(10, 8))
    np.testing.assert_allclose(rows[:, 0].detach(), math.tanh(5.0), atol=1e-5)
    np.testing.assert_allclose(rows[:, 1].detach(), 0.0, atol=1e-5)


def test_averaging_by_hand():
    with torch.random.fork_rng():
        generator = Generator(LAYOUT, embedding=2, layers=())
    generator.out.bias.data.fill_(1.0)
    averaged = RunningAverage(generator, 0.75)
    generator.out.bias.data.fill_(5.0)
    averaged.update()
    assert averaged.kept.out.bias.tolist() == [2.0] * 10
    assert RunningAverage(generator, 0.0).kept is generator


def test_a_seed_gives_the_same_rows():
    table = people(60)
    first, second = (Ctgan(**QUICK).fit(table, rng=rng(4)).sample(30, rng=rng(5)).values for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_global_random_numbers_are_left_alone():
    before = torch.random.get_rng_state()
    Ctgan(**QUICK).fit(people(60), rng=rng()).sample(5, rng=rng())
    assert torch.equal(torch.random.get_rng_state(), before)


def test_storing_changes_nothing(fitted, tmp_path, monkeypatch):
    monkeypatch.setattr(generators, "GENERATORS", {"ctgan": Ctgan})
    fitted.save(tmp_path / "model")
    loaded = generators.load_model(tmp_path / "model")
    assert loaded.made_by == fitted.made_by
    assert loaded.history == fitted.history
    np.testing.assert_array_equal(loaded.sample(50, rng=rng(8)).values, fitted.sample(50, rng=rng(8)).values)


def test_an_interruption_keeps_the_last_weights():
    def interrupt(doing, share):
        if share > 0.5 and "step" not in doing:  # when an epoch is over
            raise KeyboardInterrupt

    with workers.working(listener=interrupt):
        model = Ctgan(**{**QUICK, "epochs": 4}).fit(people(60), rng=rng())
    assert INTERRUPTED in model.notes
    assert len(model.history) == 3
    assert len(model.sample(7, rng=rng())) == 7


def test_progress_rises_to_all():
    heard = []
    with workers.working(listener=lambda _, share: heard.append(share)):
        Ctgan(**QUICK).fit(people(60), rng=rng())
    assert heard == sorted(heard)
    assert {0.5, 1.0} <= set(heard)


@settings(max_examples=6, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables(data):
    table = data.draw(tables(data.draw(schemas()), max_rows=12))
    drawn = Ctgan(**QUICK).fit(table, rng=rng()).sample(9, rng=rng(1))
    assert drawn.schema == table.schema
    for column in table.schema.columns:
        cells, known = drawn.column(column.name), table.column(column.name)
        assert np.isnan(known).any() or not np.isnan(cells).any()
        present = cells[~np.isnan(cells)]
        if isinstance(column, Categorical):
            assert np.isin(present, known).all()
        else:
            assert ((present >= column.low) & (present <= column.high)).all()


def test_rows_that_are_all_the_same():
    schema = Schema((labels("ward", 3), Numeric(name="x", low=0, high=9), Numeric(name="y", low=0, high=9)))
    table = Table(schema=schema, values=np.tile([1.0, 4.5, np.nan], (5, 1)))
    np.testing.assert_array_equal(Ctgan().fit(table, rng=rng()).sample(3, rng=rng()).values, table.values[:3])


def test_numbers_alone_need_no_condition():
    schema = Schema((Numeric(name="x", low=-9, high=9), Numeric(name="y", low=-9, high=9)))
    table = Table(schema=schema, values=rng().normal(size=(80, 2)))
    model = Ctgan(**QUICK).fit(table, rng=rng())
    assert model.conditional == ()
    assert not np.isnan(model.sample(40, rng=rng()).values).any()


def test_many_labels_and_many_columns():
    wide = Schema(tuple(labels(f"c{i}", 2 + i % 3) for i in range(300)))
    table = Table(schema=wide, values=rng().integers(0, 2, (40, 300)).astype(float))
    assert len(Ctgan(**QUICK).fit(table, rng=rng()).sample(5, rng=rng())) == 5
    long = Table(schema=Schema((labels("id", 10_000),)), values=5 * np.arange(2000.0)[:, None])
    model = Ctgan(**{**QUICK, "epochs": 1, "batch_size": 500}).fit(long, rng=rng())
    assert model.generator.condense is not None
    assert np.isin(model.sample(50, rng=rng()).values, long.values).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epochs": 0}, "ctgan: epochs must be >= 1, got 0."),
        ({"batch_size": 505}, "ctgan: batch_size must be a multiple of pac, got 505 and 10."),
        ({"batch_size": 10}, "ctgan: batch_size must be >= 20, got 10."),
        ({"layers": (16, 0)}, "ctgan: every width in layers must be >= 1, got 0."),
        ({"averaging": 1.0}, "ctgan: averaging must be at least 0 and below 1, got 1.0."),
        ({"device": "tpu"}, "ctgan: device must be one of 'cpu', 'cuda'; got 'tpu'."),
    ],
)
def test_wrong_settings_are_refused(params, message):
    with pytest.raises(ParameterError) as error:
        Ctgan(**params)
    assert str(error.value) == message


def test_no_rows_and_no_gpu_are_refused():
    with pytest.raises(ParameterError, match="ctgan: needs at least 1 row"):
        Ctgan().fit(people(3).take(np.arange(0)), rng=rng())
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="ctgan: there is no GPU here"):
            Ctgan(device="cuda").fit(people(3), rng=rng())
