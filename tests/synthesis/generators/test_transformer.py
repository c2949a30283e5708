"""The transformer learns what goes with what, draws only valid rows, and memorizes only when asked to."""

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
from tabveil.synthesis.generators import load_model
from tabveil.synthesis.generators.transformer import MOST_NUMBERS, WITHOUT_HELD_OUT, Transformer

torch = pytest.importorskip("torch")

from tabveil.synthesis.generators.transformer_network import Reader, TransformerNetwork  # noqa: E402 - needs torch

QUICK = {"width": 16, "layers": 1, "heads": 2, "epochs": 3}
SMALL = {"width": 32, "layers": 2, "heads": 4, "learning_rate": 3e-3, "dropout": 0.0}


def people(n=200, seed=0):
    """A label, a number that follows from it, a number with missing values, and a real number."""
    random = rng(seed)
    ward = random.integers(0, 4, n)
    cost = 1000 + 137 * ward
    age = np.where(random.random(n) < 0.25, np.nan, random.integers(18, 100, n))
    schema = Schema(
        (
            labels("ward", 5),
            Numeric(name="cost", low=0, high=2000, decimals=0),
            Numeric(name="age", low=0, high=120, decimals=0),
            Numeric(name="dose", low=-50, high=50),
        )
    )
    return Table(schema=schema, values=np.column_stack([ward, cost, age, random.normal(size=n)]))


@pytest.fixture(scope="module")
def fitted():
    return Transformer(**SMALL, epochs=4).fit(people(500), rng=rng())


def test_the_loss_of_a_network_that_knows_only_shares_by_hand():
    network = TransformerNetwork((2, 3), width=8, layers=1, heads=2, dropout=0.0)
    tokens = torch.tensor([[0, 0], [0, 1], [0, 1], [1, 1]])
    network.know_shares(tokens)
    for score in network.scores:
        score.weight.data.zero_()
    # With half an occurrence added to each: 3.5 and 1.5 of 5; 1.5, 3.5 and 0.5 of 5.5.
    expected = (
        -(3 * math.log(3.5 / 5) + math.log(1.5 / 5) + math.log(1.5 / 5.5) + 3 * math.log(3.5 / 5.5)) / 4
    )
    assert network.loss(tokens).item() == pytest.approx(expected, rel=1e-5)


def test_reading_position_by_position_gives_the_loss_of_the_whole():
    network = TransformerNetwork((3, 4, 2, 5), width=12, layers=2, heads=3, dropout=0.5).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    tokens = np.array([[0, 3, 1, 4], [2, 0, 0, 2]])
    reader = Reader(network, 2)
    total = np.zeros(2)
    for position in range(4):
        scores = reader.scores(position, tokens[:, position - 1] if position else None).astype(float)
        chosen = scores[[0, 1], tokens[:, position]]
        total += np.log(np.exp(scores).sum(axis=1)) - chosen
    for row, loss in zip(torch.from_numpy(tokens), total, strict=True):
        assert network.loss(row[None]).item() == pytest.approx(loss, rel=1e-4)


def test_hidden_tokens_change_the_loss_only_in_training():
    network = TransformerNetwork((3, 3), width=8, layers=1, heads=2, dropout=0.0)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, generator=torch.Generator().manual_seed(1))
    tokens = torch.tensor([[0, 1], [2, 2]])
    assert network.eval().loss(tokens, masked=0.99).item() == network.loss(tokens).item()
    assert network.train().loss(tokens, masked=1.0).item() != network.loss(tokens).item()


def test_what_follows_from_another_column_follows_in_new_rows():
    table = people(300).select(["ward", "cost"])
    drawn = Transformer(**SMALL, epochs=8).fit(table, rng=rng()).sample(500, rng=rng(1))
    assert np.mean(drawn.column("cost") == 1000 + 137 * drawn.column("ward")) > 0.97


def test_columns_are_distributed_as_they_were(fitted):
    known, drawn = people(500), fitted.sample(2000, rng=rng(1))
    for name in ("ward", "cost"):
        values = np.unique(known.column(name))
        shares = [np.mean(table.column(name)[:, None] == values, axis=0) for table in (known, drawn)]
        assert np.abs(shares[0] - shares[1]).sum() / 2 < 0.1
    assert np.isnan(drawn.column("age")).mean() == pytest.approx(
        np.isnan(known.column("age")).mean(), abs=0.05
    )
    assert np.nanmean(drawn.column("age")) == pytest.approx(np.nanmean(known.column("age")), abs=3)
    assert drawn.column("dose").std() == pytest.approx(known.column("dose").std(), abs=0.15)


