"""Binary JSON is read as it is written: by hand, and by XGBoost, whose text says the same."""

import json

import numpy as np
import pytest
import xgboost

from tabveil.engines.trees import ubjson


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"T", True),
        (b"F", False),
        (b"Z", None),
        (b"i\xff", -1),
        (b"U\xff", 255),
        (b"I\x01\x00", 256),
        (b"l\xff\xff\xff\xfe", -2),
        (b"L\x00\x00\x00\x00\x00\x00\x01\x00", 256),
        (b"d\x3f\x80\x00\x00", 1.0),
        (b"D\x3f\xf8\x00\x00\x00\x00\x00\x00", 1.5),
        (b"Si\x02\xc3\xa9", "é"),
        (b"[]", []),
        (b"[#i\x00", []),
        (b"[#i\x02i\x01T", [1, True]),
        (b"[i\x01Si\x00]", [1, ""]),
        (b"{}", {}),
        (b"{i\x01a[i\x05]U\x01b{}}", {"a": [5], "b": {}}),
    ],
)
def test_values_by_hand(data, expected):
    assert ubjson.loads(data) == expected


def test_numbers_of_one_kind_are_an_array():
    found = ubjson.loads(b"[$l#i\x02\x00\x00\x00\x07\xff\xff\xff\xff")
    np.testing.assert_array_equal(found, [7, -1])
    assert ubjson.loads(b"[$d#i\x00").shape == (0,)


@pytest.mark.parametrize(
    "data", [b"", b"[", b"{i\x01a", b"Q", b"[$S#i\x01", b"[$l#i\x09\x00", b"TT", b"L\x00", b"Si\x01\xff"]
)
def test_what_is_not_well_formed_is_refused(data):
    with pytest.raises((ValueError, KeyError, IndexError)):
        ubjson.loads(data)


def test_a_model_of_xgboost_says_what_its_text_says():
    rng = np.random.default_rng(0)
    cells = np.column_stack([rng.integers(0, 9, 200), rng.random(200)])
    data = xgboost.DMatrix(
        cells, label=rng.integers(0, 3, 200), feature_types=["c", "q"], enable_categorical=True
    )
    booster = xgboost.train({"objective": "multi:softprob", "num_class": 3}, data, num_boost_round=5)
    binary, text = ubjson.loads(booster.save_raw("ubj")), json.loads(booster.save_raw("json"))
    trees = [found["learner"]["gradient_booster"]["model"]["trees"] for found in (binary, text)]
    assert len(trees[0]) == len(trees[1]) == 15
    for one, other in zip(*trees, strict=True):
        assert one.keys() == other.keys()
        for field in ("left_children", "right_children", "split_indices", "default_left", "categories"):
            np.testing.assert_array_equal(one[field], other[field])
        np.testing.assert_array_equal(
            one["split_conditions"], np.asarray(other["split_conditions"], np.float32)
        )
