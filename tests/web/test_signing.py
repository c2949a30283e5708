"""A signature says what was signed, and notices when that is changed."""

import datetime as dt
import hashlib
import json

import pytest

from tabveil.errors import TabveilError
from tabveil.web import signing

SAID = {"name": "A. Officer", "role": "DPO", "decision": "release", "reasons": "", "repeat_by": ""}


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "one" / "runs" / "20260101-000000-000000-abcdef"
    folder.mkdir(parents=True)
    report = {
        "verdict": {"state": "within threshold"},
        "inputs": {"synthetic": {"sha256": "ab" * 32}, "train": {"sha256": None}},
    }
    (folder / "report.json").write_text(json.dumps(report))
    (folder / "report.html").write_text("<p>page</p>")
    (folder / "audit.yaml").write_text("seed: 1\n")
    return folder


def sign(run, **said):
    seen = hashlib.sha256((run / "report.json").read_bytes()).hexdigest()
    return signing.sign(run.parents[1], run, seen=seen, said={**SAID, **said})


def test_it_holds_who_what_when_and_the_digests(run):
    sign(run)
    ((name, found),) = signing.of_run(run.parents[1], run.name)
    assert name == f"{run.name}-1.json"
    assert (found.name, found.role, found.decision, found.verdict) == (
        "A. Officer",
        "DPO",
        "release",
        "within threshold",
    )
    assert found.date.startswith(f"{dt.datetime.now(tz=dt.UTC):%Y-}")
    expected = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in run.iterdir()}
    assert dict(found.digests) == expected
    assert dict(found.inputs) == {"synthetic": "ab" * 32}
    assert found.changed(run) == []


@pytest.mark.parametrize("name", ["report.json", "report.html", "audit.yaml"])
def test_what_is_changed_afterwards_is_named(run, name):
    found = sign(run)
    (run / name).write_text("{}")
    assert found.changed(run) == [name]
    (run / name).unlink()
    assert found.changed(run) == [name]


def test_a_report_that_changed_since_it_was_read_is_not_signed(run):
    with pytest.raises(TabveilError, match="has changed since"):
        signing.sign(run.parents[1], run, seen="0" * 64, said=SAID)
    assert not (run.parents[1] / "signed").exists()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"name": ""}, "name: must be given"),
        ({"role": ""}, "role: must be given"),
        ({"name": "x" * 201}, "at most 200"),
        ({"reasons": "x" * 4001}, "at most 4,000"),
        ({"decision": "maybe"}, "decision: it must be one of"),
        ({"decision": "do not release"}, "reasons: must be given"),
        ({"repeat_by": "soon"}, "must be a date"),
        ({"repeat_by": "2020-01-01"}, "a day to come"),
    ],
)
def test_what_cannot_be_signed_is_refused(run, said, why):
    with pytest.raises(TabveilError, match=why):
        sign(run, **said)
    assert signing.of_run(run.parents[1], run.name) == []


def test_a_second_one_stands_beside_the_first(run):
    sign(run)
    sign(run, decision="do not release", reasons="second thoughts")
    found = signing.of_run(run.parents[1], run.name)
    assert [signature.decision for _, signature in found] == ["release", "do not release"]


def test_a_file_that_is_no_signature_is_passed_over(run):
    sign(run)
    (run.parents[1] / "signed" / f"{run.name}-2.json").write_text("{}")
    assert len(signing.of_run(run.parents[1], run.name)) == 1
