"""The check of the control: what a random split passes, and what no random split is."""

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from supplies.needs import SHARED, need_table
from supplies.populations import SCHEMAS, adult_thirds, population, rows, split, split_keeping_equal_rows
from supplies.strategies import splits

from tabveil.core.storage.plain import from_plain, to_plain
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.metrics.control import ControlCheck, check_control
from tabveil.metrics.control.differences import MATERIAL
from tabveil.metrics.control.shared_rows import equal_rows_kept_together, expected_shared, shared_chance
from tabveil.tables.reading import load_table

LINE = Schema((Numeric(name="x", low=0, high=1000),))


def rng():
    return np.random.default_rng(0)


def ask(schema, train, control, synthetic=None):
    return check_control(split(schema, train, control, train if synthetic is None else synthetic), rng=rng())


def cut(table, rows_of_train, rows_of_control):
    train, control = table.take(rows_of_train), table.take(rows_of_control)
    return Split(train=train, control=control, synthetic=train)


def every_split(counts, n_control):
    """All ways to hold back so many rows: how many control rows then equal a training row."""
    groups = np.repeat(np.arange(len(counts)), counts)
    shared = []
    for chosen in combinations(range(len(groups)), n_control):
        control = np.bincount(groups[list(chosen)], minlength=len(counts))
        shared.append(int(control @ (counts - control > 0)))
    return np.array(shared)


@pytest.mark.parametrize("control", [[1, 1, 1, 0, 0, 0], [2, 1, 0, 0, 0, 0], [3, 0, 0, 0, 0, 0]])
def test_shared_rows_are_compared_with_all_random_splits(control):
    counts, control = np.array([3, 2, 2, 1, 1, 1]), np.array(control)
    by_chance = every_split(counts, 3)
    train = counts - control
    assert expected_shared(train, control) == pytest.approx(by_chance.mean())
    exact = np.mean(by_chance >= control @ (train > 0))
    found = shared_chance(train, control, rng=rng())
    assert found == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 999) + 0.002)


def test_different_rows_share_nothing_and_say_nothing():
    found = ask(LINE, np.arange(50), np.arange(50, 80))
    assert (found.shared, found.shared_expected, found.shared_chance) == (0, 0, 1)
    assert found.same_chance is None


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
@pytest.mark.parametrize("order", ["same", "shuffled"])
def test_a_control_equal_to_train_is_found(kind, order):
    train = rows(kind, 400, rng())
    control = train if order == "same" else rng().permutation(train)
    found = ask(SCHEMAS[kind], train, control)
    assert found.same
    assert found.shared == found.n_control == 400
    assert found.fails == ("The control holds the same rows as train: nobody in it is new to the generator.",)


def test_one_file_given_twice_is_found_where_rows_tell_little():
    coins = Schema((Categorical(name="side", labels=("heads", "tails")),))
    train = rng().integers(0, 2, 300)
    assert ask(coins, train, train).same
    # In another order it may be chance that two tables have as many heads.
    found = ask(coins, train, np.sort(train))
    assert 0.01 < found.same_chance < 0.1
    assert found.fails == ()


def test_a_control_drawn_from_train_is_found():
    train = rows("mixed", 2000, rng())
    found = ask(SCHEMAS["mixed"], train, train[:200])
    assert found.shared == 200
    assert "200 control rows of 200 equal a training row, where about" in found.fails[0]


@pytest.mark.parametrize("n_shared", [0, 6])
def test_a_few_shared_rows_are_found_in_a_small_control(n_shared):
    people = rows("normal", 2200, rng())
    control = np.concatenate([people[:n_shared], people[2000 : 2200 - n_shared]])
    found = ask(SCHEMAS["normal"], people[:2000], control)
    assert bool(found.fails) == (n_shared > 0)
    assert found.shared == n_shared


@pytest.mark.parametrize("kind", ["normal", "levels", "mixed"])
@pytest.mark.parametrize("sizes", [(600, 600), (1500, 150), (150, 1500), (3000, 50)])
def test_random_splits_pass(kind, sizes):
    refused = 0
    for seed in range(20):
        tables = population(kind, (*sizes, 50), seed=seed)
        refused += bool(check_control(tables, rng=np.random.default_rng([3, seed])).fails)
    assert refused <= 1


@pytest.fixture(scope="module")
def shared_tables():
    without = {"loans": [], "nhanes": ["ID"], "adult": []}
    return {
        name: load_table(pd.read_parquet(need_table(SHARED / f"{name}.parquet")).drop(columns=left_out)).table
        for name, left_out in without.items()
    }


