"""One figure by itself: the page's own drawing, with its style, in a notebook and in a file."""

import xml.etree.ElementTree as ET

import pytest
from supplies import made_reports as made

import tabveil
from tabveil.errors import ParameterError
from tabveil.render.audit.page import page

PAGE_CHARTS = ("risks", "membership", "roc", "columns", "power", "diagnostics", "distances", "map")
NAMES = (*PAGE_CHARTS, "associations", "differences", "sex and age", "values of age")


@pytest.fixture(scope="module")
def report():
    return made.report()


@pytest.mark.parametrize("name", NAMES)
def test_every_figure_is_the_drawing_of_the_page(report, name):
    drawn = report.plot(name)
    root = ET.fromstring(drawn._repr_svg_())
    described = root.get("aria-describedby")
    assert f'aria-describedby="{described}"' in page(report), "the ids are made from the content"
    assert "var(" not in drawn.svg
    assert "prefers-color-scheme" not in drawn.svg
    assert float(root.get("width")) > 0
    assert drawn.svg in drawn._repr_html_()
    assert len(repr(drawn)) < 120


def test_numbered_columns_are_named_below():
    names = tuple(f"column {place:02}" for place in range(25))
    wide = made.report(columns=names)
    for figure in ("associations", "differences"):
        root = ET.fromstring(wide.plot(figure).svg)
        written = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
        assert [f"{place} {name}" for place, name in enumerate(names, start=1)] == written[-25:]
        assert float(root.get("height")) > 25 * 17


def test_the_risks_are_drawn_if_nothing_is_named(report):
    assert report.plot().svg == report.plot("risks").svg
    assert report.plot().name == "risks"


def test_an_unknown_figure_is_refused_with_all_there_are(report):
    with pytest.raises(ParameterError) as refused:
        report.plot("risk")
    said = str(refused.value)
    assert said.startswith("plot: no figure 'risk'. Did you mean 'risks'? There are: risks, membership, roc")
    assert "\n" not in said
    assert "values of age" in said
    bare = made.report(utility=None, portrait=None, power=None)
    with pytest.raises(ParameterError, match="no figure 'map'"):
        bare.plot("map")
    assert "risk" in bare.plot().svg.lower()


def test_a_plot_is_saved_whole_and_only_as_svg(report, tmp_path, monkeypatch):
    drawn = report.plot("values of age")
    drawn.save(tmp_path / "age.svg")
    assert (tmp_path / "age.svg").read_text(encoding="utf-8") == drawn.svg
    ET.parse(tmp_path / "age.svg")
    with pytest.raises(ParameterError, match=r"the name must end in .svg, got age.png"):
        drawn.save(tmp_path / "age.png")
    assert [file.name for file in tmp_path.iterdir()] == ["age.svg"]

    def fails(*_, **__):
        raise OSError

    monkeypatch.setattr("pathlib.Path.write_text", fails)
    with pytest.raises(OSError):  # noqa: PT011 - a full disk, say
        report.plot().save(tmp_path / "age.svg")
    assert (tmp_path / "age.svg").read_bytes() == drawn.svg.encode()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_report_of_an_audit_draws_its_figures_without_other_libraries():
    train, release, control = (tabveil.datasets.hospital(120, seed=seed) for seed in (1, 2, 3))
    found = tabveil.audit(train, release, control, metrics=["identical_match_share"], utility=True)
    assert "<svg" in found.plot()._repr_html_()
    assert "age" in found.plot("values of age").svg
    assert "risk" not in found.plot("associations").svg.split("</style>")[1]
