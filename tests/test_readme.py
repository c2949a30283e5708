"""Every command and every piece of Python in the README is run, word for word, on a small simulated table."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tabveil
from tabveil.auditing import METRICS
from tabveil.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


COMMANDS = [line for block in blocks("bash") for line in block.splitlines() if line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("readme")
    tabveil.datasets.hospital(200, seed=1).to_csv(place / "patients.csv", index=False)
    tabveil.datasets.hospital(150, seed=2).to_csv(place / "synthetic.csv", index=False)
    (place / "attackers.yaml").write_text(blocks("yaml")[0], encoding="utf-8")
    return place


def test_the_two_commands_come_first():
    assert COMMANDS[:2] == ["make demo", "make test"]


@pytest.mark.parametrize("command", [line for line in COMMANDS if not line.startswith("make ")])
def test_commands_run_in_the_order_of_the_page(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    if "split/train.csv" in command and not Path("split").exists():  # this test was chosen alone
        CliRunner().invoke(app, ["split", "--data", "patients.csv", "--out", "split"])
    if "--out schema.yaml" in command:
        Path("schema.yaml").unlink(missing_ok=True)
    elif "--schema" in command and not Path("schema.yaml").exists():
        CliRunner().invoke(app, ["schema", "patients.csv", "--out", "schema.yaml"])
    if command.startswith("tabveil split"):
        shutil.rmtree("split", ignore_errors=True)
    program, *args = shlex.split(command)
    assert program == "tabveil"
    result = CliRunner().invoke(app, args)
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs(code, folder, monkeypatch):
    monkeypatch.chdir(folder)
    exec(compile(code, "README.md", "exec"), {})


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", sorted({*re.findall(r"`make (\w+)`", README), "demo", "test"}))
def test_make_knows_every_target(target):
    # A dry run: really running `make test` from a test would never end.
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_options_named_in_the_text_exist():
    commands = ["audit", "split", "schema", "demo"]
    helps = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout for name in commands) + " --svg"
    for option in set(re.findall(r"--[a-z]+(?:-[a-z]+)*", README)):
        assert option in helps


def test_every_metric_is_explained():
    assert set(METRICS) <= set(re.findall(r"`(\w+)`", README))


def test_links_and_pictures_are_there():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_picture_loads_nothing_from_anywhere():
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert picture.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert "@font-face" not in picture


@pytest.mark.parametrize("word", ["GDPR compliant", "anonymous"])
def test_words_that_promise_too_much_do_not_occur(word):
    assert word not in README
