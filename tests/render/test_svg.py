"""Charts: well-formed, harmless whatever they are fed, and drawn where the numbers say."""

import math
import re
import xml.etree.ElementTree as ET
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from tabveil.core.estimate import Estimate
from tabveil.core.wording import visible
from tabveil.metrics.portrait import Outlying, OutlyingCell
from tabveil.metrics.utility import Bar
from tabveil.render import svg
from tabveil.render.svg import ColumnBar, PowerRow, ReleasePoint, RiskBar, RocCurve
from tabveil.render.svg.axes import Scale
from tabveil.render.svg.canvas import shorten, width_of, wrap, wrap_name
from tabveil.render.svg.style import _DARK, _LIGHT

NAN, INF = math.nan, math.inf
HOSTILE = '<script>alert("1")</script>&amp;\u202e\x00\ud800\ufffe ]]> \'; ' + "wide MMM " * 1200


@dataclass(frozen=True, kw_only=True)
class Field:
    x: int
    y: int
    real: float | None
    synthetic: float | None


def outlying(*cells, across=2):
    return Outlying(
        share=0.1,
        n_neighbors=20,
        columns=across,
        rows=across,
        cells=tuple(OutlyingCell(*cell) for cell in cells),
        hidden=0.0,
    )


def estimate(value, low=None, high=None):
    return Estimate(
        value=value, low=value if low is None else low, high=value if high is None else high, n=10
    )


def roc_curve(points, label="other", readings=()):
    return RocCurve(label=label, points=points, readings=readings)


def risk_bar(value=0.1, low=0.0, high=0.2, *, threshold=0.2, state="within", label="Linkability", note=""):
    risk = estimate(value, low, high)
    rate = estimate(0.3)
    return RiskBar(
        label=label, risk=risk, control=rate, attack=rate, threshold=threshold, state=state, note=note
    )


def charts(text="Linkability", value=0.25):
    """One of each, with a text and a number from outside wherever the chart takes any."""
    odd = Estimate(value=value, low=value, high=value, n=3)
    row = RiskBar(label=text, risk=odd, control=odd, attack=odd, threshold=value, state="above", note=text)
    square = [[1.0, value, 0.1], [value, 1.0, -0.8], [0.1, -0.8, 1.0]]
    return {
        "risk_bars": svg.risk_bars([row, risk_bar()], title=text),
        "column_bars": svg.column_bars([ColumnBar(label=text, risk=odd, threshold=value)], title=text),
        "distributions": svg.distributions([0.0, value, 0.5], [0.1, 0.2, value], [0.0, value, 1.0]),
        "roc": svg.roc(
            [
                roc_curve([(0.0, 0.0), (value, 0.5), (1.0, 1.0)], label=text, readings=[(value, odd)]),
                roc_curve([(0, 0), (1, 1)]),
            ]
        ),
        "heat_map": svg.heat_map([Field(x=0, y=1, real=value, synthetic=0.2)], columns=3, rows=2),
        "rings": svg.heat_map(
            [Field(x=0, y=1, real=0.1, synthetic=0.2)],
            columns=3,
            rows=2,
            outlying=outlying((0, 0, value)),
            title="Rings",
        ),
        "labels": svg.marginals(
            [
                Bar(kind="label", label=text, real=0.5, synthetic=value),
                Bar(kind="other", real=0.5, synthetic=0.2),
            ],
            title=text,
        ),
        "ranges": svg.marginals(
            [
                Bar(kind="range", low=None, high=20.0, real=0.5, synthetic=value),
                Bar(kind="range", low=20.0, high=None, real=0.4, synthetic=0.4),
                Bar(kind="missing", real=0.1, synthetic=value),
            ],
            title=text,
        ),
        "associations": svg.associations([text, "b", "c"], square, square),
        "differences": svg.differences([text, "b", "c"], square, square),
        "power": svg.power(
            [
                PowerRow(label=text, smallest=value, trials=[(0.01, 3, 20), (0.25, 20, 20)]),
                PowerRow(label=text, smallest=None, trials=[], reason=text),
            ]
        ),
        "scatter": svg.scatter(
            [
                ReleasePoint(number=1, label=text, x=odd, y=odd, state="above"),
                ReleasePoint(number=2, label="b", x=estimate(1), y=estimate(2), state="within"),
            ],
            title=text,
        ),
    }


