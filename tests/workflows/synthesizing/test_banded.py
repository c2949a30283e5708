"""Labels that follow from ranges of a number are looked up for any number."""

import numpy as np
import pytest

from tabveil.core.table import Categorical, Numeric, Schema, Table
from tabveil.workflows.synthesizing.banded import band

GROUPS = ("child", "adult", "old")


def table(pairs):
    """Make a table of (age, group, how many)."""
    cells = [
        [age, np.nan if group is None else GROUPS.index(group)] for age, group, n in pairs for _ in range(n)
    ]
    columns = (Numeric(name="age", low=0, high=99, decimals=0), Categorical(name="group", labels=GROUPS))
    return Table(schema=Schema(columns), values=np.array(cells, dtype=float))


def told(pairs, ages):
    found = band(table(pairs), 0, 1)
    if found is None:
        return None
    column, cells = found.restored(np.array(ages, dtype=float))
    return [None if np.isnan(cell) else column.labels[int(cell)] for cell in cells]


def test_by_hand():
    pairs = [(10, "child", 200), (16, "child", 200), (20, "adult", 200), (64, "adult", 300), (70, "old", 200)]
    found = band(table(pairs), 0, 1)
    assert found.ends == ((16.0, 20.0), (64.0, 70.0))
    assert told(pairs, [0, 17, 18, 66, 67, 99]) == ["child", "child", "adult", "adult", "old", "old"]
    moved = found.apart(np.array([0.0, 16, 17, 18, 19, 20, 40, 65, 69, 70, 99]))
    assert moved.tolist() == [0, 16, 16, 20, 20, 20, 40, 64, 70, 70, 99]
    assert np.isnan(found.apart(np.array([np.nan]))).all()


def test_an_edge_is_nobodys():
    """The only person of 17 does not say where adults begin."""
    pairs = [(10, "child", 500), (16, "child", 600), (17, "child", 1), (20, "adult", 500)]
    found = band(table(pairs), 0, 1)
    assert found.ends == band(table([each for each in pairs if each[0] != 17]), 0, 1).ends == ((16.0, 20.0),)


def test_what_goes_with_no_number():
    pairs = [(10, "child", 50), (40, "adult", 50), (np.nan, "old", 10)]
    assert told(pairs, [np.nan, 10]) == ["old", "child"]
    fewer = [(10, "child", 500), (40, "adult", 500), (np.nan, "old", 9)]
    assert told(fewer, [np.nan, 10]) == [None, "child"]


@pytest.mark.parametrize(
    "pairs",
    [
        [(age, GROUPS[age % 2], 50) for age in range(10)],  # every second
        [(age, "child", 50) for age in range(10)],  # nothing to tell
        [(age, GROUPS[age > 50], 3) for age in range(100)],  # no age that ten have
        [
            (10, "child", 50),
            (40, "adult", 50),
            *((age, "child", 1) for age in range(41, 60)),
        ],  # rare ones differ
    ],
)
def test_what_is_no_range(pairs):
    assert told(pairs, [0]) is None
