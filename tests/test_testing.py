"""A release in a test: within passes, above and inconclusive fail with what the report says."""

from dataclasses import replace

import pytest

from tabveil import datasets
from tabveil.auditing.claimed_epsilon import ClaimedEpsilon, Promise
from tabveil.testing import NotWithinError, assert_within

GENEROUS = {"thresholds": dict.fromkeys(("singling_out", "linkability", "inference", "membership"), 0.5)}
ASKED = {"metrics": ("singling_out", "linkability", "inference", "membership_distance"), "seed": 1}


def people(*seeds):
    return [datasets.hospital(300, seed=seed) for seed in seeds]


def test_a_release_that_leaks_nothing_is_within_a_generous_policy():
    report = assert_within(*people(1, 2, 3), policy=GENEROUS, **ASKED)
    assert report.verdict.state == "within threshold"


def test_a_copy_fails_with_the_reasons_and_the_report():
    with pytest.raises(NotWithinError, match="Above threshold") as failed:
        assert_within(*people(1, 1, 3), policy=GENEROUS, **ASKED)
    assert failed.value.report.verdict.state == "above threshold"
    assert isinstance(failed.value, AssertionError)


def test_what_nobody_can_tell_fails_too():
    with pytest.raises(NotWithinError, match="Inconclusive"):
        assert_within(*people(1, 2, 3), **ASKED)
    with pytest.raises(NotWithinError, match="Inconclusive"):
        assert_within(*people(1, 2), None, policy=GENEROUS, **ASKED)


def test_a_refuted_promise_fails_also_where_risks_are_accepted(monkeypatch):
    report = assert_within(*people(1, 2, 3), policy=GENEROUS, **ASKED)
    claim = ClaimedEpsilon(promise=Promise(epsilon=1.0), unit="row", state="refuted", least=2.0, most=3.0)
    monkeypatch.setattr("tabveil.testing.audit", lambda *_, **__: replace(report, claim=claim))
    with pytest.raises(NotWithinError):
        assert_within(*people(1, 2, 3), policy=GENEROUS)
