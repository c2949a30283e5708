"""A chart joins with its marks alone, and a kind of report with its template: frame and words are shared."""

import datetime as dt

from jinja2 import ChoiceLoader, DictLoader
from supplies.html_documents import Document

from tabveil.render import html
from tabveil.render.svg.axes import Scale, field
from tabveil.render.svg.canvas import chart, dot, legend, nothing, tick, told

TEMPLATE = """\
{% extends "base.html.j2" %}
{% from "macros.html.j2" import figure with context %}
{% block body %}<main id="main">{{ figure(drawn, "Toys by age.") }}<p>{{ note }}</p></main>{% endblock %}
"""


def toys(found):
    """How many toys has a child, by age?"""
    if not found:
        return nothing("Toys", "There are no toys.")
    across = Scale(low=0, high=10, start=50, end=400)
    upward = Scale(low=0, high=20, start=240, end=40)
    return chart(
        [
            legend((dot(6, 9.5, 4, "reading line-real"), 18, 14, "a child")),
            field(across, upward, x_title="age", y_title="toys"),
            *(dot(across.at(age), upward.at(number), 4, "reading line-real") for _, age, number in found),
        ],
        title="Toys",
        said=[told(name, f"age {age}", f"{tick(number)} toys") for name, age, number in found],
        height=290,
    )


def test_a_chart_brings_its_marks_and_has_frame_legend_axes_and_description():
    drawn = Document(toys([("Ann", 3, 12), ("<b>Bo", 7, 5)]))
    assert drawn.all("title")[0][1] == "Toys"
    assert drawn.all("desc")[0][1] == "Ann: age 3, 12 toys. <b>Bo: age 7, 5 toys."
    words = [text for _, text in drawn.all("text")]
    assert {"a child", "age", "toys", "10", "20"} <= set(words)
    assert len(drawn.all("circle")) == 3
    assert "There are no toys." in Document(toys([])).text


def test_a_kind_of_report_brings_its_template_and_has_the_house_s_head_style_and_rules():
    environment = html._environment()
    own = environment.loader
    environment.loader = ChoiceLoader([own, DictLoader({"toys.html.j2": TEMPLATE})])
    try:
        page = Document(
            html.laid_out(
                "toys.html.j2",
                " ",
                "Ours",
                kind="A report on toys",
                made=dt.date(2026, 3, 1),
                drawn=toys([("Ann", 3, 12)]),
                note="<script>\u202e",
            )
        )
    finally:
        environment.loader = own
    assert page.all("h1")[0][1] == "Ours"
    assert "Ours · A report on toys" in page.all("title")[0][1]
    assert "Page made on 1 March 2026" in page.text
    assert "<script>" in page.text
    assert not page.all("script")
