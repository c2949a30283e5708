"""What next: changes of a release do what they say, are tried where a leak is seen, and promise nothing."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from rich.console import Console
from supplies.html_documents import FORBIDDEN

import tabveil
from tabveil.auditing.carriers import leaking_columns
from tabveil.auditing.changes import MERGED, coarsened, filtered, left_out
from tabveil.auditing.report import Report
from tabveil.core.rng import stream
from tabveil.core.table import Categorical, Numeric, Schema, Split, Table
from tabveil.datasets import hospital
from tabveil.errors import NotApplicable
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page
from tabveil.tables.reading import load_split

COLUMNS = ["age", "sex", "insurance", "smoker", "ward", "days", "cost", "outcome"]
QUICK = ["neighbor_vote", "gtcap", "membership_distance"]
REQUIRED = {"required": ["membership_distance"]}
NUMBERS = Schema((Numeric(name="x", low=0, high=1000), Numeric(name="y", low=0, high=1000)))


def people(n_train, n_control, n_synthetic, *, seed):
    rows = hospital(n_train + n_control + n_synthetic, seed=seed)[COLUMNS]
    parts = rows[:n_train], rows[n_train : n_train + n_control], rows[n_train + n_control :]
    return [part.reset_index(drop=True) for part in parts]


def audited(train, synthetic, control, **asked):
    return tabveil.audit(train, synthetic, control, **{"metrics": QUICK, "policy": REQUIRED, **asked})


def leaky(n_copies=60, n=600):
    """A release in which some rows are copies."""
    train, control, fresh = people(n, n, n, seed=0)
    release = pd.concat([fresh[n_copies:], train[:n_copies]], ignore_index=True)
    return train, release, control


@pytest.fixture(scope="module")
def report():
    return audited(*leaky())


@pytest.fixture(scope="module")
def larger():
    """With enough rows to tell."""
    return audited(*leaky(250, 2500))


def terminal(report):
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(report_page(report))
    return console.export_text()


def table(*rows, schema=NUMBERS):
    return Table(schema=schema, values=np.array(rows, dtype=np.float64).reshape(-1, len(schema)))


# Filter


def test_a_filter_keeps_the_other_rows_in_their_order():
    train, control = table([0, 0], [500, 500]), table([50, 0])
    split = Split(train=train, control=control, synthetic=table([300, 1], [0, 0], [300, 2]))
    changed = filtered(split, 0.02, rng=stream(0, "filter"))
    assert changed.rows_changed == 1
    assert_array_equal(changed.split.synthetic.values, [[300, 1], [300, 2]])
    assert filtered(changed.split, 0.02, rng=stream(0, "filter")) is None


def test_a_release_of_copies_is_not_filtered_to_nothing():
    train, control = table([0, 0], [500, 500]), table([250, 250])
    split = Split(train=train, control=control, synthetic=train)
    with pytest.raises(NotApplicable, match="would leave 0 of 2 rows"):
        filtered(split, 0.02, rng=stream(0, "filter"))


# Coarser, and a column less


def test_numbers_become_medians_of_their_bins_and_real_rows_stay():
    cells = np.column_stack([np.arange(100.0), np.full(100, 7.0)])
    cells[3, 0] = np.nan
    rows = Table(schema=NUMBERS, values=cells)
    changed = coarsened(Split(train=rows, control=rows, synthetic=rows), "x")
    after = changed.split.synthetic.column("x")
    assert len(np.unique(after[~np.isnan(after)])) == changed.levels == 10
    assert np.isnan(after[3])
    assert np.isnan(after).sum() == 1
    assert np.nanmax(np.abs(after - cells[:, 0])) <= 6
    assert changed.rows_changed == np.sum(~np.isnan(after) & (after != cells[:, 0]))
    assert_array_equal(changed.split.train.values, cells)
    assert_array_equal(changed.split.synthetic.column("y"), 7.0)


@pytest.mark.parametrize("cells", [np.full(30, 5.0), np.arange(30) % 4, np.full(30, np.nan)])
def test_what_has_few_values_cannot_be_coarser(cells):
    rows = Table(schema=NUMBERS, values=np.column_stack([cells, cells]))
    assert coarsened(Split(train=rows, control=rows, synthetic=rows), "x") is None


def test_rare_labels_become_one_that_is_none_of_the_old():
    schema = Schema((Categorical(name="town", labels=("a", "b", "c", MERGED)),))
    release = table(*([0] * 300), 1, 2, schema=schema)
    changed = coarsened(Split(train=release, control=release, synthetic=release), "town")
    assert changed.split.schema["town"].labels == ("a", "b", "c", MERGED, f"{MERGED}*")
    assert changed.split.synthetic.column("town")[-2:].tolist() == [4, 4]
    assert changed.split.train.column("town")[-2:].tolist() == [1, 2]
    assert (changed.rows_changed, changed.levels) == (2, 2)


def test_one_rare_label_has_nothing_to_be_merged_with():
    schema = Schema((Categorical(name="town", labels=("a", "b")),))
    release = table(*([0] * 300), 1, schema=schema)
    assert coarsened(Split(train=release, control=release, synthetic=release), "town") is None


def test_two_columns_are_kept_to_attack():
    rows = table([1, 2])
    assert left_out(Split(train=rows, control=rows, synthetic=rows), "x") is None
    three = Schema((*NUMBERS.columns, Numeric(name="z", low=0, high=1)))
    rows = table([1, 2, 1], schema=three)
    changed = left_out(Split(train=rows, control=rows, synthetic=rows), "x")
    assert changed.split.schema.names == ("y", "z")


# Which columns


def test_the_column_that_comes_too_near_is_named_first():
    train, control, fresh = people(400, 400, 400, seed=4)
    fresh["cost"] = train["cost"]  # of training people, in the rows of others
    fresh["days"] = train["days"]
    split = load_split(train, fresh, control).split
    found = leaking_columns(split, (), rng=np.random.default_rng(0))
    assert {item.column for item in found[:2]} & {"cost", "days"}
    assert sum(item.weight for item in found) <= 1 + 1e-9
    rows = np.random.default_rng(1).permutation(400)
    moved = Split(train=split.train.take(rows), control=split.control, synthetic=split.synthetic.take(rows))
    again = leaking_columns(moved, (), rng=np.random.default_rng(0))
    assert [item.column for item in again] == [item.column for item in found]


# In an audit


def test_copies_are_counted_and_filtering_them_brings_the_risk_within_the_threshold(larger):
    advice = larger.advice
    assert larger.verdict.state == "above threshold"
    assert advice.rows.equal == 250
    assert 200 < advice.rows.people < 300
    best = advice.remedies[0]
    assert best.change.kind == "filter"
    assert best.settles
    assert best.all_repeated
    assert best.rows_left + best.rows_changed == 2500
    assert 250 <= best.rows_changed < 260
    judged = [item for risk in larger.verdict.risks for item in risk.metrics]
    above = {item.metric: item.gain for item in judged if item.state == "above threshold"}
    assert {item.metric: item.before for item in best.attacks} == above
    assert all(item.after.high < item.before.high for item in best.attacks)
    assert {item.change.kind for item in advice.remedies} >= {"filter", "leave out"}
    assert not any(item.settles for item in advice.remedies if item.change.kind == "leave out")


def test_where_rows_are_too_few_a_filter_is_said_to_leave_it_open(report):
    """No leak is seen any more, and nobody can tell that there is none: that is no success."""
    best = report.advice.remedies[0]
    assert best.change.kind == "filter"
    assert not best.leak_seen
    assert not best.settles
    assert any(item.reason == "too few rows to tell" and item.rows_needed > 600 for item in best.attacks)
    told = " ".join(terminal(report).split())
    assert "which is neither a yes nor a no" in re.sub(r"<[^>]+>", "", page(report))
    assert "inconclusive" in told[told.index("What next") : told.index("Attacks:")]


def test_what_a_filter_is_said_to_do_is_what_an_audit_of_the_filtered_release_finds(report):
    train, release, control = leaky()
    best = report.advice.remedies[0]
    kept = tabveil.filter(train, release, control, near=best.change.share, measure_utility=False).kept
    again = audited(train, release.iloc[kept].reset_index(drop=True), control)
    for item in best.attacks:
        assert item.after.value == pytest.approx(again[item.metric].measure.value, abs=1e-9)


def test_utility_is_measured_before_and_after(report):
    for item in report.advice.remedies:
        assert 0 < item.utility.before.value < 0.2
        assert item.utility.before == report.advice.remedies[0].utility.before
        assert item.utility.after != item.utility.before


def test_a_clean_release_gets_no_advice():
    train, control, fresh = people(3000, 3000, 500, seed=8)
    report = audited(
        train, fresh, control, metrics=["membership_distance", "linkability", "singling_out", "neighbor_vote"]
    )
    assert report.verdict.state == "within threshold"
    assert report.advice is None
    assert "What next" not in page(report) + terminal(report)


def test_nobody_is_advised_who_does_not_want_it():
    report = audited(*leaky(), advice=False)
    assert report.advice is None
    assert report.request["advice"] is False
    assert "What next" not in page(report) + terminal(report)


def test_advice_does_not_change_what_was_measured(report):
    without = audited(*leaky(), advice=False)
    assert without.verdict == report.verdict
    assert [item.gain for item in without.results] == [item.gain for item in report.results]


def test_the_same_seed_gives_the_same_advice_in_any_order_of_rows(report):
    train, release, control = leaky()
    again = audited(train, release.sample(frac=1, random_state=1), control)
    assert [item.change for item in again.advice.remedies] == [item.change for item in report.advice.remedies]
    assert again.advice.columns[0].column == report.advice.columns[0].column


def test_advice_is_stored_and_read_back(report):
    back = Report.from_json(report.to_json())
    assert back.advice == report.advice
    assert page(back) == page(report)


def test_a_release_of_nothing_but_copies_is_told_to_be_made_anew():
    train, _, control = leaky()
    advice = audited(train, train, control, metrics=["membership_distance"]).advice
    assert any("another release is needed" in item for item in advice.obstacles)
    assert not any(item.change.kind == "filter" for item in advice.remedies)


def test_named_secrets_that_are_left_out_are_not_asked_for():
    """An attack on one secret has nothing to find without it, and that settles nothing."""
    found = audited(*leaky(), secrets=["cost"], metrics=["neighbor_vote", "gtcap", "membership_distance"])
    asked = audited(*leaky(), secrets=["cost", "age"], metrics=["gtcap"])
    for report in (found, asked):
        for item in report.advice.remedies:
            gone = [one for one in item.attacks if one.after is None]
            assert all(one.state == "inconclusive" and not one.settled for one in gone)
            assert not gone or item.change.kind == "leave out"


def test_an_attacker_of_a_profile_is_repeated_as_that_attacker():
    profile = {"name": "neighbor", "knows": ["age", "sex", "cost", "days"], "wants": ["ward"]}
    report = audited(*leaky(120), metrics=["inference"], attackers={"attackers": [profile]})
    repeated = {one.metric for item in report.advice.remedies for one in item.attacks}
    judged = [item for risk in report.verdict.risks for item in risk.metrics]
    assert "inference: neighbor" in {item.metric for item in judged if item.state == "above threshold"}
    assert "inference: neighbor" in repeated


def test_without_a_control_nothing_is_tried():
    train, release, _ = leaky()
    report = audited(train, release, None)
    assert report.verdict.state == "above threshold"  # copies are proven without a control
    assert report.advice.remedies == ()
    assert report.advice.rows is None
    assert "tabveil split" in report.advice.obstacles[0]
    assert "What next" in page(report)


def test_a_control_that_does_not_fit_comes_first():
    train, release, _ = leaky()
    report = audited(train, release, train)
    assert report.advice.remedies == ()
    assert any("drawn at random" in item for item in report.advice.obstacles)


def test_the_control_rows_that_are_said_to_settle_it_do_in_most_draws():
    asked = {"metrics": ["membership_distance"], "policy": REQUIRED}
    train, control, fresh = people(1500, 250, 500, seed=12)
    report = audited(train, fresh, control, **asked)
    rows = report.advice.more_rows
    assert (rows.n_control, rows.titles) == (250, ("Membership by distance",))
    assert 250 < rows.control < 9000
    assert "more than there are" in page(report)
    settled = 0
    for seed in range(20, 30):
        drawn = people(max(1500, rows.train or 0), rows.control, 500, seed=seed)
        verdict = audited(drawn[0], drawn[2], drawn[1], **asked, advice=False).verdict
        settled += {item.risk: item.state for item in verdict.risks}["membership"] == "within threshold"
    assert settled >= 7


# In words


def test_the_page_and_the_terminal_say_it(report):
    for text in (page(report), terminal(report)):
        told = " ".join(re.sub(r"<[^>]+>", " ", text).split())
        assert "What next" in told
        assert "60 rows of the release equal a training row" in told
        assert "Not tried" in told
        assert "a promise of differential privacy no longer holds" in told
        assert "This is no promise." in told
        section = told[told.index("What next") :]
        for word in FORBIDDEN:
            assert not re.search(rf"\b{word}\b", section, re.IGNORECASE)
    assert max(map(len, terminal(report).splitlines())) <= 80


def test_no_value_of_anybody_is_shown():
    train, control, fresh = people(400, 400, 400, seed=2)
    rng = np.random.default_rng(0)
    for part in (train, control, fresh):
        part["note"] = [f"secret{i}" for i in rng.integers(200, size=400)]
    release = pd.concat([fresh[80:], train[:80]], ignore_index=True)
    schema = {"columns": {"note": {"type": "category"}}}
    report = audited(train, release, control, schema=schema)
    told = str(report.advice.to_json()) + terminal(report)
    assert report.advice.remedies
    assert not re.search(r"secret\d", told)


def test_a_hostile_column_name_stays_a_name(report):
    train, release, control = (
        part.rename(columns=dict.fromkeys(COLUMNS[:1], "<b>\x1b[2J") | {"cost": "<script>"})
        for part in leaky()
    )
    hostile = audited(train, release, control)
    assert "<script>" not in page(hostile)
    assert {item.change.kind for item in hostile.advice.remedies} == {
        item.change.kind for item in report.advice.remedies
    }
