"""Bars of a column: real and synthetic shares side by side."""

import pytest
from supplies.charts import description, height_of, of_class, texts, tree

from tabveil.metrics.utility import Bar
from tabveil.render import svg


def widths(drawn, kind):
    return [float(bar.get("width")) for bar in of_class(drawn, kind)][1:]  # without the legend


def test_pairs_of_bars_are_as_long_as_their_shares():
    bars = [
        Bar(kind="label", label="f", real=0.6, synthetic=0.3),
        Bar(kind="missing", real=0.4, synthetic=0.7),
    ]
    drawn = svg.marginals(bars, title="sex")
    full = 320 - 18 - 122
    assert widths(drawn, "fill-real") == pytest.approx([full * 6 / 7, full * 4 / 7], abs=0.06)
    assert widths(drawn, "fill-synthetic") == pytest.approx([full * 3 / 7, full], abs=0.06)
    assert description(drawn) == "f: real 60.0%, synthetic 30.0%. missing: real 40.0%, synthetic 70.0%."


def test_long_names_of_columns_and_labels_get_the_room_there_is():
    name = "verification status of the joint income of both applicants"
    bars = [Bar(kind="label", label="Married-civ-spouse", real=0.5, synthetic=0.5)]
    drawn = svg.marginals(bars, title=name)
    assert "Married-civ-spouse" in texts(drawn)
    assert " ".join(texts(drawn)).startswith(name)
    ranges = [Bar(kind="range", low=None, high=None, real=1.0, synthetic=1.0)]
    short, long = (svg.marginals(ranges, title=title) for title in ("age", name))
    assert height_of(long) - height_of(short) == 17
    assert " ".join(texts(long)).startswith(name)


def test_a_label_called_missing_is_not_taken_for_missing_values():
    bars = [
        Bar(kind=kind, label=label, real=0.5, synthetic=0.5)
        for kind, label in (("label", "missing"), ("missing", None))
    ]
    rows = [text for text in tree(svg.marginals(bars, title="t")).iter("text") if text.text == "missing"]
    assert [row.get("class") for row in rows] == [None, "slanted"]


def test_many_labels_are_pooled_and_their_shares_added_up():
    bars = [Bar(kind="label", label=f"l{i}", real=0.05, synthetic=0.04) for i in range(15)]
    bars.append(Bar(kind="other", real=0.25, synthetic=0.4))
    drawn = svg.marginals(bars, title="ward")
    assert [text for text in texts(drawn) if text.startswith("l")] == [f"l{i}" for i in range(8)]
    assert widths(drawn, "fill-real")[-1] / widths(drawn, "fill-real")[0] == pytest.approx(
        0.6 / 0.05, rel=0.02
    )
    other, first = widths(drawn, "fill-synthetic")[-1], widths(drawn, "fill-synthetic")[0]
    assert other / first == pytest.approx((0.4 + 7 * 0.04) / 0.04, rel=0.02)
    assert float(tree(drawn).get("viewBox").split()[3]) < 260


def test_ranges_are_a_histogram_with_labeled_edges():
    edges = [None, 20.0, 40.0, None]
    bars = [
        Bar(
            kind="range",
            low=edges[i],
            high=edges[i + 1],
            low_text="2020-04" if i == 2 else None,
            high_text="2020-04" if i == 1 else None,
            real=share,
            synthetic=share / 2,
        )
        for i, share in enumerate((0.25, 0.5, 0.25))
    ]
    drawn = svg.marginals(bars, title="age")
    assert {"20", "2020-04"} <= set(texts(drawn))
    heights = [float(bar.get("height")) for bar in of_class(drawn, "pale")][1:]
    assert heights == [55, 110, 55]
    outline = of_class(drawn, "line-synthetic")[-1].get("d")
    assert outline == "M40 160V132.5H132V105H224V132.5H316V160"
    assert description(drawn) == (
        "Below 20: real 25.0%, synthetic 12.5%. 20 to 2020-04: real 50.0%, synthetic 25.0%. "
        "From 2020-04: real 25.0%, synthetic 12.5%."
    )
