"""What is each column? Hand-made tables, one question each."""

import datetime as dt
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tabveil.core.table import Categorical, Numeric, Table
from tabveil.errors import SchemaError
from tabveil.tables import reading as frame

DAY = 86_400


def csv(folder, text, name="data.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def only(data, **options):
    """Return the one column's schema, its cells and the notes."""
    loaded = frame.load_table(data, **options)
    (column,) = loaded.table.schema.columns
    return column, loaded.table.values[:, 0].tolist(), loaded.notes


def text_column(folder, *cells, **options):
    quoted = "".join(f'"{cell}"\n' for cell in cells)
    return only(csv(folder, f"x\n{quoted}"), **options)


def nan_to_none(cells):
    return [None if np.isnan(cell) else cell for cell in cells]


def test_integers(tmp_path):
    column, cells, _ = text_column(tmp_path, "3", "-1", "", "+7")
    assert column == Numeric(name="x", low=-1, high=7, decimals=0)
    assert nan_to_none(cells) == [3, -1, None, 7]


@pytest.mark.parametrize(
    ("values", "decimals"),
    [
        ([1.0, 2.0], 0),
        ([0.1 + 0.2, 0.7], 1),
        ([1.25, 3.0], 2),
        ([0.000001, 1.0], 6),
        ([0.0000001, 1.0], None),
        ([1 / 3], None),
        ([123456789.123], 3),
        ([1e100, 0.5], 1),
    ],
)
def test_decimals_are_the_fewest_that_hold_every_value(values, decimals):
    column, cells, _ = only(pd.DataFrame({"x": values}))
    assert column.decimals == decimals
    assert cells == (values if decimals is None else np.round(values, decimals).tolist())


def test_decimals_and_ranges_are_over_all_tables():
    split = frame.load_split(
        pd.DataFrame({"x": [1.0, 2.0]}), pd.DataFrame({"x": [1.25, 0.0]}), pd.DataFrame({"x": [9.5]})
    ).split
    assert split.schema["x"] == Numeric(name="x", low=0, high=9.5, decimals=2)


def test_a_32_bit_number_equals_its_64_bit_twin():
    split = frame.load_split(
        pd.DataFrame({"x": np.array([0.1, 0.3], "float32")}), pl.DataFrame({"x": [0.1, 0.3]})
    ).split
    assert split.train.values.tolist() == split.synthetic.values.tolist() == [[0.1], [0.3]]


def test_minus_zero_is_zero():
    assert np.signbit(only(pd.DataFrame({"x": [-0.0, 1.5]}))[1]).tolist() == [False, False]


def test_exact_decimals():
    values = [decimal.Decimal("1.10"), None, decimal.Decimal("2.25")]
    column, cells, _ = only(pa.table({"x": values}))
    assert column.decimals == 2
    assert nan_to_none(cells) == [1.1, None, 2.25]


@pytest.mark.parametrize("values", [[2**53 + 1, 5], [-(2**53) - 1, 5], [2**63 + 1, 5]])
def test_numbers_too_long_for_a_float_become_labels_with_a_note(values, tmp_path):
    kind = pa.uint64() if max(values) >= 2**63 else pa.int64()
    for data in (pa.table({"x": pa.array(values, kind)}), csv(tmp_path, f"x\n{values[0]}\n{values[1]}\n")):
        column, _, notes = only(data)
        assert sorted(column.labels) == sorted(str(value) for value in values)
        assert "more digits" in notes[0]


def test_truth_values(tmp_path):
    expected = Categorical(name="x", labels=("False", "True"))
    for data in (
        pd.DataFrame({"x": [True, None, False]}, dtype=object),
        pl.DataFrame({"x": [True, None, False]}),
        csv(tmp_path, 'x\nTRUE\n""\nFALSE\n'),
    ):
        column, cells, _ = only(data)
        assert column == expected
        assert nan_to_none(cells) == [1, None, 0]


def test_truth_values_meet_zero_and_one():
    split = frame.load_split(pd.DataFrame({"x": [True, False]}), pd.DataFrame({"x": [0.0, 1.0]})).split
    assert split.schema["x"].labels == ("False", "True")
    assert split.synthetic.values[:, 0].tolist() == [0, 1]


def test_labels_are_sorted_and_unseen_ones_come_after():
    split = frame.load_split(
        pd.DataFrame({"x": ["b", "c", "b"]}), pl.DataFrame({"x": ["a", "c"]}), pd.DataFrame({"x": ["Z"]})
    ).split
    assert split.schema["x"] == Categorical(name="x", labels=("b", "c", "Z", "a"))
    assert split.synthetic.values[:, 0].tolist() == [3, 1]


@pytest.mark.parametrize("ordered", [True, False])
def test_categories_keep_their_order(ordered):
    kind = pd.CategoricalDtype(["mid", "low", "high"], ordered=ordered)
    column, cells, _ = only(pd.DataFrame({"x": pd.Series(["low", None, "mid"], dtype=kind)}))
    assert column == Categorical(name="x", labels=("mid", "low", "high"), ordered=ordered)
    assert nan_to_none(cells) == [1, None, 0]


def test_polars_categories_hold_no_label_of_another_column():
    data = pl.DataFrame({"a": ["x"], "b": ["y"]}, schema={"a": pl.Categorical, "b": pl.Categorical})
    assert [column.labels for column in frame.load_table(data).table.schema.columns] == [("x",), ("y",)]


def test_categories_of_numbers_meet_plain_numbers():
    split = frame.load_split(
        pd.DataFrame({"x": pd.Categorical([2, 10])}), pd.DataFrame({"x": [10.0, 3.0]})
    ).split
    assert split.schema["x"].labels == ("2", "10", "3")
    assert split.synthetic.values[:, 0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("1970-01-02", "2024-02-29"), [1, 19782]),
        (("1970-01-01T00:01", "1970-01-01 00:00"), [60, 0]),
        (("1970-01-01T00:00:01", "1969-12-31T23:59:59"), [1, -1]),
        (("1970-01-01T00:00:00.5",), [500]),
        (("1970-01-01T00:00:00.000001",), [1]),
        (("1970-01-02T00:00:00",), [1]),
        (("1970-01-01T02:00+01:00", "1970-01-01T00:00Z"), [3600, 0]),
    ],
)
def test_iso_dates_count_in_the_coarsest_exact_unit(cells, expected, tmp_path):
    for data in (csv(tmp_path, "x\n" + "\n".join(cells)), pd.DataFrame({"x": cells})):
        column, values, _ = only(data)
        assert isinstance(column, Numeric)
        assert column.decimals == 0
        assert values == expected


