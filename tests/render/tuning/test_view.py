"""The page and the table of a search: what is taken and why, in words; nothing from outside gets through."""

import datetime as dt
import io
import re

import pytest
from rich.console import Console
from supplies.html_documents import Document
from supplies.made_searches import check, score, tried, tuned

from tabveil.render import svg
from tabveil.render.tuning import view as words
from tabveil.render.tuning.page import page, summary

DAY = dt.date(2026, 3, 1)
HOSTILE = '<script>alert("x")</script>\x1b[31m\u202e'


def found(*, checked=0.12, within=False, **more):
    items = [
        tried(1, score(linkability=0.3, loss=0.1)),
        tried(2, score(linkability=0.08, loss=0.3), within=True),
        tried(3, score(linkability=0.09, loss=0.2), within=True),
        tried(4, None, why="k is impossible"),
        tried(5, None, why="k is impossible"),
    ]
    rows = score(linkability=checked, loss=0.25)
    return tuned(items, front=(2, 3, 1), choice=3, check=check(rows, items[2].score, within=within), **more)


def text_of(made):
    shown = io.StringIO()
    Console(width=80, file=shown).print(summary(made))
    return shown.getvalue()


def test_the_page_and_the_terminal_say_what_they_said(as_said):
    for made, case in ((found(), "a choice that does not hold"), (tuned([tried(1, None)], front=()), "none")):
        told = {"page": Document(page(made, made=DAY)).lines, "terminal": text_of(made)}
        assert told == {where: as_said(text, f"{where}, {case}") for where, text in told.items()}


def test_the_choice_and_its_check_stand_side_by_side_with_the_optimism(as_said):
    made, holding = found(), found(checked=0.07, within=True)
    assert words.choice(made) == as_said(words.choice(made), "a choice that does not hold")
    assert words.choice(holding) == as_said(words.choice(holding), "a choice that holds")
    assert words.check(made) == as_said(words.check(made), "a check that does not hold")
    assert words.check(holding) == as_said(words.check(holding), "a check that holds")
    for shown in (text_of(made), Document(page(made)).text):
        for number in ("0.090", "0.120", "+0.030", "0.200", "0.250", "+0.050"):
            assert number in shown


def test_a_check_that_failed_says_why(as_said):
    items = [tried(1, score(linkability=0.05), within=True)]
    failed = tuned(items, front=(1,), choice=1, check=type(found().check)(why="k is impossible"))
    assert words.check(failed) == as_said(words.check(failed))
    assert "k is impossible" in Document(page(failed)).text
    assert words.choice(failed).endswith("the only one within every threshold.")


def test_if_none_is_within_the_page_says_how_far_the_nearest_is(as_said):
    items = [tried(1, score(linkability=0.3))]
    made = tuned(items, front=(1,), choice=1, check=check(items[0].score, items[0].score))
    assert words.choice(made) == as_said(words.choice(made))


def test_what_failed_is_listed_by_its_reason():
    assert "4, 5: k is impossible" in text_of(found())
    assert words.reasons(found().failed) == [("k is impossible", [4, 5])]


def test_nothing_found_is_a_page_too():
    made = tuned([tried(1, None)], front=())
    assert "there is nothing to choose from" in Document(page(made)).text
    assert "there is nothing to choose from" in " ".join(text_of(made).split())


def test_what_the_search_does_not_say_is_said():
    made = found(repeats=1, not_searched=("inference",))
    said = " ".join(words.cautions(made))
    assert "inference" in said
    assert "one draw" in said
    assert all(line in Document(page(made)).text for line in words.cautions(made))


def test_texts_from_outside_are_shown_and_never_obeyed():
    point = {HOSTILE: HOSTILE}
    items = [tried(1, score(linkability=0.05), within=True, point=point), tried(2, None, why=HOSTILE)]
    made = tuned(
        items,
        front=(1,),
        choice=1,
        check=check(items[0].score, items[0].score),
        title=HOSTILE,
        generator=HOSTILE,
        search={HOSTILE: [HOSTILE]},
        metrics={"linkability": HOSTILE},
    )
    text = page(made)
    assert "<script" not in text
    assert not re.search("[\x1b\u202e]", text)
    assert Document(text).text


def test_lines_are_no_wider_than_the_terminal():
    point = {"hierarchies.a_long_name_of_a_column": {"intervals": list(range(40))}}
    items = [tried(1, score(linkability=0.05), within=True, point=point)]
    made = tuned(items, front=(1,), choice=1, check=check(items[0].score, items[0].score))
    assert max(map(len, text_of(made).splitlines())) <= 80


def trade_off(number, x, y, *, best=False, within=False):
    return svg.TradeOff(number=number, x=x, y=y, best=best, within=within)


def draw(points, **more):
    given = {"chosen": None, "threshold": None, "x_title": "loss", "y_title": "risk"}
    return str(svg.front(points, **{**given, **more}))


def test_every_configuration_is_drawn_and_the_best_are_named_and_joined():
    points = [trade_off(1, 0.1, 0.3, best=True), trade_off(2, 0.3, 0.1, best=True), trade_off(3, 0.4, 0.4)]
    plain, drawn = draw([]), draw(points, chosen=svg.Checked(number=2, x=0.35, y=0.15), threshold=0.2)
    assert "No configuration has both numbers" in plain
    assert drawn.count("<circle") == 3 + 5, "three in the plot, four in the legend, a ring"
    assert "threshold 0.2" in drawn
    assert "2 that no other beats" in drawn
    assert "Chosen is 2; checked, its risk is 0.150 and its loss 0.350." in drawn


def test_where_numbers_would_meet_that_of_the_choice_is_written():
    points = [trade_off(n, 0.1 + 0.0001 * n, 0.3 - 0.0001 * n, best=True) for n in (1, 2, 3)]
    points.append(trade_off(4, 0.9, 0.05, best=True))
    written = re.findall(r">(\d)</text>", draw(points, chosen=svg.Checked(number=1)))
    assert sorted(written) == ["1", "4"]


@pytest.mark.parametrize("threshold", [0.001, 5.0])
def test_a_threshold_far_away_does_not_squeeze_the_points(threshold):
    points = [trade_off(1, 0.1, 0.3, best=True), trade_off(2, 0.3, 0.25, best=True)]
    assert "threshold" not in draw(points, threshold=threshold)


def test_one_point_and_values_that_are_none_can_be_drawn():
    drawn = draw([trade_off(1, 0.2, 0.2, best=True), trade_off(2, float("nan"), 0.1)])
    assert "nan" not in drawn
    assert "1 configurations" in drawn
