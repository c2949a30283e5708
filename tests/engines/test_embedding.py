"""Rows as vectors: what is learned, what has no part in it, and tables with little in them."""

import subprocess
import sys

import numpy as np
import pytest
from supplies.populations import SCHEMAS, population, rows

from tabveil.core import workers
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines.embedding import WITHOUT_HELD_OUT, Embedding
from tabveil.engines.embedding.inputs import FARTHEST, MISSING, N_CASES, UNSEEN, Inputs
from tabveil.errors import ParameterError

torch = pytest.importorskip("torch")
network = pytest.importorskip("tabveil.engines.embedding.network")

SMALL = {"width": 32, "layers": 2, "dimension": 8, "epochs": 3, "batch_size": 128}


def mixed(n=150, seed=0):
    return Table(schema=SCHEMAS["mixed"], values=rows("mixed", n, np.random.default_rng(seed)))


def fit(table, seed=0, **settings):
    return Embedding(**{**SMALL, **settings}).fit(table, rng=np.random.default_rng(seed))


@pytest.fixture(scope="module")
def model():
    return fit(mixed())


def test_vectors_have_length_one(model):
    vectors = model.embed(mixed(40, seed=1))
    assert vectors.shape == (40, 8)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    assert model.embed(mixed(0)).shape == (0, 8)


def test_the_same_seed_gives_the_same_vectors_and_another_others(model):
    table = mixed()
    np.testing.assert_array_equal(fit(table).embed(table), model.embed(table))
    assert not np.allclose(fit(table, seed=1).embed(table), model.embed(table))


def test_torch_is_left_as_it_was():
    state, threads = torch.random.get_rng_state(), torch.get_num_threads()
    fit(mixed(), epochs=1).embed(mixed())
    assert torch.equal(torch.random.get_rng_state(), state)
    assert torch.get_num_threads() == threads


def test_the_order_of_rows_columns_and_labels_has_no_part(model):
    table = mixed()
    back = Table(schema=table.schema, values=table.values[::-1])
    names = table.schema.names[::-1]
    region = Categorical(name="region", labels=tuple("hgfedcba"))
    schema = Schema(tuple(region if c.name == "region" else c for c in table.schema.columns))
    values = table.values.copy()
    values[:, 1] = 7 - values[:, 1]
    other = Table(schema=schema, values=values)
    for same in (fit(back), fit(back.select(names))):
        np.testing.assert_array_equal(same.embed(table), model.embed(table))
    np.testing.assert_array_equal(model.embed(back)[::-1], model.embed(table))
    np.testing.assert_array_equal(model.embed(table.select(names)), model.embed(table))
    np.testing.assert_array_equal(model.embed(other), model.embed(table))
    assert fit(other).inputs == model.inputs


def test_equal_rows_have_equal_vectors_wherever_they_stand(model):
    table = mixed(1500, seed=3)  # more than one chunk, the last one not full
    vectors = model.embed(table, masked=("age",))
    for row in (0, 700, 1023, 1024, 1499):
        alone = Table(schema=table.schema, values=table.values[[row]])
        np.testing.assert_array_equal(model.embed(alone, masked=("age",))[0], vectors[row])


def test_masked_columns_have_no_part(model):
    table = mixed()
    values = table.values.copy()
    values[:, :2] = [[1, 2]]
    other = Table(schema=table.schema, values=values)
    masked = ("age", "region")
    np.testing.assert_array_equal(model.embed(table, masked), model.embed(other, masked))
    assert not np.array_equal(model.embed(table, masked), model.embed(table))


def test_where_all_is_masked_all_rows_are_one(model):
    vectors = model.embed(mixed(), masked=SCHEMAS["mixed"].names)
    assert len(np.unique(vectors, axis=0)) == 1


def test_missing_masked_and_unseen_are_places_of_their_own():
    schema = Schema((Numeric(name="x", low=0, high=9), Categorical(name="c", labels=("a", "b", "new"))))
    values = np.array([[0, 0], [9, 1], [np.nan, 0], [3, np.nan]] * 10, dtype=float)
    model = fit(Table(schema=schema, values=values))
    middle = float(np.nanmean(values[:, 0]))  # the number that stands where there is none
    cells = np.array([[middle, 0], [np.nan, 0], [middle, np.nan], [middle, 2], [middle, 1]])
    table = Table(schema=schema, values=cells)
    vectors = np.concatenate(
        [model.embed(table), model.embed(table, ["x"])[:1], model.embed(table, ["c"])[:1]]
    )
    assert len(np.unique(vectors, axis=0)) == len(vectors)
    wider = Schema((schema["x"], Categorical(name="c", labels=("zz", "a", "b"))))
    unknown = Table(schema=wider, values=np.array([[middle, 0], [middle, 1]]))
    np.testing.assert_array_equal(model.embed(unknown)[0], vectors[3])  # of all that were not seen
    np.testing.assert_array_equal(model.embed(unknown)[1], vectors[0])  # labels are known by name


