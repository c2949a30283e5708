"""Searches without a column that were made before answer as new ones would."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.core.workers import sharing
from tabveil.engines.neighbors import NeighborsWithout, Space
from tabveil.engines.neighbors.shared_without import SharedWithout

SCHEMA = Schema(
    (
        Categorical(name="town", labels=("a", "b", "c")),
        Numeric(name="age", low=0, high=9, decimals=0),
        Numeric(name="size", low=0, high=9, decimals=0),
    )
)
SPACE = Space.gower(SCHEMA)
PARTS = [Space.gower(SCHEMA.select([n for n in SCHEMA.names if n != gone])) for gone in SCHEMA.names]


def table(rng, n):
    return Table(schema=SCHEMA, values=np.column_stack([rng.integers(0, k, n) for k in (3, 10, 10)]) + 0.0)


@pytest.fixture
def searched(monkeypatch):
    """How many spaces each search was for."""
    made, search = [], NeighborsWithout.nearest

    def nearest(self, queries, among=None):
        made.append(len(self.spaces))
        return search(self, queries, among)

    monkeypatch.setattr(NeighborsWithout, "nearest", nearest)
    return made


def test_who_is_nearest_is_searched_for_once_and_lots_are_drawn_anew(searched):
    rng = np.random.default_rng(0)
    release, people = table(rng, 200), table(rng, 100)
    alone = NeighborsWithout(SPACE, release, PARTS).nearest(people)
    with sharing(seed=0):
        for _ in range(2):
            again = Table(schema=SCHEMA, values=people.values.copy())
            found = SharedWithout(SPACE, release, PARTS).nearest(again)
            orders = [rng.permutation(200) for _ in PARTS]
            np.testing.assert_array_equal(found.distance, alone.distance)
            np.testing.assert_array_equal(found.first(orders), alone.first(orders))
    assert searched == [3, 3]


def test_rows_that_stand_otherwise_are_searched_among_anew(searched):
    rng = np.random.default_rng(1)
    release, people = table(rng, 200), table(rng, 100)
    turned, orders = release.take(np.arange(200)[::-1]), [np.arange(200)] * 3
    with sharing(seed=0):
        for rows in (release, turned, release.take(rng.integers(0, 200, 200))):
            found = SharedWithout(SPACE, rows, PARTS).nearest(people)
            alone = NeighborsWithout(SPACE, rows, PARTS).nearest(people)
            np.testing.assert_array_equal(found.first(orders), alone.first(orders))
        few = SharedWithout(SPACE, release, PARTS[:2]).nearest(people)  # other spaces, another question
        assert few.distance.shape == (100, 2)


def test_nothing_is_kept_where_nothing_is_shared(searched):
    rng = np.random.default_rng(3)
    release, people = table(rng, 50), table(rng, 20)
    for _ in range(2):
        SharedWithout(SPACE, release, PARTS).nearest(people)
    assert searched == [3, 3]
