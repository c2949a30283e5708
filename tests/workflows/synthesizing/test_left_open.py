"""What was read from the rows is named, and nothing else: a declared range is not said to be read."""

import json

import pandas as pd
import pytest

from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.privacy import PARTLY, state_uncovered
from tabveil.tables.reading import load_table
from tabveil.workflows.synthesizing import TableModel, learn, settings_for_users
from tabveil.workflows.synthesizing.learning import is_private
from tabveil.workflows.synthesizing.left_open import facts_read

ALWAYS = ("missing values", "form")
DAYS = {"low": "2020-01-01", "high": "2029-12-31"}


def people():
    return pd.DataFrame(
        {
            "weight": [60.5, 70.25, 80.0] * 10,
            "seen": pd.to_datetime(["2024-03-01 12:30", "2024-03-02 08:00", "2024-03-03 17:15"] * 10),
            "ward": ["north", "south", "east"] * 10,
        }
    )


@pytest.mark.parametrize(
    ("column", "entry", "read"),
    [
        ("weight", None, ("range", "decimals")),
        ("weight", {"type": "real"}, ("range", "decimals")),
        ("weight", {"type": "real", "low": 0, "high": 300}, ("decimals",)),
        ("weight", {"type": "real", "decimals": 2}, ("range",)),
        ("weight", {"type": "real", "low": 0, "decimals": 2}, ("highest value",)),
        ("weight", {"type": "real", "high": 300}, ("lowest value", "decimals")),
        ("seen", None, ("range", "unit")),
        ("seen", {"type": "datetime"}, ("range", "unit")),
        ("seen", {"type": "datetime", **DAYS}, ("unit",)),
        ("seen", {"type": "datetime", "unit": "seconds"}, ("range",)),
        ("ward", None, ("labels",)),
        ("ward", {"type": "category"}, ("labels",)),
    ],
)
def test_what_a_schema_leaves_open(column, entry, read):
    schema = {"columns": {} if entry is None else {column: entry}}
    assert facts_read(load_table(people(), schema=schema), schema)[column] == (*read, *ALWAYS)


@pytest.mark.parametrize(
    ("column", "entry"),
    [("age", {"type": "integer"}), ("born", {"type": "date"})],
)
def test_whole_numbers_and_days_have_no_decimals_to_be_read(column, entry):
    days = pd.to_datetime(["1990-01-01", "1995-05-05"]).date
    data = pd.DataFrame({"age": [1, 50], "born": days})
    schema = {"columns": {column: entry}}
    assert facts_read(load_table(data, schema=schema), schema)[column] == ("range", *ALWAYS)


def test_what_is_declared_as_a_whole_is_not_there():
    columns = {
        "weight": {"type": "real", "low": 0, "high": 300, "decimals": 2},
        "seen": {"type": "datetime", "unit": "seconds", **DAYS},
        "ward": {"type": "category", "labels": ["north", "south", "east"]},
    }
    assert facts_read(load_table(people(), schema={"columns": columns}), {"columns": columns}) == {}


PARTS = {
    "weight": {"type": "real", "low": 0, "high": 300},
    "seen": {"type": "datetime", "unit": "seconds", **DAYS},
    "ward": {"type": "category", "labels": ["north", "south", "east"]},
}


@pytest.mark.parametrize("generator", sorted(name for name, kind in GENERATORS.items() if is_private(kind())))
def test_every_private_generator_is_told(generator):
    pytest.importorskip("opacus", reason="the extra 'deep' is not installed")
    assert PARTLY not in settings_for_users(GENERATORS[generator])
    quick = {"aim": {"rounds": 12, "iterations": 5}, "dpctgan": {"epochs": 1}, "pategan": {"iterations": 1}}
    learned = learn(people(), generator=generator, settings=quick[generator], schema={"columns": PARTS})
    privacy = learned.account.privacy
    assert dict(privacy.read_from_data) == {"weight": ("decimals", *ALWAYS)}
    assert "of 1 of 3 columns: weight (decimals, missing values, form)" in state_uncovered(privacy)
    assert state_uncovered(privacy) in learned.account.notes


def test_a_stored_promise_says_the_same_and_no_less(tmp_path):
    asked = {"generator": "aim", "settings": {"rounds": 12, "iterations": 5}}
    learned = learn(people(), **asked, schema={"columns": PARTS})
    learned.save(tmp_path / "model")
    assert TableModel.load(tmp_path / "model").account.privacy == learned.account.privacy
    file = tmp_path / "model" / "model.json"
    about = json.loads(file.read_text(encoding="utf-8"))
    about["privacy"]["read_from_data"]["weight"] = ["form"]
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ParameterError, match="is not the one that aim makes"):
        TableModel.load(tmp_path / "model")
    about["params"]["partly"] = [["weight", "everything"]]
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ParameterError, match="partly"):
        TableModel.load(tmp_path / "model")


@pytest.mark.parametrize("given", [{"partly": (("weight", "form"),)}, {"partly": ()}])
def test_users_do_not_say_it_themselves(given):
    with pytest.raises(ParameterError, match="the schema says what is public"):
        learn(people(), generator="aim", settings=given)
