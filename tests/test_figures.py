"""Figures of the documentation say what the tables beside them say, and a missing number is a gap."""

import doctest
import re
import sys
from xml.etree import ElementTree as ET

import pytest
from supplies.places import ROOT

from tabveil.errors import ParameterError

sys.path.append(str(ROOT / "experiments"))

import contrastive_figures
import drawings
import figures
import page_tables
from drawings import Axes, Cloud, Curve, Panel, Point, Row, Spot

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
    def notes(*cells):
        panel = Panel(name="attack", rows=tuple(page_tables.row("σ", each) for each in cells))
        text = drawings.dots([panel], series=("plain", "learned"), title="Tiny", across="gain")
        return [line for line in said(ET.fromstring(text)) if "missing" in line]

    assert notes(("0.5", "0.5"), ("0.5", "not computed")) == ["Where a mark is missing, it was not computed."]
    assert notes(("0.5", "0.5"), ("0.5", None)) == []
    assert notes(("0.5", "0.5"), ("", "not computed")) == [], "words stand in the row"


def test_a_mark_is_hollow_where_a_leak_is_not_always_seen():
    spots = page_tables.spot("0.030 (0.67)"), page_tables.spot("0.030 (1.00)")
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
    points = tuple(
        (level, value and Spot(value=value)) for level, value in ((1, 1), (2, 10), (3, None), (4, 100))
    )
    text = drawings.curves(
        {"": [Curve(label="here", points=points, color=0)]},
        title="Tiny",
        axes=Axes(across="rows", upward="seconds", bend="log", columns=1),
    )
    drawing = ET.fromstring(text)
    (one, low), (two, middle), (four, high) = marks(drawing)
    (path,) = drawing.iter(f"{SVG}path")
    assert path.get("d").count("L") == 1, "from the first point to the second"
    assert four - two == pytest.approx(2 * (two - one), abs=0.3), "rounded to a tenth"
    assert middle == pytest.approx((low + high) / 2, abs=0.1)
    assert "here: 1 at 1, 10 at 2, none at 3, 100 at 4." in drawing.find(f"{SVG}desc").text


def test_panels_of_curves_share_their_axes():
    drawn = {
        name: [Curve(label="", points=((0.0, Spot(value=0.0)), (1.0, Spot(value=value))), color=0)]
        for name, value in (("low", 0.5), ("high", 1.0))
    }
    axes = Axes(across="leak", upward="gain", columns=2)
    text = drawings.curves(drawn, title="Tiny", axes=axes)
    circles = [
        (float(disc.get("cx")), float(disc.get("cy"))) for disc in ET.fromstring(text).iter(f"{SVG}circle")
    ]
    (_, zero), (_, half), (_, again), (_, whole) = circles
    assert zero == again
    assert half == pytest.approx((zero + whole) / 2, abs=0.1)


def test_a_cloud_stands_between_its_ends():
    ends = (Point(series=0, x=0.5, y=Spot(value=0.0)), Point(series=0, x=1.0, y=Spot(value=1.0), ringed=True))
    cloud = Cloud(name="risk", points=(*ends, Point(series=0, x=0.75, y=Spot(value=0.25))))
    drawing = ET.fromstring(
        drawings.clouds([cloud], series=("trees",), title="Tiny", across="use", ringed="alone")
    )
    ring, (left, bottom), (right, top), (middle, quarter) = marks(drawing)[-4:]
    assert ring == (right, top)
    assert middle == pytest.approx((left + right) / 2, abs=0.1)
    assert quarter == pytest.approx(bottom + (top - bottom) / 4, abs=0.1)


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
    assert page_tables.spot(cell) == Spot(value=value, sure=sure)


@pytest.mark.parametrize("cell", ["", "–", "not computed", "not reached"])
def test_cells_without_a_number_are_none(cell):
    assert page_tables.spot(cell) is None


def test_a_cell_that_is_not_understood_is_refused():
    with pytest.raises(ParameterError, match="must hold a number, got 'much'"):
        page_tables.spot("much")


