"""A layout as plain data and back: what is written afterwards is the same to the last byte."""

import copy
import json

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from supplies.arrow_tables import arrow_tables

from tabveil.errors import ParameterError
from tabveil.tables import reading as frame
from tabveil.tables.reading import layout_json as remember
from tabveil.tables.reading.layout import ColumnLayout, Layout, Library, to_arrow
from tabveil.tables.reading.raw_column import Kind

ZONES = ["Europe/Berlin", "UTC", "+02:00"]
TYPES = [
    *(pa.null(), pa.bool_(), pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
    *(pa.string(), pa.large_string(), pa.string_view(), pa.date32(), pa.date64()),
    *(pa.time32("s"), pa.time64("ns"), pa.duration("ms"), pa.timestamp("ns")),
    *(pa.timestamp("us", zone) for zone in ZONES),
    *(pa.decimal128(10, 2), pa.decimal256(40, -3)),
    pa.dictionary(pa.int8(), pa.string(), ordered=True),
    pa.dictionary(pa.uint32(), pa.timestamp("s", "UTC"), ordered=False),
]


def through_json(layout):
    return remember.from_json(json.loads(json.dumps(remember.to_json(layout), allow_nan=False)))


def written(tmp_path, data, layout, name="again.csv"):
    frame.write(data.table, layout, tmp_path / name)
    return (tmp_path / name).read_bytes()


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_every_type(kind):
    place = ColumnLayout(label="a", kind=Kind.LABELS, type=kind, plain=kind)
    back = through_json(Layout(library=Library.FILE, columns={"a": place})).columns["a"]
    assert (back.type, back.plain) == (kind, kind)


@settings(max_examples=60, deadline=None)
@given(arrow_tables())
def test_arrow_tables(table):
    loaded = frame.load_table(table)
    assert to_arrow(loaded.table, through_json(loaded.layout)).equals(to_arrow(loaded.table, loaded.layout))


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("n;day;flag\n1,50;2024-03-01;TRUE\n;;\n2,25;2024-02-29;FALSE\n", "utf-8"),
        ("city\tat\nKöln\t2024-03-01T12:30Z\nnull\tnull\n", "cp1252"),
        ('a|b|c\n1.0|x|2024-01-01 00:00:00.000\n2.5|"q|r"|2024-01-02 10:00:00.125\n', "utf-8"),
        ("empty,constant\n,7\n,7\n", "utf-8-sig"),
        ("one\n0\n1\n?\n", "utf-16"),
    ],
)
def test_text_files_come_back_to_the_byte(tmp_path, text, encoding):
    (tmp_path / "data.csv").write_bytes(text.encode(encoding))
    loaded = frame.load_table(tmp_path / "data.csv", missing=["?"])
    assert written(tmp_path, loaded, through_json(loaded.layout)) == text.encode(encoding)


def test_dataframes_are_remembered_as_the_files_they_would_make(tmp_path):
    people = pd.DataFrame({7: pd.Categorical(["b", "a", None], ["b", "a"], ordered=True), "n": [1, 2, 3]})
    people["seen"] = pd.to_datetime(["2024-01-01", None, "2024-01-03"])
    for data in (
        people,
        pl.DataFrame({"n": [1, None], "t": pl.Series(["x", "y"], dtype=pl.Enum(["y", "x"]))}),
    ):
        loaded = frame.load_table(data)
        back = through_json(loaded.layout)
        assert back.library is Library.FILE
        assert to_arrow(loaded.table, back).equals(to_arrow(loaded.table, loaded.layout))
        assert isinstance(frame.to_native(loaded.table, back), pa.Table)
    assert to_arrow(frame.load_table(people).table, frame.load_table(people).layout).column_names[0] == "7"


def test_what_is_kept_holds_no_value_of_the_data(tmp_path):
    (tmp_path / "data.csv").write_text("name,income\nAnne Rare,123456\nBob Rare,99\n", encoding="utf-8")
    kept = json.dumps(remember.to_json(frame.load_table(tmp_path / "data.csv").layout))
    assert not any(secret in kept for secret in ("Anne", "Bob", "123456", "99"))


GOOD = {"tabveil_layout": 2, "csv": None, "columns": []}


def damaged():
    place = ColumnLayout(label="a", kind=Kind.MOMENT, type=pa.date32(), plain=pa.date32())
    whole = remember.to_json(Layout(library=Library.FILE, columns={"a": place}))
    moment = {"date": "DD.MM.YYYY", "separator": "T", "short_hour": False}
    whole["columns"][0]["form"]["moment"] = {**moment, "seconds": True, "digits": 0, "zone": "Z"}
    assert remember.from_json(whole).columns["a"].form.moment.zone == "Z"
    changes = {
        ("kind",): "feelings",
        ("type",): "imaginary",
        ("plain",): {"decimal": 7, "digits": 1, "decimals": 0},
        ("step",): "long",
        ("form",): None,
        ("form", "digits"): "many",
        ("form", "words"): ["one"],
        ("form", "moment"): {"separator": "T"},
        ("form", "moment", "zone"): "+xx:yy",
        ("form", "moment", "date"): "DD.MM.YYYZ",
        ("form", "number", "mark"): ";",
        ("form", "number", "group"): ".",
        ("form", "number", "before"): "5 ",
        ("form", "number", "after"): "\n",
    }
    for path, value in (*changes.items(), (("form", "moment", "date"), "")):
        broken = copy.deepcopy(whole)
        spot = broken["columns"][0]
        for key in path[:-1]:
            spot = spot[key]
        spot[path[-1]] = value
        yield pytest.param(broken, id=".".join(path))
    for key, value in {"csv": {"delimiter": "x", "encoding": "utf-8"}, "columns": 3}.items():
        yield pytest.param({**whole, key: value}, id=key)
    yield pytest.param({**whole, "csv": {"delimiter": ",", "encoding": "klingon"}}, id="encoding")
    yield from (pytest.param(item, id=repr(item)) for item in ({}, [], None, 7, "text"))


@pytest.mark.parametrize("broken", list(damaged()))
def test_a_damaged_layout_is_refused(broken):
    with pytest.raises(ParameterError, match="cannot be read; fit the model again"):
        remember.from_json(broken)


def test_a_layout_of_another_version_is_refused():
    with pytest.raises(ParameterError, match="another version"):
        remember.from_json({**GOOD, "tabveil_layout": 1})
