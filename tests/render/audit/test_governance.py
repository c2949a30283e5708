"""What the policy says stands on the part to sign, and what it does not say is named."""

from dataclasses import replace
from io import StringIO

from rich.console import Console
from supplies import made_reports as made

from tabveil.auditing.claimed_epsilon import ClaimedEpsilon, Promise
from tabveil.auditing.dictionary import Dictionary, DictionaryEntry
from tabveil.auditing.initial import InitialRisk, RiskBefore
from tabveil.auditing.policy import Policy
from tabveil.render.audit.governance import ASKED, column_rows, facts, stated, unstated
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page

FULL = Policy(
    purpose="<b>teaching</b>",
    release_model="controlled",
    sensitivity="high",
    generator="trees",
    generator_version="0.1",
    earlier_releases=("v1",),
    review_date="2027-03-01",
    responsible="A. Example",
    second_signatory="B. Example",
)


def test_every_field_is_stated_or_named_as_missing():
    assert [title for title, _ in stated(FULL)] == list(ASKED.values())
    assert unstated(FULL) == ""
    assert stated(Policy()) == []
    assert all(title.lower() in unstated(Policy()) for title in ASKED.values())
    assert "Responsible" not in dict(facts(FULL))


def test_all_of_it_is_printed_on_the_part_to_sign_as_text():
    told = page(replace(made.report(made.CLEAN), policy=FULL), brief=True)
    for words in ("trees 0.1", "v1", "2027-03-01", "A. Example", "B. Example", "controlled: known"):
        assert words in told, words
    assert "&lt;b&gt;teaching&lt;/b&gt;" in told
    assert "Not stated in the policy" not in told
    assert "Second signatory" not in page(made.report(made.CLEAN), brief=True).split('class="lines"')[1]


def test_a_refuted_promise_and_the_risk_before_are_told_on_page_and_terminal():
    claim = ClaimedEpsilon(
        promise=Promise(epsilon=1.0, delta=1e-5), unit="person", state="refuted", least=2.5, most=3.0
    )
    before = InitialRisk(
        risks=(
            RiskBefore(risk="membership", value=0.9, high=0.95, attack="x"),
            RiskBefore(risk="inference", value=None, high=None),
        )
    )
    report = replace(made.report(made.CLEAN), claim=claim, initial=before)
    console = Console(width=80, file=StringIO())
    console.print(report_page(report))
    for told in (page(report), console.file.getvalue()):
        assert "Refuted: ε = 1, δ = 1e-05 is not kept" in told
        assert "Unit of privacy: one person" in told
        assert "not computed" in told
    assert "<td>90</td><td>95</td>" in page(report)
    assert "Refuted: ε = 1" in page(report, brief=True)


def test_columns_are_told_with_their_treatment():
    entries = (
        DictionaryEntry(name="age", type="integer", treatment="compared", low="20", high="80", missing=0.25),
        DictionaryEntry(
            name="ward",
            type="category",
            treatment="compared",
            roles=("secret",),
            labels=("a", "b"),
            more=True,
        ),
        DictionaryEntry(name="code", type="category", treatment="compared", more=True),
        DictionaryEntry(name="case", type="identifier", treatment="left out"),
    )
    report = replace(made.report(made.CLEAN), dictionary=Dictionary(columns=entries))
    rows = column_rows(report)
    assert [row.holds for row in rows] == [
        "from below 20 to 80 or more",
        "a, b and others",
        "values that too few people share to be shown",
        "-",
    ]
    assert rows[0].missing == "25%"
    assert rows[1].treatment == "compared as it is; secret"
    assert "names people" in rows[3].treatment
    assert 'id="dictionary"' in page(report)
