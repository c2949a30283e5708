"""Linked tables are described with what many people share, in a file that can be used again."""

import pandas as pd
import pytest
import yaml

import tabveil
from tabveil.datasets import clinic
from tabveil.errors import ParameterError
from tabveil.tables.linked import read_database

HANGS = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
}


def told(tables, **more):
    return tabveil.describe_tables({**HANGS, **more}, data=tables)


def test_people_rows_and_sizes_of_sets_are_told():
    people = pd.DataFrame({"patient": range(40), "age": range(40)})
    visits = pd.DataFrame({"patient": [*range(20), *[20 + k // 5 for k in range(100)]], "day": range(120)})
    text = told({"patients": people, "visits": visits})
    assert "#   patients: 40 people, one row each; key: patient." in text
    assert (
        "#   visits: 120 rows of 40 people, key: patient, in the order of day; rows a person: "
        "1 (quarter), 3 (half), 5 (last quarter)." in text
    )


def test_no_value_of_few_people_is_told():
    tables = clinic(60, seed=1)
    visits = tables["visits"].copy()
    visits["triage"] = pd.Categorical(["low"] * len(visits), categories=["low", "secret"], ordered=True)
    busy = visits["patient"].value_counts().index[0]
    visits.loc[visits["patient"] == busy, "triage"] = "secret"
    many = pd.concat([visits, *[visits[visits["patient"] == busy]] * 20])  # more than ten rows, one person
    tables["visits"] = many
    assert (many["triage"] == "secret").sum() > 100
    text = told(tables)
    assert "triage: ordered category" in text
    assert "secret" not in text
    assert str(int(many["patient"].value_counts().max())) not in text.partition("person:")[0]


def test_the_file_can_be_used_again_and_says_the_same():
    tables = clinic(60, seed=1)
    text = told(tables)
    read = yaml.safe_load(text)
    assert read["schemas"]["visits"]["columns"]["ward"] == "category"
    assert "patient" not in read["schemas"]["patients"]["columns"]
    assert tabveil.describe_tables(read, data=tables) == text
    assert read_database(read).linkage == read_database(HANGS).linkage


def test_what_is_said_of_columns_stays():
    text = told(clinic(60, seed=1), schemas={"visits": {"drop": ["cost"], "columns": {"days": "category"}}})
    said = yaml.safe_load(text)["schemas"]["visits"]
    assert said["drop"] == ["cost"]
    assert said["columns"]["days"] == "category"
    assert "cost" not in said["columns"]


def test_a_table_of_keys_alone_and_people_without_rows_are_described():
    tables = {
        "patients": pd.DataFrame({"patient": range(30), "age": range(30)}),
        "visits": pd.DataFrame({"patient": [0, 0, 1]}),
    }
    text = tabveil.describe_tables(
        {"person": HANGS["person"], "linked": {"visits": {"key": "patient"}}}, data=tables
    )
    assert "visits: 3 rows of 2 people, key: patient; fewer than ten people have any." in text
    with pytest.raises(ParameterError, match="data is missing"):
        tabveil.describe_tables(HANGS)
