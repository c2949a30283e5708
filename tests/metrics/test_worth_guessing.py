from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from supplies.asked_metrics import shuffled

from tabveil.core.table import Categorical, Numeric, Split
from tabveil.metrics.attacks import ATTACKS, MLInference
from tabveil.metrics.utility import measure
from tabveil.metrics.worth_guessing import GuessableColumn, called_outcome, in_order, known_anyway
from tabveil.tables.reading import load_split

N = 240
DATA = Path(__file__).parents[3] / "shared" / "data"
CHOSEN = {
    "adult_train": ("income", "occupation"),
    "census_income_kdd": ("income_gt_50k", "education"),
    "diabetes130": ("readmitted", "payer_code"),
    "loans": ("loan_status", "verified_income"),
    "nhanes": ("Diabetes", "Education"),
}
"""Two secrets of each of the shared tables, as a person would choose them."""
GTCAP = next(kind for kind in ATTACKS if kind.name == "gtcap")


def marketing(seed, last="y"):
    """Make calls of a bank: days and months are hard to guess, and nobody's secret."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, N)
    return pd.DataFrame(
        {
            "age": age,
            "day_of_week": rng.choice(list("mtwtf"), N),
            "month": rng.choice(["may", "june", "july", "august"], N),
            "job": rng.choice(["clerk", "nurse", "none"], N),
            "sex": rng.choice(["f", "m"], N),
            last: np.where(rng.random(N) < 0.1 + (age > 70) / 2, "yes", "no"),
        }
    )


def asked(last="y", tables=marketing):
    return load_split(*(tables(seed, last) for seed in (1, 2, 3))).split


def label(name, worth, *, n_values=3, room=0.5, last=False):
    column = Categorical(name=name, labels=tuple("abcdefgh"), stood_last=last)
    return GuessableColumn(column=column, n_values=n_values, room=room, worth=worth)


def number(name, worth, *, last=False):
    column = Numeric(name=name, low=0, high=9, stood_last=last)
    return GuessableColumn(column=column, n_values=9, room=0.9, worth=worth)


def test_a_person_would_ask_for_the_outcome_not_for_the_day_of_the_week():
    for last in ("y", "flag"):
        found = MLInference(n_secrets=5).chosen(asked(last))[0]
        assert found[:2] == (last, "job")
        assert set(found[2:]) == {"day_of_week", "month", "sex"}
    assert "an outcome, if one looks so" in MLInference().chosen(asked())[1]
    utility = measure(asked(), rng=np.random.default_rng(0))
    assert utility.targets[0].name == "y"


def test_what_stood_last_is_settled_when_the_file_is_read():
    for last in ("y", "flag"):
        plain = asked(last)
        moved = shuffled(plain, seed=1)[0]
        assert moved.schema.names != plain.schema.names
        for metric in (MLInference(), GTCAP()):
            assert metric.chosen(plain) == metric.chosen(moved)
    ends = load_split(*(marketing(seed, "flag")[["flag", "job", "age"]] for seed in (1, 2, 3))).split
    assert [column.stood_last for column in ends.schema.columns] == [False, False, True]
    assert MLInference().chosen(ends)[0] == ("job", "flag")


def test_choosing_does_not_tell_train_from_control():
    split = asked()
    turned = Split(train=split.control, control=split.train, synthetic=split.synthetic)
    for metric in (MLInference(), GTCAP()):
        assert metric.chosen(split) == metric.chosen(turned)


def test_the_order_by_hand():
    every = [
        label("day_of_week", 0.8),
        label("job", 0.6),
        label("told", 0.9, room=0.01),
        label("last_one", 0.1, last=True),
        label("outcome", 0.2),
        number("pay", 1.0),
    ]
    assert in_order(every, labels_first=True) == ["outcome", "job", "last_one", "day_of_week", "pay", "told"]
    assert in_order(every, labels_first=False) == ["outcome", "pay", "job", "last_one", "day_of_week", "told"]
    assert in_order(every[:4], labels_first=True)[0] == "last_one"
    assert in_order([], labels_first=True) == []
    many = [label("town", 0.1, n_values=21, last=True), label("job", 0.6)]
    assert in_order(many, labels_first=True)[0] == "job"
    calendar = [label("month", 0.1, last=True), label("job", 0.6)]
    assert in_order(calendar, labels_first=True)[0] == "job"
    alike = [label("died", 0.4, room=0.019, last=True), label("job", 0.6)]
    assert in_order(alike, labels_first=True) == ["job", "died"]


def test_two_outcomes():
    both = [label("default", 0.9), label("y", 0.1, last=True)]
    assert in_order(both, labels_first=True) == ["y", "default"]
    codes = [label("diag_1", 0.5), label("diag_2", 0.5)]
    assert in_order(codes[::-1], labels_first=True) == in_order(codes, labels_first=True)


def test_numbers_are_outcomes_only_by_name_and_place():
    assert in_order([number("y", 0.1, last=True), label("job", 0.6)], labels_first=True)[0] == "y"
    assert in_order([number("cost", 0.1, last=True), label("job", 0.6)], labels_first=True)[0] == "job"
    assert in_order([number("income", 0.1), label("job", 0.6)], labels_first=True)[0] == "job"


@pytest.mark.parametrize(
    "name",
    ["Target", "class", "is_fraud", "income", "Income_above_50k", "hospital_death", "loan_status", "Y"],
)
def test_names_of_outcomes(name):
    assert called_outcome(name)
    assert not known_anyway(name)


@pytest.mark.parametrize(
    "name",
    [
        "class_of_worker",
        "annual_income",
        "verified_income",
        "number_diagnoses",
        "DiabetesAge",
        "status",
        "",
        "_",
    ],
)
def test_names_that_are_none(name):
    assert not called_outcome(name)


@pytest.mark.parametrize(
    "name", ["weekday", "dayOfWeek", "admission_date", "birth_year", "Gender", "zip_code"]
)
def test_names_of_what_is_known_anyway(name):
    assert known_anyway(name) is (name != "zip_code")


@pytest.mark.skipif(not DATA.is_dir(), reason="needs ../shared/data")
@pytest.mark.parametrize("name", CHOSEN)
def test_secrets_of_real_tables(name):
    rows = pd.read_parquet(DATA / f"{name}.parquet").sample(3000, random_state=1)
    parts = (rows[:1000], rows[1000:2000], rows[2000:])
    split = load_split(*parts, missing=["?"], drop_identifiers=True).split
    assert MLInference().chosen(split)[0] == CHOSEN[name]
