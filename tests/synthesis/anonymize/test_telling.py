"""A column that stays and tells what was generalized: found by name, and k counted with it."""

import numpy as np
import pandas as pd
import pytest

from tabveil.synthesis.anonymize.configuration import apply, read
from tabveil.synthesis.anonymize.releasing import Summary, to_native
from tabveil.tables import reading as frame

SCHOOLS = {"tree": {"low": ["first", "second"], "high": ["third", "fourth"]}}


def people():
    """Make people at four schools, 30, 20, 40 and 10; each school has a number and belongs to a group."""
    school = np.repeat(["first", "second", "third", "fourth"], [30, 20, 40, 10])
    data = pd.DataFrame({"school": school, "pay": np.arange(100) % 7})
    data["number"] = data["school"].map({"first": 9, "second": 4, "third": 7, "fourth": 1})
    data["group"] = data["school"].map({"first": "a", "second": "b", "third": "a", "fourth": "a"})
    data["coin"] = np.where(np.arange(100) % 2, "x", "y")
    return data


def done(data, **asked):
    settings = {"hierarchies": {"school": SCHOOLS}, "models": [{"k": 30}], "suppression": 0} | asked
    known = frame.load_table(data)
    return apply(read(settings), known), known


def test_classes_of_fifty_are_of_ten_with_a_number_that_stays():
    found, _ = done(people())
    summary = Summary.of(found)
    assert summary.smallest == 50
    told = {column.name: column for column in summary.telling}
    assert set(told) == {"number", "group"}
    assert (told["number"].determines, told["number"].follows_from) == (("school",), ("school",))
    assert (told["number"].k, told["group"].k) == (10, 20)  # fourth alone; second alone
    assert (told["group"].determines, told["group"].follows_from) == ((), ("school",))
    assert summary.smallest_with_telling == 10
    assert told["number"].sentence == (
        "number stays as it is and goes one to one with school: with it k is 10."
    )
    assert told["group"].sentence == "group stays as it is and follows from school: with it k is 20."


def test_what_only_determines_counts_by_what_it_says():
    """Streets of a school say which it is; who knows the school does not know the street."""
    data = people().drop(columns=["number", "group"])
    data["street"] = data["school"] + np.where(np.arange(100) % 2, " left", " right")
    data.loc[90:, "street"] = "fourth"
    found, _ = done(data)
    (column,) = Summary.of(found).telling
    assert (column.name, column.determines, column.follows_from, column.k) == ("street", ("school",), (), 10)


def test_k_is_that_of_the_rows_that_leave():
    found, known = done(people())
    rows = to_native(found, known.layout)
    assert rows.groupby(["school", "number"]).size().min() == found.telling[1] == 10


@pytest.mark.parametrize(
    "data",
    [
        people().drop(columns=["number", "group"]),
        people().drop(columns=["number", "group"]).assign(case=np.arange(100)),  # all differ: it says nothing
        people()[["school", "pay", "coin"]].assign(land="DE"),
    ],
)
def test_columns_that_tell_nothing_are_not_named(data):
    found, _ = done(data, keep=["case"] if "case" in data else [])
    summary = Summary.of(found)
    assert summary.telling == ()
    assert summary.smallest_with_telling == summary.smallest


def test_what_is_not_generalized_gives_nothing_away():
    found, _ = done(people(), models=[{"k": 5}])
    assert found.nodes == ((0,),)
    assert Summary.of(found).telling == ()
    assert Summary.of(found).smallest_with_telling == 10
