"""People as one table: what sums up their linked rows, worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from supplies.linked_people import databases, leaky

from tabveil.core.sampling import group_equal_rows
from tabveil.tables.linked import load_database
from tabveil.tables.linked.summaries import databases_of, people_tables, resummed

SAYS = {"person": {"table": "people", "key": "person"}, "linked": {"visits": {"key": "person"}}}


def database(ages=(20, 30, 40, 50), **visits):
    rows = visits or {
        "person": [0, 0, 0, 1, 2],
        "day": [1, 4, 10, 3, 2],
        "cost": [5.0, 3.0, 4.0, 1.5, np.nan],
        "ward": ["a", "b", "b", "a", "c"],
    }
    return {
        "people": pd.DataFrame({"person": range(len(ages)), "age": ages}),
        "visits": pd.DataFrame(rows),
    }


def summed_up(*, order=None, train=None, synthetic=None):
    linked = {"visits": {"key": "person", **({"order": order} if order else {})}}
    loaded = load_database(
        {**SAYS, "linked": linked}, train=train or database(), synthetic=synthetic or database()
    )
    return people_tables(loaded.split)


def of_ages(people, column):
    order = np.argsort(people.column("age"))
    return people.column(column)[order].tolist()


def test_people_are_summed_up_by_number_first_last_mean_and_commonest():
    people = summed_up(order="day").split.train
    nan = pytest.approx(np.nan, nan_ok=True)
    assert of_ages(people, "visits: rows") == [3, 1, 1, 0]
    assert of_ages(people, "visits: cost, first") == [5.0, 1.5, nan, nan]
    assert of_ages(people, "visits: cost, last") == [4.0, 1.5, nan, nan]
    assert of_ages(people, "visits: cost, mean") == [4.0, 1.5, nan, nan]
    assert of_ages(people, "visits: day, first") == [1, 3, 2, nan]
    assert of_ages(people, "visits: day, mean gap") == [4.5, nan, nan, nan]
    labels = people.schema["visits: ward, commonest"].labels
    assert [labels[int(code)] for code in of_ages(people, "visits: ward, commonest")[:3]] == ["b", "a", "c"]


def test_without_an_order_there_is_no_first_and_no_gap_but_a_least_and_a_most():
    people = summed_up().split.train
    names = people.schema.names
    assert not [name for name in names if "first" in name or "gap" in name]
    assert of_ages(people, "visits: cost, least")[:2] == [3.0, 1.5]
    assert of_ages(people, "visits: cost, most")[:2] == [5.0, 1.5]


def test_a_table_with_one_row_a_person_is_summed_up_by_its_own_values():
    rows = database(person=[0, 1, 2], day=[1, 2, 3], ward=["a", "b", "c"])
    names = summed_up(train=rows, synthetic=rows).split.schema.names
    assert names == ("age", "visits: rows", "visits: day", "visits: ward")


def test_what_is_the_same_for_everybody_is_left_out():
    rows = database(person=[0, 1, 2, 3], day=[1, 2, 3, 3], ward=["a"] * 4)
    assert summed_up(train=rows, synthetic=rows).split.schema.names == ("age", "visits: day")
    names = database(person=[0, 1, 2, 3], same=[1] * 4)
    assert summed_up(train=names, synthetic=names).split.schema.names == ("age", "visits: rows")


def test_a_column_of_the_same_name_as_a_summary_stays_apart():
    rows = database()
    rows["people"]["visits: rows"] = [9, 8, 7, 6]
    people = summed_up(train=rows, synthetic=rows).split.train
    assert of_ages(people, "visits: rows") == [9, 8, 7, 6]
    assert of_ages(people, "visits: rows*") == [3, 1, 1, 0]


def test_people_are_equal_only_where_their_sets_are_whatever_sums_them_up():
    one = database(person=[0, 0, 0, 1, 1, 1], day=[1, 2, 3, 1, 2, 3], cost=[1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    other = database(person=[0, 0, 0, 1, 1, 1], day=[1, 2, 3, 1, 2, 3], cost=[1.0, 2.0, 3.0, 1.0, 1.0, 4.0])
    split = summed_up(train=one, synthetic=other).split
    train, synthetic = group_equal_rows(split.train, split.synthetic)
    assert len(set(train) & set(synthetic)) == 3  # who has no visits, twice, and person 0; person 1 differs


def test_linked_sets_follow_their_people_and_some_columns_have_none():
    split = people_tables(databases(60)).split
    table = split.train
    taken = table.take(np.array([5, 5, 0]))
    assert taken.linked.tables.person_hash().tolist() == (
        table.linked.tables.person_hash()[[5, 5, 0]].tolist()
    )
    assert len(taken.joined(table).linked) == len(table) + 3
    assert table.take(np.arange(len(table)) < 7).linked.tables.own.values.shape[0] == 7
    assert table.select(["born", "sex"]).linked is None
    assert table.select(sorted(table.schema.names)).linked is table.linked
    assert (table.select(sorted(table.schema.names)).row_hash() == table.row_hash()).all()


def test_tables_of_people_know_the_databases_they_are_made_of():
    split = leaky(databases(60), 5)
    people = people_tables(split).split
    assert (databases_of(people).synthetic.person_hash() == split.synthetic.person_hash()).all()
    plain = people.select(["born", "sex"])
    assert databases_of(plain) is None


def test_a_changed_column_changes_all_that_is_made_of_it():
    people = people_tables(databases(60)).split

    def without(rows, column):
        return rows.select([name for name in rows.schema.names if name != column])

    less = resummed(people, "visits: ward, last", without)
    assert not [name for name in less.schema.names if "ward" in name]
    assert "ward" not in databases_of(less).train.linked["visits"].table.schema.names
    assert "sex" not in resummed(people, "sex", without).schema.names
    assert resummed(people, "visits: rows", without) is None
