"""Was the control held out? A release that was made of control rows betrays it; a clean one does not."""

import numpy as np
import pytest
from supplies.people_with_rows import visits
from supplies.populations import SCHEMAS, population, rows, split, split_keeping_equal_rows

from tabveil.core.sampling import group_equal_rows
from tabveil.core.table import Numeric, Schema, Split, Table
from tabveil.metrics.control import check_control
from tabveil.metrics.control.held_out import LEVEL, HeldOut, held_out

LINE = Schema((Numeric(name="x", low=0, high=1000),))
HELD_OUT = "The control was not held out: nothing can be measured against it."


def ask(tables, seed=0):
    groups = group_equal_rows(tables.train, tables.control, tables.synthetic)
    return held_out(tables, groups, rng=np.random.default_rng(seed))


def tables_of(kind, n, made_of, *, noise=0.0, seed=0):
    """Draw three tables; a share of train and of control stands in the release, moved by some noise."""
    rng = np.random.default_rng(seed)
    train, control, release = (rows(kind, n, rng) for _ in range(3))
    k = round(made_of * n)
    release[:k], release[k : 2 * k] = train[:k], control[:k]
    return split(SCHEMAS[kind], train, control, release + noise * rng.normal(size=release.shape))


def test_equal_rows_are_counted_where_nobody_else_has_them():
    # Of the real rows 5 and 7 are had by two people; 1, 2, 3, 4, 6 are alone, 4 and 6 of them in control.
    found = ask(split(LINE, [1, 2, 3, 5, 7], [4, 5, 6, 7], [4, 4, 5, 900]))
    assert found.equal == 1
    assert found.equal_expected == pytest.approx(2 * (2 * 4 * 4 / (9 * 8)))
    # 1 of 1 + 2 where the odds are three times 32 / 72.
    odds = 3 * 32 / 72
    assert found.equal_chance == pytest.approx(1 - (1 - odds / (1 + odds)) ** 3)


def test_a_control_that_equals_the_release_is_found():
    train, control = (np.random.default_rng(seed).uniform(0, 1000, 400) for seed in (0, 1))
    checked = check_control(split(LINE, train, control, control), rng=np.random.default_rng(2))
    (fault,) = checked.fails
    assert fault.startswith("400 control rows of 400 equal a row of the release, where about 0 would if ")
    assert fault.endswith(HELD_OUT)


@pytest.mark.parametrize(
    ("kind", "made_of", "noise"),
    [
        ("normal", 0.27, 0.0),
        ("normal", 0.5, 0.0),
        ("normal", 0.5, 0.01),
        ("normal", 0.05, 0.0),
        ("mixed", 0.27, 0.0),
        ("mixed", 0.5, 0.0),
    ],
)
def test_a_release_made_of_both_is_found(kind, made_of, noise):
    found = ask(tables_of(kind, 1500, made_of, noise=noise))
    assert found.fault("rows") is not None
    assert found.fault("rows").endswith(HELD_OUT)


def test_rows_that_find_each_other_are_told_apart_from_near_ones():
    found = ask(tables_of("normal", 3000, 0.5, noise=0.05))
    assert found.equal == 0
    assert found.mutual_chance <= LEVEL
    assert found.mutual > 1.1 * found.mutual_expected
    alone = HeldOut(n_people=500, mutual=300, mutual_expected=180.0, mutual_chance=0.0)
    assert alone.fault("rows").startswith("300 control rows and rows of the release are each other's nearest")


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
@pytest.mark.parametrize("sizes", [(600, 600, 600), (1500, 150, 900), (150, 1500, 2000), (900, 300, 60)])
def test_fresh_rows_pass(kind, sizes):
    assert not [
        seed for seed in range(15) if ask(population(kind, sizes, seed=seed), seed=seed).fault("rows")
    ]


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
def test_copies_of_train_alone_do_not_speak_against_the_control(kind):
    tables = population(kind, (1000, 1000, 1000), leak=1.0)
    assert ask(tables).fault("rows") is None


def test_a_table_without_equal_rows_is_met_by_a_release_that_has_some():
    rng = np.random.default_rng(0)
    different = rng.permutation(np.unique(rows("levels", 3000, rng), axis=0))
    n = len(different) // 2
    found = ask(split(SCHEMAS["levels"], different[:n], different[n:], rows("levels", 400, rng)))
    assert found.equal > 50  # by chance: the pairs that were removed are guessed
    assert found.fault("rows") is None


def test_equal_rows_kept_on_one_side_do_not_make_the_release_seem_near():
    rng = np.random.default_rng(0)
    train, control = split_keeping_equal_rows(rows("levels", 2500, rng), 0.2, rng)
    assert ask(split(SCHEMAS["levels"], train, control, rows("levels", 800, rng))).fault("rows") is None


def test_people_are_counted_where_they_have_several_rows():
    clean = visits(150, 150, most=6)
    assert ask(clean).fault("people") is None
    both = np.concatenate([clean.train.values, clean.control.values])
    found = ask(
        Split(train=clean.train, control=clean.control, synthetic=Table(schema=clean.schema, values=both))
    )
    assert found.equal == found.n_people == 150
    assert found.fault("people").startswith("150 control people of 150 equal a row of the release")


def test_the_order_of_rows_and_columns_changes_nothing():
    tables = tables_of("mixed", 300, 0.1, noise=0.01)
    rng = np.random.default_rng(1)
    names = rng.permutation(tables.schema.names).tolist()
    moved = Split(
        **{
            role: getattr(tables, role).take(rng.permutation(300)).select(names)
            for role in ("train", "control", "synthetic")
        }
    )
    assert ask(tables) == ask(moved)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_say_nothing(n):
    assert ask(population("mixed", (n, n, n))).fault("rows") is None
    same = split(LINE, np.zeros(n), np.zeros(n), np.zeros(n))
    assert ask(same).fault("rows") is None


def test_one_row_is_told_as_one():
    found = HeldOut(n_people=1000, equal=1, equal_chance=0.0)
    assert found.fault("rows").startswith("1 control row of 1,000 equals a row of the release, where about 0")
