"""Who is drawn hangs on what rows hold; what is asked about stays whole."""

import numpy as np
import pytest

from tabveil.core.drawn import Drawn
from tabveil.core.result import Labels, Result, Scores
from tabveil.core.table import Numeric, Schema, Split, Table

SCHEMA = Schema((Numeric(name="a", low=0, high=1), Numeric(name="b", low=0, high=1)))


def table(n, seed, *, rows_each=None):
    values = np.random.default_rng(seed).random((n, 2))
    people = None if rows_each is None else np.arange(n) // rows_each + 1000 * seed
    return Table(schema=SCHEMA, values=values, people=people)


def split(**given):
    return Split(train=table(300, 1, **given), control=table(200, 2, **given), synthetic=table(400, 3))


def streams(role):
    return np.random.default_rng(["train", "control", "synthetic"].index(role))


def content(table):
    return sorted(map(tuple, table.values.tolist()))


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        ("people", (50, 50, 400)),
        ("people, by claims", (50, 50, 400)),
        ("released rows", (300, 200, 50)),
        ("released rows and control", (300, 50, 50)),
        ("everything", (300, 200, 400)),
    ],
)
def test_only_those_who_are_asked_are_fewer(asked, sizes):
    drawn = Drawn.of(split(), 50, rng=streams)
    found = drawn.split(asked)
    assert (len(found.train), len(found.control), len(found.synthetic)) == sizes


def test_the_same_people_are_drawn_from_files_in_another_order():
    given = split()
    turned = Split(
        train=given.train.take(np.random.default_rng(5).permutation(300)),
        control=given.control.take(np.arange(200)[::-1]),
        synthetic=given.synthetic.take(np.random.default_rng(6).permutation(400)),
    )
    for asked in ("people", "released rows"):
        one, other = (Drawn.of(each, 50, rng=streams).split(asked) for each in (given, turned))
        for role in ("train", "control", "synthetic"):
            assert content(getattr(one, role)) == content(getattr(other, role))


def test_people_are_drawn_with_all_of_their_rows():
    drawn = Drawn.of(split(rows_each=4), 30, rng=streams)
    asked = drawn.split()
    for side in (asked.train, asked.control):
        assert side.n_people == 30
        assert set(np.unique(side.people, return_counts=True)[1]) == {4}


def test_a_table_with_fewer_people_is_asked_as_a_whole():
    asked = Drawn.of(split(), 250, rng=streams).split()
    assert (len(asked.train), len(asked.control)) == (250, 200)
    assert content(asked.control) == content(split().control)
    assert Drawn.of(split(), 300, rng=streams) is None


def test_scores_name_the_rows_of_whole_tables():
    drawn = Drawn.of(split(), 50, rng=streams)
    labels = Labels(pillar="attack", wp29="inference", mechanism="distance")
    sides = {"train": drawn.split().train.values[:, 0], "synthetic": split().synthetic.values[:, 0]}
    scores = tuple(
        Scores(table=role, rows=np.arange(len(values)), values=values) for role, values in sides.items()
    )
    for each in drawn.placed(
        Result(metric="m", labels=labels, sensitive_scores=scores), "people"
    ).sensitive_scores:
        assert np.array_equal(getattr(split(), each.table).values[each.rows, 0], each.values)


def test_everybody_is_drawn_about_as_often():
    times = np.zeros(300)
    for seed in range(200):
        drawn = Drawn.of(split(), 60, rng=lambda role, seed=seed: np.random.default_rng([seed, len(role)]))
        times[drawn.train] += 1
    assert abs(times.mean() - 40) < 1e-9
    assert times.min() > 15
    assert times.max() < 70
