"""A benchmark as a page, on the terminal and in Markdown: what is said, and how strongly."""

import datetime as dt
import io
import re

import pytest
from supplies import made_benchmarks as made
from supplies.browser import dump, need_chromium, print_pdf, screenshot
from supplies.html_documents import FORBIDDEN, Document, says

from tabveil.cli.screen import Screen
from tabveil.render import svg
from tabveil.render.benchmark import markdown
from tabveil.render.benchmark.page import LARGEST_PAGE, page, summary
from tabveil.render.svg import value_range
from tabveil.workflows.benchmark.trials import MetricAnswer

DAY = dt.date(2026, 3, 1)
EVIL = "<script>alert(1)</script>\u202e&\"'"
LEVELS = (0.0, 0.01, 0.05, 0.2, 1.0)


def noisy(place):
    """A metric that reads the level with some noise, and sees it from 5 % on."""
    shaken = place.level + 0.003 * (place.repeat - 1)
    return made.answer(shaken, seen=place.level >= 0.05, largest=shaken + 0.1, facts={"ratio": 1.2})


def study(*, metrics=("one", "two"), repeats=3, **more):
    return made.plan([made.metric(name) for name in metrics], (made.series(LEVELS),), repeats=repeats, **more)


def modified():
    risk = made.series(
        (1.0, 1.6), model="overfit", label="trees", modifier="outlier_removal", modifier_levels=(0.0, 0.1)
    )
    return made.found(made.plan([made.metric("one")], (risk,)), lambda place: made.answer(place.level / 9))


def many():
    """More than a page can hold: 2 datasets, 40 risks, 20 metrics."""
    risks = [made.series((0.0, 0.05), label=f"risk {place}") for place in range(40)]
    metrics = [made.metric(f"metric {place}") for place in range(20)]
    plan = made.plan(metrics, risks, datasets=("a", "b"), repeats=1)
    return made.found(plan, noisy)


FOUND = {
    "usual": lambda: made.found(study(), noisy),
    "one repeat": lambda: made.found(study(repeats=1), noisy),
    "enough repeats": lambda: made.found(study(repeats=80), noisy),
    "all skipped": lambda: made.found(study(), lambda place: MetricAnswer(skipped="no control rows")),
    "nothing run": lambda: made.found(study(), lambda place: None),
    "constant": lambda: made.found(study(), lambda place: made.answer(0.2)),
    "never seen": lambda: made.found(study(), lambda place: made.answer(0.0)),
    "one metric": lambda: made.found(study(metrics=("one",)), noisy),
    "modifier": modified,
    "generated": lambda: made.found(
        made.plan([made.metric("one")], (made.series((0.0,), model="generated"),)), noisy
    ),
    "budget": lambda: made.found(
        made.plan([made.metric("one")], (made.series((1, 5, 10, 50, 100), model="private"),)), noisy
    ),
    "utility alone": lambda: made.found(
        made.plan([made.metric("utility", kind=None)]),
        lambda place: MetricAnswer(figures={"mmd": place.level}),
    ),
}


def on_screen(found):
    text = io.StringIO()
    Screen(file=text, width=80, color_system=None).print(summary(found))
    return text.getvalue()


@pytest.mark.parametrize("name", ["usual", "modifier", "utility alone"])
def test_page_terminal_and_markdown_say_what_they_said(name, as_said):
    found = FOUND[name]()
    told = {
        "page": Document(page(found, made=DAY)).lines,
        "terminal": on_screen(found),
        "Markdown": markdown.report(found),
    }
    assert told == {where: as_said(text, where) for where, text in told.items()}


@pytest.mark.parametrize("name", FOUND)
def test_whatever_was_found_is_a_page_a_table_and_markdown(name):
    found = FOUND[name]()
    document = Document(page(found, made=DAY))
    for word in (*FORBIDDEN, "nan", "inf"):
        assert not says(document.text, word), word
    assert "None" not in document.text
    assert "script" not in {tag for tag, _, _ in document.elements}
    assert not re.search(r"url\(|@import|https?:", document.style)
    assert [text.partition(" ")[0] for _, text in document.all("h2")] == [
        "What", "Score", "Response", "Which", "Times", "What", "How",
    ]  # fmt: skip
    text = on_screen(found)
    assert max(map(len, text.splitlines())) <= 80
    assert not says(text, "nan")
    assert "None" not in markdown.report(found)


