"""The joint load: what the three tables must share, what is noted, what identifies them."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import yaml

from tabveil.core.table import Categorical, Numeric
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables import reading as frame
from tabveil.tables.reading import csvfile

PEOPLE = pd.DataFrame({"age": [30, 40, 50], "sex": ["f", "m", None], "bmi": [20.5, np.nan, 31.0]})


def write_as(data, path):
    table = pa.Table.from_pandas(data, preserve_index=False)
    match path.name.split(".", 1)[1]:
        case "parquet" | "pq":
            pq.write_table(table, path)
        case "feather":
            pyarrow.feather.write_feather(table, path)
        case "arrow" | "ipc":
            with pa.ipc.new_stream(path, table.schema) as writer:
                writer.write_table(table)
        case kind:
            data.to_csv(path, index=False, sep="\t" if "tsv" in kind else ",")
    return path


SUFFIXES = ["csv", "tsv", "txt", "csv.gz", "tsv.gz", "parquet", "pq", "feather", "arrow", "ipc", "CSV"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_every_kind_of_file_and_back(suffix, tmp_path):
    path = write_as(PEOPLE, tmp_path / f"in.{suffix}")
    loaded = frame.load_table(str(path))
    expected = frame.load_table(PEOPLE).table
    assert loaded.table.schema == expected.schema
    np.testing.assert_array_equal(loaded.table.values, expected.values)
    assert loaded.input.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    frame.write(loaded.table, loaded.layout, tmp_path / f"out.{suffix}")
    again = frame.load_table(tmp_path / f"out.{suffix}")
    np.testing.assert_array_equal(again.table.values, expected.values)
    assert again.table.schema == expected.schema
    assert sorted(item.name for item in tmp_path.iterdir()) == sorted([f"in.{suffix}", f"out.{suffix}"])


def test_a_dataframe_can_be_written_to_any_file(tmp_path):
    loaded = frame.load_table(PEOPLE)
    frame.write(loaded.table, loaded.layout, tmp_path / "people.csv")
    assert (tmp_path / "people.csv").read_text() == "age,sex,bmi\n30,f,20.5\n40,m,\n50,,31\n"
    frame.write(loaded.table, loaded.layout, tmp_path / "people.parquet")
    assert pq.read_table(tmp_path / "people.parquet").column("age").type == pa.int64()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    loaded = frame.load_table(PEOPLE)
    (tmp_path / "people.csv").write_text("old")

    def half_a_file(path, data):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", half_a_file)
    with pytest.raises(ParameterError, match="No space left"):
        frame.write(loaded.table, loaded.layout, tmp_path / "people.csv")
    assert [item.name for item in tmp_path.iterdir()] == ["people.csv"]
    assert (tmp_path / "people.csv").read_text() == "old"


def test_writing_where_there_is_no_folder(tmp_path):
    loaded = frame.load_table(PEOPLE)
    with pytest.raises(ParameterError, match="cannot write"):
        frame.write(loaded.table, loaded.layout, tmp_path / "nowhere" / "people.csv")


def test_columns_come_in_any_order_and_leave_in_trains():
    split = frame.load_split(PEOPLE, PEOPLE[["bmi", "age", "sex"]]).split
    assert split.schema.names == ("age", "sex", "bmi")
    np.testing.assert_array_equal(split.train.values, split.synthetic.values)


def test_no_control_and_an_empty_control_are_alike():
    without = frame.load_split(PEOPLE, PEOPLE)
    assert len(without.split.control) == 0
    assert set(without.inputs) == {"train", "synthetic"}
    for empty in (PEOPLE.iloc[:0], pd.DataFrame(), pl.DataFrame()):
        loaded = frame.load_split(PEOPLE, PEOPLE, empty)
        assert len(loaded.split.control) == 0
        assert loaded.inputs["control"].rows == 0
        assert loaded.split.schema == without.split.schema


@pytest.mark.parametrize("data", [[1, 2], {"a": [1]}, None, 3, np.ones((2, 2))])
def test_what_is_no_table_is_refused(data):
    with pytest.raises(ParameterError, match="train: expected a path or a pandas, polars or Arrow table"):
        frame.load_split(data, PEOPLE)


def test_names_that_are_numbers_come_back_as_numbers():
    loaded = frame.load_split(pd.DataFrame({1: [1], 0: ["a"]}), pd.DataFrame({"0": ["b"], "1": [2]}))
    assert loaded.split.schema.names == ("1", "0")
    assert list(frame.to_native(loaded.split.synthetic, loaded.layout).columns) == [1, 0]
    with pytest.raises(SchemaError, match="same name: 1"):
        frame.load_table(pd.DataFrame([[1, 2]], columns=[1, "1"]))


def test_a_selection_of_columns_can_leave():
    loaded = frame.load_table(PEOPLE)
    assert list(frame.to_native(loaded.table.select(["bmi", "age"]), loaded.layout).columns) == ["bmi", "age"]


@pytest.mark.parametrize(
    "convert", [lambda x: x, pl.from_pandas, pa.Table.from_pandas], ids=["pd", "pl", "pa"]
)
def test_inputs_are_never_modified(convert):
    made = pd.DataFrame({"a": [3.0, -0.0, np.nan, 1.1], "b": ["x", "?", None, "y"], "c": [1, 2, 3, 4]})
    made["d"] = pd.Categorical(["u", "v", "u", None])
    data, twin = convert(made.copy(deep=True)), convert(made.copy(deep=True))
    loaded = frame.load_split(data, data, data, missing=["?"], schema={"columns": {"c": "category"}})
    frame.to_native(loaded.split.train, loaded.layout)
    assert data.equals(twin)


def test_the_digest_is_of_the_content_not_of_the_library():
    frames = [
        PEOPLE,
        pl.from_pandas(PEOPLE),
        pa.Table.from_pandas(PEOPLE),
        PEOPLE.astype({"sex": "category"}),
    ]
    frames += [PEOPLE.convert_dtypes(), PEOPLE.set_index(pd.Index([9, 9, 9])), PEOPLE[["sex", "bmi", "age"]]]
    assert len({frame.load_table(data).input.sha256 for data in frames}) == 1
    others = [PEOPLE.assign(age=[30, 40, 51]), PEOPLE.rename(columns={"age": "Age"}), PEOPLE.iloc[::-1]]
    others += [PEOPLE.assign(sex=["f", "x", None]), PEOPLE.assign(sex=["m", "f", None])]
    assert len({frame.load_table(data).input.sha256 for data in [PEOPLE, *others]}) == 6
    loaded = frame.load_split(PEOPLE, PEOPLE.assign(sex="other", age=0.5))
    assert loaded.inputs["train"] == frame.load_table(PEOPLE).input


def test_identifiers_are_named_and_dropped_only_on_request():
    data = pd.DataFrame(
        {
            "number": range(100, 120),
            "name": [f"N{i}" for i in range(20)],
            "born": pd.date_range("1990-01-01", periods=20),
            "weight": np.linspace(50, 90.5, 20),
            "sex": ["f", "m"] * 10,
        }
    )
    loaded = frame.load_split(data, data)
    assert loaded.split.schema.names == tuple(data.columns)
    assert [note for note in loaded.notes if "number, name:" in note]
    assert loaded.hardly_shared == ("number", "name")
    dropped = frame.load_split(data, data, drop_identifiers=True)
    assert dropped.split.schema.names == ("born", "weight", "sex")
    assert dropped.hardly_shared == ()
    assert [(item.name, item.reason) for item in dropped.dropped] == [
        ("number", "identifier"),
        ("name", "identifier"),
    ]
    assert (loaded.dropped, dropped.notes) == ((), ())
    assert dropped.inputs["train"].columns == 5
    assert list(frame.to_native(dropped.split.train, dropped.layout).columns) == ["born", "weight", "sex"]
    assert frame.load_split(data.head(19), data).notes == ()  # too few rows to tell
    with pytest.raises(SchemaError, match="No columns are left"):
        frame.load_split(data[["name"]], data[["name"]], drop_identifiers=True)


def test_the_index_that_pandas_writes_is_left_out(tmp_path):
    PEOPLE.to_csv(tmp_path / "a.csv")
    PEOPLE.set_index(pd.Index([5, 7, 8])).to_parquet(tmp_path / "a.parquet")
    for name in ("a.csv", "a.parquet"):
        loaded = frame.load_table(tmp_path / name)
        assert loaded.table.schema.names == ("age", "sex", "bmi")
        assert "row-number" in loaded.notes[0]


def test_labels_that_never_meet_are_noted():
    loaded = frame.load_split(pd.DataFrame({"x": ["a", "b"]}), pd.DataFrame({"x": [" a", " b"]}))
    assert loaded.notes == ("Column 'x': no label of synthetic occurs in train; check spelling and spaces.",)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encodings_and_delimiters_are_found_out(encoding, delimiter, tmp_path):
    text = f'Größe{delimiter}"a{delimiter}b"\r\n1{delimiter}"é ""x""\nnew line"\r\n\r\n2{delimiter}\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode(encoding))
    loaded = frame.load_table(tmp_path / "a.csv")
    assert loaded.table.schema.names == ("Größe", f"a{delimiter}b")
    assert loaded.table.schema.columns[1].labels == ('é "x"\nnew line',)
    assert [note for note in loaded.notes if encoding in note] or encoding.startswith("utf-8")
    assert loaded.layout.csv == csvfile.CsvForm(delimiter=delimiter, encoding=encoding)


@pytest.mark.parametrize(("delimiter", "found"), [(";", ";"), (",", ","), ("|", "|"), ("\t", "\t")])
def test_a_name_that_promises_tabs_may_be_wrong(delimiter, found, tmp_path):
    """Cells are told apart as they are written; what is written to such a name then has tabs."""
    (tmp_path / "a.tsv").write_text(f"n{delimiter}x\n1{delimiter}a\n2{delimiter}b\n")
    loaded = frame.load_table(tmp_path / "a.tsv")
    assert loaded.table.schema.names == ("n", "x")
    assert loaded.layout.csv.delimiter == found
    frame.write(loaded.table, loaded.layout, tmp_path / "b.tsv")
    assert (tmp_path / "b.tsv").read_text() == "n\tx\n1\ta\n2\tb\n"


def test_tabs_come_first_where_a_name_promises_them(tmp_path):
    (tmp_path / "a.tsv").write_text("n;m;k\tx\n1;2;3\ta\n")
    assert frame.load_table(tmp_path / "a.tsv").table.schema.names == ("n;m;k", "x")
    (tmp_path / "b.tsv").write_text("one\nx\n")
    assert frame.load_table(tmp_path / "b.tsv").layout.csv.delimiter == "\t"


def test_headers_may_be_years(tmp_path):
    (tmp_path / "a.csv").write_text("2019,2020,2021\n1,2,3\n")
    assert frame.load_table(tmp_path / "a.csv").table.schema.names == ("2019", "2020", "2021")


def test_raw_rows_are_verbatim(tmp_path):
    text = 'id;note\n007;"a;b"\n?;\nNA; x \n'
    (tmp_path / "a.csv").write_bytes(text.encode("utf-16"))
    raw = frame.read_raw(tmp_path / "a.csv")
    assert raw.to_pydict() == {"id": ["007", "?", "NA"], "note": ["a;b", "", " x "]}
    frame.write_raw(raw, tmp_path / "b.csv", like=tmp_path / "a.csv")
    assert (tmp_path / "b.csv").read_bytes().decode("utf-16") == text
    frame.write_raw(raw.slice(1, 1), tmp_path / "c.csv")
    assert (tmp_path / "c.csv").read_text() == "id,note\n?,\n"
    write_as(PEOPLE, tmp_path / "p.parquet")
    typed = frame.read_raw(tmp_path / "p.parquet")
    frame.write_raw(typed, tmp_path / "q.parquet", like=tmp_path / "p.parquet")
    assert frame.read_raw(tmp_path / "q.parquet").equals(typed)


def test_a_column_of_blanks_is_no_empty_file(tmp_path):
    blanks = pa.table({" ": [" ", "", "\t"]})
    frame.write_raw(blanks, tmp_path / "a.csv")
    assert frame.read_raw(tmp_path / "a.csv").equals(blanks.cast(pa.schema({" ": pa.large_string()})))


SCHEMA = {
    "missing": ["?"],
    "drop": ["id"],
    "columns": {"ward": "category", "grade": {"type": "ordered category", "labels": ["low", 2, "high"]}},
}


@pytest.mark.parametrize("form", ["mapping", "yaml", "json"])
def test_the_schema_overrides_what_is_inferred(form, tmp_path):
    data = pd.DataFrame({"id": [1, 2, 3], "ward": [12, 3, 12], "grade": ["high", "?", "2"]})
    schema = SCHEMA
    if form != "mapping":
        schema = tmp_path / f"schema.{form}"
        schema.write_text(yaml.safe_dump(SCHEMA) if form == "yaml" else json.dumps(SCHEMA))
    loaded = frame.load_split(data, data.drop(columns="id"), schema=schema)
    assert loaded.split.schema.columns == (
        Categorical(name="ward", labels=("3", "12")),
        Categorical(name="grade", labels=("low", "2", "high"), ordered=True),
    )
    assert loaded.split.train.values[:, 0].tolist() == [1, 0, 1]
    np.testing.assert_array_equal(loaded.split.train.values[:, 1], [2, np.nan, 1])
    assert frame.to_native(loaded.split.train, loaded.layout)["ward"].tolist() == [12, 3, 12]


def test_declared_types_are_kept_to(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("code,flag,day\n007,1,2024-03-01\n008,0,2024-03-02\n")
    schema = {"columns": {"code": "integer", "flag": "boolean", "day": "category"}}
    code, flag, day = frame.load_table(path, schema=schema).table.schema.columns
    assert code == Numeric(name="code", low=7, high=8, decimals=0)
    assert flag.labels == ("False", "True")
    assert day.labels == ("2024-03-01", "2024-03-02")
    with pytest.raises(SchemaError, match="'x' of data: row 2 should hold whole numbers"):
        frame.load_table(pd.DataFrame({"x": [1.0, 2.5]}), schema={"columns": {"x": "integer"}})
    with pytest.raises(SchemaError, match="'x' of data: row 1 should hold a date without a time"):
        frame.load_table(pd.DataFrame({"x": ["2024-03-01T12:00"]}), schema={"columns": {"x": "date"}})
    with pytest.raises(SchemaError, match="'x' of data: rows 1, 2 should hold times of day"):
        frame.load_table(pd.DataFrame({"x": [1, 2]}), schema={"columns": {"x": "time"}})


def every_type():
    data = pd.DataFrame(
        {"n": range(40), "r": np.arange(40) / 8, "b": [True, False] * 20, "c": ["x", "y"] * 20}
    )
    data["rare"] = pd.Categorical(["lo"] * 39 + ["Secret"], ordered=True)
    data["often"] = pd.Categorical(["lo", "hi"] * 20, categories=["lo", "hi"], ordered=True)
    data["day"] = pd.date_range("2020", periods=40).date
    data["moment"] = pd.date_range("2020", periods=40, freq="h")
    data["span"] = pd.to_timedelta(np.arange(40), unit="s")
    data["yes"] = ["2024-03-01"] * 40
    return data


def test_the_described_schema_loads_and_shows_no_rare_value():
    text = frame.describe(every_type(), missing=["?"])
    assert yaml.safe_load(text) == {
        "missing": ["?"],
        "drop": [],
        "csv": {"delimiter": ",", "encoding": "utf-8", "decimal": ".", "missing": ""},
        "columns": {
            "n": "identifier",  # every row has a number of its own
            "r": "real",
            "b": "boolean",
            "c": "category",
            "rare": "ordered category",
            "often": {"type": "ordered category", "labels": ["lo", "hi"]},
            "day": "date",
            "moment": "datetime",
            "span": "duration",
            "yes": "date",
        },
    }
    assert "Secret" not in text
    assert max(len(line) for line in text.splitlines()) <= 110
    described = frame.load_table(every_type(), schema=yaml.safe_load(text))
    plain = frame.load_table(every_type())
    assert described.identifiers == plain.identifiers == ("n",)
    others = [name for name in plain.table.schema.names if name != "n"]
    assert described.table.select(others).schema == plain.table.select(others).schema
    np.testing.assert_array_equal(described.table.select(others).values, plain.table.select(others).values)


@pytest.mark.parametrize(
    "name", ["yes", "1", "null", "a: b", "# x", "é", "'", "2024-01-01", "x" * 200, "two\nlines"]
)
def test_odd_names_survive_the_schema_file(name):
    text = frame.describe(pd.DataFrame({name: [1]}))
    assert list(frame.declare.read(yaml.safe_load(text)).columns) == [name]


def test_an_order_without_labels_is_noted():
    loaded = frame.load_table(pd.DataFrame({"x": ["b", "a"]}), schema={"columns": {"x": "ordered category"}})
    assert loaded.table.schema["x"] == Categorical(name="x", labels=("a", "b"), ordered=True)
    assert "alphabetical" in loaded.notes[0]


VIEWS = pl.DataFrame(
    {
        "name": ["Ann", "Bob", None, "Ann"],
        "ward": pl.Series(["n", "s", "n", None], dtype=pl.Categorical),
        "grade": pl.Series(["lo", "hi", None, "lo"], dtype=pl.Enum(["lo", "mid", "hi"])),
    }
)


def test_what_polars_writes_today_is_read_as_what_it_wrote_before(tmp_path):
    VIEWS.write_ipc(tmp_path / "views.arrow", compat_level=pl.CompatLevel.newest())
    VIEWS.write_ipc(tmp_path / "plain.arrow", compat_level=pl.CompatLevel.oldest())
    assert frame.read_raw(tmp_path / "views.arrow").schema.field("name").type == pa.string_view()
    views, plain = (frame.load_table(tmp_path / f"{name}.arrow") for name in ("views", "plain"))
    assert views.table.schema == plain.table.schema
    np.testing.assert_array_equal(views.table.values, plain.table.values)
    for name in ("out.arrow", "out.parquet", "out.csv"):
        frame.write(views.table, views.layout, tmp_path / name)
        np.testing.assert_array_equal(
            frame.load_table(tmp_path / name).table.column("name"), plain.table.column("name")
        )


@pytest.mark.parametrize("suffix", ["arrow", "parquet"])
def test_rows_are_taken_in_the_types_they_have(suffix, tmp_path):
    VIEWS.write_ipc(tmp_path / "views.arrow", compat_level=pl.CompatLevel.newest())
    came = frame.read_raw(tmp_path / "views.arrow")
    came = came.append_column("photo", pa.array([b"\xff", None, b"", b"x"], pa.binary_view()))
    if suffix == "arrow":
        came = came.append_column("runs", pc.run_end_encode(pa.array([1, 1, 2, None])))
    else:
        came = came.select(["name", "photo"])  # Parquet holds no others
    taken = frame.take_rows(came, np.array([3, 1]))
    frame.write_raw(taken, tmp_path / f"taken.{suffix}")
    again = frame.read_raw(tmp_path / f"taken.{suffix}")
    assert again.schema.types == came.schema.types
    assert again.to_pylist() == [came.to_pylist()[3], came.to_pylist()[1]]


def test_rows_that_cannot_be_taken_are_refused_by_name():
    nested = pa.table({"tags": pa.array([["a"], ["b"]], pa.list_(pa.string_view()))})
    with pytest.raises(SchemaError, match="'tags'"):
        frame.take_rows(nested, np.array([0]))


def test_half_precision_leaves_as_text(tmp_path):
    halves = pa.table({"x": pa.array(np.array([0.5, 2, -3.25], np.float16)), "y": [1, 2, 3]})
    loaded = frame.load_table(halves)
    frame.write(loaded.table, loaded.layout, tmp_path / "halves.csv")
    assert (tmp_path / "halves.csv").read_text() == "x,y\n0.5,1\n2,2\n-3.25,3\n"


def test_half_precision_may_be_categories():
    codes = pa.DictionaryArray.from_arrays(pa.array([1, 0]), pa.array(np.array([0.5, 2], np.float16)))
    assert frame.load_table(pa.table({"x": codes})).table.schema["x"].labels == ("0.5", "2")
    halves = pa.table({"x": codes.dictionary})
    declared = frame.load_table(halves, schema={"columns": {"x": "category"}})
    assert declared.table.schema["x"].labels == ("0.5", "2")


def test_a_dictionary_may_list_nothing_or_a_null():
    entries = pa.array(["b", None, "a"])
    first = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 2]), entries)
    table = pa.table({"x": pa.chunked_array([first, first.slice(3)])})
    loaded = frame.load_table(table)
    assert loaded.table.schema["x"].labels == ("b", "a")
    np.testing.assert_array_equal(loaded.table.column("x"), [0, np.nan, np.nan, 1, 1])


def test_old_line_ends_and_bytes_that_wait_for_more(tmp_path):
    (tmp_path / "mac.csv").write_bytes(b"a,b\r1,x\r2,y\r")
    assert frame.read_raw(tmp_path / "mac.csv").to_pydict() == {"a": ["1", "2"], "b": ["x", "y"]}
    for cell in ("é" * 700_000, "\U0001f600" * 250_000):  # a character lies across two pieces
        for encoding in ("utf-8", "utf-8-sig", "utf-16"):
            (tmp_path / "long.csv").write_bytes(f"aa,b\n1,{cell}\n".encode(encoding))
            assert frame.read_raw(tmp_path / "long.csv")["b"].to_pylist() == [cell]
