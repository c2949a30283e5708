"""The documentation does what it says: commands run, links lead somewhere, nothing is loaded from outside."""

import doctest
import inspect
import json
import os
import re
import shlex
import subprocess
import sys
from html.parser import HTMLParser

import pytest
import yaml
from supplies.browser import need_chromium
from supplies.devtools import browsing
from supplies.page_commands import READ, RUN, blocks, commands, follow
from supplies.places import ROOT

import tabveil
from tabveil.auditing import verdict as judgment
from tabveil.auditing.policy import Policy
from tabveil.auditing.verdict import EXIT_CODES
from tabveil.cli import exit_codes
from tabveil.core.settings.registry import settings_of
from tabveil.engines.embedding.settings import PRESETS
from tabveil.metrics.registry import METRICS
from tabveil.metrics.utility import DOWNSTREAM, MEANINGS, RULES

pytest.importorskip("mkdocs", reason="the extra 'docs' is not installed")
sys.path.insert(0, str(ROOT / "docs_build"))

import checked_in
import command_line
import hooks
import markdown_text
import metric_pages
import pages
import small_pictures
import which_metric

DOCS = ROOT / "docs"
WRITTEN = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
MADE = {
    f"metrics/{path.name}": path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("metrics/*.md"))
}
IN_REPOSITORY = {
    **{f"docs/{name}": text for name, text in {**WRITTEN, **MADE}.items()},
    **{
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in ROOT.glob("benchmarks/*.md")
    },
    "README.md": (ROOT / "README.md").read_text(encoding="utf-8"),
}
"""Every page as it stands in the repository, by its place there."""
FORBIDDEN = re.compile(
    r"\b(anonymous|GDPR[ -]compliant|safe|safely|zero risk|risk-free)\b", flags=re.IGNORECASE
)


@pytest.fixture(scope="module")
def generated():
    return {**pages.generated(), **MADE}


@pytest.fixture(scope="module")
def texts(generated):
    """Every page of the site as Markdown, with what is filled in."""
    return {**{name: hooks.written(text) for name, text in WRITTEN.items()}, **generated}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(
        build,
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", [name for name, text in WRITTEN.items() if blocks(text, *RUN)])
def test_everything_a_page_says_can_be_done(name, tmp_path, monkeypatch):
    monkeypatch.setitem(PRESETS["default"], "width", 32)  # networks of pages train in a moment
    if name == "tutorial.md":  # its numbers are those of all people, and tried where minutes do not matter
        few = tabveil.datasets.hospital(400, seed=1)
        monkeypatch.setattr(tabveil.datasets, "hospital", lambda n_rows, *, seed: few)
    follow(WRITTEN[name], tmp_path, monkeypatch)


@pytest.mark.slow
def test_the_tutorial_comes_out_as_it_says(tmp_path, monkeypatch):
    follow(WRITTEN["tutorial.md"], tmp_path, monkeypatch)
    first, second = (tabveil.Report.read(tmp_path / f"{name}.json") for name in ("first", "second"))
    assert (first.verdict.state, second.verdict.state) == ("above threshold", "within threshold")
    tried = [{attack.state for attack in change.attacks} for change in first.advice.remedies]
    assert tried
    assert all("above threshold" in states for states in tried)  # "None of them is enough."


def test_the_first_page_leads_to_four_doors_and_each_page_stands_behind_one():
    loader = type("Loader", (yaml.SafeLoader,), {})
    loader.add_multi_constructor("", lambda *_: None)
    doors = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), loader)["nav"]
    names = [next(iter(door)) for door in doors]
    assert names == ["Start", "Tutorial", "How-to", "Reference", "Explanation"]
    first = hooks.written(WRITTEN["index.md"])
    assert re.findall(r"^\[\*\*([\w-]+)\*\*\]", first, flags=re.MULTILINE) == names[1:]
    listed = set(re.findall(r"[\w/]+\.md", json.dumps(doors)))
    assert {name for name in WRITTEN if name not in listed} == set()


def test_pictures_are_small_and_used():
    told = "\n".join(IN_REPOSITORY.values())
    for picture in DOCS.glob("*.png"):
        assert picture.stat().st_size <= 150_000, picture.name
        assert f"{picture.name})" in told, picture.name


