"""Associations: a cell for every pair of columns."""

import pytest
from supplies.charts import NAN, description, of_class, texts, tree

from tabveil.render import svg


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
