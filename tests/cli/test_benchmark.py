"""Benchmarks on the command line: run, interrupted, gone on with, reported; and code of users' own."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml
from supplies.html_documents import Document
from typer.testing import CliRunner

from tabveil.cli import app
from tabveil.errors import ParameterError
from tabveil.metrics.registry import METRICS
from tabveil.workflows import benchmark
from tabveil.workflows.benchmark.findings import Findings
from tabveil.workflows.cells.own_code import import_files

STUDY = {
    "title": "A small study",
    "repeats": 2,
    "rows": 120,
    "datasets": [{"name": "hospital", "rows": 400}],
    "risks": [{"name": "leaky", "levels": [0, 0.5]}],
    "metrics": ["identical_match_share", "distance_to_closest"],
}
OWN = """
from dataclasses import dataclass
from typing import ClassVar

from tabveil.core.estimate import Estimate
from tabveil.metrics.registry import METRICS
from tabveil.core.result import Labels, Result


@METRICS.add
@dataclass(frozen=True, kw_only=True)
class Shouting:
    '''Is anything ever well?'''

    name: ClassVar[str] = "{name}"
    labels: ClassVar[Labels] = Labels(pillar="indicator", wp29="propensity", mechanism="distance")

    def __call__(self, split, *, rng):
        {body}