def test_only_seen_labels_and_numbers_in_the_seen_range(fitted):
    known, drawn = people(500), fitted.sample(2000, rng=rng(2))
    assert set(drawn.column("ward")) == {0, 1, 2, 3}  # the fifth was never seen
    for name in ("cost", "age", "dose"):
        assert np.nanmin(known.column(name)) <= np.nanmin(drawn.column(name))
        assert np.nanmax(drawn.column(name)) <= np.nanmax(known.column(name))


def test_the_held_out_loss_nears_the_entropy():
    # Two columns of four equally likely values, one following from the other: log 4 once, not twice.
    table = people(300).select(["ward", "cost"])
    model = Transformer(**SMALL, epochs=12).fit(table, rng=rng())
    losses = [epoch.validation for epoch in model.history]
    assert losses[0] > min(losses)
    assert min(losses) == pytest.approx(math.log(4), abs=0.1)


def test_seeds():
    table = people(60)
    first, again, other = (Transformer(**QUICK).fit(table, rng=rng(seed)) for seed in (1, 1, 2))
    rows = [model.sample(20, rng=rng(3)).values for model in (first, again, other)]
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2], equal_nan=True)
    assert not np.array_equal(rows[0], first.sample(20, rng=rng(4)).values, equal_nan=True)


def test_the_number_of_threads_changes_nothing():
    rows = []
    for threads in (1, 2):
        with workers.working(threads=threads):
            rows.append(Transformer(**QUICK).fit(people(40), rng=rng()).sample(20, rng=rng(1)).values)
    np.testing.assert_array_equal(*rows)


def test_global_random_numbers_are_left_alone(tmp_path):
    before, threads = torch.random.get_rng_state(), torch.get_num_threads()
    model = Transformer(**QUICK).fit(people(30), rng=rng())
    model.sample(5, rng=rng())
    model.save(tmp_path / "model")
    load_model(tmp_path / "model")
    assert torch.equal(before, torch.random.get_rng_state())
    assert torch.get_num_threads() == threads


def test_chunks_of_rows_are_only_a_matter_of_memory(fitted, monkeypatch):
    monkeypatch.setitem(MOST_NUMBERS, "cpu", 10_000)
    drawn = fitted.sample(300, rng=rng(5))
    assert len(drawn) == 300
    assert len(np.unique(drawn.column("dose"))) > 280  # no chunk is drawn twice; the ends may be