@pytest.mark.parametrize("name", ["adult", "loans", "nhanes"])
@pytest.mark.parametrize("sizes", [(2000, 1000), (4000, 200)])
def test_random_splits_of_real_tables_pass(shared_tables, name, sizes):
    table, refused = shared_tables[name], 0
    for seed in range(8):
        generator = np.random.default_rng([5, seed])
        order = generator.permutation(len(table))
        tables = cut(table, order[: sizes[0]], order[sizes[0] : sum(sizes)])
        refused += bool(check_control(tables, rng=generator).fails)
    assert refused == 0


@pytest.fixture(scope="module")
def adult():
    schema, thirds = adult_thirds()
    return Table(schema=schema, values=np.concatenate(thirds))


def others(table, column, chosen):
    """People for whom a cell is as chosen, and all others."""
    found = chosen(table.column(column))
    return np.flatnonzero(found), np.flatnonzero(~found)


@pytest.mark.parametrize(
    ("column", "chosen"),
    [
        ("sex", lambda cells: cells == 0),
        ("age", lambda cells: cells < 40),
        ("native-country", lambda cells: cells == 0),
    ],
)
@pytest.mark.parametrize("sizes", [(4000, 2000), (2000, 200), (200, 2000)])
def test_people_of_another_kind_are_found_and_the_column_is_named(adult, column, chosen, sizes):
    some, rest = others(adult, column, chosen)
    generator = rng()
    tables = cut(adult, generator.permutation(some)[: sizes[0]], generator.permutation(rest)[: sizes[1]])
    found = check_control(tables, rng=generator)
    assert found.columns[0] == column
    assert found.difference_chance < 1e-6
    assert f"most in {column}" in found.fails[-1]


def test_people_of_another_kind_are_found_by_what_goes_with_it(adult):
    some, rest = others(adult, "age", lambda cells: cells < 40)
    without = adult.select([name for name in adult.schema.names if name != "age"])
    found = check_control(cut(without, some[:2000], rest[:400]), rng=rng())
    assert {"marital-status"} <= set(found.columns)


def test_columns_that_go_together_otherwise_are_found(adult):
    table, generator = adult.take(np.arange(6000)), rng()
    values = table.values[3000:].copy()
    for j in range(values.shape[1]):
        values[:, j] = generator.permutation(values[:, j])
    found = check_control(
        split(table.schema, table.values[:3000], values, table.values[:3000]), rng=generator
    )
    assert found.fails
    assert len(found.columns) > 1


def visits(n_people, rows_each, generator):
    """Several rows a person, half of the columns the same in all of them; and whose rows they are."""
    person = np.repeat(np.arange(n_people), generator.poisson(rows_each - 1, n_people) + 1)
    level = generator.normal(size=n_people)[person]
    fixed = [generator.integers(0, n, n_people)[person] for n in (2, 8, 70, 5)]
    varying = [
        generator.integers(0, 10, len(person)),
        np.round(level + generator.normal(size=len(person)), 2),
        np.round(2 * level + 0.3 * generator.normal(size=len(person)), 1),
    ]
    schema = Schema(
        (
            Categorical(name="sex", labels=tuple("fm")),
            Categorical(name="region", labels=tuple("abcdefgh")),
            Numeric(name="born", low=0, high=70, decimals=0),
            Categorical(name="plan", labels=tuple("abcde")),
            Categorical(name="ward", labels=tuple("abcdefghij")),
            Numeric(name="pulse", low=-20, high=20),
            Numeric(name="weight", low=-20, high=20),
        )
    )
    return Table(schema=schema, values=np.column_stack([*fixed, *varying]).astype(float)), person


@pytest.mark.parametrize(("n_people", "rows_each"), [(600, 4), (400, 15)])
def test_a_split_by_person_passes(n_people, rows_each):
    refused = 0
    for seed in range(15):
        generator = np.random.default_rng([7, seed])
        table, person = visits(n_people, rows_each, generator)
        held_back = (generator.random(n_people) < 0.3)[person]
        tables = cut(table, np.flatnonzero(~held_back), np.flatnonzero(held_back))
        refused += bool(check_control(tables, rng=generator).fails)
    assert refused <= 1


def test_other_persons_are_found_among_repeated_rows():
    generator = rng()
    table, person = visits(600, 4, generator)
    sex = np.zeros(600)
    sex[person] = table.column("sex")
    held_back = (generator.random(600) < np.where(sex == 1, 0.6, 0.1))[person]
    found = check_control(cut(table, np.flatnonzero(~held_back), np.flatnonzero(held_back)), rng=generator)
    assert found.columns == ("sex",)