"""
PROGRAM = "from tabveil.cli import main\nif __name__ == '__main__':\n    main()\n"
ANSWERS = (
    "return Result(metric=self.name, labels=self.labels, risk=Estimate(value=0.5, low=0.4, high=0.6, n=9))"
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("study.yaml").write_text(yaml.safe_dump(STUDY), encoding="utf-8")
    modules = set(sys.modules)
    known = dict(METRICS._kinds)
    yield tmp_path
    METRICS._kinds.clear()
    METRICS._kinds.update(known)
    for name in set(sys.modules) - modules:
        if str(getattr(sys.modules[name], "__file__", "") or "").startswith(str(tmp_path)):
            del sys.modules[name]


def run(*args):
    return CliRunner().invoke(app, ["benchmark", *map(str, args)])


def refused(*args):
    result = run(*args)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("tabveil: ")
    return line


RUN = ("run", "study.yaml", "--store", "found", "--workers", 1)


def own(name, body=ANSWERS):
    Path(f"{name}.py").write_text(OWN.format(name=name, body=body), encoding="utf-8")
    Path("study.yaml").write_text(
        yaml.safe_dump({**STUDY, "metrics": [*STUDY["metrics"], name]}), encoding="utf-8"
    )


def test_a_study_is_run_gone_on_with_and_reported(folder):
    done = run(*RUN)
    assert done.exit_code == 0, done.output
    assert "found: 0 cells known before, 8 new, 0 failed." in done.stdout
    assert "tabveil benchmark report found" in done.stdout
    assert "8 cells known before, 0 new" in run(*RUN).stdout
    told = run("report", "found", "--html", "page.html", "--json", "found.json")
    assert told.exit_code == 0, told.output
    assert "Identical rows sees the risk from 50%" in " ".join(told.stdout.split())
    assert max(map(len, told.stdout.splitlines())) <= 80
    found = Findings.from_json(json.loads(Path("found.json").read_text(encoding="utf-8")))
    assert [card.metric for card in found.cards] == STUDY["metrics"]
    assert "A small study" in Document(Path("page.html").read_text(encoding="utf-8")).text


def test_quiet_is_quiet_and_json_may_go_to_standard_output(folder):
    assert run(*RUN, "--quiet").output == ""
    told = run("report", "found", "--json", "-")
    assert json.loads(told.stdout)["n_cells"] == 8
    assert "A small study" in told.stderr
    assert run("report", "found", "--quiet").output == ""


def test_failed_cells_set_the_exit_code_and_can_be_tried_again(folder):
    own("shouting", "raise ZeroDivisionError('somebody')")
    failed = run(*RUN, "--with", "shouting.py")
    assert failed.exit_code == 1, failed.output
    assert "8 new, 4 failed." in failed.stdout
    assert "4 failed: ZeroDivisionError" in failed.stdout
    assert "--retry" in failed.stdout
    assert "somebody" not in failed.output
    again = run(*RUN, "--with", "shouting.py")
    assert again.exit_code == 0
    assert "4 cells failed in an earlier run" in again.stdout
    assert run(*RUN, "--with", "shouting.py", "--retry").exit_code == 1
    told = run("report", "found")
    assert "Without an answer: 4 of 12 cells" in told.stdout


def test_a_metric_of_ones_own_joins_by_a_file(folder):
    own("shouting")
    assert "no metric 'shouting'" in refused(*RUN)
    done = run(*RUN, "--with", "shouting.py")
    assert done.exit_code == 0, done.output
    told = " ".join(run("report", "found").stdout.split())
    assert "shouting" in told
    assert METRICS["shouting"].__module__ == "shouting"


@pytest.mark.parametrize(
    ("name", "text", "fragment"),
    [
        ("absent.py", None, "there is no file absent.py"),
        ("notes.txt", "x = 1", "must be a Python file"),
        ("my-metric.py", "x = 1", "cannot be imported by its name"),
        ("json.py", "x = 1", "a module called 'json' already"),
        ("faulty_one.py", "x = 1\nraise ValueError('somebody')", "ValueError in line 2"),
        ("faulty_two.py", "x = = 1", "SyntaxError in line 1"),
        ("faulty_three.py", "import no_such_module", "No module named 'no_such_module'"),
        (
            "faulty_four.py",
            "from tabveil.metrics.registry import METRICS\n@METRICS.add\nclass Nameless: pass",
            "a metric needs a name",
        ),
    ],
)
def test_code_that_cannot_be_imported_is_one_line(folder, name, text, fragment):
    if text is not None:
        Path(name).write_text(text, encoding="utf-8")
    line = refused(*RUN, "--with", name)
    assert fragment in line
    assert "somebody" not in line
    assert Path(name).stem not in sys.modules or name == "json.py"


def test_code_is_imported_once_also_when_named_twice(folder):
    own("shouting_twice")
    import_files(["shouting_twice.py", folder / "shouting_twice.py"])
    assert "shouting_twice" in METRICS
    (folder / "other").mkdir()
    (folder / "other" / "shouting_twice.py").write_text("x = 1", encoding="utf-8")
    with pytest.raises(ParameterError, match="already"):
        import_files([folder / "other" / "shouting_twice.py"])


@pytest.mark.parametrize(
    ("change", "fragment"),
    [
        ({"metrics": ["linkabilty"]}, "Did you mean 'linkability'?"),
        ({"risks": [{"name": "leaky", "levels": [2]}]}, "level must lie from 0 to 1"),
        ({"datasets": ["hospitl"]}, "Did you mean 'hospital'?"),
        ({"repeat": 3}, "repeat"),
    ],
)
def test_a_wrong_name_is_one_line_before_anything_runs(folder, change, fragment):
    Path("study.yaml").write_text(yaml.safe_dump({**STUDY, **change}), encoding="utf-8")
    assert fragment in refused(*RUN)
    assert not Path("found").exists()


def test_what_cannot_be_reported_is_one_line(folder):
    assert "holds no benchmark" in refused("report", "nowhere")
    run(*RUN)
    Path("there.html").write_text("x", encoding="utf-8")
    assert "already there" in refused("report", "found", "--html", "there.html")
    assert run("report", "found", "--html", "there.html", "--force", "--quiet").exit_code == 0
    assert "also used" in refused("report", "found", "--html", "same", "--json", "same")


def test_the_group_shows_its_commands(folder):
    assert "tabveil benchmark run" in run().stdout
    for command in ("run", "report"):
        text = run(command, "--help").stdout
        assert f"tabveil benchmark {command} " in text
        assert max(map(len, text.splitlines())) <= 80


def test_an_interruption_is_one_line_that_says_how_to_go_on(folder, monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr(benchmark, "run", interrupt)
    result = run(*RUN)
    assert result.exit_code == 130
    (line,) = result.stderr.splitlines()
    assert line.endswith("run the same command to go on.")


def test_ctrl_c_on_a_terminal_reaches_all_processes_and_is_one_line(folder, ctrl_c_is_heard):
    """A terminal sends it to the workers, too, which must not print anything of their own.

    They answer by a metric of the user's own: what is sent to them names its module alone.
    """
    own("shouting_far")
    many = {**STUDY, "repeats": 400, "metrics": ["shouting_far"]}
    Path("study.yaml").write_text(yaml.safe_dump(many), encoding="utf-8")
    Path("program.py").write_text(PROGRAM, encoding="utf-8")
    words = [*map(str, RUN[:-1]), "2", "--with", "shouting_far.py", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "program.py", "benchmark", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    cells = folder / "found" / "cells"
    while process.poll() is None and not (cells.is_dir() and any(cells.glob("[!.]*"))):
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    with process:  # closes its pipes, whatever comes
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130, told
    assert told.splitlines() == [
        "tabveil: interrupted; what was done is kept, run the same command to go on."
    ]
    assert json.loads(next(cells.glob("[!.]*")).read_text(encoding="utf-8"))["answer"]["risk"]["value"] == 0.5
