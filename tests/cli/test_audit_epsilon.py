"""``tabveil audit-epsilon``: what it says and writes, and what its exit code tells."""

import json
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabveil.cli.app import app
from tabveil.workflows.epsilon import EpsilonFinding
from tabveil.workflows.synthesizing import GENERATORS

OWN = """
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tabveil.synthesis.generators import GENERATORS
from tabveil.core.table import Table


class Model:
    name = "own_count"

    def __init__(self, schema, value):
        self.schema, self.value = schema, value

    def sample(self, n_rows, *, rng):
        values = np.zeros((n_rows, len(self.schema)))
        values[: int(np.clip(n_rows / 2 + 10 * self.value, 0, n_rows))] = 1
        return Table(schema=self.schema, values=values)

    def save(self, folder):
        raise NotImplementedError


@GENERATORS.add
@dataclass(frozen=True, kw_only=True)
class Own:
    noise: float = 1.0

    name: ClassVar[str] = "own_count"

    def fit(self, table, *, rng):
        count = (table.values == 1).all(axis=1).sum()
        return Model(table.schema, count + rng.normal(0, self.noise))

    @classmethod
    def load(cls, folder):
        raise NotImplementedError
"""
MINE = ("--with", "own_count.py", "--generator", "own_count", "--workers", 1, "--seed", 1)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("own_count.py").write_text(OWN, encoding="utf-8")
    known = dict(GENERATORS._kinds)
    yield tmp_path
    GENERATORS._kinds.clear()
    GENERATORS._kinds.update(known)
    sys.modules.pop("own_count", None)


def run(*args):
    return CliRunner().invoke(app, ["audit-epsilon", *map(str, args)])


def test_a_promise_that_is_kept():
    done = run(*MINE, "--epsilon", 8, "--delta", "1e-5", "--fits", 100, "--accounting", "gaussian")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("No violation seen: own_count, ε = 8, δ = 1e-05.")
    assert "no proof that the promise is kept" in done.stdout
    assert "Promised: 8." in done.stdout
    assert "would have been called a violation with a chance of 80%" in done.stdout


def test_a_promise_that_is_broken_sets_the_exit_code_and_is_written():
    given = (*MINE, "--epsilon", 1, "--delta", "1e-5", "--fits", 200, "--set", "noise=0.1")
    done = run(*given, "--json", "found.json")
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("Violated: own_count, ε = 1")
    data = json.loads(Path("found.json").read_text(encoding="utf-8"))
    assert data.pop("state") == "violated"
    assert data.pop("proven") == pytest.approx(3.3, abs=0.05)
    assert EpsilonFinding.from_json(data).settings == {"noise": 0.1}
    quiet = run(*given, "--json", "-", "--quiet")
    assert json.loads(quiet.stdout)["state"] == "violated"
    assert quiet.stderr == ""


def test_a_doubt_is_inconclusive():
    done = run(*MINE, "--epsilon", 2, "--delta", "1e-5", "--fits", 400, "--set", "noise=0.7")
    assert done.exit_code == 3, done.output
    assert "no proof for this mechanism" in done.stdout


def test_the_store_is_gone_on_with():
    given = (*MINE, "--epsilon", 1, "--delta", "1e-5", "--store", "fits", "--quiet")
    assert run(*given, "--fits", 20).exit_code == 3  # too few to prove anything
    assert len(list(Path("fits").glob("*/fits-*.json"))) == 2
    assert run(*given, "--fits", 40).exit_code in {0, 3}
    assert len(list(Path("fits").glob("*/fits-*.json"))) == 4


def test_an_interruption_is_one_line(monkeypatch):
    def interrupt(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("tabveil.workflows.epsilon.audit_epsilon", interrupt)
    for more, end in (((), "nothing is kept."), (("--store", "fits"), "run the same command to go on.")):
        result = run(*MINE, "--epsilon", 1, *more)
        assert result.exit_code == 130
        (line,) = result.stderr.splitlines()
        assert line.endswith(end)


@pytest.mark.parametrize(
    ("args", "fragment"),
    [
        (("--generator", "aimm", "--epsilon", 1), "no generator 'aimm'. Did you mean 'aim'?"),
        (("--generator", "trees", "--epsilon", 1), "delta must be given; trees has no such setting"),
        (("--generator", "aim", "--epsilon", -1), "epsilon must"),
        (("--generator", "aim", "--set", "epsilom=1"), "no setting 'epsilom'"),
        (("--generator", "aim", "--set", "1"), "--set must look like key=value"),
        (("--generator", "aim", "--accounting", "exact"), "accounting must"),
        (("--generator", "aim", "--json", "own_count.py"), "is already there; add --force"),
        (("--generator", "aim", "--store", "own_count.py"), "is a file; name a folder"),
        (("--generator", "aim", "--with", "none.py"), "there is no file none.py"),
        ((), "Missing option '--generator'"),
    ],
)
def test_what_is_wrong_is_one_line(args, fragment):
    result = run(*args)
    assert result.exit_code == 2, result.output
    (line,) = result.stderr.splitlines()
    assert fragment in line
    assert result.stdout == ""
