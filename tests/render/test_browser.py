"""The page in a real browser: on a desk, on a phone, in the dark and on paper."""

import datetime as dt
import re
from dataclasses import replace

import numpy as np
import pytest
from supplies import made_reports as made
from supplies.browser import dump, need_chromium, print_pdf, screenshot

from tabveil.auditing.advice import (
    Advice,
    ExposedGroup,
    LeakingColumn,
    LeakingRows,
    MoreRows,
    ReleaseChange,
    Remedy,
)
from tabveil.render.audit.page import page
from tabveil.render.comparison.side_by_side import page as comparison_page


@pytest.fixture(scope="module", autouse=True)
def _browser():
    need_chromium()


DESK, PHONE = (1280, 800), (390, 844)
HARNESS = """<!DOCTYPE html><html><body>{frames}<script>
addEventListener("load", () => {{
  for (const frame of document.querySelectorAll("iframe")) {{
    const inside = frame.contentDocument, width = frame.clientWidth;
    for (const part of inside.querySelectorAll("details")) part.open = true;
    const box = (part) => part.getBoundingClientRect();
    const loose = [...inside.querySelectorAll("body *")].filter((part) => !part.closest(".wide, .skip"));
    const beyond = loose.filter((part) => box(part).right > width + 1);
    const letters = [...inside.querySelectorAll("svg text")].map((part) => box(part).height);
    frame.dataset.scroll = inside.documentElement.scrollWidth;
    frame.dataset.beyond = beyond.map((part) => part.tagName + "." + part.className).join(" ");
    frame.dataset.letters = Math.min(...letters);
  }}
}});
</script></body></html>"""
FRAME = '<iframe src="{name}" style="width:{width}px;height:800px;border:0"></iframe>'


def write(folder, name, text):
    path = folder / f"{name}.html"
    path.write_text(text, encoding="utf-8")
    return path


def long_names():
    return tuple(f"{'a_column_name_without_any_place_to_break_' * 2}{place}" for place in range(12))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    day = dt.date(2026, 3, 1)
    clean, leaky = made.report(made.CLEAN), made.report(made.LEAKY)
    wide = made.report(
        made.LEAKY, columns=long_names(), exposed=made.exposed("x" * 80), attackers=(made.attacker(),),
        policy=made.policy("w" * 200),
    )  # fmt: skip
    open_question = made.report(inputs=made.inputs(control=0), results=())
    return {
        "within": write(folder, "within", page(clean, made=day)),
        "above": write(folder, "above", page(leaky, made=day)),
        "inconclusive": write(folder, "inconclusive", page(open_question, made=day)),
        "wide": write(folder, "wide", page(wide, made=day)),
        "comparison": write(folder, "comparison", comparison_page({"a": clean, "b" * 60: wide}, made=day)),
    }


def share_of_red(image):
    red, green, blue = (image[:, :, channel].astype(int) for channel in range(3))
    return float(np.mean((red > 140) & (green < 90) & (blue < 90)))


def share_of_amber(image):
    red, green, blue = (image[:, :, channel].astype(int) for channel in range(3))
    return float(np.mean((red > 190) & (green > 140) & (green < 220) & (blue < 120)))


@pytest.mark.parametrize(
    ("size", "dark"), [(DESK, False), (PHONE, True)], ids=["desk in daylight", "phone at night"]
)
def test_only_a_release_above_its_threshold_turns_the_first_screen_red(pages, tmp_path, size, dark):
    width, height = size
    red = {}
    for state in ("above", "within"):
        target = tmp_path / f"{state}.png"
        image, console = screenshot(pages[state], target, width=width, height=height, dark=dark)
        assert console == []
        assert image.shape == (height, width, 3)
        assert (image[-1, 0].mean() < 60) == dark
        red[state] = share_of_red(image)
    assert red["above"] > 0.1
    assert red["within"] < 0.002


def test_an_open_question_is_amber(pages, tmp_path):
    image, console = screenshot(pages["inconclusive"], tmp_path / "open.png", width=1280, height=800)
    assert console == []
    assert share_of_amber(image) > 0.1
    assert share_of_red(image) < 0.002


def test_a_phone_never_scrolls_sideways(pages):
    """Asked of the browser by a page around the pages, which themselves run no script."""
    width, names = PHONE[0], ("above", "wide", "comparison")
    frames = "".join(FRAME.format(name=pages[name].name, width=width) for name in names)
    harness = write(pages["above"].parent, "harness", HARNESS.format(frames=frames))
    found = re.findall(r'data-scroll="(\d+)" data-beyond="([^"]*)" data-letters="([\d.]+)"', dump(harness))
    assert len(found) == len(names)
    for scroll, beyond, letters in found:
        assert int(scroll) <= width
        assert beyond == ""
        assert float(letters) >= 11


