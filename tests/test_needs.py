"""What is not there is said: skipped on somebody's machine, failed in continuous integration."""

import os
import subprocess
import sys

import pytest
from supplies import needs
from supplies.places import ROOT

TESTS = ("tests/render/test_browser.py", "-k", "amber")


@pytest.mark.parametrize("ci", [None, "", "false"])
def test_elsewhere_tests_are_left_out(ci, monkeypatch):
    monkeypatch.delenv("CI", raising=False) if ci is None else monkeypatch.setenv("CI", ci)
    with pytest.raises(pytest.skip.Exception, match="needs a thing"):
        needs.need(False, "a thing")


@pytest.mark.parametrize("ci", ["true", "1", "True"])
def test_in_continuous_integration_they_fail(ci, monkeypatch):
    monkeypatch.setenv("CI", ci)
    needs.need(True, "a thing")
    with pytest.raises(pytest.fail.Exception, match="needs a thing"):
        needs.need(False, "a thing")


def test_a_missing_table_fails_in_continuous_integration(monkeypatch, tmp_path):
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(needs, "SHARED", tmp_path)
    with pytest.raises(pytest.fail.Exception, match=r"adult.parquet in \.\./shared/data"):
        needs.need_adult()


@pytest.mark.parametrize(("ci", "code", "word"), [("true", 1, "1 error"), ("", 0, "1 skipped")])
def test_without_a_browser_the_tests_of_the_pages(ci, code, word, tmp_path):
    environment = {key: value for key, value in os.environ.items() if key != "TABVEIL_CHROMIUM"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS],
        cwd=ROOT,
        env={**environment, "CI": ci, "PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout
    assert word in done.stdout
    assert "a Chromium" in done.stdout


def test_the_pipeline_says_that_it_is_one():
    assert "\nexport CI=true" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