@pytest.mark.parametrize("name", sorted(WRITTEN))
def test_every_block_says_whether_it_is_run(name):
    assert {block.language for block in blocks(WRITTEN[name])} <= {*RUN, *READ}
    assert WRITTEN[name].count("```") == 2 * len(blocks(WRITTEN[name]))


def test_options_named_in_the_text_exist():
    known = {
        option
        for command in command_line.commands().values()
        for item in command.params
        for option in (*item.opts, *item.secondary_opts)
    }
    for text in WRITTEN.values():
        prose = re.sub(r"```(?:console|pycon).*?```", "", text, flags=re.DOTALL)
        assert set(re.findall(r"(?<![\w-])--[a-z]+(?:-[a-z]+)*", prose)) - known <= {"--out", "--help"}


def anchors(page):
    """The places in a page that a link can lead to."""
    headings = re.findall(r"^#+ (.+)$", re.sub(r"```.*?```", "", page, flags=re.DOTALL), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("place", sorted(IN_REPOSITORY))
def test_links_lead_somewhere_in_the_repository(place):
    prose = re.sub(r"```.*?```|`[^`]*`", "", IN_REPOSITORY[place], flags=re.DOTALL)
    for target, _, anchor in (link.partition("#") for link in re.findall(r"\]\(([^)\s]+)\)", prose)):
        if "://" in target:
            continue
        path = (ROOT / place).parent / target if target else ROOT / place
        assert path.exists(), target
        assert not anchor or anchor in anchors(path.read_text(encoding="utf-8")), f"{target}#{anchor}"


def test_what_is_made_from_the_program_is_current():
    wanted = checked_in.current(DOCS)
    stale = [
        path.name for path, text in wanted.items() if not path.exists() or path.read_text("utf-8") != text
    ]
    assert stale == [], "run: make pages"
    assert set(DOCS.glob("metrics/*.md")) <= set(wanted)


def test_words_that_promise_too_much_do_not_occur(texts):
    found = {name: FORBIDDEN.findall(text) for name, text in texts.items()}
    assert {name: words for name, words in found.items() if words} == {}


def test_the_taxonomy_is_that_of_the_labels(texts):
    lines = [line for line in texts["metrics.md"].splitlines() if line.startswith("| [`")]
    assert [re.match(r"\| \[`(\w+)`\]", line)[1] for line in lines] == list(METRICS)
    (line,) = (line for line in lines if "`domias_kde`" in line)
    assert line.strip(" |").split(" | ")[2:] == ["attack", "none of the three", "density", "no-box", "yes"]


def test_the_taxonomy_names_what_is_no_metric(texts):
    last = [line for line in texts["metrics.md"].splitlines() if re.match(r"\| \[\w", line)]
    names = [re.match(r"\| \[([\w -]+)\]", line)[1] for line in last]
    assert names == ["k-anonymity", "l-diversity", "t-closeness", "differential privacy", "shadow attack"]
    assert last[-1].strip(" |").split(" | ")[2:] == ["attack", "none of the three", "ML", "black-box", "yes"]


def test_every_metric_has_strengths_weaknesses_and_a_burden(texts):
    assert set(which_metric.BY_HAND) == set(METRICS)
    lines = [line for line in texts["which_metric.md"].splitlines() if line.startswith("| [`")]
    cells = {re.match(r"\| \[`(\w+)`\]", line)[1]: line.strip("| ").split(" | ") for line in lines}
    assert list(cells) == list(METRICS)
    assert all(all(row) for row in cells.values())
    for name, metric in METRICS.items():
        assert cells[name][3].startswith("high") == (metric.extra is not None), name
    # As the study has it: seconds, and the smallest share of copies that was noticed.
    (card,) = (line for line in texts["power.md"].splitlines() if re.match(r"\| `gtcap` \| .* of 20", line))
    measured = card.strip("| ").split(" | ")
    assert cells["gtcap"][3:] == [f"low, {measured[-1]} s", measured[-2]]
    assert "white box" in texts["which_metric.md"]


def test_every_metric_has_a_page_with_all_its_parameters(generated):
    for name, metric in METRICS.items():
        page = generated[f"metrics/{name}.md"]
        assert metric.__doc__.splitlines()[0] in page
        parameters = page.partition("## Parameters")[2].partition("## ")[0]
        assert set(re.findall(r"^\| `(\w+)` \|", parameters, flags=re.MULTILINE)) == set(
            settings_of(metric)  # a preset among them
        )
        assert "## References" in page


def test_what_a_metric_detects_is_what_was_measured(generated):
    seen = json.loads((DOCS / "power.json").read_text(encoding="utf-8"))["leaks"]["ml_inference"]["1%"]
    cell = f"| {seen['risk']:.3f} ({seen['detected']:.2f}) |"
    assert cell in generated["metrics/ml_inference.md"]
    assert "## What it was seen to detect" not in generated["metrics/domias_flow.md"]


def test_every_figure_of_utility_is_explained(texts):
    for name, meaning in {**MEANINGS, "rules": RULES, "targets": DOWNSTREAM}.items():
        assert f"`{name}`" in texts["utility.md"]
        assert markdown_text.plain(meaning.definition).replace("|", r"\|") in texts["utility.md"]


def test_the_policy_page_shows_every_field_with_its_default(texts):
    assert "| `thresholds.singling_out` | `0.05` |" in texts["policy.md"]
    for field in Policy.model_fields:
        assert re.search(rf"\| `{field}(\.\w+)?` \|", texts["policy.md"])
    assert "made:" not in texts["policy.md"]


def test_exit_codes_are_those_of_the_program(texts):
    told = set(map(int, re.findall(r"^\| (\d+) \|", texts["policy.md"], flags=re.MULTILINE)))
    known = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    assert told == {*EXIT_CODES.values(), *known}


def test_the_sections_of_a_report_are_explained_in_its_order():
    people = [tabveil.datasets.hospital(100, seed=seed) for seed in (1, 2, 3)]
    report = tabveil.audit(*people, metrics="identical_match_share", advice=False)
    headings = re.findall(r"<h2(?![^>]*unnumbered)[^>]*>([^<]+)", tabveil.html_page(report))
    page = WRITTEN["reading.md"]
    told = re.findall(r"^\d+\. \*\*(.+?)\*\*", page, flags=re.MULTILINE)
    annex = re.findall(r"^- \*\*([A-Z])\. (.+?)\*\*", page, flags=re.MULTILINE)
    assert [letter for letter, _ in annex] == list("ABCDEFGHIJK")
    told += [heading for _, heading in annex if heading != "What next"]  # which this page does not have
    assert told == [heading.strip() for heading in headings]


def test_reasons_of_an_inconclusive_verdict_are_explained():
    reasons = [
        judgment.NO_CONTROL,
        judgment.SIZE_UNCLEAR,
        judgment.TOO_FEW,
        judgment.COULD_NOT_SEE,
        judgment.NOT_RUN,
        judgment.NOT_TESTED,
    ]
    for reason in reasons:
        assert f"| {reason} |" in WRITTEN["reading.md"]


def test_the_python_page_names_every_parameter_of_audit():
    section = WRITTEN["python.md"].partition("## `tabveil.audit`")[2].partition("## The report")[0]
    named = {
        name
        for line in section.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split(" | ")[0])
    }
    assert named == set(inspect.signature(tabveil.audit).parameters) - {"train", "synthetic", "control"}


