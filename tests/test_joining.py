"""A metric, a generator and a risk model of a user's own join by one registration, and are named once."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from supplies.places import ROOT
from supplies.toys import ToyAttack, ToyGenerator, ToyRisk
from typer.testing import CliRunner

import tabveil
from tabveil.auditing.report import Report
from tabveil.cli import app
from tabveil.core.settings.registry import describe
from tabveil.core.storage.plain import restore
from tabveil.datasets import hospital
from tabveil.metrics.registry import METRICS
from tabveil.render.audit.page import page
from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.risks import RISKS
from tabveil.tables.reading import load_split

sys.path.insert(0, str(ROOT / "docs_build"))

import metric_pages
import pages

NAMES = (ToyAttack.name, ToyGenerator.name, ToyRisk.name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("toys")
    people = hospital(180, seed=1)
    for number, role in enumerate(("train", "control", "synthetic")):
        people.iloc[60 * number : 60 * (number + 1)].to_csv(place / f"{role}.csv", index=False)
    return place


def run(*words):
    return CliRunner().invoke(app, words, env={"COLUMNS": "200"})


def tables(folder):
    return [folder / f"{role}.csv" for role in ("train", "synthetic", "control")]


def test_an_attack(folder, tmp_path):
    with METRICS.adding(ToyAttack):
        report = tabveil.audit(*tables(folder), quick=True)
        assert ToyAttack.name in [result.metric for result in report.results]
        again = Report.from_json(report.to_json())
        assert again.to_json() == report.to_json()
        for shown in (page(report), page(again)):
            for words in (
                ToyAttack.title,
                "Is the first number of a person found in the release?",
                "The toy found ",
                "a number that the toy was told",
                "to see it again",
                "A number is found where a synthetic row has it.",
            ):
                assert words in shown
        assert "Is the first number of a person found in the release?" in run("metrics").stdout
        train, synthetic, control = map(str, tables(folder))
        out = str(tmp_path / "report.json")
        done = run(
            "audit", "--train", train, "--synthetic", synthetic, "--control", control,
            "--metric", ToyAttack.name, "--json", out,
        )  # fmt: skip
        assert done.exit_code == 0
        assert ToyAttack.title in done.stdout
        (found,) = json.loads(Path(out).read_text())["results"]
        assert found["params"] == {"half": 0.01}
        text = metric_pages.pages()[f"metrics/{ToyAttack.name}.md"]
        assert "Is the first number of a person found in the release?" in text
        assert "The half width of the interval." in text
        assert f"metrics/{ToyAttack.name}.md" in metric_pages.taxonomy()
        assert f"metrics/{ToyAttack.name}.md" in str(pages.navigation())


def test_a_generator(folder, tmp_path):
    with GENERATORS.adding(ToyGenerator):
        data, model, out = str(folder / "train.csv"), str(tmp_path / "model"), str(tmp_path / "out.csv")
        done = run(
            "synthesize", "--data", data, "--generator", ToyGenerator.name, "--set", "repeat=2",
            "--rows", "6", "--rare-labels", "keep", "--save", model, "--out", out,
        )  # fmt: skip
        assert done.exit_code == 0
        made = Path(out).read_text().splitlines()
        assert len(made) == 1 + 6
        first = Path(data).read_text().splitlines()[1:4]
        assert sorted(made[1:]) == sorted(first + first)  # in any order
        more = str(tmp_path / "more.csv")
        assert run("sample", model, "--rows", "6", "--out", more).exit_code == 0
        assert Path(more).read_text() == Path(out).read_text()
        assert ToyGenerator.name in run("synthesize", "--help").stdout
        assert "Deal out the first rows again" in pages.generators()


def test_a_risk_model(folder):
    with RISKS.adding(ToyRisk):
        split = load_split(*tables(folder)).split
        planted = RISKS["toy_risk"]()(split.train, split.control, 0.5, rng=np.random.default_rng(0))
        assert (planted.row_hash() == split.train.row_hash()[0]).sum() == 30
        assert restore("test", describe(ToyRisk()), RISKS) == ToyRisk()
        assert "Plant the first training person over and over" in pages.risk_models()


def test_no_other_file_names_them():
    ours = {Path(__file__).name, "toys.py", "test_additions.py"}
    for place in ("src", "tests", "docs", "docs_build", "benchmarks", "examples"):
        for file in (ROOT / place).rglob("*"):
            if file.suffix in {".py", ".md", ".j2", ".json", ".yaml", ".toml"} and file.name not in ours:
                text = file.read_text(encoding="utf-8")
                assert not [name for name in NAMES if name in text], file
