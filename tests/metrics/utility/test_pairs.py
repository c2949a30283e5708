"""Two columns at once: all pairs compared by hand, and those that differ beyond their columns."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, population, rows, split

from tabveil.core.table import Categorical, Numeric, Schema
from tabveil.errors import NotApplicable
from tabveil.metrics.utility.distances import ComparedTables
from tabveil.metrics.utility.pairs import MOST_DRAWN, compare_pairs

NAN = np.nan
LETTERS = Schema(tuple(Categorical(name=name, labels=("x", "y")) for name in "abc"))


def compared(tables):
    return compare_pairs(
        ComparedTables.of(tables, rng=np.random.default_rng(0)), rng=np.random.default_rng(0)
    )


def test_the_mean_over_pairs_by_hand():
    real = [[0, 0, 0], [1, 1, 0], [0, 0, 1], [1, 1, 1]] * 10  # b is a, c is by itself
    release = [[0, 1, 0], [1, 0, 0], [0, 0, 1], [1, 1, 1]] * 10  # where c is x, b is the other
    found = compared(split(LETTERS, real, real, release))
    # a-b: half of the rows move; a-c: none; b-c: none
    assert found.figure.value.value == pytest.approx((0.5 + 0 + 0) / 3)
    assert found.figure.reference.value == 0
    (pair,) = found.changed
    assert pair.columns == ("a", "b")
    assert (pair.variation.value.value, pair.variation.reference.value, pair.alone) == (0.5, 0, 0)


def test_what_a_column_shows_alone_is_no_pair():
    rng = np.random.default_rng(0)
    real = rng.integers(0, 2, (400, 3))
    release = np.column_stack([np.zeros(400), rng.integers(0, 2, (400, 2))])  # a is always x
    found = compared(split(LETTERS, real, real, release))
    assert found.figure.value.value == pytest.approx(1 / 3, abs=0.1)
    for pair in found.changed:
        assert pair.variation.value.value - pair.alone < 0.1


def test_missing_is_a_level_and_rare_labels_are_one():
    many = Schema(
        (Categorical(name="a", labels=tuple(map(str, range(40)))), Numeric(name="b", low=0, high=9))
    )
    real = [[i % 40, NAN if i % 2 else i % 10] for i in range(200)]
    release = [[i % 40, NAN if i % 2 == 0 else i % 10] for i in range(200)]
    found = compared(split(many, real, real, release))
    # Nine labels keep their own level, and none of their rows stays. Of the other 31, 16 had no number and
    # now have an odd one, and 15 had an even one and now have none.
    assert found.figure.value.value == pytest.approx((9 + (1 + 15 + 16) / 2) / 40)
    assert [pair.columns for pair in found.changed] == [("a", "b")]


def test_a_column_stands_in_two_pictures_at_most():
    rng = np.random.default_rng(1)
    schema = Schema(tuple(Numeric(name=f"x{i}", low=-9, high=9) for i in range(8)))
    hidden = rng.normal(size=(3, 400, 1))
    train, control, release = (np.clip(hidden[i] + rng.normal(size=(400, 8)) / 3, -9, 9) for i in range(3))
    release = np.column_stack([rng.permutation(column) for column in release.T])
    found = compared(split(schema, train, control, release))
    names = [name for pair in found.changed for name in pair.columns]
    assert len(found.changed) == MOST_DRAWN
    assert max(map(names.count, names)) == 2


def test_fresh_rows_have_hardly_a_pair_and_their_reference():
    tables = population("mixed", (600, 600, 600))
    found = compared(tables)
    assert found.figure.value.low == 0
    assert found.figure.value.value == pytest.approx(found.figure.reference.value, abs=0.03)
    assert len(found.changed) <= 1


def test_without_fresh_rows_there_is_no_reference():
    table = rows("mixed", 1, np.random.default_rng(0))
    found = compared(split(SCHEMAS["mixed"], table, table[:0], table))
    assert found.figure.reference is None
    assert found.figure.value.value == 0


def test_one_column_has_no_pairs():
    schema = Schema((Numeric(name="a", low=0, high=9),))
    with pytest.raises(NotApplicable, match="two columns"):
        compared(split(schema, [[1]], [[1]], [[1]]))


def test_many_pairs_are_compared_on_fewer_rows(monkeypatch):
    monkeypatch.setattr("tabveil.metrics.utility.pairs.MOST_CELLS", 0)
    monkeypatch.setattr("tabveil.metrics.utility.pairs.LEAST_SAMPLED", 50)
    assert compared(population("normal", (100, 100, 100))).figure.value.n == 50
