"""Generators with a promise: the level is its ε, and the noise is all that protects."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.risks import Private


def people(n_rows, *, seed):
    return Table(schema=SCHEMAS["mixed"], values=rows("mixed", n_rows, np.random.default_rng(seed)))


def shares(table, name="region"):
    cells = table.column(name)
    return np.bincount(cells[~np.isnan(cells)].astype(int), minlength=8) / len(table)


def test_the_papers_levels():
    assert Private.levels == (1, 5, 10, 50, 100)


def test_noise_hides_the_table_at_a_small_epsilon_and_not_at_a_large_one():
    train, release = people(400, seed=1), people(400, seed=2)
    hidden, shown = (Private()(train, release, level, rng=np.random.default_rng(0)) for level in (0.01, 100))
    assert np.abs(shares(shown.rows) - shares(train)).sum() < 0.1
    assert np.abs(shares(hidden.rows) - shares(train)).sum() > 0.5
    assert (hidden.facts, shown.facts) == (
        {"epsilon": 0.01, "delta": 1e-9},
        {"epsilon": 100.0, "delta": 1e-9},
    )


def test_no_label_or_bound_is_read_from_train():
    # Of a column that is not declared, only labels that somebody has are drawn, and no others.
    schema = Schema((Categorical(name="town", labels=("Ulm", "Bonn")), Numeric(name="age", low=0, high=90)))
    train = Table(schema=schema, values=np.tile([0.0, 50.0], (30, 1)))
    risk, wide = Private(settings={"n_bins": 4}), train.take(np.zeros(2000, dtype=int))
    found = risk(train, wide, 0.05, rng=np.random.default_rng(1)).rows
    assert (found.column("town") == 1).any()
    assert found.column("age").min() < 20


@pytest.mark.parametrize(
    ("generator", "settings"),
    [
        ("dpctgan", {"epochs": 2, "delta": 1e-6}),
        ("pategan", {"teachers": "networks", "n_teachers": 5, "iterations": 5, "delta": 1e-6}),
    ],
)
def test_networks_with_a_promise(generator, settings):
    pytest.importorskip("torch")
    pytest.importorskip("opacus")
    train, release = people(60, seed=1), people(20, seed=2)
    found = Private(generator=generator, settings=settings)(train, release, 5, rng=np.random.default_rng(0))
    assert len(found.rows) == 20
    assert found.facts["epsilon"] == pytest.approx(5, rel=1e-3)
    assert found.facts["epsilon"] <= 5
    assert found.facts["delta"] == 1e-6


def test_who_promises_nothing_is_refused_at_once():
    message = (
        r"^Private: generator must be one that promises privacy \(aim, dpctgan, pategan\), got 'trees'\.$"
    )
    with pytest.raises(ParameterError, match=message):
        Private(generator="trees")


def test_who_promises_no_epsilon_is_refused_at_once():
    class Silent:
        name = "silent"

        def __init__(self, public: tuple[str, ...] = ()) -> None:
            self.public = public

    with (
        GENERATORS.adding(Silent),
        pytest.raises(ParameterError, match=r"^Private: generator must be one that promises an epsilon \("),
    ):
        Private(generator="silent")


@pytest.mark.parametrize("level", [0, -1, float("nan"), float("inf")])
def test_a_level_is_an_epsilon(level):
    with pytest.raises(
        ParameterError, match=rf"^Private: level must lie between 0 and inf, got {level!r}\.$"
    ):
        Private()(people(20, seed=1), people(20, seed=2), level, rng=np.random.default_rng(0))


def test_one_person_is_enough_to_learn_from():
    found = Private()(people(1, seed=1), people(1, seed=2), 1, rng=np.random.default_rng(0))
    assert len(found.rows) == 1