def test_inputs_computed_by_hand():
    schema = Schema((Categorical(name="c", labels=("b", "a", "z")), Numeric(name="x", low=-1e9, high=1e9)))
    table = Table(schema=schema, values=np.array([[0, 1], [1, 3], [np.nan, np.nan]], dtype=float))
    inputs = Inputs.of(table)
    assert inputs.names == ("x", "c")
    assert (inputs.numbers[0].mean, inputs.numbers[0].deviation) == (2.0, 1.0)
    assert inputs.labels[0].seen == ("a", "b")
    read = inputs.encode(
        Table(schema=schema, values=np.array([[2, 1e9], [1, -1e9], [np.nan, 2.5], [0, np.nan]]))
    )
    assert read.tokens[:, 0].tolist() == [UNSEEN, N_CASES, MISSING, N_CASES + 1]
    np.testing.assert_array_equal(read.numbers[:, 0], [FARTHEST, -FARTHEST, 0.5, np.nan])


@pytest.mark.parametrize("scale", [1e-299, 1e99])
def test_numbers_of_any_size_are_standardized(scale):
    schema = Schema((Numeric(name="x", low=-scale, high=scale),))
    values = np.linspace(-scale, scale, 9)[:, None]
    found = Inputs.of(Table(schema=schema, values=values)).encode(Table(schema=schema, values=values))
    np.testing.assert_allclose(found.numbers.std(), 1, rtol=1e-5)
    assert np.isfinite(
        fit(Table(schema=schema, values=values)).embed(Table(schema=schema, values=values))
    ).all()


LITTLE = {
    "one row": mixed(1).values,
    "one row twice": np.repeat(mixed(1).values, 2, axis=0),
    "constant": np.repeat(mixed(1).values, 30, axis=0),
    "all missing": np.full((20, 5), np.nan),
}


@pytest.mark.parametrize("values", LITTLE.values(), ids=LITTLE)
def test_tables_with_little_in_them(values):
    table = Table(schema=SCHEMAS["mixed"], values=values)
    model = fit(table)
    vectors = model.embed(table)
    assert np.isfinite(vectors).all()
    assert len(np.unique(vectors, axis=0)) == 1
    assert np.isfinite(model.embed(mixed())).all()


@pytest.mark.parametrize("kind", ["normal", "levels"])
def test_tables_of_numbers_or_labels_alone(kind):
    table = Table(schema=SCHEMAS[kind], values=rows(kind, 50, np.random.default_rng(0)))
    assert fit(table).embed(table, table.schema.names[:1]).shape == (50, 8)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_one_column_is_never_masked_in_training(preset):
    schema = Schema((Categorical(name="c", labels=tuple("abc")),))
    table = Table(schema=schema, values=np.arange(60.0)[:, None] % 3)
    vectors = fit(table, preset=preset).embed(table)
    assert len(np.unique(vectors, axis=0)) == 3
    assert Embedding(preset=preset).masked_for(1) == (0, 0)


def test_no_rows_or_columns_are_refused():
    for table in (mixed(0), Table(schema=Schema(()), values=np.empty((3, 0)))):
        with pytest.raises(ParameterError, match="embedding: needs at least one row and one column"):
            fit(table)


def test_other_columns_are_refused(model):
    table = mixed()
    with pytest.raises(ParameterError, match="the table lacks the column 'age'"):
        model.embed(table.select(table.schema.names[1:]))
    with pytest.raises(ParameterError, match=r"no column 'wage'\. Did you mean 'age'"):
        model.embed(Table(schema=Schema((Numeric(name="wage", low=0, high=1),)), values=np.zeros((1, 1))))
    with pytest.raises(ParameterError, match=r"no column 'ages'\. Did you mean 'age'"):
        model.embed(table, masked=["ages"])
    changed = Schema(
        tuple(Numeric(name=c.name, low=0, high=9) if c.name == "sex" else c for c in table.schema.columns)
    )
    with pytest.raises(ParameterError, match="the column 'sex' held labels when it was learned"):
        model.embed(Table(schema=changed, values=table.values))