def empty_charts():
    return {
        "risk_bars": svg.risk_bars([], title="t"),
        "column_bars": svg.column_bars([]),
        "distributions": svg.distributions([], [], None),
        "roc": svg.roc([]),
        "roc without points": svg.roc([roc_curve([], readings=[(0.1, estimate(0.2))])]),
        "heat_map": svg.heat_map([], columns=4, rows=4),
        "hidden": svg.heat_map([Field(x=0, y=0, real=None, synthetic=None)], columns=4, rows=4),
        "marginals": svg.marginals([], title="age"),
        "associations": svg.associations([], [], []),
        "one column": svg.differences(["a"], [[1.0]], [[1.0]]),
        "power": svg.power([]),
        "scatter": svg.scatter([]),
    }


def tree(drawn):
    """Parse a chart and forget the name space."""
    root = ET.fromstring(str(drawn))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    return root


def texts(drawn):
    return [element.text for element in tree(drawn).iter("text")]


def of_class(drawn, kind):
    return [element for element in tree(drawn).iter() if kind in element.get("class", "").split()]


def description(drawn):
    return tree(drawn).find("desc").text


def numbers(drawn):
    """All coordinates and sizes of a chart, as they are written."""
    for element in tree(drawn).iter():
        for name, value in element.attrib.items():
            if name not in {"class", "id", "role", "text-anchor"} and not name.startswith("aria"):
                yield from re.findall(r"-?[\d.]+(?:e[-+]?\d+)?|nan|inf", value)


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


# Words


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


# Scales


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 1, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (-0.01, 0.05, (0, 0.02, 0.04)),
        (-0.3, 1, (0, 0.5, 1)),
        (0, 0.0123, (0, 0.0025, 0.005, 0.0075, 0.01)),
    ],
)
def test_ticks_are_round(low, high, ticks):
    assert Scale(low=low, high=high, start=0, end=100).ticks() == ticks


def test_bent_scales_have_places_for_zero_and_for_powers_of_ten():
    root = Scale(low=0, high=0.25, start=0, end=400, bend="root")
    assert [root.at(value) for value in (0, 0.0625, 0.25)] == [0, 200, 400]
    assert root.ticks()[0] == 0
    log = Scale(low=0.001, high=1, start=0, end=300, bend="log")
    assert [round(log.at(value), 9) for value in (0, 0.001, 0.01, 1)] == [0, 0, 100, 300]
    assert log.ticks() == (0.001, 0.01, 0.1, 1)


@given(st.sampled_from(["linear", "root", "log"]), st.floats(0, 100))
def test_a_place_goes_back_to_its_value(bend, place):
    scale = Scale(low=0.001, high=1, start=0, end=100, bend=bend)
    assert scale.at(scale.back(place)) == pytest.approx(place, abs=1e-6)


# Risks


def test_a_risk_stands_where_it_belongs():
    drawn = svg.risk_bars([risk_bar(0.1, 0.0, 0.2, threshold=0.2)], title="Risks")
    unit = (428 - 12) / 0.22  # the axis goes from 0 to a tenth beyond the threshold
    span = next(line for line in of_class(drawn, "mark-within") if line.tag == "line")
    assert float(span.get("x1")) == pytest.approx(12, abs=0.05)
    assert float(span.get("x2")) == pytest.approx(12 + 0.2 * unit, abs=0.05)
    mark = of_class(drawn, "mark-within")[-1]
    assert (mark.tag, float(mark.get("cx"))) == ("circle", pytest.approx(12 + 0.1 * unit, abs=0.05))
    limits = [line.get("x1") for line in of_class(drawn, "limit")]
    assert float(limits[-1]) == pytest.approx(12 + 0.2 * unit, abs=0.05)


