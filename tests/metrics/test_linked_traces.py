"""Keys, sets and runs of training people in a release: worked out by hand, planted, and absent."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from supplies.linked_people import CLINIC, databases, leaky, moved

from tabveil.datasets import clinic
from tabveil.metrics.linked_traces import keys, runs, sets
from tabveil.tables.linked import load_database

SEEN = 0.01


def of_days(days, first=0):
    """Patients with visits on these days, each of whom costs what the number of the visit says."""
    rows = [
        (f"P{first + person}", pd.Timestamp("2024-01-01") + pd.Timedelta(days=day), float(at), "x")
        for person, each in enumerate(days)
        for at, day in enumerate(each)
    ]
    return {
        "patients": pd.DataFrame({"patient": [f"P{first + n}" for n in range(len(days))]}),
        "visits": pd.DataFrame(rows, columns=["patient", "day", "cost", "ward"]),
    }


def split_of(train, control, synthetic):
    return load_database(
        CLINIC, train=of_days(train), control=of_days(control, 100), synthetic=of_days(synthetic, 200)
    ).split


def test_a_run_is_known_by_the_times_between_its_events_whatever_the_date():
    split = split_of([[1, 4, 9], [2, 3]], [[1, 2, 4], [5, 9]], [[101, 104, 109, 200], [301, 302, 304]])
    found = runs(split)
    assert (found.people, found.people_control) == (1, 1)
    assert sets(split).people == 0  # no whole set is the same


def test_what_two_real_people_have_is_nobodys_set():
    split = split_of([[1, 4], [1, 4], [2, 3]], [[7, 9]], [[1, 4], [2, 3], [7, 9]])
    assert (sets(split).people, sets(split).people_control) == (1, 1)


def test_nothing_is_found_in_a_clean_release():
    for look in (keys, sets, runs):
        found = look(databases())
        assert (found.people, found.people_control) == (0, 0), look
        assert found.p_value > 0.3


def test_people_leaked_with_all_rows_are_found_by_their_sets_and_their_runs():
    split = leaky(databases(), 30)
    assert keys(split).people == 0  # they have new keys
    for look in (sets, runs):
        found = look(split)
        assert found.seen(SEEN), look
        assert 15 <= found.people <= 30
        assert found.people_control == 0


def test_runs_survive_a_shift_of_dates_and_sets_do_not():
    split = moved(leaky(databases(), 30), 400)
    assert not sets(split).seen(SEEN)
    assert runs(split).seen(SEEN)


def test_keys_of_training_people_are_found_where_their_rows_are_not():
    train, control, fresh = (clinic(200, seed=seed) for seed in (1, 2, 3))
    rows = {name: table.copy() for name, table in fresh.items()}
    new = dict(
        zip(rows["patients"]["patient"].iloc[:40], train["patients"]["patient"].iloc[:40], strict=True)
    )
    for table in rows.values():
        table["patient"] = table["patient"].replace(new)
    split = load_database(CLINIC, train=train, control=control, synthetic=rows).split
    found = keys(split)
    assert (found.people, found.people_control) == (40, 0)
    assert found.seen(SEEN)
    assert found.gain.value == pytest.approx(0.2)
    assert "patients, column patient" in found.sentence
    assert not sets(split).seen(SEEN)


def test_keys_that_are_counted_from_one_on_are_everybodys():
    def numbered(tables, new):
        numbers = dict(zip(tables["patients"]["patient"], new, strict=True))
        return {name: table.assign(patient=table["patient"].map(numbers)) for name, table in tables.items()}

    turns = np.random.default_rng(0).permutation(400)
    train = numbered(clinic(200, seed=1), turns[:200])
    control = numbered(clinic(200, seed=2), turns[200:])
    release = numbered(clinic(200, seed=3), range(200))
    found = keys(load_database(CLINIC, train=train, control=control, synthetic=release).split)
    assert found.people + found.people_control == 200
    assert not found.seen(SEEN)


def test_where_there_is_no_order_and_no_key_there_is_nothing_to_compare():
    split = databases(30)
    unordered = replace(split.train.linkage.links[0], order=None)
    linkage = replace(split.train.linkage, links=(unordered,))
    plain = {
        role: replace(getattr(split, role), linkage=linkage, keys={}, linked={})
        for role in ("train", "control", "synthetic")
    }
    bare = replace(split, **plain)
    assert (keys(bare), sets(bare), runs(bare)) == (None, None, None)