def test_a_person_is_found_by_part_of_their_row_more_often_than_by_chance():
    table = Table(schema=SCHEMAS["normal"], values=rows("normal", 300, np.random.default_rng(0)))
    trained = fit(table, dimension=16, width=64, epochs=40, most_masked=2, held_out=0.0)
    untrained = fit(table, dimension=16, width=64, epochs=1, learning_rate=1e-9)

    def found(model):
        """How often a row without one of its columns is nearest to the same row with all of them."""
        whole = model.embed(table)
        return np.mean(
            [
                (model.embed(table, [name]) @ whole.T).argmax(axis=1) == np.arange(300)
                for name in table.schema.names
            ]
        )

    assert found(trained) > 0.2  # chance: 1 in 300
    assert found(trained) > 2 * found(untrained)
    assert trained.history[-1].train < trained.history[0].train - 1


def test_noise_in_training_draws_rows_together_that_differ_by_noise():
    table = mixed(300)
    shaken = table.values.copy()
    shaken[:, 2] += 0.05 * np.nanstd(shaken[:, 2])
    other = Table(schema=table.schema, values=np.clip(shaken, [0, 0, -6, 0, 0], [90, 7, 9, 1, 10]))

    def apart(**noise):
        model = fit(table, epochs=20, patience=20, least_masked=0, most_masked=0, **noise)
        each = np.linalg.norm(model.embed(table) - model.embed(other), axis=1)
        return np.median(each) / np.median(
            np.linalg.norm(model.embed(table) - model.embed(table)[::-1], axis=1)
        )

    assert apart(jitter=0.5, switched=0.0) < apart(jitter=0.0, switched=0.0)


def test_training_ends_where_held_out_rows_gain_nothing():
    table = population("normal", (200, 1, 1)).train
    model = fit(table, epochs=200, patience=2, learning_rate=1e-2, jitter=0.0)
    losses = [epoch.validation for epoch in model.history]
    assert len(losses) < 200
    assert model.best == int(np.argmin(losses)) == len(losses) - 3
    assert all(epoch.train is not None for epoch in model.history)


def test_the_best_weights_are_kept():
    table = mixed()
    model = fit(table, epochs=30, patience=30, learning_rate=3e-2)
    shorter = fit(table, epochs=model.best + 1, patience=30, learning_rate=3e-2)
    assert model.best < 29
    np.testing.assert_array_equal(model.embed(table), shorter.embed(table))


def test_without_held_out_rows_all_epochs_run_and_it_is_said():
    model = fit(mixed(), held_out=0.0)
    assert [epoch.validation for epoch in model.history] == [None] * 3
    assert model.notes == (WITHOUT_HELD_OUT,)
    assert model.best == 2
    assert fit(mixed()).notes == ()


def test_progress_is_told():
    told = []
    with workers.working(listener=lambda doing, share: told.append((doing, share))):
        fit(mixed())
    assert told[-1][1] == 1.0
    assert any(doing.startswith("epoch 2 of 3: learning rows") for doing, _ in told)


def test_an_interruption_ends_it_for_good():
    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), workers.working(listener=interrupt):
        fit(mixed())


def test_a_fixed_temperature_is_not_learned():
    cold = fit(mixed(), learned_temperature=False, temperature=1.0, epochs=10)
    warm = fit(mixed(), learned_temperature=True, temperature=1.0, epochs=10)
    assert not np.allclose(cold.embed(mixed()), warm.embed(mixed()))


