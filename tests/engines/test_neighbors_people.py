"""The nearest people, against the plainest way to find them."""

import numpy as np
import pytest
from supplies.people_with_rows import people

from tabveil.engines import neighbors
from tabveil.engines.neighbors import NearPeople, Neighbors, Space


def plainly(engine, table, queries, n_people, *, of_others=False):
    """Go through all rows of the table, nearest first, and keep the first of each person."""
    near = engine.nearest(queries, len(table))
    found = []
    for place, order in enumerate(near.index):
        seen = {table.people[place]} if of_others else set()
        kept = [row for row in order if not (table.people[row] in seen or seen.add(table.people[row]))]
        found.append(kept[:n_people])
    return np.array(found)


@pytest.mark.parametrize("many", [1, 5, 200])
@pytest.mark.parametrize("spread", [0.0, 0.3])
def test_the_nearest_rows_of_the_nearest_people(monkeypatch, spread, many):
    monkeypatch.setattr(neighbors, "MANY_ROWS", many)  # few, most or all are searched apart
    rng = np.random.default_rng(3)
    table, queries = people(25, rng, spread=spread), people(9, rng)
    space = Space.gower(table.schema)
    engine, near = Neighbors(space, table), NearPeople(space, table)
    for n in (1, 3, 25):
        found = near.nearest(queries, n)
        assert found.index.tolist() == plainly(engine, table, queries, n).tolist()
        whole = engine.nearest(queries, len(table))
        ranked = np.take_along_axis(whole.distance, np.argsort(whole.index, axis=1), axis=1)
        assert found.distance.tolist() == np.take_along_axis(ranked, found.index, axis=1).tolist()
    others = near.nearest_other(2).index
    assert others.tolist() == plainly(engine, table, table, 2, of_others=True).tolist()


def test_only_people_with_very_many_rows(monkeypatch):
    monkeypatch.setattr(neighbors, "MANY_ROWS", 0)
    table = people(3, np.random.default_rng(0))
    near = NearPeople(Space.gower(table.schema), table).nearest_other(2)
    assert near.index.shape == (len(table), 2)


def test_equal_rows_of_others_are_near_whoever_stands_first():
    table = people(3, np.random.default_rng(0), most=1)
    table = table.take(np.array([0, 0, 0]))
    table = type(table)(schema=table.schema, values=table.values, people=np.array([2, 0, 1]))
    near = NearPeople(Space.gower(table.schema), table).nearest_other()
    assert near.distance.tolist() == [[0.0]] * 3
    assert all(table.people[other] != own for (other,), own in zip(near.index, table.people, strict=True))
