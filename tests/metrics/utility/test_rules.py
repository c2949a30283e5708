"""Rules that hold among real rows: planted ones are found and counted, accidents and trifles are not."""

import numpy as np
import pandas as pd
import pytest
from supplies.needs import need_table

from tabveil.core.rng import stream
from tabveil.errors import NotApplicable
from tabveil.metrics.utility import measure, rules
from tabveil.metrics.utility import rules as rule_tables
from tabveil.metrics.utility.rules import RuleTables, add_up, find_rules
from tabveil.tables import reading as frame


def people(n=400, seed=1):
    """Rows that keep to a rule of each kind, and columns that keep to none."""
    rng = np.random.default_rng(seed)
    part, other = rng.integers(1, 100, n), rng.integers(1, 100, n)
    begin = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 400, n), unit="D")
    ward = rng.integers(0, 6, n)
    return pd.DataFrame(
        {
            "part": part,
            "other": other,
            "total": part + other,
            "begin": begin,
            "end": begin + pd.to_timedelta(rng.integers(0, 90, n), unit="D"),
            "ward": ward,
            "title": [f"ward {'abcabc'[each]}" for each in ward],
            "country": "DE",
            "noise": rng.normal(size=n),
            "coin": rng.choice(["x", "y"], n),
        }
    )


def found(train, synthetic, control, **given):
    loaded = frame.load_split(train, synthetic, control)
    tables = RuleTables.of(loaded.split, clocks=loaded.layout.clocks, rng=stream(1, "rules"))
    return find_rules(tables, confidence=0.95, rng=stream(2, "rules"), **given)


def by_sentence(all_rules):
    return {rule.sentence(): rule for rule in all_rules.found}


ALL = {
    "other + part = total",
    "part ≤ total",
    "other ≤ total",
    "begin ≤ end",
    "ward determines title",
    "country is the same in all rows",
}


def test_planted_rules_are_found_and_no_others():
    tables = [people(seed=seed) for seed in (1, 2, 3)]
    all_rules = found(*tables)
    assert set(by_sentence(all_rules)) == ALL
    assert all(rule.broken.value.value == 0 for rule in all_rules.found)
    assert all(rule.broken.reference.value == 0 for rule in all_rules.found)
    assert all_rules.figure.value.value == 0
    assert 0 < all_rules.figure.value.high < 0.02


def test_rows_that_break_a_rule_are_counted():
    train, release, control = (people(seed=seed) for seed in (1, 2, 3))
    release.loc[:39, "total"] += 1
    release.loc[20:59, "title"] = "ward z"
    release.loc[60:63, "country"] = "FR"
    release.loc[64, "end"] = release.loc[64, "begin"] - pd.Timedelta(days=1)
    broken = {
        sentence: rule.broken.value for sentence, rule in by_sentence(found(train, release, control)).items()
    }
    assert broken["other + part = total"].value == 40 / 400
    assert broken["ward determines title"].value == 40 / 400
    assert broken["country is the same in all rows"].value == 4 / 400
    assert broken["begin ≤ end"].value == 1 / 400
    assert broken["part ≤ total"].value == 0
    assert broken["other + part = total"].low < 0.1 < broken["other + part = total"].high
    all_rules = found(train, release, control)
    assert all_rules.figure.value.value == 65 / 400  # rows 0 to 64: each once
    assert [rule.broken.value.value for rule in all_rules.found] == sorted(
        (rule.broken.value.value for rule in all_rules.found), reverse=True
    )


def test_what_holds_in_train_by_accident_is_no_rule():
    train, release, control = (people(seed=seed) for seed in (1, 2, 3))
    train["low"], train["high"] = train["part"] - 1, train["part"]
    for table in (release, control):
        table["low"], table["high"] = table["part"] - 1, table["other"]
    assert "low ≤ high" not in by_sentence(found(train, release, control))
    train["kind"] = control["kind"] = release["kind"] = ["a", "b"] * 200
    train["code"] = [1, 2] * 200
    control["code"] = release["code"] = [1, 2, 2, 2] * 100
    assert not [s for s in by_sentence(found(train, release, control)) if "kind" in s]


def test_what_unrelated_columns_keep_to_is_no_rule():
    tables = [people(seed=seed).assign(large=1000.5 + np.arange(400)) for seed in (1, 2, 3)]
    assert not [sentence for sentence in by_sentence(found(*tables)) if "large" in sentence]
    # Nearly all rows have one label: unrelated columns would seldom differ in it.
    tables = [people(seed=seed) for seed in (1, 2, 3)]
    for table in tables:
        table["rare"] = np.where(np.arange(400) % 100 == 0, "yes", "no")
        table["half"] = np.where(np.arange(400) % 100 == 0, "c", np.where(np.arange(400) % 2 == 0, "a", "b"))
    assert "half determines rare" not in by_sentence(found(*tables))


def test_a_key_that_nobody_shares_determines_nothing():
    tables = [people(seed=seed) for seed in (1, 2, 3)]
    for table in tables:
        table["case"] = [f"case {i}" for i in range(400)]
    assert not [sentence for sentence in by_sentence(found(*tables)) if "case" in sentence]


def test_a_value_that_train_does_not_have_says_nothing():
    train, release, control = (people(seed=seed) for seed in (1, 2, 3))
    release.loc[:99, "ward"] = 17
    rule = by_sentence(found(train, release, control))["ward determines title"]
    assert (rule.broken.value.value, rule.broken.value.n) == (0, 300)


