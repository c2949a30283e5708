"""A record of a split holds for the parts it made, in any order, and for no others."""

import json

import pandas as pd
import pytest

from tabveil import datasets
from tabveil.errors import ParameterError
from tabveil.tables.holdout import split
from tabveil.tables.lot import SplitRecord


def record_of(parts, **given):
    return SplitRecord(train_rows=len(parts[0]), control_rows=len(parts[1]), **given)


@pytest.fixture(scope="module")
def parts():
    return split(datasets.hospital(60, seed=4), control=0.4, seed=5)


def test_parts_divided_by_lot_are_recognized_in_any_order(parts):
    record = record_of(parts, control=0.4, seed=5)
    assert record.doubt(*parts) is None
    shuffled = parts.train.sample(frac=1, random_state=1)
    assert record.doubt(shuffled, parts.control[list(reversed(parts.control.columns))]) is None


def test_people_are_divided_by_lot_with_all_of_their_rows():
    visits = pd.DataFrame({"patient": [i // 3 for i in range(90)], "value": range(90)})
    train, control = split(visits, control=0.3, by="patient", seed=1)
    assert record_of((train, control), control=0.3, by="patient", seed=1).doubt(train, control) is None
    assert record_of((train, control), control=0.3, seed=1).doubt(train, control) is not None


def test_another_seed_share_or_row_is_found_out(parts):
    right = {"control": 0.4, "seed": 5}
    for wrong in ({"seed": 6}, {"control": 0.3}, {"by": "ward"}):
        assert "other parts" in record_of(parts, **(right | wrong)).doubt(*parts)
    train, control = parts.train.copy(), parts.control.copy()
    train.iloc[0], control.iloc[0] = parts.control.iloc[0], parts.train.iloc[0]
    assert "other parts" in record_of(parts, **right).doubt(train, control)
    assert "36 and 24 rows" in record_of(parts, **right).doubt(parts.train, parts.control[1:])
    assert "other columns" in record_of(parts, **right).doubt(
        parts.train, parts.control.drop(columns="age").assign(years=0)
    )


@pytest.mark.parametrize(
    "written",
    [
        *("[]", "{}", '{"form": 1}', "no"),
        '{"form": 2, "control": 0.3, "train_rows": 1, "control_rows": 1}',
        '{"control": 1.5, "train_rows": 1, "control_rows": 1}',
        '{"control": 0.3, "train_rows": 1, "x": 1}',
    ],
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path, written):
    place = tmp_path / "split.json"
    place.write_text(written)
    with pytest.raises(ParameterError, match=r"split\.json: no record of a split") as refused:
        SplitRecord.read(place)
    assert "\n" not in str(refused.value)


def test_a_record_is_read_as_it_was_written(tmp_path):
    place, record = tmp_path / "split.json", SplitRecord(control=0.3, train_rows=7, control_rows=3)
    place.write_text(json.dumps(record.to_json()))
    assert SplitRecord.read(place) == record == SplitRecord.read(record.to_json())
    with pytest.raises(ParameterError, match="no such file"):
        SplitRecord.read(tmp_path / "none.json")
