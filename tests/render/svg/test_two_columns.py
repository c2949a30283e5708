"""Two columns at once: a cell for every pair of levels, twice, and none that is not shown."""

from dataclasses import replace

from supplies.charts import NAN, description, of_class, texts, tree, two_columns

from tabveil.render import svg


def cells(drawn, kinds):
    return sum(part.get("d").count("z") for part in tree(drawn).iter("path") if part.get("class") in kinds)


def test_every_cell_stands_in_both_tables_and_numbers_are_percent():
    drawn = svg.two_columns(two_columns())
    shades = {f"r{step}" for step in range(1, 7)}
    assert cells(drawn, shades) == 5 + 6
    assert cells(drawn, {"track"}) == 1  # nobody
    assert sum(part.get("d").count("M") for part in of_class(drawn, "hatch")) == 2 * 2 + 1  # and the legend
    written = texts(drawn)
    assert written.count("10") == 2
    assert written.count("30") == 2
    assert "0" not in written, "0.4% has no number"
    assert {"sex and age", "real", "synthetic", "other labels", "missing", "not shown"} <= set(written)
    assert "age: 1 Below 20; 2 From 20" in written
    assert "up to 30.0% of the rows" in written


def test_real_and_synthetic_have_one_scale_and_real_stands_left():
    whole = two_columns()
    pair = replace(
        whole,
        down=whole.down[:1],
        across=whole.across[:1],
        real=((0.4,),),
        synthetic=((0.1,),),
    )
    drawn = svg.two_columns(pair)
    assert [part.get("class") for part in tree(drawn).iter("path")] == ["r6", "r3"]
    places = {text.text: float(text.get("x")) for text in tree(drawn).iter("text")}
    assert places["40"] < places["10"]
    assert "not shown" not in texts(drawn)


def test_what_differs_most_is_said_first_and_nothing_of_hidden_cells():
    said = description(svg.two_columns(two_columns()))
    assert said.startswith("6 cells. Those that differ most: sex and From 20: real 10.0%, synthetic 30.0%.")
    assert "other labels" not in said


def test_where_no_cell_is_shown_that_is_said():
    pair = replace(two_columns(), real=((NAN, NAN),) * 4, synthetic=((NAN, NAN),) * 4)
    assert "no cell holds enough people" in description(svg.two_columns(pair))
    assert of_class(svg.two_columns(pair), "hatch") == []


def test_long_levels_are_cut_and_the_key_breaks_between_levels():
    pair = two_columns(text="a very long label of a column that nobody could write beside a cell")
    lines = [text for text in texts(svg.two_columns(replace(pair, across=pair.down[:2] * 3))) if text]
    assert any(text.endswith("…") for text in lines)
    assert sum(text.startswith(("1 ", "3 ", "5 ")) for text in lines) >= 2
