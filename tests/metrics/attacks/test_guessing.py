from dataclasses import replace

import numpy as np
import pytest
from supplies.configurations import by_name
from supplies.populations import patients, population, split, with_people

from tabveil.core.estimate import difference, excess, rate, risk_between, sidak
from tabveil.core.findings import Setting
from tabveil.core.table import Numeric, Schema
from tabveil.engines.neighbors import Space
from tabveil.metrics.attacks.configurations import headline
from tabveil.metrics.attacks.guessing import (
    NO_CONTROL,
    NOT_INFORMATIVE,
    Guesses,
    Tally,
    draw_attacked,
    nearness,
    rarity,
    tallies,
    ties_matter,
    usable_levels,
)

AGE = Schema((Numeric(name="age", low=0, high=10, decimals=0),))

X = Setting(label="x")


def guesses(correct, confidence, naive=None, rare=None):
    correct = np.array(correct, dtype=bool)
    return Guesses(
        correct=correct,
        naive=np.zeros(len(correct), dtype=bool) if naive is None else np.array(naive),
        confidence=np.array(confidence, dtype=float),
        rarity=None if rare is None else np.array(rare, dtype=float),
    )


def test_levels_need_enough_control_guesses():
    assert usable_levels(4) == (1.0,)
    assert usable_levels(50) == (1.0, 0.1)
    assert usable_levels(500) == (1.0, 0.1, 0.01)
    assert usable_levels(5000) == (1.0, 0.1, 0.01, 0.001)
    assert usable_levels(0) == (1.0,)


def test_tallies_by_hand():
    # Of ten control guesses the surest five have confidence 5 to 9; three of them are right.
    control = guesses([0, 0, 1, 1, 1, 1, 0, 1, 0, 1], range(10))
    train = guesses([1, 1, 1, 0], [9.5, 5, 4.9, 20], naive=[1, 0, 1, 1])
    found = tallies(X, train, control, levels=(1.0, 0.5))
    assert found[X] == Tally(train=3, n_train=4, control=6, n_control=10, naive=3, n_naive=4)
    assert found[replace(X, level=0.5)] == Tally(
        train=2, n_train=4, control=3, n_control=10, naive=2, n_naive=4
    )


def test_all_guesses_tied_at_the_bar_count_unless_rarity_tells_them_apart():
    control = guesses([1] * 10, [0.0] * 10)
    train = guesses([1] * 10, [0.0] * 10)
    assert tallies(X, train, control, levels=(0.5,))[replace(X, level=0.5)].train == 10
    rare = tallies(
        X,
        guesses([1] * 10, [0.0] * 10, rare=[9] * 2 + [0] * 8),
        guesses([1] * 10, [0.0] * 10, rare=range(10)),
        levels=(0.5,),
    )[replace(X, level=0.5)]
    assert (rare.train, rare.control) == (2, 5)


def test_rarity_never_overrules_confidence():
    control = guesses([1] * 10, range(10), rare=range(10, 0, -1))
    train = guesses([1, 0], [9, 0], rare=[0, 99])
    found = tallies(X, train, control, levels=(0.5,))[replace(X, level=0.5)]
    assert (found.train, found.control) == (1, 5)


def test_a_naive_guess_may_be_a_chance():
    control = guesses([1] * 10, range(10))
    train = guesses([1, 1], [9, 0], naive=[0.25, 0.5])
    found = tallies(X, train, control, levels=(1.0, 0.5))
    assert [tally.naive for tally in found.values()] == [0.75, 0.25]


def test_ties_matter_only_at_a_bar():
    mostly_apart = np.concatenate([np.zeros(800), np.arange(1.0, 201.0)])
    assert not ties_matter(mostly_apart)  # the tie is below the best 10 %
    assert ties_matter(np.concatenate([mostly_apart, np.full(40, 500.0)]))  # 40 share the best 1 %
    assert not ties_matter(np.zeros(20))  # only the standard attack is left, which has no bar
    assert not ties_matter(np.zeros(0))


