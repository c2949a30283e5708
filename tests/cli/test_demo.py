"""The demonstration: what it plants, shows and names, and that it writes over nothing else."""

import sys
from pathlib import Path

import pytest
from supplies.terminal import refused, run, work_in

from tabveil import datasets
from tabveil.auditing.report import Report
from tabveil.cli import demo
from tabveil.core.rng import stream
from tabveil.tables import reading as frame

TABVEIL = str(Path(sys.executable).with_name("tabveil"))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


@pytest.fixture
def small_demo(monkeypatch):
    for name, size in {"N_TRAIN": 400, "N_CONTROL": 200, "N_RELEASE": 400}.items():
        monkeypatch.setattr(demo, name, size)


def test_demo_sets_the_leaky_release_beside_the_clean_one(folder, small_demo, monkeypatch):
    monkeypatch.setenv("PATH", str(Path(TABVEIL).parent))
    result = run("demo", "--out", "show", "--svg", "show.svg")
    assert result.exit_code == 0, result.output
    assert max(map(len, result.stdout.splitlines())) <= 80
    line = next(line for line in result.stdout.splitlines() if line.startswith("Identical rows"))
    assert line.split()[-1] == "leaky"
    assert "tabveil split --data" in result.stdout
    reports = {name: Report.from_json(Path(f"show/{name}.json").read_text()) for name in ("clean", "leaky")}
    assert (
        reports["clean"]["identical_match_share"].risk.low
        <= 0
        < reports["leaky"]["identical_match_share"].risk.low
    )
    picture = Path("show.svg").read_text()
    assert "Identical" in picture
    assert picture.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    monkeypatch.setattr(demo, "_audit", lambda folder, name, seed: reports[name])
    assert run("demo", "--out", "show").exit_code == 0  # again, over its own files


def test_demo_names_the_program_as_it_can_be_typed(folder, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert demo._program().endswith("bin/tabveil")
    monkeypatch.setenv("PATH", str(Path(TABVEIL).parent))
    assert demo._program() == "tabveil"


def test_demo_plants_what_it_says():
    train, fresh = datasets.hospital(200, seed=1), datasets.hospital(200, seed=2)
    loaded = frame.load_split(train, fresh)
    leaky = demo.plant(loaded.split.train, loaded.split.synthetic, rng=stream(0, "demo"))
    mixed = frame.to_native(leaky, loaded.layout)
    assert len(mixed) == 200
    assert len(mixed.merge(train, how="inner", on=list(train.columns))) == 10
    assert len(mixed.merge(fresh, how="inner", on=list(train.columns))) == 180
    steady = ["age", "sex", "region", "insurance", "ward", "diagnosis", "systolic", "days"]
    both = mixed.merge(train, how="inner", on=steady, suffixes=("", "_before"))
    assert len(both) == 20
    by = (both["cost"] / both["cost_before"] - 1).abs()
    assert (by > 0).sum() == 10
    assert by.max() < 0.08  # four standard deviations
    assert dict(mixed.dtypes) == dict(train.dtypes)


def test_demo_never_writes_over_files_it_did_not_make(folder):
    before = Path("train.csv").read_bytes()
    assert "train.csv" in refused("demo", "--out", ".")
    assert Path("train.csv").read_bytes() == before
