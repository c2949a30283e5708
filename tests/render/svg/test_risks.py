"""Bars of risks and of columns: where they stand, and what is written beside them."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from supplies.charts import description, estimate, numbers, of_class, risk_bar, texts, tree

from tabveil.core.estimate import Estimate
from tabveil.render import svg
from tabveil.render.svg import ColumnBar, ReleasePoint, RiskBar


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
