"""Linked tables as arrays: whose rows are whose, in which order, and what becomes of them."""

import numpy as np
import pytest

from tabveil.core.linked import Link, Linkage, LinkedRows, LinkedSplit, LinkedTables
from tabveil.core.table import Numeric, Schema, Table
from tabveil.errors import SchemaError, TabveilError

VISITS = Link(table="visits", key="patient", through="patients", on="patient", order="day")
CLINIC = Linkage(person="patients", key="patient", links=(VISITS,))


def table(values, names=("day", "cost")):
    columns = tuple(Numeric(name=name, low=0, high=9, decimals=0) for name in names)
    return Table(schema=Schema(columns), values=np.array(values, dtype=float).reshape(-1, len(names)))


DAYS = table([[3, 1], [1, 5], [np.nan, 0], [1, 4], [2, 2]])


def clinic(person=(0, 0, 0, 0, 2), row=(0, 1, 2, 3, 4), ages=(30, 40, 50)):
    rows = LinkedRows.of(
        DAYS, np.array(person, int), np.array(row, int), len(ages), order="day", keys={"visit": np.arange(5)}
    )
    own = table([[age] for age in ages], names=("age",))
    return LinkedTables(
        linkage=CLINIC, own=own, linked={"visits": rows}, keys={"patient": np.arange(len(ages))}
    )


def of_person(people, person):
    rows = people.linked["visits"]
    return rows.table.values[rows.of_person(person)].tolist()


def test_rows_stand_with_their_person_in_the_order_of_time_and_unknown_times_are_last():
    people = clinic()
    assert people.linked["visits"].sizes.tolist() == [4, 0, 1]
    assert people.linked["visits"].whose.tolist() == [0, 0, 0, 0, 2]
    days = [day for day, _ in of_person(people, 0)]
    assert days[:3] == [1, 1, 3]
    assert np.isnan(days[3])
    assert of_person(people, 1) == []
    assert of_person(people, 2) == [[2, 2]]


def test_what_is_equal_in_time_stands_in_an_order_of_what_it_holds():
    shuffle = np.array([3, 1, 4, 0, 2])
    rows = LinkedRows.of(DAYS.take(shuffle), np.array([0, 0, 2, 0, 0]), np.arange(5), 3, order="day")
    np.testing.assert_array_equal(rows.table.values, clinic().linked["visits"].table.values)


def test_a_row_of_two_people_stands_once_and_counts_for_both():
    people = clinic(person=(0, 1, 1, 1), row=(0, 0, 4, 4))  # the last pair is said twice
    rows = people.linked["visits"]
    assert rows.sizes.tolist() == [1, 2, 0]
    assert len(rows) == 2  # rows of nobody are left out
    assert rows.n_shared == 1
    assert of_person(people, 0) == [[3, 1]]
    assert of_person(people, 1) == [[2, 2], [3, 1]]
    assert rows.keys["visit"].tolist() == [0, 4]
    alone = people.take(np.array([1]))
    assert len(alone.linked["visits"]) == 2
    assert alone.linked["visits"].n_shared == 0


def test_people_are_taken_with_all_that_is_theirs_in_any_order_and_as_often_as_asked():
    people = clinic()
    turned = people.take(np.array([2, 1, 0, 2]))
    assert turned.own.column("age").tolist() == [50, 40, 30, 50]
    assert turned.keys["patient"].tolist() == [2, 1, 0, 2]
    assert turned.linked["visits"].sizes.tolist() == [1, 0, 4, 1]
    assert of_person(turned, 0) == of_person(turned, 3) == of_person(people, 2)
    np.testing.assert_array_equal(of_person(turned, 2), of_person(people, 0))
    nobody = people.take(np.array([], dtype=np.int64))
    assert (len(nobody), len(nobody.linked["visits"])) == (0, 0)


def test_joined_people_keep_their_rows():
    people, other = clinic(), clinic(person=(1,), row=(0,), ages=(20, 25))
    both = people.joined(other)
    assert both.linked["visits"].sizes.tolist() == [4, 0, 1, 0, 1]
    assert of_person(both, 4) == of_person(other, 1) == [[3, 1]]
    np.testing.assert_array_equal(of_person(both, 0), of_person(people, 0))
    assert both.keys["patient"].tolist() == [0, 1, 2, 0, 1]


def test_people_are_equal_where_their_own_row_and_the_sets_of_their_rows_are():
    people = clinic(person=(0, 0, 1, 1, 2), row=(0, 1, 1, 0, 4), ages=(30, 30, 30))
    hashes = people.person_hash()
    assert hashes[0] == hashes[1] != hashes[2]
    older = clinic(person=(0, 0, 1, 1, 2), row=(0, 1, 1, 0, 4), ages=(30, 31, 30)).person_hash()
    assert older[0] == hashes[0]
    assert older[1] != older[0]
    assert people.take(np.array([2, 0])).person_hash().tolist() == hashes[[2, 0]].tolist()
    nothing = clinic(person=(), row=(), ages=(30,)).person_hash()
    assert nothing[0] != hashes[0]


def test_a_row_that_stands_twice_is_not_a_row_that_stands_once():
    twice = Table(schema=DAYS.schema, values=DAYS.values[[0, 0, 0]])
    rows = LinkedRows.of(twice, np.array([0, 0, 1]), np.arange(3), 2)
    assert rows.set_hash()[0] != rows.set_hash()[1]


def test_a_table_of_keys_alone_tells_how_many():
    none = Table(schema=Schema(()), values=np.zeros((3, 0)))
    rows = LinkedRows.of(none, np.array([1, 1, 0]), np.arange(3), 2)
    assert rows.sizes.tolist() == [1, 2]
    assert rows.set_hash()[0] != rows.set_hash()[1]


def test_a_split_has_the_same_tables_and_somebody_in_train_and_in_the_release():
    people = clinic()
    nobody = people.take(np.array([], dtype=np.int64))
    split = LinkedSplit(train=people, control=nobody, synthetic=people)
    assert len(split.control) == 0
    assert split.own.train is people.own
    assert split.select([]).train.linked == {}
    with pytest.raises(SchemaError, match="synthetic database has nobody"):
        LinkedSplit(train=people, control=people, synthetic=nobody)
    with pytest.raises(SchemaError, match="control must have the tables and schemas"):
        LinkedSplit(train=people, control=people.select([]), synthetic=people)


@pytest.mark.parametrize(
    ("links", "line"),
    [
        ((), "linked: no table is linked; a table alone is audited without --tables."),
        ((VISITS, VISITS), "linked.visits: the table stands there twice."),
        (
            (Link(table="drugs", key="visit", through="visit", on="visit"), VISITS),
            "linked.drugs: no table 'visit'. Did you mean 'visits'?",
        ),
        (
            (
                Link(table="a", key="b", through="b", on="b"),
                Link(table="b", key="a", through="a", on="a"),
            ),
            "linked.a: its path leads in a circle (b, a), to nobody.",
        ),
        (
            (Link(table="a", key="day", through="patients", on="patient", order="day"),),
            "linked.a: column 'day' is a key and cannot be the order.",
        ),
    ],
)
def test_links_that_cannot_be_are_refused(links, line):
    with pytest.raises(TabveilError) as refused:
        Linkage(person="patients", key="patient", links=links)
    assert str(refused.value) == line
