"""What many rows and few people share is made rare; what ten people share stays."""

import numpy as np
import pandas as pd
import pytest

from tabveil.tables.reading import load_table
from tabveil.workflows.databases.people_counts import people_of_values, reach, shared_by_people


def rng():
    return np.random.default_rng(0)


def of_people(frame, whose):
    return shared_by_people(load_table(frame), (np.asarray(whose), np.arange(len(frame))), rng=rng())


def test_a_label_of_one_person_is_parted_until_few_rows_have_each():
    whose = [*range(30), *[30] * 25]
    frame = pd.DataFrame({"ward": ["north"] * 30 + ["secret"] * 25})
    found, notes = of_people(frame, whose)
    column = found.table.schema["ward"]
    counts = pd.Series([column.labels[int(code)] for code in found.table.column("ward")]).value_counts()
    assert counts["north"] == 30
    assert counts.drop("north").max() < 10
    assert counts.drop("north").sum() == 25
    assert "25 cells" in notes[0]


def test_a_number_of_one_person_is_moved_and_nothing_lies_beyond_ten_people():
    whose = [*range(60), *[60] * 15, *[61] * 15]
    numbers = [*(100.0 + np.arange(60) % 6), *[103.5] * 15, *[999.5] * 15]
    found, _ = of_people(pd.DataFrame({"cost": numbers}), whose)
    cells = found.table.column("cost")
    assert (cells[:60] == numbers[:60]).all()
    assert (cells[60:75] == 103.5).sum() < 10
    assert cells.max() <= 105.0


def test_what_ten_people_share_stays_as_it_is():
    frame = pd.DataFrame({"ward": ["a", "b"] * 20, "cost": [1.5, 2.5] * 20})
    loaded = load_table(frame)
    found, notes = of_people(frame, np.arange(40) // 2)
    assert notes == ()
    assert found.table.values == pytest.approx(loaded.table.values)


def test_people_are_counted_once_and_missing_values_not_at_all():
    cells = np.array([5.0, 5.0, 5.0, np.nan])
    person, row = np.array([0, 0, 1, 1]), np.arange(4)
    values, counts = people_of_values(cells, (person, row))
    assert (values.tolist(), counts.tolist()) == ([5.0], [2])
    assert reach(np.array([1.0, 3.0]), (np.array([0, 1]), np.array([0, 1]))) == (2.0, 2.0)
    assert reach(np.full(3, np.nan), (np.arange(3), np.arange(3))) == (0.0, 0.0)
