"""The program as it is typed, without a process of its own."""

import pandas as pd
from typer.testing import CliRunner

from tabveil import datasets
from tabveil.cli import app

AUDIT = ("audit", "--train", "train.csv", "--synthetic", "synthetic.csv", "--control", "control.csv")
"""An audit of the three tables that such a test has in its folder."""


def run(*args):
    """Run a command line, and return what it ended with."""
    return CliRunner().invoke(app, [str(arg) for arg in args])


def refused(*args, code=2):
    """Run a command that must fail with one line, and return the line."""
    result = run(*args)
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, lines
    assert lines[0].startswith("tabveil: ")
    return lines[0]


def printed(command, *, more=(), **options):
    """Run a command that must succeed, and return what it prints."""
    given = [part for name, value in options.items() for part in (f"--{name}", str(value))]
    result = run(command, *given, *more)
    assert result.exit_code == 0, result.output
    return result.stdout


def work_in(place, monkeypatch):
    """Work in a folder with the three tables of an audit."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("COLUMNS", "80")
    people = datasets.hospital(240, seed=1)
    people.iloc[:100].to_csv("train.csv", index=False)
    people.iloc[100:170].to_csv("control.csv", index=False)
    pd.concat([people.iloc[:30], people.iloc[170:]]).to_csv("synthetic.csv", index=False)
    return place
