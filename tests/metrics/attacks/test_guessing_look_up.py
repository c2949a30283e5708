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
        (item.table, item.rows.tolist(), item.values.tolist()) for item in result.sensitive_scores
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


@pytest.mark.parametrize("most_rows", [0, 10_000])
@pytest.mark.parametrize("kind", ["mixed", "levels"])
def test_rows_whose_rarity_decides_nothing_need_none(monkeypatch, kind, most_rows):
    monkeypatch.setattr(guessing, "MOST_ROWS", most_rows)
    for seed in range(3):
        split = population(kind, (400, 300, 200), seed=seed)
        some, n_sought = sought_by_rarity(monkeypatch, split, seed, everybody=False)
        assert some == sought_by_rarity(monkeypatch, split, seed, everybody=True)[0]
        if kind == "levels":
            assert 0 < min(n_sought) < 700  # some are asked about, others are not


def sought_by_rarity(monkeypatch, split, seed, *, everybody):
    """Attack, asking for the rarity of everybody or of those whom it decides about, and count these."""
    honest, n_sought = guessing.decided_by_rarity, []

    def decided(*args):
        found = honest(*args)
        n_sought.append(sum(int(rows.sum()) for rows in found))
        return tuple(rows | everybody for rows in found)

    with monkeypatch.context() as patched:
        patched.setattr(guessing, "decided_by_rarity", decided)
        return plain(Inference()(split, rng=np.random.default_rng(seed))), n_sought


def test_whose_row_speaks_may_depend_on_the_rarity_of_any():
    sure, people = np.arange(20.0), np.arange(20) // 2
    there = np.ones(20, dtype=bool)
    decided = guessing.decided_by_rarity((sure, sure), (there, there), (people, people))
    assert all(rows.all() for rows in decided)


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
