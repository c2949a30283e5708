"""The scripts under examples/ run, on a few simulated people."""

import re
import runpy

import pytest
from supplies.places import ROOT

import tabveil
from tabveil.auditing.policy import RISKS
from tabveil.auditing.verdict import EXIT_CODES

EXAMPLES = ROOT / "examples"


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
    """The script, whose two audits are the same whichever candidate is judged: each is done once."""
    done, audit = {}, tabveil.audit

    def once(train, release, control, **asked):
        key = (release.to_csv(), str(asked))
        return done[key] if key in done else done.setdefault(key, audit(train, release, control, **asked))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tabveil, "audit", once)
        yield runpy.run_path(str(EXAMPLES / "release_gate.py"))


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
