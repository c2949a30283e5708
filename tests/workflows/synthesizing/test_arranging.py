"""Codes, descriptions and groups of both: in every written row they go together as in the table."""

import numpy as np
import pandas as pd
import pytest
from supplies.needs import need_table

from tabveil.tables.reading import load_table, write
from tabveil.workflows.synthesizing import TableModel, learn

LEAST = 10
QUICK = {
    "trees": {},
    "ctgan": {"epochs": 2, "layers": (16,), "embedding": 8, "batch_size": 60},
    "diffusion": {"steps": 20, "width": 16, "layers": 1},
    "transformer": {"epochs": 1, "width": 16, "layers": 1},
    "marginals": {},
}


def discharges(n=1500, seed=0):
    """Draw codes with descriptions, chapters of codes, and times; two codes in three are rare."""
    rng = np.random.default_rng(seed)
    catalog = np.random.default_rng(1)
    number = np.sort(catalog.permutation(670)[:60]) + 1
    chapter = catalog.integers(0, 5, 60)
    shares = np.concatenate([np.full(20, 4.4), np.full(40, 0.3)])[catalog.permutation(60)]
    which = rng.choice(60, n, p=shares / shares.sum())
    minutes = rng.integers(0, 1440, n)
    age = rng.integers(0, 95, n)
    return pd.DataFrame(
        {
            "DRG Code": number[which],
            "age": age,
            "text": np.array([f"what {k} is" for k in range(60)])[which],
            "chapter": np.array(list("ABCDE"))[chapter[which]],
            "group": pd.cut(age, [-1, 17, 64, 100], labels=["child", "adult", "old"]).astype(str),
            "dep_time": minutes // 60 * 100 + minutes % 60,
            "sex": rng.choice(["f", "m"], n),
        }
    )


def together(rows, *columns):
    return set(rows[list(columns)].astype(str).itertuples(index=False, name=None))


def learned(data, generator="trees", **given):
    return learn(data, generator=generator, settings=QUICK[generator], seed=0, **given)


def written(model, path, n=3000):
    """Write rows to a file and read them as anybody does."""
    model.draw(n).write(path)
    return pd.read_csv(path)


@pytest.mark.parametrize("generator", QUICK)
def test_no_row_pairs_a_code_with_the_description_of_another(generator, tmp_path):
    data = discharges()
    rows = written(learned(data, generator), tmp_path / "rows.csv")
    often = data["DRG Code"].value_counts()
    codes = set(often.index[often >= LEAST])
    known = rows[rows["DRG Code"] != -1]
    assert set(known["DRG Code"]) <= codes
    for column in ("text", "chapter"):
        assert together(known, "DRG Code", column) <= together(data, "DRG Code", column)
    assert set(rows.loc[rows["DRG Code"] == -1, "text"]) == {"other"}
    seen = rows[rows["age"].isin(data["age"])]
    assert together(seen, "age", "group") <= together(data, "age", "group")


def test_rare_labels_have_a_label_of_their_own_and_keep_the_chapter():
    data = discharges()
    rows = learned(data).draw(6000).native()
    often = data["DRG Code"].value_counts()
    rare = data["DRG Code"].isin(often.index[often < LEAST])
    assert (rows["text"] == "other").mean() == pytest.approx(rare.mean(), abs=0.03)
    shares = [each["chapter"].value_counts(normalize=True) for each in (rows, data)]
    assert (shares[0] - shares[1]).abs().max() < 0.04
    assert set(rows["text"]) == {"other", *data.loc[~rare, "text"]}


def test_every_combination_is_one_that_ten_rows_have():
    """Also of those that are pooled: what a single rare row has is never told."""
    data = discharges(400)
    model = learned(data)
    rows = model.draw(4000).native()
    often = data["DRG Code"].value_counts()
    rare = ~data["DRG Code"].isin(often.index[often >= LEAST])
    own = data.assign(
        **{"DRG Code": data["DRG Code"].mask(rare, -1), "text": data["text"].mask(rare, "other")}
    )
    counts = own.groupby(["DRG Code", "text", "chapter"]).size()
    seen = together(rows[rows["chapter"] != "other"], "DRG Code", "text", "chapter")
    assert seen <= {tuple(map(str, key)) for key in counts.index[counts >= LEAST]}