def test_few_repeats_are_said_to_be_few():
    text = Document(page(FOUND["usual"](), made=DAY)).text
    assert "Every level was tried 3 times" in text
    assert "at least 29.2%" in text
    assert "to show 95% takes 72 repeats" in text
    assert "72 repeats" in " ".join(on_screen(FOUND["usual"]()).split())
    enough = Document(page(FOUND["enough repeats"](), made=DAY)).text
    assert "Few repeats" not in enough
    assert "One repeat" in Document(page(FOUND["one repeat"](), made=DAY)).text


def test_the_page_begins_with_the_metric_to_take_and_its_evidence():
    text = Document(page(FOUND["usual"](), made=DAY)).text
    assert "Linkability One sees the risk from 5% on: 3 of 3 repeats" in text
    assert "false alarms 0 of 3 (at most 70.8%)" in text
    assert "As good, but slower: Two." in text


def test_several_risks_are_set_side_by_side():
    risks = (made.series(LEVELS), made.series(LEVELS, label="unseen"))
    plan = made.plan([made.metric("one"), made.metric("two")], risks, repeats=3)
    found = made.found(plan, lambda place: noisy(place) if place.risk == "leaky" else made.answer(0.0))
    document = Document(page(found, made=DAY))
    rows = [text for _, text in document.all("tr")]
    assert any(
        re.fullmatch("adult: leaky ?not asked ?One ?from 5% ?not asked ?not asked ?not asked", row)
        for row in rows
    )
    assert "One and Two see no level in 95% of repeats." in document.text
    assert "The metric to take, and" not in Document(page(FOUND["usual"](), made=DAY)).text


def test_a_risk_that_is_known_in_order_only_is_said_to_be():
    assert "known in order only" in Document(page(FOUND["budget"](), made=DAY)).text
    assert "known in order only" not in Document(page(FOUND["usual"](), made=DAY)).text
    assert "what the generator reveals is not known" in Document(page(FOUND["generated"](), made=DAY)).text


def test_circumstances_that_vary_recommend_nothing():
    text = Document(page(FOUND["modifier"](), made=DAY)).text
    assert "The circumstances vary (share of people removed), not the risk" in text
    assert "trees at 1.6" in text


def test_what_is_missing_is_listed_by_reason():
    text = Document(page(FOUND["all skipped"](), made=DAY)).text
    assert "30 cells of 30 have no answer" in text
    assert "no control rows" in text
    assert "30 skipped: no control rows" in on_screen(FOUND["all skipped"]())


def test_nothing_from_outside_is_obeyed():
    risk = made.series(LEVELS, label=EVIL, model=EVIL)
    metrics = [
        made.metric(EVIL, title=EVIL),
        made.metric(f"{EVIL}2", name=EVIL),
        made.metric("ok", title=EVIL),
    ]
    plan = made.plan(metrics, (risk,), datasets=(EVIL,), title=EVIL)
    found = made.found(
        plan,
        lambda place: (
            MetricAnswer(skipped=EVIL)
            if place.metric == "ok" and place.repeat
            else made.answer(place.level, facts={EVIL: 1.0}, figures={EVIL: 2.0})
        ),
    )
    text = page(found, made=DAY)
    assert "<script" not in text
    assert "\u202e" not in text
    Document(text)
    assert "\u202e" not in on_screen(found)
    assert "<script" not in markdown.report(found)
    assert "\u202e" not in markdown.report(found)


def test_a_study_of_any_size_is_a_page_below_a_megabyte():
    found = many()
    text = page(found, made=DAY)
    assert len(text.encode()) < LARGEST_PAGE
    assert "too large" in Document(text).text
    assert len(page(FOUND["usual"](), made=DAY).encode()) < LARGEST_PAGE / 10


