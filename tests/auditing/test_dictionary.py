"""Every column is described, and nobody's value with it."""

import pandas as pd
import pytest

import tabveil


@pytest.fixture(scope="module")
def report():
    def people(start):
        n = 40
        return pd.DataFrame(
            {
                "case": [f"P-{start + i:04}" for i in range(n)],
                "ward": ["north"] * 20 + ["south"] * 19 + ["a rare ward"],
                "age": [20 + 3 * (i % 20) for i in range(n)],
                "born": [f"19{50 + i % 40}-05-17" for i in range(n)],
                "left": [None if i % 4 == 0 else i % 3 for i in range(n)],
            }
        )

    train, release, control = people(0), people(200).drop(columns="case"), people(100)
    return tabveil.audit(
        train,
        release,
        control,
        metrics="identical_match_share",
        drop_identifiers=True,
        secrets=["ward"],
        advice=False,
    )


def entry(report, name):
    return next(item for item in report.dictionary.columns if item.name == name)


def test_labels_that_too_few_people_share_are_not_told(report):
    ward = entry(report, "ward")
    assert set(ward.labels) == {"north", "south"}
    assert ward.more
    assert ward.roles == ("secret",)
    assert "a rare ward" not in report.to_json()


def test_numbers_and_dates_have_round_ends_and_their_type(report):
    age, born = entry(report, "age"), entry(report, "born")
    assert (age.type, born.type) == ("integer", "date")
    assert 20 < float(age.low) < float(age.high) < 80
    assert "05-17" not in born.low + born.high


def test_shares_of_missing_values_are_told(report):
    assert entry(report, "left").missing == entry(report, "left").missing_released == 0.25
    assert entry(report, "age").missing == 0


def test_columns_that_were_left_out_stand_last_with_the_reason(report):
    last = report.dictionary.columns[-1]
    assert (last.name, last.treatment, last.type) == ("case", "left out", "identifier")
    assert "P-0000" not in report.to_json()


def test_it_is_read_back(report):
    assert type(report).from_json(report.to_json()).dictionary == report.dictionary
