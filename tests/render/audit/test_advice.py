"""What to do next, in words: one thing in the singular, and one number for what was before all changes."""

from dataclasses import replace
from io import StringIO
from types import SimpleNamespace

import pytest
from rich.console import Console
from supplies import made_reports as made
from supplies.html_documents import Document
from supplies.plain_words import riddles_in

from tabveil.auditing.advice import (
    Advice,
    AttackChange,
    ExposedGroup,
    LeakingRows,
    MoreRows,
    ReleaseChange,
    Remedy,
)
from tabveil.auditing.verdict import ABOVE, WITHIN
from tabveil.metrics.attacks import MembershipDistance
from tabveil.render.audit.advice import _remembers
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page


def rows(equal, near, **counted):
    return LeakingRows(
        n_synthetic=1500, equal=equal, expected=0.0, near=near, near_expected=0.0, n_train=2000, **counted
    )


def remedy(column, *attacks):
    change = ReleaseChange(kind="leave out", column=column)
    return Remedy(change=change, rows_left=1, rows_changed=1499, attacks=attacks)


def tried(title, before, after):
    return AttackChange(
        metric=title,
        title=title,
        risk="inference",
        threshold=0.05,
        before=made.estimate(before),
        after=made.estimate(after),
        state=ABOVE if after > 0.05 else WITHIN,
        settled=after <= 0.05,
    )


def advised(**parts):
    return replace(made.report(made.LEAKY), advice=Advice(**parts))


def terminal(report, **how):
    console = Console(width=80, file=StringIO())
    console.print(report_page(report, **how))
    return console.file.getvalue()


@pytest.mark.parametrize(
    ("equal", "near", "said"),
    [
        (1, 0, "1 row of the release equals a training row (by chance about 0)"),
        (2, 1, "2 rows of the release equal a training row and 1 more row lies nearer to one than fresh"),
        (1, 2, "1 row of the release equals a training row and 2 more rows lie nearer to one than fresh"),
        (0, 1, "1 row of the release lies nearer to a training row than fresh rows do"),
        (0, 2, "2 rows of the release lie nearer to a training row than fresh rows do"),
    ],
)
def test_one_row_is_said_in_the_singular(equal, near, said):
    report = advised(rows=rows(equal, near))
    assert said in " ".join(terminal(report).split())
    assert said in Document(page(report)).text


def test_one_row_that_is_left_is_left():
    text = Document(page(advised(remedies=(remedy("age", tried("a", 0.25, 0.02)),)))).text
    assert "1 row is left" in text


def test_what_was_measured_before_is_one_number_for_all_changes():
    """Each change named the attack that was highest after it, with what that one had been before."""
    report = advised(
        remedies=(
            remedy("age", tried("first", 0.25, 0.02), tried("second", 0.11, 0.04)),
            remedy("sex", tried("first", 0.25, 0.09), tried("second", 0.11, 0.01)),
        )
    )
    lines = terminal(report).splitlines()
    found = {line.split("  ")[0]: line.split()[-3:] for line in lines if "threshold" in line}
    assert found["nothing changed"] == ["0.254", "above", "threshold"]
    assert "was up to" not in terminal(report)
    assert [line.split()[3] for line in lines if line.startswith("leave out")] == ["0.044", "0.094"]


def test_advice_is_no_riddle():
    change = ReleaseChange(kind="filter", share=0.01)
    attacks = (tried("a", 0.25, 0.09),)
    report = advised(
        rows=rows(3, 2),
        remedies=(Remedy(change=change, rows_left=1000, rows_changed=500, attacks=attacks),),
        more_rows=MoreRows(control=9000, n_control=1000, train=9000, titles=("a",)),
        groups=(
            ExposedGroup(
                column="region",
                label="north",
                people=40,
                exposed=20,
                gain=0.4,
                gain_elsewhere=0.1,
                p_value=0.001,
                metric="inference",
            ),
        ),
    )
    text = Document(page(report)).text
    assert riddles_in(text) == []
    assert "A filter looks at training rows." in text
    assert "About 9,000 control rows (8,000 more than there are), and as many training rows," in text
    assert "region = north (40 training people; because of the release 40 of 100 are exposed" in text


def test_the_part_to_sign_names_what_was_tried():
    report = advised(rows=rows(3, 0), remedies=(remedy("age", tried("first", 0.25, 0.02)),))
    said = (
        "3 rows of the release equal a training row (by chance about 0).",
        "Tried on a copy: leave out age. After it: within threshold, at most 2.4 of 100 people.",
    )
    for text in (Document(page(report, brief=True)).text, " ".join(terminal(report, brief=True).split())):
        assert all(line in text for line in said)


def test_a_smaller_model_or_more_rows_are_advised_where_people_are_remembered_and_only_there():
    def told(membership, *, state=made.LEAKY):
        found = tuple(
            made.membership(MembershipDistance, membership)
            if item.metric == MembershipDistance.name
            else item
            for item in made.results(state)
        )
        return Document(page(replace(made.report(results=found), advice=Advice()))).text

    assert "a smaller model, and more different rows to learn from" in told(made.LEAKY)
    inference_alone = told(0.0)
    assert "train it again so that it memorizes less" in inference_alone  # above, by other attacks
    assert "a smaller model" not in inference_alone


def test_copies_alone_are_evidence_that_people_are_remembered():
    def verdict(*, leak_seen):
        copied = SimpleNamespace(leak_seen=leak_seen)
        return SimpleNamespace(risks=(), copies=copied)

    assert _remembers(verdict(leak_seen=True))
    assert not _remembers(verdict(leak_seen=False))
    assert not _remembers(SimpleNamespace(risks=(), copies=None))
