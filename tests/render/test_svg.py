"""Charts: well-formed, harmless whatever they are fed, and drawn where the numbers say."""

import re

import pytest
from markupsafe import Markup
from supplies.charts import HOSTILE, INF, NAN, charts, empty_charts, numbers, texts, tree

from tabveil.render import svg

ODD = {
    "plain": charts(),
    "hostile": charts(text=HOSTILE),
    "blank": charts(text=" \u200b\n"),
    "nan": charts(value=NAN),
    "infinite": charts(value=INF),
    "minus infinite": charts(value=-INF),
    "huge": charts(value=1e308),
    "tiny": charts(value=5e-324),
    "negative": charts(value=-0.3),
    "empty": empty_charts(),
}


ALL = [
    pytest.param(drawn, id=f"{kind}: {name}") for kind, named in ODD.items() for name, drawn in named.items()
]


@pytest.mark.parametrize("drawn", ALL)
def test_every_chart_is_one_well_formed_picture_with_words(drawn):
    assert isinstance(drawn, Markup)
    root = tree(drawn)
    assert root.tag == "svg"
    assert not root.findall(".//svg")
    assert root.get("role") == "img"
    assert root.get("viewBox").startswith("0 0 ")
    title, words = root.find("title"), root.find("desc")
    assert root.get("aria-labelledby") == title.get("id")
    assert root.get("aria-describedby") == words.get("id")
    assert title.text
    assert words.text


@pytest.mark.parametrize("drawn", ALL)
def test_numbers_are_short_finite_and_inside(drawn):
    _, _, width, height = map(float, tree(drawn).get("viewBox").split())
    for written in numbers(drawn):
        assert re.fullmatch(r"-?\d+(\.\d)?", written), written
        assert -max(width, height) <= float(written) <= max(width, height)
    assert not re.search(r"\b(nan|inf)\b", " ".join(tree(drawn).itertext()), re.IGNORECASE)


@pytest.mark.parametrize("drawn", ALL)
def test_classes_instead_of_colors_scripts_and_references(drawn):
    for element in tree(drawn).iter():
        assert element.tag in {"svg", "title", "desc", "text", "line", "rect", "path", "circle", "g"}
        assert not {"style", "fill", "stroke", "href", "onload"} & element.attrib.keys()
        for kind in element.get("class", "").split():
            assert re.search(rf"\.{kind}[{{ ,.]", svg.STYLE), kind


@pytest.mark.parametrize(("name", "drawn"), ODD["hostile"].items())
def test_hostile_texts_are_escaped_cleaned_and_cut(name, drawn):
    assert "<script" not in drawn
    assert not any(sign in drawn for sign in "\u202e\x00\ud800\ufffe")
    assert len(drawn) < 12_000
    if name not in {"distributions", "heat_map", "ranges", "rings"}:
        assert any("<script>" in text for text in texts(drawn))
        assert any(text.endswith("…") for text in texts(drawn))


@pytest.mark.parametrize("named", [ODD["plain"], ODD["nan"]])
def test_ids_are_unique_and_the_same_chart_is_the_same_text(named):
    ids = [
        element.get("id") for drawn in named.values() for element in tree(drawn).iter() if element.get("id")
    ]
    assert len(ids) == len(set(ids)) == 2 * len(named)
    if named is ODD["plain"]:
        assert named == charts()


def test_no_text_claims_too_much():
    said = " ".join(
        text for named in ODD.values() for drawn in named.values() for text in tree(drawn).itertext()
    )
    assert not re.search(r"\b(anonymous|GDPR|safe)\b", said, re.IGNORECASE)


@pytest.mark.parametrize("name", ["risk_bars", "column_bars", "power", "scatter"])
def test_what_is_no_number_is_said_to_be_not_computed(name):
    assert "not computed" in " ".join(tree(ODD["nan"][name]).itertext()).lower()