def test_the_headline_has_the_largest_lower_bound_not_the_largest_value():
    few = Tally(train=3, n_train=5, control=1, n_control=5)
    many = Tally(train=300, n_train=1000, control=100, n_control=1000, naive=50, n_naive=1000)
    best = headline({Setting(label="few"): few, Setting(label="many"): many}, 0.95)
    level = sidak(0.95, 2)
    assert best.setting.name == "many"
    assert best.leading.risk == risk_between(300, 1000, 100, 1000, level)
    assert best.leading.attack == rate(300, 1000, level)
    assert best.leading.baseline == rate(50, 1000, level)
    assert best.details["largest_point_estimate"]["configuration"] == "few"
    assert by_name(best)["few"]["naive"] is None
    assert by_name(best)["many"]["naive"] == 0.05
    assert best.notes == ()


def test_an_attack_no_better_than_naive_is_not_informative():
    tally = Tally(train=50, n_train=100, control=40, n_control=100, naive=50, n_naive=100)
    assert headline({X: tally}, 0.95).notes == (NOT_INFORMATIVE,)


def test_without_control_there_is_a_rate_but_no_risk():
    nobody = guesses([], [], naive=[])
    plain = tallies(Setting(label="plain"), guesses([1, 1, 0, 0], range(4), naive=[1, 1, 1, 0]), nobody)
    better = tallies(Setting(label="better"), guesses([1, 0, 0, 0], range(4), naive=[0, 0, 0, 0]), nobody)
    assert [setting.name for setting in plain] == ["plain"]
    best = headline(plain | better, 0.95)
    assert best.setting.name == "better"  # one of four where the naive guesser has none
    assert best.leading.risk is None
    assert best.leading.control is None
    assert best.notes == (NO_CONTROL,)
    assert best.details["largest_point_estimate"] is None


def test_nearness_is_zero_where_wrong_and_falls_with_the_distance():
    assert nearness(guesses([1, 1, 0], [0.0, -1.0, 0.0])).tolist() == [1.0, 0.5, 0.0]


@pytest.mark.parametrize(
    ("n_attacks", "sizes"), [(None, (30, 20)), (25, (20, 20)), (5, (5, 5)), (1000, (20, 20))]
)
def test_equally_many_rows_are_drawn_or_all(n_attacks, sizes):
    tables = population("levels", (30, 20, 10))
    train, control = draw_attacked(tables, n_attacks, rng=np.random.default_rng(0))
    assert (len(train), len(control)) == sizes
    assert len(set(train.rows.tolist())) == len(train)
    np.testing.assert_array_equal(train.table.values, tables.train.values[train.rows])


def test_drawing_without_control_leaves_train():
    tables = population("levels", (30, 0, 10))
    train, control = draw_attacked(tables, 7, rng=np.random.default_rng(0))
    assert (len(train), len(control)) == (7, 0)


def test_rarity_by_hand():
    # Each of two control rows is compared with the other one; each train row with one of them.
    tables = split(AGE, [[2], [2]], [[1], [5]], [[0]])
    of_train, of_control = rarity(Space.gower(AGE), tables, rng=np.random.default_rng(0))
    assert of_control.tolist() == [0.4, 0.4]
    assert sorted(of_train.tolist()) == [0.1, 0.3]


def test_one_control_row_cannot_tell_rarity():
    tables = split(AGE, [[2], [3]], [[1]], [[0]])
    of_train, of_control = rarity(Space.gower(AGE), tables, rng=np.random.default_rng(0))
    assert of_train.tolist() == [0, 0]
    assert of_control.tolist() == [0]


def test_fresh_rows_of_train_and_control_are_equally_rare():
    gaps = []
    for seed in range(40):
        tables = population("normal", (201, 301, 1), seed=seed)
        of_train, of_control = rarity(Space.gower(tables.schema), tables, rng=np.random.default_rng(seed))
        gaps.append(of_train.mean() - of_control.mean())
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps))
    assert np.std(gaps) > 0


