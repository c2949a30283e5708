"""Figures of the documentation say what the tables beside them say, and a missing number is a gap."""

import doctest
import re
import sys
from xml.etree import ElementTree as ET

import pytest
from commands import ROOT

from tabveil.errors import ParameterError

sys.path.append(str(ROOT / "experiments"))

import drawings
import figures
from drawings import Curve, Panel, Row, Spot

DOCS = ROOT / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def rows(*numbers):
    return tuple(Row(label=f"row {place}", spots=(spot,)) for place, spot in enumerate(numbers))


def draw(*numbers, **options):
    spots = [None if number is None else Spot(value=number) for number in numbers]
    text = drawings.dots(
        [Panel(name="attack", rows=rows(*spots))],
        series=("plain",),
        title="Tiny",
        across="gain",
        columns=1,
        **options,
    )
    return ET.fromstring(text)


def marks(drawing):
    """The places of all discs from the second on: the first stands in the legend."""
    return [(float(disc.get("cx")), float(disc.get("cy"))) for disc in drawing.iter(f"{SVG}circle")][1:]


def ticks(drawing):
    """Where numbers on the axis stand."""
    found = {}
    for text in drawing.iter(f"{SVG}text"):
        if text.get("text-anchor") == "middle":
            found[text.text] = float(text.get("x"))
    return found


def said(drawing):
    return [text.text for text in drawing.iter(f"{SVG}text")]


def test_a_half_lies_halfway_on_an_axis_of_shares():
    drawing = draw(0.0, 0.5, 1.0)
    (zero, _), (half, _), (whole, _) = marks(drawing)
    assert (zero, whole) == (ticks(drawing)["0"], ticks(drawing)["1"])
    assert half == pytest.approx((zero + whole) / 2, abs=0.1)


def test_rows_stand_in_the_order_of_the_table_and_equally_far_apart():
    first, second, third = (y for _, y in marks(draw(0.9, 0.1, 0.5)))
    assert second - first == pytest.approx(third - second) == pytest.approx(20)


def test_an_axis_of_shares_ends_at_one_where_most_is_reached_and_at_the_largest_where_little_is():
    assert "1" in ticks(draw(0.2, 0.6))
    small = draw(0.0, 0.04)
    assert max(map(float, ticks(small))) == 0.04
    assert marks(small)[1][0] == ticks(small)["0.04"]


def test_numbers_below_zero_lie_left_of_it():
    drawing = draw(-0.5, 0.0, 1.0)
    below, zero, whole = (x for x, _ in marks(drawing))
    assert zero - below == pytest.approx((whole - zero) / 2, abs=0.1)
    assert ticks(drawing)["0"] == zero


def test_ten_lies_halfway_between_one_and_a_hundred_on_a_bent_axis():
    one, ten, hundred = (x for x, _ in marks(draw(1.0, 10.0, 100.0, bend="log")))
    assert ten == pytest.approx((one + hundred) / 2, abs=0.1)


def test_what_was_not_computed_is_a_gap_and_not_zero():
    drawing = draw(0.3, None, 0.6)
    assert len(marks(drawing)) == 2
    assert said(drawing).count("not computed") == 1


def test_a_gap_beside_a_number_is_explained_and_a_series_that_never_was_is_not():
    def notes(*spots):
        panel = Panel(name="attack", rows=tuple(Row(label="σ", spots=each) for each in spots))
        text = drawings.dots([panel], series=("plain", "learned"), title="Tiny", across="gain")
        return [line for line in said(ET.fromstring(text)) if "missing" in line]

    half = Spot(value=0.5)
    assert notes((half, half), (half, None)) == ["Where a mark is missing, it was not computed."]
    assert notes((half, None), (half, None)) == []
    assert notes((half, half), (None, None)) == []


def test_a_mark_is_hollow_where_a_leak_is_not_always_seen():
    spots = figures.spot("0.030 (0.67)"), figures.spot("0.030 (1.00)")
    text = drawings.dots(
        [Panel(name="attack", rows=rows(*spots))],
        series=("plain",),
        title="Tiny",
        across="gain",
        told_apart="hollow",
    )
    kinds = [disc.get("class") for disc in ET.fromstring(text).iter(f"{SVG}circle")]
    assert kinds == ["sure-dot line-real", "reading line-real", "reading line-real", "sure-dot line-real"]
    assert "hollow" in said(ET.fromstring(text))


def test_a_curve_ends_at_a_gap():
    points = ((1.0, 1.0), (2.0, 10.0), (3.0, None), (4.0, 100.0))
    text = drawings.curves(
        [Curve(label="here", points=points, color=0)], title="Tiny", across="rows", upward="seconds"
    )
    drawing = ET.fromstring(text)
    (one, low), (two, middle), (four, high) = marks(drawing)
    (path,) = drawing.iter(f"{SVG}path")
    assert path.get("d").count("L") == 1, "from the first point to the second"
    assert four - two == pytest.approx(2 * (two - one), abs=0.1)
    assert middle == pytest.approx((low + high) / 2, abs=0.1)


