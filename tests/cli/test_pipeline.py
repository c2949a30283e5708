"""Pipelines on the command line: what is written and said, how it ends, what is refused, what is escaped."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
import yaml
from supplies.html_documents import FORBIDDEN, Document, says
from supplies.terminal import run

import tabveil
from tabveil.render.pipeline.page import page

SETTINGS = {
    "hierarchies": {"age": {"intervals": [10, 20, 40]}, "sex": "auto"},
    "models": [{"k": 5}, {"l": 2, "column": "ward"}],
    "generator": "marginals",
}
METRICS = ("--metrics", "inference", "--metrics", "distance_to_closest")
RUN = ("pipeline", "--config", "p.yaml", "--data", "patients.csv")
QUICK = (*RUN, *METRICS, "--no-utility")
HOSTILE = "<script>alert(1)</script>\x1b]0;owned\x07\u202e[red]"


def write_config(settings=SETTINGS, **more):
    text = yaml.safe_dump({"generator": "hybrid", "settings": settings, **more})
    Path("p.yaml").write_text(text, encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    tabveil.datasets.hospital(300, seed=1).to_csv("patients.csv", index=False)
    write_config()
    return tmp_path


@pytest.fixture(scope="module")
def report():
    """A run with everything, on a table whose names are hostile."""
    people = tabveil.datasets.hospital(300, seed=1).rename(columns={"age": HOSTILE, "ward": f"w{HOSTILE}"})
    settings = {
        "hierarchies": {HOSTILE: {"intervals": [10, 20, 40]}},
        "models": [{"k": 5}, {"l": 2, "column": f"w{HOSTILE}"}],
        "sampling": 0.7,
        "generator": "copy",
    }
    asked = {"generator": "hybrid", "settings": settings}
    return tabveil.pipeline(people, asked, metrics=["inference", "mmd"], title=HOSTILE, secrets=["sex"])


def done(*args):
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def refused(*args):
    result = run(*args)
    assert result.exit_code == 2, result.output
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    return lines[0]


def test_all_is_written_and_said(folder):
    outputs = ("--html", "p.html", "--json", "p.json", "--out", "out.parquet", "--save", "model")
    result = done(*RUN, *METRICS, *outputs, "--rows", 40, "--seed", 3, "--title", "Our patients")
    said = json.loads(Path("p.json").read_text(encoding="utf-8"))
    assert (said["title"], said["seed"]) == ("Our patients", 3)
    assert list(said["stages"]) == ["original", "anonymized", "final", "generator"]
    assert len(pd.read_parquet("out.parquet")) == 40
    assert tabveil.sample("model", 40, seed=3).to_pandas()["age"].tolist() == (
        pd.read_parquet("out.parquet")["age"].tolist()
    )
    assert Path("p.html").stat().st_size < 1_000_000
    text = result.stdout
    for words in ("Our patients", "generator alone", "k-anonymity, k = 5", "What is promised", "no ratio"):
        assert words in text
    assert "What marginals learned from rows with concrete values" in text
    assert "p.html" in result.stderr
    assert "guard it like the data" in result.stderr


def test_no_line_is_longer_than_the_terminal(folder):
    lines = done(*RUN, *METRICS).stdout.splitlines()
    assert max(map(len, lines)) <= 80


def test_quiet_says_nothing(folder):
    result = done(*QUICK, "--quiet")
    assert (result.stdout, result.stderr) == ("", "")


def test_json_on_standard_output_stands_alone(folder):
    result = done(*QUICK, "--json", "-")
    assert json.loads(result.stdout)["pipeline"]["generator"] == "marginals"
    assert "generator alone" in result.stderr


@pytest.mark.parametrize(
    ("settings", "threshold", "code"), [({"generator": "none"}, 0.05, 1), (SETTINGS, 0.0001, 3)]
)
def test_the_exit_code_is_that_of_the_final_rows(folder, settings, threshold, code):
    write_config(settings, rare_labels="keep", identifiers="learn")
    assert run(*QUICK, "--quiet").exit_code == 0  # nobody asked to be judged
    assert run(*QUICK, "--quiet", "--fail-above", threshold).exit_code == code
    Path("policy.yaml").write_text("required: [inference]\n", encoding="utf-8")
    judged = run(*QUICK, "--quiet", "--policy", "policy.yaml", "--fail-above", threshold)
    assert judged.exit_code == code


def test_rows_within_the_policy_end_with_zero(folder):
    """Copies are found by every attack, and this policy accepts them all."""
    write_config({"generator": "none"}, rare_labels="keep", identifiers="learn")
    Path("policy.yaml").write_text("copies: 1\n", encoding="utf-8")
    attacks = ("singling_out", "linkability", "inference", "membership_distance")
    chosen = [word for name in attacks for word in ("--metrics", name)]
    given = (*RUN, *chosen, "--no-utility", "--quiet", "--policy", "policy.yaml")
    assert run(*given).exit_code == 1
    assert run(*given, "--fail-above", 1).exit_code == 0


def test_without_a_generator_there_is_nothing_to_compare_with(folder):
    write_config({**SETTINGS, "generator": "none"})
    text = done(*QUICK, "--html", "p.html").stdout
    assert "generator alone" not in text
    assert "no ratio" not in text
    assert "There is no generator in this pipeline" in " ".join(text.split())
    assert "There is no generator in this pipeline" in Path("p.html").read_text(encoding="utf-8")


def test_a_control_of_ones_own_is_used(folder):
    tabveil.datasets.hospital(120, seed=2).to_csv("control.csv", index=False)
    done(*QUICK, "--control", "control.csv", "--json", "p.json")
    inputs = json.loads(Path("p.json").read_text(encoding="utf-8"))["stages"]["final"]["inputs"]
    assert (inputs["train"]["rows"], inputs["control"]["rows"]) == (300, 120)


@pytest.mark.parametrize(
    ("given", "line"),
    [
        (("--data", "nothing.csv"), "tabveil: --data: there is no file nothing.csv."),
        (("--control", "nothing.csv"), "tabveil: --control: there is no file nothing.csv."),
        (("--config", "nothing.yaml"), 'tabveil: configuration "nothing.yaml": there is no such file.'),
        (("--config", "patients.csv"), 'configuration "patients.csv": the name must end in'),
        (("--metrics", "guessing"), "no metric 'guessing'"),
        (("--holdout", "0"), "holdout must lie between 0 and 1"),
        (("--by", "nobody"), "no column 'nobody'"),
        (("--fail-above", "7"), "--fail-above: must be above 0 and at most 1, got 7."),
        (("--out", "rows.docx"), "cannot tell what kind of file"),
        (("--html", "patients.csv"), "--html: patients.csv is also used for something else"),
        (("--json", "p.yaml"), "--json: p.yaml is also used for something else"),
        (("--html", "x.html", "--json", "x.html"), "--json: x.html is also used for something else"),
        (("--save", "."), "--save: . is already there"),
        (("--policy", "nothing.yaml"), "there is no such file"),
        (("--target", "wealth"), "no column 'wealth'"),
    ],
)
def test_faults_are_told_in_one_line_before_anything_is_written(folder, given, line):
    before = sorted(Path().iterdir())
    assert line in refused(*RUN, "--quick", *given)
    assert sorted(Path().iterdir()) == before


def test_what_is_there_is_replaced_only_by_force(folder):
    Path("p.html").write_text("mine", encoding="utf-8")
    assert "add --force" in refused(*QUICK, "--html", "p.html")
    assert Path("p.html").read_text(encoding="utf-8") == "mine"
    done(*QUICK, "--html", "p.html", "--force", "--quiet")
    assert "What is promised" in Path("p.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_obeys_no_name_and_promises_nothing(report):
    text = page(report)
    document = Document(text)  # every element is closed
    assert "<script" not in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in text
    assert "alert(1)" in document.text
    assert [word for word in FORBIDDEN if says(document.text, word)] == []
    assert len(text.encode()) < 1_000_000


def test_the_page_shows_the_way_the_changes_and_the_promises(report):
    document = Document(page(report))
    assert len([1 for attrs, _ in document.all("svg")]) == 3  # two metrics, and privacy against utility
    headings = [text for _, text in document.all("h2")]
    assert headings == [
        "Verdict on the final rows",
        "The stages",
        "The way of each metric",
        "Beside the generator alone",
        "Privacy against utility",
        "The anonymized rows",
        "What is promised, and what is not",
        "What a stored model holds",
        "Reproducibility",
    ]
    (spoken,) = (
        text for _, text in document.all("desc") if text.startswith("original") and "Threshold" in text
    )
    for stage in ("original", "anonymized", "final", "alone"):
        assert f"{stage} " in spoken
    assert "After sampling the smallest class" in document.text


def test_a_page_of_numbers_that_were_not_measured_says_so(report):
    empty = tuple(
        replace(stage, report=replace(stage.report, results=(), utility=None)) for stage in report.stages
    )
    text = Document(page(replace(report, stages=empty))).text
    assert "No chart: utility or risk could not be measured." in text


def test_the_terminal_obeys_no_name(folder):
    people = tabveil.datasets.hospital(300, seed=1).rename(columns={"age": HOSTILE})
    people.to_parquet("patients.parquet", index=False)
    write_config({**SETTINGS, "hierarchies": {HOSTILE: {"intervals": [10, 20]}, "sex": "auto"}})
    result = done("pipeline", "--config", "p.yaml", "--data", "patients.parquet", *METRICS, "--no-utility",
                  "--title", HOSTILE)  # fmt: skip
    assert "\x1b" not in result.output
    assert "\u202e" not in result.output
    assert r"\x1b]0;owned" in result.stdout