@pytest.mark.parametrize("rates", [(3, 1), (9, 1), (0, 0), (10, 0), (1, 8), (10, 9), (0, 9)])
def test_a_risk_lies_within_its_interval_and_agrees_with_the_derivatives(rates):
    attack, control = (rate(100 * successes, 1000) for successes in rates)
    risk = risk_between(100 * rates[0], 1000, 100 * rates[1], 1000)
    by_derivatives = excess(attack, control)
    assert risk.low <= risk.value <= risk.high
    assert risk.value == pytest.approx(by_derivatives.value)
    assert risk.low == pytest.approx(by_derivatives.low, abs=0.04 + 0.4 * abs(risk.value))


@pytest.mark.parametrize("rates", [((5, 5), (5, 5)), ((400, 400), (100, 100)), ((1, 10), (3, 3))])
def test_a_control_that_never_fails_leaves_no_room_for_a_risk_but_a_gain(rates):
    assert risk_between(*rates[0], *rates[1]) is None
    gain = difference(*rates[0], *rates[1])
    assert gain.low < gain.value <= 0
    assert -1 <= gain.low <= gain.high <= 1


@pytest.mark.parametrize("rate", [0.01, 0.5, 0.97, 0.995])
@pytest.mark.parametrize("sizes", [(4000, 1000), (1000, 4000), (250, 250)])
def test_equal_rates_raise_no_more_alarms_than_meant(rate, sizes):
    rng = np.random.default_rng(0)
    level = sidak(0.95, 12)  # of two-sided intervals: 0.21 % lie above zero
    train, control = (rng.binomial(size, rate, 8000) for size in sizes)
    alarms = [
        difference(a, sizes[0], b, sizes[1], level).low > 0
        for a, b in zip(train.tolist(), control.tolist(), strict=True)
    ]
    assert sum(alarms) <= 34  # of 8000; 17 are meant


# People with several rows --------------------------------------------------------------------------------


def test_the_surest_guess_speaks_for_a_person_by_hand():
    def made(correct, confidence, people, rarity=None):
        return Guesses(
            correct=np.array(correct, dtype=bool),
            naive=np.zeros(len(correct), dtype=bool),
            confidence=np.array(confidence, dtype=float),
            rarity=None if rarity is None else np.array(rarity, dtype=float),
            people=np.array(people),
        )

    train = made([1, 0, 0, 1, 1], [3, 1, 2, 1, 0], [7, 7, 2, 2, 5])  # right of 7 and 5, wrong of 2
    control = made([0, 1, 1], [2, 1, 0], [3, 3, 4])  # wrong of 3, right of 4
    assert (train.n_people, control.n_people) == (3, 2)
    (tally,) = tallies(X, train, control).values()
    assert (tally.train, tally.n_train, tally.control, tally.n_control) == (2, 3, 1, 2)
    tied = made([1, 0], [1, 1], [6, 6], rarity=[0, 1])  # of equally sure ones, the rarer
    assert tied.of_people().correct.tolist() == [False]
    assert len(train.take(np.zeros(5, dtype=bool)).of_people().correct) == 0


@pytest.mark.parametrize("n_attacks", [7, None])
def test_people_are_attacked_with_all_of_their_rows(n_attacks):
    tables = patients((12, 9, 5), seed=0)
    for side, drawn, n in zip(
        (tables.train, tables.control),
        draw_attacked(tables, n_attacks, rng=np.random.default_rng(0)),
        (n_attacks or 12, n_attacks or 9),
        strict=True,
    ):
        assert drawn.table.n_people == n
        assert sorted(drawn.rows) == np.flatnonzero(np.isin(side.people, drawn.table.people)).tolist()


def test_ties_of_one_person_are_one():
    confidence, people = (
        np.append(np.arange(90.0), np.full(90, 1000.0)),
        np.append(np.arange(90), np.full(90, 90)),
    )
    assert ties_matter(confidence)
    assert not ties_matter(confidence, people=people)


def test_nobody_is_compared_with_their_own_rows():
    # Two people of control, each with equal rows: everybody is far from the half they are not in.
    tables = with_people(split(AGE, [[0]], [[1], [1], [1], [9], [9]], [[0]]), [0], [1, 1, 1, 2, 2])
    _, control = rarity(Space.gower(AGE), tables, rng=np.random.default_rng(0))
    assert control.tolist() == pytest.approx([0.8] * 5)
