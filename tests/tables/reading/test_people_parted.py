"""Rows of one person on both sides: found by name or by likeness, and not where columns only repeat."""

import numpy as np
import pandas as pd
import pytest
from supplies.needs import SHARED, need_table

import tabveil
from tabveil.datasets import hospital, visits
from tabveil.tables import reading as frame


def parted(table, **given):
    shuffled = table.sample(frac=1, random_state=0).reset_index(drop=True)
    half = len(shuffled) // 2
    return frame.load_split(shuffled[:half], shuffled[:half], shuffled[half:], **given)


@pytest.mark.parametrize("name", ["patient", "patient_nbr", "code"])
@pytest.mark.parametrize("dropped", [False, True])
def test_visits_split_by_rows_are_found_by_name_or_by_likeness(name, dropped):
    table = visits(400, seed=1).rename(columns={"patient": name})
    assert parted(table, drop_identifiers=dropped).parted_by == (name,)
    assert frame.person_columns(table) == (name,)


def test_nothing_is_sought_where_somebody_said_whose_rows_they_are():
    table = visits(400, seed=1)
    assert parted(table, independent_rows=True).parted_by == ()
    assert parted(table, person="patient").parted_by == ()
    train, control = tabveil.split(table, by="patient")
    assert frame.load_split(train, train, control).parted_by == ()


def test_ordinary_columns_may_repeat():
    assert parted(hospital(3000, seed=1)).parted_by == ()
    rng = np.random.default_rng(0)
    n = 4000
    place = rng.zipf(1.3, n) % 3000 + 10_000
    table = pd.DataFrame(
        {
            "zip": place,
            "city": [f"c{value // 5}" for value in place],
            "state": [f"s{value // 200}" for value in place],
            "income": (rng.lognormal(10, 0.4, n) // 10 * 10).astype(int),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 90, n),
            "job": rng.integers(0, 30, n),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
        }
    )
    assert parted(table).parted_by == ()
    # Records stored twice are equal in all columns, and say nothing about one of them.
    assert parted(pd.concat([table, table[:800]])).parted_by == ()


@pytest.mark.parametrize("n", [600, 2000, 6000])
@pytest.mark.parametrize("name", ["adult", "loans", "nhanes", "census_income_kdd"])
def test_real_tables_of_independent_people_raise_no_alarm(name, n):
    table = pd.read_parquet(need_table(SHARED / f"{name}.parquet"))
    assert frame.person_columns(table.sample(n, random_state=1).reset_index(drop=True)) == ()


@pytest.mark.parametrize("name", ["patient_nbr", "pn"])
def test_encounters_of_real_patients_are_found(name):
    table = pd.read_parquet(need_table(SHARED / "diabetes130.parquet"))
    patients = table["patient_nbr"].drop_duplicates().sample(1000, random_state=0)
    some = table[table["patient_nbr"].isin(patients)].rename(columns={"patient_nbr": name})
    assert parted(some).parted_by == (name,)


def test_an_audit_does_not_conclude_until_it_is_told():
    table = visits(300, seed=1).sample(frac=1, random_state=0)
    train, control = table[:450], table[450:900]
    asked = {"metrics": "membership_distance", "advice": False}
    fresh = visits(300, seed=2)[:450]
    report = tabveil.audit(train, fresh, control, **asked)
    assert report.verdict.state == "inconclusive"
    assert "--by patient" in report.verdict.sentence
    assert "--independent-rows" in report.verdict.sentence
    copied = tabveil.audit(train, train, control, **asked)
    assert copied.verdict.state == "above threshold"  # copies of people unlike all others need no control
    again = tabveil.audit(train, train, control, independent_rows=True, **asked)
    assert again.control.parted_by == ()
    assert again.settings["independent_rows"] is True


def test_groups_that_stand_on_one_side_are_no_conclusion_either():
    train, control = tabveil.split(visits(400, seed=1), by="patient")
    fresh = visits(400, seed=2)[: len(train)]
    report = tabveil.audit(train, fresh, control, metrics="membership_distance", advice=False)
    assert report.control.grouped_by == ("patient",)
    assert report.verdict.state == "inconclusive"
    assert "share no value of patient" in report.verdict.sentence
