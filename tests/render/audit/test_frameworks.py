"""What is asked is answered by a place on the page, or said not to be."""

import re
from dataclasses import replace
from typing import get_args

import pytest
from supplies import made_reports as made

from tabveil.auditing.claimed_epsilon import ClaimedEpsilon, Promise
from tabveil.auditing.policy import Framework, Intruder, Policy
from tabveil.render.audit.frameworks import expectations
from tabveil.render.audit.page import page
from tabveil.render.audit.view import AuditView

EVERY = get_args(Framework)


def all_states():
    return {
        "within": made.report(made.CLEAN),
        "bare": made.report(full=False),
        "no control": made.report(made.CLEAN, inputs=made.inputs(control=0)),
    }


def rows(report):
    found = expectations(report, AuditView(report).ran)
    return {(each.title, row.source, row.asks): row for each in found for row in each.rows}


def with_policy(report, **fields):
    return replace(report, policy=Policy(frameworks=EVERY, **fields))


@pytest.mark.parametrize("state", ["within", "bare", "no control"])
def test_every_place_that_is_named_is_on_the_page(state):
    report = with_policy(all_states()[state])
    html = page(report)
    ids = set(re.findall(r'<section id="([a-z-]+)"', html)) | set(re.findall(r'id="([a-z-]+)"', html))
    places = {anchor for row in rows(report).values() for anchor, _ in row.places}
    assert places <= ids
    assert html.count("<em>not answered</em>") == sum(not row.answered for row in rows(report).values())


def test_what_nobody_stated_is_not_answered_and_what_was_is():
    report = all_states()["within"]

    def answered(policy_report, title, source):
        return next(
            row.answered for key, row in rows(policy_report).items() if title in key[0] and source == key[1]
        )

    asked = [("ICO", "Motivated intruder: who"), ("ICO", "Motivated intruder: sources tried")]
    asked += [("ICO", "Review"), ("ISO", "9.2.2"), ("Health", "Article 66(1)"), ("NIST", "Unit of privacy")]
    for title, source in asked:
        assert not answered(with_policy(report), title, source), source
    full = with_policy(
        report,
        intruder=Intruder(who="a journalist", skills="those of an analyst", sources=("registers",)),
        review_date="2027-03-01",
        responsible="A. Example",
        purpose="teaching",
    )
    claim = ClaimedEpsilon(promise=Promise(epsilon=1.0), unit="person", state="could not tell", reason="why")
    full = replace(full, claim=claim)
    for title, source in asked:
        assert answered(full, title, source), source
    assert "one person, with all of their rows" in page(full)


def test_only_the_frameworks_that_were_asked_for_are_gone_through():
    report = all_states()["within"]
    assert [each.title for each in expectations(report, AuditView(report).ran)] == [
        "WP29 and recital 26 of the GDPR"
    ]
    assert "ISO/IEC" not in page(report)


def test_every_text_but_the_opinion_of_wp29_says_how_far_it_was_read():
    found = expectations(with_policy(all_states()["within"]), AuditView(all_states()["within"]).ran)
    assert len(found) == len(EVERY)
    assert [each.read.startswith("Read") for each in found] == [False, *[True] * 7]


def test_relating_to_a_person_is_asked_in_content_purpose_and_result():
    def answered(report):
        found = [row for key, row in rows(report).items() if "Relating to a person" in key[1]]
        return {row.source.rpartition(": ")[2]: row.answered for row in found}

    report = with_policy(all_states()["within"])
    # A purpose that nobody stated and effects on people are nothing that attacks could answer.
    assert answered(report) == {"in content": True, "in purpose": False, "in result": False}
    stated = with_policy(all_states()["within"], purpose="teaching")
    assert answered(stated) == {"in content": True, "in purpose": True, "in result": False}
    assert "read in summaries" in page(report)
