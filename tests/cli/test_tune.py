"""Searches on the command line: run, shown at 80 columns, written, refused; code of users' own."""

import json
import re
import textwrap

import pytest
import yaml
from supplies.html_documents import Document
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.datasets import hospital
from tabveil.synthesis.generators import GENERATORS
from tabveil.workflows.tuning import SearchFindings

SEARCH = {
    "title": "A small search",
    "data": {"name": "hospital", "rows": 200},
    "generator": "copy",
    "search": {"noise": [0.0, 0.9]},
    "objectives": {"privacy": "membership_distance", "utility": "total_variation"},
    "repeats": 1,
}
OWN = """
from dataclasses import dataclass
from typing import ClassVar

from tabveil.synthesis.generators import GENERATORS
from tabveil.synthesis.generators.baselines import Bootstrap


@GENERATORS.add
@dataclass(frozen=True, kw_only=True)
class Impossible(Bootstrap):
    name: ClassVar[str] = "impossible"

    def fit(self, table, *, rng):
        raise RuntimeError("Mrs Smith, born 1950")
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "tune.yaml").write_text(yaml.safe_dump(SEARCH), encoding="utf-8")
    return tmp_path


def tune(*more):
    arguments = ["tune", "--config", "tune.yaml", "--store", "found", "--workers", "1", *more]
    return CliRunner().invoke(app, arguments)


def test_a_search_is_run_shown_and_written(folder):
    done = tune("--html", "found.html", "--json", "found.json")
    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0] == "A small search"
    for text in ("The best trade-offs", "optimism", "generator: copy", "noise 0.9", "never used"):
        assert text in done.stdout
    found = SearchFindings.from_json(json.loads((folder / "found.json").read_text(encoding="utf-8")))
    assert [item.point for item in found.tried] == [{"noise": 0.0}, {"noise": 0.9}]
    page = Document((folder / "found.html").read_text(encoding="utf-8"))
    assert "A small search" in page.text

    again = tune("--json", "-", "--quiet")
    assert SearchFindings.from_json(json.loads(again.stdout)) == found, (
        "the same command finds everything known"
    )
    refused = tune("--html", "found.html")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "already there; add --force" in refused.stderr


def test_what_is_taken_can_be_made_as_it_is_shown(folder):
    shown = tune().stdout
    chosen = re.search(r"^  generator: copy *\n  settings:.*?\n\n", shown, flags=re.DOTALL | re.MULTILINE)[0]
    (folder / "pipeline.yaml").write_text(textwrap.dedent(chosen), encoding="utf-8")
    hospital(50, seed=1).to_csv("people.csv", index=False)
    made = ["synthesize", "--data", "people.csv", "--config", "pipeline.yaml", "--out", "rows.csv"]
    done = CliRunner().invoke(app, made)
    assert done.exit_code == 0, done.stderr


def test_numbers_may_go_to_standard_output_and_the_table_elsewhere(folder):
    done = tune("--json", "-")
    assert json.loads(done.stdout)["choice"]["number"] in {1, 2}
    assert "The best trade-offs" in done.stderr


def test_a_search_in_which_nothing_works_ends_with_its_own_code_and_says_why(folder, monkeypatch):
    monkeypatch.setattr(GENERATORS, "_kinds", dict(GENERATORS))  # what joins leaves again after the test
    (folder / "my_generator.py").write_text(OWN, encoding="utf-8")
    asked = {**SEARCH, "generator": "impossible"}
    (folder / "tune.yaml").write_text(yaml.safe_dump(asked), encoding="utf-8")
    done = tune("--with", "my_generator.py", "--html", "found.html")
    assert done.exit_code == 1
    assert "No configuration has both numbers" in done.stdout
    assert "1, 2: RuntimeError inside the code" in done.stdout
    assert "Smith" not in done.stdout + done.stderr + (folder / "found.html").read_text(encoding="utf-8")
