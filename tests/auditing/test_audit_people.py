"""People with several rows in a whole audit: every way to say so, what is told of it, and what is refused."""

import io
import json

import numpy as np
import pandas as pd
import pytest
import yaml
from rich.console import Console
from typer.testing import CliRunner

import tabveil
from tabveil.auditing.report import Report
from tabveil.cli import app
from tabveil.datasets import visits
from tabveil.errors import ParameterError, SchemaError
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page

LEAKED = 15  # of 300 people: one in twenty
ATTACKS = ("membership_calibrated", "membership_distance", "linkability", "inference")


@pytest.fixture(scope="module")
def tables():
    """Return train, a release in which one person in twenty stands with all rows, and control."""
    train, control, other = (visits(300, seed=seed) for seed in (1, 2, 3))
    people = train["patient"].unique()[:LEAKED]
    leaked = train[train["patient"].isin(people)]
    release = pd.concat([other.iloc[len(leaked) :], leaked]).drop(columns="patient")
    return train, release.sample(frac=1, random_state=0), control


@pytest.fixture(scope="module")
def report(tables):
    return tabveil.audit(*tables, person="patient", metrics=list(ATTACKS), advice=False)


@pytest.fixture
def files(tables, tmp_path):
    for name, table in zip(("train", "synthetic", "control"), tables, strict=True):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    return {name: str(tmp_path / f"{name}.csv") for name in ("train", "synthetic", "control")}


def run(files, *options):
    named = [part for name, file in files.items() for part in (f"--{name}", file)]
    return CliRunner().invoke(app, ["audit", *named, *options])


def numbers(report):
    return [(result.metric, result.gain, result.p_value) for result in report.results]


@pytest.mark.parametrize("attack", ATTACKS)
def test_the_gain_is_the_share_of_people_that_leaked(report, attack):
    gain = report[attack].gain
    assert 0 < gain.low <= LEAKED / 300 <= gain.high


def test_fresh_people_are_not_found(tables):
    train, _, control = tables
    fresh = visits(300, seed=4).drop(columns="patient")
    report = tabveil.audit(train, fresh, control, person="patient", metrics=list(ATTACKS), advice=False)
    for result in report.results:
        assert result.gain.low <= 0
        assert abs(result.gain.value) < 0.05


def test_every_way_to_say_it_says_the_same(report, tables, files, tmp_path):
    schema = tabveil.audit(*tables, schema={"person": "patient"}, metrics=list(ATTACKS), advice=False)
    assert numbers(schema) == numbers(report)
    asked = {**files, "person": "patient", "metrics": list(ATTACKS), "advice": False}
    (tmp_path / "audit.yaml").write_text(yaml.safe_dump(asked))
    for options in (
        ["--config", str(tmp_path / "audit.yaml")],
        ["--person", "patient", "--no-advice", *(part for name in ATTACKS for part in ("--metrics", name))],
    ):
        named = files if "--person" in options else {}
        out = tmp_path / f"{len(options)}.json"
        result = run(named, *options, "--json", str(out), "--quiet")
        assert result.exit_code == 0, result.output
        assert numbers(Report.from_json(out.read_text())) == numbers(report)


def test_it_is_written_down_for_a_repetition(report):
    assert report.request["person"] == "patient"
    assert "person: patient" in report.config()


def test_page_and_terminal_tell_of_people(report, tables):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(report_page(report))
    told = console.export_text()
    assert f"{len(tables[0]):,} rows of 300 people" in told
    written = page(report)
    assert "of 300 people" in written
    assert "Several rows of one person" not in written
    assert tables[0]["patient"].iloc[0] not in written
    assert tables[0]["patient"].iloc[0] not in told
    alone = tabveil.audit(*(table.drop(columns="patient", errors="ignore") for table in tables), quick=True)
    assert "Several rows of one person" in page(alone)


def test_a_stored_report_keeps_them(report):
    read = Report.from_json(report.to_json())
    assert read.inputs["train"].people == 300
    assert read.verdict.sentence == report.verdict.sentence
    older = json.loads(report.to_json())
    for item in older["inputs"].values():
        del item["people"]
    assert Report.from_json(json.dumps(older)).inputs["train"].people is None


def test_an_open_verdict_asks_for_people_not_rows():
    train, control, release = (visits(60, seed=seed) for seed in (1, 2, 3))
    release = release.drop(columns="patient")
    report = tabveil.audit(train, release, control, person="patient", metrics=list(ATTACKS))
    assert "too few people to tell" in report.verdict.sentence
    assert "control people" in report.verdict.sentence
    assert "control rows" not in report.verdict.sentence


def test_power_plants_people(tables):
    report = tabveil.audit(
        *tables, person="patient", metrics=["membership_distance"], power=True, advice=False
    )
    assert report.power.people <= 150  # half of the control people
    assert any("each with all rows" in note for note in report.power.notes)
    (found,) = report.power.detections
    assert found.smallest is not None


@pytest.mark.parametrize("side", ["train", "control"])
def test_one_person_proves_nothing(tables, side):
    train, release, control = tables
    tables = {"train": train, "control": control}
    tables[side] = tables[side].assign(patient="the same")
    given = {"person": "patient", "quick": True, "advice": False}
    report = tabveil.audit(tables["train"], release, tables["control"], **given)
    assert {risk.state for risk in report.verdict.risks} == {"inconclusive"}
    assert any("belong to one person" in note for note in report.notes)


def test_a_column_that_is_not_there_is_named(files):
    result = run(files, "--person", "patiens")
    assert result.exit_code == 2
    assert "patiens" in result.output
    assert "patient" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize("person", [3, ["patient"], True])
def test_no_column_at_all_is_refused(tables, person):
    with pytest.raises(ParameterError, match="person must be the name of a column"):
        tabveil.audit(*tables, person=person)


def test_nobody_new_in_control_is_refused(tables):
    train, release, _ = tables
    with pytest.raises(SchemaError, match="nobody in it is new"):
        tabveil.audit(train, release, train.iloc[:50], person="patient")


def test_the_order_of_rows_and_the_names_of_people_do_not_matter(report, tables):
    train, release, control = (table.sample(frac=1, random_state=7) for table in tables)
    renamed = {name: f"Q{number:05}" for number, name in enumerate(np.unique(train["patient"]))}
    train = train.assign(patient=train["patient"].map(renamed))
    again = tabveil.audit(train, release, control, person="patient", metrics=list(ATTACKS), advice=False)
    assert numbers(again) == numbers(report)
