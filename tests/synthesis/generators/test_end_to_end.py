"""From the command line: every generator learns rows of Adult, and what it made is audited."""

import pandas as pd
import pyarrow.parquet as pq
import pytest
from supplies.needs import need_adult
from supplies.small_generators import SMALL
from supplies.terminal import printed

from tabveil.synthesis.generators import GENERATORS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("adult")
    rows = pd.read_parquet(need_adult()).sample(600, random_state=0)
    rows[:400].to_parquet(place / "train.parquet", index=False)
    rows[400:].to_parquet(place / "control.parquet", index=False)
    return place


@pytest.mark.parametrize("name", sorted(GENERATORS))
def test_synthesize_then_audit(name, folder, monkeypatch):
    if hasattr(GENERATORS[name], "device"):
        pytest.importorskip("torch")
    monkeypatch.chdir(folder)
    small = {
        key: ",".join(map(str, value)) if isinstance(value, tuple) else value
        for key, value in SMALL.get(name, {}).items()
    }
    settings = [part for key, value in small.items() for part in ("--set", f"{key}={value}")]
    learned = {"data": "train.parquet", "missing": "?", "generator": name, "save": name}
    printed("synthesize", **learned, rows=200, out=f"{name}.parquet", more=settings)
    assert pq.read_schema(f"{name}.parquet").equals(pq.read_schema("train.parquet"))
    printed("sample", rows=10, out=f"{name}.csv", more=[name])
    audit = {"train": "train.parquet", "control": "control.parquet", "synthetic": f"{name}.parquet"}
    shown = printed("audit", **audit, missing="?", metric="membership_distance")
    assert "Membership by distance" in shown
