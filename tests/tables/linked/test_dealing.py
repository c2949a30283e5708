"""People are dealt with all their rows: nobody is lost, and nobody and nothing stands on both sides."""

import numpy as np
import pandas as pd
import pytest

import tabveil
from tabveil.datasets import clinic
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.linked import load_database, read_database
from tabveil.tables.linked.dealing import deal

CLINIC = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
}
BANK = {
    "person": {"table": "clients", "key": "client"},
    "linked": {
        "rights": {"key": "client"},
        "orders": {"key": "account", "through": "rights"},
    },
}


def bank(holders):
    """A client for each letter; those in one group hold one account, which has an order."""
    letters = "".join(holders)
    rights = [(letter, number) for number, group in enumerate(holders) for letter in group]
    return {
        "clients": pd.DataFrame({"client": list(letters), "age": range(len(letters))}),
        "rights": pd.DataFrame(rights, columns=["client", "account"]),
        "orders": pd.DataFrame({"account": range(len(holders)), "amount": 7.5}),
    }


def test_rows_follow_their_people_and_leave_as_they_came():
    tables = clinic(120, seed=1)
    parts = tabveil.split_tables(CLINIC, data=tables, control=0.25)
    assert [len(part["patients"]) for part in parts] == [90, 30]
    for name, whole in tables.items():
        both = pd.concat([part[name] for part in parts])
        pd.testing.assert_frame_equal(both.sort_index(), whole)
    for part in parts:
        assert set(part["visits"]["patient"]) <= set(part["patients"]["patient"])
    assert not set(parts.train["patients"]["patient"]) & set(parts.control["patients"]["patient"])


def test_people_who_share_rows_stay_together():
    holders = ["ab", "cde", "f", "g", "hi", "j"]
    for seed in range(5):
        dealt = deal(read_database(BANK, data=bank(holders)), control=0.4, seed=seed)
        letters = np.array(list("".join(holders)))
        train, control = ("".join(letters[side["clients"]]) for side in (dealt.train, dealt.control))
        assert len(control) == 4
        assert all(set(group) <= set(train) or set(group) <= set(control) for group in holders)
        orders = [set(side["orders"].tolist()) for side in (dealt.train, dealt.control)]
        assert not orders[0] & orders[1]
        assert len(orders[0]) + len(orders[1]) == 6
    assert dealt.together.startswith(
        "7 people share linked rows with others, directly or through others: 3 groups"
    )
    assert "(the largest has 3)" in dealt.together
    loaded = load_database(BANK, data=None, train=bank(["ab", "c"]), synthetic=bank(["d"]))
    assert len(loaded.split.train) == 3


def test_chains_of_shared_rows_are_one_group():
    tables = bank(["ab", "c", "d"])
    more = pd.DataFrame({"client": ["b", "c"], "account": [9, 9]})
    tables["rights"] = pd.concat([tables["rights"], more])
    tables["orders"] = pd.concat([tables["orders"], pd.DataFrame({"account": [9], "amount": [1.5]})])
    dealt = deal(read_database(BANK, data=tables), control=0.3, seed=0)
    assert sorted(dealt.groups.tolist()) == [1, 3]
    assert sorted(map(len, (dealt.train["clients"], dealt.control["clients"]))) == [1, 3]


def test_nobody_is_held_back_where_all_are_one_group():
    with pytest.raises(SchemaError, match=r"all 4 people share linked rows .*\(orders\).*nobody can be held"):
        tabveil.split_tables(BANK, data=bank(["abcd"]))
    with pytest.raises(SchemaError, match="there is one person"):
        tabveil.split_tables(BANK, data=bank(["a"]))


def test_people_without_rows_are_dealt_too():
    tables = bank(["a", "b", "c", "d"])
    tables["rights"], tables["orders"] = tables["rights"][:1], tables["orders"][:1]
    parts = tabveil.split_tables(BANK, data=tables, control=0.5)
    assert [len(part["clients"]) for part in parts] == [2, 2]
    assert sum(len(part["orders"]) for part in parts) == 1


def test_people_who_were_stored_twice_stay_together():
    tables = clinic(200, seed=1)
    twice = tables["patients"]["patient"].iloc[:30].tolist()
    again = {
        name: rows[rows["patient"].isin(twice)].assign(patient=lambda of: of["patient"] + "b").iloc[::-1]
        for name, rows in tables.items()
    }
    both = {name: pd.concat([rows, again[name]]) for name, rows in tables.items()}
    for seed in range(3):
        dealt = deal(read_database(CLINIC, data=both), control=0.4, seed=seed)
        keys = both["patients"]["patient"].to_numpy()
        train, control = (set(keys[side["patients"]]) for side in (dealt.train, dealt.control))
        assert all((key in train) == (f"{key}b" in train) for key in twice)
        assert len(control) == 92
    assert dealt.together == ""
    assert "60 people are equal to others" in dealt.twice
    assert "30 groups that stay together (the largest has 2)" in dealt.twice


def test_people_who_are_equal_by_chance_are_dealt_one_by_one():
    rng = np.random.default_rng(1)
    tables = {
        "clients": pd.DataFrame({"client": range(300), "age": rng.integers(0, 20, 300)}),
        "rights": pd.DataFrame(
            {"client": range(300), "account": range(300), "kind": rng.choice(["owner", "user"], 300)}
        ),
        "orders": pd.DataFrame({"account": range(300), "amount": rng.integers(0, 10, 300)}),
    }
    dealt = deal(read_database(BANK, data=tables), control=0.4, seed=0)
    assert dealt.twice == ""
    assert set(dealt.equals.tolist()) == {1}
    alike = {
        name: rows.assign(**dict.fromkeys(set(rows) - {"client", "account"}, 1))
        for name, rows in tables.items()
    }
    with pytest.raises(SchemaError, match="all 300 people are equal to each other or share linked rows"):
        deal(read_database(BANK, data=alike), control=0.4, seed=0)


def test_an_order_of_files_rows_and_columns_means_nothing():
    tables = clinic(100, seed=1)
    turned = {
        name: frame.sample(frac=1, random_state=1)[frame.columns[::-1]]
        for name, frame in reversed(tables.items())
    }
    one, other = (tabveil.split_tables(CLINIC, data=each) for each in (tables, turned))
    for part, again in zip(one, other, strict=True):
        assert set(part["patients"]["patient"]) == set(again["patients"]["patient"])
        assert len(part["visits"]) == len(again["visits"])
    differently = tabveil.split_tables(CLINIC, data=tables, seed=1)
    assert set(differently.train["patients"]["patient"]) != set(one.train["patients"]["patient"])


def test_what_is_missing_is_said():
    with pytest.raises(ParameterError, match="data is missing"):
        tabveil.split_tables(CLINIC)
    with pytest.raises(ParameterError, match="control must lie between 0 and 1"):
        tabveil.split_tables(CLINIC, data=clinic(10, seed=1), control=1.0)
    empty = clinic(10, seed=1)
    empty["visits"] = empty["visits"][:0]
    with pytest.raises(SchemaError, match="visits of data: the table has no rows"):
        tabveil.split_tables(CLINIC, data=empty)
