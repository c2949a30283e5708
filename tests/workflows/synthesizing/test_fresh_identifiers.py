"""Identifiers in synthetic rows: fresh ones of the same form, nobody's, with or without a promise."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.errors import ParameterError
from tabveil.workflows.synthesizing import TableModel, codes, learn, sample, synthesize
from tabveil.workflows.synthesizing.codes import Code, Known

N = 300


def people(n=N, seed=1):
    """People with all that may name them, and two columns that only tell something about them."""
    rng = np.random.default_rng(seed)
    ids = rng.choice(900_000, n, replace=False)
    syllables = ["ma", "ri", "lo", "pez", "an", "jo", "kim", "berg", "son", "tu"]
    names = {" ".join("".join(rng.choice(syllables, 3)).title() for _ in range(3)) for _ in range(3 * n)}
    return pd.DataFrame(
        {
            "case": np.arange(20_000, 20_000 + n),
            "age": rng.integers(20, 40, n),
            "code": [f"AB-{i:06d}/{'XYZ'[i % 3]}" for i in ids],
            "name": sorted(names)[:n],
            "sex": rng.choice(["f", "m"], n),
            "uuid": ["".join(rng.choice(list("0123456789abcdef"), 32)) for _ in range(n)],
        }
    )


IDENTIFIERS = ("case", "code", "name", "uuid")


def cells(table, names=IDENTIFIERS):
    return {str(cell) for name in names for cell in table[name]}


@pytest.mark.parametrize("generator", ["trees", "marginals", "copy"])
def test_fresh_ones_have_the_form_of_the_data_and_are_nobodys(generator):
    data = people()
    rows = synthesize(data, generator=generator, rows=N)
    assert list(rows.columns) == list(data.columns)
    assert list(rows.dtypes) == list(data.dtypes)
    assert not cells(rows) & cells(data)
    assert all(rows[name].is_unique for name in IDENTIFIERS)
    assert rows["case"].between(10_000, 99_999).all()
    assert rows["code"].str.fullmatch(r"AB-\d{6}/[A-Z]").all()
    assert rows["name"].str.fullmatch(r"name_\d{6}").all()
    assert rows["uuid"].str.fullmatch(r"[0-9a-f]{32}").all()
    assert set(rows["sex"]) == {"f", "m"}
    assert rows["age"].isin(data["age"]).all()


def test_a_seed_draws_the_same_and_another_others():
    learned = learn(people(), generator="marginals")
    first, again, other = (learned.draw(50, seed=seed).native() for seed in (3, 3, 4))
    assert first.equals(again)
    assert not first["uuid"].isin(other["uuid"]).any()


def test_they_can_be_left_out_or_learned():
    data = people()
    dropped = learn(data, generator="copy", identifiers="drop")
    assert list(dropped.draw(5).native().columns) == ["age", "sex"]
    assert any("come without them: case, code, name, uuid" in note for note in dropped.notes)
    kept = learn(data, generator="copy", identifiers="learn")
    rows = kept.draw(50).native()
    assert cells(rows) <= cells(data)
    assert any("learned as they are" in note for note in kept.notes)
    with pytest.raises(ParameterError, match="identifiers must be one of 'fresh', 'drop', 'learn'"):
        synthesize(data, identifiers="hide")
    with pytest.raises(ParameterError, match=r"no column is left to learn without identifiers \(case\)"):
        synthesize(data[["case"]])


def test_what_is_said_names_columns_and_no_value():
    data = people()
    (said,) = (note for note in learn(data, generator="marginals").notes if "Identifiers" in note)
    assert "fresh ones of the same form in case, code, uuid" in said
    assert "neutral ones such as name_000000 in name" in said
    assert "Nobody in the data has any of them." in said
    assert not any(value in said for value in cells(data))


def test_a_stored_model_keeps_to_it_and_holds_no_identifier(tmp_path):
    data = people()
    learned = learn(data, generator="trees")
    learned.save(tmp_path / "model")
    text = b"".join(path.read_bytes() for path in (tmp_path / "model").rglob("*") if path.is_file())
    assert not [value for value in cells(data) if value.encode() in text]
    arrays = np.load(tmp_path / "model" / "arrays.npz", allow_pickle=False)
    held = {
        float(number) for array in arrays.values() if array.dtype.kind in "if" for number in array.ravel()
    }
    assert not held & {float(case) for case in data["case"]}
    rows = sample(tmp_path / "model", 4 * N, seed=9)
    assert not cells(rows) & cells(data)
    assert rows["case"].is_unique
    assert list(rows.columns) == list(data.columns)
    opened = TableModel.load(tmp_path / "model")
    assert opened.notes == tuple(note for note in learned.notes if note.startswith("Identifiers"))


def test_the_same_rows_from_a_stored_model(tmp_path):
    rows = synthesize(people(), generator="marginals", rows=20, seed=2, save=tmp_path / "model")
    assert sample(tmp_path / "model", 20, seed=2).equals(rows)


def test_missing_ones_stay_missing_as_often():
    data = people(400)
    data.loc[::4, "code"] = None
    rows = synthesize(data, generator="marginals", rows=4000)
    assert 0.2 < rows["code"].isna().mean() < 0.3
    assert rows["code"].dropna().is_unique


def test_more_rows_than_there_are_codes_of_the_form():
    """All codes of two digits are taken or too few: longer ones follow, and none is somebody's."""
    data = pd.DataFrame({"code": [f"P{i:02d}" for i in range(95)], "x": [1, 2, 3, 4, 5] * 19})
    rows = synthesize(data, generator="copy", rows=5000)
    assert rows["code"].is_unique
    assert not cells(rows, ["code"]) & cells(data, ["code"])
    assert rows["code"].str.fullmatch(r"P\d{3,}").all()


