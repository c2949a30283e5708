"""Benchmarks run at a size of nothing: that of the embedding on a machine that has little beside torch."""

import re
import subprocess
import sys

import pandas as pd
import pytest
from supplies.places import ROOT

pytest.importorskip("torch")

FOLDER = ROOT / "benchmarks"
ABSENT = ("pydantic", "pydantic_core", "narwhals", "polars", "xgboost", "dask", "opacus")
NARROW = """
from tabveil.engines.embedding.settings import PRESETS
PRESETS["default"]["width"] = 32
"""


def run(*arguments, script="embedding", absent=ABSENT, before=""):
    code = (
        f"import sys\nfor name in {absent}:\n    sys.modules[name] = None\n"
        f"sys.path.insert(0, {str(FOLDER)!r})\nsys.argv = {[script, *map(str, arguments)]}\n"
        f"{before}import {script}\n{script}.main()\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    lines = [line for line in found.stdout.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines]


def test_the_hospital_with_both_settings():
    rows = run("--rows", 80, "--placed", 200, "--epochs", 2, "--settings", "default", "paper")
    assert [row[0] for row in rows] == ["train, default", "place, default", "train, paper", "place, paper"]
    assert [row[1:4] for row in rows[:2]] == [["80", "16", "2"], ["200", "16", ""]]
    assert all(re.fullmatch(r"\d+\.\d\d", cell) for row in rows for cell in row[4:6])


def test_a_file_of_any_types(tmp_path):
    frame = pd.DataFrame(
        {
            "age": [30, 41, None, 7] * 5,
            "job": ["a", None, "b", "c"] * 5,
            "smokes": [True, False, True, True] * 5,
            "seen": pd.to_datetime(["2020-01-01", "2021-05-03", None, "2022-01-01"] * 5),
        }
    )
    frame.to_parquet(tmp_path / "people.parquet")
    rows = run("--data", tmp_path / "people.parquet", "--rows", 30, "--placed", 40, "--epochs", 1)
    assert [row[:3] for row in rows] == [["train, default", "30", "4"], ["place, default", "40", "4"]]


def test_attacks_in_the_space_beside_plain_ones():
    tiny = ("--rows", 60, "--epochs", 1, "--repeats", 1, "--secrets", "sex")
    rows = run(*tiny, script="contrastive_attacks", absent=(), before=NARROW)
    assert [row[0] for row in rows] == [
        "`linkability_contrastive`",
        "`inference_contrastive`",
        "`distance_to_closest_contrastive`",
        "`singling_out_contrastive`",
        "`membership_contrastive`",
    ]
    assert all(re.fullmatch(r"\d+\.\d\d", cell) for row in rows for cell in (row[1], row[2], row[4]))