def test_seconds_are_read_from_what_people_wrote():
    def read(papers, here):
        return [
            found and found.value
            for who in contrastive_figures._SECONDS
            for found in [contrastive_figures.seconds_of(papers if who == "papers" else here, who)]
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
    assert "linkability: outside the space 0.250 to 1.000, in the contrastive space 0.500 to 0.500." in (
        drawing.find(f"{SVG}desc").text
    )
    assert figures.fill(PAGE.replace("0.250", "0.260"))[1] != drawn


def test_a_figure_without_its_table_is_refused():
    with pytest.raises(ParameterError, match=r"no table 'noises \| other \| adult'"):
        figures.fill(PAGE.replace("figure: generators | made", "figure: generators | other"))


def test_a_figure_of_no_kind_is_refused():
    with pytest.raises(ParameterError, match=r"A figure must be one of noises, .*, got 'pie'"):
        figures.fill(PAGE.replace("figure: generators", "figure: pie"))


def test_a_mark_without_an_end_never_swallows_a_table():
    with pytest.raises(ParameterError, match="before any table"):
        figures.fill(PAGE.replace("old\n<!-- end -->\n", ""))


LEAKS = """\
<!-- figure: leaks | made | adult | transformer -->
<!-- end -->
<!-- table: curve | made | adult | transformer | seen -->

| metric | 1 | 1.6 |
| --- | --- | --- |
| `singling_out, all rows, mixed` | 0.100 (1.00) | 0.200 (1.00) |
| `membership_calibrated` | 0.300 (1.00) | 0.400 (1.00) |
| `membership_calibrated, contrastive` | 0.500 (1.00) | 0.600 (1.00) |
| `membership, both spaces` | 0.700 (1.00) | 0.800 (1.00) |

<!-- end -->
"""


def test_spaces_of_an_attack_stand_in_one_row():
    _, drawn = figures.fill(LEAKS)
    drawing = ET.fromstring(drawn["figures/leaks_made_adult_transformer.svg"])
    assert said(drawing).count("membership_calibrated") == said(drawing).count("singling_out, all rows") == 2
    told = drawing.find(f"{SVG}desc").text
    wanted = "at 1.6: outside the space 0.200 to 0.400, in the contrastive space 0.600 to 0.600, in both"
    assert wanted in told


PAPERS = """\
<!-- figure: rising | made_adult | adult | trees -->
<!-- end -->
<!-- figure: both_ends | made_adult | trees | census | adult -->
<!-- end -->

<!-- table: beside | made_adult | trees | census | adult -->

| metric | census, papers | as papers count | headline | adult, papers | as papers count | headline |
| --- | --- | --- | --- | --- | --- | --- |
| `gtcap` | 0.000 → 0.300 | 0.000 → 0.400 |  | 0.100 → 0.800 | 0.000 → 0.900 | 0.000 → 1.000 |

<!-- end -->

<!-- table: curve | made_adult | adult | trees | seen -->

| metric | 1 | 1.5 | 2 |
| --- | --- | --- | --- |
| `gtcap` | 0.000 (0.00) |  | 1.000 (1.00) |
| `mmd` | 0.100 (0.00) | 0.200 (1.00) | 0.300 (1.00) |

<!-- end -->
"""


def test_curves_stand_beside_the_papers_ends_of_the_same_people():
    _, drawn = figures.fill(PAPERS)
    told = ET.fromstring(drawn["figures/rising_made_adult_adult_trees.svg"]).find(f"{SVG}desc").text
    assert "gtcap, here: 0 at 1, none at 1.5, 1 at 2. gtcap, papers, both ends: 0.1 at 1, 0.8 at 2." in told
    assert "mmd" not in told, "the papers do not have it"
    told = ET.fromstring(drawn["figures/both_ends_made_adult_trees_census_adult.svg"]).find(f"{SVG}desc").text
    assert "Adult, a leak of everything: papers 0.800 to 0.800, as papers count 0.900 to 0.900" in told
    assert "Census, no leak: papers 0.000 to 0.000, as papers count 0.000 to 0.000." in told


HYBRID = """\
<!-- figure: tradeoff | hybrid/trees -->
<!-- end -->
<!-- figure: settings | hybrid/trees | k -->
<!-- end -->
<!-- table: pipelines | hybrid/trees | {} -->

| k | releases | singling out | linkability | inference | membership | discriminator |
| --- | --- | --- | --- | --- | --- | --- |
| generator alone | 3 | 0.200 (1.00) | 0.100 (1.00) | 0.300 (1.00) | 0.400 (1.00) | 0.600 |
| pre-noisy\\_one | 3 | 0.000 (0.00) | 0.000 (0.00) | not computed | 0.100 (0.00) | 0.900 |

<!-- end -->
"""


def test_pipelines_are_drawn_by_risk_and_use():
    table = HYBRID.split("-->\n", 4)[4].format("k")
    page = HYBRID.format("all") + "\n<!-- table: pipelines | hybrid/trees | k -->" + table.partition("-->")[2]
    _, drawn = figures.fill(page)
    cloud = ET.fromstring(drawn["figures/tradeoff_hybrid_trees.svg"])
    rings = [disc for disc in cloud.iter(f"{SVG}circle") if disc.get("class") == "ring"]
    assert len(rings) == 1 + 4, "the legend, and the generator alone by each of four risks"
    assert "risk of inference: trees 0.300 to 0.300." in cloud.find(f"{SVG}desc").text
    rows = ET.fromstring(drawn["figures/settings_hybrid_trees_k.svg"])
    assert said(rows).count("pre-noisy_one") == 2
    assert "risk, largest configuration: singling out 0.000 to 0.200," in rows.find(f"{SVG}desc").text


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


@pytest.mark.parametrize(
    "module",
    [figures, page_tables, contrastive_figures, sys.modules["drawings.frame"]],
    ids=lambda m: m.__name__,
)
def test_examples_in_the_docstrings_hold(module):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0
