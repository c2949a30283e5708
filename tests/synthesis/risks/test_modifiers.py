"""Invented secrets: known to nobody who did not memorize them, and guessed by chance alone otherwise."""

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from supplies.populations import SCHEMAS, rows
from supplies.strategies import schemas, tables

from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import restore
from tabveil.core.table import Categorical, Numeric, Schema, Table, holds
from tabveil.errors import ParameterError
from tabveil.metrics.attacks.inference import Inference
from tabveil.metrics.attacks.membership import MembershipDistance
from tabveil.protocols import People
from tabveil.synthesis.risks import MODIFIERS, Canaries, Leaky, Overfit


def people(n_rows, seed=0, kind="mixed"):
    values = rows(kind, 3 * n_rows, np.random.default_rng(seed)).reshape(3, n_rows, -1)
    parts = (Table(schema=SCHEMAS[kind], values=part) for part in values)
    return People(**dict(zip(("train", "control", "release"), parts, strict=True)))


def leaky(level):
    return lambda train, release: Leaky()(train, release, level, rng=np.random.default_rng(5))


COPY = leaky(1)


def planted(given, secret="region", level=100, make=COPY, seed=0):
    return Canaries(secret=secret)(given, level, make, rng=np.random.default_rng(seed))


def guesses(split, secret):
    """What somebody guesses who finds a person by all else and takes the secret that stands there."""
    others = [name for name in split.schema.names if name != secret]
    who = dict(zip(split.synthetic.select(others).row_hash(), split.synthetic.column(secret), strict=True))
    return [
        np.mean(
            [
                who.get(person) == cell
                for person, cell in zip(table.select(others).row_hash(), table.column(secret), strict=True)
            ]
        )
        for table in (split.train, split.control)
    ]


def test_a_hundred_people_as_in_the_papers():
    assert Canaries.levels == (100,)


def test_canaries_are_training_people_with_another_secret():
    given, learned = people(300), []

    def make(train, release):
        learned.append(train)
        return release

    split = planted(given, make=make)
    assert len(split.train) == len(split.control) == 100
    others = [name for name in split.schema.names if name != "region"]
    for name in others:
        assert np.array_equal(split.train.column(name), split.control.column(name), equal_nan=True)
    before, after = given.train.select(others), learned[0].select(others)
    assert np.array_equal(before.values, after.values, equal_nan=True)  # nothing else was touched
    moved = given.train.column("region") != learned[0].column("region")
    assert 70 < moved.sum() <= 100  # of 100 about 1 in 8 got the label they had
    assert np.isin(split.train.row_hash(), learned[0].row_hash()).all()
    assert not np.isin(split.control.row_hash(), learned[0].row_hash()).all()
    assert np.array_equal(split.synthetic.values, given.release.values, equal_nan=True)


def test_a_copy_betrays_every_secret_and_none_that_was_not_learned():
    known, unknown = guesses(planted(people(300)), "region")
    assert known == 1
    assert unknown == pytest.approx(1 / 8, abs=0.12)


@pytest.mark.parametrize("secret", ["region", "visits", "income"])
def test_inference_of_the_secret_sees_memorization_and_nothing_else(secret):
    found = {
        level: Inference(secrets=(secret,))(
            planted(people(600), secret, make=leaky(level)), rng=np.random.default_rng(0)
        )
        for level in (0, 1)
    }
    assert found[1].gain.value > 0.7
    assert found[0].gain.low <= 0
    assert abs(found[0].gain.value) < 0.12


def test_chance_is_met_exactly_where_nobody_learned():
    # The mean gain of 40 trials is noise around zero, also where the secret follows from all else.
    schema = Schema(
        (Categorical(name="code", labels=tuple("abcd")), Categorical(name="text", labels=tuple("ABCD")))
    )
    gains = []
    for seed in range(40):
        codes = np.random.default_rng(seed).integers(0, 4, (3, 400)).astype(float)
        parts = [Table(schema=schema, values=np.column_stack([part, part])) for part in codes]
        given = People(train=parts[0], control=parts[1], release=parts[2])
        split = planted(given, "text", make=leaky(0), seed=seed)
        known, unknown = guesses(split, "text")
        gains.append(known - unknown)
        assert unknown == pytest.approx(0.25, abs=0.22)
    assert np.mean(gains) == pytest.approx(0, abs=4 * 0.0612 / np.sqrt(40))  # four standard errors


def test_trees_that_memorize_betray_canaries_and_careful_ones_do_not():
    def made(level):
        risk = Overfit(generator="trees")
        return lambda train, release: risk(train, release, level, rng=np.random.default_rng(3)).rows

    memorized, learned = (
        Inference(secrets=("region",))(
            planted(people(400), make=made(level)), rng=np.random.default_rng(0)
        ).gain.value
        for level in (2.0, 1.0)
    )
    assert memorized > 0.2
    assert abs(learned) < 0.15


