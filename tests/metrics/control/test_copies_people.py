"""Whose equal rows are: copies and the check of the control, where people have several rows."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from supplies.people_with_rows import one_row_each, people, repeated, unknown, visits
from supplies.populations import split

from tabveil.core.people import Holders, any_of_person, count_sharers_once, rows_worth
from tabveil.core.sampling import group_equal_rows
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.metrics.control import check_control
from tabveil.metrics.control.copies import copies
from tabveil.metrics.control.shared_rows import HeldRows

LINE = Schema((Numeric(name="x", low=0, high=1000),))


def rng(seed=0):
    return np.random.default_rng(seed)


def on_a_line(values, whose):
    return Table(schema=LINE, values=np.array(values, dtype=float).reshape(-1, 1), people=np.array(whose))


def line(train, control, release):
    """Make tables of numbers from pairs of a number and its person."""
    real = [on_a_line(*zip(*side, strict=True)) for side in (train, control)]
    return Split(train=real[0], control=real[1], synthetic=split(LINE, [0], [0], release).synthetic)


def held(tables):
    groups = group_equal_rows(tables.train, tables.control)
    return Holders.of(tables, groups, 1 + max(int(group.max()) for group in groups))


SHARED = line([(1, 0), (1, 0), (2, 0), (2, 1), (3, 1)], [(1, 5), (4, 5), (4, 5), (4, 6)], [1, 2, 4, 9])


def test_a_row_is_held_by_people_and_each_counts_once():
    found = held(SHARED)  # 1, 2, 3 and 4, in some order
    assert (found.n_train, found.n_control) == (2, 2)
    assert sorted(zip(found.train.tolist(), found.control.tolist(), strict=True)) == [
        (0, 2),
        (1, 0),
        (1, 1),
        (2, 0),
    ]
    assert found.train[found.owner >= 2].tolist() == [0]  # 4 is nobody's of train
    assert found.by_owner(np.ones(4)).tolist() == [2, 1, 1, 0, 0]  # 1 and 2 are the first's, 3 the second's
    assert sum(found.commonest[0]) == sum(found.commonest[1]) == 2  # one row each


def test_sharers_count_once():
    groups = group_equal_rows(SHARED.train, SHARED.control)
    joined, kept = count_sharers_once(SHARED, groups)
    assert (joined.train.n_people, joined.control.n_people) == (
        1,
        1,
    )  # 2 links all of train, 4 all of control
    assert all(np.array_equal(now, before) for now, before in zip(kept, groups, strict=True))
    assert set(joined.train.people).isdisjoint(joined.control.people)
    different, _ = count_sharers_once(unknown(SHARED), groups)
    assert (len(different.train), len(different.control)) == (3, 2)


def test_rows_are_worth_people():
    assert rows_worth(people(9, rng(), most=1)) == 9
    assert rows_worth(repeated(people(9, rng(), most=1), 5)) == 9
    assert any_of_person(np.array([False, True, True]), None).tolist() == [False, True, True]


# Copies


def test_copies_by_hand():
    # Person 0 has two rows, both copied, person 1 one that is not; 4 is a control person's. One of two people
    # of each side is exchanged for one: all gain one, and 4 brings one match.
    found = copies(line([(1, 0), (2, 0), (3, 1)], [(4, 5), (5, 6)], [1, 2, 4, 9]), rng=rng())
    assert (found.equal_train, found.equal_control) == (2, 1)
    assert found.share.value == pytest.approx((2 - 1) / 4)
    assert (found.people, found.people_expected) == (1, 1)
    assert found.n_train == 3


def test_a_persons_own_rows_explain_nothing():
    # Exchanged for the control person, person 0 takes both equal rows along: 1 loses its match, and counts.
    tables = line([(1, 0), (1, 0), (3, 1), (5, 2)], [(8, 9)], [1, 9])
    assert copies(tables, rng=rng()).share.value == pytest.approx(1 / 2)
    assert copies(unknown(tables), rng=rng()).share.value == 0  # the twin would explain it


def test_one_row_each_counts_as_every_row_another_person():
    tables = visits(80, 50, leak=0.3, most=1, seed=2)
    tables = Split(
        **{
            role: replace(table, values=np.round(table.values), people=None)
            for role, table in (
                ("train", tables.train),
                ("control", tables.control),
                ("synthetic", tables.synthetic),
            )
        }
    )
    named = one_row_each(tables, rng(4))
    first, second = copies(tables, rng=rng()), copies(named, rng=rng())
    assert first.equal_control > 0
    assert second.near.share.low == pytest.approx(first.near.share.low)
    assert second.share.low == pytest.approx(first.share.low)
    assert (
        replace(second, share=first.share, near=first.near, p_value=first.p_value, expected=first.expected)
        == first
    )


def test_people_and_not_rows_are_what_chance_deals():
    # Five of a hundred people are copied, with twenty rows each: dealt at random, all five fall to train in
    # one of 32 ways. A hundred rows would be beyond all chance.
    train = [(10 * row, row // 20) for row in range(100)] + [(5000 + 10 * row, 5 + row) for row in range(95)]
    control = [(9000 + 10 * row, 200 + row) for row in range(100)]
    schema = Schema((Numeric(name="x", low=0, high=20_000),))
    values = [replace(on_a_line(*zip(*side, strict=True)), schema=schema) for side in (train, control)]
    release = Table(schema=schema, values=values[0].values[:100])
    tables = Split(train=values[0], control=values[1], synthetic=release)
    found = copies(tables, rng=rng())
    assert found.p_value == pytest.approx(1 / 32)
    assert (found.people, found.share.value) == (5, 1)
    assert found.share.low < 0
    assert copies(unknown(tables), rng=rng()).p_value < 1e-15


def test_near_rows_of_one_person_are_one_event_and_their_twins_no_other_person():
    tables = visits(200, 200, leak=0.1, seed=1, most=8)
    moved = replace(tables, synthetic=replace(tables.synthetic, values=tables.synthetic.values + 1e-6))
    found = copies(moved, rng=rng())
    assert found.equal_train == 0
    assert found.near.seen(0.001)
    assert found.near.share.value == pytest.approx(0.1, abs=0.04)
    assert found.near.rate > copies(unknown(moved), rng=rng()).near.rate  # people tell less than rows
    fresh = visits(200, 200, seed=1, most=8)
    assert not copies(fresh, rng=rng()).near.seen(0.025)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 20), (20, 1)])
def test_copies_of_one_person_are_never_sure(sizes):
    tables = visits(*sizes, leak=1.0, most=20, seed=3)
    found = copies(tables, rng=rng())
    assert found.people == sizes[0]
    assert sizes == (20, 1) or not found.seen(0.025)


# The check of the control


def test_rows_of_one_person_are_no_difference_between_tables():
    refused = {True: 0, False: 0}
    for seed in range(12):
        tables = visits(60, 60, seed=seed)
        refused[True] += bool(check_control(tables, rng=rng(seed)).fails)
        refused[False] += bool(check_control(unknown(tables), rng=rng(seed)).fails)
    assert refused[True] == 0
    assert refused[False] >= 10  # whoever ignores people would refuse nearly every control


def test_other_people_are_still_seen():
    tables = visits(150, 150, seed=0)
    moved = tables.control.values + np.array([1.0, 0, 0, 0])
    found = check_control(replace(tables, control=replace(tables.control, values=moved)), rng=rng())
    assert found.columns[0] == "x0"


def test_shared_rows_are_compared_with_all_ways_to_deal_people():
    # People who have rows in common, some twice.
    whose = np.array([0, 0, 1, 1, 1, 2, 3, 3, 4, 5, 5, 6])
    values = np.array([1, 2, 1, 2, 2, 3, 3, 4, 5, 5, 6, 7])
    everybody = on_a_line(values, whose)

    def dealt(control):
        return [everybody.take(np.flatnonzero(np.isin(whose, control) == side)) for side in (False, True)]

    def shared(train, control):
        return int(np.isin(control.values, train.values).sum())

    by_chance = np.array([shared(*dealt(control)) for control in combinations(range(7), 3)])
    for control in ([1, 3, 6], [0, 1, 2], [4, 5, 6]):
        tables = dealt(control)
        groups = group_equal_rows(*tables)
        found = HeldRows(*tables, groups)
        assert found.expected_shared() == pytest.approx(by_chance.mean())
        exact = np.mean(by_chance >= shared(*tables))
        assert found.shared_chance(rng=rng()) == pytest.approx(exact, abs=0.05)


def test_a_control_of_the_same_people_under_other_numbers_is_refused():
    tables = visits(30, 30, seed=0)
    same = replace(tables.train, people=tables.train.people + 100)
    found = check_control(replace(tables, control=same), rng=rng())
    assert found.same
    part = Table(
        schema=same.schema,
        values=np.concatenate([tables.control.values, same.values[same.people < 115]]),
        people=np.concatenate([tables.control.people, same.people[same.people < 115] + 500]),
    )
    found = check_control(replace(tables, control=part), rng=rng())
    assert "part of the control was trained on" in found.fails[0]


def test_two_people_alike_are_no_shared_control():
    # Twins whose twenty rows are equal were parted: that happens in every second split.
    tables = visits(40, 40, seed=5, most=3)
    twin = np.tile(np.arange(20.0), (4, 1)).T / 10
    twin[:, 3] = 0
    train, control = (
        Table(
            schema=side.schema,
            values=np.concatenate([side.values, twin]),
            people=np.concatenate([side.people, np.full(20, number)]),
        )
        for side, number in ((tables.train, 900), (tables.control, 901))
    )
    parted = Split(train=train, control=control, synthetic=tables.synthetic)
    assert check_control(parted, rng=rng()).shared_chance > 0.1
    assert check_control(unknown(parted), rng=rng()).shared_chance <= 0.002
    assert not held(parted).train.max() > 1
    assert not check_control(parted, rng=rng()).kept_together


@pytest.mark.parametrize("sizes", [(1, 1), (1, 20), (20, 1)])
def test_a_control_of_one_person_is_not_refused(sizes):
    tables = visits(*sizes, most=40, seed=1)
    assert not check_control(tables, rng=rng()).fails


def test_an_empty_control_may_have_no_people():
    tables = visits(5, 1, seed=1)
    empty = replace(tables, control=tables.control.take(np.array([], dtype=int)))
    for each in (empty, replace(empty, control=replace(empty.control, people=None))):
        assert check_control(each, rng=rng()).fails == ()
        assert copies(each, rng=rng()).share is None
