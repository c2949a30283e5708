"""Numbers, dates and times as people write them: read where they can be meant in one way only, written back
as they came, and spoken of where they cannot."""

import datetime as dt
import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

from tabveil import audit
from tabveil.core.table import Categorical, Numeric
from tabveil.errors import SchemaError
from tabveil.tables import reading as frame
from tabveil.tables.reading import layout_json
from tabveil.tables.reading.moments import DATES, of_template, template_of
from tabveil.tables.reading.number_form import NumberForm, example_of, of_example

DAY = 86_400_000_000


def put(folder, *cells, name="data.csv", delimiter=","):
    """Write one column of these cells and one of numbers, which keeps empty cells from being empty lines."""
    rows = [f'"{cell}"{delimiter}{number}\n' for number, cell in enumerate(cells)]
    (folder / name).write_text(f"x{delimiter}n\n{''.join(rows)}", encoding="utf-8")
    return folder / name


def load(folder, *cells, **options):
    return frame.load_table(put(folder, *cells), **options)


def declared(entry):
    return {"columns": {"x": entry}}


def values(loaded):
    return [None if np.isnan(cell) else float(cell) for cell in loaded.table.column("x")]


def days(*dates):
    return [float((dt.date(*date) - dt.date(1970, 1, 1)).days) for date in dates]


def written(loaded, folder):
    """Write the table with a layout that was stored, and return the cells of the column."""
    layout = layout_json.from_json(json.loads(json.dumps(layout_json.to_json(loaded.layout))))
    frame.write(loaded.table, layout, folder / "out.csv")
    return frame.read_raw(folder / "out.csv").column("x").to_pylist()


NUMBERS = [
    (["12,345.67", "1.50", "-999.00"], [12345.67, 1.5, -999]),
    (["1.324,85", "12,00"], [1324.85, 12]),
    (["1,234,567", "89"], [1234567, 89]),
    (["1.234.567", "89"], [1234567, 89]),
    (["1 234,5", "12,0"], [1234.5, 12]),
    (["1\u202f234,50 €", "-7,00 €"], [1234.5, -7]),
    (["1'234.50", "0.25"], [1234.5, 0.25]),
    (["70,5", "8,25"], [70.5, 8.25]),
    (["5%", "12.5%", "-1%"], [5, 12.5, -1]),
    (["5 %", "12 %"], [5, 12]),
    (["€ 5", "€ 1.200"], [5, 1200]),
    (["€ 5", "€ 7"], [5, 7]),
    (["$1,234.50", "-$7.00"], [1234.5, -7]),
    (["$-5", "$7"], [-5, 7]),
    (["£5.10", "£6.00"], [5.1, 6]),
    (["EUR 5.00", "EUR 1,234.00"], [5, 1234]),
    (["5 USD", "12.5 USD"], [5, 12.5]),
]


@pytest.mark.parametrize(("cells", "numbers"), NUMBERS, ids=lambda case: str(case[0]))
def test_numbers(tmp_path, cells, numbers):
    loaded = load(tmp_path, *cells, "", "NA")
    assert isinstance(loaded.table.schema["x"], Numeric)
    assert values(loaded) == [*numbers, None, None]
    assert written(loaded, tmp_path)[: len(cells)] == cells