@pytest.mark.parametrize("kind", ["int8", "uint16", "float32", "int64"])
def test_numbers_that_outgrow_their_type_get_a_wider_one(kind):
    data = pd.DataFrame({"id": np.arange(1, 61).astype(kind), "x": [1, 2, 3] * 20})
    rows = synthesize(data, generator="copy", rows=10_000)
    assert rows["id"].is_unique
    assert not set(rows["id"]) & set(data["id"])
    assert (rows["id"] > 0).all()
    few = synthesize(data, generator="copy", rows=10)
    assert few["id"].dtype == ("int64" if kind == "int8" else kind)  # numbers of three digits go up to 127


def test_categories_do_not_list_those_of_the_data():
    names = people()["name"]
    data = pd.DataFrame({"name": pd.Categorical(names), "x": [1, 2, 3] * (N // 3)})
    rows = synthesize(data, generator="copy", rows=30)
    assert not set(rows["name"].cat.categories) & set(names)
    enum = pl.DataFrame(
        {"name": pl.Series(list(names), dtype=pl.Enum(list(names))), "x": [1, 2, 3] * (N // 3)}
    )
    schema = {"columns": {"name": "identifier"}}
    listed = synthesize(enum, generator="copy", rows=30, schema=schema)["name"]
    assert not set(listed) & set(names)
    assert not isinstance(listed.dtype, pl.Enum)


def test_texts_and_arrow_come_back_as_they_came():
    table = pa.table({"id": [f"{i:05d}" for i in range(40)], "x": [1, 2] * 20})
    rows = synthesize(table, generator="copy", rows=30)
    assert rows.schema.equals(table.schema)
    assert all(re.fullmatch(r"\d{5}", cell) for cell in rows.column("id").to_pylist())


def test_a_declared_form_is_followed():
    data = people()
    schema = {"columns": {"name": {"type": "identifier", "form": "P-0000"}, "sex": "identifier"}}
    rows = synthesize(data, generator="copy", rows=50, schema=schema)
    assert rows["name"].str.fullmatch(r"P-\d{4}").all()
    assert rows["sex"].str.fullmatch(r"sex_\d{6}").all()


def test_tokens_avoid_texts_that_look_like_them():
    taken = [f"name_{i:06d}" for i in range(0, 1_000_000, 7)]
    letters = ["".join(pair) for pair in zip("abcdefghij" * 9, "klmnopqrs" * 10, strict=True)]
    data = pd.DataFrame({"name": [*taken[:9], *(f"{word} {word}{word}" * 2 for word in letters)]})
    data["x"] = np.arange(len(data)) % 3
    rows = synthesize(data, generator="copy", rows=200)
    assert not set(rows["name"]) & set(data["name"])


# Codes themselves


def free(places, values, n, seed=0, **more):
    return codes.with_room(places, Known.of(values), n=n, rng=np.random.default_rng(seed), **more)


def test_a_code_begins_as_none_of_the_data_does():
    values = [f"{i:03d}" for i in range(700)]
    code = free(("0123456789",) * 3, values, 100)
    assert code.starts == ("7", "8", "9")
    assert code.capacity == 300
    drawn = code.draw(150, beside=np.empty(0, "<U1"), rng=np.random.default_rng(0))
    assert len(set(drawn.tolist())) == 150
    assert {text[0] for text in drawn.tolist()} == {"7", "8", "9"}


def test_deeper_beginnings_where_all_short_ones_are_taken():
    values = [f"{i}{j}0" for i in range(10) for j in range(9)]  # every first digit, no second digit 9
    code = free(("0123456789",) * 3, values, 40)
    assert set(code.starts) == {f"{i}9" for i in range(10)}


def test_no_more_free_beginnings_are_told_than_are_needed():
    values = [f"{i}00000" for i in range(10)]  # every first digit, and of two digits nine out of ten are free
    code = free(("0123456789",) * 6, values, 1000)
    assert len(code.starts) == 1  # for 10,000
    assert len(free(("0123456789",) * 6, values, 10_000).starts) == 8


def test_a_full_form_grows():
    values = [str(i) for i in range(10)]
    assert len(free(("0123456789",), values, 5).places) == 2
    assert free(("0123456789",), values, 5, longest=1) is None


def test_digits_that_happen_to_be_the_same_vary_before_a_form_grows():
    data = pd.DataFrame({"id": [f"{i:05d}" for i in range(40)], "x": [1, 2] * 20})
    assert synthesize(data, generator="copy", rows=30)["id"].str.fullmatch(r"\d{5}").all()


def test_shapes_are_those_that_many_share():
    some = [f"A{i:03d}" for i in range(0, 1000, 9)]
    assert codes.shapes([*some, "odd one"]) == {("A", *["0123456789"] * 3): len(some)}
    assert codes.shapes(["B7", *some]) == {("A", *["0123456789"] * 3): len(some)}  # fewer than ten have it
    assert codes.shapes([f"{a}{b}" for a in "abcde" for b in "fghij"]) is None  # no digits: names
    assert codes.shapes([f"{'x' * i}{i}" for i in range(30)]) is None  # every one has its own form
    assert codes.shapes([f"é{i:02d}" for i in range(30)]) is None


@pytest.mark.parametrize(
    ("places", "starts", "fine"),
    [
        (("ab", "01"), ("a",), True),
        (("ab", "01"), ("",), True),
        (("ab", "01"), (), False),
        (("ab", "01"), ("c",), False),
        (("ab", "01"), ("a", "b0"), False),
        (("ab", "01"), ("a", "a"), False),
        (("ab", ""), ("a",), False),
        (("aa", "01"), ("a",), False),
        (("ab",), ("a0",), False),
    ],
)
def test_a_code_read_from_a_file_is_checked(places, starts, fine):
    assert Code(places=places, starts=starts).sound is fine


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("fresh", 0, "name"), "age"),
        (("fresh", 0, "name"), "nobody"),
        (("fresh", 0, "codes"), []),
        (("fresh", 0, "shares"), [2.0]),
        (("fresh", 0, "missing"), -1.0),
        (("fresh", 0, "room", "starts"), ["x"]),
        (("fresh", 0, "codes", 0, "places"), ["A", "B"]),
        (("fresh",), []),
        (("fresh",), None),
    ],
)
def test_a_damaged_folder_is_refused(tmp_path, path, value):
    learn(people()[["case", "age"]], generator="marginals").save(tmp_path / "model")
    file = tmp_path / "model" / "layout.json"
    about = json.loads(file.read_text())
    spot = about
    for key in path[:-1]:
        spot = spot[key]
    spot[path[-1]] = value
    file.write_text(json.dumps(about), encoding="utf-8")
    with pytest.raises(ParameterError, match="fit the model again"):
        TableModel.load(tmp_path / "model")


def test_a_folder_of_before_is_still_read(tmp_path):
    learn(people()[["age", "sex"]], generator="marginals").save(tmp_path / "model")
    file = tmp_path / "model" / "layout.json"
    about = json.loads(file.read_text())
    del about["fresh"]
    file.write_text(json.dumps(about), encoding="utf-8")
    assert len(sample(tmp_path / "model", 3)) == 3


# The command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train.csv", 1), ("control.csv", 2)):
        people(seed=seed).to_csv(name, index=False)
    return tmp_path


def run(*args):
    result = CliRunner().invoke(app, [str(arg) for arg in args])
    assert result.exit_code == 0, result.output
    return result


def test_on_the_command_line(folder):
    given = ("synthesize", "--data", "train.csv", "--generator", "marginals")
    result = run(*given, "--out", "out.csv", "--save", "model")
    assert "Identifiers are not learned" in " ".join(result.stderr.split())
    assert "--drop-identifiers" in " ".join(result.stdout.split())
    data, rows = pd.read_csv("train.csv"), pd.read_csv("out.csv")
    assert not cells(rows) & cells(data)
    assert list(rows.columns) == list(data.columns)
    again = run("sample", "model", "--rows", N, "--out", "again.csv")
    assert Path("again.csv").read_bytes() == Path("out.csv").read_bytes()
    assert "Identifiers are not learned" in " ".join(again.stderr.split())
    run(*given, "--identifiers", "drop", "--out", "less.csv")
    assert list(pd.read_csv("less.csv").columns) == ["age", "sex"]
    run(*given, "--identifiers", "learn", "--out", "same.csv")
    refused = CliRunner().invoke(app, [*given, "--identifiers", "hide", "--out", "no.csv"])
    assert refused.exit_code == 2
    assert "identifiers must be one of" in refused.stderr


def test_the_audit_on_the_way_leaves_them_out(folder):
    given = ("synthesize", "--data", "train.csv", "--generator", "marginals", "--control", "control.csv")
    result = run(*given, "--out", "out.csv")
    assert "threshold" in result.stdout or "nconclusive" in result.stdout