def test_values_that_are_missing_more_often_are_found():
    generator = rng()
    train, control = (rows("mixed", n, generator) for n in (1500, 800))
    control[generator.random(800) < 0.2, 2] = np.nan
    found = ask(SCHEMAS["mixed"], train, control)
    assert found.columns == ("income",)


def test_a_difference_too_small_to_matter_fails_nothing():
    coins = Schema((Categorical(name="side", labels=("heads", "tails")),))
    n = 200_000
    train, control = np.arange(n) < 0.5 * n, np.arange(n) < 0.51 * n
    found = ask(coins, train, control)
    assert found.difference_chance < 1e-6
    assert MATERIAL > 0.01
    assert found.fails == ()


def test_kept_together_is_told_from_a_random_split():
    assert not equal_rows_kept_together(
        np.array([2, 1, 1, 0]), np.array([1, 0, 1, 3])
    )  # too few rows to tell
    train, control = np.array([2, 0] * 20), np.array([0, 2] * 20)
    assert equal_rows_kept_together(train, control)
    assert not equal_rows_kept_together(np.ones(40, int), np.ones(40, int))
    # About 20 of 40 pairs are expected on both sides; it takes less than half of that.
    some = np.arange(40) < 12
    assert not equal_rows_kept_together(np.where(some, 1, train), np.where(some, 1, control))


def test_a_control_that_avoids_train_is_found_where_rows_coincide_by_chance():
    generator = rng()
    train, control = split_keeping_equal_rows(rows("levels", 2500, generator), 0.2, generator)
    found = ask(SCHEMAS["levels"], train, control, rows("levels", 800, generator))
    assert found.kept_together
    (fault,) = found.fails
    assert fault.startswith(f"0 control rows of {len(control)} equal a training row, where about ")
    assert "equal rows were kept on one side" in fault


def test_one_persons_equal_rows_are_rightly_kept_together():
    generator = rng()
    twice = np.repeat(rows("normal", 800, generator), 2, axis=0)
    train, control = split_keeping_equal_rows(twice, 0.3, generator)
    found = ask(SCHEMAS["normal"], train, control, rows("normal", 500, generator))
    assert not found.kept_together
    assert found.fails == ()


def test_no_control_is_not_judged():
    found = ask(LINE, [1, 2, 3], [])
    assert found == ControlCheck(n_train=3, n_control=0)
    assert found.fails == ()


@pytest.mark.parametrize(
    ("train", "control"), [([1], [1]), ([1], [2]), ([1, 2, 3], [np.nan]), ([5] * 9, [5])]
)
def test_a_few_rows_tell_nothing(train, control):
    assert ask(LINE, train, control).fails == ()


def test_constant_and_empty_columns_tell_nothing():
    schema = Schema(
        (
            Numeric(name="constant", low=3, high=3),
            Numeric(name="empty", low=0, high=1),
            Categorical(name="label", labels=("only",)),
            Categorical(name="none", labels=()),
        )
    )
    values = np.tile([3.0, np.nan, 0.0, np.nan], (300, 1))
    found = ask(schema, values, values[:100])
    assert found.fails == ()
    assert found.n_compared == 0


def test_names_are_shown_harmless_and_values_never():
    schema = Schema((Categorical(name="sex\x1b[2J\u202e", labels=("secret-label", "other")),))
    found = ask(schema, np.zeros(200), np.ones(200))
    assert "sex" in found.fails[0]
    assert "\x1b" not in found.fails[0]
    assert "secret-label" not in found.fails[0]


@given(tables=splits(max_rows=40))
@settings(max_examples=40, deadline=None)
def test_any_tables_have_an_answer_that_order_does_not_change(tables):
    found = check_control(tables, rng=rng())
    assert from_plain(ControlCheck, json.loads(json.dumps(to_plain(found), allow_nan=False))) == found
    assert 0 <= found.difference_chance <= 1
    assert 0 < found.shared_chance <= 1
    names = tables.schema.names[::-1]
    turned = {
        role: getattr(tables, role).take(np.arange(len(getattr(tables, role)))[::-1]).select(names)
        for role in ("train", "control", "synthetic")
    }
    other = check_control(Split(**turned), rng=rng())
    assert (other.shared, other.shared_chance, other.columns) == (
        found.shared, found.shared_chance, found.columns,
    )  # fmt: skip
    assert other.difference_chance == pytest.approx(found.difference_chance)
