"""One figure alone is the figure of the whole."""

from statistics import fmean

import numpy as np
import pytest

from tabveil.datasets import hospital
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.utility import measure
from tabveil.metrics.utility.one_figure import NAMES, loss, measure_one
from tabveil.tables.reading import load_split


@pytest.fixture(scope="module")
def split():
    tables = [hospital(n, seed=seed) for n, seed in ((150, 1), (120, 2), (110, 3))]
    return load_split(*tables).split


@pytest.fixture(scope="module")
def everything(split):
    return measure(split, rng=np.random.default_rng(5))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_all_together_say(name, split, everything):
    found = measure_one(split, name, rng=np.random.default_rng(5))
    if name == "downstream":
        assert found == fmean(item.gap.value for item in everything.targets)
    else:
        assert found == everything.figures[name].value.value


def test_targets_may_be_named_and_must_be_there(split):
    named = measure(split, target="outcome", rng=np.random.default_rng(5)).targets[0].gap.value
    assert measure_one(split, "downstream", target="outcome", rng=np.random.default_rng(5)) == named
    with pytest.raises(ParameterError, match="no column 'outcom'"):
        measure_one(split, "downstream", target="outcom", rng=np.random.default_rng(5))


def test_a_figure_of_numbers_where_there_are_none_does_not_apply(split):
    labels = split.select(["sex", "region"])
    with pytest.raises(NotApplicable, match="no column that it can be measured on"):
        measure_one(labels, "wasserstein", rng=np.random.default_rng(0))


def test_nothing_lost_is_zero_and_chance_may_go_below():
    assert loss("discriminator", 0.5) == 0
    assert loss("discriminator", 0.45) == pytest.approx(-0.05)
    assert loss("total_variation", 0.2) == pytest.approx(0.2)