def test_new_numbers_are_written_in_the_form_of_the_column(tmp_path):
    loaded = load(tmp_path, "€ 1.324,85", "-€ 2,00")
    more = frame.load_table(pd.DataFrame({"x": [1234567.5, -0.1, np.nan], "n": 0})).table
    frame.write(more, loaded.layout, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().splitlines() == [
        "x,n",
        *['"€ 1.234.567,50",0', '"-€ 0,10",0', ",0"],
    ]


DATED = [
    (["31.12.2020", "01.02.2020"], [(2020, 12, 31), (2020, 2, 1)]),
    (["1.2.2020", "31.12.2020"], [(2020, 2, 1), (2020, 12, 31)]),
    (["01.02.2020", "03.04.2020"], [(2020, 2, 1), (2020, 4, 3)]),  # nobody writes months before a point
    (["31/12/2020", "01/02/2020"], [(2020, 12, 31), (2020, 2, 1)]),
    (["12/31/2020", "01/02/2020"], [(2020, 12, 31), (2020, 1, 2)]),
    (["12/31/2020", "1/2/2020"], [(2020, 12, 31), (2020, 1, 2)]),
    (["31-12-2020", "01-02-2020"], [(2020, 12, 31), (2020, 2, 1)]),
    (["31-Dec-2020", "01-Feb-2020"], [(2020, 12, 31), (2020, 2, 1)]),
    (["31-DEC-2020", "01-FEB-2020"], [(2020, 12, 31), (2020, 2, 1)]),
    (["31DEC2020", "01FEB2020"], [(2020, 12, 31), (2020, 2, 1)]),
    (["3 May 2020", "31 Dec 2020"], [(2020, 5, 3), (2020, 12, 31)]),
    (["2020/12/31", "2020/02/01"], [(2020, 12, 31), (2020, 2, 1)]),
    (["20201231", "20200201"], [(2020, 12, 31), (2020, 2, 1)]),
    (["02/02/2020", "03/03/2020"], [(2020, 2, 2), (2020, 3, 3)]),  # the same either way
]


@pytest.mark.parametrize(("cells", "dates"), DATED, ids=lambda case: str(case[0]))
def test_dates(tmp_path, cells, dates):
    loaded = load(tmp_path, *cells, "", "NA")
    assert values(loaded) == [*days(*dates), None, None]
    assert loaded.notes == ()
    assert written(loaded, tmp_path)[: len(cells)] == cells
    frame.write(loaded.table, loaded.layout, tmp_path / "out.parquet")
    assert frame.read_raw(tmp_path / "out.parquet").column("x").type == pa.date32()


@pytest.mark.parametrize(
    ("cells", "seconds"),
    [
        (["31.12.1969 23:59", "02.01.1970 00:00"], [-60, 86_400]),
        (["12/31/1969 23:59:59", "01/02/1970 00:00:00"], [-1, 86_400]),
        (["1/13/1970 9:05", "12/31/1969 19:00"], [12 * 86_400 + 9 * 3600 + 300, -5 * 3600]),
        (["13.01.1970T01:00+01:00", "02.01.1970T01:00+01:00"], [12 * 86_400, 86_400]),
    ],
)
def test_dates_with_a_time(tmp_path, cells, seconds):
    loaded = load(tmp_path, *cells)
    unit = loaded.layout.columns["x"].step // 1_000_000
    assert [value * unit for value in values(loaded)] == seconds
    assert written(loaded, tmp_path) == cells


@pytest.mark.parametrize(
    ("cells", "microseconds"),
    [
        (["12:30", "09:05"], [45_000_000_000, 32_700_000_000]),
        (["12:30", "9:05"], [45_000_000_000, 32_700_000_000]),
        (["12:30:15", "00:00:00"], [45_015_000_000, 0]),
        (["12:30:15.5", "00:00:00.0"], [45_015_500_000, 0]),
    ],
)
def test_times_of_day(tmp_path, cells, microseconds):
    loaded = load(tmp_path, *cells, "NA")
    assert [cell * loaded.layout.columns["x"].step for cell in values(loaded)[:2]] == microseconds
    assert written(loaded, tmp_path)[:2] == cells
    frame.write(loaded.table, loaded.layout, tmp_path / "out.parquet")
    assert pa.types.is_time(frame.read_raw(tmp_path / "out.parquet").column("x").type)


def test_times_without_seconds_are_counted_in_minutes(tmp_path):
    """New rows must not fall between two minutes: they could not be written."""
    assert load(tmp_path, "12:30", "09:05").table.schema["x"] == Numeric(
        name="x", low=545, high=750, decimals=0
    )


@pytest.mark.parametrize(
    "cells",
    [
        *(["1,3", "2,4", "3"], ["1,2,3", "4"], ["12:30", "25:00"], ["31.02.2020", "01.02.2020"]),
        *(["5%", "5"], ["€ 5", "£ 5"], ["1,234.5", "1234.5"], ["€ 05", "€ 06"], ["1 23", "4 56"]),
        *(["13/12/2020", "12/13/2020"], ["31.12.20", "01.02.20"], ["00123", "00456"], ["LOT 5", "LOT 6"]),
        *(["1.5 kg", "2 kg"], ["5-10", "10-20"], ["2020-13", "2020-12"], ["10.0.0.1", "10.0.0.2"]),
    ],
)
def test_what_is_none_stays_text(tmp_path, cells):
    assert isinstance(load(tmp_path, *cells).table.schema["x"], Categorical)
    assert written(load(tmp_path, *cells), tmp_path) == cells


def test_strings_of_a_dataframe_are_read_alike():
    """No library reads these by itself, so that they are strings says nothing about what they are."""
    data = pd.DataFrame({"cost": ["€ 1,50", "€ 2,75"], "day": ["31.12.2020", None], "at": ["12:30", "13:00"]})
    loaded = frame.load_table(data)
    assert [type(column) for column in loaded.table.schema.columns] == [Numeric] * 3
    pd.testing.assert_frame_equal(frame.to_native(loaded.table, loaded.layout), data)


def test_categories_are_what_somebody_made_them():
    data = pd.DataFrame({"x": pd.Categorical(["5%", "10%"])})
    loaded = frame.load_table(data)
    assert isinstance(loaded.table.schema["x"], Categorical)
    assert loaded.notes == ()


# What can be meant in two ways


@pytest.mark.parametrize(
    ("cells", "delimiter", "taken", "entry", "meant"),
    [
        (["1.324", "12.500"], ",", [1.324, 12.5], '{type: integer, form: "1.234"}', [1324, 12500]),
        (["1.324", "12"], ",", [1.324, 12], '{type: integer, form: "1.234"}', [1324, 12]),
        (["1,324", "12,500"], ",", [1324, 12500], '{type: real, form: "1234,500"}', [1.324, 12.5]),
        (["1,324", "12,500"], ";", [1.324, 12.5], '{type: integer, form: "1,234"}', [1324, 12500]),
        (["€ 1.324", "€ 2.500"], ",", [1324, 2500], '{type: real, form: "€ 1234.500"}', [1.324, 2.5]),
        (["1.324%", "2.500%"], ",", [1.324, 2.5], '{type: integer, form: "1.234%"}', [1324, 2500]),
        (
            ["03/04/2020", "05/06/2020"],
            ",",
            days((2020, 4, 3), (2020, 6, 5)),
            "{type: date, form: MM/DD/YYYY}",
            days((2020, 3, 4), (2020, 5, 6)),
        ),
    ],
)
def test_a_note_says_what_was_taken_and_how_to_say_what_was_meant(
    tmp_path, cells, delimiter, taken, entry, meant
):
    path = put(tmp_path, *cells, delimiter=delimiter)
    loaded = frame.load_table(path)
    assert values(loaded) == taken
    (note,) = loaded.notes
    assert note.startswith("Column 'x': ")
    assert entry in note
    assert not any(cell in note for cell in cells)
    assert written(loaded, tmp_path) == cells
    corrected = frame.load_table(path, schema=declared(yaml.safe_load(entry)))
    assert values(corrected) == meant
    assert corrected.notes == ()
    assert written(corrected, tmp_path) == cells


@pytest.mark.parametrize(
    "cells", [["1.324", "0.125"], ["1.324", "1234.500"], ["1.324", "1.32"], ["12", "345"]]
)
def test_what_can_only_be_decimals_is_not_spoken_of(tmp_path, cells):
    assert load(tmp_path, *cells).notes == ()


def test_zeros_that_only_some_decimals_would_have_speak_for_thousands(tmp_path):
    loaded = load(tmp_path, "1.320", "17")
    assert values(loaded) == [1320, 17]
    assert '{type: real, form: "1234.500"}' in loaded.notes[0]
    assert written(loaded, tmp_path) == ["1.320", "17"]


def test_tables_in_doubt_are_read_alike(tmp_path):
    for first, second in ((["1.324", "2.500"], ["1.320", "17"]), (["1.320", "17"], ["1.324", "2.500"])):
        loaded = frame.load_split(put(tmp_path, *first), put(tmp_path, *second, name="s.csv"))
        taken = 1000 if first[1] == "17" else 1
        both = [*loaded.split.train.column("x"), *loaded.split.synthetic.column("x")]
        expected = [float(cell) * (taken if "." in cell else 1) for cell in (*first, *second)]
        np.testing.assert_allclose(both, expected)
        assert len([note for note in loaded.notes if "'x'" in note]) == 1


@pytest.mark.parametrize("alone", [["1.324", "2.500"], ["03/04/2020", "05/06/2020"]])
def test_another_table_can_tell(tmp_path, alone):
    sure = {"1.324": (["1.324,85"], 1324), "03/04/2020": (["12/31/2020"], days((2020, 3, 4))[0])}[alone[0]]
    for train, synthetic in ((alone, sure[0]), (sure[0], alone)):
        loaded = frame.load_split(put(tmp_path, *train), put(tmp_path, *synthetic, name="s.csv"))
        cells = (loaded.split.train if train is alone else loaded.split.synthetic).column("x")
        assert cells[0] == sure[1]
        assert not [note for note in loaded.notes if "'x'" in note]


def test_every_table_has_its_own_way_of_writing(tmp_path):
    train, synthetic = put(tmp_path, "31.12.2020", "01.02.2020"), put(tmp_path, "2020-12-31", name="s.csv")
    split = frame.load_split(train, synthetic).split
    assert split.synthetic.column("x")[0] == split.train.column("x")[0]
    typed = frame.load_split(put(tmp_path, "€ 1,50"), pd.DataFrame({"x": [1.5], "n": [0]})).split
    assert typed.synthetic.column("x")[0] == typed.train.column("x")[0] == 1.5


@pytest.mark.parametrize(
    ("train", "synthetic", "expected"),
    [
        (["31.12.2020"], ["31.12.2020", "31.02.2020"], "a date of the years 1 to 9999 such as DD.MM.YYYY"),
        (["€ 1.324,85"], ["€ 1.324,85", "free"], "numbers such as € 1.234,50, as in another table,"),
        (["12:30"], ["12:30", "noon"], "times of day"),
    ],
)
def test_rows_that_do_not_fit_are_named_but_not_shown(tmp_path, train, synthetic, expected):
    with pytest.raises(SchemaError) as caught:
        frame.load_split(put(tmp_path, *train), put(tmp_path, *synthetic, name="s.csv"))
    assert f"'x' of synthetic: row 2 should hold {expected}" in str(caught.value)
    assert synthetic[1] not in str(caught.value)


def test_a_whole_number_has_thousands_and_no_decimals(tmp_path):
    assert values(load(tmp_path, "1.324", "12.500", schema=declared("integer"))) == [1324, 12500]
    assert values(load(tmp_path, "1.324", "12.500", schema=declared("real"))) == [1.324, 12.5]


def test_dates_beside_categories_are_categories(tmp_path):
    made = pd.DataFrame({"x": pd.Categorical(["31.12.2020"]), "n": [0]})
    split = frame.load_split(put(tmp_path, "31.12.2020", "01.02.2020"), made).split
    assert split.schema["x"].labels == ("01.02.2020", "31.12.2020")


def test_infinity_is_a_number_wherever_it_stands(tmp_path):
    with pytest.raises(SchemaError, match="infinity in row 1"):
        load(tmp_path, "inf", "1")


# Eight digits


@pytest.mark.parametrize(
    "cells",
    [
        ["20201231", "20201301"],  # no such month
        ["20201231", "20200230"],
        ["18991231", "20201231"],  # numbers of this size may be anything
        ["20201231", "1234"],
    ],
)
def test_digits_that_are_no_dates_are_numbers(tmp_path, cells):
    loaded = load(tmp_path, *cells)
    assert values(loaded) == [float(cell) for cell in cells]
    assert loaded.notes == ()


def test_one_number_alone_says_too_little(tmp_path):
    loaded = load(tmp_path, "20201231", "20201231")
    assert values(loaded) == [20201231, 20201231]
    assert "{type: date, form: YYYYMMDD}" in loaded.notes[0]
    assert "20201231" not in loaded.notes[0]
    assert values(load(tmp_path, "20201231", schema=declared("date"))) == days((2020, 12, 31))


def test_digits_are_dates_in_all_tables_or_in_none(tmp_path):
    dates = put(tmp_path, "20201231", "20200201")
    for other in (
        put(tmp_path, "20201231", "20209999", name="s.csv"),
        pd.DataFrame({"x": [20201231, 20200201], "n": [0, 1]}),
    ):
        loaded = frame.load_split(dates, other)
        assert loaded.split.train.column("x")[0] == loaded.split.synthetic.column("x")[0] == 20201231
        assert [note for note in loaded.notes if "YYYYMMDD" in note]
    both = frame.load_split(dates, put(tmp_path, "20200301", name="s.csv")).split
    assert both.synthetic.column("x").tolist() == days((2020, 3, 1))
    one = put(tmp_path, "20201231", name="one.csv")
    iso = frame.load_split(one, put(tmp_path, "2020-03-01", name="s.csv")).split
    assert iso.synthetic.column("x").tolist() == days((2020, 3, 1))
    typed = frame.load_split(one, pd.DataFrame({"x": [dt.date(2020, 3, 1)], "n": [0]})).split
    assert typed.synthetic.column("x").tolist() == days((2020, 3, 1))


# Labels that were hardly meant as labels


@pytest.mark.parametrize(
    ("cells", "what"),
    [
        (["5%", "6%", "7%", "n. a."], "numbers"),
        (["€ 5", "£ 5", "€ 7"], "numbers"),
        (["1,3", "2,4"], "numbers"),
        (["31.12.2020", "01.02.2020", "soon"], "dates"),
        (["31.12.20", "01.02.20"], "dates"),
        (["12:30", "13:00 ", "25:00"], "times of day"),
    ],
)
def test_labels_that_look_like_something_else_are_spoken_of(tmp_path, cells, what):
    (note,) = load(tmp_path, *cells).notes
    assert note.startswith(f"Column 'x' was taken for labels, although most of its rows look like {what}.")
    assert "tabveil schema" in note
    assert not any(cell in note for cell in cells)
    assert load(tmp_path, *cells, schema=declared("category")).notes == ()


@pytest.mark.parametrize(
    "cells", [["00123", "456"], ["a1", "b2"], ["5%", "many", "few"], ["x", "y"], ["5-6", "7-8"]]
)
def test_other_labels_are_not(tmp_path, cells):
    assert load(tmp_path, *cells).notes == ()


def test_a_marker_is_spoken_of_once(tmp_path):
    loaded = load(tmp_path, *[f"{i},50 €" for i in range(30)], *["?"] * 10)
    assert [note for note in loaded.notes if "'x'" in note or '"?"' in note] == [
        '"?" counts as a label in x: if it means missing, say --missing "?".'
    ]


def test_an_audit_speaks_of_them(tmp_path):
    """Costs that were read as labels made every row unique, and a verdict of 0.96."""
    costs = [f"€ {i},50" for i in range(40)]
    for cells, speaks in ((costs, False), ([*costs, "free"], True)):
        tables = put(tmp_path, *cells), put(tmp_path, *cells, name="s.csv")
        report = audit(*tables, metrics=["identical_match_share"], utility=False)
        assert any("'x' was taken for labels" in note for note in report.notes) is speaks


# What a schema says


@pytest.mark.parametrize(
    ("entry", "cells", "expected"),
    [
        (
            {"type": "real", "form": "1.234,50"},
            ["1.324", "5", "1234,5", "-2.000.000,25"],
            [1324, 5, 1234.5, -2000000.25],
        ),
        (
            {"type": "real", "form": "1,234.50"},
            ["1.324", "5e3", "1234.5", "1,324"],
            [1.324, 5000, 1234.5, 1324],
        ),
        ({"type": "real", "form": "12.5 kg"}, ["70.5 kg", "80kg", "90"], [70.5, 80, 90]),
        ({"type": "real", "form": "12,5 %"}, ["5%", "12,5 %", "7"], [5, 12.5, 7]),
        ({"type": "integer", "form": "$ 12"}, ["$5", "-$ 6", "$-7"], [5, -6, -7]),
        (
            {"type": "date", "form": "MM/DD/YYYY"},
            ["12/31/2020", "1/2/2020"],
            days((2020, 12, 31), (2020, 1, 2)),
        ),
        (
            {"type": "date", "form": "DD.MM.YYYY"},
            ["31.12.2020", "2020-01-02"],
            days((2020, 12, 31), (2020, 1, 2)),
        ),
        ({"type": "date", "form": "YYYYMMDD"}, ["18991231", "20200102"], days((1899, 12, 31), (2020, 1, 2))),
    ],
)
def test_a_declared_form_reads_what_is_written_a_little_otherwise(tmp_path, entry, cells, expected):
    assert values(load(tmp_path, *cells, schema=declared(entry))) == expected


@pytest.mark.parametrize(
    ("entry", "cell"),
    [
        ({"type": "real", "form": "1.234,50"}, "1.5"),  # 1.500 and 1.5 would be a thousand apart
        ({"type": "real", "form": "€ 12"}, "£ 5"),
        ({"type": "real", "form": "€ 12"}, "-€ -5"),
        ({"type": "date", "form": "DD/MM/YYYY"}, "12/31/2020"),
        ({"type": "time", "form": "HH:MM"}, "2020-12-31"),
        ({"type": "time"}, "2020-12-31"),
        ({"type": "duration"}, "2020-12-31"),
    ],
)
def test_a_declared_form_is_kept_to(tmp_path, entry, cell):
    with pytest.raises(SchemaError, match="'x' of data: row 1 should hold") as caught:
        load(tmp_path, cell, schema=declared(entry))
    assert cell not in str(caught.value)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"type": "real", "form": "1,234"}, "can be read in one way only"),
        ({"type": "real", "form": "much"}, "can be read in one way only"),
        ({"type": "real", "form": "12 kilograms"}, "can be read in one way only"),
        ({"type": "real", "form": 12.5}, "put it in quotes"),
        ({"type": "integer", "form": "1,234.50"}, "an example without decimals"),
        ({"type": "date", "form": "DD.MM.YYYY HH:MM"}, "must look like DD.MM.YYYY"),
        ({"type": "date", "form": "DD.MM.YY"}, "must look like DD.MM.YYYY"),
        ({"type": "time", "form": "YYYY-MM-DD HH:MM"}, "must look like HH:MM"),
        ({"type": "datetime", "form": "HH:MM"}, "must look like YYYY-MM-DD HH:MM:SS"),
        ({"type": "ordered category", "form": "12"}, "a form belongs to"),
    ],
)
def test_a_form_that_makes_no_sense(entry, problem):
    with pytest.raises(SchemaError, match=r"schema: columns\.x") as caught:
        frame.load_table(pd.DataFrame({"x": [1]}), schema=declared(entry))
    assert problem in str(caught.value)