@pytest.mark.parametrize("cell", ["2023-02-29", "2024-13-01", "2024-00-10", "2024-01-01T24:00", "24-01-01"])
def test_what_is_no_date_stays_text(cell, tmp_path):
    assert isinstance(text_column(tmp_path, cell, "2024-01-01")[0], Categorical)


def test_typed_dates_in_every_library():
    days = [dt.date(1970, 1, 3), dt.date(9999, 12, 31)]
    expected = [2, 2932896]
    assert only(pa.table({"x": pa.array(days)}))[1] == expected
    assert only(pl.DataFrame({"x": days}))[1] == expected
    assert only(pd.DataFrame({"x": days}))[1] == expected


def test_typed_dates_meet_text_and_datetimes():
    train = pa.table({"x": pa.array([dt.date(1970, 1, 2)])})
    synthetic = pd.DataFrame({"x": ["1970-01-03"]})
    control = pd.DataFrame({"x": pd.to_datetime(["1970-01-01 12:00"])})
    split = frame.load_split(train, synthetic, control).split
    assert split.train.values[0, 0] == DAY
    assert split.synthetic.values[0, 0] == 2 * DAY
    assert split.control.values[0, 0] == DAY / 2


def test_time_zones_count_from_one_origin():
    train = pd.DataFrame({"x": pd.to_datetime(["1970-01-01 01:00"]).tz_localize("Europe/Berlin")})
    synthetic = pd.DataFrame({"x": pd.to_datetime(["1970-01-01 01:00"]).tz_localize("UTC")})
    split = frame.load_split(train, synthetic).split
    assert (split.train.values[0, 0], split.synthetic.values[0, 0]) == (0, 3600)


def test_nanoseconds_are_rounded_with_a_note():
    column, cells, notes = only(pa.table({"x": pa.array([1001], pa.timestamp("ns"))}))
    assert cells == [1]
    assert "rounded" in notes[0]
    assert column.integer


def test_all_missing():
    assert only(pd.DataFrame({"x": [np.nan, np.nan]}))[0] == Numeric(name="x", low=0, high=0, decimals=0)
    assert only(pd.DataFrame({"x": [None, None]}, dtype=object))[0] == Categorical(name="x", labels=())
    assert only(pl.DataFrame({"x": ["", ""]}), missing=[""])[0] == Categorical(name="x", labels=())


