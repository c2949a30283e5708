"""Metrics that read words, in a whole audit: where they run, where they are passed over, and what is told."""

import io
import json

import numpy as np
import pytest
from rich.console import Console
from supplies.needs import need_table

import tabveil
from tabveil.auditing.report import Report
from tabveil.datasets import hospital, letters
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page
from tabveil.tables.reading import read_raw

BOTH = ("pii_replay", "text_replay")


@pytest.fixture(scope="module")
def leaky():
    """Other people's letters, but for thirty addresses and as many letters of training people."""
    train, control, release = letters(400, seed=1), letters(300, seed=2), letters(400, seed=3)
    release.loc[:29, "email"] = train.loc[:29, "email"]
    release.loc[100:129, "letter"] = train.loc[100:129, "letter"]
    return train, release, control


@pytest.fixture(scope="module")
def report(leaky):
    return tabveil.audit(*leaky, quick=True, drop_identifiers=True)


def in_terminal(report):
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(report_page(report))
    return console.export_text()


def test_they_run_by_default_also_where_identifiers_are_left_out(report):
    assert {column.name for column in report.dropped} == {"name", "email"}
    for name in BOTH:
        assert report[name].risk.low > 0
        assert report[name].labels.pillar == "property"
    assert report["pii_replay"].leading.label == "e-mail addresses in email"


def test_they_are_no_attacks_and_judged_as_traces(report):
    judged = {item.metric for risk in report.verdict.risks for item in risk.metrics}
    assert not judged & set(BOTH)
    states = {item.found.name: item.state for item in report.verdict.traces}
    assert states["identifying values"] == states["texts"] == report.verdict.state == "above threshold"


def test_a_report_with_them_is_stored_and_read_back(report):
    assert Report.from_json(report.to_json()).to_json() == report.to_json()


def test_page_and_terminal_tell_counts_and_no_value(report, leaky):
    told = in_terminal(report)
    written = page(report)
    assert 'id="replay"' in written
    assert written.count("What of real people reappears") >= 3  # contents, heading, figure
    assert "e-mail addresses in email" in written
    assert "30 (7.50%)" in written
    assert "Identifying values repeated" in told
    assert "Passages repeated" in told
    train = leaky[0]
    for text in (written, told, report.to_json()):
        assert not any(value in text for value in train["email"])
        assert not any(value in text for value in train["name"])
        assert not any(value[:30] in text for value in train["letter"])


def test_diagnostics_are_indicators_alone(report):
    section = page(report).partition('id="diagnostics"')[2].partition("</section>")[0]
    assert "Identical rows" in section
    assert "Passages repeated" not in section


def test_other_metrics_see_how_many_words_there_are(report):
    assert any("letter" in note and "how many words" in note for note in report.notes)


@pytest.fixture(scope="module")
def plain():
    return [hospital(60, seed=seed) for seed in (1, 2, 3)]


def test_tables_without_names_and_texts_are_passed_over(plain):
    found = tabveil.audit(*plain, quick=True)
    assert not {item.metric for item in (*found.results, *found.skipped)} & set(BOTH)
    written = page(found)
    assert 'id="replay"' not in written
    assert "No column of these tables holds free text." in written  # among what was not tested
    assert "Identifying values repeated" not in in_terminal(found)


@pytest.mark.parametrize("name", BOTH)
def test_who_asks_for_them_is_told_why_there_is_no_answer(plain, name):
    found = tabveil.audit(*plain, metrics=name)
    assert [item.metric for item in found.skipped] == [name]
    assert found.skipped[0].why
    numbers = [table[["age", "days"]] for table in plain]
    assert [item.metric for item in tabveil.audit(*numbers, metrics=name).skipped] == [name]


def test_planted_rows_carry_their_texts_along(leaky):
    found = tabveil.audit(*leaky, metrics=["identical_match_share", "text_replay"], power=True)
    assert [item.metric for item in found.power.detections] == ["identical_match_share", "text_replay"]
    assert found.power.detections[1].smallest is not None


def test_a_name_that_the_release_lacks_may_stand_in_its_texts(leaky):
    train, _, control = leaky
    release = letters(400, seed=5).drop(columns=["name", "email"])
    release["letter"] = [
        f"{text} PS for {name}" if row < 40 else text
        for row, (text, name) in enumerate(zip(release["letter"], train["name"], strict=True))
    ]
    found = tabveil.audit(train, release, control, metrics="pii_replay", drop_identifiers=True)["pii_replay"]
    assert found.risk.low > 0
    assert found.facts["train_people"] >= 40


def test_a_real_column_of_titles_as_text():
    """Titles that people typed, declared as text: a release of other people repeats no more than control."""
    table = read_raw(need_table("loans.parquet")).select(["emp_title", "state", "loan_amount"])
    order = np.random.default_rng(0).permutation(table.num_rows)
    train, control, release = (table.take(rows) for rows in np.array_split(order, 3))
    schema = {"columns": {"emp_title": "text"}}
    clean = tabveil.audit(train, release, control, metrics="text_replay", schema=schema)["text_replay"]
    assert clean.risk.low <= 0 <= clean.risk.high
    assert clean.attack.value > 0.01  # other people have the same titles
    copy = tabveil.audit(train, train, control, metrics="text_replay", schema=schema)["text_replay"]
    assert copy.risk.low > 0.2


@pytest.mark.parametrize("name", ["loans", "nhanes", "diabetes130"])
def test_real_tables_without_names_are_passed_over(name):
    table = read_raw(need_table(f"{name}.parquet"))
    rows = np.random.default_rng(0).permutation(table.num_rows)[:900]
    train, control, release = (table.take(part) for part in np.array_split(rows, 3))
    found = tabveil.audit(train, release, control, metrics=list(BOTH))
    assert {item.metric for item in found.skipped} == set(BOTH)
    json.loads(found.to_json())