def test_curves_can_be_heard():
    document = Document(page(FOUND["usual"](), made=DAY))
    titles = [text for _, text in document.all("title")]
    assert "One" in titles
    assert any("at 5% (seen)" in text for _, text in document.all("desc"))
    assert any("at 1% (not reliably seen)" in text for _, text in document.all("desc"))


def test_a_wide_interval_does_not_squeeze_the_curves():
    points = [
        svg.ResponsePoint(level=0, value=0.0, low=-9.0, high=9.0),
        svg.ResponsePoint(level=1, value=1.0),
    ]
    assert value_range([svg.ResponseLine(label="a", points=points)]) == (-0.5, 1.5)
    assert value_range([]) == (0.0, 1.0)


def test_markdown_tables():
    found = FOUND["usual"]()
    table = markdown.curve_table(found, "adult", "leaky").splitlines()
    assert table[0] == "| metric | 0% | 1% | 5% | 20% | 100% |"
    assert table[2].startswith("| `one` | 0.000 (0.00) | 0.010 (0.00) | 0.050 (1.00) |")
    spread = markdown.curve_table(found, "adult", "leaky", write=markdown.spread)
    assert "| 0.050 ± 0.003 |" in spread
    assert "| 0.150 ± 0.003 |" in markdown.curve_table(found, "adult", "leaky", write=markdown.largest)
    cards = markdown.card_table(found, "adult", "leaky")
    assert "| 0 of 3 (≤ 70.8%) |" in cards
    assert "| 5% (3 of 3) |" in cards
    assert "| `one` | 1.00 | 1.00 |" in markdown.correlation_table(found, "adult", "leaky")
    assert "| `one` | 0.5 |" in markdown.time_table(found)
    assert markdown.curve_table(found, "adult", "no such") == "No answers."
    held = markdown.curve_table(FOUND["modifier"](), "adult", "trees", held=1.6)
    assert held.count("`one`") == 1
    assert len({line.count("|") for line in cards.splitlines()}) == 1


HARNESS = """<!DOCTYPE html><html><body>{frames}<script>
addEventListener("load", () => {{
  for (const frame of document.querySelectorAll("iframe")) {{
    const inside = frame.contentDocument, width = frame.clientWidth;
    for (const part of inside.querySelectorAll("details")) part.open = true;
    const loose = [...inside.querySelectorAll("body *")].filter((part) => !part.closest(".wide, .skip"));
    const beyond = loose.filter((part) => part.getBoundingClientRect().right > width + 1);
    frame.dataset.scroll = inside.documentElement.scrollWidth;
    frame.dataset.beyond = beyond.map((part) => part.tagName + "." + part.className).join(" ");
  }}
}});
</script></body></html>"""


def test_in_a_browser_on_desk_phone_and_paper(tmp_path):
    need_chromium()
    long = made.metric("a_name_without_any_place_to_break_" * 4)
    plan = made.plan([long, made.metric("one")], (made.series(LEVELS),), datasets=("d" * 90,))
    path = tmp_path / "page.html"
    path.write_text(page(made.found(plan, noisy), made=DAY), encoding="utf-8")
    image, console = screenshot(path, tmp_path / "page.png", width=1100, height=900)
    assert console == []
    assert image.std() > 5, "an empty page"
    assert print_pdf(path, tmp_path / "page.pdf") == []
    frames = "".join(
        f'<iframe src="page.html" style="width:{width}px;height:800px;border:0"></iframe>'
        for width in (390, 1100)
    )
    (tmp_path / "harness.html").write_text(HARNESS.format(frames=frames), encoding="utf-8")
    found = re.findall(r'data-scroll="(\d+)" data-beyond="([^"]*)"', dump(tmp_path / "harness.html"))
    assert [
        (int(scroll) <= width, beyond) for (scroll, beyond), width in zip(found, (390, 1100), strict=True)
    ] == [
        (True, ""),
        (True, ""),
    ]
