"""No way to end looks like a verdict: the codes 1 and 3 are findings, and nothing else ends with them."""

import json
import subprocess
import sys

import pytest
from supplies.places import ROOT

from tabveil.datasets import hospital

PROGRAM = """
import ctypes
import os
from pathlib import Path
from tabveil.cli.app import app, main

@app.command()
def library(code: int):
    ctypes.CDLL(None).exit(code)  # as linear algebra does, for want of memory

@app.command()
def found(code: int):
    return code

@app.command()
def broken():
    raise ValueError

@app.command()
def left(code: int):
    raise SystemExit(code)  # as a generator of somebody's own may

@app.command()
def panics():
    raise type("Panic", (BaseException,), {})("41,M,Anna")  # as libraries in Rust do

@app.command()
def writes():
    with Path("rows.csv").open("w"):
        os.write(2, b"a warning of a library")

main()
"""


def ended(shell, tmp_path):
    """Run a line of the shell in which TABVEIL stands for the program."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    line = f"set -o pipefail; {shell}".replace("TABVEIL", f"{sys.executable} program.py")
    done = subprocess.run(
        ["bash", "-c", line],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("shell", "code"),
    {
        "TABVEIL found 0": 0,
        "TABVEIL found 1": 1,
        "TABVEIL found 3": 3,
        "TABVEIL broken": 70,
        "TABVEIL library 1": 70,
        "TABVEIL library 0": 70,
        "TABVEIL --help | true": 141,
        "TABVEIL metrics | head -n 0": 141,
        "TABVEIL audit --train nowhere.csv 2>&-": 2,
        "TABVEIL nonsense 2>/dev/full": 2,
        "TABVEIL nonsense 2>&1 >/dev/null | true": 2,
        "TABVEIL found 1 2>&-": 1,
        "TABVEIL found 1 2>/dev/full": 1,
        "TABVEIL metrics 2>&- >&-": 0,
    }.items(),
)
def test_only_a_verdict_ends_with_the_code_of_one(shell, code, tmp_path):
    assert ended(shell, tmp_path)[0] == code


@pytest.fixture
def tables(tmp_path):
    for seed, name in enumerate(("train", "control", "synthetic")):
        people = hospital(40, seed=seed)[["age", "sex", "ward"]]
        people.to_csv(tmp_path / f"{name}.csv", index=False)
    return tmp_path


AUDIT = "TABVEIL audit --train train.csv --control control.csv --synthetic synthetic.csv --metrics mmd"


@pytest.mark.parametrize(
    ("shell", "code"),
    {
        f"{AUDIT} | true": 0,
        f"{AUDIT} 2>&1 | true": 0,
        f"{AUDIT} --fail-above 0.05 | true": 3,
        f"{AUDIT} --json - --quiet | true": 141,
        f"{AUDIT} --json - 2>&1 >found.json | true": 0,
    }.items(),
)
def test_an_audit_whose_table_is_cut_off_keeps_its_verdict(shell, code, tables):
    """Everything else is written by then; of JSON that nobody reads there is none."""
    assert ended(shell, tables)[0] == code
    if "found.json" in shell:
        assert json.loads((tables / "found.json").read_text())["verdict"]["state"] == "inconclusive"


def test_who_stops_reading_is_not_told_of_a_fault(tmp_path):
    assert ended("TABVEIL metrics | head -n 1 > first.txt", tmp_path) == (141, "")
    assert (tmp_path / "first.txt").read_text().startswith("singling_out")


@pytest.mark.parametrize(
    ("shell", "code", "line"),
    [
        ("TABVEIL metrics >/dev/full", 2, "what is printed: No space left on device."),
        ("TABVEIL left 1", 70, "a library, or code of your own, ended the program (exit code 1)."),
        (
            "TABVEIL panics",
            70,
            "something went wrong inside tabveil (Panic); set TABVEIL_DEBUG=1 to see where.",
        ),
        ("TABVEIL audit --train $'a\\xff.csv'", 2, "the command line: 'a\\udcff.csv' is not UTF-8 text."),
    ],
)
def test_every_other_end_is_one_line(shell, code, line, tmp_path):
    assert ended(shell, tmp_path) == (code, f"tabveil: {line}\n")


def test_nothing_is_printed_into_a_file_that_is_written(tmp_path):
    assert ended("TABVEIL writes <&- 2>&-", tmp_path)[0] == 0
    assert (tmp_path / "rows.csv").read_text() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="limits on memory are kept on Linux")
@pytest.mark.parametrize("kilobytes", [20_000, 90_000, 300_000])
def test_too_little_memory_to_start_is_no_verdict(kilobytes, tmp_path):
    """Modules that cannot be loaded; libraries that end the program while they are."""
    done = subprocess.run(
        ["bash", "-c", f"ulimit -v {kilobytes}; exec {sys.executable} -m tabveil split --data x.csv --out y"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(ROOT / "src")},
    )
    assert done.returncode not in (0, 1, 3)
    assert "Traceback" not in done.stderr


def test_a_damaged_installation_is_one_line_and_no_verdict(tmp_path):
    (tmp_path / "typer.py").write_text("raise ImportError('it is not\\nthe one')", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "tabveil", "metrics"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT / 'src'}"},
    )
    assert (done.returncode, done.stderr) == (
        70,
        "tabveil: cannot be started (ImportError: it is not the one).\n",
    )