def test_missing_is_a_value_for_keys_and_says_nothing_about_numbers():
    tables = [people(seed=seed) for seed in (1, 2, 3)]
    for table in tables:
        table["title"] = table["title"].where(table["ward"] > 0)  # of the first ward always missing
        table["total"] = table["total"].where(np.arange(400) % 2 == 0)
    train, release, control = tables
    rule = by_sentence(found(train, release, control))
    assert rule["ward determines title"].broken.value.value == 0
    assert rule["other + part = total"].broken.value.n == 200
    release["title"] = release["title"].fillna("ward a")
    broken = by_sentence(found(train, release, control))["ward determines title"].broken.value.value
    assert broken == (release["ward"] == 0).mean()


def test_days_are_compared_with_seconds():
    tables = [people(seed=seed) for seed in (1, 2, 3)]
    for table in tables:
        table["seen"] = table["end"] + pd.Timedelta(seconds=90)
    assert "end ≤ seen" in by_sentence(found(*tables))
    assert "begin ≤ seen" not in by_sentence(found(*tables))  # follows from the others


def test_a_date_and_days_make_a_date():
    tables = [people(seed=seed) for seed in (1, 2, 3)]
    for table in tables:
        table["days"] = (table["end"] - table["begin"]).dt.days
    sentences = by_sentence(found(*tables))
    assert "begin + days = end" in sentences
    assert not [sentence for sentence in sentences if "≤" in sentence and "days" in sentence]


def test_equal_columns_are_said_once():
    tables = [people(seed=seed).assign(again=lambda t: t["part"]) for seed in (1, 2, 3)]
    sentences = set(by_sentence(found(*tables)))
    assert "again = part" in sentences
    assert not {"again ≤ part", "part ≤ again", "part determines again"} & sentences


def test_a_sum_may_have_a_rare_exception():
    tables = [people(3000, seed) for seed in (1, 2, 3)]
    tables[0].loc[:2, "total"] += 500
    assert "other + part = total" in by_sentence(found(*tables))
    tables[0].loc[:9, "total"] += 500
    assert "other + part = total" not in by_sentence(found(*tables))


@pytest.mark.parametrize(
    ("decimals", "cells", "answer"),
    [
        ((0, 0, 0), (1, 2, 3), True),
        ((0, 0, 0), (1, 2, 4), False),
        ((2, 2, 2), (33.33, 33.33, 66.67), True),  # each rounded by itself
        ((2, 2, 2), (33.33, 33.33, 66.68), False),
        ((2, 2, 0), (0.5, 1.5, 2), True),
        ((2, 2, 0), (0.5, 1.6, 2), False),
        ((np.nan, 2, np.nan), (1e9, 1.0, 1e9 + 1.5), True),
        ((0, 0, 0), (1, np.nan, 1), False),
    ],
)
def test_what_adds_up(decimals, cells, answer):
    assert bool(add_up(np.array(decimals, float), np.array(cells, float))) is answer


def test_too_few_rows_to_verify_any():
    with pytest.raises(NotApplicable, match="at least 40 control rows to verify any, got 39"):
        found(people(), people(), people(39))
    with pytest.raises(NotApplicable, match="at least 80 training rows"):
        found(people(79), people(), None)
    assert set(by_sentence(found(people(), people(1, seed=5), people(seed=3)))) == ALL


def test_without_control_the_train_rows_are_divided():
    assert set(by_sentence(found(people(1200), people(seed=2), None))) == ALL


def test_wide_and_long_tables_are_looked_at_in_part_and_that_is_said(monkeypatch):
    monkeypatch.setattr(rule_tables, "MOST_COLUMNS", 4)
    monkeypatch.setattr(rule_tables, "MOST_ROWS", 300)
    tables = [people(seed=seed).assign(gap=None) for seed in (1, 2, 3)]
    all_rules = found(*tables)
    assert any("among 4 of 11 columns" in note for note in all_rules.notes)
    assert any("at most 300 rows of each table" in note for note in all_rules.notes)
    assert set(by_sentence(all_rules)) <= ALL


def test_more_rules_than_are_counted(monkeypatch):
    monkeypatch.setattr(rules, "MOST_RULES", 2)
    all_rules = found(*[people(seed=seed) for seed in (1, 2, 3)])
    assert len(all_rules.found) == 2
    assert "Only the first 2 rules are counted." in all_rules.notes


def test_no_rules_at_all():
    tables = [people(seed=seed)[["noise", "coin"]] for seed in (1, 2, 3)]
    all_rules = found(*tables)
    assert (all_rules.found, all_rules.figure) == ((), None)


def test_rules_stand_in_what_is_measured():
    loaded = frame.load_split(*[people(seed=seed) for seed in (1, 2, 3)])
    useful = measure(loaded.split, clocks=loaded.layout.clocks, rng=stream(1, "utility"))
    assert set(by_sentence(useful.rules)) == ALL
    assert type(useful).from_json(useful.to_json()) == useful


def test_on_real_tables():
    """A published table: what its description says is derived is found to be."""
    loans = pd.read_parquet(need_table("loans.parquet")).sample(frac=1, random_state=1)
    columns = ["balance", "paid_principal", "loan_amount", "sub_grade", "grade", "loan_purpose"]
    parts = [loans[columns][begin : begin + 3000] for begin in (0, 3000, 6000)]
    sentences = by_sentence(found(*parts))
    assert {"balance + paid_principal = loan_amount", "sub_grade determines grade"} <= set(sentences)
    assert not [sentence for sentence in sentences if "loan_purpose" in sentence]
