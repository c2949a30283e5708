"""The scripts under examples/ run, on a few simulated people."""

import re
import runpy
from pathlib import Path

import pytest

import tabveil
from tabveil.verdict import EXIT_CODES, RISKS

EXAMPLES = Path(__file__).parents[1] / "examples"
FEW = ["--hospital", "--rows", "60", "--metric", "identical_match_share", "--metric", "distance_to_closest"]


@pytest.fixture(scope="module")
def leaky_adult():
    return runpy.run_path(str(EXAMPLES / "leaky_adult.py"))


def test_a_known_leak_is_read_off_the_table(leaky_adult, capsys):
    leaky_adult["main"]([*FEW, "--seeds", "2"])
    told = capsys.readouterr()
    (row,) = re.findall(r"\| `identical_match_share` \|(.*)\|", told.out)
    risks = [float(cell.split("±")[0]) for cell in row.split("|")[:6]]
    assert risks == pytest.approx([0, 0.2, 0.4, 0.6, 0.8, 1], abs=0.02)
    assert told.err.count("\n") == 12  # a line for each seed and level, as they are done


def test_what_was_written_about_differences_is_kept(leaky_adult, tmp_path):
    page = tmp_path / "page.md"
    leaky_adult["main"]([*FEW, "--seeds", "1", "--out", str(page)])
    written = page.read_text(encoding="utf-8")
    assert leaky_adult["DIFFERENCES"] in written
    page.write_text(written + "Because of ties.\n", encoding="utf-8")
    leaky_adult["main"]([*FEW, "--seeds", "1", "--out", str(page)])
    assert page.read_text(encoding="utf-8") == written + "Because of ties.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_numbers_of_the_papers_stand_beside_names_that_exist(leaky_adult):
    row = leaky_adult["table"](
        {"linkability": {level: [level] for level in leaky_adult["LEVELS"]}}, papers=leaky_adult["PAPERS"]
    ).splitlines()[-1]
    assert row.endswith("| 1.000 | 0.0015 | 0.643 |")


def test_people_who_are_not_there_are_said_to_be_missing(leaky_adult, tmp_path):
    with pytest.raises(SystemExit, match=r"Skipped: there is no adult\.parquet\. Say --data"):
        leaky_adult["main"](["--data", str(tmp_path / "adult.parquet")])
    with pytest.raises(SystemExit):
        leaky_adult["main"](["--hospital", "--data", "adult.parquet"])


@pytest.fixture(scope="module")
def audit_in_python():
    return runpy.run_path(str(EXAMPLES / "audit_in_python.py"))


def test_an_audit_in_python_tells_and_writes_the_same(audit_in_python, tmp_path, capsys):
    audit_in_python["main"](["--rows", "300", "--out", str(tmp_path / "audit")])
    told = capsys.readouterr().out
    report = tabveil.Report.read(tmp_path / "audit" / "report.json")
    assert told.startswith(report.verdict.sentence)
    assert report.policy.recipient == "a research group"
    assert "inference: neighbor" in [result.key for result in report.results]
    for name, figure in report.utility.figures.items():
        assert f"{name}: {figure.value.value:.3f}" in told
    assert "a research group" in (tmp_path / "audit" / "report.html").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def release_gate():
    return runpy.run_path(str(EXAMPLES / "release_gate.py"))


@pytest.mark.parametrize(("candidate", "code"), [("clean", 0), ("leaky", 1)])
def test_the_gate_opens_for_the_clean_candidate_only(release_gate, candidate, code, capsys):
    assert release_gate["main"](["--judge", candidate]) == code
    told = capsys.readouterr().out
    rows = {line[:12].strip(): line for line in told.splitlines()}
    for risk in RISKS:
        assert re.search(r"0\.0\d\d within threshold +0\.[2-9]\d\d above threshold", rows[risk])
    assert f"\n{candidate}: {'Within' if code == 0 else 'Above'} threshold" in told


def test_the_exit_codes_of_the_gate_are_those_of_the_command(release_gate):
    assert release_gate["EXIT_CODES"] == EXIT_CODES
