"""Databases as they come in: whose rows are whose, one schema, and an order that no file decides."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

import tabveil
from tabveil.core.table import Numeric
from tabveil.datasets import clinic
from tabveil.errors import SchemaError
from tabveil.tables.linked import load_database, read_database

CLINIC = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
}

BANK = {
    "person": {"table": "clients", "key": "client"},
    "linked": {
        "orders": {"key": "account", "through": "accounts", "on": "number"},
        "accounts": {"key": "number", "through": "rights", "on": "account", "id": "number"},
        "rights": {"key": "client"},
    },
}


def bank(first=0):
    """Two clients share an account with two orders; one has an account of their own, and one has none."""
    clients = [first + step for step in range(4)]
    return {
        "clients": pd.DataFrame({"client": clients, "age": [20, 30, 40, 50]}),
        "rights": pd.DataFrame(
            {
                "client": [clients[0], clients[1], clients[2]],
                "account": [first + 7, first + 7, first + 8],
                "right": ["owner", "user", "owner"],
            }
        ),
        "accounts": pd.DataFrame({"number": [first + 7, first + 8], "opened": [1, 2]}),
        "orders": pd.DataFrame(
            {"account": [first + 7, first + 8, first + 7], "amount": [5.5, 7.5, 6.5]},
        ),
    }


def of_age(people, age, table, column):
    """What the person of an age has in a column of a linked table."""
    rows = people.linked[table]
    (person,) = np.flatnonzero(people.own.column("age") == age)
    return rows.table.column(column)[rows.of_person(person)].tolist()


def test_a_row_reached_through_joining_tables_counts_for_everybody_it_belongs_to():
    people = load_database(BANK, train=bank(), synthetic=bank(100)).split.train
    assert sorted(of_age(people, 20, "orders", "amount")) == [5.5, 6.5]
    assert sorted(of_age(people, 30, "orders", "amount")) == [5.5, 6.5]
    assert of_age(people, 40, "orders", "amount") == [7.5]
    assert of_age(people, 50, "orders", "amount") == []
    assert of_age(people, 30, "accounts", "opened") == [1]
    assert people.linked["orders"].n_shared == 2
    assert list(people.linked) == ["rights", "accounts", "orders"]


def test_keys_are_no_columns_and_tell_where_a_release_repeats_them():
    release = bank(100)
    release["clients"].loc[0, "client"] = release["rights"].loc[0, "client"] = 2
    split = load_database(BANK, train=bank(), synthetic=release).split
    assert {name: schema.names for name, schema in split.train.schemas.items()} == {
        "clients": ("age",),
        "rights": ("right",),
        "accounts": ("opened",),
        "orders": ("amount",),
    }
    train, synthetic = split.train.keys["client"], split.synthetic.keys["client"]
    assert np.isin(synthetic, train).sum() == 1
    (same,) = np.flatnonzero(np.isin(train, synthetic))
    assert split.train.own.column("age")[same] == 40
    assert sorted(split.train.linked["rights"].keys) == ["account", "client"]
    assert "2" not in repr(split.train.keys) or split.train.keys["client"].max() < 8


@pytest.mark.parametrize("way", ["numbers with decimals", "text", "csv", "polars", "leading zeros"])
def test_keys_are_equal_however_tables_hold_them(way, tmp_path):
    tables = bank()
    rights = tables["rights"]
    if way == "numbers with decimals":
        tables["rights"] = rights.astype({"client": float, "account": float})
    if way == "text":
        tables["rights"] = rights.astype({"client": str, "account": str})
    if way == "csv":  # as pandas writes numbers of a column that had a gap
        rights.astype({"account": float}).to_csv(tmp_path / "rights.csv", index=False)
        tables["rights"] = tmp_path / "rights.csv"
    if way == "polars":
        tables["rights"] = pl.from_pandas(rights)
    if way == "leading zeros":
        zeros = {0: "00", 1: "0", 2: "2", 3: "3"}
        tables["clients"] = tables["clients"].assign(client=list(zeros.values()))
        tables["rights"] = rights.assign(client=["00", "0", "2"])
    people = load_database(BANK, train=tables, synthetic=bank(100)).split.train
    assert sorted(of_age(people, 20, "orders", "amount")) == [5.5, 6.5]
    assert of_age(people, 40, "orders", "amount") == [7.5]


def shuffled(tables, rng):
    """The same tables with rows and columns in another order, and in another order of tables."""
    names = list(tables)
    return {
        name: tables[name]
        .sample(frac=1, random_state=int(rng.integers(1000)))
        .iloc[:, rng.permutation(tables[name].shape[1])]
        for name in rng.permutation(names)
    }


def same(first, second):
    assert first.schemas == second.schemas
    np.testing.assert_array_equal(first.own.values, second.own.values)
    for name, rows in first.linked.items():
        other = second.linked[name]
        np.testing.assert_array_equal(rows.table.values, other.table.values)
        np.testing.assert_array_equal(rows.starts, other.starts)
        np.testing.assert_array_equal(rows.rows, other.rows)
        for column, codes in rows.keys.items():
            np.testing.assert_array_equal(codes, other.keys[column])
    np.testing.assert_array_equal(first.person_hash(), second.person_hash())


@pytest.mark.parametrize("says", [CLINIC, BANK])
def test_the_order_of_rows_columns_and_files_changes_nothing(says, tmp_path):
    rng = np.random.default_rng(3)
    made = {"train": bank(), "control": bank(50), "synthetic": bank(100)}
    if says is CLINIC:
        made = {role: clinic(40, seed=seed) for seed, role in enumerate(made, 1)}
    loaded = load_database(says, **made)
    folders = {}
    for role, tables in made.items():
        folders[role] = tmp_path / role
        folders[role].mkdir()
        for name, table in shuffled(tables, rng).items():
            table.to_csv(folders[role] / f"{name}.csv", index=False)
    turned = dict(reversed(says["linked"].items()))
    again = load_database({**says, "linked": turned}, **folders)
    for role in made:
        same(getattr(loaded.split, role), getattr(again.split, role))
    for name, table in again.tables.items():
        rows = again.split.control.linked[name].table if name in says["linked"] else again.split.control.own
        np.testing.assert_array_equal(table.split.control.values, rows.values)
        assert table.written is None or len(table.written.control) == len(rows)


def test_rows_stand_in_the_order_of_their_events():
    people = load_database(CLINIC, train=clinic(60, seed=1), synthetic=clinic(60, seed=2)).split.train
    visits = people.linked["visits"]
    days = visits.table.column("day")
    assert isinstance(visits.table.schema["day"], Numeric)
    assert all((np.diff(days[visits.of_person(person)]) >= 0).all() for person in range(len(people)))
    assert (visits.sizes == 0).any()


def test_people_of_control_who_are_in_train_are_left_out_with_all_that_is_theirs():
    control = bank(50)
    control["clients"].loc[0, "client"] = control["rights"].loc[0, "client"] = 3
    loaded = load_database(BANK, train=bank(), control=control, synthetic=bank(100))
    assert len(loaded.split.control) == 3
    assert of_age(loaded.split.control, 30, "orders", "amount") != []
    assert len(loaded.tables["rights"].split.control) == 2
    assert any("1 person of control whose key" in note for note in loaded.notes)


def test_rows_that_people_of_both_sides_share_are_told():
    control = bank(50)
    control["rights"]["account"] = [7, 7, 58]
    control["accounts"]["number"] = [7, 58]
    control["orders"]["account"] = [7, 58, 7]
    notes = load_database(BANK, train=bank(), control=control, synthetic=bank(100)).notes
    told = "2 people of control share rows of accounts (column 'number') with people of train"
    assert any(note.startswith(told) for note in notes)


def test_a_control_may_be_nobody():
    for nobody in (None, {name: table.head(0) for name, table in bank().items()}):
        split = load_database(BANK, train=bank(), control=nobody, synthetic=bank(100)).split
        assert (len(split.control), len(split.control.linked["orders"])) == (0, 0)


def test_tables_of_keys_alone_and_people_without_columns_are_read():
    made = {"train": bank(), "synthetic": bank(100)}
    for tables in made.values():
        tables["rights"] = tables["rights"].drop(columns="right")
        tables["clients"] = tables["clients"][["client"]]
    split = load_database(BANK, **made).split
    assert split.train.own.schema.names == split.train.linked["rights"].table.schema.names == ()
    assert sorted(split.train.linked["rights"].sizes) == [0, 1, 1, 1]


def test_events_without_a_time_come_last_and_are_told():
    made = {"train": clinic(30, seed=1), "synthetic": clinic(30, seed=2)}
    made["train"]["visits"].loc[0, "day"] = None
    loaded = load_database(CLINIC, **made)
    assert "visits of train: 1 row has no 'day' and stands last among those of a person." in loaded.notes
    visits = loaded.split.train.linked["visits"]
    (row,) = np.flatnonzero(np.isnan(visits.table.column("day")))
    assert row in visits.rows[visits.starts[1:] - 1]


METADATA = {
    "tables": {
        "clients": {"primary_key": "client", "columns": {"client": {"sdtype": "id"}}},
        "rights": {"columns": {"client": {"sdtype": "id"}, "right": {"sdtype": "categorical"}}},
        "accounts": {"primary_key": "number", "columns": {"opened": {"sdtype": "numerical"}}},
        "orders": {"columns": {"amount": {"sdtype": "numerical"}}},
        "weather": {"columns": {}},
    },
    "relationships": [
        {
            "parent_table_name": parent,
            "child_table_name": child,
            "parent_primary_key": key,
            "child_foreign_key": foreign,
        }
        for parent, child, key, foreign in (
            ("clients", "rights", "client", "client"),
            ("accounts", "rights", "number", "account"),
            ("accounts", "orders", "number", "account"),
        )
    ],
}


def test_the_metadata_of_others_say_the_same(tmp_path):
    (tmp_path / "metadata.json").write_text(json.dumps(METADATA), encoding="utf-8")
    made = {"train": bank(), "synthetic": bank(100)}
    by_file = load_database(BANK, **made).split.train
    loaded = load_database(metadata=tmp_path / "metadata.json", person="clients", **made)
    same(by_file, loaded.split.train)
    assert loaded.notes[0] == "Left out: weather, which no relationship links to 'clients'."


def test_rows_that_nobody_refers_to_are_left_out_where_metadata_alone_say_whose_they_are():
    made = {"train": bank(), "synthetic": bank(100)}
    made["train"]["accounts"].loc[2] = [9, 3]
    loaded = load_database(metadata=METADATA, person="clients", **made)
    assert len(loaded.split.train.linked["accounts"]) == len(loaded.tables["accounts"].split.train) == 2
    assert "accounts of train: 1 row belongs to nobody and is left out." in loaded.notes


def test_a_table_that_metadata_link_but_that_is_nobodys_is_left_out():
    made = {"train": bank(), "synthetic": bank(100)}
    for first, tables in zip((0, 100), made.values(), strict=True):
        people = range(first, first + 50)
        tables["clients"] = pd.DataFrame({"client": people, "age": 30})
        tables["rights"] = pd.DataFrame({"client": people, "account": first + 7, "right": "user"})
    loaded = load_database(metadata=METADATA, person="clients", **made)
    assert list(loaded.split.train.linked) == ["rights"]
    assert loaded.split.train.linked["rights"].table.schema.names == ("right",)
    assert any("accounts, orders, whose rows belong to many people" in note for note in loaded.notes)


@pytest.mark.parametrize(
    ("change", "person", "line"),
    [
        (
            {},
            None,
            "metadata: person: which table is the person's? Of those with others, 2 belong to no other ",
        ),
        ({}, "client", "metadata: person: no table 'client'. Did you mean 'clients'?"),
        ({"tables": []}, None, "metadata: tables: must describe the tables of a database, each by its name."),
        (
            {"relationships": [{"parent_table_name": "clients"}]},
            None,
            "metadata: relationships: entry 1 must ",
        ),
        (
            {"tables": {**METADATA["tables"], "clients": {}}},
            "clients",
            "metadata: tables.clients: the person's ",
        ),
        (
            {"relationships": METADATA["relationships"][:1] * 2},
            None,
            "metadata: relationships: table 'rights' ",
        ),
        ({"relationships": []}, "clients", "metadata: linked: no table is linked"),
    ],
)
def test_metadata_that_do_not_say_it_are_refused(change, person, line):
    with pytest.raises(ValueError, match="metadata") as refused:
        read_database(metadata={**METADATA, **change}, person=person)
    assert str(refused.value).startswith(line)


def test_numbers_that_look_like_codes_are_an_order_all_the_same():
    def numbered(seed):
        tables = clinic(80, seed=seed)
        visits = tables["visits"][["patient", "ward"]]
        return {**tables, "visits": visits.assign(turn=visits.groupby("patient").cumcount())}

    hangs = {
        "person": {"table": "patients", "key": "patient"},
        "linked": {"visits": {"key": "patient", "order": "turn"}},
    }
    loaded = load_database(hangs, train=numbered(1), control=numbered(2), synthetic=numbered(3))
    assert isinstance(loaded.split.train.linked["visits"].table.schema["turn"], Numeric)
    assert len(tabveil.synthesize_tables(hangs, data=numbered(1), people=20)["patients"]) == 20
    said = {**hangs, "schemas": {"visits": {"columns": {"turn": "category"}}}}
    with pytest.raises(SchemaError, match="'turn' holds categories, which have no order"):
        load_database(said, train=numbered(1), synthetic=numbered(3))
