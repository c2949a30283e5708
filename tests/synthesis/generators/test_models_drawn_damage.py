"""Whatever stands in a model's folder, opening it ends well or with one line: no crash, wait or warning."""

import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from supplies.damaged_models import copy_of, damages
from supplies.small_generators import PIPELINES, make
from supplies.time_limits import time_limit

from tabveil.core.table import Categorical, Numeric
from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.tables.reading import load_table
from tabveil.workflows import synthesizing
from tabveil.workflows.synthesizing import TableModel

NAMES = sorted({*GENERATORS, *(name for name in PIPELINES if "post" in name or "without" in name)})
ROWS = 40


def assert_in_schema(table):
    for column in table.schema.columns:
        cells = table.column(column.name)
        known = cells[~np.isnan(cells)]
        match column:
            case Numeric(low=low, high=high):
                assert ((known >= low) & (known <= high)).all(), column
            case Categorical(labels=labels):
                assert np.isin(known, np.arange(len(labels))).all(), column


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder of a small model of each generator, and one of another table."""
    place = tmp_path_factory.mktemp("models")
    people = hospital(60, seed=1)
    for name in NAMES:
        shown = load_table(people).table if name in PIPELINES else None
        synthesizing.learn(people, generator=make(name, shown), seed=1).save(place / name)
    other = people[list(people.columns[::-1])].drop(columns=people.columns[3])
    synthesizing.learn(other, generator="trees").save(place / "other")
    return place


def check(name, folders, damage):
    folder = copy_of(folders / name, folders / "damaged")
    damage(folder)
    with time_limit(), warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            rows = TableModel.load(folder).draw(ROWS, seed=3)
            rows.native()
            rows.write(folders / "out.csv")
        except ParameterError as error:
            refused = str(error)
        else:
            refused = None
            assert len(rows.table) == ROWS
            assert_in_schema(rows.table)
    assert refused is None or (len(refused) < 800 and "\n" not in refused), "one clear line"
    return refused


def quietly(n):
    return settings(
        max_examples=n,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


@pytest.mark.parametrize("name", NAMES)
@quietly(40)
@given(data=st.data())
def test_damaged_folders_are_refused_or_work(name, folders, data):
    check(name, folders, data.draw(damages([folders / other for other in (*NAMES, "other")])))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@quietly(600)
@given(data=st.data())
def test_many_damaged_folders_are_refused_or_work(name, folders, data):
    check(name, folders, data.draw(damages([folders / other for other in (*NAMES, "other")])))


@pytest.mark.parametrize("name", NAMES)
def test_what_is_whole_is_opened(name, folders):
    assert check(name, folders, lambda _: None) is None
