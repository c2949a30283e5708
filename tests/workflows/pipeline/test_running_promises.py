"""What a pipeline promises is stated for people, and never beside the seed that would void it."""

import io
import json
import re

import pandas as pd
import pytest
from rich.console import Console

import tabveil
from tabveil.datasets import hospital
from tabveil.render.pipeline.page import page, summary
from tabveil.workflows.pipeline.report import NOT_THE_REPORT
from tabveil.workflows.pipeline.running import UNREPEATABLE, WITHHELD

SEED = 734_561_209
SCHEMA = {
    "columns": {
        "age": {"type": "integer", "low": 0, "high": 120},
        "sex": {"type": "category", "labels": ["female", "male", "diverse"]},
    }
}
SAMPLED = {
    "hierarchies": {"age": {"intervals": [40]}, "sex": {"tree": {"any": ["female", "male", "diverse"]}}},
    "levels": {"age": 1, "sex": 1},
    "models": [{"k": 5}],
    "sampling": {"beta": 0.2, "when": "before"},
    "generator": "marginals",
}
NOISY = {**SAMPLED, "levels": {}, "sampling": 1.0, "transition": {"name": "noisy_conditional", "epsilon": 2}}
SILENT = {**SAMPLED, "levels": {}, "sampling": 1.0}


def run(settings, *, seed=SEED, data=None, schema=SCHEMA, **more):
    data = hospital(400, seed=1)[["age", "sex"]] if data is None else data
    return tabveil.pipeline(
        data,
        {"generator": "hybrid", "settings": settings, **more},
        metrics=["identical_match_share"],
        utility=False,
        seed=seed,
        schema=schema,
    )


def printed(report):
    screen = Console(width=100, record=True, file=io.StringIO())
    screen.print(summary(report))
    return screen.export_text()


def shown(report):
    """All that anybody may publish of it: JSON, page, terminal and what Python prints."""
    return report.to_json(), page(report), printed(report), repr(report)


@pytest.mark.parametrize("settings", [SAMPLED, NOISY], ids=["by sampling", "by noise"])
def test_a_promise_and_its_seed_do_not_stand_together(settings):
    report = run(settings)
    assert report.promises.stated is not None
    assert report.seed is None
    for text in shown(report):
        assert str(SEED) not in re.sub(r"[,.\s]", "", text)
    assert json.loads(report.to_json())["seed"] is None
    assert {stage.report.seed for stage in report.stages} == {0}
    assert WITHHELD in report.notes
    again = run(settings)
    pd.testing.assert_frame_equal(report.native(), again.native())  # whoever knows it makes the same rows


def test_a_secret_seed_is_not_called_zero():
    report = run(SAMPLED, seed=None)
    assert report.seed is None
    assert UNREPEATABLE in report.notes
    assert WITHHELD not in report.notes
    assert "seed withheld" in printed(report)


def test_where_nothing_is_promised_the_seed_is_told():
    report = run(SILENT)
    assert report.promises.stated is None
    assert report.seed == SEED
    assert {stage.report.seed for stage in report.stages} == {SEED}


def test_a_private_generator_alone_withholds_it_too():
    report = run({**SILENT, "generator": {"name": "aim", "rounds": 8, "iterations": 5}})
    assert report.seed is None
    assert str(SEED) not in report.to_json()


def test_people_are_told_what_they_are_promised():
    people = hospital(400, seed=1)[["age", "sex"]].assign(patient=[f"P{row // 4}" for row in range(400)])
    schema = {**SCHEMA, "person": "patient"}
    report = run(SAMPLED, data=people, schema=schema)
    epsilon = report.promises.stated[0]
    (said,) = [text for text in report.promised if "is for a row of the table" in text]
    assert said.startswith("WARNING: ")
    assert "after holding rows back. A person (patient) has up to 4 rows there" in said
    assert NOT_THE_REPORT in report.promised
    told = json.loads(report.to_json())
    assert told["people"]["most"] == 4
    assert told["people"]["promise"][0] == pytest.approx(4 * epsilon)
    assert told["promised"] == list(report.promised)
    for text in shown(report):
        assert "is for a row of the table" in " ".join(text.split())


def test_a_bound_that_is_asked_for_is_no_secret():
    people = hospital(400, seed=1)[["age", "sex"]].assign(patient=[f"P{row // 4}" for row in range(400)])
    report = run(
        SAMPLED,
        data=people,
        schema={"columns": {**SCHEMA["columns"], "patient": "identifier"}},
        deduplicate={"person": "patient", "most": 2},
    )
    (said,) = [text for text in report.promised if "is for a row of the table" in text]
    assert "after deduplicate and holding rows back. A person (patient) has at most 2 rows there" in said


def test_a_filter_voids_what_noise_promises_as_well():
    report = run(NOISY, filter={"near": 0.01})
    assert report.promises.stated is None
    assert not any("is for a row of the table" in text for text in report.promised)
