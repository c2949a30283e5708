"""Spreadsheets: the first sheet, typed as it says, and nothing that a hostile one could do."""

import datetime as dt
import io
import sys
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from supplies.needs import need_calamine
from supplies.workbooks import Cell, error, number, rows, text, workbook
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.core.table import Categorical, Numeric
from tabveil.errors import ParameterError, SchemaError
from tabveil.tables import reading as frame

SECRET = "Zyxwvut"
PEOPLE = rows(
    ["age", "kg", "born", "seen", "at", "away", "sick", "city"],
    *[
        [
            30 + i,
            number(60.25 + i),
            number(30_000 + i, "date"),
            number(45_000.5 + i, "datetime"),
            number(0.25, "time"),
            number(1.5, "hours"),
            i % 2 == 0,
            "AB"[i % 2],
        ]
        for i in range(4)
    ],
    [None, error(), None, number(45_010, "datetime"), None, None, None, "A"],
)


@pytest.fixture(autouse=True)
def calamine():
    need_calamine()


def put(folder, data, name="data.xlsx"):
    (folder / name).write_bytes(data)
    return folder / name


def load(folder, *lines, **options):
    return frame.load_table(put(folder, workbook(rows(*lines))), **options)


def refused(folder, data, kind=SchemaError):
    with pytest.raises(kind) as caught:
        frame.load_table(put(folder, data))
    assert "\n" not in str(caught.value)
    assert SECRET not in str(caught.value)
    return str(caught.value)


def test_numbers_dates_and_times_have_the_types_of_the_sheet(tmp_path):
    raw = frame.read_raw(put(tmp_path, workbook(PEOPLE)))
    assert [str(kind) for kind in raw.schema.types] == [
        *(
            "int64",
            "double",
            "date32[day]",
            "timestamp[us]",
            "time64[us]",
            "duration[us]",
            "bool",
            "large_string",
        )
    ]
    assert raw.slice(0, 1).to_pylist() == [
        {
            "age": 30,
            "kg": 60.25,
            "born": dt.date(1982, 2, 18),
            "seen": dt.datetime(2023, 3, 15, 12),  # noqa: DTZ001 - sheets know no zones
            "at": dt.time(6),
            "away": dt.timedelta(days=1.5),
            "sick": True,
            "city": "A",
        }
    ]
    assert [cell for cell in raw.slice(4).to_pylist()[0].values() if cell is not None] == [
        dt.datetime(2023, 3, 25),  # noqa: DTZ001
        "A",
    ]


def test_a_sheet_and_a_text_file_are_one_table(tmp_path):
    sheet = frame.load_table(put(tmp_path, workbook(PEOPLE)))
    frame.write(sheet.table, sheet.layout, tmp_path / "data.csv")
    frame.write(sheet.table, sheet.layout, tmp_path / "data.parquet")
    typed = frame.load_table(tmp_path / "data.parquet")
    np.testing.assert_array_equal(typed.table.values, sheet.table.values)
    assert typed.table.schema == sheet.table.schema
    without = sheet.table.select([name for name in sheet.table.schema.names if name != "away"])
    frame.write(without, sheet.layout, tmp_path / "data.csv")  # text has no durations
    read = frame.load_table(tmp_path / "data.csv")
    assert read.table.schema.names == without.schema.names
    np.testing.assert_array_equal(read.table.column("seen"), without.column("seen"))


def test_numbers_kept_as_text_are_read_as_in_a_text_file(tmp_path):
    loaded = load(tmp_path, ["cost", "code"], ["1.324,85 €", "007"], ["2,00 €", "008"])
    cost, code = loaded.table.schema.columns
    assert cost == Numeric(name="cost", low=2, high=1324.85, decimals=2)
    assert code == Categorical(name="code", labels=("007", "008"))


def test_a_column_of_several_kinds_is_text_that_is_looked_at(tmp_path):
    loaded = load(tmp_path, ["n", "x"], [1, 1], ["NA", "a"], [2.5, number(30_000, "date")])
    np.testing.assert_array_equal(loaded.table.column("n"), [1, np.nan, 2.5])
    assert loaded.table.schema["x"].labels == ("1", "1982-02-18", "a")


def test_empty_rows_and_columns_around_a_table_are_none_of_it(tmp_path):
    lines = [[None] * 4, [None, "a", "b", None], [None, 1, 2, None], [None] * 4, [None, 3, 4, None]]
    assert load(tmp_path, *lines).table.values.tolist() == [[1, 2], [3, 4]]


def test_an_index_that_pandas_wrote_is_left_out(tmp_path):
    loaded = load(tmp_path, [None, "a"], [0, 7], [1, 8])
    assert loaded.table.schema.names == ("a",)
    assert "row-number" in loaded.notes[0]


def test_the_first_sheet_that_can_be_seen_is_read(tmp_path):
    sheets = (rows(["secret"], [1]), rows(["a"], [1]), rows(["b"], [2]))
    loaded = frame.load_table(put(tmp_path, workbook(*sheets, hidden=[1])))
    assert loaded.table.schema.names == ("a",)
    assert loaded.notes == ("The data file has 2 sheets; the first, 'Sheet 2', was read.",)


