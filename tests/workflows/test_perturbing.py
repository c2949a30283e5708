"""Values that change places or are moved: by hand, in every kind of table, whatever the order."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tabveil
from tabveil.datasets import hospital
from tabveil.errors import ParameterError, SchemaError
from tabveil.workflows.perturbing import NOTHING_PROMISED, perturb


@pytest.fixture(scope="module")
def people():
    return hospital(400, seed=1)


def matched(people, found):
    """The rows beside what they became: the columns of people that were not touched tell whose they are."""
    kept = ["diagnosis", "admitted", "systolic", "hemoglobin", "cost"]
    return people.merge(found.rows, on=kept, suffixes=("", "_after"))


def test_two_rows_of_a_group_change_places_and_one_that_is_alone_stays():
    frame = pd.DataFrame(
        {"person": [1.5, 2.5, 3.5, 4.5, 5.5], "town": list("abcde"), "region": ["n", "n", "s", "s", "w"]}
    )
    found = perturb(frame, swap=["town"], within=["region"])
    rows = found.rows.sort_values("person")
    assert rows["town"].tolist() == ["b", "a", "d", "c", "e"]
    assert rows["region"].tolist() == frame["region"].tolist()
    assert (found.swapped, found.alone) == (4, 1)
    assert found.sentences == (
        "Values of town changed places among 4 of 5 rows.",
        "1 row had nobody to change with.",
    )


def test_swapped_columns_stay_together_and_keep_what_they_hold(people):
    found = perturb(people, swap=["region", "ward"], within=["sex"], seed=3)
    rows = matched(people, found)
    assert len(rows) == 400
    pairs = [sorted(zip(table["region"], table["ward"], strict=True)) for table in (people, found.rows)]
    assert pairs[0] == pairs[1]
    assert (rows["region"] != rows["region_after"]).mean() > 0.8
    by_sex = [table.groupby("sex")["region"].apply(sorted).tolist() for table in (people, found.rows)]
    assert by_sex[0] == by_sex[1]


def test_only_a_share_swaps_and_nobody_who_does_keeps_their_own():
    frame = pd.DataFrame({"x": np.arange(100) + 0.5, "label": [f"L{i:03}" for i in range(100)]})
    found = perturb(frame, swap=["label"], share=0.3, columns=())
    rows = found.rows.sort_values("x")
    assert found.swapped == 30
    assert int((rows["label"].to_numpy() != frame["label"].to_numpy()).sum()) == 30


def test_numbers_are_moved_by_so_many_deviations_and_stay_what_they_were(people):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"key": np.arange(4000), "whole": rng.integers(0, 10_000, 4000)})
    frame["real"] = np.round(rng.normal(50, 10, 4000), 2)
    frame.loc[::10, "real"] = np.nan
    found = perturb(frame, noise=0.1, columns=["whole", "real"])
    rows = found.rows.sort_values("key")
    for name in ("whole", "real"):
        shift = rows[name].to_numpy() - frame[name].to_numpy()
        assert np.nanstd(shift) / frame[name].std() == pytest.approx(0.1, rel=0.05)
        assert frame[name].min() <= rows[name].min()
        assert rows[name].max() <= frame[name].max()
    assert rows["whole"].dtype == frame["whole"].dtype
    assert rows["real"].isna().to_numpy().tolist() == frame["real"].isna().tolist()
    assert np.allclose(np.round(rows["real"], 2), rows["real"], equal_nan=True)
    counted = int((rows["whole"].to_numpy() != frame["whole"].to_numpy()).sum())
    assert found.moved["whole"] == counted > 3900


def test_labels_are_drawn_anew_by_how_common_they_are():
    frame = pd.DataFrame({"key": np.arange(4000) + 0.5, "job": ["cook"] * 3600 + ["pilot"] * 400})
    rows = perturb(frame, replace=0.5, columns=["job"]).rows.sort_values("key")
    changed = (rows["job"].to_numpy() != frame["job"].to_numpy()).reshape(10, 400).mean(axis=1)
    assert changed[:9].mean() == pytest.approx(0.5 * 0.1, abs=0.015)  # cooks that became pilots
    assert changed[9] == pytest.approx(0.5 * 0.9, abs=0.08)
    assert (rows["job"] == "cook").mean() == pytest.approx(0.9, abs=0.02)


def test_rows_leave_in_an_order_that_neither_file_nor_seed_tells(people):
    found = perturb(people, noise=0.1)
    shuffled = people.sample(frac=1, random_state=1)
    again = perturb(shuffled, noise=0.1)
    pd.testing.assert_frame_equal(
        found.rows.reset_index(drop=True), again.rows.reset_index(drop=True), check_categorical=False
    )
    assert found.rows["diagnosis"].tolist() != people["diagnosis"].tolist()
    other = perturb(people, noise=0.1, seed=2)
    assert sorted(other.rows["cost"]) != sorted(found.rows["cost"])


def test_what_is_not_asked_for_is_not_touched(people):
    found = perturb(people, noise=0.5, columns=["age"])
    rest = [name for name in people if name != "age"]
    before, after = (table[rest].sort_values(["cost", "admitted"]) for table in (people, found.rows))
    pd.testing.assert_frame_equal(before.reset_index(drop=True), after.reset_index(drop=True))
    assert list(found.moved) == ["age"]
    assert not found.redrawn


def test_names_texts_and_columns_to_leave_are_left_alone(people):
    frame = people.assign(patient=[f"P-{i:05}" for i in range(400)])
    found = perturb(frame, noise=0.1, replace=0.5, leave=["ward"])
    assert not {"patient", "ward"} & {*found.moved, *found.redrawn}
    assert sorted(found.rows["patient"]) == sorted(frame["patient"])


def test_every_kind_of_table_comes_back_as_it_came(people, tmp_path):
    asked = {"swap": ["region"], "noise": 0.2, "seed": 4}
    kinds = {pl.DataFrame: pl.from_pandas(people), pa.Table: pa.Table.from_pandas(people)}
    for kind, table in kinds.items():
        rows = perturb(table, **asked).rows
        assert isinstance(rows, kind)
        assert sorted(rows["region"].to_numpy()) == sorted(people["region"])
        assert sorted(rows["cost"].to_numpy(), key=str) != sorted(people["cost"], key=str)
    indexed = people.set_index(np.arange(400) * 7 + 3)
    rows = perturb(indexed, **asked).rows
    assert set(rows.index) == set(indexed.index)
    assert rows.dtypes.equals(people.dtypes)
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    found = perturb(path, **asked)
    raw = found.raw
    assert raw.column_names == list(people)
    assert sorted(raw["region"].to_pylist()) == sorted(people["region"])
    assert found.rows.num_rows == raw.num_rows == 400
    assert found.as_read().data.num_rows == 400


def test_what_a_swap_leaves_is_still_somebodys(people):
    """No promise: whoever knows the columns that were not swapped finds the person."""
    control = hospital(400, seed=2)
    found = perturb(people, swap=["region"])
    report = tabveil.audit(people, found.rows, control, metrics=["membership_distance"])
    assert report["membership_distance"].gain.low > 0.5
    assert "Nothing formal is promised" in NOTHING_PROMISED


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({}, "perturb: nothing is to be changed"),
        ({"swap": ["age"], "share": 0}, "perturb: nothing is to be changed"),
        ({"within": ["age"], "noise": 1}, "perturb: within says among whom"),
        ({"swap": ["age"], "within": ["age"]}, "perturb: age cannot be both"),
        ({"swap": ["age"], "columns": ["sex"]}, "perturb: columns says what noise and replace change"),
        ({"swap": ["agee"]}, "perturb: no column 'agee'. Did you mean 'age'?"),
        ({"noise": -1}, "perturb: noise must be >= 0"),
        ({"noise": float("nan")}, "perturb: noise must be"),
        ({"noise": float("inf")}, "perturb: noise must be"),
        ({"replace": 1.2}, "perturb: replace must lie from 0 to 1"),
        ({"noise": 1, "columns": ["sex"]}, "perturb: no column is left to change"),
    ],
)
def test_what_changes_nothing_or_contradicts_itself_is_refused(people, asked, complaint):
    with pytest.raises(ParameterError) as refused:
        perturb(people[:20], **asked)
    assert str(refused.value).startswith(complaint)


def test_odd_tables():
    with pytest.raises(SchemaError, match=r"^perturb: the table has no rows"):
        perturb(pd.DataFrame({"x": []}), noise=1)
    alone = perturb(pd.DataFrame({"x": [1.5], "y": ["a"]}), swap=["y"], noise=1)
    assert alone.rows["y"].tolist() == ["a"]
    assert (alone.swapped, alone.alone, alone.moved) == (0, 1, {"x": 0})
    empty = pd.DataFrame({"x": [np.nan, np.nan, 1.0], "y": ["a", None, "b"]})
    found = perturb(empty, swap=["y"], noise=1).rows
    assert found["x"].notna().sum() == 1
    assert found["y"].notna().sum() == 2  # a missing value changes places like any other


def test_columns_that_are_dropped_are_in_no_row(tmp_path):
    people = hospital(60, seed=1)
    people.to_csv(tmp_path / "people.csv", index=False)
    settings = {"swap": ["region"], "drop": ["age"], "schema": {"columns": {"age": "integer"}}}
    expected = [name for name in people.columns if name != "age"]
    from_file = tabveil.perturb(tmp_path / "people.csv", **settings)
    assert from_file.rows.column_names == from_file.raw.column_names == expected
    rows = tabveil.perturb(people, **settings).rows
    assert [*rows.columns] == expected
    assert rows["region"].value_counts().to_dict() == people["region"].value_counts().to_dict()
