"""Reports are what the published schema says, and what is none is found out by it."""

import json
from pathlib import Path

import pytest
from supplies import made_reports as made
from supplies.json_schema import faults

import tabveil
from tabveil import datasets
from tabveil.auditing.report import SCHEMA_VERSION, Report
from tabveil.auditing.report_schema import report_schema
from tabveil.errors import ParameterError

STORED = Path(__file__).parent / "stored" / "report.json"
SCHEMA = report_schema()


def all_faults(text):
    return list(faults(SCHEMA, json.loads(text)))


@pytest.fixture(scope="module")
def audited():
    train, release, control = (datasets.hospital(120, seed=seed) for seed in (1, 1, 3))
    asked = {"metrics": ("linkability", "membership_distance", "mmd"), "person": None, "seed": 1}
    return tabveil.audit(
        train,
        release,
        control,
        **asked,
        initial_risk=True,
        claimed_epsilon=1.0,
        split={"control": 0.5, "train_rows": 120, "control_rows": 120},
        policy={"frameworks": ["wp29", "ico"], "review_date": "2027-03-01"},
        quasi_identifiers=["age", "sex"],
        sensitive=["outcome"],
        portrait=True,
        sample=100,
    ).to_json()


def test_a_report_of_an_audit_is_as_the_schema_says(audited):
    assert all_faults(audited) == []
    told = json.loads(audited)
    assert told["schema_version"] == SCHEMA_VERSION
    assert {"initial", "claim", "dictionary", "properties", "portrait", "sampled"} <= told.keys()


@pytest.mark.parametrize("risk", [made.CLEAN, made.LEAKY])
def test_reports_made_by_hand_are_too(risk):
    assert all_faults(made.report(risk).to_json()) == []


def test_reports_of_earlier_days_are_read():
    stored = json.loads(STORED.read_text(encoding="utf-8"))
    stored.pop("schema_version", None)
    assert Report.from_json(json.dumps(stored)).verdict.state


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("schema_version",), 2),
        (("seed",), "one"),
        (("seed",), True),
        (("verdict", "state"), "fine"),
        (("verdict", "risks", 0, "threshold"), None),
        (("results", 0, "risk", "n"), "many"),
        (("inputs", "train", "sha256"), None),
        (("policy", "confidence"), 2.0),
        (("policy", "frameworks"), ["gdpr"]),
        (("results", 0, "more"), 1),
        (("more",), 1),
        (("dictionary", "columns", 0, "treatment"), "unknown"),
    ],
)
def test_what_is_no_report_is_found_out(audited, path, value):
    changed = json.loads(audited)
    place = changed
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    assert all_faults(json.dumps(changed)) != []


@pytest.mark.parametrize("name", SCHEMA["required"])
def test_no_required_field_may_be_missing(audited, name):
    changed = json.loads(audited)
    del changed[name]
    assert all_faults(json.dumps(changed)) == [f": lacks {name}"]


def test_another_schema_version_is_refused_by_its_number(tmp_path):
    place = tmp_path / "report.json"
    place.write_text(json.dumps({**json.loads(made.report(made.CLEAN).to_json()), "schema_version": 2}))
    with pytest.raises(ParameterError, match="schema_version is 2, this version reads 1"):
        Report.read(place)
