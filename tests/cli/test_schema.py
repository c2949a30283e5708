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
