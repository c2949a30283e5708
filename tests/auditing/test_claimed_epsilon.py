"""A promise is refuted where more is told than it allows, and hardly ever where it is kept."""

import math
from dataclasses import replace

import numpy as np
import pytest

import tabveil
from tabveil import datasets
from tabveil.auditing.claimed_epsilon import SHARES, ClaimedEpsilon, Pairs, Promise, conclude, examine
from tabveil.core.estimate.one_run import CanaryGuesses
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.errors import ParameterError
from tabveil.tables.lot import SplitRecord

ALPHA = 0.05
HALF = SplitRecord(control=0.5, train_rows=1, control_rows=1)


def rng(seed=0):
    return np.random.default_rng(seed)


def table(values, people=None, n=4000):
    schema = Schema((Numeric(name="number", low=0, high=n, decimals=0),))
    cells = np.asarray(values, dtype=float).reshape(-1, 1)
    return Table(schema=schema, values=cells, people=None if people is None else np.asarray(people))


def universe(n, seed):
    """2n different people, half of whom are trained on by lot."""
    places = rng(seed).permutation(2 * n)
    return places[:n], places[n:]


def announced(train, n, keep, seed):
    """Say of everybody whether they were trained on, and lie so often: an ε that is known."""
    member = np.isin(np.arange(2 * n), train)
    told = rng(10_000 + seed).random(2 * n) < np.where(member, keep, 1 - keep)
    return np.flatnonzero(told)


def asked(promise, split, *, seed=0, record=HALF, doubt=None, person=None):
    return examine(promise, split, record, doubt, person=person, alpha=ALPHA, rng=rng(seed))


def test_a_copy_refutes_and_fresh_rows_do_not():
    train, control = universe(600, 1)
    promise = Promise(epsilon=0.5, delta=1e-6)
    sides = {"train": table(train), "control": table(control)}
    copy = asked(promise, Split(**sides, synthetic=table(train)))
    assert copy.state == "refuted"
    assert copy.least == copy.most > 0.5
    assert [item.n_right for item in copy.guesses] == [6, 60, 300]
    fresh = asked(promise, Split(**sides, synthetic=table(rng(2).integers(0, 4000, 600))))
    assert fresh.state == "not refuted"
    assert fresh.least == 0
    assert fresh.most == copy.most


@pytest.mark.parametrize(("neighbors", "factor"), [("replace", 2.0), ("add-remove", 1.0)])
def test_a_promise_that_is_kept_exactly_is_hardly_ever_refuted(neighbors, factor):
    """Each person's membership is announced with lies: ε of adding one is ln(keep / (1 − keep)), twice that
    of replacing one. No other release with this ε tells more about a pair."""
    keep, n, times = 0.65, 100, 250
    truth = factor * math.log(keep / (1 - keep))
    promise, refuted, above = Promise(epsilon=truth, neighbors=neighbors), 0, 0
    for seed in range(times):
        train, control = universe(n, seed)
        split = Split(
            train=table(train), control=table(control), synthetic=table(announced(train, n, keep, seed))
        )
        found = asked(promise, split, seed=seed)
        refuted += found.state == "refuted"
        above += found.least > truth
    assert refuted == above
    assert refuted / times <= ALPHA


def test_half_of_the_noise_is_refuted():
    train, control = universe(1500, 3)
    keep = 0.85
    truth = math.log(keep / (1 - keep))
    split = Split(
        train=table(train), control=table(control), synthetic=table(announced(train, 1500, keep, 3))
    )
    assert asked(Promise(epsilon=truth / 2), split).state == "refuted"
    assert asked(Promise(epsilon=truth), split).state == "not refuted"


def test_guesses_by_lot_refute_nothing_whatever_the_gaps_are():
    """The choice among three numbers of guesses is paid for: all coins, one in twenty at most."""
    found = ClaimedEpsilon(promise=Promise(epsilon=1e-9), unit="row", state="could not tell", alpha=ALPHA)
    gaps = [rng(seed).choice([-2.0, -1.0, 0.0, 1.0, 2.0], 300) for seed in range(400)]
    states = [conclude(found, gap, rng=rng(seed)).state for seed, gap in enumerate(gaps)]
    assert 0 < states.count("refuted") / len(states) <= ALPHA


def test_pairs_of_equal_scores_are_guessed_by_lot():
    found = ClaimedEpsilon(promise=Promise(epsilon=1.0), unit="row", state="could not tell", alpha=ALPHA)
    told = conclude(found, np.zeros(2000), rng=rng())
    assert [item.n_guesses for item in told.guesses] == [20, 200, 1000] == [int(2000 * s) for s in SHARES]
    assert 400 < told.guesses[-1].n_right < 600


