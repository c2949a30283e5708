"""How declared columns are written: as a schema says or in a way that is always the same, not as rows do."""

import datetime as dt

import pandas as pd
import pyarrow as pa
import pytest
import yaml

from tabveil.errors import SchemaError
from tabveil.tables import reading as frame
from tabveil.tables.reading.layout import to_arrow
from tabveil.tables.reading.moments import of_template, template_of

AGE = {"type": "integer", "low": 0, "high": 120}
KG = {"type": "real", "low": 0, "high": 300, "decimals": 2}
SEEN = {"type": "datetime", "low": "2020-01-01", "high": "2029-12-31", "unit": "seconds"}


def load(tmp_path, text, *, encoding="utf-8", missing=(), csv=None, **columns):
    path = tmp_path / "data.csv"
    path.write_bytes(text.encode(encoding))
    schema = {"columns": columns, "missing": list(missing), **({} if csv is None else {"csv": csv})}
    return frame.load_table(path, schema=schema, form_by_schema=True)


def written(loaded, tmp_path):
    frame.write(loaded.table, loaded.layout, tmp_path / "out.csv")
    return (tmp_path / "out.csv").read_bytes()


@pytest.mark.parametrize(
    ("entry", "came", "leaves"),
    [
        (AGE, "40.0", "40"),
        (AGE, "NA", ""),
        (KG, "70.5", "70.50"),
        ({**KG, "decimals": 0}, "70.0", "70"),
        ({"type": "boolean"}, "TRUE", "True"),
        ({"type": "boolean", "form": "true"}, "TRUE", "true"),
        ({"type": "boolean", "form": 1}, "TRUE", "1"),
        (SEEN, "2024-03-01 12:30", "2024-03-01T12:30:00"),
        ({**SEEN, "unit": "days"}, "2024-03-01", "2024-03-01T00:00:00"),
        ({**SEEN, "unit": "milliseconds"}, "2024-03-01 12:30", "2024-03-01T12:30:00.000"),
        ({**SEEN, "form": "YYYY-MM-DD HH:MM"}, "2024-03-01T12:30:00", "2024-03-01 12:30"),
        ({**SEEN, "form": "YYYY-MM-DDTHH:MM:SSZ"}, "2024-03-01T12:30:00+02:00", "2024-03-01T10:30:00Z"),
        ({**SEEN, "form": "YYYY-MM-DD HH:MM:SS+0200"}, "2024-03-01T10:30:00Z", "2024-03-01 12:30:00+0200"),
        ({"type": "date", "low": "2020-01-01", "high": "2029-12-31"}, "2024-03-01T00:00", "2024-03-01"),
        ({"type": "category", "labels": ["7", "8"]}, "7", "7"),
    ],
)
def test_the_schema_says_how_a_value_is_written(tmp_path, entry, came, leaves):
    loaded = load(tmp_path, f"one,two\n{came},{came}\n", one=entry)
    assert written(loaded, tmp_path) == f"one,two\n{leaves},{came}\n".encode()  # undeclared as it came


def test_without_a_promise_values_are_written_as_they_came(tmp_path):
    (tmp_path / "data.csv").write_text("age;b\n40,0;TRUE\n", encoding="utf-8")
    schema = {"columns": {"age": AGE, "b": {"type": "boolean", "form": "1"}}}
    assert written(frame.load_table(tmp_path / "data.csv", schema=schema), tmp_path) == b"age;b\n40,0;TRUE\n"


def test_the_form_of_a_text_file_is_said_for_all_columns(tmp_path):
    came = "kg;city\n70,50;Köln\n;?\n"
    city = {"type": "category", "labels": ["Köln"]}
    said = {"delimiter": ";", "encoding": "cp1252", "decimal": ",", "missing": "?"}
    plain = load(tmp_path, came, encoding="cp1252", missing=["?"], kg=KG, city=city)
    assert written(plain, tmp_path) == "kg,city\n70.50,Köln\n,\n".encode()
    like_it = load(tmp_path, came, encoding="cp1252", missing=["?"], csv=said, kg=KG, city=city)
    assert written(like_it, tmp_path) == "kg;city\n70,50;Köln\n?;?\n".encode("cp1252")


def test_the_types_are_those_of_the_declaration():
    data = pa.table(
        {
            "age": pa.array([40], pa.int8()),
            "kg": pa.array([70.5], pa.float32()),
            "smoker": pa.array([1], pa.int64()),
            "born": pa.array([dt.datetime(1980, 5, 17)], pa.timestamp("ns")),  # noqa: DTZ001
            "seen": pa.array([dt.datetime(2024, 3, 1)], pa.timestamp("ns")),  # noqa: DTZ001
            "ward": pa.array(["a"]).dictionary_encode(),
            "other": pa.array([1], pa.int8()),
        }
    )
    columns = {
        "age": AGE,
        "kg": KG,
        "smoker": "boolean",
        "born": {"type": "date", "low": "1900-01-01", "high": "2029-12-31"},
        "seen": SEEN,
        "ward": {"type": "category", "labels": ["a"]},
    }
    loaded = frame.load_table(data, schema={"columns": columns}, form_by_schema=True)
    assert [str(kind) for kind in to_arrow(loaded.table, loaded.layout).schema.types] == [
        *("int64", "double", "bool", "date32[day]", "timestamp[s]", "string", "int8")
    ]


