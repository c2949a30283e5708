"""Linked tables on the page and on the terminal: a picture, sizes, and which view shows a risk."""

import re

import pytest
from supplies.linked_people import CLINIC

import tabveil
from tabveil.auditing.overview import LinkedOverview, SetSizes, TableOverview
from tabveil.core.findings import Setting
from tabveil.core.result import Labels, Result
from tabveil.datasets import clinic
from tabveil.render.audit.linked import how_it_looked, in_words, leads, sizes, tree


@pytest.fixture(scope="module")
def report():
    train, control = clinic(150, seed=1), clinic(150, seed=2)
    return tabveil.audit(
        train, train, control, tables=CLINIC, metrics=["membership_views", "linkability"], advice=False
    )


def test_a_table_stands_below_the_one_it_hangs_on():
    def table(name, through, depth):
        return TableOverview(name=name, columns=("x",), keys=("k",), through=through, key="k", depth=depth)

    bank = LinkedOverview(
        tables=(
            TableOverview(name="clients", columns=(), keys=("k",)),
            table("rights", "clients", 1),
            table("accounts", "rights", 2),
            table("cards", "rights", 2),
            table("orders", "accounts", 3),
        ),
        people={"train": 3},
        origins={},
    )
    drawn = [(row.name, row.depth) for row in tree(bank)]
    assert drawn == [("clients", 0), ("rights", 1), ("accounts", 2), ("orders", 3), ("cards", 2)]
    assert tree(bank)[0].how == "a row for each person, keys alone"


def test_what_few_people_have_is_said_to_be_unknown():
    few = SetSizes(role="train", rows=3, without=None, mean=1.0, quantiles=(None, None, None), shared=None)
    table = TableOverview(
        name="visits", columns=("x",), keys=("k",), through="p", key="k", depth=1, sizes=(few,)
    )
    person = TableOverview(name="p", columns=(), keys=("k",))
    (row,) = sizes(LinkedOverview(tables=(person, table), people={"train": 3}, origins={}))
    assert {row.without, *row.quantiles, row.shared} == {"too few people"}


def test_the_view_that_measures_most_is_named_for_each_risk(report):
    found = {row.risk: row for row in leads(report)}
    assert found["membership"].attack == "Membership over linked rows"
    view = report["membership_views"].details["leading_view"]
    assert found["membership"].how == f"compared people by their {view}"
    assert found["linkability"].how in {
        "linked patients with visits",
        "linked 8 columns of patients and visits with 8 other columns of these tables",
    }


PATIENTS = TableOverview(name="patients", columns=("born", "sex"), keys=("patient",))


def told(*, label="", **given):
    overview = LinkedOverview(
        tables=(PATIENTS,), people={"train": 3}, origins={"visits: ward, last": "visits"}
    )
    result = Result(
        metric="m",
        labels=Labels(pillar="attack", wp29="linkability", mechanism="distance"),
        leading=Setting(label=label, **given),
    )
    return how_it_looked(result, overview)


def test_what_an_attack_did_is_said_by_tables():
    assert told(split=(("born", "sex"), ("visits: ward, last",))) == "linked patients with visits"
    mixed = told(split=(("born", "visits: ward, last"), ("sex",)))
    assert mixed == "linked 2 columns of patients and visits with 1 other column of these tables"
    assert told(target="visits: ward, last") == "guessed “ward, last”, of the table visits"
    assert told(target="sex") == "guessed “sex”, of the table patients"
    assert told(columns=("sex", "visits: ward, last")) == "knew columns of patients and visits"
    assert told(label="anything") == "looked at own rows and at what sums up linked rows"


def test_people_are_called_people_where_rows_sum_them_up(report):
    lines = report.verdict.sentence
    assert "150 people of the release (100%) equal a training person in their own row" in lines
    assert not re.search(r"\brows? of the release\b|training row|released row", lines)
    page = tabveil.html_page(report)
    assert "150 people" in page
    assert "People of the release that equal" in page


def test_page_and_terminal_say_it(report):
    page = tabveil.html_page(report)
    for row in leads(report):
        assert row.how in page
    assert "└ visits" in page
    assert "Training people" in page
    told = in_words(report)
    assert told[0] == "patients: a row for each person, 4 columns"
    assert told[1] == "  └ visits: by patient, 4 columns, events in the order of day"


def test_names_of_tables_are_escaped():
    tables = {
        "<b>p</b>": clinic(30, seed=1)["patients"],
        "visits": clinic(30, seed=1)["visits"],
    }
    says = {"person": {"table": "<b>p</b>", "key": "patient"}, "linked": CLINIC["linked"]}
    report = tabveil.audit(tables, tables, tables=says, metrics=["linkability"], advice=False)
    assert "<b>p</b>" not in tabveil.html_page(report)
    assert "&lt;b&gt;p&lt;/b&gt;" in tabveil.html_page(report)
