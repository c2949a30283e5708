"""What the source cites is there: the sections of the page of definitions."""

import re

from supplies.places import ROOT

PAGE = "docs/definitions.md"
CITED = re.compile(r"docs/definitions\.md, ([A-Z][a-z]+(?: [a-z]+)?)")
PLACES = ("src", "tests", "benchmarks", "experiments", "examples", "docs_build")
SOURCES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for folder in PLACES
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def sections():
    return set(re.findall(r"^## (.+)$", (ROOT / PAGE).read_text(encoding="utf-8"), flags=re.MULTILINE))


def test_every_section_that_is_cited_exists():
    cited = {(place, name) for place, text in SOURCES.items() for name in CITED.findall(text)}
    assert len(cited) > 10
    assert {(place, name) for place, name in cited if name not in sections()} == set()


def test_every_citation_names_a_section():
    for name, text in SOURCES.items():
        if name != "tests/test_definitions.py":
            assert text.count(f"{PAGE}, ") == len(CITED.findall(text)), name


def test_nothing_cites_what_is_not_in_the_repository():
    pattern = re.compile(r"\bSPEC \d|\bnotes/\w+\.md")
    assert [name for name, text in SOURCES.items() if pattern.search(text)] == []