def test_numbers_states_thresholds_and_notes_are_written():
    rows = [risk_bar(state="within"), risk_bar(0.3, 0.25, 0.35, state="above", note="Seen twice.")]
    drawn = svg.risk_bars(rows, title="Risks", confidence=0.999)
    written = texts(drawn)
    assert "gain and its 99.9% interval" in written
    assert written.count("threshold 0.2") == 2
    assert "0.300 (0.250 to 0.350)" in written
    assert "train 0.300, control 0.300" in written
    assert {"within threshold", "above threshold", "Seen twice."} <= set(written)
    assert (
        "Linkability: above threshold, gain 0.300 (0.250 to 0.350), threshold 0.200, train 0.300, "
        "control 0.300. Seen twice." in description(drawn)
    )


def test_each_state_has_its_own_shape():
    shapes = {}
    for state in ("within", "above", "inconclusive", "diagnostic"):
        mark = of_class(svg.risk_bars([risk_bar(state=state)], title="t"), f"mark-{state}")[-1]
        shapes[state] = mark.tag, (mark.get("d") or "").count("L"), "hollow" in mark.get("class")
    assert shapes == {
        "within": ("circle", 0, False),
        "above": ("path", 2, False),
        "inconclusive": ("path", 3, True),
        "diagnostic": ("circle", 0, True),
    }


def arrows(drawn, state="within"):
    return [mark for mark in of_class(drawn, f"mark-{state}") if mark.tag == "path"]


def test_an_interval_that_leaves_the_axis_gets_an_arrow_at_that_end():
    assert arrows(svg.risk_bars([risk_bar()], title="t")) == []
    (right,) = arrows(svg.risk_bars([risk_bar(0.1, 0.0, 5.0)], title="t"))
    assert right.get("d").startswith("M428 ")
    (left,) = arrows(svg.risk_bars([risk_bar(0.1, -5.0, 0.2)], title="t"))
    assert left.get("d").startswith("M12 ")
    beyond = svg.risk_bars([risk_bar(-0.9, -0.95, 0.01)], title="t")
    assert len(arrows(beyond)) == 1
    assert (
        len([mark for mark in of_class(beyond, "mark-within") if mark.tag == "circle"]) == 1
    )  # in the heading


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([risk_bar(0.001, 0.0, 0.002, threshold=0.05)], (0, 0.055)),  # small risks: down to the threshold
        ([risk_bar(0.3, 0.2, 0.4, threshold=0.05)], (0, 0.4)),
        ([risk_bar(0.02, -0.5, 0.9, threshold=0.05)], (-0.1 / 3, 0.1)),  # not the interval at any price
        ([risk_bar(0.9, 0.8, 1.4, threshold=0.05)], (0, 1)),
        ([risk_bar(0.0001, 0, 0.0002, threshold=None)], (0, 0.01)),  # noise is not blown up
        ([replace(risk_bar(threshold=None), risk=None)], (0, 0.01)),
    ],
)
def test_the_axis_fits_what_is_shown(rows, expected):
    scale = svg.risks.risk_scale([(row.risk, row.threshold) for row in rows], start=0, end=1)
    assert (scale.low, scale.high) == pytest.approx(expected)


@given(*[st.floats(allow_nan=True, allow_infinity=True)] * 4)
@settings(max_examples=60, deadline=None)
def test_any_numbers_give_a_picture(value, low, high, threshold):
    odd = Estimate(value=value, low=low, high=high, n=1)
    row = RiskBar(label="a", risk=odd, control=odd, attack=odd, threshold=threshold, state="above")
    column = ColumnBar(label="a", risk=odd, threshold=threshold)
    point = ReleasePoint(number=1, label="a", x=odd, y=replace(odd, value=threshold), state="above")
    for drawn in (svg.risk_bars([row], title="t"), svg.column_bars([column]), svg.scatter([point, point])):
        assert all(re.fullmatch(r"-?\d+(\.\d)?", written) for written in numbers(drawn))