PROMISED = {"low": "2020-01-01", "high": "2029-12-31"}


@pytest.mark.parametrize(
    ("entry", "came", "leaves"),
    [
        (
            {"type": "real", "low": 0, "high": 9999, "decimals": 2, "form": "1,234.5 €"},
            "1234.5",
            "1,234.50 €",
        ),
        ({"type": "integer", "low": 0, "high": 9999, "form": "1.234"}, "1234", "1.234"),
        ({"type": "date", **PROMISED, "form": "DD/MM/YYYY"}, "5/3/2024", "05/03/2024"),
        ({"type": "date", **PROMISED, "form": "D-Mon-YYYY"}, "2024-03-05", "5-Mar-2024"),
        (
            {"type": "datetime", **PROMISED, "unit": "seconds", "form": "DD.MM.YYYY HH:MM:SS"},
            "05.03.2024 12:30",
            "05.03.2024 12:30:00",
        ),
    ],
)
def test_under_a_promise_the_schema_says_how_values_are_written(tmp_path, entry, came, leaves):
    loaded = load(tmp_path, came, schema=declared(entry), form_by_schema=True)
    assert written(loaded, tmp_path) == [leaves]


@pytest.mark.parametrize(
    ("entry", "cell"),
    [
        ({"type": "real", "low": 0, "high": 9999, "decimals": 2}, "€ 5"),
        ({"type": "real", "low": 0, "high": 9999, "decimals": 2}, "1,234.00"),
        ({"type": "date", **PROMISED}, "31.12.2024"),
        ({"type": "date", **PROMISED}, "20241231"),
    ],
)
def test_under_a_promise_no_row_says_how_others_are_read(tmp_path, entry, cell):
    """Were 03/04 a day in April only while another day is above 12, one row would move all others."""
    assert len(load(tmp_path, cell, cell, schema=declared(entry)).table) == 2
    with pytest.raises(SchemaError, match="should hold"):
        load(tmp_path, cell, cell, schema=declared(entry), form_by_schema=True)