def test_little_is_needed_to_train_and_place():
    """A machine with a GPU may have torch and the numeric libraries, and nothing else that tabveil uses."""
    absent = (
        "pydantic",
        "yaml",
        "typer",
        "rich",
        "jinja2",
        "narwhals",
        "pandas",
        "pyarrow",
        "sklearn",
        "numba",
    )
    code = (
        f"import sys\nfor name in {absent}:\n    sys.modules[name] = None\n"
        "import numpy\n"
        "from tabveil.engines.embedding import Embedding\n"
        "from tabveil.core.table import Numeric, Schema, Table\n"
        "assert 'torch' not in sys.modules\n"
        "rows = Table(schema=Schema((Numeric(name='x', low=0, high=1),)), values=numpy.eye(9)[:, :1])\n"
        "model = Embedding(width=4, epochs=1).fit(rows, rng=numpy.random.default_rng(0))\n"
        "assert model.embed(rows).shape == (9, 64)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_the_same_on_a_gpu():
    table = mixed(600)
    cpu, gpu = (fit(table, device=device, epochs=20) for device in ("cpu", "cuda"))
    assert gpu.history[-1].train == pytest.approx(cpu.history[-1].train, rel=0.2)
    vectors = gpu.embed(table)
    np.testing.assert_array_equal(
        gpu.embed(Table(schema=table.schema, values=table.values[::-1]))[::-1], vectors
    )


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_none_can_be_asked_for():
    with pytest.raises(ParameterError, match="embedding: there is no GPU here; set device=cpu"):
        fit(mixed(), device="cuda")


def learner_of(model, table):
    """What trains an embedding, on a table, with nothing held out."""
    inputs = Inputs.of(table)
    read = network.NetworkRows.of(inputs.encode(table), "cpu")
    n_tokens = [labels.n_tokens for labels in inputs.labels]
    return network.ContrastLearner(model.network, read, read.take(slice(0)), n_tokens, model.made_by)


def test_the_loss_computed_by_hand():
    table = mixed(40)
    model = fit(table, epochs=1, learned_temperature=False, temperature=0.5)
    learner = learner_of(model, table)
    views = learner.views(learner.rows)
    vectors = model.network(views.rows, views.masked).detach().double()
    scores = torch.exp(vectors[:40] @ vectors[40:].T / 0.5)
    there, back = (torch.log(scores.diagonal() / scores.sum(dim=dim)) for dim in (1, 0))
    expected = -float((there + back).mean()) / 2
    assert float(learner.loss(views).detach()) == pytest.approx(expected, abs=1e-4)


def test_views_are_masked_shaken_and_switched_as_asked():
    table = Table(schema=SCHEMAS["mixed"], values=rows("mixed", 4000, np.random.default_rng(0)))
    settings = {"jitter": 0.2, "switched": 0.3, "least_masked": 1, "most_masked": 3}
    model = fit(mixed(), epochs=1, **settings)
    learner = learner_of(model, table)
    read, views = learner.rows, learner.views(learner.rows)
    counts = np.bincount(views.masked.sum(dim=1).numpy(), minlength=6)
    np.testing.assert_allclose(counts / 8000, [0, 1 / 3, 1 / 3, 1 / 3, 0, 0], atol=0.03)
    np.testing.assert_allclose(views.masked.double().mean(dim=0).numpy(), 2 / 5, atol=0.03)
    moved = (views.rows.numbers - read.numbers.repeat(2, 1)).numpy()
    assert np.nanstd(moved) == pytest.approx(0.2, abs=0.01)
    np.testing.assert_array_equal(np.isnan(moved), np.isnan(read.numbers.repeat(2, 1).numpy()))
    changed = (views.rows.tokens != read.tokens.repeat(2, 1)).double().mean(dim=0).numpy()
    assert (changed > 0.15).all()
    assert (changed < 0.3).all()  # a label may be switched to itself
    for place, column in enumerate(Inputs.of(table).labels):
        held = set(views.rows.tokens[:, place].tolist())
        assert held == {UNSEEN, *range(N_CASES, column.n_tokens)}
    assert not torch.equal(views.masked[:4000], views.masked[4000:])


def test_the_gradient_is_that_of_the_loss_written_plainly():
    generator = torch.Generator().manual_seed(0)
    one, other = (
        torch.nn.functional.normalize(torch.randn(9, 4, generator=generator, dtype=torch.float64), dim=1)
        for _ in range(2)
    )
    sharpness = torch.tensor(30.0, dtype=torch.float64)
    inputs = [item.requires_grad_() for item in (one, other, sharpness)]
    similarity = one @ other.T * sharpness
    plainly = ((similarity.logsumexp(1) + similarity.logsumexp(0)) / 2 - similarity.diagonal()).mean() * 3
    loss = network.Contrast.apply(one, other, sharpness) * 3
    assert float(loss.detach()) == pytest.approx(float(plainly.detach()), abs=1e-12)
    expected, found = torch.autograd.grad(plainly, inputs), torch.autograd.grad(loss, inputs)
    for wanted, gradient in zip(expected, found, strict=True):
        torch.testing.assert_close(gradient, wanted)