def test_all_missing_in_one_table_takes_the_type_of_the_others():
    split = frame.load_split(pd.DataFrame({"x": [None]}, dtype=object), pd.DataFrame({"x": [2.5]})).split
    assert split.schema["x"] == Numeric(name="x", low=2.5, high=2.5, decimals=1)


def test_constant_and_one_row():
    assert only(pd.DataFrame({"x": [4]}))[0] == Numeric(name="x", low=4, high=4, decimals=0)
    assert only(pd.DataFrame({"x": ["a"]}))[0] == Categorical(name="x", labels=("a",))


@pytest.mark.parametrize("word", ["NA", "NaN", "nan", "null", "NULL", "None", "N/A", "", "  "])
def test_missing_words_among_numbers_and_dates(word, tmp_path):
    assert nan_to_none(text_column(tmp_path, "1", word, "2.5")[1]) == [1, None, 2.5]
    assert nan_to_none(text_column(tmp_path, "1970-01-02", word)[1]) == [1, None]


def test_missing_words_among_text_are_labels_with_a_note(tmp_path):
    column, _, notes = text_column(tmp_path, "Ann", *["NA"] * 10)
    assert column.labels == ("Ann", "NA")
    assert notes == ('"NA" counts as a label in x: if it means missing, say --missing "NA".',)
    assert text_column(tmp_path, "Ann", *["NA"] * 9)[2] == ()  # too rare to be shown


def test_markers_are_missing_and_the_rest_is_looked_at_again(tmp_path):
    column, cells, _ = text_column(tmp_path, "1", "?", "2", missing=["?"])
    assert column == Numeric(name="x", low=1, high=2, decimals=0)
    assert nan_to_none(cells) == [1, None, 2]
    typed = pd.DataFrame({"x": ["a", "?", "b"]})
    assert only(typed, missing=["?"])[0].labels == ("a", "b")
    assert only(typed.astype("category"), missing="?")[0].labels == ("a", "b")


@pytest.mark.parametrize("type_", ["int64", "int8", "float32", "float64"])
def test_a_number_that_means_missing_does_so_in_typed_sources_too(type_):
    column, cells, _ = only(pd.DataFrame({"x": [1, -9, 2]}, dtype=type_), missing=["?", "-9"])
    assert (column.low, column.high) == (1, 2)
    assert nan_to_none(cells) == [1, None, 2]
    assert only(pd.DataFrame({"x": [1, -9, 2]}, dtype=type_), missing="-9.5")[0].low == -9
    short = pd.DataFrame({"x": [1.5, 99.9]}, dtype="float32")
    assert nan_to_none(only(short, missing="99.9")[1]) == [1.5, None]
    exact = pa.table({"x": pa.array([decimal.Decimal("1.5"), decimal.Decimal("-9.0")])})
    assert nan_to_none(only(exact, missing="-9")[1]) == [1.5, None]


def test_a_text_column_of_numbers_stays_text_in_typed_sources():
    assert only(pd.DataFrame({"x": ["1", "2"]}))[0] == Categorical(name="x", labels=("1", "2"))


def test_text_numbers_meet_numbers():
    split = frame.load_split(pd.DataFrame({"x": [1, 2]}), pd.DataFrame({"x": [" 2", "03"]})).split
    assert split.synthetic.values[:, 0].tolist() == [2, 3]


def test_leading_zeros_keep_a_column_text_even_where_a_table_has_none(tmp_path):
    train = csv(tmp_path, "zip\n00123\n45678\n", "train.csv")
    synthetic = csv(tmp_path, "zip\n45678\n99999\n", "synthetic.csv")
    for pair in ((train, synthetic), (synthetic, train)):
        assert isinstance(frame.load_split(*pair).split.schema["zip"], Categorical)


def test_codes_that_happen_to_be_digits_in_another_file_stay_codes(tmp_path):
    codes = "".join(f"V{i}\n{i}\n" for i in range(20))
    train = csv(tmp_path, f"code\n{codes}", "train.csv")
    synthetic = csv(tmp_path, "code\n3\n4\n", "synthetic.csv")
    split = frame.load_split(train, synthetic).split
    column = split.schema["code"]
    assert [column.labels[int(code)] for code in split.synthetic.values[:, 0]] == ["3", "4"]


def test_offending_text_is_shown_only_if_ten_rows_share_it():
    train = pd.DataFrame({"x": range(20)})
    with pytest.raises(SchemaError, match="rows 1, 2, 3 and 6 more") as caught:
        frame.load_split(train, pd.DataFrame({"x": ["rare"] * 9 + ["1"]}))
    assert "rare" not in str(caught.value)
    with pytest.raises(SchemaError, match='10 rows hold "often"'):
        frame.load_split(train, pd.DataFrame({"x": ["often"] * 10 + ["1"]}))


