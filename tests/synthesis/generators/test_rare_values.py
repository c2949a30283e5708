"""Labels that few people hold never reach a generator, and so neither its rows nor its stored model."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tabveil.errors import ParameterError
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.rare_values import pool_rare_labels
from tabveil.tables.reading import load_table
from tabveil.workflows import synthesizing
from tabveil.workflows.synthesizing.learning import is_private

QUICK = {
    "trees": {},
    "transformer": {"epochs": 1, "width": 16, "layers": 1},
    "diffusion": {"steps": 5, "width": 16, "layers": 1},
    "ctgan": {"epochs": 1, "layers": (16,), "embedding": 8, "batch_size": 60},
    "marginals": {},
    "hybrid": {},
}
PHONE = "please call Jane Doe, 030 1234567"


def people(n=300):
    """Sex is shared, the remark is one person's, of two wards one has nine people and one has ten."""
    rng = np.random.default_rng(0)
    ward = np.array(["north", "south"])[rng.integers(0, 2, n)]
    ward[:9], ward[9:19] = "nine", "ten"
    remark = np.array(["none"] * n, dtype=object)
    remark[40], remark[41:60] = PHONE, None
    return pd.DataFrame({"sex": np.array(["f", "m"])[rng.integers(0, 2, n)], "ward": ward, "remark": remark})


def learned(data, generator="trees", **given):
    return synthesizing.learn(data, generator=generator, settings=QUICK.get(generator), **given)


def labels_of(model, column, n_rows=3000):
    return set(model.draw(n_rows).native()[column].dropna())


def test_every_generator_is_tried():
    others = {name for name, kind in GENERATORS.items() if not is_private(kind())} - {"copy"}
    assert others == set(QUICK)


@pytest.mark.parametrize("generator", QUICK)
def test_a_label_of_one_person_is_neither_drawn_nor_stored(generator, tmp_path):
    model = learned(people(), generator)
    assert PHONE not in labels_of(model, "remark")
    assert "nine" not in labels_of(model, "ward")
    model.save(tmp_path / "model")
    rows = synthesizing.sample(tmp_path / "model", 500, seed=3)
    assert PHONE not in set(rows["remark"])
    stored = [path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file()]
    assert not any(b"1234567" in text or b'"nine"' in text for text in stored)


def test_ten_share_a_label_and_nine_do_not():
    model = learned(people())
    assert labels_of(model, "ward") == {"north", "south", "ten"}


def test_what_was_replaced_is_said_once():
    model = learned(people())
    assert model.notes[-1] == (
        "Rare labels: 2 labels that fewer than ten rows share, in 10 cells of 2 columns, learned as one "
        "label of their own ('other', of codes a number that none has), or as other labels of the column "
        "where fewer than ten rows have any of them."
    )
    assert not any("Rare labels" in note for note in learned(people()[["sex"]]).notes)


def test_kept_labels_are_drawn_and_nothing_is_said():
    model = learned(people(), "marginals", rare_labels="keep")
    assert labels_of(model, "ward") == {"north", "south", "nine", "ten"}
    assert PHONE in labels_of(model, "remark", 20_000)
    assert not any("Rare labels" in note for note in model.notes)
    with pytest.raises(
        ParameterError, match="synthesize: rare_labels must be one of 'pool', 'keep'; got 'all'"
    ):
        learned(people(), rare_labels="all")


def test_all_labels_rare_are_all_others():
    data = pd.DataFrame({"name": [f"Person {i}" for i in range(40)], "n": range(40)})
    rows = learned(data, identifiers="learn").draw(200).native()
    assert set(rows["name"]) == {"other"}
    few = learned(data.head(9).assign(name="one"), "marginals", identifiers="learn").draw(50).native()
    assert few["name"].isna().all()  # nine rows have no label, and no label of their own


def test_what_is_missing_stays_missing():
    rows = learned(people(), "marginals").draw(6000).native()
    assert rows["remark"].isna().mean() == pytest.approx(19 / 300, abs=0.02)
    assert set(rows["remark"].dropna()) == {"none"}


def test_replaced_cells_have_a_label_of_their_own():
    cells = ["a"] * 3000 + ["b"] * 1000 + [f"only {i}" for i in range(2000)]
    rows = learned(pd.DataFrame({"c": cells}), "marginals").draw(10_000).native()["c"]
    assert (rows == "a").mean() == pytest.approx(0.5, abs=0.03)
    assert (rows == "other").mean() == pytest.approx(1 / 3, abs=0.03)


def test_without_a_label_of_their_own_they_are_drawn_as_often_as_rows_share_the_others():
    cells = ["a"] * 3000 + ["b"] * 1000 + [f"only {i}" for i in range(2000)]
    table = load_table(pd.DataFrame({"c": cells})).table
    pooled = pool_rare_labels(table, keep=(), rng=np.random.default_rng(0)).table
    assert (pooled.column("c") == table.schema["c"].labels.index("a")).mean() == pytest.approx(0.75, abs=0.03)


def test_declared_labels_are_public():
    schema = {"columns": {"ward": {"type": "category", "labels": ["north", "south", "nine", "ten"]}}}
    model = learned(people(), "marginals", schema=schema)
    assert "nine" in labels_of(model, "ward")
    assert "1 label " in model.notes[-1]


def test_scales_and_truths_are_nobodys():
    grades = pd.Categorical(["low"] * 97 + ["high"] * 3, ["low", "mid", "high"], ordered=True)
    data = pd.DataFrame({"grade": grades, "dead": [False] * 97 + [True] * 3})
    rows = learned(data, "marginals").draw(2000).native()
    assert set(rows["grade"]) == {"low", "high"}
    assert set(rows["dead"]) == {False, True}


def test_copies_are_copies():
    model = learned(people(), "copy")
    assert PHONE in labels_of(model, "remark", 5000)
    assert not any("Rare labels" in note for note in model.notes)


def test_private_generators_learn_what_they_are_given():
    model = synthesizing.learn(people(), generator="aim", settings={"epsilon": 1.0}, seed=0)
    assert not any("Rare labels" in note for note in model.notes)
    assert "nine" in model.model.schema["ward"].labels


def test_other_columns_and_the_table_itself_are_left_alone():
    table = synthesizing.learn(people(), generator="copy").model.sample(300, rng=np.random.default_rng(0))
    before = table.values.copy()
    pooled = pool_rare_labels(table, keep=("ward",), rng=np.random.default_rng(1))
    np.testing.assert_array_equal(table.values, before)
    np.testing.assert_array_equal(pooled.table.column("sex"), table.column("sex"))
    np.testing.assert_array_equal(pooled.table.column("ward"), table.column("ward"))


def test_a_stored_layout_does_not_name_them(tmp_path):
    data = people().astype({"remark": "category"})
    learned(data).save(tmp_path / "model")
    layout = Path(tmp_path / "model" / "layout.json").read_text(encoding="utf-8")
    assert "1234567" not in layout
    assert json.loads(layout)