@pytest.mark.parametrize(
    ("entry", "cell", "others"),
    [
        (
            {"type": "date", **PROMISED, "form": "MM/DD/YYYY"},
            "03/04/2024",
            ["12/31/2024", "2024-01-01", "NA"],
        ),
        ({"type": "date", **PROMISED, "form": "DD/MM/YYYY"}, "03/04/2024", ["31/12/2024", "3/4/2024"]),
        ({"type": "integer", "low": 0, "high": 9999, "form": "1.234"}, "1.324", ["12", "1324", "NA"]),
        ({"type": "real", "low": 0, "high": 9999, "decimals": 3}, "1.324", ["0.5", "1.32", "12.500"]),
    ],
)
def test_under_a_promise_a_row_says_the_same_beside_all_others(tmp_path, entry, cell, others):
    alone = values(load(tmp_path, cell, schema=declared(entry), form_by_schema=True))
    for other in others:
        beside = load(tmp_path, cell, other, schema=declared(entry), form_by_schema=True)
        assert values(beside)[:1] == alone


# The file that tabveil schema writes


def test_the_described_schema_says_the_form_and_reads_the_same(tmp_path):
    rows = [
        "cost;share;day;seen;at;plain;odd",
        "1.324,85 €;12.5%;31/12/2020;1/13/2020 9:05;12:30;1,5;5 %",
        "2,00 €;5.0%;01/02/2020;12/31/2020 19:00;09:05;2,5;6%",
    ]
    (tmp_path / "data.csv").write_text("\n".join([*rows, ""]), encoding="utf-8")
    text = frame.describe(tmp_path / "data.csv")
    found = yaml.safe_load(text)
    assert found["csv"]["decimal"] == ","
    assert found["columns"] == {
        "cost": {"type": "real", "form": "1.234,50 €"},
        "share": {"type": "real", "form": "12.5%"},
        "day": {"type": "date", "form": "DD/MM/YYYY"},
        "seen": {"type": "datetime", "form": "M/D/YYYY H:MM"},
        "at": {"type": "time", "form": "HH:MM"},
        "plain": "real",
        "odd": "category",
    }
    assert "# - Column 'odd' was taken for labels, although most of its rows look like numbers." in text
    plain, described = (frame.load_table(tmp_path / "data.csv", schema=said) for said in (None, found))
    assert described.table.schema == plain.table.schema
    np.testing.assert_array_equal(described.table.values, plain.table.values)
    frame.write(described.table, described.layout, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text(encoding="utf-8") == (tmp_path / "data.csv").read_text(
        encoding="utf-8"
    )


def test_a_column_name_cannot_leave_its_comment(tmp_path):
    text = frame.describe(pd.DataFrame({"x\ndrop: [y]": ["5 %", "6%"]}))
    assert yaml.safe_load(text)["drop"] == []


@pytest.mark.parametrize("date", DATES)
def test_templates_there_and_back(date):
    for template in (date, f"{date} HH:MM", f"{date}TH:MM:SS.fffZ"):
        assert template_of(of_template(template)) == template


@pytest.mark.parametrize(
    "form",
    [
        NumberForm(),
        NumberForm(mark=","),
        NumberForm(group=","),
        NumberForm(mark=",", group="\u00a0", after=" €"),
        NumberForm(before="$", sign_inside=True),
        NumberForm(group="'", after="%"),
    ],
)
def test_examples_there_and_back(form):
    for digits in (1, 2, 3, 6):
        assert of_example(example_of(form, digits), whole=False) == form
    if form.mark == ".":
        assert of_example(example_of(form, 0), whole=True) == form
