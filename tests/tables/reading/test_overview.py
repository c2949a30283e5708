"""What one sees of a column before an audit, and what one does not."""

import numpy as np
import pandas as pd

from tabveil.tables.reading.overview import overview


def columns(table, **more):
    return {column["name"]: column for column in overview(table, **more)["columns"]}


def test_rare_labels_are_counted_and_not_named():
    labels = ["north"] * 30 + ["south"] * 10 + ["somebody's"] * 9 + [None]
    found = overview(pd.DataFrame({"ward": labels}))
    assert found["rows"] == 50
    (column,) = found["columns"]
    assert column["labels"] == [{"label": "north", "rows": 30}, {"label": "south", "rows": 10}]
    assert (column["others"], column["missing"], column["kind"]) == (None, 1, "category")  # fewer than ten
    assert "somebody" not in str(found)


def test_the_commonest_are_shown_where_there_are_many():
    found = columns(pd.DataFrame({"x": [f"label {n}" for n in range(8) for _ in range(10 + n)]}))["x"]
    assert [item["label"] for item in found["labels"]] == [f"label {n}" for n in range(7, 1, -1)]
    assert found["others"] == 10 + 11


def test_ranges_leave_out_the_ten_lowest_and_highest_and_end_at_nobodys_value():
    values = np.arange(1001.0) + 0.37
    values[[0, 1000]] = [-123456.0, 987654.0]  # somebody's
    found = columns(pd.DataFrame({"x": values}))["x"]
    assert (found["low"], found["high"], found["kind"]) == ("9.4", "990", "real")


def test_few_rows_have_no_range():
    assert "low" not in columns(pd.DataFrame({"x": np.arange(19.0) + 0.5}))["x"]
    assert "low" in columns(pd.DataFrame({"x": np.arange(20.0) + 0.5}))["x"]
    assert "low" not in columns(pd.DataFrame({"x": [np.nan] * 30}))["x"]


def test_dates_are_told_as_dates():
    found = columns(pd.DataFrame({"day": pd.date_range("2020-01-01", periods=800).astype(str)}))["day"]
    assert found["kind"] == "date"
    assert (found["low"], found["high"]) == ("2020", "2022")


def test_what_names_people_and_what_they_wrote_is_not_shown():
    texts = [
        f"patient number {n} said that the {'left' if n % 2 else 'right'} knee hurts since {n} days"
        for n in range(60)
    ]
    found = columns(pd.DataFrame({"case": [f"AB-{n:05d}" for n in range(60)], "remark": texts}))
    assert found["case"] == {"name": "case", "kind": "identifier", "missing": 0}
    assert "labels" not in found["remark"]
    assert "knee" not in str(found)


def test_a_schema_and_missing_texts_are_followed():
    table = pd.DataFrame({"code": [1, 2] * 20, "x": ["?", "a"] * 20})
    found = columns(table, schema={"columns": {"code": "category"}}, missing=("?",))
    assert found["code"]["labels"] == [{"label": "1", "rows": 20}, {"label": "2", "rows": 20}]
    assert found["x"]["missing"] == 20


def test_one_row_and_constant_columns():
    found = columns(pd.DataFrame({"a": [1.5], "b": ["x"]}))
    assert found["a"]["missing"] == 0
    assert found["b"]["labels"] == []
    assert columns(pd.DataFrame({"a": [7] * 30}))["a"]["low"] == "7"
