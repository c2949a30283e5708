"""The step of action.yml, run as a runner runs it: verdicts map to ends, and summaries are only text."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from supplies import made_reports as made

from tabveil import datasets

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SCRIPT = ROOT / "action" / "audit.py"

spec = importlib.util.spec_from_file_location("action_audit", SCRIPT)
action = importlib.util.module_from_spec(spec)
spec.loader.exec_module(action)


@pytest.fixture
def runner(tmp_path, monkeypatch):
    """A runner's environment, in which train is also released."""
    monkeypatch.chdir(tmp_path)
    for name, seed in (("train", 1), ("control", 3)):
        datasets.hospital(150, seed=seed).to_csv(f"{name}.csv", index=False)
    return {
        "TABVEIL_TRAIN": "train.csv",
        "TABVEIL_SYNTHETIC": "train.csv",
        "TABVEIL_CONTROL": "control.csv",
        "TABVEIL_OPTIONS": "--quick --metrics membership_distance --no-power --no-utility --no-advice",
        "TABVEIL_FOLDER": "found",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }


def outputs():
    return dict(line.split("=", 1) for line in Path("output").read_text().splitlines())


def test_a_copy_ends_with_one_and_leaves_page_numbers_and_summary(runner, capsys):
    assert action.main(runner) == 1
    assert outputs() == {"page": "found/report.html", "report": "found/report.json", "verdict": "above"}
    assert all(Path(outputs()[name]).is_file() for name in ("page", "report"))
    told = Path("summary.md").read_text()
    assert told.startswith("## tabveil: above threshold")
    assert "| membership |" in told
    assert "::error" in capsys.readouterr().out


def test_an_inconclusive_audit_fails_or_warns(runner, capsys, monkeypatch):
    def audit(command, **_):
        Path(command[command.index("--json") + 1]).write_text(made.report(made.CLEAN).to_json())
        return subprocess.CompletedProcess(command, 3)

    monkeypatch.setattr(action.subprocess, "run", audit)
    assert action.main(runner) == 1
    assert action.main(runner | {"TABVEIL_INCONCLUSIVE": "warn"}) == 0
    assert "::warning" in capsys.readouterr().out
    assert outputs()["verdict"] == "inconclusive"


def test_an_audit_that_did_not_run_keeps_its_code_and_leaves_no_report_of_another(runner):
    Path("found").mkdir()
    Path("found/report.json").write_text("{}")
    assert action.main(runner | {"TABVEIL_TRAIN": "none.csv"}) == 2
    assert outputs() == {"verdict": "none"}
    assert not Path("found/report.json").exists()
    assert action.main(runner | {"TABVEIL_INCONCLUSIVE": "ignore"}) == 2


def test_the_script_runs_as_the_action_runs_it(runner, tmp_path):
    environment = os.environ | runner | {"TABVEIL_TRAIN": "$(touch harmed).csv"}
    ended = subprocess.run([sys.executable, str(SCRIPT)], env=environment, capture_output=True, check=False)
    assert ended.returncode == 2
    assert not (tmp_path / "harmed").exists()


@pytest.mark.parametrize(("code", "inconclusive", "end"), [(0, "fail", 0), (1, "warn", 1), (3, "fail", 1)])
def test_codes_are_mapped(code, inconclusive, end):
    assert action.ending(code, inconclusive)[0] == end
    assert action.ending(70, inconclusive)[0] == 70


def test_names_in_a_summary_are_only_text():
    risk = {"risk": "a|b", "high": None, "threshold": 0.05, "state": "inconclusive"}
    verdict = {"state": "inconclusive", "sentence": "<img src=x> [x](y) `rm`\n## more", "risks": [risk]}
    told = action.summary({"verdict": verdict})
    assert "<img" not in told
    assert "[x]" not in told
    assert "\n## more" not in told
    assert "a&#124;b" in told


def test_inputs_reach_the_script_through_the_environment_alone():
    steps = ACTION["runs"]["steps"]
    assert "${{" not in steps[0]["run"]
    assert set(steps[0]["env"]) <= {
        word for word in SCRIPT.read_text().split('"') if word.startswith("TABVEIL_")
    }
    named = {value.split("inputs.")[1].split(" ")[0] for value in steps[0]["env"].values()}
    assert named <= set(ACTION["inputs"])
