"""Every command and every piece of Python in the README is run, word for word, on a small simulated table."""

import re
import shutil
import subprocess
from dataclasses import replace

import pytest
from supplies import made_reports as made
from supplies.page_commands import blocks, commands, follow
from supplies.places import ROOT
from supplies.plain_words import riddles_in
from typer.testing import CliRunner

from tabveil.auditing.findings import finding
from tabveil.cli import app
from tabveil.metrics.registry import METRICS

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_installing_comes_first_and_then_the_two_commands():
    first = blocks(README)[0]
    assert (first.language, first.text) == ("console", "$ pip install .\n$ tabveil demo\n")
    assert commands(README)[:2] == ["make demo", "make test"]


def test_every_finding_of_the_table_is_explained():
    page = (ROOT / "docs" / "reading.md").read_text(encoding="utf-8")
    (line,) = (line for line in page.splitlines() if line.startswith("| `finding` |"))
    assert every_finding() == set(re.findall(r"\*([a-z ]+)\*:", line))


def every_finding():
    """What the terminal can say of a result, whatever it is."""
    attack, indicator = made.results(made.LEAKY)[0], made.results(made.LEAKY)[-1]
    results = (
        attack,
        replace(attack, p_value=0.04),
        indicator,
        made.results(made.CLEAN)[0],
        replace(attack, risk=None, gain=None),
        replace(made.results(made.CLEAN)[0], beats_baseline=False),
    )
    others = made.results(made.LEAKY)[1:4]  # which make a verdict ask for more
    reports = [
        made.report(results=(item, *(replace(other, p_value=0.5) for other in others))) for item in results
    ]
    reports.append(replace(reports[0], inputs=made.inputs(control=0)))
    return {finding(report, report.results[0].key) for report in reports}


def test_the_page_is_short():
    assert len(README.split()) < 800


def test_everything_the_page_says_can_be_done(tmp_path, monkeypatch):
    follow(README, tmp_path, monkeypatch)


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", sorted({*re.findall(r"`make (\w+)`", README), "demo", "test"}))
def test_make_knows_every_target(target):
    # A dry run: really running `make test` from a test would never end.
    subprocess.run(["make", "-n", target], cwd=ROOT, check=True, capture_output=True)


def test_options_named_in_the_text_exist():
    names = [
        "audit",
        "compare",
        "policy",
        "split",
        "schema",
        "demo",
        "synthesize",
        "sample",
        "config",
        "serve",
    ]
    helps = " ".join(CliRunner().invoke(app, [name, "--help"]).stdout for name in names) + " --svg"
    for option in set(re.findall(r"--[a-z]+(?:-[a-z]+)*", README)):
        assert option in helps


def test_every_metric_is_listed_where_the_page_says():
    assert "(docs/metrics.md)" in README
    listed = (ROOT / "docs" / "metrics.md").read_text(encoding="utf-8")
    assert set(METRICS) <= set(re.findall(r"`(\w+)`", listed))


def test_links_and_pictures_are_there():
    for target in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / target).exists(), target


def test_the_picture_of_the_page_is_a_small_one():
    picture = (ROOT / "docs" / "page.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) <= 150_000


def test_the_picture_loads_nothing_from_anywhere():
    picture = (ROOT / "docs" / "demo.svg").read_text(encoding="utf-8")
    assert picture.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert "@font-face" not in picture


@pytest.mark.parametrize("word", ["GDPR compliant", "anonymous"])
def test_words_that_promise_too_much_do_not_occur(word):
    assert word not in README


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        *(f"docs/{name}.md" for name in ("index", "tutorial", "own_table", "audits", "reading", "policy")),
    ],
)
def test_no_sentence_is_a_riddle(page):
    assert riddles_in((ROOT / page).read_text(encoding="utf-8")) == []


def test_riddles_are_found():
    said = "What it betrays must not leave the house; who has ten is promised ten times\nless."
    assert len(riddles_in(said)) == 3
    assert riddles_in("a promise avoids coincidence") == []
