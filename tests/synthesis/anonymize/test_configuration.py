"""What is asked for in a file: read, applied, and refused in one line that names column and entry."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabveil.errors import TabveilError
from tabveil.synthesis.anonymize import (
    Closeness,
    Discernibility,
    EntropyDiversity,
    KAnonymity,
    RecursiveDiversity,
)
from tabveil.synthesis.anonymize.configuration import apply, read
from tabveil.synthesis.anonymize.releasing import to_native
from tabveil.tables import reading as frame

PEOPLE = pd.DataFrame(
    {
        "age": [20, 20, 30, 30, 40, 40] * 10 + [77],
        "town": ["Ulm", "Bonn", "Kiel"] * 20 + ["Solitude"],
        "born": pd.to_datetime(["2000-01-01", "2001-05-05"] * 30 + ["1999-09-09"]),
        "code": ["N10", "N20"] * 30 + ["N30"],
        "pay": [1, 2, 3] * 20 + [4],
        "case": [f"patient {n}" for n in range(61)],
    }
)
TOWNS = {"tree": {"south": ["Ulm"], "north": ["Bonn", "Kiel", "Solitude"]}}
GOOD = {
    "hierarchies": {"age": {"intervals": [10, 20]}, "town": TOWNS},
    "models": [{"k": 3}],
    "drop": ["case"],
}


def changed(**settings):
    return {**GOOD, **settings}


def hierarchy(column, entry):
    return changed(hierarchies={**GOOD["hierarchies"], column: entry})


@pytest.fixture(scope="module")
def loaded():
    return frame.load_table(PEOPLE)


@pytest.fixture
def folder(tmp_path):
    files = {
        "good.csv": "Ulm;south;*\nBonn;north;*\nKiel;north;*\nSolitude;north;*\n",
        "lacking.csv": "Ulm;south;*\nBonn;north;*\n",
        "rare.csv": "Ulm;south;*\nBonn;north;*\nKiel;north;*\n",
        "torn.csv": "Ulm;south;low;*\nBonn;south;high;*\nKiel;north;high;*\nSolitude;north;high;*\n",
        "uneven.csv": "Ulm;south;*\nBonn;*\nKiel;north;*\nSolitude;north;*\n",
        "twice.csv": "Ulm;south;*\nUlm;north;*\nBonn;north;*\nKiel;north;*\nSolitude;north;*\n",
        "flat.csv": "Ulm\nBonn\nKiel\nSolitude\n",
        "gap.csv": "Ulm;;*\nBonn;north;*\nKiel;north;*\nSolitude;north;*\n",
        "empty.csv": "",
        "ages.csv": "20;low;*\nold;high;*\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "latin.csv").write_bytes(b"Ulm;s\xfcd;*\n")
    (tmp_path / "folder.csv").mkdir()
    return tmp_path


FAULTS = {
    "a file that is not there": ("town", {"file": "none.csv"}, "file", "there is no file 'none.csv'"),
    "a folder": ("town", {"file": "folder.csv"}, "file", "a folder, not a file"),
    "a file that is no text": ("town", {"file": "latin.csv"}, "file", "not UTF-8"),
    "an empty file": ("town", {"file": "empty.csv"}, "file", "is empty"),
    "a file without levels": ("town", {"file": "flat.csv"}, "file", "no level above"),
    "leaves of another depth": ("town", {"file": "uneven.csv"}, "file", "1 of 4 leaves have another depth"),
    "a level without a value": ("town", {"file": "gap.csv"}, "file", "leaf 1 has a level without a value"),
    "a leaf twice": ("town", {"file": "twice.csv"}, "file", "1 of its 5 leaves occur twice"),
    "levels not nested": (
        "town",
        {"file": "torn.csv"},
        "file",
        "1 of the 2 values of level 1 lie under several",
    ),
    "values not covered": (
        "town",
        {"file": "lacking.csv"},
        "file",
        "2 values (21 rows), such as 'Kiel', are not in",
    ),
    "a rare value not covered": (
        "town",
        {"file": "rare.csv"},
        "file",
        "1 value (1 row) is not in 'rare.csv'",
    ),
    "text among numbers": ("age", {"file": "ages.csv"}, "file", "a leaf is none"),
    "no name of a file": ("town", {"file": 3}, "file", "name of a file"),
    "widths not nested": ("age", {"intervals": [10, 15]}, "intervals", "15 is not a multiple of 10"),
    "a width of nothing": ("age", {"intervals": [0, 5]}, "intervals", "above 0"),
    "no widths": ("age", {"intervals": []}, "intervals", "at least one width"),
    "widths that are words": ("age", {"intervals": ["wide"]}, "intervals", "finite numbers"),
    "no list of widths": ("age", {"intervals": 5}, "intervals", "must be a list"),
    "cuts not nested": ("age", {"intervals": [[20, 40], [30]]}, "intervals", "cuts of level 2"),
    "cuts that fall": ("age", {"intervals": [[40, 20]]}, "intervals", "must ascend"),
    "bounds the wrong way": (
        "age",
        {"intervals": [5], "bottom": 9, "top": 3},
        "intervals",
        "bottom must be below",
    ),
    "an origin of cuts": ("age", {"intervals": [[20]], "origin": 5}, "origin", "belongs to widths"),
    "intervals of labels": ("town", {"intervals": [5]}, "intervals", "holds no numbers"),
    "intervals of dates": ("born", {"intervals": [5]}, "intervals", "holds no numbers"),
    "a tree without groups": ("town", {"tree": {}}, "tree", "no groups"),
    "a tree that is a list": ("town", {"tree": ["Ulm"]}, "tree", "groups by name"),
    "an empty group": ("town", {"tree": {"a": []}}, "tree", "a group is empty"),
    "a group that is a word": ("town", {"tree": {"a": "Ulm"}}, "tree", "a list of labels"),
    "an uneven tree": ("town", {"tree": {"a": ["Ulm"], "b": {"c": ["Bonn"]}}}, "tree", "equally deep"),
    "a tree that lacks labels": (
        "town",
        {"tree": {"a": ["Ulm"]}},
        "tree",
        "3 values (41 rows), such as 'Bonn', 'Kiel'",
    ),
    "a label twice in a tree": ("town", {"tree": {"a": ["Ulm"], "b": ["Ulm"]}}, "tree", "occur twice"),
    "a label that is no text": ("town", {"tree": {"a": [True]}}, "tree", "in quotes"),
    "a group's name twice": (
        "town",
        {"tree": {"x": {"a": ["Ulm", "Bonn"]}, "y": {"a": ["Kiel", "Solitude"]}}},
        "tree",
        "occurs in several places",
    ),
    "others without a name": ("town", {"tree": {"a": ["Ulm"]}, "others": 3}, "others", "name of a group"),
    "a mask of neither side": ("code", {"mask": "middle", "steps": [1]}, "mask", "right or left"),
    "a mask without steps": ("code", {"mask": "right"}, "mask", "needs steps"),
    "steps that fall": ("code", {"mask": "right", "steps": [2, 1]}, "mask", "that rise"),
    "steps of halves": ("code", {"mask": "right", "steps": [0.5]}, "steps", "whole numbers"),
    "more steps than characters": ("code", {"mask": "right", "steps": [9]}, "mask", "at most 3"),
    "no unit": ("born", {"dates": ["fortnight"]}, "dates", "among hour, day"),
    "no units": ("born", {"dates": []}, "dates", "at least one of"),
    "units that narrow": ("born", {"dates": ["year", "month"]}, "dates", "month does not hold year"),
    "dates of numbers": ("age", {"dates": ["year"]}, "dates", "holds no dates"),
    "an unknown entry": ("age", {"interval": [5]}, "interval", "Did you mean 'intervals'?"),
    "an unknown word": ("age", "automatic", "automatic", "or auto"),
    "nothing": ("age", None, "nothing", "or auto"),
    "two kinds at once": ("age", {"mask": "right", "intervals": [5]}, "mask", "one kind"),
    "a key of another kind": ("age", {"intervals": [5], "steps": [1]}, "steps", "unknown beside intervals"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_bad_hierarchy_is_told_in_one_line_with_column_and_entry(fault, folder, loaded, monkeypatch):
    column, entry, key, message = FAULTS[fault]
    monkeypatch.chdir(folder)
    with pytest.raises(TabveilError) as caught:
        apply(read(hierarchy(column, entry)), loaded)
    text = str(caught.value)
    assert "\n" not in text
    assert f"column '{column}', entry '{key}'" in text
    assert message in text
    assert "Solitude" not in text  # one person lives there


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ([1], "the top level must hold settings"),
        (changed(modles=[]), "unknown key 'modles'. Did you mean 'models'?"),
        (changed(hierarchies={}), "hierarchies must name each quasi-identifier"),
        (
            changed(hierarchies={"agee": "auto"}),
            "hierarchies: column 'agee' is not in the table. Did you mean 'age'?",
        ),
        (changed(models=[]), "models must be a list"),
        (changed(models=["k"]), "models, entry 1: it must be k, l or t"),
        (changed(models=[{"k": 5, "t": 0.1}]), "models, entry 1: it must hold one of k, l and t"),
        (changed(models=[{"k": 5}, {"k": 2.5}]), "models, entry 2: k must be a whole number"),
        (changed(models=[{"k": "five"}]), "models, entry 1: k must be a number"),
        (changed(models=[{"k": 0}]), "models, entry 1: k-anonymity: k must be >= 1"),
        (changed(models=[{"k": 5, "column": "pay"}]), "unknown key 'column' beside k"),
        (changed(models=[{"l": 2}]), "l needs the name of a sensitive column"),
        (
            changed(models=[{"l": 2, "column": "pay", "kind": "much"}]),
            "kind must be one of distinct, entropy",
        ),
        (changed(models=[{"l": 2, "column": "pay", "c": 3}]), "c belongs to kind: recursive"),
        (changed(models=[{"t": 2, "column": "pay"}]), "t must lie from 0 to 1"),
        (changed(models=[{"t": 0.2, "column": "pay", "distance": "far"}]), "distance must be one of equal"),
        (
            changed(models=[{"t": 0.2, "column": "pay", "distance": "hierarchical"}]),
            "column 'pay' needs a hierarchy",
        ),
        (changed(models=[{"l": 2, "column": "age"}]), "column 'age' has a hierarchy and is sensitive"),
        (changed(models=[{"l": 2, "column": "wage"}]), "models: column 'wage' is not in the table"),
        (changed(loss="much"), "loss must be one of geometric loss"),
        (changed(suppression=1.5), "suppression must be a share"),
        (changed(suppression="some %"), "suppression must be a share"),
        (changed(local="yes"), "local must be true or false"),
        (changed(budget=0), "budget must be a number"),
        (changed(drop="case"), "drop must be a list"),
        (changed(drop=["age"]), "drop names 'age', which is used"),
        (changed(drop=[]), "Column 'case' seems to name people and would be released"),
        (changed(schema=3), "schema must be the name of a file"),
    ],
)
def test_a_bad_configuration_is_told_in_one_line(said, message, loaded):
    with pytest.raises(TabveilError, match=re.escape(message)) as caught:
        apply(read(said), loaded)
    assert "\n" not in str(caught.value)


def test_everything_that_is_said_is_read(tmp_path):
    path = tmp_path / "asked.yaml"
    path.write_text(
        "hierarchies: {age: auto}\n"
        "models:\n"
        "- {k: 4}\n"
        "- {l: 1.5, column: pay, kind: entropy}\n"
        "- {l: 2, column: pay, kind: recursive, c: 4}\n"
        "- {t: 0.3, column: town, distance: hierarchical, hierarchy: {file: towns.csv}}\n"
        "loss: discernibility\nsuppression: 7.5 %\nlocal: true\nbudget: 1000000\n"
        "drop: [case]\nkeep: [code]\nmissing: ['?']\nschema: schema.yaml\n",
        encoding="utf-8",
    )
    asked = read(path)
    assert asked.models == (
        KAnonymity(k=4),
        EntropyDiversity(column="pay", l=1.5),
        RecursiveDiversity(column="pay", l=2, c=4),
        Closeness(column="town", t=0.3, distance="hierarchical"),
    )
    assert (asked.loss, asked.suppression, asked.local, asked.budget) == (
        Discernibility(),
        0.075,
        True,
        1_000_000,
    )
    assert (asked.drop, asked.keep, asked.missing) == (("case",), ("code",), ("?",))
    assert asked.schema == tmp_path / "schema.yaml"
    assert asked.sensitive == ("pay", "town")
    assert asked.sensitive_hierarchies["town"].path == tmp_path / "towns.csv"


def test_the_release_has_the_form_of_the_table_that_came(loaded):
    found = apply(read(GOOD), loaded)
    released = to_native(found, loaded.layout)
    assert list(released.columns) == ["age", "town", "born", "code", "pay"]
    assert set(released["town"]) <= {"Ulm", "Bonn", "Kiel", "south", "north", "*"}
    assert released["born"].dtype == PEOPLE["born"].dtype
    assert sorted(released["pay"]) == sorted(PEOPLE["pay"].iloc[found.rows])


def test_the_release_is_in_another_order_than_the_table_wherever_its_rows_stood(loaded):
    found = apply(read(GOOD), loaded)
    released = to_native(found, loaded.layout)
    assert released["pay"].tolist() != PEOPLE["pay"].iloc[found.rows].tolist()
    backward = frame.load_table(PEOPLE.iloc[::-1].reset_index(drop=True))
    assert to_native(apply(read(GOOD), backward), backward.layout).equals(released)
    assert len(released) == 61 - found.n_suppressed


def test_hierarchies_of_sensitive_columns(folder, loaded, monkeypatch):
    monkeypatch.chdir(folder)
    said = {
        "hierarchies": {"age": {"intervals": [20]}},
        "models": [
            {"t": 0.5, "column": "town", "distance": "hierarchical", "hierarchy": {"file": "good.csv"}}
        ],
        "drop": ["case"],
    }
    assert apply(read(said), loaded).n_suppressed < 61


def test_files_are_looked_for_beside_the_configuration(folder):
    asked = read({"hierarchies": {"town": {"file": "good.csv"}}, "models": [{"k": 2}]})
    assert asked.hierarchies["town"].path == Path("good.csv")
    path = folder / "asked.json"
    path.write_text('{"hierarchies": {"town": {"file": "good.csv"}}, "models": [{"k": 2}]}', encoding="utf-8")
    assert read(path).hierarchies["town"].path == folder / "good.csv"


def test_no_rare_value_is_shown(loaded):
    people = PEOPLE.assign(town=[f"place {n}" for n in np.arange(61)])
    with pytest.raises(TabveilError, match=r"61 values \(61 rows\) are not in the tree") as caught:
        apply(read(GOOD), frame.load_table(people))
    assert "place" not in str(caught.value)
