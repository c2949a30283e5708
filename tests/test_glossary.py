"""The glossary has the words that stand on a report, and no others."""

import re
from typing import get_args

import pytest
from supplies.places import ROOT

import tabveil
from tabveil.auditing.findings import Finding
from tabveil.auditing.policy import RISKS
from tabveil.auditing.verdict import COULD_NOT_SEE, TOO_FEW, State

PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ENTRIES = re.findall(r"^- \*\*(.+?)\*\*: (.+)$", PAGE, flags=re.MULTILINE)
WORDS = [word for word, _ in ENTRIES]

ON_THE_PAGE = (
    "accepted",
    "at most",
    "area under the curve",
    "attack",
    "confidence",
    "configuration",
    "control",
    "copies",
    "diagnostics",
    "exposed",
    "fidelity",
    "fresh real rows",
    "gain",
    "interval",
    "known",
    "measured",
    "outlying people",
    "planted",
    "policy",
    "quasi-identifiers",
    "recipient",
    "release",
    "required",
    "risk",
    "secret",
    "seed",
    "sign-off",
    "synthetic",
    "threat model",
    "threshold",
    "train",
    "utility",
)
"""Words that a reader of the page meets without an explanation beside them; each must still stand there."""


@pytest.fixture(scope="module")
def page():
    train, release, control = (tabveil.datasets.hospital(200, seed=seed) for seed in (1, 2, 3))
    asked = {"metrics": ["membership_distance"], "quasi_identifiers": ["age", "sex"]}
    report = tabveil.audit(train, release, control, utility=True, advice=False, quick=True, **asked)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", tabveil.html_page(report))).lower()


@pytest.fixture(scope="module")
def said():
    """Everything that the program can say, as it stands in its source."""
    files = sorted((ROOT / "src" / "tabveil").rglob("*.py")) + sorted(
        (ROOT / "src" / "tabveil" / "render").rglob("*.j2")
    )
    return re.sub(r"[\s\"]+", " ", " ".join(path.read_text(encoding="utf-8") for path in files)).lower()


def test_states_findings_and_risks_have_entries():
    wanted = {*get_args(State), *get_args(Finding), *(risk.replace("_", " ") for risk in RISKS)}
    assert wanted | {TOO_FEW, COULD_NOT_SEE} <= set(WORDS)


@pytest.mark.parametrize("word", ON_THE_PAGE)
def test_words_of_the_page_have_entries(word, page):
    assert word in page
    assert word in WORDS


@pytest.mark.parametrize("word", WORDS)
def test_every_entry_is_a_word_of_the_program(word, said):
    assert word in said or word.removesuffix("s") in said


def test_entries_are_in_order_each_once_and_lead_on():
    assert sorted(set(WORDS)) == WORDS
    assert [word for word, text in ENTRIES if "](" not in text] == []
    assert len(ENTRIES) == PAGE.count("\n- ")


def test_entries_are_a_sentence_or_two():
    for word, text in ENTRIES:
        plain = re.sub(r"\]\([^)]*\)", "", text)
        assert len(re.findall(r"[.:?](?: |$)", plain)) <= 4, word
        assert len(plain) < 330, word