def test_a_label_called_other_is_nobodys_rare_one():
    data = discharges().replace({"text": {"what 3 is": "Other"}})
    rows = learned(data).draw(3000).native()
    assert set(rows.loc[rows["DRG Code"] == -1, "text"]) == {"other labels"}


def test_too_few_rare_rows_for_a_label_of_their_own_become_others():
    data = pd.DataFrame({"sex": ["f"] * 150 + ["m"] * 147 + ["x"] * 3, "n": range(300)})
    assert set(learned(data).draw(2000).native()["sex"]) == {"f", "m"}


def test_times_stay_times_of_day():
    data = discharges()
    rows = learned(data).draw(4000).native()
    assert rows["dep_time"].dtype == data["dep_time"].dtype
    assert (rows["dep_time"] % 100 < 60).all() and rows["dep_time"].between(0, 2359).all()  # noqa: PT018
    assert len(set(rows["dep_time"]) - set(data["dep_time"])) > 50  # no list of times that somebody had


@pytest.mark.parametrize("generator", ["trees", "marginals"])
def test_rates_of_a_month_go_together(generator):
    """Numbers with decimals, of which a few determine each other: each row has those of one month."""
    rng = np.random.default_rng(0)
    price = np.round(np.linspace(92.2, 94.8, 26)[rng.permutation(26)], 3)
    trust = np.round(rng.normal(-40, 5, 26), 1)
    month = rng.choice(26, 2000, p=np.r_[np.full(25, 0.0398), 0.005])
    data = pd.DataFrame(
        {
            "price": price[month],
            "trust": trust[month],
            "staff": np.round(5000 + month // 4 * 30.1, 1),
            "age": rng.integers(20, 60, 2000),
        }
    )
    data.loc[:3, ["price", "trust"]] = [[99.5, -10.1], [99.6, -10.2], [99.7, -10.3], [99.8, -10.4]]
    rows = learned(data, generator).draw(4000).native()
    assert together(rows, "price", "trust", "staff") <= together(data, "price", "trust", "staff")
    assert rows["price"].max() < 99
    assert {str(each) for each in rows.dtypes} == {str(each) for each in data.dtypes}


def test_times_that_follow_from_a_flight_stay_times(tmp_path):
    rng = np.random.default_rng(0)
    data = discharges(4000)
    starts = rng.integers(0, 1440, 40)
    flight = rng.choice(40, 4000)
    data["flight"] = [f"F{each}" for each in flight]
    data["leaves"] = (starts // 60 * 100 + starts % 60)[flight]
    data["lands"] = data["leaves"].map(lambda time: (time + 100) % 2400)
    model = learned(data)
    rows = written(model, tmp_path / "rows.csv")
    assert together(rows, "flight", "leaves", "lands") <= together(data, "flight", "leaves", "lands")
    model.save(tmp_path / "model")
    again = TableModel.load(tmp_path / "model").draw(3000).native()
    assert again["leaves"].tolist() == rows["leaves"].tolist()


def test_codes_alone_are_not_smoothed():
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"ward_id": rng.choice([3.0, 7.0, 20.0, 90.0], 500), "x": rng.normal(size=500)})
    data.loc[:14, "ward_id"] = np.arange(41.0, 56.0)  # fifteen wards of one patient each
    data.loc[20:30, "ward_id"] = np.nan
    rows = learned(data).draw(3000).native()
    assert set(rows["ward_id"].dropna()) == {-1.0, 3.0, 7.0, 20.0, 90.0}
    assert rows["ward_id"].isna().mean() == pytest.approx(11 / 500, abs=0.01)


