"""The command: a bundle is written, checked, and never written over something else."""

from dataclasses import replace

import pytest
from supplies import made_reports
from supplies.terminal import refused, run, work_in

from tabveil.auditing.report import ExposedRows


@pytest.fixture
def folder(tmp_path, monkeypatch):
    work_in(tmp_path, monkeypatch)
    (tmp_path / "report.json").write_text(made_reports.report(made_reports.CLEAN).to_json())
    return tmp_path


def test_a_bundle_is_written_and_is_whole(folder):
    written = run("bundle", "report.json", "--out", "release.zip")
    assert written.exit_code == 0, written.output
    checked = run("bundle", "--check", "release.zip")
    assert checked.exit_code == 0
    digest = written.output.replace("\n", "").split("SHA-256 ")[1][:60]
    assert digest in checked.output.replace("\n", "")
    assert max(map(len, checked.output.splitlines())) <= 80  # digests are compared by eye: none may be broken


def test_nothing_is_written_over(folder):
    assert run("bundle", "report.json", "--out", "release.zip").exit_code == 0
    assert "--force" in refused("bundle", "report.json", "--out", "release.zip")
    assert run("bundle", "report.json", "--out", "release.zip", "--force").exit_code == 0
    assert ".zip" in refused("bundle", "report.json", "--out", "release.tar")
    assert "something else" in refused("bundle", "report.json", "--out", "report.json", "--force")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((), "name a report to bundle"),
        (("report.json",), "--out"),
        (("report.json", "--check", "release.zip"), "name a report to bundle"),
        (("--check", "none.zip"), "no such file"),
        (("--check", "report.json"), "not a whole bundle"),
        (("none.json", "--out", "release.zip"), "no such file"),
    ],
)
def test_faults_are_told_in_one_line(folder, asked, words):
    assert words in refused("bundle", *asked)


def test_values_of_people_are_guarded(folder):
    exposed = ExposedRows(metric="inference", columns=("age",), rows=(("1", "33"),))
    (folder / "report.json").write_text(
        replace(made_reports.report(made_reports.CLEAN), exposed=exposed).to_json()
    )
    assert "guard it" in run("bundle", "report.json", "--out", "release.zip").output
    assert (folder / "release.zip").stat().st_mode & 0o077 == 0
