"""Domains that a schema declares: they become the column's, and rows outside are refused without a word of
what they hold."""

import datetime as dt
import json

import pandas as pd
import pytest

from tabveil.core.table import Categorical, Numeric
from tabveil.errors import SchemaError
from tabveil.tables import reading as frame

DAY = 86_400_000_000


def load(data, **columns):
    return frame.load_table(pd.DataFrame(data), schema={"columns": columns})


def refused(data, **columns):
    with pytest.raises(SchemaError) as caught:
        load(data, **columns)
    return str(caught.value)


def days(date):
    return (date - dt.date(1970, 1, 1)).days


def test_bounds_of_whole_numbers():
    loaded = load({"age": [30, 40]}, age={"type": "integer", "low": 0, "high": 120})
    assert loaded.table.schema["age"] == Numeric(name="age", low=0, high=120, decimals=0)
    assert loaded.declared == {"age"}


def test_a_real_number_is_whole_with_its_decimals():
    bounds = {"type": "real", "low": 0, "high": 300}
    half = load({"kg": [70.25, None]}, kg=bounds)
    whole = load({"kg": [70.25, None]}, kg={**bounds, "decimals": 3})
    assert (half.table.schema["kg"].decimals, half.declared) == (2, frozenset())
    assert (whole.table.schema["kg"].decimals, whole.declared) == (3, {"kg"})


def test_a_bound_has_the_decimals_of_its_column():
    column = load({"kg": [1.0, 2.0]}, kg={"type": "real", "low": 0.5, "high": 9}).table.schema["kg"]
    assert (column.low, column.high, column.decimals) == (0.5, 9.0, 1)


def test_one_bound_alone():
    loaded = load({"n": [3, 4]}, n={"type": "integer", "low": 0})
    assert (loaded.table.schema["n"].low, loaded.table.schema["n"].high) == (0, 4)
    assert loaded.declared == frozenset()


@pytest.mark.parametrize("as_text", [False, True])
def test_bounds_of_dates(as_text):
    low, high = dt.date(1900, 1, 1), dt.date(2029, 12, 31)
    entry = {"type": "date", "low": low.isoformat() if as_text else low, "high": high}
    loaded = load({"born": ["1970-01-03", None]}, born=entry)
    column = loaded.table.schema["born"]
    assert (column.low, column.high) == (days(low), days(high))
    assert loaded.table.column("born")[0] == 2
    assert loaded.declared == {"born"}


def test_the_unit_of_datetimes():
    seen = pd.to_datetime(["2024-01-01", "2024-01-02"])
    entry = {"type": "datetime", "low": "2024-01-01", "high": "2024-01-31T12:00:00"}
    free, fixed = load({"seen": seen}, seen=entry), load({"seen": seen}, seen={**entry, "unit": "seconds"})
    assert (
        free.table.schema["seen"].width == 30.5 * 86_400
    )  # whole days in the rows, half of one in the bound
    assert free.declared == frozenset()
    assert fixed.table.schema == free.table.schema
    assert fixed.declared == {"seen"}


def test_a_unit_that_is_too_coarse():
    entry = {"type": "datetime", "unit": "days"}
    message = refused({"seen": pd.to_datetime(["2024-01-01 00:00", "2024-01-02 10:00"])}, seen=entry)
    assert message.startswith("Column 'seen' of data: row 2 should hold moments in the schema's unit")


def test_labels_and_truth_values():
    loaded = load(
        {"ward": ["a", "a"], "flag": ["true", None], "other": ["x", "y"], "n": [1, 2]},
        ward={"type": "category", "labels": ["b", "a"]},
        flag="category",
        n="integer",
    )
    assert loaded.table.schema["ward"] == Categorical(name="ward", labels=("b", "a"))
    assert loaded.declared == {"ward"}
    assert load({"flag": [True, None]}, flag="boolean").declared == {"flag"}


def test_an_all_missing_column_keeps_its_bounds():
    column = load({"n": [None, None]}, n={"type": "real", "low": 0.25, "high": 0.5}).table.schema["n"]
    assert (column.low, column.high, column.decimals) == (0.25, 0.5, 2)


def test_rows_outside_are_named_by_their_number_only():
    message = refused({"age": [30, 4711, 40]}, age={"type": "integer", "low": 0, "high": 120})
    assert "'age'" in message
    assert "row 2 should hold numbers from 0 to 120" in message
    assert "4711" not in message


def test_dates_outside():
    entry = {"type": "date", "low": "2000-01-01", "high": "2020-01-01"}
    message = refused({"born": ["1999-12-31", "2010-01-01"]}, born=entry)
    assert "row 1 should hold dates from 2000-01-01 to 2020-01-01" in message
    assert "1999" not in message