def test_storing_changes_nothing(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(fitted.sample(50, rng=rng(8)).values, loaded.sample(50, rng=rng(8)).values)
    assert loaded.made_by == fitted.made_by
    assert loaded.history == fitted.history


def test_rows_that_are_all_the_same_need_no_network(tmp_path):
    schema = Schema((labels("a", 3), Numeric(name="b", low=0, high=9), Numeric(name="c", low=0, high=9)))
    model = Transformer().fit(Table(schema=schema, values=np.tile([2.0, 5.5, np.nan], (20, 1))), rng=rng())
    model.save(tmp_path / "model")
    for each in (model, load_model(tmp_path / "model")):
        np.testing.assert_array_equal(each.sample(3, rng=rng()).values, np.tile([2.0, 5.5, np.nan], (3, 1)))


def test_an_interruption_keeps_the_best_weights():
    def impatient(doing, share):
        if share >= 0.5 and "learning rows" not in doing:  # when an epoch is over
            raise KeyboardInterrupt

    with workers.working(listener=impatient):
        model = Transformer(**{**QUICK, "epochs": 10}).fit(people(60), rng=rng())
    assert len(model.history) == 5
    assert INTERRUPTED in model.notes
    assert len(model.sample(5, rng=rng())) == 5


def test_progress_rises():
    heard = []
    with workers.working(listener=lambda _, share: heard.append(share)):
        Transformer(**QUICK).fit(people(60), rng=rng())
    assert heard == sorted(heard)
    assert {1 / 3, 2 / 3, 1.0} <= set(heard)


def test_too_few_rows_to_hold_any_out_is_said():
    assert WITHOUT_HELD_OUT in Transformer(**QUICK).fit(people(9), rng=rng()).notes
    assert WITHOUT_HELD_OUT not in Transformer(**QUICK).fit(people(10), rng=rng()).notes


@pytest.fixture(scope="module")
def strangers():
    """Rows with nothing to learn: only memorizing lowers the training loss."""
    schema = Schema(tuple(labels(f"c{j}", 6) for j in range(6)))
    return Table(schema=schema, values=rng(3).integers(0, 6, (80, 6)).astype(float))


@pytest.mark.parametrize("ratio", [1.1, 1.3])
def test_overfitting_stops_at_the_first_epoch_past_the_ratio(strangers, ratio):
    model = Transformer(**SMALL, epochs=200, overfit=ratio).fit(strangers, rng=rng())
    losses = np.array([epoch.validation for epoch in model.history])
    reached = losses / np.minimum.accumulate(losses)
    assert reached[-1] >= ratio
    assert (reached[:-1] < ratio).all()
    assert model.notes == (
        f"Memorized on purpose: held-out loss {reached[-1]:.3f} times its minimum, {ratio:g} asked for.",
    )


def test_memorized_rows_are_copied(strangers):
    shares = {}
    for ratio in (1.0, 2.0):
        model = Transformer(**SMALL, epochs=200, overfit=ratio).fit(strangers, rng=rng())
        shares[ratio] = np.isin(model.sample(500, rng=rng(1)).row_hash(), strangers.row_hash()).mean()
    assert shares[1.0] < 0.05
    assert shares[2.0] > 0.3


def test_a_ratio_of_one_keeps_the_minimum(strangers):
    model = Transformer(**SMALL, epochs=30, overfit=1.0).fit(strangers, rng=rng())
    losses = [epoch.validation for epoch in model.history]
    assert np.argmin(losses) < len(losses) - 1  # it went on past the minimum, and came back
    assert "1.000 times" in model.notes[0]


def test_a_ratio_out_of_reach_is_said(strangers):
    model = Transformer(**QUICK, overfit=2.0).fit(strangers, rng=rng())
    assert model.notes[-1] == "Not reached; allow more epochs."


def test_overfitting_needs_rows_to_hold_out(strangers):
    with pytest.raises(ParameterError, match="transformer: needs at least 10 rows"):
        Transformer(**QUICK, overfit=1.5).fit(people(9), rng=rng())


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ({"width": 10, "heads": 4}, "width must be a multiple of heads, got 10 and 4"),
        ({"layers": 0}, "layers must be >= 1"),
        ({"dropout": 1.0}, "dropout must be at least 0 and below 1, got 1.0"),
        ({"masked": -0.1}, "masked must be at least 0"),
        ({"overfit": 0.9}, "overfit must be >= 1"),
        ({"device": "tpu"}, "device must be one of"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_settings_are_checked(setting, complaint):
    with pytest.raises(ParameterError, match=f"transformer: {complaint}"):
        Transformer(**setting)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_said():
    with pytest.raises(ParameterError, match="transformer: there is no GPU here"):
        Transformer(**QUICK, device="cuda").fit(people(20), rng=rng())


def test_no_rows_are_refused():
    with pytest.raises(ParameterError, match="transformer: needs at least 1 row"):
        Transformer().fit(people(0), rng=rng())


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_hostile_tables(data):
    table = data.draw(tables(data.draw(schemas()), max_rows=12))
    drawn = Transformer(**QUICK).fit(table, rng=rng()).sample(7, rng=rng(9))
    assert drawn.schema == table.schema
    for column, cells, known in zip(table.schema.columns, drawn.values.T, table.values.T, strict=True):
        present = cells[~np.isnan(cells)]
        assert np.isnan(known).any() or len(present) == len(cells)
        if isinstance(column, Categorical):
            assert np.isin(present, known).all()
        else:
            assert ((present >= column.low) & (present <= column.high)).all()
            assert column.decimals is None or np.array_equal(present, np.round(present, column.decimals))


def test_wide_and_many_labels():
    wide = Schema(tuple(labels(f"c{j}", 3) for j in range(300)))
    table = Table(schema=wide, values=rng().integers(0, 3, (3, 300)).astype(float))
    assert Transformer(**{**QUICK, "epochs": 1}).fit(table, rng=rng()).sample(3, rng=rng()).values.shape == (
        3,
        300,
    )
    many = Table(schema=Schema((labels("a", 10_000),)), values=np.arange(10_000.0)[:, None])
    model = Transformer(**{**QUICK, "epochs": 1, "batch_size": 2000}).fit(many, rng=rng())
    assert len(np.unique(model.sample(200, rng=rng()).values)) > 150


def test_masked_targets_are_not_learned():
    plain, masked = (
        Transformer(**QUICK, masked=0.0, masked_targets=share).fit(people(60), rng=rng())
        for share in (0.0, 0.9)
    )
    assert masked.history[0].train < 0.3 * plain.history[0].train  # nine tokens in ten do not count
    assert masked.history[0].validation is not None
