"""Every command and every piece of Python in the README is run, word for word, on a small simulated table."""

import re
import shutil
import subprocess

import pytest
from commands import ROOT, blocks, commands, follow
from typer.testing import CliRunner

from tabveil.auditing import METRICS
from tabveil.cli import app

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_come_first():
    assert commands(README)[:2] == ["make demo", "make test"]


def test_everything_the_page_says_can_be_done(tmp_path, monkeypatch):
    (tmp_path / "attackers.yaml").write_text(blocks(README, "yaml")[0].text, encoding="utf-8")
    follow(README, tmp_path, monkeypatch)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", sorted({*re.findall(r"`make (\w+)`", README), "demo", "test"}))
def test_make_knows_every_target(target):
    # A dry run: really running `make test` from a test would never end.
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_options_named_in_the_text_exist():
    names = ["audit", "compare", "policy", "split", "schema", "demo", "synthesize", "sample", "config"]
    helps = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout for name in names) + " --svg"
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
