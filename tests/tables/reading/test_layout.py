"""Native to Table and back: the same kind, columns, types, values and gaps, whatever came in."""

import datetime as dt
import decimal
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal
from polars.testing import assert_frame_equal as assert_polars_equal
from supplies.arrow_tables import MOMENTS, arrow_tables

from tabveil.tables import reading as frame
from tabveil.tables.reading import csvfile

FEW = settings(max_examples=120, deadline=None)


def there_and_back(data):
    loaded = frame.load_table(data)
    return frame.to_native(loaded.table, loaded.layout)


def assert_close(back, table):
    """Equal to the last bit but for floats, which may lose noise below a billionth."""
    assert back.schema.equals(table.schema)
    for name in table.column_names:
        ours, theirs = back.column(name), table.column(name)
        if pa.types.is_floating(theirs.type):
            both = zip(ours.to_pylist(), theirs.to_pylist(), strict=True)
            for a, b in both:
                assert (a is None and b is None) or math.isclose(a, b, rel_tol=1e-9), name
        else:
            assert ours.equals(theirs), name


@FEW
@given(arrow_tables())
def test_arrow(table):
    assert_close(there_and_back(table), table)


@FEW
@given(arrow_tables())
def test_polars(table):
    came = pl.from_arrow(table)
    assert_polars_equal(there_and_back(came), came, rel_tol=1e-9, abs_tol=0)


@FEW
@given(arrow_tables(), st.booleans())
def test_pandas(table, modern):
    came = table.to_pandas(types_mapper=pd.ArrowDtype if modern else None)
    assert_frame_equal(there_and_back(came), came, rtol=1e-9, atol=0)


