"""What a report tells of linked tables: how they hang together, sizes, and nothing about few people."""

import numpy as np
import pytest
from supplies.linked_people import databases

from tabveil.auditing.overview import LinkedOverview, overview, pairs_of_tables, quantiles
from tabveil.tables.linked.summaries import people_tables


@pytest.fixture(scope="module")
def people():
    return people_tables(databases(60)).split


def test_tables_hang_together_as_the_links_say(people):
    found = overview(people)
    own, visits = found.tables
    assert (own.name, own.through, own.columns) == ("patients", None, ("born", "sex", "town", "weight"))
    assert (visits.through, visits.key, visits.order, visits.depth) == ("patients", "patient", "day", 1)
    assert found.table_of("visits: rows") == "visits"
    assert found.table_of("sex") == "patients"
    assert LinkedOverview.from_json(found.to_json()) == found


def test_sizes_are_those_of_the_people(people):
    train = overview(people).tables[1].sizes[0]
    rows = databases(60).train.linked["visits"]
    assert train.rows == len(rows)
    assert train.mean == pytest.approx(rows.sizes.mean())
    assert train.without in {None, int((rows.sizes == 0).sum())}


def test_a_quantile_is_told_where_ten_people_lie_on_either_side():
    assert quantiles(np.array([3])) == (None, None, None)
    assert quantiles(np.repeat([1, 2], 10)) == (None, 1, None)
    assert quantiles(np.repeat([1, 2], 50)) == (1, 1, 2)
    huge = np.array([1] * 99 + [100_000])
    assert quantiles(huge) == (1, 1, 1)


def test_tables_that_are_not_linked_have_no_overview_and_no_pairs(people):
    plain = people.select(["born", "sex"])
    assert overview(plain) is None
    assert pairs_of_tables(plain.train) == ()


def test_linkability_is_asked_about_each_table_against_the_others(people):
    own, mixed = pairs_of_tables(people.train)
    assert own[0] == ("born", "sex", "town", "weight")
    assert own[1][0] == "visits: rows"
    assert set(own[1]).isdisjoint(own[0])
    assert set(mixed[0]) | set(mixed[1]) == set(people.schema.names)
    assert set(mixed[0]).isdisjoint(mixed[1])