@pytest.mark.parametrize(
    "values",
    [[1, "a"], [dt.date(2020, 1, 1), "a"], [b"x", b"y"], [{"a": 1}], [[1]], [object()], [1j], ["\ud800"]],
)
def test_columns_of_odd_python_objects_are_refused_by_name(values):
    with pytest.raises(SchemaError, match="'mess' of data") as caught:
        frame.load_table(pd.DataFrame({"mess": pd.Series(values, dtype=object)}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["period[M]", "Sparse[int64]", "interval"])
def test_exotic_pandas_types_are_refused_by_name(kind):
    values = pd.interval_range(0, 2) if kind == "interval" else pd.Series([1, 2])
    values = pd.period_range("2020", periods=2, freq="M") if kind.startswith("period") else values
    with pytest.raises(SchemaError, match="'odd' of data"):
        frame.load_table(pd.DataFrame({"odd": pd.Series(values, dtype=None if kind == "interval" else kind)}))


def test_decimal_comma_where_the_comma_is_free(tmp_path):
    path = csv(tmp_path, "x;y\n3,14;1\n2,50;2\n")
    loaded = frame.load_table(path)
    assert loaded.table.values[:, 0].tolist() == [3.14, 2.5]
    frame.write(loaded.table, loaded.layout, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == path.read_text()


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_moments_of_all_calendars_are_read_right(unit):
    ends = [dt.date.min, dt.date.max]
    loaded = frame.load_table(pa.table({"seen": pa.array(ends).cast(pa.timestamp(unit))}))
    assert loaded.table.column("seen").tolist() == [(day - dt.date(1970, 1, 1)).days for day in ends]
    back = frame.to_native(loaded.table, loaded.layout)["seen"]
    assert back.type == pa.timestamp(unit)
    assert back.cast(pa.date32()).to_pylist() == ends


def test_a_column_of_nanoseconds_may_be_declared_to_reach_beyond_them():
    came = pa.table({"seen": pa.array([dt.date(1980, 1, 1)]).cast(pa.timestamp("ns"))})
    bounds = {"type": "date", "low": dt.date(1000, 1, 1), "high": dt.date(2999, 12, 31)}
    loaded = frame.load_table(came, schema={"columns": {"seen": bounds}})
    column = loaded.table.schema["seen"]
    late = Table(schema=loaded.table.schema, values=np.array([[column.low], [column.high]]))
    written = frame.to_native(late, loaded.layout)["seen"]
    assert written.cast(pa.date32()).to_pylist() == [bounds["low"], bounds["high"]]


def test_text_before_the_first_year_is_no_date(tmp_path):
    for cell in ("0000-01-01", "0001-01-01T00:00+05:00"):
        (tmp_path / "old.csv").write_text(f"seen,x\n{cell},1\n")
        assert isinstance(frame.load_table(tmp_path / "old.csv").table.schema["seen"], Categorical)


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Tokyo", "+05:30"])
@pytest.mark.parametrize("end", [-62_135_596_800_000_000, 253_402_300_799_999_999])
def test_the_ends_of_the_calendar_in_all_zones(zone, end):
    """Read and shown, or refused where a local clock might show year 0 or 10000."""
    table = pa.table({"seen": pa.array([end, 0], pa.timestamp("us", zone))})
    if zone != "UTC":
        with pytest.raises(
            SchemaError, match="'seen' of data: row 1 should hold a date of the years 1 to 9999"
        ):
            frame.load_table(table)
        day = 86_400_000_000
        table = pa.table(
            {"seen": pa.array([end + day if end < 0 else end - day, 0], pa.timestamp("us", zone))}
        )
    loaded = frame.load_table(table)
    assert len(frame.cells_as_text(loaded.table, loaded.layout)[1]) == 2


@pytest.mark.parametrize("as_text", [False, True])
def test_the_last_microsecond_stays_in_its_year(as_text, tmp_path):
    seen = pa.array([253_402_300_799_999_999, 0], pa.timestamp("us"))
    loaded = frame.load_table(pa.table({"seen": seen.cast(pa.string()) if as_text else seen}))
    assert "rounded" in loaded.notes[0]
    frame.write(loaded.table, loaded.layout, tmp_path / "seen.csv")
    assert (tmp_path / "seen.csv").read_text().splitlines()[1].startswith("9999-12-31")
