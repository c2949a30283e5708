"""Columns that are learned as one: what few rows share is pooled from the finest column on."""

from collections import Counter

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.workflows.synthesizing.linked import link

HOUSES = ("A", "B", "C", "D", "E")
COUNTIES = ("Kings", "Queens", "Far")


def table(rows):
    """Make a table of houses, their counties and beds from (house, county, beds, how many)."""
    cells = [
        [np.nan if house is None else HOUSES.index(house), COUNTIES.index(county), beds]
        for house, county, beds, n in rows
        for _ in range(n)
    ]
    columns = (
        Categorical(name="house", labels=HOUSES),
        Categorical(name="county", labels=COUNTIES),
        Numeric(name="beds", low=0, high=900, decimals=0),
    )
    return Table(schema=Schema(columns), values=np.array(cells, dtype=float))


def linked(rows, pooled=("other", "other", -1.0), **given):
    made = link(table(rows), [0, 1, 2], pooled, rng=np.random.default_rng(0), **given)
    states = [made.linked.states[int(cell)] for cell in made.cells]
    return made, states


def test_by_hand():
    rows = [
        ("A", "Kings", 100, 12),
        ("B", "Queens", 200, 6),
        ("C", "Queens", 300, 7),
        ("D", "Far", 400, 3),
        ("E", "Kings", 500, 8),
    ]
    made, states = linked(rows)
    assert Counter(states) == {
        ("A", "Kings", 100.0): 12,
        ("other", "Queens", -1.0): 13,  # 6 of B and 7 of C
        (
            "other",
            "other",
            -1.0,
        ): 11,  # 3 of D and the 8 of E, whose county has twenty rows but eight rare ones
    }
    assert made.n_rare == {"house": 4, "county": 1, "beds": 4}
    assert made.n_cells == 24 * 2 + 11


def test_what_is_missing_stays_missing_where_enough_rows_share_it():
    made, states = linked(
        [("A", "Kings", 100, 12), (None, "Queens", 5, 15), (None, "Far", 7, 4), ("B", "Far", 7, 9)]
    )
    assert set(states) == {
        ("A", "Kings", 100.0),
        (None, "Queens", 5.0),
    }  # of the others each pool is too small
    assert states[12:27] == [(None, "Queens", 5.0)] * 15
    assert sorted(made.column.labels) == sorted({*made.column.labels})


def test_rows_for_which_nothing_can_stand_take_those_of_others():
    rows = [("A", "Kings", 100, 40), ("C", "Queens", 300, 20), ("B", "Kings", 200, 5)]
    _, states = linked(rows, pooled=("other", "other", None))
    assert Counter(states) == {("A", "Kings", 100.0): 45, ("C", "Queens", 300.0): 20}  # one of the county


def test_too_few_to_pool_take_those_of_others():
    _, states = linked([("A", "Kings", 100, 40), ("B", "Kings", 200, 5), ("D", "Far", 400, 4)])
    assert all(state == ("A", "Kings", 100.0) for state in states)


def test_so_few_rows_that_nothing_is_known():
    _, states = linked([("A", "Kings", 100, 9)])
    assert set(states) == {(None, None, None)}


def test_all_is_kept_if_asked_for():
    rows = [("A", "Kings", 100, 2), ("B", "Queens", 200, 1)]
    made, states = linked(rows, least=1)
    assert states == [("A", "Kings", 100.0)] * 2 + [("B", "Queens", 200.0)]
    assert made.n_cells == 0


@pytest.mark.parametrize("seed", range(20))
def test_no_state_is_that_of_few_and_coarse_columns_stay(seed):
    """Whatever the counts: brute force over all rows."""
    rng = np.random.default_rng(seed)
    county = rng.integers(0, 3, 5)
    counts = rng.integers(0, 25, 5)
    rows = [(HOUSES[k], COUNTIES[county[k]], 10 * k, int(counts[k])) for k in range(5) if counts[k]]
    if sum(counts) < 10:
        return
    _, states = linked(rows)
    assert all(count >= 10 for count in Counter(states).values()) or len(set(states)) == 1
    known = {(house, place, float(beds)) for house, place, beds, n in rows if n >= 10}
    assert {state for state in states if "other" not in state and None not in state} <= known


def test_rows_come_back():
    rows = [("A", "Kings", 100, 12), ("B", "Queens", 200, 15)]
    made, states = linked(rows)
    again = made.linked.restored(made.cells)
    texts = [
        tuple(column.labels[int(cell)] if isinstance(column, Categorical) else cell for column, cell in row)
        for row in zip(*[[(column, cell) for cell in cells] for column, cells in again], strict=True)
    ]
    assert texts == states
