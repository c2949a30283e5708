"""New people with new rows: keys that are right and new, structure as in the data, nobody's own values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tabveil
from tabveil.core.linked import LinkedTables
from tabveil.datasets import clinic
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables.linked import load_database, read_database
from tabveil.workflows.databases import learn_tables, synthesize_tables

CLINIC = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
}
BANK = {
    "person": {"table": "clients", "key": "client"},
    "linked": {
        "rights": {"key": "client", "id": "right"},
        "accounts": {"key": "account", "through": "rights", "id": "account"},
        "orders": {"key": "account", "through": "accounts", "id": "order"},
        "cards": {"key": "right", "through": "rights"},
    },
}


def bank(n=200, first=0):
    """Clients, some of whom are users of the account of another; cards, and up to two orders an account."""
    rng = np.random.default_rng(first)
    client = first + np.arange(n)
    account = np.where(np.arange(n) % 4 == 3, np.arange(n) - 1, np.arange(n)) + first
    accounts = np.unique(account)
    of_order = np.repeat(accounts, np.arange(len(accounts)) % 3)
    return {
        "clients": pd.DataFrame({"client": client, "age": rng.integers(18, 90, n)}),
        "rights": pd.DataFrame(
            {
                "right": [f"R{key}" for key in client],
                "client": client,
                "account": account,
                "kind": np.where(np.arange(n) % 4 == 3, "user", "owner"),
            }
        ),
        "accounts": pd.DataFrame({"account": accounts, "opened": rng.integers(2000, 2020, len(accounts))}),
        "orders": pd.DataFrame(
            {
                "order": np.arange(len(of_order)),
                "account": of_order,
                "amount": np.round(rng.gamma(2.0, 50.0, len(of_order)), 2),
            }
        ),
        "cards": pd.DataFrame(
            {"right": [f"R{key}" for key in client[::5]], "color": ["red", "blue"] * (n // 10)}
        ),
    }


def drawn_clinic(tables=None, **asked):
    return synthesize_tables(CLINIC, data=tables or clinic(200, seed=1), **asked)


def loaded(hangs, tables, drawn) -> LinkedTables:
    """The release as an audit reads it, which refuses orphans and keys that are not unique."""
    return load_database(hangs, train=tables, synthetic=drawn).split


def test_columns_types_and_keys_are_those_of_the_data_but_keys_are_new():
    tables = clinic(200, seed=1)
    drawn = drawn_clinic(tables)
    for name, whole in tables.items():
        assert list(drawn[name].columns) == list(whole.columns)
        assert (drawn[name].dtypes == whole.dtypes)[whole.columns != "patient"].all()
    split = loaded(CLINIC, tables, drawn)
    assert len(split.synthetic) == 200
    assert not np.isin(split.synthetic.keys["patient"], split.train.keys["patient"]).any()
    sizes = [people.linked["visits"].sizes for people in (split.train, split.synthetic)]
    assert abs(sizes[0].mean() - sizes[1].mean()) < 1
    assert (sizes[1] == 0).any()  # people without rows are drawn, too


def test_shared_rows_are_drawn_as_often_as_in_the_data():
    tables = bank()
    drawn = synthesize_tables(BANK, data=tables, seed=3)
    split = loaded(BANK, tables, drawn)
    assert len(split.synthetic) == 200
    shared = [people.linked["accounts"].n_shared for people in (split.train, split.synthetic)]
    assert shared[0] == 50
    assert abs(shared[1] - 50) <= 15
    for table, rows in split.synthetic.linked.items():
        for column, codes in rows.keys.items():
            assert not np.isin(codes, split.train.linked[table].keys[column]).any(), (table, column)
    users = drawn["rights"].groupby("account")["kind"].agg(sorted)
    assert set(map(tuple, users[users.map(len) > 1])) == {("owner", "user")}
    assert users.map(len).max() == 2


def test_an_order_of_files_rows_and_columns_means_nothing():
    tables = bank(100)
    turned = {
        name: frame.sample(frac=1, random_state=1)[frame.columns[::-1]]
        for name, frame in reversed(tables.items())
    }
    one, other = (synthesize_tables(BANK, data=each, people=40) for each in (tables, turned))
    for name, frame in one.items():
        assert other[name].columns.tolist() == frame.columns.tolist()[::-1]
        pd.testing.assert_frame_equal(other[name][frame.columns], frame)
    again = synthesize_tables(BANK, data=tables, people=40, seed=1)
    assert not again["clients"].equals(one["clients"])


def test_events_go_on_from_the_row_before():
    n = 60
    people = pd.DataFrame({"patient": range(n), "age": range(n)})
    day = np.concatenate([1000.0 + 10 * k + 7 * np.arange(5) for k in range(n)])  # every seven days
    visits = pd.DataFrame({"patient": np.repeat(range(n), 5), "day": day.astype(int)})
    drawn = drawn_clinic({"patients": people, "visits": visits})["visits"]
    gaps = drawn.groupby("patient")["day"].diff().dropna()
    assert (gaps == 7).mean() > 0.9
    assert drawn["day"].max() <= day.max()


def test_nobodys_own_values_are_drawn_however_often_they_repeat_them():
    tables = clinic(200, seed=1)
    visits = tables["visits"]
    busy = visits["patient"].value_counts().index[0]
    theirs = pd.concat([visits[visits["patient"] == busy]] * 5)
    theirs["ward"], theirs["cost"] = "secret ward", 987_654
    tables["visits"] = pd.concat([visits, theirs])
    assert len(theirs) > 20
    drawn = drawn_clinic(tables)["visits"]
    assert "secret" not in set(drawn["ward"].str[:6])
    assert drawn["cost"].max() < 20_000
    kept = drawn_clinic(tables, rare_labels="keep")["visits"]
    assert "secret ward" in set(kept["ward"])


def test_identifiers_are_replaced():
    tables = clinic(100, seed=1)
    tables["visits"]["case"] = [f"C-{number}" for number in range(5000, 5000 + len(tables["visits"]))]
    drawn = drawn_clinic(tables)["visits"]
    assert drawn["case"].str.match(r"C-\d+$").all()
    assert drawn["case"].is_unique
    assert not set(drawn["case"]) & set(tables["visits"]["case"])


def test_a_table_of_keys_alone_of_labels_alone_and_one_with_missing_values():
    tables = clinic(100, seed=1)
    tables["notes"] = tables["visits"][["patient"]].iloc[::2]
    tables["flags"] = pd.DataFrame(
        {"patient": tables["patients"]["patient"], "flag": ["a", None, "b", "a", "b"] * 20}
    )
    hangs = {"person": CLINIC["person"], "linked": {"notes": {"key": "patient"}, "flags": {"key": "patient"}}}
    drawn = synthesize_tables(hangs, data=tables)
    split = loaded(hangs, tables, drawn)
    assert list(drawn["notes"].columns) == ["patient"]
    assert len(drawn["notes"]) > 0
    assert 0 < drawn["flags"]["flag"].isna().mean() < 0.5
    assert (split.synthetic.linked["flags"].sizes == 1).all()


def test_people_of_whom_only_the_key_is_known():
    tables = clinic(100, seed=1)
    tables["patients"] = tables["patients"][["patient"]]
    drawn = drawn_clinic(tables)
    assert list(drawn["patients"].columns) == ["patient"]
    assert set(drawn["visits"]["patient"]) <= set(drawn["patients"]["patient"])
    tables["visits"] = pd.DataFrame({"patient": tables["patients"]["patient"]})
    hangs = {"person": CLINIC["person"], "linked": {"visits": {"key": "patient"}}}
    alone = synthesize_tables(hangs, data=tables, people=7)
    assert len(alone["patients"]) == len(alone["visits"]) == 7


def test_a_table_of_nothing_but_identifiers():
    tables = clinic(100, seed=1)
    tables["patients"] = pd.DataFrame(
        {"patient": tables["patients"]["patient"], "name": [f"Name-{k:04}" for k in range(100)]}
    )
    drawn = drawn_clinic(tables)["patients"]
    assert drawn["name"].is_unique
    assert not set(drawn["name"]) & set(tables["patients"]["name"])
    assert list(drawn_clinic(tables, identifiers="drop")["patients"].columns) == ["patient"]


def test_missing_times_and_orders_that_are_labels():
    tables = clinic(100, seed=1)
    tables["visits"].loc[::9, "day"] = pd.NaT
    assert len(drawn_clinic(tables)["visits"]) > 100
    stages = pd.Categorical(["first", "second"] * (len(tables["visits"]) // 2 + 1), ordered=True)
    tables["visits"]["day"] = stages[: len(tables["visits"])]
    assert set(drawn_clinic(tables)["visits"]["day"]) == {"first", "second"}


@pytest.mark.parametrize("generator", ["marginals", "copy"])
def test_any_generator_learns_the_people(generator):
    tables = clinic(100, seed=1)
    drawn = drawn_clinic(tables, generator=generator, people=30)
    assert len(loaded(CLINIC, tables, drawn).synthetic) == 30


def test_tables_leave_as_the_kind_that_came():
    tables = {name: pl.from_pandas(frame) for name, frame in clinic(60, seed=1).items()}
    assert {type(frame) for frame in drawn_clinic(tables, people=5).values()} == {pl.DataFrame}


def test_what_cannot_be_learned_is_refused():
    with pytest.raises(SchemaError, match="patients: 1 person has rows, and ten are the least"):
        drawn_clinic({name: frame[:1] for name, frame in clinic(40, seed=2).items()} | one_person())
    few = clinic(100, seed=1)
    few["visits"] = few["visits"][:9]
    with pytest.raises(SchemaError, match=r"visits: \d people have rows, .* Leave the table out"):
        drawn_clinic(few)
    with pytest.raises(ParameterError, match="aim: promises privacy"):
        drawn_clinic(generator="aim", settings={"epsilon": 1})
    with pytest.raises(ParameterError, match="train is missing"):
        learn_tables(read_database(CLINIC))
    assert tabveil.synthesize_tables is synthesize_tables


def one_person():
    tables = clinic(40, seed=2)
    patient = tables["visits"]["patient"].iloc[0]
    return {name: frame[frame["patient"] == patient] for name, frame in tables.items()}
