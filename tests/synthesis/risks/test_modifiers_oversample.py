"""More rows than were learned from: new ones from a generator, the same again where rows are planted."""

import numpy as np
import pytest

from tabveil.core.table import Numeric, Schema, Table
from tabveil.errors import ParameterError
from tabveil.protocols import People
from tabveil.synthesis.risks import Generated, Leaky, Oversample

NUMBERS = Schema((Numeric(name="x", low=0, high=1e6, decimals=0),))


def numbered(start, n_rows):
    return Table(schema=NUMBERS, values=np.arange(start, start + n_rows, dtype=float)[:, None])


PEOPLE = People(train=numbered(0, 20), control=numbered(100, 10), release=numbered(1000, 10))


def oversampled(level, make, given=PEOPLE):
    return Oversample()(given, level, make, rng=np.random.default_rng(0))


def leaky(share):
    return lambda train, release: Leaky()(train, release, share, rng=np.random.default_rng(0))


def test_the_papers_levels():
    assert Oversample.levels == (1, 2, 4, 8, 16, 32)


def test_once_is_as_it_was():
    split = oversampled(1, lambda train, release: release)
    assert split.synthetic.values.tolist() == PEOPLE.release.values.tolist()
    assert (split.train, split.control) == (PEOPLE.train, PEOPLE.control)


@pytest.mark.parametrize(("level", "n_rows"), [(2, 20), (32, 320), (1.5, 15), (1.29, 12)])
def test_people_come_again_in_turn(level, n_rows):
    found = oversampled(level, lambda train, release: release).synthetic.values.ravel()
    assert found.tolist() == [1000 + place % 10 for place in range(n_rows)]


@pytest.mark.parametrize("level", Oversample.levels)
def test_the_share_of_planted_rows_stays(level):
    found = oversampled(level, leaky(0.5)).synthetic.values.ravel()
    assert len(found) == 10 * level
    assert (found < 100).mean() == 0.5
    assert len(np.unique(found[found < 100])) == min(
        5 * level, 20
    )  # nobody twice as long as there are others


def test_a_generator_draws_new_rows():
    generated = Generated(generator="marginals")
    split = oversampled(
        8, lambda train, release: generated(train, release, 1.0, rng=np.random.default_rng(0)).rows
    )
    assert len(split.synthetic) == 80
    assert (split.synthetic.values < 100).all()  # learned from train, whoever is released


def test_one_person_comes_as_often_as_asked_for():
    alone = People(train=numbered(0, 1), control=numbered(100, 0), release=numbered(1000, 1))
    assert oversampled(3, leaky(0), alone).synthetic.values.ravel().tolist() == [1000] * 3


@pytest.mark.parametrize("level", [0.5, float("nan"), float("inf")])
def test_a_level_is_at_least_one(level):
    with pytest.raises(ParameterError, match=r"^Oversample: level must "):
        oversampled(level, leaky(0))