@FEW
@given(arrow_tables())
def test_parquet(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    came = pq.read_table(pa.BufferReader(sink.getvalue()))
    assert_close(there_and_back(came), came)


ISO = st.sampled_from(
    ["%Y-%m-%d", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S.%f", "%Y-%m-%dT%H:%MZ"]
)
DATED = st.sampled_from(
    [
        *(
            "%d.%m.%Y",
            "%d/%m/%Y %H:%M",
            "%m/%d/%Y",
            "%m/%d/%Y %H:%M:%S",
            "%d-%b-%Y",
            "%d%b%Y",
            "%Y%m%d",
            "%Y/%m/%d",
        ),
        *("%-d.%-m.%Y", "%-m/%-d/%Y %-H:%M", "%-d %b %Y", "%H:%M", "%-H:%M:%S", "%H:%M:%S.%f"),
    ]
)
WORDS = st.sampled_from(["Ann", "NA", 'say "no"', "a,b", "two\nlines", "00123", " left", "ü", "?"])


@st.composite
def csv_columns(draw, n):
    kind = draw(st.sampled_from(["integer", "real", "fixed", "formed", "flag", "iso", "dated", "word"]))
    match kind:
        case "integer":
            written = draw(st.lists(st.integers(-(10**20), 10**20).map(str), min_size=n, max_size=n))
        case "real":
            numbers = st.integers(-(10**6), 10**6).map(lambda x: repr(x / 8))
            written = draw(st.lists(numbers, min_size=n, max_size=n))
        case "fixed":
            digits = draw(st.integers(1, 12))
            numbers = st.integers(-(10**12), 10**12).map(lambda x: f"{x / 10**digits:.{digits}f}")
            written = draw(st.lists(numbers, min_size=n, max_size=n))
        case "formed":
            form = draw(
                st.sampled_from(["{:,.2f}", "{:,.0f}", "$ {:,.1f}", "{:.3f} %", "{:,.2f} EUR", "{:.2f}€"])
            )
            marks = draw(st.sampled_from([{}, {",": ".", ".": ","}, {",": " "}, {",": "'"}]))
            numbers = st.integers(0, 10**8).map(
                lambda x: form.format(x / 1000).translate(str.maketrans(marks))
            )
            written = draw(st.lists(numbers, min_size=n, max_size=n))
        case "flag":
            pair = draw(st.sampled_from([("true", "false"), ("TRUE", "FALSE"), ("True", "False")]))
            written = draw(st.lists(st.sampled_from(pair), min_size=n, max_size=n))
        case "iso":
            pattern = draw(ISO)
            written = [moment.strftime(pattern) for moment in draw(st.lists(MOMENTS, min_size=n, max_size=n))]
        case "dated":
            pattern = draw(DATED)
            written = [moment.strftime(pattern) for moment in draw(st.lists(MOMENTS, min_size=n, max_size=n))]
        case _:
            written = draw(st.lists(WORDS, min_size=n, max_size=n))
    gaps = draw(st.lists(st.sampled_from([False, False, True]), min_size=n, max_size=n))
    return ["" if gap else cell for cell, gap in zip(written, gaps, strict=True)]


@FEW
@given(st.data(), st.sampled_from(",;\t|"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]))
def test_csv_text_is_the_same_to_the_letter(tmp_path_factory, data, delimiter, encoding):
    n = data.draw(st.integers(1, 8))
    made = data.draw(st.lists(csv_columns(n), min_size=2, max_size=5))
    folder = tmp_path_factory.mktemp("csv")
    came = pa.table({f"column {i}": column for i, column in enumerate(made)})
    text = csvfile.compose(came, csvfile.CsvForm(delimiter=delimiter, encoding=encoding))
    (folder / "in.csv").write_bytes(text)
    loaded = frame.load_table(folder / "in.csv")
    frame.write(loaded.table, loaded.layout, folder / "out.csv")
    assert (folder / "out.csv").read_bytes().decode(encoding) == text.decode(encoding)


PANDAS = {
    "int8": pd.Series([1, 2, 3], dtype="int8"),
    "uint32": pd.Series([1, 2, 3], dtype="uint32"),
    "nullable": pd.Series([1, None, 3], dtype="Int64"),
    "large": pd.Series([2**60 + 1, None, -5], dtype="Int64"),
    "float32": pd.Series([0.1, np.nan, 3], dtype="float32"),
    "Float64": pd.Series([0.1, None, 3], dtype="Float64"),
    "bool": pd.Series([True, False, True]),
    "boolean": pd.Series([True, None, True], dtype="boolean"),
    "bool with None": pd.Series([True, None, False], dtype=object),
    "string": pd.Series(["a", None, "b"], dtype="string"),
    "str": pd.Series(["a", None, "b"]),
    "object None": pd.Series(["a", None, "b"], dtype=object),
    "object NaN": pd.Series(["a", np.nan, "b"], dtype=object),
    "object int": pd.Series([1, None, 3], dtype=object),
    "all None": pd.Series([None, None, None], dtype=object),
    "all NaN": pd.Series([np.nan, np.nan, np.nan]),
    "dates": pd.Series([dt.date(2020, 1, 1), None, dt.date(1600, 2, 29)]),
    "Decimals": pd.Series([decimal.Decimal("1.10"), None, decimal.Decimal("-7.25")]),
    "times": pd.Series([dt.time(1, 2, 3), None, dt.time(23, 59)]),
    "ns": pd.Series(
        pd.to_datetime(["2020-01-01 00:00:00", None, "2021-05-05 10:11:12"]).astype("datetime64[ns]")
    ),
    "s": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-05-05"]).astype("datetime64[s]")),
    "zoned": pd.Series(pd.to_datetime(["2020-01-01", None, "2021-07-05"]).tz_localize("America/New_York")),
    "timedelta": pd.Series(pd.to_timedelta(["1 day", None, "3 min"])),
    "category": pd.Series(pd.Categorical(["b", None, "a"], categories=["b", "a", "unused"])),
    "ordered": pd.Series(pd.Categorical(["lo", "hi", "lo"], categories=["lo", "mid", "hi"], ordered=True)),
    "int category": pd.Series(pd.Categorical([3, 1, None], categories=[3, 2, 1])),
    "float category": pd.Series(pd.Categorical([0.5, 1.0, None])),
    "bool category": pd.Series(pd.Categorical([True, False, None])),
    "date category": pd.Series(pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", None]))),
    "iso text": pd.Series(["2024-03-01T12:30", None, "1999-01-01T00:00"]),
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_types(name):
    came = pd.DataFrame({name: PANDAS[name]}, index=[7, 7, 9])
    came[name] = PANDAS[name].array
    assert_frame_equal(there_and_back(came), came.reset_index(drop=True))


def test_all_pandas_types_at_once_and_numbers_as_names():
    came = pd.DataFrame(dict(enumerate(PANDAS.values())))
    assert_frame_equal(there_and_back(came), came)
    assert list(there_and_back(came).columns) == list(range(len(PANDAS)))


POLARS = {
    "categorical": pl.Series(["b", None, "a"], dtype=pl.Categorical),
    "enum": pl.Series(["b", None, "a"], dtype=pl.Enum(["b", "unused", "a"])),
    "date": pl.Series([dt.date(2020, 1, 1), None, dt.date(1, 1, 1)]),
    "ms": pl.Series([0, None, 1], dtype=pl.Datetime("ms")),
    "zoned": pl.Series([0, None, 10**15], dtype=pl.Datetime("us", "Asia/Tokyo")),
    "time": pl.Series([dt.time(1, 2), None, dt.time(3)]),
    "duration": pl.Series([dt.timedelta(1), None, dt.timedelta(0, 5)]),
    "decimal": pl.Series([decimal.Decimal("1.5"), None, decimal.Decimal(2)]),
    "uint8": pl.Series([1, None, 255], dtype=pl.UInt8),
    "null": pl.Series([None, None, None]),
    "bool": pl.Series([True, None, False]),
}


@pytest.mark.parametrize("name", POLARS)
def test_polars_types(name):
    came = pl.DataFrame({name: POLARS[name]})
    assert_polars_equal(there_and_back(came), came)


def test_a_lazy_frame_is_collected():
    assert_polars_equal(there_and_back(pl.LazyFrame({"a": [1, 2]})), pl.DataFrame({"a": [1, 2]}))


def test_arrow_dictionaries_and_chunks():
    first = pa.array(["x", "y", None]).dictionary_encode()
    second = pa.array(["z", "x"]).dictionary_encode()
    came = pa.table({"a": pa.chunked_array([first, second]), "b": pa.chunked_array([[1, 2], [3, 4, 5]])})
    back = there_and_back(came)
    assert back.schema.equals(came.schema)
    assert back.to_pydict() == came.to_pydict()


def test_synthetic_rows_leave_in_trains_clothes():
    train = pd.DataFrame(
        {
            "grade": pd.Categorical(["lo", "hi"], categories=["lo", "hi"], ordered=True),
            "n": [1, 2],
            "day": pd.to_datetime(["2020-01-01", "2020-01-02"]),
        }
    )
    synthetic = pl.DataFrame({"grade": ["new", "lo"], "n": [None, 5], "day": [dt.date(2020, 1, 5), None]})
    loaded = frame.load_split(train, synthetic)
    back = frame.to_native(loaded.split.synthetic, loaded.layout)
    assert back["grade"].tolist() == ["new", "lo"]
    assert list(back["grade"].cat.categories) == ["lo", "hi", "new"]
    assert back["n"].dtype == "Int64"
    assert back["n"].isna().tolist() == [True, False]
    assert back["day"].dtype == train["day"].dtype
    assert_frame_equal(frame.to_native(loaded.split.train, loaded.layout), train)


def test_fractions_from_another_table_are_not_cut_off():
    loaded = frame.load_split(pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"n": [1.5, 2.0]}))
    assert frame.to_native(loaded.split.synthetic, loaded.layout)["n"].tolist() == [1.5, 2.0]
    assert frame.to_native(loaded.split.train, loaded.layout)["n"].dtype == "int64"