@pytest.mark.parametrize("kind", ["uint8", "Int16", "float64", "category"])
def test_codes_keep_their_type(kind):
    data = discharges().assign(sex=lambda rows: rows["sex"].map({"f": 1, "m": 2}))
    data["DRG Code"] = pd.factorize(data["DRG Code"])[0]
    data = data.astype({"DRG Code": kind})
    rows = learned(data).draw(3000).native()
    stands = 99 if kind == "uint8" else -1
    assert set(rows.loc[rows["DRG Code"].astype(int) == stands, "text"]) == {"other"}
    assert rows["DRG Code"].dtype == kind


def test_what_was_done_is_said_without_values():
    notes = learned(discharges()).notes
    assert "Whole numbers learned as labels, not as quantities: DRG Code." in notes
    assert "Times of day, learned as minutes: dep_time." in notes
    assert "Columns that follow from ranges of a number, in every row: group from age." in notes
    assert any("learned as one: DRG Code with text, chapter." in note for note in notes)
    assert any(note.startswith("Rare labels: ") and "'other'" in note for note in notes)
    assert not any("what 3 is" in note for note in notes)


def test_a_stored_model_turns_rows_back_and_names_nobody(tmp_path):
    data = discharges()
    data.loc[3, ["DRG Code", "text"]] = [9999, "only one person has this"]
    model = learned(data)
    model.save(tmp_path / "model")
    first, again = model.draw(500, seed=3), TableModel.load(tmp_path / "model").draw(500, seed=3)
    pd.testing.assert_frame_equal(first.native(), again.native())
    stored = b"".join(path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file())
    assert b"only one person" not in stored
    assert b"9999" not in stored


def test_kept_rare_labels_keep_their_codes():
    data = discharges()
    rows = learned(data, rare_labels="keep").draw(20_000).native()
    assert together(rows, "DRG Code", "text", "chapter") <= together(data, "DRG Code", "text", "chapter")
    assert len(set(rows["text"])) > 50


def test_declared_columns_are_what_was_said():
    schema = {"columns": {"DRG Code": {"type": "integer"}, "dep_time": {"type": "integer"}}}
    data = discharges().drop(columns=["text", "chapter"])
    notes = learned(data, schema=schema).notes
    assert not any("Whole numbers" in note or "Times of day" in note for note in notes)


def test_private_generators_do_not_look():
    data = discharges(300)
    model = learn(data, generator="aim", settings={"epsilon": 1.0}, seed=0)
    assert model.model.schema.names == tuple(data.columns)
    assert not any("learned as" in note for note in model.notes)


TABLES = (
    "adult",
    "census_income_kdd",
    "diabetes130",
    "loans",
    "nhanes",
    "bank_1999/clients",
    "bank_1999/loans",
)


@pytest.mark.parametrize("name", TABLES)
def test_what_the_notes_promise_holds_in_every_row_of_real_tables(name, tmp_path):
    data = pd.read_parquet(need_table(f"{name}.parquet"))
    data = data.sample(min(len(data), 2500), random_state=2).reset_index(drop=True)
    model = learn(data, seed=1, missing=("?",))
    model.draw(2500, seed=1).write(tmp_path / "rows.csv")
    rows = load_table(tmp_path / "rows.csv").table
    texts = pd.read_csv(tmp_path / "rows.csv", dtype=str, keep_default_na=False)
    real = load_table(data, missing=("?",))
    assert len(rows) == 2500
    written_out = _as_written(data, tmp_path)
    for link in model.form.linked:
        names = [each.name for each in link.columns]
        if len(names) == 1:
            continue
        held = written_out[names]
        enough = held.groupby(names).size()
        allowed = {key for key, count in enough.items() if count >= LEAST}
        for row in set(texts[names].itertuples(index=False, name=None)):
            assert row in allowed or {"other", "other labels", "-1"} & set(row)
    for item in model.form.banded:
        assert texts.groupby(item.source)[item.column.name].nunique().max() == 1
    assert real.table.schema.names == tuple(texts.columns)


def _as_written(data, folder):
    """Return the table's cells as texts, in the form in which rows of it are written."""
    known = load_table(data, missing=("?",))
    write(known.table, known.layout, folder / "real.csv")
    return pd.read_csv(folder / "real.csv", dtype=str, keep_default_na=False)
