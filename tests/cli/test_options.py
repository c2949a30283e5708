import inspect

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import tabveil
from tabveil.cli.app import app
from tabveil.datasets import hospital
from tabveil.errors import ParameterError
from tabveil.tables import reading

TABLES = {"data", "train", "file"}
"""What commands call the tables that they read."""
READING = {
    "anonymize",
    "attack",
    "audit",
    "deduplicate",
    "filter",
    "hierarchies",
    "perturb",
    "pipeline",
    "pseudonymize",
    "quasi_identifiers",
    "split",
    "synthesize",
    "tune",
}
"""The functions that read tables: audit_epsilon reads nobody's."""


def numbered(start=0, n=120):
    """Make rows with an index that was written after rows were shuffled: no counting from 0, no name."""
    rows = hospital(n, seed=start)
    rows.index = np.random.default_rng(start).permutation(n) + 5
    return rows


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    numbered().to_csv("indexed.csv")
    numbered(1).to_csv("plain.csv", index=False)
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, list(words))


def test_every_command_that_reads_tables_leaves_columns_out():
    commands = get_command(app).commands
    asked = {
        name: {parameter.name for parameter in command.params}
        for name, command in commands.items()
        if TABLES & {parameter.name for parameter in command.params}
    }
    assert {"schema", "split", "synthesize", "hierarchies", "quasi-identifiers", "pipeline"} <= asked.keys()
    assert {name for name, options in asked.items() if "drop" not in options} == set()
    assert "drop" in {parameter.name for parameter in commands["tune"].params}


def test_and_so_does_every_function_of_the_same_name():
    without = {name for name in READING if "drop" not in inspect.signature(getattr(tabveil, name)).parameters}
    assert without == set()


@pytest.mark.parametrize(
    "words",
    [
        ("schema", "indexed.csv"),
        ("hierarchies", "indexed.csv"),
        ("quasi-identifiers", "indexed.csv"),
        ("synthesize", "--data", "indexed.csv", "--generator", "marginals", "--out", "out.csv"),
    ],
    ids=lambda words: words[0],
)
def test_a_column_without_a_name_is_refused_with_the_option_that_leaves_it_out(words, files):
    refused = run(*words)
    assert refused.exit_code == 2
    assert "no name for column 1" in refused.stderr
    assert "--drop ''" in " ".join(refused.stderr.split())
    done = run(*words, "--drop", "")
    assert done.exit_code == 0, done.stderr
    assert "Unnamed" not in done.output
    if "--out" in words:
        assert list(pd.read_csv("out.csv")) == list(pd.read_csv("plain.csv"))


def test_a_schema_lists_what_was_left_out(files):
    done = run("schema", "plain.csv", "--drop", "age")
    assert "\ndrop: [age]\n" in done.stdout
    assert "\n  age:" not in done.stdout
    done = run("hierarchies", "plain.csv", "--drop", "age")
    assert "\ndrop: [age]" in done.stdout
    assert "\n  age:" not in done.stdout


def test_a_split_leaves_out_what_is_asked_and_says_so(files):
    done = run("split", "--data", "indexed.csv", "--out", "parts", "--drop", "", "--drop", "age")
    assert done.exit_code == 0, done.output
    assert "Left out of both, as asked: a column without a name, age." in " ".join(done.stdout.split())
    for part in ("train", "control"):
        assert list(pd.read_csv(f"parts/{part}.csv")) == list(pd.read_csv("plain.csv").drop(columns="age"))
    refused = run("split", "--data", "indexed.csv", "--out", "others", "--drop", "agee")
    assert refused.exit_code == 2
    assert "no column 'agee'. Did you mean 'age'?" in refused.stderr


def test_deduplicate_compares_and_writes_without_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"row": [1, 2, 3], "a": [1, 1, 2]}).to_csv("d.csv", index=False)
    assert "3 rows" in run("deduplicate", "--data", "d.csv", "--out", "all.csv").output
    done = run("deduplicate", "--data", "d.csv", "--drop", "row", "--out", "o.csv")
    assert done.exit_code == 0, done.output
    assert pd.read_csv("o.csv").to_dict("list") == {"a": [1, 2]}


def test_anonymize_and_pseudonymize_write_without_them(files):
    (files / "a.yaml").write_text("hierarchies: {sex: auto}\nmodels: [{k: 2}]\nkeep: []\nsuppression: 0.5\n")
    done = run("anonymize", "--data", "indexed.csv", "--config", "a.yaml", "--out", "a.csv", "--drop", "")
    assert done.exit_code == 0, done.output
    assert "sex" in pd.read_csv("a.csv")
    assert not any(name.startswith("Unnamed") for name in pd.read_csv("a.csv"))
    asked = ("pseudonymize", "--data", "indexed.csv", "--column", "sex", "--key", "key", "--no-text")
    done = run(*asked, "--out", "p.csv", "--drop", "", "--drop", "age")
    assert done.exit_code == 0, done.output
    assert list(pd.read_csv("p.csv")) == list(pd.read_csv("plain.csv").drop(columns="age"))


def test_a_pipeline_leaves_them_out_of_every_stage(files):
    (files / "p.yaml").write_text(
        "generator: hybrid\nsettings: {generator: marginals, sampling: 0.9}\ndeduplicate: {equal: true}\n"
    )
    (files / "s.yaml").write_text("columns: {age: integer}\n")
    asked = ("pipeline", "--config", "p.yaml", "--data", "indexed.csv", "--metrics", "identical_match_share")
    asked += ("--no-utility", "--schema", "s.yaml", "--drop", "", "--drop", "age", "--out", "o.csv")
    done = run(*asked, "--json", "o.json")
    assert done.exit_code == 0, done.output
    assert list(pd.read_csv("o.csv")) == list(pd.read_csv("plain.csv").drop(columns="age"))


def test_the_error_offers_indexes_that_only_one_side_has(files):
    asked = ("audit", "--train", "indexed.csv", "--synthetic", "plain.csv", "--no-advice")
    asked += ("--metrics", "identical_match_share")
    refused = " ".join(run(*asked).stderr.split())
    assert "only in train: a column without a name" in refused
    assert "--drop ''" in refused
    done = run(*asked, "--drop", "")
    assert done.exit_code in {0, 3}, done.output
    for name in ("index", "Unnamed: 0", "__index_level_0__", "level_0"):
        with pytest.raises(tabveil.TabveilError, match=r"numbers of rows that a program wrote.*--drop"):
            tabveil.load_split(numbered(1), numbered(2).assign(**{name: range(120)}))


def test_functions_leave_out_columns_of_dataframes_and_keep_their_kind():
    rows = numbered(1)
    parts = tabveil.split(rows, drop="age")
    assert type(parts.train) is pd.DataFrame
    assert list(parts.control) == list(rows.drop(columns="age"))
    assert "age" not in tabveil.synthesize(rows, generator="marginals", drop=["age"], rows=5)
    assert "age" not in {column.name for column in tabveil.quasi_identifiers(rows, drop="age").columns}
    with pytest.raises(ParameterError, match="no column 'agee'"):
        tabveil.deduplicate(rows, drop="agee")
    with pytest.raises(tabveil.TabveilError, match="no column is left"):
        reading.leave_out(rows[["age"]], "age")