def test_secrets_are_drawn_evenly_from_the_whole_domain():
    schema = Schema(
        (
            Categorical(name="town", labels=tuple("abcde")),  # of which train has one
            Numeric(name="stars", low=-1, high=3, decimals=0),
            Numeric(name="price", low=0.1, high=0.5, decimals=1),
            Numeric(name="dose", low=10, high=20),
        )
    )
    n = 20_000
    train = Table(schema=schema, values=np.tile([2.0, 1.0, 0.3, np.nan], (n, 1)))
    given = People(train=train, control=train.take(np.arange(1)), release=train.take(np.arange(1)))
    for secret, values in (("town", range(5)), ("stars", range(-1, 4)), ("price", (0.1, 0.2, 0.3, 0.4, 0.5))):
        for table in _both(given, secret, n):
            found, counts = np.unique(table.column(secret), return_counts=True)
            assert found.tolist() == list(values)
            assert counts == pytest.approx([n / 5] * 5, rel=0.08)  # five standard errors and more
    for table in _both(given, "dose", n):
        assert np.histogram(table.column("dose"), 5, (10, 20))[0] == pytest.approx([n / 5] * 5, rel=0.08)


def _both(given, secret, level):
    split = planted(given, secret, level, make=lambda train, release: release)
    return split.train, split.control


def test_every_person_is_as_likely():
    table = Table(schema=SCHEMAS["normal"], values=np.tile(np.arange(5.0)[:, None], (1, 4)))
    given = People(train=table, control=table, release=table)
    chosen = [planted(given, "x0", 2, seed=seed).train.column("x1") for seed in range(2000)]
    assert np.bincount(np.concatenate(chosen).astype(int)) == pytest.approx([800] * 5, abs=110)
    assert all(len(set(each)) == 2 for each in chosen)


@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_table_keeps_its_domain(data, seed):
    schema = data.draw(schemas())
    train = data.draw(tables(schema))
    secret = data.draw(st.sampled_from(schema.names))
    column = schema[secret]
    constant = column.low == column.high if isinstance(column, Numeric) else len(column.labels) < 2
    level = data.draw(st.integers(1, len(train)))
    given = People(train=train, control=train, release=train)
    if constant:
        with pytest.raises(ParameterError, match=r"^Canaries: secret must have two values or more, and "):
            planted(given, secret, level, seed=seed)
        return
    split = planted(given, secret, level, seed=seed)
    for table in (split.train, split.control):
        assert not np.isnan(table.column(secret)).any()
        assert holds(column, table.column(secret))


def test_the_tables_given_stay_as_they_are_and_the_seed_decides():
    given = people(150)
    before = given.train.values.copy()
    first, again, other = (planted(given, seed=seed).train.values for seed in (1, 1, 2))
    assert np.array_equal(given.train.values, before, equal_nan=True)
    assert np.array_equal(first, again, equal_nan=True)
    assert not np.array_equal(first, other, equal_nan=True)


def test_one_person_may_be_the_canary():
    assert len(planted(people(1), level=1).train) == 1


def test_there_cannot_be_more_canaries_than_people():
    message = r"^Canaries: level must be at most the number of training rows, 40, got 100\.$"
    with pytest.raises(ParameterError, match=message):
        planted(people(40))


@pytest.mark.parametrize("level", [0, -1, float("nan"), float("inf"), 1.5])
def test_a_level_is_a_number_of_people(level):
    with pytest.raises(ParameterError, match=r"^Canaries: level must be "):
        planted(people(40), level=level)


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match=r"^Canaries: no column 'regoin'\. Did you mean 'region'\?$"):
        planted(people(40), "regoin")


def test_it_is_stored_by_name_and_settings():
    for known in (Canaries(secret="age"), Canaries()):
        assert restore("test", json.loads(json.dumps(describe(known))), MODIFIERS) == known


# Invented people


def test_invented_people_are_learned_beside_all_others_and_half_of_them_are_not():
    given, learned = people(50), []

    def make(train, release):
        learned.append(train)
        return release

    split = planted(given, None, level=20, make=make)
    assert len(split.train) == len(split.control) == 20
    (train,) = learned
    np.testing.assert_array_equal(train.values[:50], given.train.values)
    np.testing.assert_array_equal(train.values[50:], split.train.values)
    assert not np.isin(split.control.row_hash(), train.row_hash()).any()
    assert all(holds(column, split.train.column(column.name)) for column in split.schema.columns)


def test_membership_of_invented_people_is_seen_where_they_are_copied_and_not_otherwise():
    given = people(400)
    copied = planted(given, None, level=200, make=lambda train, release: train)
    fresh = planted(given, None, level=200, make=lambda train, release: release)
    attack = MembershipDistance()
    assert attack(copied, rng=np.random.default_rng(0)).risk.value > 0.9
    assert attack(fresh, rng=np.random.default_rng(0)).risk.low <= 0


def test_there_may_be_more_invented_people_than_real_ones_and_some_column_must_vary():
    assert len(planted(people(5), None, level=30, make=lambda train, release: release).train) == 30
    schema = Schema((Categorical(name="a", labels=("x",)),))
    rows_ = Table(schema=schema, values=np.zeros((4, 1)))
    with pytest.raises(ParameterError, match="some column must have two values"):
        planted(People(train=rows_, control=rows_, release=rows_), None, level=2)