@pytest.mark.parametrize(("n", "shown"), [(9, False), (10, True)])
def test_a_frequent_text_outside_may_be_a_missing_marker(tmp_path, n, shown):
    (tmp_path / "data.csv").write_text("age\n30\n" + "999\n" * n, encoding="utf-8")
    schema = {"columns": {"age": {"type": "integer", "low": 0, "high": 120}}}
    with pytest.raises(SchemaError) as caught:
        frame.load_table(tmp_path / "data.csv", schema=schema)
    assert ('--missing "999"' in str(caught.value)) is shown
    assert ("999" in str(caught.value)) is shown
    frame.load_table(tmp_path / "data.csv", schema=schema, missing=["999"])


def test_too_many_decimals():
    message = refused({"kg": [1.25, 1.234]}, kg={"type": "real", "decimals": 2})
    assert "row 2 should hold numbers with at most 2 decimals" in message
    assert "1.234" not in message


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"type": "integer", "low": 5, "high": 4}, "low must not be above high"),
        ({"type": "integer", "low": 0.5}, "values that the column may hold"),
        ({"type": "real", "low": 0.55, "decimals": 1}, "values that the column may hold"),
        ({"type": "date", "low": "2024-01-01T10:00:00"}, "values that the column may hold"),
        (
            {"type": "datetime", "low": "2024-01-01T10:00:00.5", "unit": "seconds"},
            "values that the column may",
        ),
        ({"type": "integer", "low": "2024-01-01"}, "must be numbers"),
        ({"type": "date", "low": 1900}, "must be dates"),
        ({"type": "category", "low": 0}, "belong to numbers"),
        ({"type": "time", "high": 3}, "belong to numbers"),
        ({"type": "integer", "decimals": 2}, "decimals belong to a real number"),
        ({"type": "date", "unit": "days"}, "a unit belongs to a datetime"),
        ({"type": "real", "decimals": -1}, "decimals"),
        ({"type": "real", "decimals": True}, "decimals"),
        ({"type": "datetime", "unit": "weeks"}, "unit"),
        ({"type": "real", "low": True}, "number or a date"),
        ({"type": "real", "low": float("inf")}, "number or a date"),
        ({"type": "real", "low": "soon"}, "number or a date"),
        ({"type": "real", "lowest": 1}, "unknown key"),
    ],
)
def test_a_schema_that_makes_no_sense(entry, problem):
    message = refused({"a": [1]}, a=entry)
    assert problem in message
    assert message.startswith("schema: columns.a")
    assert "\n" not in message


def test_yaml_and_json_say_the_same(tmp_path):
    (tmp_path / "s.yaml").write_text(
        "columns: {day: {type: datetime, low: 2024-01-01, high: 2024-01-02T00:00:00Z, unit: seconds}}"
    )
    (tmp_path / "s.json").write_text(
        json.dumps(
            {
                "columns": {
                    "day": {"type": "datetime", "low": "2024-01-01", "high": "2024-01-02", "unit": "seconds"}
                }
            }
        )
    )
    data = pd.DataFrame({"day": pd.to_datetime(["2024-01-01 12:00:00"])})
    first, second = (
        frame.load_table(data, schema=tmp_path / name).table.schema for name in ("s.yaml", "s.json")
    )
    assert first == second
    assert first["day"].width * 1_000_000 == DAY


def test_an_audit_measures_by_what_the_rows_hold():
    """A bound of a billion would make every difference in income vanish, and a leak with it."""
    people = pd.DataFrame({"income": [10, 20]})
    schema = {"columns": {"income": {"type": "integer", "low": 0, "high": 15}}}
    loaded = frame.load_split(people, people, schema=schema)
    assert (loaded.split.schema["income"].low, loaded.split.schema["income"].high) == (10, 20)


def test_the_schema_that_is_written_can_be_given_with_its_examples(tmp_path):
    written = frame.describe(pd.DataFrame({"age": [1], "weight": [2.5]}))
    examples = [line.removeprefix("#   ") for line in written.splitlines() if line.startswith("#   ")]
    names = [line.split(":")[0] for line in examples]
    assert {"age", "weight", "born", "admitted", "ward"} <= set(names)
    (tmp_path / "s.yaml").write_text("columns:\n" + "".join(f"  {line}\n" for line in examples))
    table = pd.DataFrame(dict.fromkeys(names, pd.Series([None, None], dtype="string")))
    loaded = frame.load_table(table, schema=tmp_path / "s.yaml")
    assert loaded.declared == set(names) - {"case"}
    assert loaded.declared_identifiers == {"case": "AB-0000"}
