"""Databases that cannot be read: each fault is one line that names table, column and count, and no value."""

import copy
from pathlib import Path

import pandas as pd
import pytest

from tabveil.errors import TabveilError
from tabveil.tables.linked import load_database, read_database

SAYS = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {
        "visits": {"key": "patient", "order": "day", "id": "visit"},
        "drugs": {"key": "visit", "through": "visits"},
    },
}


def database(first):
    """Four patients; one has two visits and one none."""
    people = [first + step for step in range(4)]
    visits = [10 * people[0], 10 * people[0] + 1, 10 * people[1], 10 * people[2]]
    return {
        "patients": pd.DataFrame({"patient": people, "age": [30, 41, 52, 63]}),
        "visits": pd.DataFrame(
            {
                "visit": visits,
                "patient": [people[0], people[0], people[1], people[2]],
                "day": pd.to_datetime(["2024-01-01", "2024-02-01", "2024-03-01", "2024-04-01"]),
                "ward": ["a", "b", "a", "b"],
            }
        ),
        "drugs": pd.DataFrame({"visit": [visits[0], visits[0], visits[3]], "dose": [0.5, 1.0, 0.5]}),
    }


ROLES = {"train": 100, "control": 200, "synthetic": 300}


def load(change=lambda says, given: None):
    says = copy.deepcopy(SAYS)
    given = {role: database(first) for role, first in ROLES.items()}
    change(says, given)
    return load_database(says, **given)


def put(role, table, column, rows, value):
    """Write a value into some rows of a column."""

    def change(_, given):
        frame = given[role][table]
        if column not in frame or not isinstance(value, int):
            frame[column] = frame[column].astype(object) if column in frame else None
        frame.loc[rows, column] = value

    return change


def without(role, table, column):
    def change(_, given):
        given[role][table] = given[role][table].drop(columns=column)

    return change


def rename(role, table, column, name):
    def change(_, given):
        given[role][table] = given[role][table].rename(columns={column: name})

    return change


def say(*place, value):
    """Change what is said; None takes it away."""

    def change(says, _):
        *way, last = place
        for key in way:
            says = says.setdefault(key, {})
        if value is None:
            del says[last]
        else:
            says[last] = value

    return change


def empty(role, table):
    def change(_, given):
        given[role][table] = given[role][table].head(0)

    return change


def also(*changes):
    def change(says, given):
        for each in changes:
            each(says, given)

    return change


def same_people(_, given):
    given["control"] = database(ROLES["train"])


def name_twice(_, given):
    frame = given["train"]["visits"]
    given["train"]["visits"] = pd.concat([frame, frame["ward"]], axis=1)


def all_in_one_ward(says, given):
    """Visits refer to a ward's table, in which hardly anything is one person's."""
    says["linked"]["wards"] = {"key": "ward", "through": "visits"}
    for first, role in enumerate(ROLES, 1):
        tables = given[role]
        tables["patients"] = pd.DataFrame({"patient": range(100 * first, 100 * first + 50), "age": 30})
        tables["visits"] = pd.DataFrame(
            {"visit": range(50), "patient": tables["patients"]["patient"], "day": range(50), "ward": "a"}
        )
        tables["drugs"] = pd.DataFrame({"visit": range(50), "dose": 1})
        tables["wards"] = pd.DataFrame({"ward": ["a"], "beds": [7]})


def shut(_, given):
    given["train"] = Path("nowhere")


