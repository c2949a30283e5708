"""The map of rows: squares, circles and rings in their cells."""

import pytest
from supplies.charts import Field, description, height_of, of_class, outlying, texts, tree

from tabveil.render import svg


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