def test_three_hundred_rows_stay_small_and_are_all_drawn():
    rows = svg.risk_bars([risk_bar(label=f"metric {i}") for i in range(300)], title="t")
    columns = svg.column_bars(
        [ColumnBar(label=f"c{i}", risk=estimate(0.1), threshold=0.2) for i in range(300)]
    )
    assert len([text for text in texts(rows) if text.startswith("metric ")]) == 300
    assert len([text for text in texts(columns) if re.fullmatch(r"c\d+", text)]) == 300
    assert max(len(rows), len(columns)) < 400_000
    assert "And 260 more." in description(rows)


def test_columns_are_judged_by_the_upper_bound():
    rows = [
        ColumnBar(label="age", risk=estimate(0.04, 0.0, 0.06), threshold=0.05),
        ColumnBar(label="sex", risk=estimate(0.04, 0.0, 0.05), threshold=0.05),
        ColumnBar(label="ward", risk=estimate(0.04, 0.0, 0.5), threshold=None),
        ColumnBar(label="name", risk=None, threshold=0.05),
    ]
    assert [row.state for row in rows] == ["above", "within", "diagnostic", "diagnostic"]
    drawn = svg.column_bars(rows)
    assert "threshold 0.05" in texts(drawn)
    assert texts(drawn).count("0.040") == 3
    assert texts(drawn).count("not computed") == 1
    assert len(of_class(drawn, "limit")) == 3  # the legend and two rows


def test_columns_stand_under_their_configuration_and_long_names_above_their_track():
    long = "months_since_last_credit_inquiry"
    rows = [
        ColumnBar(label=name, risk=estimate(0.04), threshold=0.05, configuration=words)
        for name, words in (("age", "for everybody"), ("sex", "for everybody"), (long, "on the surest 1%"))
    ]
    drawn = svg.column_bars(rows)
    written = [
        text for text in texts(drawn) if text in {"age", "sex", long, "for everybody", "on the surest 1%"}
    ]
    assert written == ["for everybody", "age", "sex", "on the surest 1%", long]
    tracks = [float(box.get("y")) for box in of_class(drawn, "track")]
    places = {text.text: float(text.get("y")) for text in tree(drawn).iter("text")}
    assert [tracks[i] < places[name] for i, name in enumerate(("age", "sex", long))] == [True, True, False]
    assert "on the surest 1%" in description(drawn)


# Curves


def test_distances_are_steps_on_a_square_root_axis():
    drawn = svg.distributions([0.0, 0.25, 1.0], [0.1, 0.5, 1.0])
    curve = of_class(drawn, "line-synthetic")[-1]
    assert curve.get("d") == "M50 274H50V252H241V164H432V54H432"
    assert description(drawn) == (
        "Synthetic rows: 10.0% at distance zero, half of them lie within 0.250 of a training person."
    )
    assert not of_class(drawn, "line-control")


def test_both_curves_are_named_and_differ_in_more_than_color():
    drawn = svg.distributions([0.0, 1.0], [0.0, 0.4], [0.0, 1.0])
    assert all("dashed" in line.get("class") for line in of_class(drawn, "line-control"))
    assert not any("dashed" in line.get("class") for line in of_class(drawn, "line-synthetic"))
    assert "half of them lie farther than shown" in description(drawn)
    assert {"synthetic rows", "control rows: real people never seen"} <= set(texts(drawn))


def test_curves_of_unequal_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        svg.distributions([0.0, 1.0], [0.5])


def test_guessing_lies_on_the_diagonal():
    drawn = svg.roc([roc_curve([(0.0, 0.0), (1.0, 1.0)])])
    points = re.findall(r"(-?[\d.]+) (-?[\d.]+)", of_class(drawn, "curve")[-1].get("d"))
    diagonal = of_class(drawn, "zero")[0]
    total = float(diagonal.get("x1")) + float(diagonal.get("y1"))
    assert len(points) > 100
    assert all(float(x) + float(y) == pytest.approx(total, abs=0.2) for x, y in points)


def test_rates_are_read_off_the_curve_even_where_it_rises_straight_up():
    points = [(0.0, 0.0), (0.0, 0.2), (0.005, 0.3), (0.005, 0.5), (1.0, 1.0)]
    read = svg.curves.read_rate
    assert [read(points, rate) for rate in (0, 0.0025, 0.005, 1)] == pytest.approx([0.2, 0.25, 0.5, 1])
    drawn = svg.roc([roc_curve(list(reversed(points)))])
    assert "Both axes are logarithmic" in description(drawn)


