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
from tabveil.metrics.indicators import DistanceToClosest, DistanceToClosestContrastive
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
    assert "The contrastive space beside the same attacks outside it" in written
    assert '<a href="#contrastive">' in written
    shown = text(report)
    assert "The contrastive space beside the same attacks outside it: gain, or risk" in shown
    line = next(
        line for line in shown.splitlines() if line.startswith("Inference, contrastive  ") and "…" in line
    )
    assert "0.125" in line
    assert "0.25" in line


def test_the_grade_of_a_simulated_attack_is_on_the_page_and_said_to_decide_nothing():
    found = made.membership(MembershipDistance, 0.05)
    simulation = {"precision": 0.512, "accuracy": 0.503, "grade": "Very Good", "attacks": []}
    html = page(asked(replace(found, details={"simulation": simulation})))
    assert "precision 0.512, accuracy 0.503, graded “Very Good”" in html
    assert "no verdict rests on the grade" in html
    assert "as the literature grades it" not in page(asked(found))


def test_how_far_rows_of_one_table_are_apart_is_on_the_page_where_it_was_measured():
    near, far = {"median": 0.01, "percentile_5": 0.0}, {"median": 0.2, "percentile_5": 0.05}
    within = {"within_synthetic": near, "within_train": far, "within_control": None}
    html = page(asked(made.indicator(DistanceToClosest, 0.0, **within)))
    assert "at most 0.010 in the release and 0.200 in train; one in twenty has at most" in html
    assert "0.000 in the release and 0.050 in train" in html
    for lacking in ("within_synthetic", "within_train"):  # of a sample, or of one person, nothing is said
        html = page(asked(made.indicator(DistanceToClosest, 0.0, **{**within, lacking: None})))
        assert "repeat itself" not in html
