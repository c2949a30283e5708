"""The program as it is typed, without a process of its own."""

from typer.testing import CliRunner

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
