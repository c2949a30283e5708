"""Words of charts: shortened, wrapped and cleaned to the room there is."""

import xml.etree.ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from tabveil.core.wording import visible
from tabveil.render.svg.canvas import shorten, width_of, wrap, wrap_name


@given(st.text(), st.floats(20, 400))
def test_shortened_texts_fit(text, width):
    short = shorten(text, width)
    assert width_of(short) <= width
    assert short == visible(text) or short.endswith("…")


@given(st.text(max_size=200), st.floats(60, 400))
def test_wrapped_lines_fit_and_lose_nothing_that_has_room(text, width):
    lines = wrap(text, width, most=3)
    assert len(lines) <= 3
    assert all(width_of(line) <= width for line in lines)
    if not any(line.endswith("…") for line in lines):
        assert " ".join(lines) == visible(text)


@given(st.text(max_size=200), st.floats(60, 400))
def test_wrapped_names_fit_and_lose_nothing_that_has_room(text, width):
    lines = wrap_name(text, width)
    assert len(lines) <= 2
    assert all(width_of(line) <= width for line in lines)
    if not lines[-1].endswith("…"):
        assert "".join(lines).replace(" ", "") == visible(text).replace(" ", "")


def test_names_are_broken_where_their_parts_end():
    assert wrap_name("months_since_last_credit_inquiry", 200) == ["months_since_last_", "credit_inquiry"]
    assert wrap_name("age", 200) == ["age"]
    assert [len(line) for line in wrap_name("x" * 60, 200)] == [22, 21]


@given(st.text())
def test_cleaned_texts_are_valid_xml(text):
    once = visible(text)
    assert visible(once) == once
    assert "".join(ET.fromstring(f"<t>{Markup.escape(once)}</t>").itertext()) == once
