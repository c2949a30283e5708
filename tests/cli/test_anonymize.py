"""Anonymization on the command line: proposed, done, told, written; refused before anything is written."""

import json
import math
import re
from pathlib import Path

import pandas as pd
import pytest
from supplies.html_documents import Document
from supplies.terminal import run

import tabveil
from tabveil.cli.anonymize import _finite
from tabveil.datasets import hospital

ASKED = """
hierarchies:
  age: {intervals: [10, 20, 40], top: 80}
  sex: auto
models: [{k: 5}, {t: 0.5, column: outcome}]
suppression: 20 %
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    tabveil.datasets.hospital(300, seed=1).to_csv("patients.csv", index=False)
    Path("asked.yaml").write_text(ASKED, encoding="utf-8")
    return tmp_path


def done(*args):
    result = run(*args)
    assert result.exit_code == 0, result.output
    return result


def refused(*args):
    result = run(*args)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    return line


ANONYMIZE = ("anonymize", "--data", "patients.csv", "--config", "asked.yaml", "--out", "out.csv")


def test_a_release_is_written_with_its_page_and_numbers(folder):
    result = done(*ANONYMIZE, "--html", "how.html", "--json", "how.json")
    released = pd.read_csv("out.csv")
    said = json.loads(Path("how.json").read_text(encoding="utf-8"))
    assert released.groupby(["age", "sex"], dropna=False).size().min() >= 5
    assert said["summary"]["n_suppressed"] == 300 - len(released)
    assert said["summary"]["proven"] is True
    assert said["properties"]["k"] >= 5
    assert said["properties"]["sensitive"][0]["equal"] <= 0.5
    assert said["properties"]["sensitive"][0]["reference"] == "all rows of the original table"
    assert f"{len(released)} rows of 300" in result.stdout
    assert "k-anonymity, k = 5; t-closeness of outcome, t = 0.5 (equal distance)" in result.stdout
    assert "the least possible" in result.stdout
    text = Path("how.html").read_text(encoding="utf-8")
    Document(text)  # every element is closed
    assert "What was promised and measured" in text
    assert "<script" not in text
    assert "http://" not in text
    assert "https://" not in text


def test_a_page_obeys_no_name(folder):
    people = pd.read_csv("patients.csv").rename(columns={"age": "<script>alert(1)</script>"})
    people.to_csv("patients.csv", index=False)
    Path("asked.yaml").write_text(ASKED.replace("age:", '"<script>alert(1)</script>":'), encoding="utf-8")
    done(*ANONYMIZE, "--html", "how.html")
    text = Path("how.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_a_search_that_is_broken_off_is_told_as_such(folder):
    text = ASKED + "budget: 1\n"
    Path("asked.yaml").write_text(text.replace("20 %", "100 %"), encoding="utf-8")
    result = done(*ANONYMIZE, "--html", "how.html")
    assert "not proven to be the least" in result.stdout
    assert "Not proven to be the least loss" in Path("how.html").read_text(encoding="utf-8")


def test_numbers_on_standard_output_are_alone_there(folder):
    result = done(*ANONYMIZE, "--json", "-")
    assert json.loads(result.stdout)["summary"]["n_rows"] == 300
    assert "rows of 300" in result.stderr


def test_rows_have_a_file_whose_name_says_its_kind(folder):
    assert "cannot tell what kind of file '-' is" in refused(*ANONYMIZE[:-1], "-")


def test_numbers_that_json_lacks_are_null():
    assert _finite({"a": [math.inf, 1.0], "b": "x"}) == {"a": [None, 1.0], "b": "x"}


def test_a_link_to_itself_is_refused_in_a_line(folder):
    Path("loop.csv").symlink_to("loop.csv")
    assert "leads to itself" in refused(*ANONYMIZE[:-1], "loop.csv")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((*ANONYMIZE[:-1], "patients.csv"), "also used for something else"),
        ((*ANONYMIZE[:-1], "asked.yaml"), "cannot tell what kind of file"),
        ((*ANONYMIZE, "--html", "out.csv"), "also used for something else"),
        ((*ANONYMIZE[:4], "none.yaml", *ANONYMIZE[5:]), "there is no such file"),
        ((*ANONYMIZE[:2], "none.csv", *ANONYMIZE[3:]), "there is no file none.csv"),
        (("hierarchies", "patients.csv", "--column", "agee"), "Did you mean 'age'?"),
    ],
)
def test_what_must_not_be_is_refused_before_anything_is_written(folder, args, message):
    assert message in refused(*args)
    assert not Path("out.csv").exists()


def test_a_file_that_is_there_is_kept(folder):
    Path("out.csv").write_text("precious", encoding="utf-8")
    assert "add --force" in refused(*ANONYMIZE)
    assert Path("out.csv").read_text(encoding="utf-8") == "precious"
    done(*ANONYMIZE, "--force", "--quiet")
    assert Path("out.csv").read_text(encoding="utf-8") != "precious"


def test_what_is_proposed_can_be_asked_for(folder):
    done("hierarchies", "patients.csv", "--column", "age", "--column", "region", "--out", "proposed.yaml")
    done(*ANONYMIZE[:4], "proposed.yaml", *ANONYMIZE[5:])
    assert pd.read_csv("out.csv").groupby(["age", "region"], dropna=False).size().min() >= 5
    assert done("hierarchies", "patients.csv", "--column", "sex").stdout.count("sex: auto") == 1


def test_columns_are_proposed_and_nothing_is_decided(folder):
    result = done("quasi-identifiers", "patients.csv")
    assert "for you to decide" in result.stdout
    said = json.loads(done("quasi-identifiers", "patients.csv", "--json", "-").stdout)
    assert {column["name"] for column in said["columns"]} == set(pd.read_csv("patients.csv").columns)
    done("quasi-identifiers", "patients.csv", "--json", "said.json")
    assert json.loads(Path("said.json").read_text(encoding="utf-8")) == said


def test_columns_are_ranked_and_few_are_to_be_asked_for_first(tmp_path, monkeypatch):
    """Of 16 columns 14 were once "a candidate", which told nobody where to begin."""
    monkeypatch.chdir(tmp_path)
    hospital(400, seed=1).to_csv("patients.csv", index=False)
    found = json.loads(done("quasi-identifiers", "patients.csv", "--json", "-").stdout)
    lines = done("quasi-identifiers", "patients.csv").stdout.splitlines()
    ranked = [line for line in lines if re.search(r"\d: [\d.]+%", line)]
    together = [column for column, _ in found["together"]]
    assert [line.split()[0] for line in ranked] == together
    assert len(together) <= 4
    named = next(line for line in lines if line.startswith("Ask first whether others may know"))
    assert all(column in named for column in together)
    enough = {line.split()[0] for line in lines if "enough by itself" in line}
    assert enough == {column["name"] for column in found["columns"] if column["alone"] >= 0.5}


def test_a_column_that_tells_a_quasi_identifier_is_named(folder):
    people = pd.read_csv("patients.csv")
    people["band"] = (people["age"] // 7).map("band {:.0f}".format)
    people["sex code"] = people["sex"].map({"female": 1, "male": 2})
    people.to_csv("patients.csv", index=False)
    Path("asked.yaml").write_text(ASKED.replace("k: 5", "k: 40"), encoding="utf-8")
    result = done(*ANONYMIZE, "--html", "how.html", "--json", "how.json")
    summary = json.loads(Path("how.json").read_text(encoding="utf-8"))["summary"]
    by_name = {column["name"]: column for column in summary["telling"]}
    assert "sex code" not in by_name or summary["columns"][1]["levels"] != [0]
    assert by_name["band"]["follows_from"] == ["age"]
    assert summary["smallest"] >= 40 > summary["smallest_with_telling"]
    assert "WARNING: band stays as it is and follows from age: with it k is" in result.stdout
    assert f"and {summary['smallest_with_telling']} with such columns" in " ".join(result.stdout.split())
    text = Path("how.html").read_text(encoding="utf-8")
    Document(text)
    assert "band stays as it is" in text
