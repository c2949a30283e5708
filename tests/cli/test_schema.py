"""A schema is written, edited and used."""

import json
from pathlib import Path

import pytest
from supplies.terminal import AUDIT, refused, run, work_in


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


def test_schema_is_written_edited_and_used(folder):
    assert run("schema", "train.csv", "--out", "schema.yaml").exit_code == 0
    assert Path("schema.yaml").read_text() == run("schema", "train.csv").stdout
    asked = ("--schema", "schema.yaml", "--metric", "identical_match_share", "--json", "-", "-q")
    assert json.loads(run(*AUDIT, *asked).stdout)["results"]
    assert "--force" in refused("schema", "train.csv", "--out", "schema.yaml")
    assert run("schema", "train.csv", "--out", "schema.yaml", "--force").exit_code == 0


def test_an_overview_is_written_for_programs(folder):
    shown = json.loads(run("schema", "train.csv", "--json", "-").stdout)
    assert {"name", "kind", "missing"} <= shown["columns"][0].keys()
    name = shown["columns"][0]["name"]
    Path("types.yaml").write_text(json.dumps({"columns": {name: "category"}}))
    again = json.loads(run("schema", "train.csv", "--schema", "types.yaml", "--json", "-").stdout)
    assert again["columns"][0]["kind"] == "category"
    assert run("schema", "train.csv", "--json", "c.json").exit_code == 0
    assert json.loads(Path("c.json").read_text()) == shown
    assert "--force" in refused("schema", "train.csv", "--json", "c.json")
    assert "goes with --json" in refused("schema", "train.csv", "--schema", "types.yaml")
    assert "ask for one of them" in refused("schema", "train.csv", "--json", "x.json", "--out", "x.yaml")