def test_the_command_line_page_names_every_option():
    page = WRITTEN["command_line.md"]
    for name, command in command_line.commands().items():
        assert f"## tabveil {name}" in page
        for item in command.params:
            hidden = getattr(item, "hidden", False)
            assert (
                all((f"`{option}" in page) for option in item.opts if item.param_type_name == "option")
                or hidden
            )
    assert "[bold]" not in page
    assert "--svg" not in page


def test_examples_in_the_help_can_be_parsed():
    known = command_line.commands()
    lines = [line for command in known.values() for line in command_line.examples(command)]
    assert len(lines) > 5
    for line in lines:
        _, *words = shlex.split(line)
        n_words = 1 if words[0] in known else 2
        name = " ".join(words[:n_words])
        known[name].make_context(name, words[n_words:])


@pytest.mark.parametrize(
    "module", [markdown_text, hooks, checked_in, small_pictures], ids=lambda module: module.__name__
)
def test_examples_in_the_generators_hold(module):
    done = doctest.testmod(module)
    assert done.attempted > 0
    assert done.failed == 0


def test_what_a_metric_was_seen_to_detect_stands_on_its_page():
    text = metric_pages.pages()["metrics/singling_out.md"]
    assert "| no leak | 1% | 2% | 5% | 10% | 100% |" in text
    assert re.search(r"\| 0\.00\d \(0\.00\) \| 0\.01\d \(1\.00\) \|", text)