def n_sheets(path):
    return len(re.findall(rb"/MediaBox\s*\[", path.read_bytes()))


@pytest.mark.parametrize("name", ["within", "above", "inconclusive", "wide", "many attackers", "advised"])
def test_three_sheets_hold_all_that_is_signed_and_the_annex_begins_on_a_new_one(briefs, tmp_path, name):
    """With half a line of annex the page is one sheet longer."""
    text = briefs[name].read_text(encoding="utf-8")
    longer = text.replace("</main>", '<div class="annex"><p>Annex</p></div></main>')
    sheets = []
    for target, content in (("front", text), ("next", longer)):
        assert print_pdf(write(tmp_path, target, content), tmp_path / f"{target}.pdf") == []
        sheets.append(n_sheets(tmp_path / f"{target}.pdf"))
    assert sheets[0] <= 3
    assert sheets[1] == sheets[0] + 1


@pytest.fixture(scope="module")
def briefs(pages, tmp_path_factory):
    folder, day = tmp_path_factory.mktemp("briefs"), dt.date(2026, 3, 1)
    profiles = [replace(made.results(0.01)[2], attacker=f"attacker {place}") for place in range(20)]
    reports = {
        "within": made.report(made.CLEAN),
        "above": made.report(made.LEAKY, policy=made.policy()),
        "inconclusive": made.report(inputs=made.inputs(control=0), results=()),
        "wide": made.report(made.LEAKY, columns=long_names(), policy=made.policy("w" * 200)),
        "many attackers": made.report(made.LEAKY, results=(*made.results(made.LEAKY), *profiles)),
        "advised": replace(made.report(made.LEAKY, columns=long_names()), advice=long_advice()),
    }
    return {name: write(folder, name, page(report, made=day, brief=True)) for name, report in reports.items()}


def long_advice():
    """As much of it as an audit gives, about columns of long names."""
    names = long_names()
    groups = [
        ExposedGroup(
            column=name,
            label="a label of some length",
            people=40,
            exposed=20,
            gain=0.4,
            gain_elsewhere=0.1,
            p_value=0.001,
            metric="inference",
        )
        for name in names[:3]
    ]
    return Advice(
        rows=LeakingRows(
            n_synthetic=1500, equal=30, expected=0, near=20, near_expected=0, people=500, n_train=2000
        ),
        columns=tuple(LeakingColumn(column=name, weight=0.1) for name in names),
        groups=tuple(groups),
        remedies=tuple(
            Remedy(change=ReleaseChange(kind="leave out", column=name), rows_left=1500, rows_changed=1500)
            for name in names
        ),
        more_rows=MoreRows(control=90_000, n_control=1000, train=90_000, titles=names),
        obstacles=("Something else keeps a verdict from being given, and it takes a line to say so.",) * 3,
    )


CUT = """<!DOCTYPE html><html><body>{frames}<script>
addEventListener("load", () => {{
  for (const frame of document.querySelectorAll("iframe")) {{
    const inside = frame.contentDocument;
    for (const part of inside.querySelectorAll("details")) part.open = true;
    const tables = [...inside.querySelectorAll(".wide")];
    const cut = tables.filter((part) => part.scrollWidth > part.clientWidth + 1);
    frame.dataset.cut = cut.map((part) => part.getAttribute("aria-label")).join(" | ");
  }}
}});
</script></body></html>"""


@pytest.mark.parametrize("width", [1200, 1280])
def test_no_column_of_a_table_is_cut_on_a_desk(pages, width):
    """The last column of the tables of all attacks, their state, was."""
    names = ("within", "above", "comparison")
    frames = "".join(FRAME.format(name=pages[name].name, width=width) for name in names)
    harness = write(pages["above"].parent, f"cut{width}", CUT.format(frames=frames))
    assert re.findall(r'data-cut="([^"]*)"', dump(harness)) == [""] * len(names)


def test_paper_is_a4_and_opens_what_is_folded_on_the_screen(pages, tmp_path):
    """Printed without the folded parts, the same page must be shorter."""
    whole, cut = tmp_path / "whole.pdf", tmp_path / "cut.pdf"
    text = pages["above"].read_text(encoding="utf-8")
    folded = write(tmp_path, "cut", re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL))
    assert print_pdf(pages["above"], whole) == []
    assert print_pdf(folded, cut) == []
    sheets = [
        re.findall(rb"/MediaBox\s*\[0 0 ([\d.]+) ([\d.]+)\]", path.read_bytes()) for path in (whole, cut)
    ]
    assert {(round(float(width)), round(float(height))) for width, height in sheets[0]} == {(595, 842)}
    assert len(sheets[0]) > len(sheets[1])
