"""No way to end looks like a verdict: the codes 1 and 3 are findings, and nothing else ends with them."""

import subprocess
import sys

import pytest
from supplies.places import ROOT

PROGRAM = """
import ctypes
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
        "TABVEIL audit --train nowhere.csv 2>&-": 2,
        "TABVEIL metrics 2>&- >&-": 0,
    }.items(),
)
def test_only_a_verdict_ends_with_the_code_of_one(shell, code, tmp_path):
    assert ended(shell, tmp_path)[0] == code


def test_who_stops_reading_is_not_told_of_a_fault(tmp_path):
    assert ended("TABVEIL metrics | head -n 1 > first.txt", tmp_path) == (141, "")
    assert (tmp_path / "first.txt").read_text().startswith("singling_out")
