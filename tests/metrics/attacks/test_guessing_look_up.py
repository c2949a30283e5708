"""One search for all secrets finds what a search for each would, and draws the same lots."""

import numpy as np
import pytest
from supplies.populations import population

from tabveil.core.workers import working
from tabveil.engines.representation import Euclidean, Mixed
from tabveil.metrics.attacks import Inference, guessing

SIZES = (160, 120, 140)


def results(monkeypatch, metric, split):
    """Answer with searches together, in small batches, and one by one."""
    answers = []
    for name, value in ((None, None), ("ANSWERS_AT_ONCE", 3 * (SIZES[0] + SIZES[1])), ("MOST_ROWS", 0)):
        with monkeypatch.context() as patched:
            if name:
                patched.setattr(guessing, name, value)
            answers.append(plain(metric(split, rng=np.random.default_rng(4))))
    return answers


def plain(result):
    return result.to_json(), [
        (item.table, item.rows.tolist(), item.values.tolist()) for item in result.scores
    ]


@pytest.mark.parametrize("representation", [Mixed(), Euclidean(), Euclidean(encoding="ordinal")], ids=str)
@pytest.mark.parametrize("kind", ["mixed", "levels"])
def test_both_roads_give_the_same_answer(monkeypatch, kind, representation):
    split = population(kind, SIZES, seed=3)
    together, batches, alone = results(monkeypatch, Inference(representation=representation), split)
    assert together == batches == alone


@pytest.mark.parametrize("secrets", [("c3",), ("c2", "c3"), ("c0", "c1", "c2", "c3")])
def test_secrets_that_are_known_otherwise_and_such_that_are_not_share_a_search(monkeypatch, secrets):
    metric = Inference(known=("c0", "c1", "c2"), secrets=secrets)
    together, batches, alone = results(monkeypatch, metric, population("levels", SIZES, seed=3))
    assert together == batches == alone


def test_ties_are_broken_by_rarity_on_both_roads(monkeypatch):
    split, asked = population("levels", SIZES, seed=3), []
    honest = guessing._rarities
    monkeypatch.setattr(guessing, "_rarities", lambda *args: asked.append(len(args[1])) or honest(*args))
    results(monkeypatch, Inference(), split)
    assert asked[0] > 0  # or the tests above would compare less than they should


def test_without_control_nothing_is_tied(monkeypatch):
    together, _, alone = results(monkeypatch, Inference(), population("mixed", (60, 0, 50), seed=1))
    assert together == alone


def test_progress_reaches_the_end_of_every_batch(monkeypatch):
    heard = []
    split = population("mixed", SIZES, seed=3)
    monkeypatch.setattr(guessing, "ANSWERS_AT_ONCE", 2 * (SIZES[0] + SIZES[1]))
    with working(threads=1, listener=lambda _doing, share: heard.append(share)):
        Inference()(split, rng=np.random.default_rng(0))
    assert heard == sorted(heard)
    assert heard[-1] == 1
