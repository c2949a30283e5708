"""A file is split into train and control: nobody is lost, and nobody stands on both sides."""

from pathlib import Path

import pandas as pd
import pytest
from supplies.terminal import refused, run, work_in

from tabveil import datasets


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
