"""Edges of ranges on an axis: dates as people write them, no finer than the ranges are wide."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from tabveil.core.wording import dates
from tabveil.tables.reading import edges_in_words, load_table


def moments(start, n, **step):
    return [dt.datetime.fromisoformat(start) + place * dt.timedelta(**step) for place in range(n)]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (moments("1990-08-01", 3, days=3653), ["1991", "2001", "2011"]),  # to the nearest year
        (moments("2023-12-31", 3, days=366), ["2024", "2025", "2026"]),
        (moments("2023-12-15", 3, days=50), ["Dec 2023", "Feb 2024", "Apr 2024"]),
        (moments("2023-12-16", 2, days=31), ["Jan 2024", "Feb 2024"]),
        (moments("2023-12-30", 3, days=1), ["30 Dec 2023", "31 Dec 2023", "1 Jan 2024"]),
        (moments("2024-03-01 09:00", 3, hours=2), ["09:00", "11:00", "13:00"]),
        (moments("2024-03-01 22:00", 2, hours=4), ["1 Mar 2024, 22:00", "2 Mar 2024, 02:00"]),
        (moments("2024-03-01 09:00", 2, seconds=15), ["09:00:00", "09:00:15"]),
        (moments("9999-12-20", 1, days=1), ["10000"]),
        (moments("9999-10-20", 2, days=60), ["Nov 9999", "Jan 10000"]),
        ([], []),
    ],
)
def test_dates_are_no_finer_than_what_parts_them(given, words):
    assert dates(given) == words


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.date_range("2020-01-01", periods=400, freq="D")),
        pd.Series(pd.date_range("2020-01-01", periods=400, freq="D", tz="Europe/Vienna")),
        pd.Series(pd.date_range("2020-01-01", periods=400, freq="D").date),
        pd.Series(pd.date_range("2020-01-01", periods=400, freq="D").strftime("%Y-%m-%d")),
    ],
    ids=["datetime", "zoned", "date", "text"],
)
def test_edges_of_any_column_of_dates(column):
    loaded = load_table(pd.DataFrame({"day": column, "n": range(400)}))
    days = loaded.table.column("day")[[0, 91, 182]]
    assert edges_in_words(days, loaded.table.schema["day"], loaded.layout) == [
        "Jan 2020",
        "Apr 2020",
        "Jul 2020",
    ]


def test_times_are_written_as_the_column_does_and_numbers_are_left_alone():
    people = pd.DataFrame({"at": [dt.time(8), dt.time(12, 30)], "age": [3.0, 4.0]})
    loaded = load_table(people)
    at = edges_in_words(loaded.table.column("at"), loaded.table.schema["at"], loaded.layout)
    assert [text[:5] for text in at] == ["08:00", "12:30"]
    assert edges_in_words(np.array([3.0]), loaded.table.schema["age"], loaded.layout) is None
