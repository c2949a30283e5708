"""Counting queries by superset sums are the same as counted one by one."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.metrics.black_box.counting_kernels import add_over_supersets
from tabveil.metrics.black_box.games import (
    GROUPS,
    MOST_QUESTIONS,
    NARROW,
    NEAR_RANKS,
    WIDEST,
    Questions,
    Watch,
)


def mixed_schema(n_columns):
    return Schema(
        tuple(
            Categorical(name=f"c{j}", labels=("a", "b", "c"))
            if j % 2
            else Numeric(name=f"x{j}", low=0, high=9)
            for j in range(n_columns)
        )
    )


def draw(schema, n, rng, missing=0.1):
    values = np.column_stack(
        [
            rng.integers(0, 3, n) if isinstance(column, Categorical) else rng.integers(0, 10, n)
            for column in schema.columns
        ]
    ).astype(float)
    values[rng.random(values.shape) < missing] = np.nan
    return Table(schema=schema, values=values)


def agreeing(real, target, release):
    """Tell by the definition which cells of a release agree with the target, (n, d)."""
    bits = np.empty(release.values.shape, dtype=bool)
    for j, column in enumerate(real.schema.columns):
        cells, mine = release.values[:, j], target[j]
        if np.isnan(mine):
            bits[:, j] = np.isnan(cells)
        elif isinstance(column, Categorical):
            bits[:, j] = cells == mine
        else:
            known = real.values[:, j][~np.isnan(real.values[:, j])]

            def rank(value, known=known):
                return ((known < value).mean() + (known <= value).mean()) / 2

            bits[:, j] = [not np.isnan(x) and abs(rank(x) - rank(mine)) <= NEAR_RANKS for x in cells]
    return bits


def test_superset_sums_are_counts_of_all_supersets():
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 2**6, 200)
    sums = np.bincount(patterns, minlength=2**6)
    add_over_supersets(sums)
    assert sums.tolist() == [int((patterns & mask == mask).sum()) for mask in range(2**6)]


@pytest.mark.parametrize("n_columns", [1, 2, 5, 11, WIDEST + 3])
def test_every_question_is_answered_as_by_counting_rows(n_columns):
    rng = np.random.default_rng(n_columns)
    schema = mixed_schema(n_columns)
    real, release = draw(schema, 300, rng), draw(schema, 150, rng)
    questions = Questions.draw(n_columns, rng=rng)
    targets = real.values[:4]
    seen = Watch(real=real, targets=targets, questions=questions).look(release)
    for target, found in zip(targets, seen, strict=True):
        bits = agreeing(real, target, release)
        asked = [
            bits[:, [group[place] for place in range(len(group)) if mask >> place & 1]].all(axis=1).sum()
            for group, masks in zip(questions.groups, questions.masks, strict=True)
            for mask in masks
        ]
        assert found[:-1].tolist() == [bits.all(axis=1).sum(), *bits.sum(axis=0), *asked]


def test_the_distance_is_that_of_the_nearest_row():
    schema = Schema((Numeric(name="x", low=0, high=10), Categorical(name="c", labels=("a", "b"))))
    real = Table(schema=schema, values=np.array([[0.0, 0], [10, 1], [5, np.nan]]))
    release = Table(schema=schema, values=np.array([[3.0, 0], [10, 0], [np.nan, np.nan]]))
    watch = Watch(real=real, targets=real.values, questions=Questions.draw(2, rng=np.random.default_rng(0)))
    # 0.3 and equal; equal and 1; 1 (missing number) and equal.
    assert np.allclose(watch.look(release)[:, -1], [0.15, 0.5, 0.5])


def test_a_number_far_out_costs_no_more_than_a_whole_column():
    schema = Schema((Numeric(name="x", low=0, high=10),))
    real = Table(schema=schema, values=np.array([[0.0], [10.0]]))
    release = Table(schema=schema, values=np.array([[1e6]]))
    watch = Watch(real=real, targets=real.values, questions=Questions.draw(1, rng=np.random.default_rng(0)))
    assert watch.look(release)[:, -1].tolist() == [1.0, 1.0]


def test_an_unseen_category_agrees_with_nobody():
    schema = Schema((Categorical(name="c", labels=("a", "b", "new")),))
    real = Table(schema=schema, values=np.array([[0.0], [1.0], [np.nan]]))
    release = Table(schema=schema, values=np.full((5, 1), 2.0))
    watch = Watch(real=real, targets=real.values, questions=Questions.draw(1, rng=np.random.default_rng(0)))
    assert (watch.look(release)[:, :2] == 0).all()


def test_a_constant_column_agrees_everywhere():
    schema = Schema((Numeric(name="x", low=3, high=3),))
    real = Table(schema=schema, values=np.full((4, 1), 3.0))
    watch = Watch(
        real=real, targets=real.values[:1], questions=Questions.draw(1, rng=np.random.default_rng(0))
    )
    assert watch.look(real).tolist() == [[4, 4, 4, 0]]


def test_a_heap_of_equal_numbers_agrees_with_itself_alone():
    schema = Schema((Numeric(name="x", low=0, high=100),))
    values = np.concatenate([np.zeros(90), np.arange(1, 11)])[:, None]
    real = Table(schema=schema, values=values)
    watch = Watch(
        real=real, targets=np.array([[0.0]]), questions=Questions.draw(1, rng=np.random.default_rng(0))
    )
    assert watch.look(real)[0, 1] == 90


def test_few_columns_are_asked_about_in_all_ways_and_many_in_some():
    few = Questions.draw(5, rng=np.random.default_rng(0))
    assert len(few) == 2**5 - 5 - 1
    many = Questions.draw(WIDEST, rng=np.random.default_rng(0))
    assert len(many) + WIDEST + 1 == MOST_QUESTIONS
    assert len(set(many.masks[0].tolist())) == len(many)
    wide = Questions.draw(60, rng=np.random.default_rng(0))
    assert wide.groups.shape == (GROUPS, NARROW)
    assert wide.groups.max() < 60
    assert all(len(set(group)) == NARROW for group in wide.groups.tolist())
