"""How far other people are, where some have several rows."""

import numpy as np
import pytest
from supplies.populations import VISITS, visits

from tabveil.core.table import Table
from tabveil.engines import neighbors
from tabveil.engines.neighbors import Neighbors, Space, to_others


def compared(table, n_others):
    """Compare every row with all rows of others."""
    space, found = Space.gower(table.schema), []
    for row, person in enumerate(table.people):
        others = table.take(np.flatnonzero(table.people != person))
        near = Neighbors(space, others).nearest(table.take(np.array([row])), min(n_others, len(others)))
        found.append([near.distance[0, 0], near.distance[0].mean()])
    return np.array(found)


@pytest.mark.parametrize("most_asked", [neighbors.MOST_ASKED, 20, 0])
@pytest.mark.parametrize(("n_people", "most"), [(2, 3), (2, 40), (9, 30), (40, 1)])
def test_own_rows_are_no_neighbors(monkeypatch, n_people, most, most_asked):
    monkeypatch.setattr(neighbors, "MOST_ASKED", most_asked)
    values, people = visits(n_people, np.random.default_rng(n_people), most=most)
    table = Table(schema=VISITS, values=values, people=people)
    np.testing.assert_allclose(to_others(Space.gower(VISITS), table), compared(table, 5))


def test_an_equal_row_of_somebody_else_is_at_no_distance():
    values = np.zeros((6, len(VISITS)))
    values[4:, 0] = 30
    table = Table(schema=VISITS, values=values, people=np.array([0, 0, 0, 1, 1, 0]))
    assert to_others(Space.gower(VISITS), table)[:, 0].tolist() == [0, 0, 0, 0, 0, 0]
