"""What the contrastive space saw, beside the mixed distance: on the page and in the terminal."""

import io
from dataclasses import replace

from rich.console import Console
from supplies import made_reports as made

from tabveil.auditing.report import Report
from tabveil.core.findings import Setting
from tabveil.metrics.attacks import (
    Inference,
    InferenceContrastive,
    LinkabilityContrastive,
    MembershipContrastive,
    MembershipDistance,
)
from tabveil.metrics.indicators import DistanceToClosestContrastive
from tabveil.render.audit.evidence import spaces
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page

WARD = Setting(label="ward", target="ward")


def asked(*results):
    return made.report(full=False, results=results)


def both():
    return asked(
        made.attack(Inference, 0.125, WARD),
        made.attack(InferenceContrastive, 0.25, WARD),
        made.membership(MembershipDistance, 0.05),
        made.membership(MembershipContrastive, 0.1),
    )


def text(report):
    console = Console(width=80, file=io.StringIO())
    console.print(report_page(report))
    return console.file.getvalue()


def test_answers_to_one_question_stand_side_by_side():
    found = {
        item.title: (item.mixed_title, item.mixed.value, item.contrastive.value) for item in spaces(both())
    }
    assert found == {
        "Inference, contrastive": ("Inference from the nearest row", 0.125, 0.25),
        "Membership, contrastive and tolerant": ("Membership by distance", 0.05, 0.1),
    }


def test_only_the_same_attacker_is_compared():
    own = replace(made.attack(InferenceContrastive, 0.25, WARD), attacker="neighbor")
    assert spaces(asked(made.attack(Inference, 0.125, WARD), own)) == []
    (pair,) = spaces(asked(replace(made.attack(Inference, 0.3, WARD), attacker="neighbor"), own))
    assert (pair.mixed.value, pair.contrastive.value) == (0.3, 0.25)


def test_the_most_alike_comes_first():
    calibrated = replace(made.membership(MembershipDistance, 0.4), metric="membership_calibrated")
    report = asked(
        made.membership(MembershipDistance, 0.05), calibrated, made.membership(MembershipContrastive, 0.1)
    )
    assert [item.mixed.value for item in spaces(report)] == [0.4]


def test_what_has_nothing_beside_it_is_left_out():
    alone = asked(
        made.attack(LinkabilityContrastive, 0.1, Setting(label="a | b")),
        made.indicator(DistanceToClosestContrastive, 0.1),
    )
    assert spaces(alone) == []
    assert "contrastive space" not in text(alone)
    assert 'id="contrastive"' not in page(alone)
    old = replace(both(), explanations={})
    assert spaces(old) == []


def test_page_and_terminal_have_the_table():
    report = Report.from_json(both().to_json())
    written = page(report)
    assert "The contrastive space beside the mixed distance" in written
    assert '<a href="#contrastive">' in written
    shown = text(report)
    assert "The contrastive space beside the mixed distance: gain, or risk" in shown
    line = next(
        line for line in shown.splitlines() if line.startswith("Inference, contrastive  ") and "…" in line
    )
    assert "0.125" in line
    assert "0.25" in line