def test_what_was_read_off_a_curve_lies_on_the_one_drawn():
    """Of a long curve few points are stored: straight between them, 1 % of false alarms would find 40.9 %."""
    stored = [(0.0, 0.0), (0.001, 0.4), (0.1, 0.5), (1.0, 1.0)]
    readings = [(0.001, None), (0.01, estimate(0.42)), (0.1, estimate(0.5))]
    drawn = svg.roc([roc_curve(stored, readings=readings)])
    line = of_class(drawn, "curve")[-1].get("d")
    dots = [(dot.get("cx"), dot.get("cy")) for dot in of_class(drawn, "reading")]
    assert len(dots) == 2
    assert all(f"{x} {y}" in line for x, y in dots)
    said = description(drawn)
    assert "42.0% at 1%, 50.0% at 10%" in said
    assert "0.1%" not in said, "too few control rows to read that off"
    assert not any("%" in text for text in texts(drawn) if text not in {"0.1%", "1%", "10%", "100%"})


def test_three_curves_differ_in_their_strokes():
    drawn = svg.roc([roc_curve([(0, 0), (0.1, 0.3), (1, 1)], label=name) for name in "abc"])
    assert len({line.get("class") for line in of_class(drawn, "curve")}) == 3


# Map


def test_the_map_draws_squares_and_circles_in_their_cells():
    cells = [
        Field(x=0, y=0, real=0.04, synthetic=None),
        Field(x=3, y=1, real=0.01, synthetic=0.1),
        Field(x=1, y=1, real=None, synthetic=0.4),
    ]
    drawn = svg.heat_map(cells, columns=4, rows=2)
    circles = list(of_class(drawn, "dot")[0])
    assert [(circle.get("cx"), circle.get("cy")) for circle in circles] == [("165", "55"), ("385", "55")]
    areas = [float(circle.get("r")) ** 2 for circle in circles]
    assert areas[0] / areas[1] == pytest.approx(4, rel=0.01)
    assert (
        of_class(drawn, "r6")[0].get("d").startswith("M0.3 110.3h")
    )  # the lower left, where most real rows are
    assert of_class(drawn, "r3")[0].get("d").startswith("M330.3 0.3h")
    assert "2 cells with real rows, 2 with synthetic rows, 1 with both" in description(drawn)


def test_rings_are_rows_that_stand_apart_in_larger_cells_of_the_same_map():
    cells = [Field(x=0, y=0, real=0.04, synthetic=0.1)]
    plain = svg.heat_map(cells, columns=4, rows=4)
    drawn = svg.heat_map(cells, columns=4, rows=4, outlying=outlying((0, 0, 0.1), (1, 1, 0.4)))
    *rings, legend = of_class(drawn, "apart")
    assert legend.get("r") == "8"
    circles = list(rings[0])
    # cells of 220: the lower left, and the upper right with four times as many rows
    assert [(ring.get("cx"), ring.get("cy")) for ring in circles] == [("110", "330"), ("330", "110")]
    areas = [float(ring.get("r")) ** 2 for ring in circles]
    assert areas[1] / areas[0] == pytest.approx(4, rel=0.01)
    assert float(circles[1].get("r")) < 110, "rings do not leave their cells"
    assert "standing apart, 40.0% in the largest ring" in " ".join(texts(drawn))
    assert "2 larger cells with synthetic rows that stand apart, 50.0% of them." in description(drawn)
    assert not of_class(plain, "apart")
    assert height_of(drawn) > height_of(plain)
    for nothing in (outlying(), outlying((0, 0, 0.5), across=0), None):
        assert svg.heat_map(cells, columns=4, rows=4, outlying=nothing) == plain


def test_a_full_map_stays_small():
    cells = [
        Field(x=x, y=y, real=(x + 1) / 1e5, synthetic=(y + 1) / 1e5) for x in range(36) for y in range(36)
    ]
    drawn = svg.heat_map(cells, columns=36, rows=36)
    assert sum(part.get("d", "").count("z") for part in tree(drawn).iter("path")) == 36 * 36
    assert len(drawn) < 90_000


