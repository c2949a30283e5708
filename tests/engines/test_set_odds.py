"""How much what people have in common weighs: by hand, and against the plainest way to compute it."""

from itertools import pairwise

import numpy as np
import pytest
from engines.test_set_distance import people
from supplies.linked_people import databases

from tabveil.core.table import Categorical
from tabveil.engines import set_odds_kernels
from tabveil.engines.set_distance import ranks
from tabveil.engines.set_odds import CHANCE, WeighedPeople

MISS = float(np.log(CHANCE))


def all_odds(given):
    everybody = np.arange(len(given))
    return np.concatenate([found for _, found in WeighedPeople.of(given).odds(everybody, everybody)])


def same(share):
    """What it weighs that a number agrees which this share has."""
    return np.log((1 - CHANCE) / (share * (1 - np.log(share))) + CHANCE)


def test_what_is_rare_weighs_more():
    found = all_odds(people([[]] * 4, ages=[30.0, 30.0, 30.0, 50.0]))
    assert found[0, 1] == pytest.approx(same(3 / 4), abs=1e-5)
    assert found[3, 3] == pytest.approx(same(1 / 4), abs=1e-5)
    assert found[3, 3] > found[0, 1] > found[0, 3]


def test_nearer_numbers_weigh_more_and_a_missing_one_is_as_by_chance():
    found = all_odds(people([[]] * 5, ages=[10.0, 20.0, 30.0, 90.0, float("nan")]))
    assert found[0, 0] > found[0, 1] > found[0, 2] == found[0, 3] > found[0, 4]  # half of all are nearer
    assert found[0, 4] == pytest.approx(MISS, abs=1e-5)
    assert found[4, 4] == pytest.approx(same(1 / 5), abs=1e-5)


def test_rows_are_compared_in_their_order_where_they_have_one():
    events = [[(1, 0), (2, 1)], [(1, 1), (2, 0)]]
    ordered, as_sets = (all_odds(people(events, order=order)) for order in ("day", None))
    assert ordered[0, 0] > ordered[0, 1]  # at each place another kind
    assert as_sets[0, 0] > as_sets[0, 1] > ordered[0, 1] - 1e-5  # where the day is a column like others


def test_a_row_without_a_counterpart_weighs_as_a_cell_that_differs():
    found = all_odds(people([[(1, 0), (2, 0)], [(1, 0)], []]))
    own = same(1.0)
    assert found[1, 2] == pytest.approx(own + MISS, abs=1e-5)
    assert found[2, 0] == pytest.approx(own + 2 * MISS, abs=1e-5)
    assert found[2, 2] == pytest.approx(own, abs=1e-5)
    assert found[0, 1] == pytest.approx(found[1, 1] + MISS, abs=1e-5)


def plainly(given):
    """Weigh everybody against everybody, pair by pair, with loops that need no explanation."""
    total = np.zeros((len(given), len(given)))
    tables = [(given.own, np.arange(len(given) + 1), True, -np.inf)]
    for name, linked in given.linked.items():
        ordered = given.linkage[name].order is not None
        tables.append((linked.table.take(linked.rows), linked.starts, ordered, MISS))
    for table, starts, ordered, least in tables:
        weights = np.zeros((len(table), len(table)))
        for column in table.schema.columns:
            cells = np.nan_to_num(table.column(column.name), nan=-1e9)
            share = (cells[:, None] == cells[None, :]).mean(axis=1)[:, None]
            if isinstance(column, Categorical):
                agree = np.log((1 - CHANCE) / share + CHANCE)
                weights += np.where(cells[:, None] == cells[None, :], agree, MISS)
            else:
                places = ranks(table.column(column.name))
                apart = np.abs(places[:, None] - places[None, :])
                near = (1 - CHANCE) / (1 - np.log(share)) / np.minimum(2 * apart + share, 1)
                weights += np.log(np.where(apart < 1, near, 0) + CHANCE)
        weights = np.maximum(weights, least)
        for i, (a, b) in enumerate(pairwise(starts)):
            for j, (c, d) in enumerate(pairwise(starts)):
                found = weights[a:b, c:d]
                if ordered:
                    total[i, j] += np.trace(found) + MISS * abs(b - a - d + c)
                else:
                    both = found.max(axis=1, initial=MISS).sum() + found.max(axis=0, initial=MISS).sum()
                    total[i, j] += both / 2
    return total


@pytest.mark.parametrize("order", ["day", None])
def test_as_the_plainest_way_says(order, monkeypatch):
    monkeypatch.setattr(set_odds_kernels, "CHUNK", 8)
    given = databases(40).train
    if order is None:
        rng = np.random.default_rng(0)
        sets = [
            [(float(day), float(rng.integers(3))) for day in rng.integers(0, 9, rng.integers(0, 4))]
            for _ in range(30)
        ]
        given = people(sets, ages=rng.integers(20, 60, 30).astype(float).tolist(), order=None)
    assert np.abs(all_odds(given) - plainly(given)).max() < 1e-3


def test_people_cost_as_much_as_pairs_of_rows_are_weighed():
    events = [[(1, 0), (2, 1), (3, 1), (4, 2)]]
    ordered, as_sets = (WeighedPeople.cost(people(events, order=order)) for order in ("day", None))
    assert ordered == 81 + 4 * 82
    assert as_sets == 81 + 16 * 82
