"""The columns that tell synthetic from real: planted ones are named, in their order, and no others."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows, split

from tabveil.core.table import Numeric, Schema
from tabveil.core.workers import working
from tabveil.metrics.utility.discriminator import MOST_TELLING, discriminate, discriminate_and_name
from tabveil.metrics.utility.distances import ComparedTables


def named(train, control, synthetic, schema=SCHEMAS["mixed"]):
    sides = ComparedTables.of(split(schema, train, control, synthetic), rng=np.random.default_rng(0))
    return discriminate_and_name(
        sides, rng=np.random.default_rng(1), shuffling=np.random.default_rng(2)
    ), discriminate(sides, rng=np.random.default_rng(1))


def drawn(n=800):
    rng = np.random.default_rng(8)
    return [rows("mixed", n, rng) for _ in range(3)]


def test_fresh_rows_name_no_column_and_the_figure_is_that_without_names():
    (figure, telling), alone = named(*drawn())
    assert figure == alone
    assert telling == ()


def test_a_column_that_tells_is_named_and_nothing_is_left_without_it():
    train, control, synthetic = drawn()
    synthetic[:, 0] = np.minimum(synthetic[:, 0] + 25, 90)
    (figure, telling), alone = named(train, control, synthetic)
    assert figure == alone
    assert figure.value.low > 0.6
    assert [item.column for item in telling] == ["age"]
    assert telling[0].left.low < 0.5 < telling[0].left.high


def test_two_columns_that_tell_the_same_are_both_named():
    """Without one of them as much is left as before: the greedy way goes on, and says so."""
    rng = np.random.default_rng(3)
    schema = Schema(tuple(Numeric(name=name, low=-9, high=9) for name in ("a", "b", "c", "d")))

    def people(shift):
        cells = rng.normal(size=(600, 4))
        return np.clip(cells + np.array([shift, shift, 0, 0]), -9, 9)

    (figure, telling), _ = named(people(0), people(0), people(4), schema)
    assert figure.value.value > 0.97
    assert {item.column for item in telling} == {"a", "b"}
    assert telling[0].left.value > 0.95
    assert telling[1].left.low < 0.5 < telling[1].left.high


def test_where_all_columns_tell_those_that_tell_most_are_named_and_one_is_left():
    rng = np.random.default_rng(3)
    schema = Schema(tuple(Numeric(name=f"x{i}", low=-9, high=9) for i in range(5)))

    def people(*shifts):
        return np.clip(rng.normal(size=(500, 5)) + np.array(shifts), -9, 9)

    real = people(0, 0, 0, 0, 0), people(0, 0, 0, 0, 0)
    (_, telling), _ = named(*real, people(3, 2, 1.5, 1, 0.8), schema)
    assert [item.column for item in telling] == ["x0", "x1", "x2"]
    assert len(telling) == MOST_TELLING
    assert telling[-1].left.low > 0.55
    two = Schema(schema.columns[:2])
    (_, telling), _ = named(*(side[:, :2] for side in real), people(4, 1, 0, 0, 0)[:, :2], two)
    assert [item.column for item in telling] == ["x0"]
    assert telling[0].left.low > 0.5, "the last column is never left out"


@pytest.mark.parametrize("threads", [1, 3])
def test_same_seed_same_columns_on_any_number_of_threads(threads):
    train, control, synthetic = drawn(300)
    synthetic[:, 0], synthetic[:, 4] = np.minimum(synthetic[:, 0] + 25, 90), 10 - synthetic[:, 4]
    with working(threads=threads):
        (_, telling), _ = named(train, control, synthetic)
    with working(threads=2):
        assert named(train, control, synthetic)[0][1] == telling
    assert {item.column for item in telling} == {"age", "visits"}