# Columns


def height_of(drawn):
    return float(tree(drawn).get("viewBox").split()[-1])


def widths(drawn, kind):
    return [float(bar.get("width")) for bar in of_class(drawn, kind)][1:]  # without the legend


def test_pairs_of_bars_are_as_long_as_their_shares():
    bars = [
        Bar(kind="label", label="f", real=0.6, synthetic=0.3),
        Bar(kind="missing", real=0.4, synthetic=0.7),
    ]
    drawn = svg.marginals(bars, title="sex")
    full = 320 - 18 - 122
    assert widths(drawn, "fill-real") == pytest.approx([full * 6 / 7, full * 4 / 7], abs=0.06)
    assert widths(drawn, "fill-synthetic") == pytest.approx([full * 3 / 7, full], abs=0.06)
    assert description(drawn) == "f: real 60.0%, synthetic 30.0%. missing: real 40.0%, synthetic 70.0%."


def test_long_names_of_columns_and_labels_get_the_room_there_is():
    name = "verification status of the joint income of both applicants"
    bars = [Bar(kind="label", label="Married-civ-spouse", real=0.5, synthetic=0.5)]
    drawn = svg.marginals(bars, title=name)
    assert "Married-civ-spouse" in texts(drawn)
    assert " ".join(texts(drawn)).startswith(name)
    ranges = [Bar(kind="range", low=None, high=None, real=1.0, synthetic=1.0)]
    short, long = (svg.marginals(ranges, title=title) for title in ("age", name))
    assert height_of(long) - height_of(short) == 17
    assert " ".join(texts(long)).startswith(name)


def test_a_label_called_missing_is_not_taken_for_missing_values():
    bars = [
        Bar(kind=kind, label=label, real=0.5, synthetic=0.5)
        for kind, label in (("label", "missing"), ("missing", None))
    ]
    rows = [text for text in tree(svg.marginals(bars, title="t")).iter("text") if text.text == "missing"]
    assert [row.get("class") for row in rows] == [None, "slanted"]


def test_many_labels_are_pooled_and_their_shares_added_up():
    bars = [Bar(kind="label", label=f"l{i}", real=0.05, synthetic=0.04) for i in range(15)]
    bars.append(Bar(kind="other", real=0.25, synthetic=0.4))
    drawn = svg.marginals(bars, title="ward")
    assert [text for text in texts(drawn) if text.startswith("l")] == [f"l{i}" for i in range(8)]
    assert widths(drawn, "fill-real")[-1] / widths(drawn, "fill-real")[0] == pytest.approx(
        0.6 / 0.05, rel=0.02
    )
    other, first = widths(drawn, "fill-synthetic")[-1], widths(drawn, "fill-synthetic")[0]
    assert other / first == pytest.approx((0.4 + 7 * 0.04) / 0.04, rel=0.02)
    assert float(tree(drawn).get("viewBox").split()[3]) < 260


def test_ranges_are_a_histogram_with_labeled_edges():
    edges = [None, 20.0, 40.0, None]
    bars = [
        Bar(
            kind="range",
            low=edges[i],
            high=edges[i + 1],
            low_text="2020-04" if i == 2 else None,
            high_text="2020-04" if i == 1 else None,
            real=share,
            synthetic=share / 2,
        )
        for i, share in enumerate((0.25, 0.5, 0.25))
    ]
    drawn = svg.marginals(bars, title="age")
    assert {"20", "2020-04"} <= set(texts(drawn))
    heights = [float(bar.get("height")) for bar in of_class(drawn, "pale")][1:]
    assert heights == [55, 110, 55]
    outline = of_class(drawn, "line-synthetic")[-1].get("d")
    assert outline == "M40 160V132.5H132V105H224V132.5H316V160"
    assert description(drawn) == (
        "Below 20: real 25.0%, synthetic 12.5%. 20 to 2020-04: real 50.0%, synthetic 25.0%. "
        "From 2020-04: real 25.0%, synthetic 12.5%."
    )