def test_so_few_pairs_cannot_tell():
    train, control = universe(8, 1)
    told = asked(
        Promise(epsilon=3.0), Split(train=table(train), control=table(control), synthetic=table(train))
    )
    assert told.state == "could not tell"
    assert "so few pairs (8)" in told.reason
    assert told.most < 3.0


def test_without_a_lot_nothing_is_told():
    train, control = universe(300, 1)
    split = Split(train=table(train), control=table(control), synthetic=table(train))
    promise = Promise(epsilon=0.1)
    assert asked(promise, split).state == "refuted"
    for why, words in (
        ({"record": None}, "--split split.json"),
        ({"doubt": "dividing the same rows again gives other parts"}, "other parts"),
        ({"person": "patient"}, "people are counted"),
        ({"record": replace(HALF, by="patient")}, "by 'patient': say whose rows"),
    ):
        told = asked(promise, split, **why)
        assert told.state == "could not tell"
        assert words in told.reason
    nobody = Split(train=table(train), control=table([]), synthetic=table(train))
    assert asked(promise, nobody).state == "could not tell"


def test_rows_with_an_equal_are_in_no_pair():
    split = Split(train=table([1, 1, 2, 3]), control=table([4, 2, 5, 6]), synthetic=table([1, 4]))
    pairs = Pairs.of(split, rng=rng())
    assert pairs.train.tolist() == [3]  # 1 and 2 have equals
    assert set(pairs.control) <= {4, 6, 7}
    only_equals = Split(train=table([1, 1]), control=table([1, 1]), synthetic=table([1]))
    assert "no equal" in asked(Promise(epsilon=1.0), only_equals).reason


def test_people_are_pairs_with_all_of_their_rows():
    train = table([10, 11, 20], people=[7, 7, 8])
    control = table([30, 40, 41], people=[3, 2, 2])
    split = Split(train=train, control=control, synthetic=table([11, 35]))
    pairs = Pairs.of(split, rng=rng())
    assert sorted(pairs.train) == [0, 1]
    assert sorted(pairs.control) == [2, 3]
    gap = dict(zip(pairs.train.tolist(), pairs.gap(split), strict=True))
    assert gap[0] > 0  # a row of theirs is released
    told = asked(Promise(epsilon=1.0), split, record=replace(HALF, by="patient"), person="patient")
    assert told.unit_in_words == "one person, with all of their rows, added or removed"


def test_who_is_guessed_about_does_not_depend_on_the_order_of_rows():
    train, control = universe(200, 1)
    split = Split(train=table(train), control=table(control), synthetic=table(train[:20]))
    turned = Split(train=table(train[::-1]), control=table(control[::-1]), synthetic=table(train[:20]))
    assert asked(Promise(epsilon=1.0), split).guesses == asked(Promise(epsilon=1.0), turned).guesses


def test_adding_one_is_refuted_only_beyond_twice_as_much():
    guesses = CanaryGuesses(n_canaries=1000, n_guesses=100, n_right=95)
    added, replaced = Promise(epsilon=1.0), Promise(epsilon=1.0, neighbors="replace")
    assert replaced.least(guesses, ALPHA) == pytest.approx(2 * added.least(guesses, ALPHA), abs=1e-6)
    assert Promise(epsilon=1.0, delta=1e-4).replacing() == pytest.approx((2.0, 1e-4 * (1 + math.e)))


def test_a_record_without_a_promise_is_refused():
    with pytest.raises(ParameterError, match="claimed_epsilon"):
        tabveil.audit("none.csv", "none.csv", "none.csv", delta=1e-5)


def test_an_audit_of_a_split_file_refutes_a_copy(tmp_path):
    people = datasets.hospital(400, seed=1)
    train, control = tabveil.split(people, control=0.5, seed=2)
    record = {"control": 0.5, "seed": 2, "train_rows": 200, "control_rows": 200}
    asked = {"metrics": "linkability", "claimed_epsilon": 0.5, "advice": False}
    copy = tabveil.audit(train, train, control, split=record, **asked)
    assert copy.claim.state == "refuted"
    assert "Refuted" in tabveil.html_page(copy)
    assert "0.5" in copy.config()
    other = tabveil.audit(train, train, control, split={**record, "seed": 3}, **asked)
    assert "gives other parts" in other.claim.reason


def test_it_is_stored_and_read_back():
    train, control = universe(50, 1)
    found = asked(
        Promise(epsilon=1.0), Split(train=table(train), control=table(control), synthetic=table(train))
    )
    assert ClaimedEpsilon.from_json(found.to_json()) == found
