"""Rows come back as the kind of table that was given, also from a stored model."""

import importlib.util
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tabveil
from tabveil.errors import ParameterError
from tabveil.workflows.synthesizing import TableModel, learn, table_model

KINDS = {
    "pandas": (lambda data: data, pd.DataFrame),
    "polars": (pl.from_pandas, pl.DataFrame),
    "arrow": (lambda data: pa.Table.from_pandas(data, preserve_index=False), pa.Table),
}


def people():
    return pd.DataFrame({"age": [20, 30, 40, 50] * 30, "sex": ["f", "m", "f", None] * 30})


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_gives_what_it_was_given(kind, tmp_path):
    given, expected = KINDS[kind]
    learn(given(people()), generator="marginals").save(tmp_path / "model")
    rows = tabveil.sample(tmp_path / "model", 5)
    assert isinstance(rows, expected)
    columns = rows.column_names if kind == "arrow" else list(rows.columns)
    assert (list(columns), len(rows)) == (["age", "sex"], 5)


def test_a_model_of_a_file_gives_arrow(tmp_path):
    people().to_csv(tmp_path / "people.csv", index=False)
    learn(tmp_path / "people.csv", generator="marginals").save(tmp_path / "model")
    assert isinstance(tabveil.sample(tmp_path / "model", 5), pa.Table)


def test_a_model_that_was_stored_without_memory_of_it_gives_arrow(tmp_path):
    learn(people(), generator="marginals").save(tmp_path / "model")
    _change(tmp_path, lambda about: about.pop("library"))
    assert isinstance(TableModel.load(tmp_path / "model").draw(5).native(), pa.Table)


def test_without_polars_rows_are_arrow(tmp_path, monkeypatch):
    learn(pl.from_pandas(people()), generator="marginals").save(tmp_path / "model")
    monkeypatch.setattr(
        table_model, "find_spec", lambda name: None if name == "polars" else importlib.util.find_spec(name)
    )
    assert isinstance(TableModel.load(tmp_path / "model").draw(5).native(), pa.Table)


@pytest.mark.parametrize("library", ["numpy", "__class__", 3, None])
def test_another_word_is_refused(library, tmp_path):
    learn(people(), generator="marginals").save(tmp_path / "model")
    _change(tmp_path, lambda about: about.update(library=library))
    with pytest.raises(ParameterError, match="fit the model again"):
        TableModel.load(tmp_path / "model")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda form: form["linked"][0]["states"].pop(),
        lambda form: form["linked"][0]["columns"].pop(),
        lambda form: form["linked"][0]["columns"][0].update(name="nobody"),
        lambda form: form["linked"][0]["states"][0].__setitem__(1, "no label of its"),
        lambda form: form["linked"].append(form["linked"][0]),
        lambda form: form["banded"][0].update(source="sex"),
        lambda form: form["banded"][0]["ends"].reverse(),
        lambda form: form["banded"][0]["values"].append(None),
        lambda form: form["clocks"].append("sex"),
        lambda form: form.update(more=1),
    ],
)
def test_a_way_back_that_leads_nowhere_is_refused(spoil, tmp_path):
    data = pd.DataFrame(
        {
            "ward_id": [k // 60 + 1 for k in range(240)],
            "ward": [["north", "south", "east", "west"][k // 60] for k in range(240)],
            "age": [k % 20 + 10 for k in range(240)],
            "sex": ["f", "m", "m"] * 80,
        }
    )
    data["group"] = data["age"].map(lambda age: "young" if age < 15 else "middle" if age < 25 else "old")
    learn(data, generator="marginals").save(tmp_path / "model")
    TableModel.load(tmp_path / "model")
    _change(tmp_path, lambda about: spoil(about["form"]))
    with pytest.raises(ParameterError, match="fit the model again"):
        TableModel.load(tmp_path / "model")


def _change(folder, change):
    file = folder / "model" / "layout.json"
    about = json.loads(file.read_text(encoding="utf-8"))
    change(about)
    file.write_text(json.dumps(about), encoding="utf-8")