def cell_count(drawn):
    kinds = {"n4", "n3", "n2", "n1", "p0", "p1", "p2", "p3", "p4"}
    return sum(part.get("d").count("z") for part in tree(drawn).iter("path") if part.get("class") in kinds)


def square(n, value):
    return [[1.0 if i == j else value for j in range(n)] for i in range(n)]


@pytest.mark.parametrize("n", [2, 12, 13, 20, 21, 40])
def test_every_pair_has_its_cells_and_every_column_its_name(n):
    names, real, synthetic = [f"c{i}" for i in range(n)], square(n, 0.6), square(n, -0.25)
    both, differ = svg.associations(names, real, synthetic), svg.differences(names, real, synthetic)
    assert (cell_count(both), cell_count(differ)) == (n * (n - 1), n * (n - 1) // 2)
    for drawn, numbers in ((both, {"60", "-25"}), (differ, {"-85"})):
        assert set(names) & set(texts(drawn)) == (set(names) if n <= 20 else set())
        written = [text for text in texts(drawn) if text in numbers]
        assert len(written) == (cell_count(drawn) if n <= 12 else 0)
        assert len(of_class(drawn, "minus")) == (n > 12)  # negative without a number: a stroke
        assert len(drawn) < 60_000
        assert "Mean absolute difference between synthetic and real associations: 0.850" in description(drawn)


def test_long_names_beside_cells_get_the_room_there_is():
    names = ["verification_income_joint", *(f"c{i}" for i in range(9))]
    drawn = svg.associations(names, square(10, 0.6), square(10, 0.6))
    assert "verification_income_joint" in texts(drawn)
    narrow = svg.associations(["verification_income_joint"] * 20, square(20, 0.6), square(20, 0.6))
    assert all(text.endswith("…") for text in texts(narrow) if text.startswith("verif"))


def test_real_stands_above_the_diagonal_and_synthetic_below():
    drawn = svg.associations(["a", "b"], square(2, 0.6), square(2, -0.25))
    places = {text.text: (float(text.get("x")), float(text.get("y"))) for text in tree(drawn).iter("text")}
    assert places["60"][0] > places["-25"][0]
    assert places["60"][1] < places["-25"][1]


def test_an_association_that_was_not_computed_is_hatched():
    tables = square(3, 0.5), [[1, NAN, 0.5], [NAN, 1, None], [0.5, None, 1]]
    for drawn, cells in ((svg.associations("abc", *tables), 6), (svg.differences("abc", *tables), 3)):
        assert cell_count(drawn) == cells - 2
        assert sum(part.get("d").count("M") for part in of_class(drawn, "hatch")) == 2


# Power


def test_cells_are_filled_hatched_or_empty_and_the_smallest_leak_is_framed():
    trials = [(0.01, 0, 20), (0.02, 9, 20), (0.05, 19, 20)]
    drawn = svg.power([PowerRow(label="Linkability", smallest=0.05, trials=trials)])
    counts = {
        kind: len(of_class(drawn, kind)) - 1 for kind in ("sure", "hatch", "ring")
    }  # the legend has one
    assert counts == {"sure": 1, "hatch": 1, "ring": 1}
    assert len(of_class(drawn, "firm")) == 2 + 2  # frames of what is not sure, and the legend's
    assert {"0%", "45%", "95%", "≥ 5%"} <= set(texts(drawn))
    assert texts(drawn).count("–") == 2 + 1  # 10 % and 20 % were not tried
    ring = of_class(drawn, "ring")[0]
    assert float(ring.get("x")) == pytest.approx(166 + 2 * (440 - 166 - 58) / 5 + 0.5, abs=0.06)
    assert "Linkability detects as its smallest leak 5.00%: 1% seen 0 of 20 times" in description(drawn)


def test_power_without_an_answer_says_why():
    rows = [
        PowerRow(label="a", smallest=None, trials=[], reason="Too few control rows."),
        PowerRow(label="b", smallest=None, trials=[(0.2, 3, 20)]),
    ]
    drawn = svg.power(rows)
    assert {"Too few control rows.", "none"} <= set(texts(drawn))
    assert description(drawn) == (
        "a: Too few control rows. b detects none of the leaks tried: 20% seen 3 of 20 times."
    )


# Scatter


def test_releases_stand_where_they_belong():
    points = [
        ReleasePoint(number=1, label="a", x=estimate(0.0), y=estimate(0.0), state="within"),
        ReleasePoint(number=2, label="b", x=estimate(1.0), y=estimate(0.5), state="within"),
    ]
    drawn = svg.scatter(points)
    marks = [
        (float(mark.get("cx")), float(mark.get("cy")))
        for mark in of_class(drawn, "mark-within")
        if mark.tag == "circle"
    ]
    margin = 0.06 / 1.12
    assert marks[1:3] == [  # between the legend and the list of names
        pytest.approx((50 + 380 * margin, 364 - 300 * margin), abs=0.06),
        pytest.approx((430 - 380 * margin, 64 + 300 * margin), abs=0.06),
    ]


def test_numbers_of_twenty_releases_do_not_overlap():
    points = [
        ReleasePoint(
            number=i, label=f"release {i}", x=estimate(i % 5 / 10), y=estimate(i % 7 / 50), state="within"
        )
        for i in range(20)
    ]
    boxes = []
    for text in tree(svg.scatter(points)).iter("text"):
        if text.get("class") == "halo":
            wide = width_of(text.text)
            left = float(text.get("x")) - {None: 0, "middle": wide / 2, "end": wide}[text.get("text-anchor")]
            boxes.append((left, float(text.get("y")), left + wide))
    assert len(boxes) == 20
    for i, (left, y, right) in enumerate(boxes):
        assert left >= 0
        assert right <= 440
        for other in boxes[:i]:
            assert abs(y - other[1]) > 14 or right <= other[0] or other[2] <= left


def test_long_names_that_differ_at_their_ends_are_all_readable():
    names = [f"hospital_release_of_2024_with_a_long_name_made_by_trees_seed_{seed}" for seed in (1, 2)]
    points = [
        ReleasePoint(number=place, label=name, x=estimate(0.1), y=estimate(0.2), state="within")
        for place, name in enumerate(names, start=1)
    ]
    written = texts(svg.scatter(points))
    assert all(name in "".join(written) for name in names)
    assert not any(text.endswith("…") for text in written)


def test_a_release_without_numbers_is_named_below():
    points = [
        ReleasePoint(number=1, label="a", x=estimate(0.1), y=estimate(0.2), state="within"),
        ReleasePoint(number=2, label="b", x=estimate(NAN), y=estimate(0.2), state="inconclusive"),
    ]
    drawn = svg.scatter(points)
    assert "Not computed: 2. b" in texts(drawn)
    assert "2. b: risk 0.200, loss of utility not computed." in description(drawn)


# Style


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    lights = sorted((luminance(one), luminance(other)))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


@pytest.mark.parametrize("palette", [_LIGHT, _DARK], ids=["light", "dark"])
def test_texts_and_marks_stand_out(palette):
    for name in ("ink", "mute", "above", "within", "unclear"):
        assert contrast(palette[name], palette["paper"]) >= 4.5, name
    for name in ("real", "synthetic", "control", "third"):
        assert contrast(palette[name], palette["paper"]) >= 3, name
    for step in ("n3", "n2", "n1", "p0", "p1", "p2", "p3"):
        assert contrast(palette["ink"], palette[step]) >= 4.5, step
    for step in ("n4", "p4", "real"):
        assert contrast(palette["paper"], palette[step]) >= 4.5, step


def test_the_style_sheet_has_light_dark_and_print():
    light, dark = svg.STYLE.split("@media (prefers-color-scheme:dark)")
    dark, paper = dark.split("@media print")
    assert _LIGHT["paper"] in light
    assert _DARK["paper"] in dark
    assert _LIGHT["paper"] in paper
    assert _DARK.keys() == _LIGHT.keys()
    assert svg.STYLE.count("{") == svg.STYLE.count("}")
    assert not re.search(r"url\(|@import|</", svg.STYLE)
