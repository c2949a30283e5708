"""What the risk models that fit a generator promise: settings checked at once, rows from train alone."""

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows
from supplies.toys import ToyGenerator

from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import restore
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import ParameterError, SchemaError
from tabveil.protocols import Release
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.risks import RISKS, Generated, Overfit, Private

QUICK = {
    "overfit": Overfit(generator="trees", settings={"order": ["sex"]}),
    "private": Private(settings={"rounds": 10}),
    "generated": Generated(settings={"min_leaf": 5}),
}
quick = pytest.mark.parametrize("risk", QUICK.values(), ids=QUICK)
kinds = pytest.mark.parametrize("kind", [Overfit, Private, Generated])


def people(n_rows, *, seed, kind="mixed"):
    return Table(schema=SCHEMAS[kind], values=rows(kind, n_rows, np.random.default_rng(seed)))


def made(risk, train, release, seed=0):
    return risk(train, release, risk.levels[-1], rng=np.random.default_rng(seed))


@quick
def test_a_release_is_as_large_as_asked_for_and_of_the_schema(risk):
    train = people(60, seed=1)
    for n_rows in (1, 25, 150):
        found = made(risk, train, people(n_rows, seed=2))
        assert isinstance(found, Release)
        assert (len(found.rows), found.rows.schema) == (n_rows, train.schema)
        assert all(isinstance(value, float) for value in found.facts.values())


@quick
def test_nothing_but_the_number_of_the_released_people_counts(risk):
    train = people(60, seed=1)
    found, other = (made(risk, train, people(30, seed=seed)) for seed in (2, 3))
    assert np.array_equal(found.rows.values, other.rows.values, equal_nan=True)
    assert found.facts == other.facts


@quick
def test_the_seed_decides_and_tables_stay_as_they_are(risk):
    train, release = people(60, seed=1), people(40, seed=2)
    before = train.values.copy(), release.values.copy()
    first, again, other = (made(risk, train, release, seed).rows.values for seed in (7, 7, 8))
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)
    for table, values in zip((train, release), before, strict=True):
        assert np.array_equal(table.values, values, equal_nan=True)


@quick
def test_a_model_is_its_name_and_settings_also_in_json(risk):
    assert restore("test", json.loads(json.dumps(describe(risk))), RISKS) == risk
    assert risk.costly
    with pytest.raises(FrozenInstanceError):
        risk.generator = "trees"


@quick
def test_both_tables_must_have_one_schema(risk):
    with pytest.raises(
        SchemaError, match=f"^{type(risk).__name__}: train and release must have the same sche"
    ):
        made(risk, people(20, seed=1), people(20, seed=1, kind="levels"))


@kinds
def test_a_wrong_generator_is_refused_at_once(kind):
    with pytest.raises(
        ParameterError, match=rf"^{kind.__name__}: no generator 'tree'\. Did you mean 'trees'\?$"
    ):
        kind(generator="tree")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (Overfit, {"width": 30, "heads": 4}, r"^transformer: width must be a multiple of heads"),
        (Overfit, {"widht": 32}, r"^transformer: no setting 'widht'\. Did you mean 'width'\?$"),
        (Overfit, {"overfit": 2.0}, r"^Overfit: settings must not have 'overfit': the level says it\.$"),
        (Private, {"epsilon": 2.0}, r"^Private: settings must not have 'epsilon': the level says it\.$"),
        (Private, {"public": ["age"]}, r"^Private: settings must not have 'public': all columns are\.$"),
        (Private, {"n_bins": "many"}, r"^aim: n_bins must be a whole number, got 'many'\.$"),
        (Generated, {"caution": -1}, r"^trees: caution must be >= 0, got -1\.0\.$"),
        (Generated, ["caution"], r"^Generated: settings must be names and values, got \['caution'\]\.$"),
    ],
)
def test_wrong_settings_are_refused_at_once(kind, settings, message):
    with pytest.raises(ParameterError, match=message):
        kind(settings=settings)


def test_settings_may_be_texts_as_in_a_file():
    train, release = people(60, seed=1), people(40, seed=2)
    texts, values = ({"min_leaf": "3", "smoothing": "no"}, {"min_leaf": 3, "smoothing": False})
    first, other = (made(Generated(settings=settings), train, release).rows for settings in (texts, values))
    assert np.array_equal(first.values, other.values, equal_nan=True)


@quick
def test_constant_columns_and_equal_rows_come_out_as_they_went_in(risk):
    schema = Schema(
        (
            Categorical(name="sex", labels=("f",)),
            Numeric(name="age", low=30, high=30, decimals=0),
            Numeric(name="visits", low=0, high=9, decimals=0),
        )
    )
    train = Table(schema=schema, values=np.tile([0.0, 30.0, 4.0], (40, 1)))
    found = made(risk, train, train.take(np.arange(5))).rows
    assert (found.column("age") == 30).all()
    assert (found.column("sex") == 0).all()
    if type(risk) is not Private:  # whose noise may make another number of a declared range
        assert (found.values == train.values[:5]).all()


def test_an_interrupted_training_makes_no_release(monkeypatch):
    def interrupted(*given, **settings):
        raise KeyboardInterrupt

    monkeypatch.setattr("tabveil.synthesis.generators.aim.rounds.Rounds._round", interrupted)
    with pytest.raises(KeyboardInterrupt):
        made(Private(), people(60, seed=1), people(40, seed=2))


def test_a_generator_of_your_own_joins():
    train, release = people(60, seed=1), people(7, seed=2)
    with GENERATORS.adding(ToyGenerator):
        found = made(Generated(generator=ToyGenerator.name, settings={"repeat": 2}), train, release)
        again = train.values[[0, 0, 1, 1, 2, 2, 3]]
        assert np.array_equal(found.rows.values, again, equal_nan=True)
        assert found.facts == {}
        with pytest.raises(
            ParameterError, match=r"^Overfit: generator must be one that can memorize on purp"
        ):
            Overfit(generator=ToyGenerator.name)
