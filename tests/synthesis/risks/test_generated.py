"""Generators as they are: no risk is inserted, and what they betray is their own."""

import numpy as np
import pytest
from supplies.populations import SCHEMAS, rows

from tabveil.core.table import Split, Table
from tabveil.errors import ParameterError
from tabveil.metrics.indicators.identical import IdenticalMatchShare
from tabveil.synthesis.risks import Generated


def people(n_rows, *, seed):
    return Table(schema=SCHEMAS["mixed"], values=rows("mixed", n_rows, np.random.default_rng(seed)))


def release(risk, level=1.0, n_rows=200):
    return risk(people(n_rows, seed=1), people(n_rows, seed=3), level, rng=np.random.default_rng(0))


def copies(synthetic):
    split = Split(train=people(200, seed=1), control=people(200, seed=2), synthetic=synthetic)
    return IdenticalMatchShare()(split, rng=np.random.default_rng(0)).risk.value


def test_a_generator_is_taken_as_it_is():
    assert copies(release(Generated(generator="copy")).rows) == 1
    assert copies(release(Generated()).rows) == pytest.approx(0, abs=0.02)


def test_what_a_generator_tells_is_kept():
    assert release(Generated()).facts == {"epochs": 1}  # the losses are measured once
    assert release(Generated(generator="copy")).facts == {}
    promised = release(Generated(generator="aim", settings={"epsilon": 3, "rounds": 10})).facts
    assert promised == {"epsilon": 3, "delta": 1e-9}


def test_one_person_is_enough_to_learn_from():
    found = release(Generated(), n_rows=1).rows
    assert len(found) == 1


@pytest.mark.parametrize("level", [0.0, -1, float("nan")])
def test_there_is_no_level_but_one(level):
    with pytest.raises(ParameterError, match=r"^Generated: level must be one of 1\.0; got "):
        release(Generated(), level)
