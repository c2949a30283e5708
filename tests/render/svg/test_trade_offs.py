"""Releases by risk and loss of utility: each mark is readable."""

import pytest
from supplies.charts import NAN, description, estimate, of_class, texts, tree

from tabveil.render import svg
from tabveil.render.svg import ReleasePoint
from tabveil.render.svg.canvas import width_of


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
