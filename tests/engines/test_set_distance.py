"""How far people are from each other: by hand, and against the plainest way to compute it."""

import numpy as np
import pytest
from supplies.linked_people import databases

from tabveil.core.linked import Link, Linkage, LinkedRows, LinkedTables
from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.engines import set_distance_kernels
from tabveil.engines.set_distance import GAPS, OWN, ROWS, STRUCTURE, ComparedPeople, gaps_of, views

LINK = Link(table="events", key="p", through="people", on="p", order="day")
LINKAGE = Linkage(person="people", key="p", links=(LINK,))


def people(sets, *, ages=None, order="day"):
    """People with events of a day and a kind."""
    link = Link(table="events", key="p", through="people", on="p", order=order)
    own = Table(
        schema=Schema((Numeric(name="age", low=0, high=99),)),
        values=np.array(ages or [0.0] * len(sets))[:, None],
    )
    columns = (Numeric(name="day", low=0, high=99), Categorical(name="kind", labels=("a", "b", "c")))
    rows = [event for events in sets for event in events]
    whose = np.repeat(np.arange(len(sets)), [len(events) for events in sets])
    table = Table(schema=Schema(columns), values=np.array(rows, dtype=float).reshape(-1, 2))
    events = LinkedRows.of(table, whose, np.arange(len(rows)), len(sets), order=order)
    return LinkedTables(
        linkage=Linkage(person="people", key="p", links=(link,)), own=own, linked={"events": events}
    )


def all_distances(given):
    everybody = np.arange(len(given))
    blocks = list(ComparedPeople.of(given).distances(everybody, everybody))
    return {part: np.concatenate([found[part] for _, found in blocks]) for part in blocks[0][1]}


def test_sets_are_as_far_apart_as_their_rows_from_the_nearest_on_both_sides():
    # One day only, so that the kind alone tells; without an order there is one way to compare.
    found = all_distances(people([[(1, 0), (1, 1)], [(1, 0)], [(1, 2)], []], order=None))
    rows = found[ROWS, "events"] * 2  # of two columns one differs
    assert rows[0].tolist() == [0, 0.25, 1, 2]  # b has no counterpart: a half one way, nothing the other
    assert rows[1].tolist() == [0.25, 0, 1, 2]
    assert rows[3].tolist() == [2, 2, 2, 0]  # nobody has rows: as far as can be, but from another such


def test_gaps_stay_when_dates_move_and_times_do_not():
    found = all_distances(people([[(1, 0), (3, 0), (9, 0)], [(11, 0), (13, 0), (19, 0)], [(1, 0), (2, 0)]]))
    assert found[GAPS, "events"][0, 1] == 0
    assert found[ROWS, "events"][0, 1] > 0
    assert found[STRUCTURE, "events"][0, 1] == 0
    assert found[STRUCTURE, "events"][0, 2] > 0


def test_the_first_event_has_no_gap():
    rows = people([[(1, 0), (3, 0)], [], [(5, 0)]]).linked["events"]
    assert np.nan_to_num(gaps_of(rows, "day"), nan=-1).tolist() == [-1, 2, -1]


def test_own_rows_are_compared_by_ranks():
    found = all_distances(people([[], [], []], ages=[10.0, 20.0, 90.0]))
    assert found[OWN, "people"][0].tolist() == pytest.approx([0, 1 / 3, 2 / 3])


@pytest.mark.parametrize("chunk", [1, set_distance_kernels.CHUNK])
def test_the_kernel_says_what_the_plainest_way_says(chunk, monkeypatch):
    given = databases(25).train.joined(databases(25).synthetic)
    rows = ComparedPeople.of(given).rows["visits"]
    compare = set_distance_kernels.compare_sets
    monkeypatch.setattr(set_distance_kernels, "CHUNK", chunk)
    starts = given.linked["visits"].starts
    found = np.empty((3, len(given), len(given)), dtype=np.float32)
    every = np.arange(starts[-1])
    python = getattr(compare, "py_func", compare) if chunk == 1 else compare
    if chunk == 1:
        starts = starts[:6]
        found, every = np.empty((3, 5, 5), dtype=np.float32), every[: starts[-1]]
    python(rows.numbers, rows.codes, rows.times, every, starts, every, starts, rows.weights, found)
    for way, weights in enumerate(rows.weights):
        for one in range(5):
            for other in range(5):
                assert found[way, one, other] == pytest.approx(
                    plainly(rows, weights, starts, one, other), abs=1e-5
                )


def plainly(rows, weights, starts, one, other):
    sides = [range(starts[person], starts[person + 1]) for person in (one, other)]
    if not all(map(len, sides)):
        return 0.0 if len(sides[0]) == len(sides[1]) else 1.0

    def cost(a, b):
        values = sum(min(abs(column[a] - column[b]), 1) for column in rows.numbers)
        values += sum(column[a] != column[b] for column in rows.codes)
        times = sum(
            w * min(abs(column[a] - column[b]), 1) for w, column in zip(weights[1:], rows.times, strict=True)
        )
        return weights[0] * values + times

    costs = np.array([[cost(a, b) for b in sides[1]] for a in sides[0]])
    return (costs.min(axis=1).mean() + costs.min(axis=0).mean()) / 2


def test_people_who_have_one_table_and_nothing_else_have_one_view():
    given = databases(25).train.select([])
    assert [view.name for view in views(ComparedPeople.of(given), "patients")] == ["own row"]
    names = [view.name for view in views(ComparedPeople.of(databases(25).train), "patients")]
    assert names == [
        "own row and linked rows",
        "linked rows",
        "own row",
        "linked rows by the gaps between events",
        "numbers and times of rows alone",
    ]
