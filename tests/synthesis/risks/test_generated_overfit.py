"""Generators that memorize on purpose: the ratio that was reached, and what it betrays."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Categorical, Schema, Split, Table
from tabveil.engines.networks import Epoch
from tabveil.errors import ParameterError
from tabveil.metrics.indicators.closest import DistanceToClosest
from tabveil.metrics.indicators.identical import IdenticalMatchShare
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.transformer import Transformer
from tabveil.synthesis.risks import Overfit

SMALL = {"width": 32, "layers": 2, "heads": 4, "learning_rate": 3e-3}


def people(n_rows, *, seed):
    return Table(schema=SCHEMAS["mixed"], values=rows("mixed", n_rows, np.random.default_rng(seed)))


def release(risk, level, n_rows=300, seed=0):
    return risk(people(n_rows, seed=1), people(n_rows, seed=3), level, rng=np.random.default_rng(seed))


def risks(synthetic):
    split = Split(train=people(300, seed=1), control=people(300, seed=2), synthetic=synthetic)
    metrics = (IdenticalMatchShare(), DistanceToClosest())
    return [metric(split, rng=np.random.default_rng(0)).risk.value for metric in metrics]


class Reciter:
    """A generator that recites one row for each epoch it was allowed, with losses that are known."""

    name = "reciter"
    losses = (3.0, 2.0, 2.5, 5.0, 4.5)

    def __init__(self, overfit: float | None = None, epochs: int = 5) -> None:
        self.overfit, self.epochs = overfit, epochs

    def fit(self, table, *, rng):
        self.schema, self.rows = table.schema, table
        self.history = tuple(Epoch(epoch=i, validation=loss) for i, loss in enumerate(self.losses))
        return self

    def sample(self, n_rows, *, rng):
        return self.rows.take(np.arange(n_rows) % min(self.epochs, len(self.rows)))

    def save(self, folder):
        """Nothing is stored here."""

    load = save


@pytest.mark.parametrize(("level", "ratio"), [(1, 1), (1.1, 2.25), (2, 2.25)])
def test_the_ratio_is_that_of_the_last_loss_to_the_least(level, ratio):
    with GENERATORS.adding(Reciter):
        assert release(Overfit(generator="reciter"), level).facts == {"ratio": ratio, "epochs": 5}


def test_there_is_no_ratio_without_losses(monkeypatch):
    monkeypatch.setattr(Reciter, "losses", ())
    with GENERATORS.adding(Reciter):
        assert release(Overfit(generator="reciter"), 2).facts == {}


def test_three_hundred_epochs_are_allowed_unless_told_otherwise():
    with GENERATORS.adding(Reciter):
        made = [
            release(Overfit(generator="reciter", settings=settings), 2, n_rows=400).rows
            for settings in ({}, {"epochs": 7})
        ]
    assert [len(np.unique(each.row_hash())) for each in made] == [300, 7]


def test_the_papers_levels():
    assert Overfit.levels == (1.0, 1.2, 1.4, 1.6, 1.8, 2.0)


def test_trees_betray_nobody_at_their_best_and_everybody_at_twice_the_loss():
    best, worst = (release(Overfit(generator="trees"), level) for level in (1, 2))
    assert best.facts["ratio"] == 1
    assert risks(best.rows) == pytest.approx([0, 0], abs=0.05)
    assert 2 <= worst.facts["ratio"] < 2.2
    assert min(risks(worst.rows)) > 0.9


def test_more_is_betrayed_at_every_level_of_the_trees():
    found = [release(Overfit(generator="trees"), level) for level in (1.0, 1.4, 2.0)]
    copies = [risks(each.rows)[0] for each in found]
    assert copies == sorted(copies)
    ratios = [each.facts["ratio"] for each in found]
    assert ratios == sorted(ratios)


def test_a_ratio_out_of_reach_is_told_as_it_is():
    found = release(Overfit(generator="trees"), 1000)
    assert 1 < found.facts["ratio"] < 1000


def test_ratios_are_told_where_every_row_is_certain():
    schema = Schema((Categorical(name="sex", labels=("f",)),))
    train = Table(schema=schema, values=np.zeros((20, 1)))
    for generator in ("trees", "transformer"):
        facts = Overfit(generator=generator)(train, train, 2, rng=np.random.default_rng(0)).facts
        assert facts.get("ratio", 1.0) == 1


def test_who_cannot_memorize_on_purpose_is_refused_at_once():
    message = (
        r"^Overfit: generator must be one that can memorize on purpose \(trees, transformer\), got 'aim'\.$"
    )
    with pytest.raises(ParameterError, match=message):
        Overfit(generator="aim")


@pytest.mark.parametrize("level", [0.99, float("nan"), float("inf")])
def test_a_level_is_at_least_the_minimum(level):
    with pytest.raises(ParameterError, match=r"^Overfit: level must "):
        release(Overfit(generator="trees"), level)


def test_too_few_rows_to_hold_any_out_are_refused():
    with pytest.raises(ParameterError, match=r"^trees: needs at least 10 rows to learn from, got 9\.$"):
        release(Overfit(generator="trees"), 2.0, n_rows=9)


def test_a_transformer_is_given_the_epochs_it_takes():
    pytest.importorskip("torch")
    settings = {**SMALL, "epochs": 60}
    found = release(Overfit(settings=SMALL), 1.3, n_rows=120)
    assert found.facts["ratio"] >= 1.3
    losses = _losses({**settings, "overfit": 1.3})
    assert found.facts["ratio"] == pytest.approx(losses[-1] / min(losses))
    assert found.facts["epochs"] == len(losses)


def test_a_transformer_with_too_few_epochs_tells_what_it_reached():
    pytest.importorskip("torch")
    found = release(Overfit(settings={**SMALL, "epochs": 3}), 2.0, n_rows=120)
    losses = _losses({**SMALL, "epochs": 3, "overfit": 2.0})
    assert found.facts == {"ratio": losses[-1] / min(losses), "epochs": 3}
    assert found.facts["ratio"] < 2


def test_a_transformer_keeps_its_best_epoch_at_the_lowest_level():
    pytest.importorskip("torch")
    found = release(Overfit(settings=SMALL), 1.0, n_rows=120)
    assert found.facts["ratio"] == 1
    assert found.facts["epochs"] < 300  # patience ends it


def _losses(settings):
    model = Transformer(**settings).fit(people(120, seed=1), rng=np.random.default_rng(0))
    return [epoch.validation for epoch in model.history]
