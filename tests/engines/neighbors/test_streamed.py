"""A search by parts finds what a search of all rows finds, to the last bit."""

import numpy as np
import pytest
from supplies.spaces import KINDS, SHAPES, make_space, population

from tabveil.core import memory
from tabveil.core.workers import working
from tabveil.engines.neighbors import NearPeople, Neighbors, streamed, to_others

SMALL = 1 << 28


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_parts_find_what_all_rows_find(monkeypatch, shape, kind):
    rows = population(shape, 320, seed=1)
    reference, queries = rows.take(np.arange(200)), rows.take(np.arange(150, 320))
    space = make_space(kind, reference)
    expected = [Neighbors(space, reference).nearest(queries, k) for k in (1, 3, 60)]
    other = Neighbors(space, reference).nearest_other(2)
    monkeypatch.setattr(streamed, "rows_at_once", lambda n_rows, _: 37 if n_rows > 37 else None)
    for k, whole in zip((1, 3, 60), expected, strict=True):
        found = Neighbors(space, reference).nearest(queries, k)
        assert np.array_equal(found.distance, whole.distance)
        assert np.array_equal(found.index, whole.index)
    found = Neighbors(space, reference).nearest_other(2)
    assert np.array_equal(found.distance, other.distance)
    assert np.array_equal(found.index, other.index)


def test_people_and_crowding_are_the_same_by_parts(monkeypatch):
    rows = population(SHAPES["heavy ties"], 240, seed=2)
    rows = type(rows)(schema=rows.schema, values=rows.values, people=np.arange(240) // 3)
    space = make_space("gower", rows)

    def found():
        near = NearPeople(space, rows).nearest_other(3)
        return near.distance, near.index, to_others(space, rows)

    expected = found()
    monkeypatch.setattr(streamed, "rows_at_once", lambda n_rows, _: 37 if n_rows > 37 else None)
    for here, there in zip(expected, found(), strict=True):
        assert np.array_equal(here, there)


def test_parts_are_as_large_as_what_is_left(monkeypatch):
    monkeypatch.setattr(memory, "taken", lambda: SMALL // 2)
    assert streamed.rows_at_once(10**9, 12) is None  # nobody bounds it
    with working(memory=SMALL):
        one = streamed.rows_at_once(10**9, 12)
        assert one == SMALL // 4 // (2 * (streamed.A_ROW + 12 * streamed.A_CELL))
        assert streamed.rows_at_once(one, 12) is None
        monkeypatch.setattr(memory, "taken", lambda: SMALL)
        assert streamed.rows_at_once(10**9, 12) == streamed.FEWEST_ROWS


def test_what_is_taken_grows_with_what_is_held():
    before = memory.taken()
    held = np.ones(20_000_000)
    assert memory.taken() - before > 0.9 * held.nbytes