@pytest.mark.parametrize(
    ("cell", "value", "sure"),
    [
        ("0.912 (1.00)", 0.912, True),
        ("0.912 (0.94)", 0.912, False),
        ("−0.180 (0.00)", -0.18, False),
        ("-0.000", 0.0, True),
        ("<0.001 (0.33)", 0.0005, False),
        ("26,377", 26377, True),
    ],
)
def test_cells_are_read_as_they_are_written(cell, value, sure):
    assert figures.spot(cell) == Spot(value=value, sure=sure)


@pytest.mark.parametrize("cell", ["", "–", "not computed", "not reached"])
def test_cells_without_a_number_are_none(cell):
    assert figures.spot(cell) is None


def test_a_cell_that_is_not_understood_is_refused():
    with pytest.raises(ParameterError, match="must hold a number, got 'much'"):
        figures.spot("much")


def test_seconds_are_read_from_what_people_wrote():
    def read(papers, here):
        return [
            found and found.value
            for who in figures._SECONDS
            for found in [figures._seconds(papers if who == "papers" else here, who)]
        ]

    assert read("864, training included", "1.8") == [864, 1.8, None, None]
    assert read("8,643", "16 (0.6)") == [8643, 16, None, 0.6]
    assert read("468", "16 (by the mixed distance 1.0)") == [468, 16, None, 1]
    assert read("", "0.5 to 0.7; on one CPU core 21") == [None, 0.7, 21, None]


PAGE = """\
<!-- figure: generators | made | adult -->
old
<!-- end -->

<!-- table: noises | made | adult -->

| metric | trees | copies |
| --- | --- | --- |
| `linkability` | 0.250 (1.00) | 1.000 (1.00) |
| `linkability, contrastive` | 0.500 (1.00) | not computed |

<!-- end -->
"""


def test_a_figure_is_drawn_from_the_table_on_its_page():
    page, drawn = figures.fill(PAGE)
    place = "figures/generators_made_adult.svg"
    assert f"-->\n\n![Adult: releases of generators]({place})\n\n<!-- end -->" in page
    assert "old" not in page
    assert figures.fill(page) == (page, drawn), "drawing again changes nothing"
    drawing = ET.fromstring(drawn[place])
    (low, _), (high, _) = marks(drawing)
    across = ticks(drawing)
    assert low == pytest.approx(across["0"] + (across["1"] - across["0"]) / 4, abs=0.1)
    assert high == across["1"]
    assert "linkability: by the mixed distance 0.250 to 1.000, in the contrastive space 0.500 to 0.500." in (
        drawing.find(f"{SVG}desc").text
    )
    assert figures.fill(PAGE.replace("0.250", "0.260"))[1] != drawn


def test_a_figure_without_its_table_is_refused():
    with pytest.raises(ParameterError, match=r"no table 'noises \| other \| adult'"):
        figures.fill(PAGE.replace("figure: generators | made", "figure: generators | other"))


def test_figures_are_written_where_they_changed_and_removed_where_nobody_asks(tmp_path, capsys):
    (tmp_path / "page.md").write_text(PAGE, encoding="utf-8")
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "old.svg").write_text("<svg/>", encoding="utf-8")
    figures.write(tmp_path)
    assert [path.name for path in (tmp_path / "figures").iterdir()] == ["generators_made_adult.svg"]
    assert capsys.readouterr().err.splitlines() == ["written: generators_made_adult.svg", "written: page.md"]
    figures.write(tmp_path)
    assert capsys.readouterr().err == ""


def test_the_figures_of_the_documentation_are_those_of_its_tables():
    wanted = figures.current(DOCS)
    stale = [
        path.name for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    assert stale == [], "run: python experiments/figures.py"
    assert set(DOCS.glob("figures/*")) == {path for path in wanted if path.suffix == ".svg"}


@pytest.mark.parametrize("path", sorted(DOCS.glob("figures/*.svg")), ids=lambda path: path.stem)
def test_a_figure_stands_by_itself(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < 40_000
    drawing = ET.fromstring(text)
    named, described = (drawing.find(f"{SVG}{name}") for name in ("title", "desc"))
    assert drawing.get("role") == "img"
    assert (drawing.get("aria-labelledby"), drawing.get("aria-describedby")) == (
        named.get("id"),
        described.get("id"),
    )
    assert named.text
    assert described.text
    assert "@media (prefers-color-scheme:dark)" in text
    assert text.replace("http://www.w3.org/2000/svg", "").count("://") == 0
    assert not re.search(r"nan|inf\b", text.split("</style>")[1])
    assert "…" not in "".join(said(drawing)).replace("masks 0 … 2", "").replace("masks 1 … all but one", "")


def test_examples_in_the_docstrings_hold():
    done = doctest.testmod(figures)
    assert done.attempted > 0
    assert done.failed == 0
