"""Linked tables on the command line: described, split, drawn anew, and what does not go together."""

import json
from pathlib import Path

import pandas as pd
import pytest
import yaml
from supplies.terminal import refused, run, work_in

from tabveil.datasets import clinic
from tabveil.tables.linked import load_database

HANGS = {
    "person": {"table": "patients", "key": "patient"},
    "linked": {"visits": {"key": "patient", "order": "day"}},
}
METADATA = {
    "tables": {
        "patients": {"primary_key": "patient", "columns": {"patient": {"sdtype": "id"}}},
        "visits": {"columns": {"patient": {"sdtype": "id"}}, "sequence_index": "day"},
    },
    "relationships": [
        {
            "parent_table_name": "patients",
            "parent_primary_key": "patient",
            "child_table_name": "visits",
            "child_foreign_key": "patient",
        }
    ],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    place = work_in(tmp_path, monkeypatch)
    Path("all").mkdir()
    for name, rows in clinic(100, seed=1).items():
        rows.to_csv(f"all/{name}.csv", index=False)
    Path("db.yaml").write_text(yaml.safe_dump({**HANGS, "data": "all/"}))
    Path("metadata.json").write_text(json.dumps(METADATA))
    return place


def done(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_people_are_split_learned_and_drawn_by_one_file(folder):
    told = done("split", "--tables", "db.yaml", "--control", 0.3, "--out", "parts")
    assert "70 people (patients)" in told
    assert "With 30 control people" in told
    assert "tabveil audit --tables parts/db.yaml" in told
    whole = pd.read_csv("all/visits.csv")
    both = pd.concat([pd.read_csv(f"parts/{side}/visits.csv") for side in ("train", "control")])
    assert sorted(map(tuple, both.to_numpy().tolist())) == sorted(map(tuple, whole.to_numpy().tolist()))
    told = done("synthesize", "--tables", "parts/db.yaml", "--out", "parts/synthetic", "--rows", 50)
    assert "50 people (patients) by trees" in told
    assert told.endswith("tabveil audit --tables parts/db.yaml\n")
    split = load_database("parts/db.yaml").split
    assert [len(people) for people in (split.train, split.control, split.synthetic)] == [70, 30, 50]


def test_metadata_stand_for_the_file(folder):
    asked = ("--metadata", "metadata.json", "--data", "all")
    done("split", *asked, "--out", "parts")
    done("synthesize", *asked, "--out", "drawn", "--rows", 30)
    assert len(pd.read_csv("drawn/patients.csv")) == 30
    assert "order: day" in done("schema", *asked)
    assert len(load_database("parts/db.yaml", synthetic="drawn").split.synthetic) == 30


def test_a_schema_can_be_written_and_used(folder):
    Path("sub").mkdir()
    done("schema", "--tables", "db.yaml", "--out", "sub/described.yaml")
    assert "data: ../all" in Path("sub/described.yaml").read_text()
    done("split", "--tables", "sub/described.yaml", "--out", "parts")


def test_nothing_is_replaced_without_force(folder):
    asked = ("split", "--tables", "db.yaml", "--out", "parts")
    done(*asked)
    assert "--force" in refused(*asked)
    done(*asked, "--force")
    drawing = ("synthesize", "--tables", "parts/db.yaml", "--out", "parts/synthetic")
    done(*drawing)
    assert "--force" in refused(*drawing)
    over = refused("synthesize", "--tables", "parts/db.yaml", "--out", "parts/train", "--force")
    assert "also used for something else" in over


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("split", "--tables", "db.yaml", "--data", "all"), "--data: names one table"),
        (("split",), "--data: is missing"),
        (("split", "--tables", "db.yaml", "--by", "patient"), "--by: does not go with linked tables"),
        (
            ("split", "--tables", "db.yaml", "--metadata", "metadata.json"),
            "--metadata: --tables says already",
        ),
        (("split", "--metadata", "metadata.json"), "--data: is missing: name the folder"),
        (("split", "--data", "all/visits.csv", "--person-table", "patients"), "--person-table: goes with"),
        (("split", "--tables", "db.yaml", "--person-table", "patients"), "--person-table: goes with"),
        (("synthesize", "--tables", "db.yaml", "--save", "model"), "--save: does not go with linked tables"),
        (("synthesize", "--tables", "db.yaml", "--control", "all"), "--control: does not go with"),
        (("synthesize", "--tables", "db.yaml", "--generator", "aim"), "promises privacy"),
        (("synthesize", "--tables", "db.yaml", "--generator", "tress"), "trees"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_made(folder, words, said):
    assert said in refused(*words, "--out", "parts")
    assert not any(Path("parts").glob("**/*.csv"))


def test_a_schema_is_of_one_table_or_of_linked_ones(folder):
    assert "FILE: is one table" in refused("schema", "all/visits.csv", "--tables", "db.yaml")
    assert "FILE: is missing" in refused("schema")
    assert "--data: goes with --metadata" in refused("schema", "--data", "all")
