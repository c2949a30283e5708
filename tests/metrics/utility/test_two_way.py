"""Tables of two columns: counts by hand, and nobody can be found in them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from supplies.populations import split

from tabveil.core.estimate import Estimate
from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.metrics.utility import Figure
from tabveil.metrics.utility.pairs import ChangedPair
from tabveil.metrics.utility.two_way import two_way, unshown

NAN = np.nan
PAIR = ChangedPair(
    columns=("a", "b"),
    variation=Figure(value=Estimate(value=0.5, low=0.4, high=0.6, n=9), reference=None),
    alone=0.1,
)
SCHEMA = Schema((Categorical(name="a", labels=tuple("xyz")), Categorical(name="b", labels=("m", "n"))))


def cells(counts):
    return [[a, b] for (a, b), n in counts.items() for _ in range(n)]


def test_shares_of_all_rows_by_hand():
    train = cells({(0, 0): 30, (1, 1): 20})
    control = cells({(0, 0): 10, (0, 1): 20, (1, 0): 20})
    found = two_way(split(SCHEMA, train, control, cells({(0, 0): 1, (1, 1): 3})), PAIR)
    assert [bar.label for bar in found.down] == ["x", "y"]  # nobody has z
    assert [bar.label for bar in found.across] == ["m", "n"]
    assert found.real == ((0.4, 0.2), (0.2, 0.2))
    assert found.synthetic == ((0.25, 0), (0, 0.75))
    assert (found.down[0].real, found.down[0].synthetic) == pytest.approx((0.6, 0.25))


def test_nine_people_are_not_shown_and_cannot_be_computed():
    real = cells({(0, 0): 50, (0, 1): 9, (1, 0): 40, (1, 1): 30, (2, 0): 20, (2, 1): 60})
    found = two_way(split(SCHEMA, real, [], real), PAIR)
    assert [bar.label for bar in found.down] == ["z", "y", "x"]
    shown = np.array(found.real)
    assert np.isnan(shown).tolist() == [[True, True], [False, False], [True, True]]
    assert np.array_equal(np.isnan(found.synthetic), np.isnan(shown))


def test_nobody_is_shown_as_nobody():
    real = cells({(0, 0): 50, (1, 1): 50})
    found = two_way(split(SCHEMA, real, [], cells({(0, 1): 5})), PAIR)
    assert found.real == ((0.5, 0), (0, 0.5))
    assert found.synthetic == ((0, 1), (0, 0))


def test_labels_of_few_and_their_pool_are_no_level():
    real = cells({(0, 0): 50, (1, 1): 50, (2, 0): 9})
    found = two_way(split(SCHEMA, real, [], real), PAIR)
    assert [(bar.kind, bar.label) for bar in found.down] == [("label", "x"), ("label", "y")]
    # who has m and neither x nor y: 9, the column's total less what is shown of it; so x and m is not shown
    assert np.isnan(found.real[0][0])


def test_people_are_counted_and_not_their_rows():
    real = cells({(0, 0): 60, (1, 1): 60})
    tables = split(SCHEMA, real, [], real)
    few = np.concatenate([np.arange(60), 60 + np.arange(60) % 9])  # nine people have y and n
    tables = replace(tables, train=replace(tables.train, people=few))
    assert np.isnan(two_way(tables, PAIR).real[1][1])
    enough = replace(tables.train, people=np.concatenate([np.arange(60), 60 + np.arange(60) % 10]))
    assert two_way(replace(tables, train=enough), PAIR).real[1][1] == 0.5


def test_numbers_stand_in_round_ranges_and_missing_beside_them():
    schema = Schema((Numeric(name="a", low=0, high=99, decimals=0), SCHEMA["b"]))
    real = [[NAN if i % 4 == 0 else i % 100, i % 2] for i in range(1000)]
    found = two_way(split(schema, real, [], real), PAIR)
    edges = [bar.high for bar in found.down if bar.kind == "range"][:-1]
    assert 2 <= len(edges) <= 5
    assert all(edge % 2 == 0 or edge % 5 == 0 for edge in edges)
    assert found.down[-1].kind == "missing"
    assert found.down[-1].real == 0.25
    assert np.nansum(found.real) == pytest.approx(1)


def test_odd_tables_have_a_table():
    for real in ([[0, 0]], [[NAN, NAN]] * 30, [[0, NAN]] * 12):
        found = two_way(split(SCHEMA, real, [], real), PAIR)
        assert len(found.real) == len(found.down)
        assert all(len(row) == len(found.across) for row in found.real)


counts = st.one_of(st.integers(0, 30), st.just(0), st.integers(1, 9))


@given(
    people=st.tuples(st.integers(2, 5), st.integers(2, 5)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=counts)
    )
)
@settings(max_examples=200, deadline=None)
def test_no_cell_of_few_follows_from_the_others(people):
    down, across = (np.ones(n, dtype=bool) for n in people.shape)
    hidden = unshown(people.copy(), down, across)
    assert hidden[(people > 0) & (people < 10)].all()
    for table, out in ((people, hidden), (people.T, hidden.T)):
        for line, left in zip(table, out, strict=True):
            unknown = line[left & (line > 0)]
            assert len(unknown) == 0 or (len(unknown) > 1 and unknown.sum() >= 10) or left[line > 0].all()