@pytest.mark.parametrize(
    ("data", "fragment"),
    [
        (b"", "is empty"),
        (b"PK\x03\x04", "damaged or not an .xlsx file"),
        (b"age,sex\n1,f\n", "damaged or not an .xlsx file"),
        (workbook(PEOPLE)[:-200], "damaged or not an .xlsx file"),
        (workbook(), "no sheet with cells"),
        (workbook(""), "no sheet with cells"),
        (workbook(rows(["a"], [1]), hidden=[1]), "no sheet with cells"),
        (workbook(rows([39, 77516, SECRET], [50, 83311, "x"])), "looks like a record"),
        (workbook(rows(["a", "a"], [1, 2])), "same name: a"),
        (workbook(rows(["a", None], [1, 2])), "no name for column 2"),
        (workbook(rows(["a"], [Cell(f't="s"><v>{SECRET}</v>')])), "damaged or not an .xlsx file"),
        (workbook(rows(["a", "b"], [1, f"{SECRET}_x0000_"])), "a cell holds a control character"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"x" * 99, "has a password, or is an old .xls file"),
        (workbook(extra={"xl/workbook.xml": "<workbook"}), "damaged or not an .xlsx file"),
        (workbook(rows(["a"]), extra={"xl/workbook.xml": ""}), "damaged or not an .xlsx file"),
    ],
)
def test_what_is_no_sheet_is_refused(tmp_path, data, fragment):
    assert fragment in refused(tmp_path, data)


def test_a_small_file_that_unpacks_to_a_large_one(tmp_path):
    assert "unpacks to more than 32 MiB" in refused(tmp_path, workbook("<row/>" * (1 << 23)))


def test_a_size_that_the_file_does_not_tell_is_found_out(tmp_path):
    """The directory of a packed file may say of each part how large it is, and lie."""
    data = workbook("<row/>" * 1000, compression=zipfile.ZIP_STORED)
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        size = packed.getinfo("xl/worksheets/sheet1.xml").file_size
    lie = data.replace(size.to_bytes(4, "little") * 2, size.to_bytes(4, "little") + (9).to_bytes(4, "little"))
    assert lie != data
    assert "damaged" in refused(tmp_path, lie)


@pytest.mark.parametrize(
    "far",
    [
        '<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>',
        '<row r="1"><c r="ZZZZZ1"><v>1</v></c></row>',
        '<row r="99999999"><c><v>1</v></c></row>',
        '<row r="1048576">' + '<c r="ABC1048576"><is><t>x</t></is></c></row>',
    ],
)
def test_a_cell_in_the_far_corner(tmp_path, far):
    assert "cells so far apart" in refused(tmp_path, workbook(f"{rows(['a'], [1])}{far}"))


def test_empty_cells_may_lie_far_away(tmp_path):
    """A sheet whose whole columns are colored has a million of them."""
    far = '<row r="1048576"><c r="XFD1048576" s="1"/></row>'
    data = workbook(f"{rows(['a'], [1])}{far}")
    assert frame.load_table(put(tmp_path, data)).table.values.tolist() == [[1]]


def test_a_number_of_strings_that_nobody_has(tmp_path):
    strings = {"xl/sharedStrings.xml": '<sst uniqueCount="4294967295"><si><t>a</t></si></sst>'}
    assert "cells so far apart" in refused(tmp_path, workbook(rows(["a"], [1]), extra=strings))


@pytest.mark.parametrize(
    "name", ["xl/workbook.xml", "xl/worksheets/sheet1.xml", "xl/styles.xml", "xl/sharedStrings.xml"]
)
def test_xml_that_grows_is_refused(tmp_path, name):
    laughs = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><x>&b;</x>'
    assert "damaged" in refused(tmp_path, workbook(rows(["a"], [1]), extra={name: laughs}))


def test_without_the_extra_its_name_is_told(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    assert "install tabveil[xlsx]" in refused(tmp_path, workbook(PEOPLE), ParameterError)


def test_rows_are_not_written_to_a_sheet(tmp_path):
    loaded = frame.load_table(put(tmp_path, workbook(PEOPLE)))
    with pytest.raises(ParameterError, match="read but not written"):
        frame.write(loaded.table, loaded.layout, tmp_path / "out.xlsx")


def test_split_writes_text(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path, workbook(PEOPLE))
    done = CliRunner().invoke(app, ["split", "--data", "data.xlsx", "--control", "0.4", "--out", "split"])
    assert done.exit_code == 0, done.output
    parts = [frame.read_raw(Path("split", name)) for name in ("train.csv", "control.csv")]
    assert [part.num_rows for part in parts] == [3, 2]
    both = pa.concat_tables(parts).sort_by("age").to_pylist()
    assert both[1] == {
        "age": "30",
        "kg": "60.25",
        "born": "1982-02-18",
        "seen": "2023-03-15T12:00:00",
        "at": "06:00:00.000000",
        "away": "129600000000 us",
        "sick": "True",
        "city": "A",
    }


def test_text_may_look_like_xml(tmp_path):
    loaded = load(tmp_path, ["a & <b>", "n"], [text("<c r='A1'> & "), 1])
    assert loaded.table.schema.names == ("a & <b>", "n")
    assert loaded.table.schema.columns[0].labels == ("<c r='A1'> & ",)
