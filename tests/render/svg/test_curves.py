"""Steps of distances and curves of rates: on which axes, and what is read off them."""

import re

import pytest
from supplies.charts import description, estimate, of_class, roc_curve, texts

from tabveil.render import svg


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
