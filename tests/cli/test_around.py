"""Files are split into train and control, a schema is written, edited and used, metrics are listed."""

import json
from pathlib import Path

import pandas as pd
import pytest
from supplies.terminal import AUDIT, refused, run, work_in

from tabveil import datasets
from tabveil.metrics.registry import METRICS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


@pytest.mark.parametrize("kind", ["csv", "parquet", "csv.gz"])
def test_split_writes_the_same_kind_and_loses_nobody(folder, kind):
    people = datasets.hospital(100, seed=2)
    data = Path(f"people.{kind}")
    people.to_parquet(data) if kind == "parquet" else people.to_csv(data, index=False)
    result = run("split", "--data", data, "--control", 0.3, "--out", "parts")
    assert result.exit_code == 0, result.output
    read = pd.read_parquet if kind == "parquet" else pd.read_csv
    parts = [read(f"parts/{name}.{kind}") for name in ("train", "control")]
    assert [len(part) for part in parts] == [70, 30]
    assert "70 rows" in result.stdout
    both = pd.concat(parts).sort_values("cost", ignore_index=True)
    whole = read(data).sort_values("cost", ignore_index=True)
    pd.testing.assert_frame_equal(both, whole)


def test_split_keeps_people_together_and_refuses_to_replace(folder):
    visits = pd.DataFrame({"patient": [i // 4 for i in range(200)], "value": range(200)})
    visits.to_csv("visits.csv", index=False)
    asked = ("split", "--data", "visits.csv", "--by", "patient", "--control", 0.25, "--out", "parts")
    assert run(*asked).exit_code == 0
    sides = [set(pd.read_csv(f"parts/{name}.csv")["patient"]) for name in ("train", "control")]
    assert not sides[0] & sides[1]
    assert "--force" in refused(*asked)
    assert run(*asked, "--force").exit_code == 0


def test_schema_is_written_edited_and_used(folder):
    assert run("schema", "train.csv", "--out", "schema.yaml").exit_code == 0
    assert Path("schema.yaml").read_text() == run("schema", "train.csv").stdout
    asked = ("--schema", "schema.yaml", "--metric", "identical_match_share", "--json", "-", "-q")
    assert json.loads(run(*AUDIT, *asked).stdout)["results"]
    assert "--force" in refused("schema", "train.csv", "--out", "schema.yaml")
    assert run("schema", "train.csv", "--out", "schema.yaml", "--force").exit_code == 0


def test_metrics_lists_questions_and_labels(folder):
    text = run("metrics").stdout
    for name, metric in METRICS.items():
        assert f"{name}: {metric.title}" in text
        assert metric.labels.mechanism in text
    assert text.count("?") >= len(METRICS)
