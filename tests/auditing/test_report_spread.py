"""Is a bound stable? The attack with the highest one on each risk is asked again with another seed."""

import pytest

import tabveil
from tabveil.auditing.report import Report
from tabveil.datasets import hospital
from tabveil.metrics.attacks.singling_out.by_predicates import SinglingOut
from tabveil.render.audit import view

ATTACKS = ("singling_out", "linkability", "inference", "membership_distance")


@pytest.fixture(scope="module")
def report():
    train, control, fresh = (hospital(150, seed=seed) for seed in (1, 2, 3))
    return tabveil.audit(train, fresh, control, metrics=ATTACKS, advice=False)


def test_every_risk_is_asked_again_and_the_first_bound_is_the_one_judged(report):
    assert [item.risk for item in report.spread.found] == [risk.risk for risk in report.verdict.risks]
    for item, risk in zip(report.spread.found, report.verdict.risks, strict=True):
        assert item.high == risk.high
        assert item.again == pytest.approx(item.high, abs=0.1)


def test_it_is_said_and_stored(report):
    told = view.stable(report)
    assert told.startswith("With other random numbers (another seed) the highest bounds are, of 100 people: ")
    assert told.count("(here ") == 4
    assert Report.from_json(report.to_json()).spread == report.spread


def test_nothing_is_asked_again_where_nothing_is_judged():
    train, fresh = hospital(80, seed=1), hospital(80, seed=2)
    found = tabveil.audit(train, fresh, metrics=ATTACKS)
    assert found.spread is None
    assert view.stable(found) == ""


def test_what_is_asked_again_is_what_is_judged():
    assert SinglingOut().judged_part() == SinglingOut(n_columns=())
    papers = SinglingOut(widths=(), column_sets=False)
    assert papers.judged_part() == papers