def test_bars_in_cells_do_not_end_them():
    assert markdown_text.table(["a"], [["`x|y` or z|w"]]).splitlines()[-1] == r"| `x|y` or z\|w |"


def test_text_is_never_taken_for_markup():
    assert markdown_text.plain("<script> & a_b*c") == r"&lt;script\> &amp; a\_b\*c"


def test_commands_are_found_in_blocks_that_are_run():
    page = (
        "```bash\ntabveil a \\\n  --b\n\nmake c\n```\n```console\n$ pip\n```\n"
        '```yaml title="ci.yml"\nscript:\n  - tabveil d\n```\n'
    )
    assert commands(page) == ["tabveil a    --b", "make c", "tabveil d"]


@pytest.mark.parametrize(
    "page",
    [
        "```bash\ntabveil audit --nonsense\n```\n",
        "```bash\npip install tabveil\n```\n",
        "```sh\nexit 5\n```\n",
        "```python\nassert False\n```\n",
    ],
)
def test_a_page_that_cannot_be_followed_is_noticed(page, tmp_path, monkeypatch):
    with pytest.raises(AssertionError):
        follow(page, tmp_path, monkeypatch)


LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}


class Resources(HTMLParser):
    """Collects what a browser would load for a page, and what it is told to refuse."""

    def __init__(self):
        super().__init__()
        self.loaded, self.policies = [], []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        if given.get(LOADING.get(tag)):
            self.loaded.append(given[LOADING[tag]])
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policies.append(given["content"])


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_outside(site):
    built = sorted(site.rglob("*.html"))
    assert len(built) > len(WRITTEN) + len(METRICS)
    for path in built:
        parser = Resources()
        parser.feed(path.read_text(encoding="utf-8"))
        assert parser.loaded
        assert [target for target in parser.loaded if re.match(r"(?:[a-z]+:)?//", target)] == []
        assert parser.policies == ["default-src 'self' file: data: 'unsafe-inline'"]
    for path in site.rglob("*.css"):
        style = path.read_text(encoding="utf-8")
        assert re.findall(r"url\(['\"]?(?:https?:)?//|@import", style) == []


def test_the_search_finds_words_also_when_the_site_is_read_from_a_disk(site):
    need_chromium()
    with browsing() as browser:
        page = browser.new_page()
        page.open((site / "index.html").as_uri())
        page.run("document.querySelector('.md-search__input').focus()")
        for word in ("release", "singling out", "threshold"):
            page.run("document.querySelector('.md-search__input').select()")
            page.call("Input.insertText", text=word)
            page.run("document.activeElement.dispatchEvent(new Event('keyup', {bubbles: true}))")
            page.until("/matching/.test(document.querySelector('.md-search-result__meta').innerText)")
            page.until("document.querySelectorAll('.md-search-result__item').length")
        page.run("document.querySelector('.md-search__input').select()")
        page.call("Input.insertText", text="xylophones")
        page.run("document.activeElement.dispatchEvent(new Event('keyup', {bubbles: true}))")
        page.until("/No matching/.test(document.querySelector('.md-search-result__meta').innerText)")


def test_pages_of_the_site_lead_to_each_other(site):
    assert (site / "metrics" / "singling_out.html").is_file()
    assert (site / "examples" / "release_gate.html").is_file()
    page = (site / "policy.html").read_text(encoding="utf-8")
    assert 'href="examples/release_gate.html"' in page
    assert "one in eleven" in page
    assert not list(site.rglob("*.py"))


def test_paths_of_the_machine_do_not_occur(texts):
    here = re.compile(r"(?<![\w.])/(?:home|root|tmp|work|usr|opt|var)/")
    assert {name for name, text in texts.items() if here.search(text)} == set()