@pytest.mark.parametrize(
    ("entry", "cell"), [(SEEN, "2024-03-01T12:30:00Z"), ({**SEEN, "form": "YYYY-MM-DDTHH:MMZ"}, "2024-03-01")]
)
def test_a_time_zone_that_the_form_does_not_say_is_refused(tmp_path, entry, cell):
    """Left out in silence, a zone would move every moment by hours."""
    with pytest.raises(
        SchemaError, match=r"'seen' of data has (a|no) time zone, unlike its form .* YYYY-MM-DD"
    ):
        load(tmp_path, f"seen,n\n{cell},1\n", seen=entry)
    load(tmp_path, "seen,n\nNA,1\n", seen=entry)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"type": "boolean", "form": "yes"}, "one of True, true, TRUE, 1"),
        ({"type": "boolean", "form": True}, "put it in quotes"),
        ({"type": "datetime", "form": "DD.MM.YYYY"}, "must look like YYYY-MM-DD HH:MM:SS"),
        ({"type": "datetime", "form": "YYYY-MM-DD"}, "must look like YYYY-MM-DD HH:MM:SS"),
        ({"type": "datetime", "form": "YYYY-MM-DD HH:MM+99:00"}, "must look like"),
        ({"type": "datetime", "unit": "milliseconds", "form": "YYYY-MM-DD HH:MM:SS"}, "show the unit"),
        ({"type": "datetime", "form": dt.datetime(2024, 3, 1)}, "put it in quotes"),  # noqa: DTZ001
        ({"type": "category", "form": "0"}, "a form belongs to a number, a boolean, a date"),
    ],
)
def test_a_form_that_makes_no_sense(entry, problem):
    with pytest.raises(SchemaError) as caught:
        frame.load_table(pd.DataFrame({"a": [1]}), schema={"columns": {"a": entry}})
    assert str(caught.value).startswith("schema: columns.a")
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("csv", "problem"),
    [
        ({"delimiter": "x"}, "csv.delimiter"),
        ({"encoding": "klingon"}, "no encoding of this name"),
        ({"decimal": ","}, "another delimiter"),
        ({"missing": "NA"}, "one of the texts listed under missing"),
        ({"quotes": "all"}, "unknown key"),
    ],
)
def test_a_form_of_text_files_that_makes_no_sense(csv, problem):
    with pytest.raises(SchemaError) as caught:
        frame.load_table(pd.DataFrame({"a": [1]}), schema={"csv": csv})
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    "template",
    [
        *("YYYY-MM-DD", "YYYY-MM-DD HH:MM", "YYYY-MM-DDTHH:MM:SSZ", "YYYY-MM-DD HH:MM:SS.fff"),
        *("YYYY-MM-DDTHH:MM:SS.ffffff-0330", "YYYY-MM-DDTHH:MM+02:00"),
    ],
)
def test_templates_there_and_back(template):
    assert template_of(of_template(template)) == template


def test_the_schema_that_is_written_says_how_values_are_written(tmp_path):
    text = "kg;at;flag;day;plain\n1,5;2024-03-01 12:30Z;TRUE;2024-03-01;True\n"
    text += "2,5;2024-03-02 12:30Z;FALSE;;False\n"
    (tmp_path / "data.csv").write_bytes(text.encode("utf-8-sig"))
    found = yaml.safe_load(frame.describe(tmp_path / "data.csv"))
    assert found["csv"] == {"delimiter": ";", "encoding": "utf-8-sig", "decimal": ",", "missing": ""}
    assert found["columns"] == {
        "kg": "real",
        "at": {"type": "datetime", "form": "YYYY-MM-DD HH:MMZ"},
        "flag": {"type": "boolean", "form": "TRUE"},
        "day": "date",
        "plain": "boolean",
    }
    zoned = pa.table({"at": pa.array([1_500], pa.timestamp("ms", "Europe/Berlin"))})
    assert yaml.safe_load(frame.describe(zoned))["columns"]["at"]["form"] == "YYYY-MM-DDTHH:MM:SS.fffZ"
    for data, schema in ((tmp_path / "data.csv", found), (zoned, yaml.safe_load(frame.describe(zoned)))):
        frame.load_table(data, schema=schema, form_by_schema=True)


def test_a_listed_label_is_one_whatever_other_rows_hold(tmp_path):
    """Were NA missing only while all others are numbers, one row would decide how all others are read."""
    code = {"type": "category", "labels": ["1", "x", "NA"]}
    few = load(tmp_path, "code,n\n1,1\nNA,1\n", code=code).table.column("code")
    more = load(tmp_path, "code,n\n1,1\nNA,1\nx,1\n", code=code).table.column("code")
    assert few.tolist() == more.tolist()[:2] == [0, 2]
