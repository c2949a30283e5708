"""Auditing on the command line: the table, the report, the records, and what is left out unless asked for."""

import json
import sys
from pathlib import Path

import pandas as pd
import pytest
from supplies.html_documents import Document
from supplies.terminal import AUDIT, refused, run, work_in

from tabveil.auditing.report import Report
from tabveil.metrics.registry import METRICS, defaults


@pytest.fixture
def folder(tmp_path, monkeypatch):
    return work_in(tmp_path, monkeypatch)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """One audit by all that runs by default: what it said, and the report."""
    with pytest.MonkeyPatch.context() as patch:
        work_in(tmp_path_factory.mktemp("audited"), patch)
        result = run(*AUDIT, "--json", "report.json", "--threads", 1, "--seed", 3)
        assert result.exit_code == 0, result.output
        return result, Path("report.json").read_text()


def test_audit_prints_a_table_of_80_columns(audited):
    result, _ = audited
    assert "diagnostics, not evidence of anonymity" in result.stdout
    said = " ".join(result.stdout.split())
    for name in defaults(words=False):
        assert METRICS[name].title.split()[0] in said
        assert "_" not in name or name not in said, "titles, no code names"
    line = next(line for line in result.stdout.splitlines() if line.startswith("Identical rows"))
    assert line.rstrip().endswith("above zero")
    assert max(map(len, result.stdout.splitlines())) <= 80
    said = [
        line for line in result.stderr.splitlines() if not line.startswith("compiling, once on this machine")
    ]
    assert said == []


def test_brief_is_the_part_to_sign_on_page_and_terminal(folder):
    asked = (*AUDIT, "--metric", "identical_match_share", "--no-advice", "--no-power", "--no-utility")
    whole = run(*asked, "--html", "whole.html")
    brief = run(*asked, "--html", "brief.html", "--brief")
    pages = {name: Document(Path(f"{name}.html").read_text()) for name in ("whole", "brief")}
    assert [[text for _, text in document.all("h1")] for document in pages.values()] == [["synthetic"]] * 2
    assert "Annex" in [text for _, text in pages["whole"].all("h2")]
    assert [text for _, text in pages["brief"].all("h2")][-1] == "Sign-off"
    assert "Annex" not in [text for _, text in pages["brief"].all("h2")]
    assert "What to do\n" in brief.stdout
    assert "Indicators" in whole.stdout
    assert "Indicators" not in brief.stdout
    assert brief.exit_code == whole.exit_code == 0


def test_json_file_is_the_report(folder):
    assert (
        run(*AUDIT, "--json", "report.json", "--seed", 7, "--metric", "identical_match_share").exit_code == 0
    )
    data = json.loads(Path("report.json").read_text())
    assert list(data) == [
        *("schema_version", "tabveil", "title", "seed", "inputs", "verdict", "policy", "results", "skipped"),
        *("notes", "dropped", "metrics", "settings", "request", "attackers", "control", "copies", "traces"),
        *("advice", "dictionary", "seconds"),
    ]
    assert data["seed"] == 7
    assert data["inputs"]["train"]["rows"] == 100
    assert [item["metric"] for item in data["results"]] == ["identical_match_share"]
    assert set(data["results"][0]["risk"]) == {"value", "low", "high", "n"}
    assert Report.from_json(Path("report.json").read_text()).seed == 7
    assert not list(Path().glob(".*"))  # nothing temporary is left


def test_json_on_standard_output_is_nothing_but_json(folder):
    result = run(*AUDIT, "--json", "-", "--metric", "identical_match_share")
    assert json.loads(result.stdout)["results"]
    assert "Identical rows" in result.stderr
    assert run(*AUDIT, "--json", "-", "--quiet", "--metric", "identical_match_share").stderr == ""


def test_quiet_prints_nothing(folder):
    result = run(*AUDIT, "--quiet", "--json", "report.json", "--metric", "identical_match_share")
    assert (result.exit_code, result.output) == (0, "")
    assert Path("report.json").exists()


@pytest.mark.parametrize(("name", "read"), [("r.csv", pd.read_csv), ("r.parquet", pd.read_parquet)])
def test_records_are_written_with_a_warning(folder, name, read):
    result = run(*AUDIT, "--metric", "identical_match_share", "--records", name)
    assert result.exit_code == 0
    assert "single people" in result.stderr
    records = read(name)
    assert list(records.columns) == ["metric", "table", "row", "score"]
    assert records["score"].sum() == 30


def test_records_are_off_by_default(audited):
    _, report = audited
    assert '"scores"' not in report


def test_same_seed_same_answer_on_any_number_of_threads(folder, audited):
    answers = []
    for report in (audited[1], run(*AUDIT, "--json", "-", "-q", "--threads", 2, "--seed", 3).stdout):
        results = json.loads(report)["results"]
        answers.append([{k: v for k, v in item.items() if k != "seconds"} for item in results])
    assert answers[0] == answers[1]


def test_without_control_the_table_says_that_little_can_be_concluded(folder):
    result = run(*AUDIT[:5])
    assert result.exit_code == 0
    assert "little can be concluded" in result.stdout


def test_a_metric_is_given_with_its_parameters(folder):
    wanted = "{name: linkability, n_neighbors: [3], representation: {name: euclidean, encoding: ordinal}}"
    result = run(*AUDIT, "--metrics", wanted, "--metrics", "mmd", "--json", "-", "--quiet")
    assert result.exit_code == 0, result.output
    found = {item["metric"]: item["params"] for item in json.loads(result.stdout)["results"]}
    assert list(found) == ["linkability", "mmd"]
    assert found["linkability"]["n_neighbors"] == [3]
    assert found["linkability"]["representation"]["settings"] == {"encoding": "ordinal"}
    assert "no setting 'n_neighbor'" in refused(*AUDIT, "--metrics", "{name: linkability, n_neighbor: 3}")
    assert "--metrics: line 1: not valid YAML" in refused(*AUDIT, "--metrics", "{name: linkability")
    assert "must also have a name" in refused(*AUDIT, "--metrics", "{n_neighbors: 3}")


def test_without_its_extra_the_contrastive_space_is_one_line(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    line = refused(*AUDIT, "--contrastive")
    assert line == "tabveil: contrastive: needs PyTorch: pip install tabveil[deep]."


def test_the_contrastive_space_is_shown_beside_the_mixed_distance(folder, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setenv("COLUMNS", "80")
    told = {"contrastive": {"epochs": 2, "width": 16, "layers": 1, "dimension": 8}}
    Path("space.json").write_text(json.dumps(told))
    result = run(*AUDIT, "--config", "space.json", "--metrics", "linkability", "--html", "page.html")
    assert result.exit_code == 0, result.output
    assert "The contrastive space beside the same attacks outside it" in result.stdout
    assert "Inference, contrastive" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80
    page = Path("page.html").read_text(encoding="utf-8")
    assert 'id="contrastive"' in page
    assert "fits a model to every release" in page, "power that comes with a page leaves trainings out"
