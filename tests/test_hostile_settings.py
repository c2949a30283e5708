"""Files of settings with something wrong in them: what cannot be done is refused in one line."""

import os
import tempfile
from pathlib import Path

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, given, seed, settings
from supplies.hostile_settings import BASES, LISTS, PLANTED, STRANGE, hostile
from supplies.time_limits import time_limit
from typer.testing import CliRunner

from tabveil.cli import app

EXAMPLES = int(os.environ.get("TABVEIL_HOSTILE_SETTINGS", "10"))
"""How many files of each kind; by hand, hundreds."""

CONTROL = ["--control", "control.csv"]
PEOPLE = ["--train", "people.csv", *CONTROL, "--synthetic", "people.csv"]
QUICK = ["--metrics", "identical_match_share", "--no-utility", "--quiet"]
OUT = ["--out", "out.csv", "--force"]
COMMANDS = {
    "audit": ["audit", "--config", "FILE", *QUICK],
    "policy": ["audit", *PEOPLE, "--policy", "FILE", *QUICK],
    "attackers": ["audit", *PEOPLE, "--attackers", "FILE", *QUICK],
    "schema": ["audit", *PEOPLE, "--schema", "FILE", *QUICK],
    "synthesize": ["synthesize", "--data", "people.csv", *CONTROL, "--config", "FILE", *OUT],
    "anonymize": ["anonymize", "--data", "people.csv", "--config", "FILE", *OUT],
    "hierarchy": ["anonymize", "--data", "people.csv", "--config", "by_file.yaml", *OUT],
    "key": ["pseudonymize", "--data", "people.csv", "--column", "name", "--key", "FILE", *OUT],
    "split": ["split", "--data", "people.csv", "--out", "parts", "--policy", "FILE", "--force"],
    "pipeline": ["pipeline", "--data", "people.csv", *CONTROL, "--config", "FILE", *OUT, *QUICK],
    "attack": ["attack", "--data", "people.csv", "--config", "FILE", "--fits", "40", "--targets", "2", "-q"],
    "benchmark": ["benchmark", "run", "FILE", "--store", "found", "--workers", "1", "--quiet"],
    "tune": ["tune", "--config", "FILE", "--store", "searched", "--workers", "1", "--quiet"],
}
LONGEST, LONGEST_VALUE = 600, 80


@pytest.mark.parametrize("kind", COMMANDS)
def test_settings_that_are_in_order_are_taken(kind, tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    base = BASES[kind]
    Path("file.yaml").touch(0o600)
    Path("file.yaml").write_bytes(base if isinstance(base, bytes) else yaml.safe_dump(base).encode())
    done = run(kind, "file.yaml")
    assert done.exit_code in {0, 1, 3}, done.stderr


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("benchmark", "{datasets: null, risks: [leaky]}", "datasets: everything there must have a name"),
        ("benchmark", "{datasets: [[hospital]], risks: [leaky]}", "datasets: everything there must"),
        ("benchmark", "{datasets: [hospital], risks: [[leaky]]}", "risks: everything there must have"),
        ("benchmark", "{datasets: [hospital], risks: [leaky], metrics: [[mmd]]}", "metrics: everything"),
        ("benchmark", "{datasets: [{file: [a]}], risks: [leaky]}", "file must be the name of a file"),
        ("tune", "{data: {file: null}, search: {noise: [0, 1]}, generator: copy}", "must be the name of"),
        ("policy", "recipient: !!timestamp x\n", "not valid YAML or JSON"),
        ("policy", " " * ((1 << 24) + 1), "file.yaml has 16,777,217 bytes; at most 16,777,216 are read"),
        ("anonymize", "{hierarchies: {sex: auto}, models: [{l: 1.0e+308, column: ward}]}", "l must be <="),
        ("hierarchy", "a" * ((1 << 28) + 1), "has 268,435,457 bytes; at most 268,435,456 are read"),
        ("key", "ab" * 4096, "holds no key, which is 64 hexadecimal digits"),
    ],
)
def test_files_that_were_taken_wrong(kind, text, why, tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    Path("file.yaml").touch(0o600)
    Path("file.yaml").write_text(text, encoding="utf-8")
    done = run(kind, "file.yaml")
    check(done)
    assert why in done.stderr


@pytest.mark.parametrize(
    "value",
    [*PLANTED, *LISTS, ["plant " * 30] * 30, {"plant " * 30: "plant " * 30}],
    ids=lambda value: str(value)[:9],
)
@pytest.mark.parametrize("key", ["secrets", "seed", "metrics", "train", "threads", "more"])
def test_values_are_said_back_shortened(key, value, tmp_path, monkeypatch):
    prepare(tmp_path, monkeypatch)
    Path("file.yaml").write_text(yaml.safe_dump({**BASES["audit"], key: value}), encoding="utf-8")
    check(run("audit", "file.yaml"))


@pytest.mark.parametrize("kind", COMMANDS)
def test_files_with_something_wrong(kind, monkeypatch):
    with tempfile.TemporaryDirectory() as folder:
        prepare(Path(folder), monkeypatch)

        @seed(0)
        @settings(
            max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(hostile(kind))
        def refused_or_done(file):
            suffix, data = file
            path = f"file{suffix}"
            put(path, data)
            check(run(kind, path))

        refused_or_done()


def put(path, data):
    """Write bytes, or make something strange."""
    if Path(path).is_dir() and not Path(path).is_symlink():
        Path(path).rmdir()
    Path(path).unlink(missing_ok=True)
    if isinstance(data, str):
        STRANGE[data](path)
    else:
        Path(path).touch(0o600)  # as a key must be
        Path(path).write_bytes(data)


def prepare(folder, monkeypatch):
    monkeypatch.chdir(folder)
    os.mkfifo("pipe")
    for name, rows in (("people.csv", range(40)), ("control.csv", range(100, 140))):
        pd.DataFrame(
            {
                "age": [20 + i % 30 for i in rows],
                "sex": ["fm"[i % 2] for i in rows],
                "ward": ["abc"[i % 3] for i in rows],
                "day": [f"2020-{1 + i % 12:02}-{1 + i % 28:02}" for i in rows],
                "height": [1.5 + i % 7 / 10 for i in rows],
                "name": [f"name {i // 2}" for i in rows],
            }
        ).to_csv(name, index=False)
    Path("secret.key").touch(0o600)
    Path("secret.key").write_text(bytes(range(32)).hex())
    by_file = "{hierarchies: {ward: {file: file.yaml}}, models: [{k: 2}], keep: [name]}"
    Path("by_file.yaml").write_text(by_file)
    Path("schema.yaml").write_text(yaml.safe_dump(BASES["schema"]), encoding="utf-8")


def run(kind, file):
    words = [file if word == "FILE" else word for word in COMMANDS[kind]]
    with time_limit():
        return CliRunner().invoke(app, words, env={"COLUMNS": "80"})


def check(done):
    """One line, and none of its characters is obeyed by a terminal or too many."""
    if done.exit_code in {0, 1, 3}:
        return
    assert done.exit_code == 2, done.stderr
    assert isinstance(done.exception, SystemExit)
    lines = [line for line in done.stderr.splitlines() if line.startswith("tabveil: ")]
    assert len(lines) == 1, done.stderr
    assert len(lines[0]) <= LONGEST, lines[0]
    for planted in (*PLANTED, *map(str, LISTS)):
        pieces = {planted[start : start + LONGEST_VALUE + 1] for start in range(20)}
        assert not any(piece in done.stderr for piece in pieces), lines[0]