BAD = {
    "no person": (
        say("person", value=None),
        "database: person: Field required.",
    ),
    "no linked tables": (
        say("linked", value={}),
        "database: linked: no table is linked; a table alone is audited without --tables.",
    ),
    "a person without a key": (
        say("person", value={"table": "patients"}),
        "database: person.key: Field required.",
    ),
    "a person that is a word": (
        say("person", value="patients"),
        "database: person: must hold names and values, such as {table: clients, key: client}.",
    ),
    "a word that nobody knows": (say("linkd", value={}), "database: linkd: unknown key."),
    "a linked table without a key": (
        say("linked", "visits", "key", value=None),
        "database: linked.visits.key: Field required.",
    ),
    "the person's table linked to itself": (
        say("linked", "patients", value={"key": "patient"}),
        "database: linked.patients: this is the person's own table.",
    ),
    "a path through a table that nobody named": (
        say("linked", "drugs", "through", value="visit"),
        "database: linked.drugs: no table 'visit'. Did you mean 'visits'?",
    ),
    "a path in a circle": (
        say("linked", "visits", "through", value="drugs"),
        "database: linked.visits: its path leads in a circle (drugs, visits), to nobody.",
    ),
    "a path through itself": (
        say("linked", "drugs", "through", value="drugs"),
        "database: linked.drugs: its path leads in a circle (drugs), to nobody.",
    ),
    "an order that is the key": (
        say("linked", "visits", "order", value="patient"),
        "database: linked.visits: column 'patient' is a key and cannot be the order.",
    ),
    "columns of a table that nobody named": (
        say("schemas", "visit", value={"drop": ["ward"]}),
        "database: schemas: no table 'visit'. Did you mean 'visits'?",
    ),
    "a key listed as a feature": (
        say("schemas", "drugs", value={"columns": {"visit": "integer"}}),
        "database: schemas.drugs: column 'visit' is a key; it links tables and is never compared.",
    ),
    "a key that is dropped": (
        say("schemas", "visits", value={"drop": ["patient"]}),
        "database: schemas.visits: column 'patient' is a key; it links tables and is never compared.",
    ),
    "whose rows, said twice": (
        say("schemas", "visits", value={"person": "ward"}),
        "database: schemas.visits: person: whose rows these are says the key under linked.visits.",
    ),
    "no release": (
        lambda _, given: given.pop("synthetic"),
        "database: synthetic is missing: where are its tables?",
    ),
    "a folder that is not there": (
        shut,
        "train: nowhere does not exist; name a folder with one file a table.",
    ),
    "no folder and no tables": (
        lambda _, given: given.update(train=7),
        "train: expected a folder, or a mapping of tables, got int.",
    ),
    "a table that is not there": (
        lambda _, given: given["control"].pop("drugs"),
        "control: the mapping has no table 'drugs'.",
    ),
    "a table by another name": (
        lambda _, given: given["control"].update(Drugs=given["control"].pop("drugs")),
        "control: the mapping has no table 'drugs'. Did you mean 'drugs' by 'Drugs'?",
    ),
    "a table that is none": (
        lambda _, given: given["train"].update(visits=[1, 2]),
        "visits: train: expected a path or a pandas, polars or Arrow table, got list.",
    ),
    "a person's table without its key": (
        without("synthetic", "patients", "patient"),
        "patients of synthetic: there is no key column 'patient'.",
    ),
    "a linked table without its key": (
        without("control", "drugs", "visit"),
        "drugs of control: there is no key column 'visit'.",
    ),
    "a table to go through without the column": (
        without("train", "visits", "visit"),
        (
            "visits of train: there is no key column 'visit'. If it has another name there, say that one "
            "with 'on'."
        ),
    ),
    "a key by another name": (
        rename("train", "visits", "patient", "Patient"),
        "visits of train: there is no key column 'patient'. Did you mean 'Patient'?",
    ),
    "people twice": (
        put("train", "patients", "patient", [0, 2], 100),
        "patients of train: column 'patient': 2 rows share their key with another row; a person has one row.",
    ),
    "people without a key": (
        put("train", "patients", "patient", [3], None),
        "patients of train: column 'patient': 1 row has no key.",
    ),
    "rows without a key": (
        put("synthetic", "visits", "patient", [0, 3], None),
        "visits of synthetic: column 'patient': 2 rows have no key.",
    ),
    "an orphan": (
        put("train", "visits", "patient", [3], 999),
        "visits of train: column 'patient': 1 row is an orphan and belongs to no row of 'patients'.",
    ),
    "orphans": (
        put("synthetic", "drugs", "visit", [0, 1], 999),
        "drugs of synthetic: column 'visit': 2 rows are orphans and belong to no row of 'visits'.",
    ),
    "ids twice": (
        put("control", "visits", "visit", [0, 2], 2000),
        "visits of control: column 'visit': 2 rows share their id with another row.",
    ),
    "rows that name no row": (
        also(
            say("linked", "wards", value={"key": "ward", "id": "ward", "through": "visits"}),
            lambda _, given: [
                tables.update(wards=pd.DataFrame({"ward": ["a"], "beds": [7]})) for tables in given.values()
            ],
        ),
        "visits of train: column 'ward': 2 rows name no row of 'wards'.",
    ),
    "a row of everybody": (
        all_in_one_ward,
        (
            "wards of train: column 'ward': a row belongs to 50 people on average (at most 20); leave "
            "the table out, it is one to look things up in."
        ),
    ),
    "columns that differ": (
        without("synthetic", "visits", "ward"),
        (
            "visits: the columns of train and synthetic differ: only in train: ward. Leave out by "
            "schemas: {visits: {drop: [ward]}}."
        ),
    ),
    "a column by another name": (
        rename("synthetic", "patients", "age", "Age"),
        (
            "patients: the columns of train and synthetic differ: only in train: age; only in "
            "synthetic: Age. Did you mean 'age' by 'Age'?"
        ),
    ),
    "a column twice": (
        name_twice,
        "visits: The train table has several columns of the same name: ward. Rename them.",
    ),
    "types that differ": (
        put("synthetic", "patients", "age", [0, 1, 2, 3], "old"),
        (
            "patients: Column 'age' of synthetic: rows 1, 2, 3 and 1 more should hold numbers, as in "
            "another table, but do not. Correct them, name a missing marker with --missing, or give "
            "the column's type in a schema."
        ),
    ),
    "an order that is not there": (
        say("linked", "visits", "order", value="date"),
        "visits: there is no column 'date' to order by.",
    ),
    "an order that is left out": (
        say("schemas", "visits", value={"drop": ["day"]}),
        "visits: there is no column 'day' to order by.",
    ),
    "an order of categories": (
        say("linked", "visits", "order", value="ward"),
        (
            "visits: column 'ward' holds categories, which have no order; order by numbers, dates or "
            "an ordered category."
        ),
    ),
    "nobody in the release": (
        empty("synthetic", "patients"),
        "patients of synthetic: the table has no rows.",
    ),
    "no rows in a linked table": (empty("train", "drugs"), "drugs of train: the table has no rows."),
    "rows of nobody": (
        empty("control", "patients"),
        "visits of control: column 'patient': 4 rows are orphans and belong to no row of 'patients'.",
    ),
    "everybody in control is in train": (
        same_people,
        (
            "patients of control: column 'patient': all 4 rows have a key that is in train, too, so "
            "nobody is new to the generator. Split by person before training: tabveil split --tables."
        ),
    ),
    "a type that holds no value": (
        lambda _, given: given["train"]["drugs"].__setitem__("visit", [[1], [2], [3]]),
        (
            "Column 'visit' of drugs of train has type 'list<item: int64>', which cannot be audited: "
            "tabveil reads numbers, text, true/false, dates and categories. Convert the column or "
            "drop it."
        ),
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_database_gives_one_line(name):
    change, line = BAD[name]
    with pytest.raises(TabveilError) as refused:
        load(change)
    assert str(refused.value) == line
    assert "\n" not in line


def test_the_same_database_without_a_fault_is_read():
    split = load().split
    assert [len(each) for each in (split.train, split.control, split.synthetic)] == [4, 4, 4]


FILE = """\
person: {table: patients, key: patient}
linked:
  visits: {key: patient}
  drugs: {key: visit, through: visits}
train: train
synthetic: out
"""

BAD_FILES = {
    "a table twice": (
        FILE.replace("drugs:", "visits:"),
        "database \"db.yaml\": line 4: key 'visits' stands there twice.",
    ),
    "no YAML": ("person: {", 'database "db.yaml": line 1: not valid YAML.'),
    "a list": ("- person", 'database "db.yaml": the top level must hold the keys'),
    "a folder that is a number": (
        FILE.replace("train: train", "train: 3"),
        'database "db.yaml": train: must be a folder with one file a table, or a mapping of tables to files.',
    ),
    "a fault in the links": (
        FILE.replace("through: visits", "through: visit"),
        "database \"db.yaml\": linked.drugs: no table 'visit'. Did you mean 'visits'?",
    ),
    "two files of a table": (
        FILE,
        "train: table 'visits' has 2 files (visits.csv, visits.parquet); keep one.",
    ),
    "a table missing in a folder": (
        FILE.replace("drugs:", "scans:"),
        "train: the folder 'train' has no table 'scans'.",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_bad_file_gives_one_line(name, tmp_path):
    text, line = BAD_FILES[name]
    (tmp_path / "db.yaml").write_text(text, encoding="utf-8")
    for folder in ("train", "out"):
        (tmp_path / folder).mkdir()
        for table, frame in database(1).items():
            frame.to_csv(tmp_path / folder / f"{table}.csv", index=False)
    if name.startswith("two"):
        (tmp_path / "train" / "visits.parquet").write_bytes(b"")
    with pytest.raises(TabveilError) as refused:
        load_database(read_database(tmp_path / "db.yaml"))
    assert str(refused.value).startswith(line)
    assert "\n" not in str(refused.value)


def test_a_read_only_table_is_no_fault_and_nothing_is_changed():
    given = {role: database(first) for role, first in ROLES.items()}
    before = copy.deepcopy(given)
    load_database(SAYS, **given)
    for role, tables in given.items():
        for table, frame in tables.items():
            pd.testing.assert_frame_equal(frame, before[role][table])
