"""Every command takes a column for the same: what is an identifier, a code or a text is one everywhere."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import tabveil
from tabveil.core.table import Categorical
from tabveil.datasets import hospital
from tabveil.tables.reading import describe, load_split, load_table

DATA = Path(__file__).parents[4] / "shared" / "data"
REAL = (
    sorted(path.relative_to(DATA).as_posix() for path in DATA.glob("**/*.parquet")) if DATA.is_dir() else []
)
MISSING = ("?",)


def coded(seed=0, n=600):
    """Make people with numbers of their own, races and wards by code, and an amount."""
    rng = np.random.default_rng(seed)
    ward = rng.integers(1, 9, n)
    return pd.DataFrame(
        {
            "patient_id": rng.permutation(10 * n)[:n] + 10_000,
            "name": [f"p{place}" for place in rng.permutation(10 * n)[:n]],
            "race": rng.integers(1, 6, n),
            "ward": ward,
            "age": rng.integers(18, 90, n),
            "cost": np.array([5, 900, 20, 700, 90, 400, 1, 800])[ward - 1] + rng.integers(0, 90, n),
            "sex": rng.choice(["f", "m"], n),
        }
    )


SIMULATED = {"hospital": lambda: hospital(600, seed=1), "coded": coded}
TABLES = [*SIMULATED, *REAL]


def table(name):
    if name in SIMULATED:
        return SIMULATED[name]()
    rows = pd.read_parquet(DATA / name)
    return rows.sample(min(len(rows), 2000), random_state=0).reset_index(drop=True)


def said_by_schema(data):
    columns = yaml.safe_load(describe(data, missing=MISSING))["columns"]
    return {name: entry if isinstance(entry, str) else entry["type"] for name, entry in columns.items()}


@pytest.mark.parametrize("name", TABLES)
def test_commands_agree_on_what_a_column_is(name):
    data = table(name)
    types = said_by_schema(data)
    naming = {column for column, kind in types.items() if kind in ("identifier", "text")}
    numbers = {column for column, kind in types.items() if kind in ("integer", "real")}

    loaded = load_table(data, missing=MISSING)
    assert set(loaded.identifiers) == naming
    if len(naming) < len(types):
        asked = yaml.safe_load(tabveil.hierarchies(data, missing=MISSING))
        assert set(asked["drop"]) == naming
        ranges = {
            column
            for column, entry in asked["hierarchies"].items()
            if entry != "auto" and "intervals" in entry
        }
        assert ranges <= numbers
    few = data.iloc[:400]  # quasi-identifiers are asked of every pair of columns
    found = tabveil.quasi_identifiers(few, missing=MISSING)
    assert {column.name for column in found.columns if column.naming} == set(
        load_table(few, missing=MISSING).identifiers
    )

    third = len(data) // 3
    parts = [data.iloc[start : start + third].reset_index(drop=True) for start in (0, third, 2 * third)]
    types = said_by_schema(parts[0])
    split = load_split(*parts, missing=MISSING).split
    for column in split.schema.columns:
        if types[column.name] == "category":
            assert isinstance(column, Categorical), column.name
        elif types[column.name] in ("integer", "real"):
            assert not isinstance(column, Categorical), column.name


def test_what_a_schema_says_is_what_was_found():
    data = coded()
    types = said_by_schema(data)
    assert types == {
        "patient_id": "identifier",
        "name": "identifier",
        "race": "category",
        "ward": "category",
        "age": "integer",
        "cost": "integer",
        "sex": "category",
    }
    given = load_table(data, schema={"columns": types})
    assert set(given.identifiers) == {"patient_id", "name"}
    asked = yaml.safe_load(tabveil.hierarchies(data))
    assert asked["hierarchies"]["race"] == asked["hierarchies"]["ward"] == "auto"
    assert "intervals" in asked["hierarchies"]["age"]


def test_codes_are_no_ranges_where_a_table_is_generalized():
    data = coded()
    asked = {"hierarchies": {"ward": "auto"}, "models": [{"k": 100}], "drop": ["patient_id", "name"]}
    released = tabveil.anonymize(data, asked).rows
    known = {*map(str, range(1, 9)), "other", "*"}
    assert set(released["ward"].astype(str)) <= known
    asked["hierarchies"]["ward"] = {"intervals": [[5]]}  # whoever wants ranges has them
    assert len(set(tabveil.anonymize(data, asked).rows["ward"])) == 2


def test_an_audit_asks_whether_codes_are_equal_whoever_wrote_them_with_decimals():
    train, release, control = (coded(seed) for seed in (1, 2, 3))
    release = release.assign(ward=release["ward"].astype(float) + 0.0)
    release.loc[0, "ward"] = np.nan
    split = load_split(train, release, control).split
    ward = split.schema["ward"]
    assert ward.labels == tuple("12345678")
    assert np.isnan(split.synthetic.column("ward")[0])
    codes = np.array([float(label) for label in ward.labels])
    np.testing.assert_array_equal(codes[split.train.column("ward").astype(int)], train["ward"])
    np.testing.assert_array_equal(codes[split.synthetic.column("ward")[1:].astype(int)], release["ward"][1:])
    odd = load_split(train, release.assign(ward=2.5), control).split
    assert odd.schema["ward"].labels == (*"12", "2.5", *"345678")


def test_synthesis_takes_codes_for_codes_and_writes_numbers():
    data = coded()
    rows = tabveil.synthesize(data, generator="marginals", rows=200)
    assert rows["race"].dtype == data["race"].dtype
    assert set(rows["race"]) <= set(data["race"])
    assert set(rows["ward"]) <= set(data["ward"])


def test_the_order_of_rows_and_columns_does_not_matter():
    data = coded(n=25_000)[["race", "ward", "age", "cost", "sex"]]
    moved = data.sample(frac=1, random_state=3)[["sex", "cost", "ward", "race", "age"]].reset_index(drop=True)
    found = [
        {name for name, place in load_table(each).layout.columns.items() if place.code}
        for each in (data, moved)
    ]
    assert found == [{"race", "ward"}] * 2


def test_identifiers_and_texts_need_hold_nothing_that_train_does():
    train, control = coded(1).assign(town="Ulm"), coded(2).assign(town="Bonn")
    control["name"] = "q" + control["name"]
    train["note"] = [f"case {place} of a rather long day at the clinic" for place in range(len(train))]
    control["note"] = [f"visit {place} of a rather long night at the ward" for place in range(len(control))]
    notes = load_split(train, train, control).notes
    assert any("'town': no label of control" in note for note in notes)
    assert not any("'name': no label" in note or "'note': no label" in note for note in notes)


def test_a_code_with_a_letter_is_no_word_for_missing(tmp_path):
    codes = ["250", "401", "250.01"] * 100 + ["V57"] * 20 + ["other"] * 20 + ["?"] * 12
    (tmp_path / "d.csv").write_text(
        "\n".join(["diag,age", *(f"{code},{place % 9}" for place, code in enumerate(codes))])
    )
    notes = " ".join(load_table(tmp_path / "d.csv").notes)
    assert '"?" counts as a label' in notes
    assert "V57" not in notes
    assert "other" not in notes  # rare ones, pooled
    words = ["250", "401"] * 100 + ["unknown"] * 20
    (tmp_path / "w.csv").write_text(
        "\n".join(["lab,age", *(f"{word},{place % 9}" for place, word in enumerate(words))])
    )
    assert '"unknown" counts as a label' in " ".join(load_table(tmp_path / "w.csv").notes)


def test_icd_codes_are_not_said_to_look_like_numbers(tmp_path):
    codes = ["250", "401.9", "428"] * 60 + [f"V{place % 30}" for place in range(40)] + ["E885"] * 12
    rows = [f"{code},{place % 9}" for place, code in enumerate(codes)]
    (tmp_path / "d.csv").write_text("\n".join(["diag,age", *rows]))
    assert load_table(tmp_path / "d.csv").notes == ()
    odd = ["250", "401", "428"] * 60 + [f"about {place}" for place in range(40)] + ["none"] * 12
    (tmp_path / "o.csv").write_text(
        "\n".join(["pay,age", *(f"{cell},{place % 9}" for place, cell in enumerate(odd))])
    )
    assert "look like numbers" in load_table(tmp_path / "o.csv").notes[0]
