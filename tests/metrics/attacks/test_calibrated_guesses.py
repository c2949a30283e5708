"""Guesses ranked blind to who was trained on, by how near is near for a person, and tested exactly."""

import numpy as np
import pytest
from scipy.stats import binom
from supplies.configurations import by_name
from supplies.populations import population, rows, split

from tabveil.core.estimate import Scanned, deal
from tabveil.core.findings import Setting
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import NotApplicable
from tabveil.metrics.attacks import Inference, Linkability, calibrated
from tabveil.metrics.attacks.guessing import Guesses

NAN = np.nan
ATTACKS = (Inference(calibrated=True), Linkability(calibrated=True, n_splits=1, n_neighbors=(1,)))
both = pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)


def ask(attack, tables, seed=0):
    return attack(tables, rng=stream(seed, attack.name))


def guesses(correct, confidence):
    right = np.array(correct, dtype=bool)
    return Guesses(
        correct=right, naive=np.full(len(right), 0.5), confidence=np.array(confidence, dtype=float)
    )


def test_right_and_sure_guesses_are_counted_by_hand():
    # 60 people: nobody is wrong but the surest; the first five are one tie of six, which is not cut.
    distance = np.concatenate([np.zeros(6), np.arange(1, 55)]) / 100
    right = np.arange(60) > 0
    made = guesses(right[:30], -distance[:30]), guesses(right[30:], -distance[30:])
    present = np.ones(30, dtype=bool), np.arange(30) < 29  # the last of control has nothing to guess
    (scanned, counts), _ = calibrated.rank(
        Setting(label="job", target="job"), made, np.ones((60, 2)), present
    )
    named, everybody = counts
    assert (named.label, named.level) == ("job, first 6", 0.1)
    tally = counts[named]
    assert (tally.train, tally.n_train, tally.control, tally.n_control) == (5, 30, 0, 29)
    assert (tally.naive, tally.without_train, tally.without_control) == (3.0, 0, 1)
    assert everybody == Setting(label="job", target="job")
    assert (counts[everybody].train, counts[everybody].control) == (29, 29)
    assert scanned.depths.tolist() == [5, 58]
    assert scanned.order[:5].tolist() == [1, 2, 3, 4, 5]


def test_people_left_out_of_an_order_are_people_all_the_same():
    # One right guess in four people, two of them trained on: by chance it is one of these every other time.
    ranking = Scanned(order=np.array([0]), ranks=np.ones(4), depths=np.array([1]))
    labels = np.array([[True, True, False, False], [False, True, True, False]])
    np.testing.assert_allclose(ranking.chances(labels, 2), [[0.5, 1], [1, 1]])
    dealt = deal([ranking], 2, 4000, rng=np.random.default_rng(0))
    assert dealt.p_value(0.5, 1) == pytest.approx(0.5, abs=0.03)


def test_unusual_people_whose_row_is_near_come_first():
    # A crowd on whole numbers, met by the release exactly; ten unusual training people are met nearly.
    schema = Schema((Numeric(name="x", low=0, high=2000), Categorical(name="job", labels=("a", "b"))))
    rng = np.random.default_rng(0)
    crowd = np.column_stack([np.arange(400) % 100, np.arange(400) % 2]).astype(float)
    release = np.column_stack([rng.integers(0, 100, 400), rng.integers(0, 2, 400)]).astype(float)
    unusual = np.column_stack([1000 + 90.0 * np.arange(10), np.ones(10)])
    others, near = unusual + np.array([45, 0]), unusual + np.array([1, 0])
    tables = split(
        schema,
        np.concatenate([crowd[:200], unusual]),
        np.concatenate([crowd[200:], others]),
        np.concatenate([release, near]),
    )
    found = by_name(ask(Inference(secrets=("job",), calibrated=True), tables))
    counted = {name: (facts["successes_train"], facts["successes_control"]) for name, facts in found.items()}
    assert counted["job, calibrated, first 10, 2.4% most confident"] == (10, 0)
    assert all(train - control < 5 for name, (train, control) in counted.items() if "calibrated" not in name)


@both
def test_copies_are_seen_and_fresh_rows_are_not(attack):
    leaked = ask(attack, population("mixed", (300, 300, 300), leak=0.3, seed=1))
    assert leaked.gain.low > 0
    assert leaked.p_value < 1e-6  # below what 999 deals can tell by themselves
    fresh = ask(attack, population("mixed", (300, 300, 300), seed=2))
    assert fresh.gain.low <= 0


@both
def test_false_alarms_are_as_rare_as_promised(attack):
    alarms = [
        ask(attack, population("levels", (60, 90, 60), seed=seed), seed).gain.low > 0 for seed in range(60)
    ]
    assert sum(alarms) <= binom.ppf(0.999, 60, 0.025)


@both
def test_nobody_is_ranked_by_who_was_trained_on(attack, monkeypatch):
    seen = []
    choose = calibrated.GuessTrials.headline

    def keep(trials, *rest, **more):
        seen.append(trials.ranked)
        return choose(trials, *rest, **more)

    monkeypatch.setattr(calibrated.GuessTrials, "headline", keep)
    rng = np.random.default_rng(3)
    one, other, release = (rows("mixed", 80, rng) for _ in range(3))
    schema = population("mixed", (1, 1, 1)).schema
    for train, control in ((one, other), (other, one)):
        ask(attack, split(schema, train, control, release))
    depths = [[item.depths.tolist() for item in ranked] for ranked in seen]
    assert depths[0] == depths[1]  # the release, and so the lot that breaks its ties, is the same
    swapped = [np.where(item.order < 80, item.order + 80, item.order - 80) for item in seen[0]]
    assert all(
        sorted(mine[:5]) == sorted(item.order[:5]) for mine, item in zip(swapped, seen[1], strict=True)
    )


@both
@pytest.mark.parametrize("sizes", [(1, 1, 5), (2, 1, 5), (1, 60, 5), (30, 7, 12)])
def test_small_and_unequal_tables_are_answered(attack, sizes):
    try:
        result = ask(attack, population("mixed", sizes, seed=5))
    except NotApplicable:
        return
    assert result.gain.low <= 0
    assert 0 < result.p_value <= 1


@both
def test_somebody_to_compare_with_is_needed(attack):
    with pytest.raises(NotApplicable):
        ask(attack, population("mixed", (30, 0, 30)))


@both
def test_the_sentence_counts_all_guesses(attack):
    result = ask(attack, population("mixed", (300, 300, 300), leak=0.3, seed=1))
    told = attack.sentence(result)
    assert result.leading.level == 1 or "of all guesses: " in told
    assert "people never" not in told
