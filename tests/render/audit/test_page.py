"""The page: what it says in which order, what it never says, and that no text from outside gets a say."""

import datetime as dt
import inspect
import math
import re
from dataclasses import replace
from io import StringIO
from itertools import pairwise

import pytest
from rich.console import Console
from supplies import made_reports as made
from supplies.html_documents import FORBIDDEN, Document, says
from supplies.plain_words import riddles_in

from tabveil.auditing.detection import PositiveControl, PositiveControls
from tabveil.auditing.policy import RISKS, Policy, Thresholds
from tabveil.auditing.report import Report
from tabveil.auditing.verdict import COULD_NOT_SEE
from tabveil.core.estimate import Estimate
from tabveil.core.findings import Configuration, Setting
from tabveil.core.result import Labels, Omission, Result
from tabveil.core.settings.registry import completed
from tabveil.metrics.attacks import DomiasKde, Inference
from tabveil.metrics.control import ControlCheck
from tabveil.metrics.indicators import ClosestShare
from tabveil.metrics.registry import METRICS, described
from tabveil.metrics.traces import Trace, Traces
from tabveil.metrics.utility import MEANINGS, Rules
from tabveil.protocols import Metric
from tabveil.render.audit import page as html
from tabveil.render.audit.page import page
from tabveil.render.audit.terminal import report_page
from tabveil.render.comparison.side_by_side import page as comparison_page

DAY = dt.date(2026, 3, 1)
TO_SIGN = (
    "Verdict",
    "What was compared",
    "Who attacked, and what they found",
    "What was not tested",
    "What to do",
    "Sign-off",
)
ANNEX = (
    "The three risks of WP29",
    "Membership and outliers",
    "Threat model",
    "What was not tested, in full",
    "Columns",
    "Utility",
    "Diagnostics, not evidence of anonymity",
    "Reproducibility",
    "Legal mapping",
)
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{7*7}}{% raw %}",
    "\u202eevil\u2066\u200f\x00\x1b[31m",
    "</style><style>*{display:none}",
    "x" * 10_000,
)


def shown(report, **options):
    return Document(page(report, made=DAY, **options))


def all_states():
    strict = Policy(thresholds=Thresholds(inference=0.001), required=())
    return {
        "within": made.report(made.CLEAN),
        "above": made.report(made.LEAKY),
        "inconclusive": made.report(made.CLEAN, policy=strict),
        "no control": made.report(made.CLEAN, inputs=made.inputs(control=0), results=without_control()),
        "bare": made.report(full=False),
        "nothing": made.report(full=False, results=(), skipped=(), notes=()),
        "values": made.report(made.LEAKY, exposed=made.exposed(), attackers=(made.attacker(),)),
        "unknown metric": made.report(results=(*made.results(0.01), unknown())),
        "not finite": made.report(results=(*made.results(0.01), not_finite())),
    }


def without_control():
    return tuple(replace(result, risk=None, control=None) for result in made.results(made.CLEAN))


class Own:
    """Somebody's own metric, which says nothing of itself."""

    name = "my_own_test"
    labels = Labels(pillar="attack", wp29="inference", mechanism="ML", threat_model="black-box")


def unknown():
    found = Result(
        metric=Own.name,
        labels=Own.labels,
        params={"depth": 3, "names": ["a", "b"]},
        risk=made.estimate(0.01),
        attack=made.estimate(0.2),
        control=made.estimate(0.19),
    )
    return described(completed(Own(), Metric), found)


def not_finite():
    broken = Estimate(value=math.nan, low=-math.inf, high=math.inf, n=0)
    return replace(
        made.indicator(ClosestShare, 0.1),
        metric="broken_test",
        risk=broken,
        attack=broken,
        configurations=(Configuration(setting=Setting(label="a"), risk=broken),),
    )


@pytest.fixture(scope="module", params=sorted(all_states()))
def any_page(request):
    report = all_states()[request.param]
    return report, shown(report)


@pytest.mark.parametrize("state", ["above", "bare"])
def test_the_page_and_the_terminal_say_what_they_said(state, as_said):
    report = replace(all_states()[state], version="1.0")
    console = Console(width=80, file=StringIO())
    console.print(report_page(report))
    told = {"page": shown(report).lines, "terminal": console.file.getvalue()}
    assert told == {where: as_said(text, where) for where, text in told.items()}


def test_sections_stand_in_the_agreed_order(any_page):
    _, document = any_page
    headings = [text for attrs, text in document.all("h2") if "unnumbered" not in (attrs.get("class") or "")]
    assert headings == [*TO_SIGN, *ANNEX]


def test_the_brief_page_is_the_part_to_sign_and_leads_nowhere_else():
    report = made.report(made.LEAKY, policy=made.policy())
    whole, brief = shown(report), shown(report, brief=True)
    assert [text for _, text in brief.all("h2")] == list(TO_SIGN)
    links = {attrs["href"] for attrs, _ in brief.all("a")}
    assert links <= {f"#{attrs['id']}" for _, attrs, _ in brief.elements if "id" in attrs}
    assert not brief.all("nav")
    assert len(brief.text.split()) < len(whole.text.split()) / 3
    after = whole.text.partition("Annex Every attack")[2]
    assert all(f"{heading} " in after for heading in ANNEX)


def test_an_annex_is_called_one():
    document = shown(made.report())
    assert ({"class": "unnumbered", "id": "annex"}, "Annex") in document.all("h2")
    assert "Annex : every attack and number" in document.text


@pytest.mark.parametrize(
    ("state", "first"),
    [
        ("above", "Do not release this table under this policy."),
        ("no control", "Do not take this for a yes: the audit could not tell."),
        ("within", "Read what was not tested, then decide."),
    ],
)
def test_page_and_terminal_say_what_to_do(state, first):
    report = all_states()[state]
    console = Console(width=80, file=StringIO())
    console.print(report_page(report, brief=True))
    assert f"What to do {first}" in shown(report, brief=True).text
    said = " ".join(console.file.getvalue().split())
    assert f"What to do {first}" in said
    assert "Attacks: what an intruder" not in said


def test_one_h1_and_no_heading_skips_a_level(any_page):
    _, document = any_page
    levels = [int(tag[1]) for tag, _, _ in document.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_verdict_is_the_report_s_own(any_page):
    report, document = any_page
    sentences = [text for attrs, text in document.all("p") if attrs.get("class") == "sentence"]
    assert sentences == [report.verdict.sentence]
    states = [text for attrs, text in document.all("p") if attrs.get("class") == "state"]
    assert states[0].split(" ", 1)[1].lower() == report.verdict.state


def test_forbidden_words_are_never_said(any_page):
    _, document = any_page
    attributes = " ".join(value or "" for _, attrs, _ in document.elements for value in attrs.values())
    for word in FORBIDDEN:
        assert not says(document.text, word), word
        assert not says(attributes, word), word


def test_no_sentence_is_a_riddle(any_page):
    report, document = any_page
    console = Console(width=80, file=StringIO())
    console.print(report_page(report))
    assert riddles_in(document.text) == []
    assert riddles_in(console.file.getvalue()) == []


@pytest.mark.parametrize("metric", METRICS)
def test_no_metric_explains_itself_in_riddles(metric):
    """Pages show of each metric that ran what its class says."""
    assert riddles_in(inspect.getdoc(METRICS[metric]) or "") == []


def test_the_terminal_shows_states_in_full_beside_long_titles():
    """Titles of traces squeezed the attacks out of the table, and cut the states off."""
    trace = Trace(
        name="order",
        title="Rows copied but for a column or two",
        sentence="365 released rows agree.",
        p_value=1e-9,
        people=365,
        n_people=2000,
        gain=made.estimate(0.18),
        proven=True,
    )
    console = Console(width=80, file=StringIO())
    console.print(report_page(made.report(made.LEAKY, traces=Traces(found=(trace,)))))
    lines = console.file.getvalue().splitlines()
    (heading,) = [line for line in lines if line.startswith("risk judged")]
    assert " ".join(heading.split()) == "risk judged highest attack measured at most accepted state"
    said = [line for line in lines if line.startswith(("singling out ", "membership ", "Rows copied"))]
    assert len(said) >= 3
    assert all(line.rstrip().endswith("above threshold") for line in said[:3])


def test_what_is_no_number_is_said_in_says(any_page):
    _, document = any_page
    for word in ("nan", "inf", "undefined"):
        assert not says(document.text, word), word
    assert "None" not in re.findall(r"\w+", document.text)


def test_nothing_is_loaded_and_nothing_runs(any_page):
    report, document = any_page
    text = page(report, made=DAY)
    assert "<script" not in text.lower()
    for tag, attrs, _ in document.elements:
        assert tag not in {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
        for name, value in attrs.items():
            assert not name.startswith("on")
            assert name not in {"src", "srcset", "action", "data", "ping"}
            if name in {"href", "xlink:href"}:
                assert value.startswith("#")
            if name != "xmlns":
                assert "://" not in (value or "")
    assert "url(" not in document.style
    assert "@import" not in document.style
    assert "://" not in document.style


def test_every_link_and_label_has_its_target(any_page):
    _, document = any_page
    ids = [attrs["id"] for _, attrs, _ in document.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs, _ in document.elements:
        named = [(attrs.get("href") or "")[1:], attrs.get("aria-labelledby"), attrs.get("aria-describedby")]
        assert all(name in ids for name in named if name)


def test_the_page_can_be_read_aloud(any_page):
    _, document = any_page
    tags = [tag for tag, _, _ in document.elements]
    assert dict(document.elements[[tag for tag, _, _ in document.elements].index("html")][1])["lang"] == "en"
    assert {"header", "main", "nav", "footer"} <= set(tags)
    assert (document.all("a")[0][0]["href"], tags.count("main")) == ("#main", 1)
    for attrs, _ in document.all("th"):
        assert attrs.get("scope") in {"row", "col"}
    charts = [attrs for attrs, _ in document.all("svg")]
    assert all(attrs["role"] == "img" and attrs["aria-labelledby"] for attrs in charts)
    wide = [attrs for attrs, _ in document.all("div") if attrs.get("class") == "wide"]
    assert all(attrs["tabindex"] == "0" and attrs["aria-label"] for attrs in wide)


def test_first_screen_has_all_four_risks_with_their_numbers():
    _, _, texts = next(e for e in shown(made.report(made.LEAKY)).elements if e[1].get("class") == "risks")
    text = " ".join("".join(texts).split())
    for risk in ("Singling out", "Linkability", "Inference", "Membership"):
        assert re.search(rf"{risk} 25\.4 .*? 25 .*? 5 ▲ above threshold", text)


@pytest.mark.parametrize(
    ("state", "kind"), [("within", "within"), ("above", "above"), ("no control", "inconclusive")]
)
def test_the_block_has_the_state_s_color(state, kind):
    document = shown(all_states()[state])
    assert [attrs["class"] for attrs, _ in document.all("div") if "verdict" in attrs.get("class", "")] == [
        f"verdict {kind}"
    ]


def test_without_control_the_page_says_so_first():
    text = shown(all_states()["no control"]).text
    assert text.index("There is no control table.") < text.index("The three risks of WP29")
    assert "Control rows none" in text


def test_a_control_that_does_not_fit_is_said_first_and_bounds_nothing():
    same = ControlCheck(n_train=2000, n_control=2000, same_chance=0.0)
    found = made.report(made.LEAKY, control=same, copies=made.copied(30))
    assert found.verdict.state == "inconclusive"
    first = shown(found).text.partition("The three risks of WP29")[0]
    assert "The control table does not fit. The control holds the same rows as train" in first
    assert first.count("not known") == 9  # four risks, measured and at most, and the copies
    assert "30 rows" in first
    assert "by chance" not in first
    assert "at most" not in str(found)


def test_recipient_and_context_or_that_they_are_not_stated():
    assert shown(made.report()).text.count("Recipient not stated") == 2
    text = shown(made.report(policy=made.policy())).text
    assert "Recipient a research group" in text
    assert "Context of the release a secure room" in text


def test_values_of_people_are_shown_only_with_a_banner():
    text = shown(made.report(exposed=made.exposed())).text
    assert text.index("This page shows values of real people") < text.index("Ann")
    assert "missing" in text
    assert "values of real people" not in shown(made.report()).text.lower()


def test_rare_labels_asked_for_bring_the_banner_too():
    text = shown(made.report(settings={"show_values": True})).text
    assert "This page shows values of real people" in text
    assert "only if at least ten real people" not in text


@pytest.mark.parametrize(
    "hostile", HOSTILE, ids=["script", "attribute", "template", "marks", "style", "long"]
)
def test_texts_from_outside_stay_texts(hostile):
    columns = (f"a{hostile}", f"b{hostile}")
    setting = Setting(label=hostile, target=hostile, level=0.01)
    profile = replace(made.attack(Inference, 0.01, setting), attacker=hostile[:50])
    report = made.report(
        made.LEAKY,
        columns=columns,
        results=(
            *made.results(made.LEAKY, columns),
            profile,
            replace(unknown(), metric=hostile, title=hostile, sentence=hostile, notes=(hostile,)),
        ),
        skipped=(Omission(metric=hostile, reason=hostile),),
        notes=(hostile,),
        settings={hostile: hostile},
        policy=made.policy(hostile[:500]),
        attackers=(made.attacker(hostile[:50].replace("\x00", "") or "x"),),
        exposed=made.exposed(hostile),
    )
    text = page(report, title=hostile, made=DAY)
    plain = page(made.report(made.LEAKY, results=report.results, attackers=report.attackers), made=DAY)
    document = Document(text)
    assert {tag for tag, _, _ in document.elements} <= {tag for tag, _, _ in Document(plain).elements}
    assert not any(name.startswith("on") for _, attrs, _ in document.elements for name in attrs)
    assert "49" not in re.findall(r"\d+", shown(made.report(notes=("{{7*7}}",))).text)
    assert not set("\u202e\u2066\u200f\x00\x1b") & set(text)
    assert "*{display:none}" not in document.style
    assert "x" * 1300 not in text
    comparison = comparison_page({hostile: report, "other": made.report()}, made=DAY)
    assert not set("\u202e\x00") & set(comparison)
    Document(comparison)


def test_a_table_of_300_columns_stays_below_one_megabyte():
    columns = tuple(f"a column with a rather long name, number {place}" for place in range(300))
    report = made.report(made.LEAKY, columns=columns)
    text = page(report, made=DAY)
    assert len(text.encode()) < 1_000_000
    assert "24 of 300 columns" in Document(text).text
    assert "30 of 300 columns" in Document(text).text


def test_the_columns_that_differ_most_are_drawn():
    columns = tuple(f"column {place:03}" for place in range(60))
    captions = [
        text for attrs, text in shown(made.report(columns=columns)).all("svg") if "small" in attrs["class"]
    ]
    assert len(captions) == 24
    assert "column 059" in captions[0]


def test_columns_that_are_numbered_in_a_chart_are_named_below_it():
    few, many = (tuple(f"column {place:03}" for place in range(n)) for n in (20, 25))
    assert "The numbered columns" not in shown(made.report(columns=few)).text
    named = [text for _, text in shown(made.report(columns=many)).all("li") if text.startswith("column 0")]
    assert named == list(many)


def test_every_number_of_utility_has_its_reference_beside_it():
    text = shown(made.report()).text
    for meaning in MEANINGS.values():
        assert meaning.title in text
        assert meaning.definition in text
    assert "0.550 0.546 to 0.554 0.500 0.496 to 0.504 0.5" in text


def test_rules_are_said_with_the_rows_that_break_them():
    text = shown(made.report()).text
    assert "1 rule holds among the real rows." in text
    assert "age ≤ income" in text
    assert "Which share of the rows breaks a rule that real people keep to?" in text
    none = replace(made.utility(), rules=Rules(figure=None, found=()))
    assert "No rule was found: no column never varies" in shown(made.report(utility=none)).text
    unknown = replace(made.utility(), rules=None)
    assert "Rules that real rows keep to" not in shown(made.report(utility=unknown)).text


def test_what_is_absent_is_said():
    text = shown(all_states()["bare"]).text
    assert "Not computed: the audit was run without --utility" in text
    assert "Not measured. How small a leak would have been noticed is unknown" in text
    assert "Distances and map: not computed" in text


def test_what_was_not_tested_is_listed():
    text = shown(made.report()).text
    assert "no claim is left." in text
    assert "Membership by density (DOMIAS)" in text  # registered, not run
    for missing in (
        "Access to the generator",
        "The model itself",
        "white box",
        "Several releases combined",
        "Groups and families",
    ):
        assert missing in text
    assert "They were not attacked separately in this audit." in text


def test_columns_left_out_are_named_on_top_where_untested_and_where_signed():
    text = page(made.report())
    top, untested = text.split('id="risks"')[0], text.split('id="untested"')[1]
    assert "Columns left out</dt><dd>case" in top
    assert "It names people" in untested
    assert "<td>synthetic</td>" in untested
    assert "audited without case" in text.split('id="signature"')[1]
    for place in range(3):  # of each file, and of what was audited of it
        assert str(place) * 64 in text
        assert str(place + 3) * 64 in text
    assert "Columns left out" not in page(made.report(dropped=()))


def test_outliers_that_were_attacked_are_not_called_untested():
    tested = described(DomiasKde(tested="outliers"), made.membership(DomiasKde, 0.01))
    text = shown(made.report(results=(*made.results(0.01), tested))).text
    assert "tested outlying people by themselves" in text
    assert "not attacked separately" not in text


def test_the_learned_space_is_drawn_where_attacks_learned_one():
    text = shown(made.report()).text
    assert "Map of the learned space" in text
    assert "standing apart, 75.0% in the largest ring" in text
    assert "the 10.0% of the synthetic rows lie that stand apart most" in text
    assert "among 20 neighbors; 25.0% of them are not drawn" in text
    portrait = made.portrait()
    few = made.report(portrait=replace(portrait, learned=replace(portrait.learned, outlying=None)))
    assert "Too few synthetic rows stand apart in one place" in shown(few).text
    assert "Map of the learned space" not in shown(made.report(portrait=replace(portrait, learned=None))).text


def test_detection_power_in_says():
    text = shown(made.report()).text
    assert "Would have seen a leak of 2% of the release rows (seen in 20 of 20 trials)." in text
    assert "Did not reliably see even a leak of 20%" in text
    assert "No answer: no guess was made" in text


def test_the_page_says_how_often_leaks_were_really_planted():
    text = shown(made.report()).text
    assert "up to 20 times for each size; a size was given up, at the earliest after 3 trials," in text
    power = made.power()
    seen = replace(power.detections[0], trials=power.detections[0].trials[1:])
    whole = replace(power, detections=(seen, replace(seen, metric="ml_inference", people=100)))
    text = shown(made.report(power=whole)).text
    assert "500 control people (100 for Inference by a trained model) played the training people" in text
    assert "mixed into 400 synthetic rows, 20 times for each size." in text


def test_a_metric_that_is_not_known_is_shown_all_the_same():
    text = shown(all_states()["unknown metric"]).text
    assert (
        "The metric scores 0.200 with the training rows and 0.190 with rows the generator never saw." in text
    )
    assert "the release and access to the generator" in text


def test_each_note_stands_once_with_its_metrics():
    note = "Train and control differ in size."
    both = tuple(replace(result, notes=(note,)) for result in made.results(0.01))
    text = shown(made.report(results=both)).text
    assert text.count(note) == 1
    assert f"Singling out; Linkability; Inference from the nearest row; {''}" in text


def test_reproducibility_has_all_that_makes_the_numbers():
    text = shown(made.report(policy=made.policy())).text
    section = text[text.rindex("Reproducibility The same") : text.rindex("Legal mapping Where")]
    for said in (
        "1.2.3",
        "Seed 7",
        "Confidence 95%",
        "12 s",
        "0" * 64,
        "2" * 64,
        "2,000",
        "quick no",
        "missing ?",
    ):
        assert said in section


def test_a_leak_that_the_policy_accepts_is_named():
    text = shown(made.report(0.02)).text
    assert "A leak was seen, smaller than the policy accepts" in text
    assert "smaller than the policy accepts" not in shown(made.report(made.CLEAN)).text


def judged_by_gain(p_value):
    """A report whose attacks have gains within the threshold, a little above zero."""
    results = [
        replace(
            result,
            gain=made.estimate(0.011),
            p_value=p_value,
            configurations=tuple(replace(item, gain=made.estimate(0.011)) for item in result.configurations),
        )
        if result.labels.pillar == "attack"
        else result
        for result in made.results(0.37)
    ]
    return made.report(results=tuple(results))


def test_a_hint_is_no_leak():
    assert "smaller than the policy accepts" in shown(judged_by_gain(1e-6)).text
    assert "smaller than the policy accepts" not in shown(judged_by_gain(0.02)).text


def test_tables_name_the_gain_that_is_judged_and_the_risk_beside_it():
    document = shown(judged_by_gain(1e-6))
    headings = [text for _, text in document.all("th")]
    assert headings.count("Gain and interval (judged)") == 2  # the three risks, and membership
    assert headings.count("Gain and interval") == 4  # the configurations of each attack
    cells = [text for _, text in document.all("td")]
    assert cells.count("0.011 0.007 to 0.015") == 8
    assert cells.count("0.370 0.366 to 0.374") >= 8
    assert "none: judged by its risk" in [text for _, text in shown(made.report()).all("td")]


def test_a_report_read_from_json_gives_the_same_page():
    report = made.report(made.LEAKY, exposed=made.exposed(), attackers=(made.attacker(),))
    assert page(Report.from_json(report.to_json()), made=DAY) == page(report, made=DAY)


def test_the_date_is_the_one_given_or_today():
    assert "Page made on 1 March 2026" in shown(made.report()).text
    assert str(dt.datetime.now(tz=dt.UTC).year) in page(made.report())


def to_sign(report):
    """What the part to sign says."""
    return shown(report, brief=True).text


def test_the_part_to_sign_holds_what_the_signer_must_know():
    text = to_sign(made.report(made.LEAKY, policy=made.policy()))
    order = (
        "Recipient a research group Context of the release a secure room",
        "25 24.6 to 25.4 ▲ above threshold",
        "Outlying people were not attacked separately.",
        "Access to the generator. Somebody",
        "Membership by density (DOMIAS). Not run in this audit.",
        "singling out not tried; linkability none of those tried; inference 2%; membership not tried.",
        "Do not release this table",
        "Signed is the release of 1,500 rows",
        "☐ do not release",
    )
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_the_part_to_sign_says_what_is_absent():
    assert "Not measured: how small a leak" in to_sign(made.report(full=False))
    nothing = to_sign(made.report(full=False, results=(), skipped=(), notes=()))
    assert "No attack gave an answer." in nothing


def test_attackers_in_plenty_do_not_lengthen_the_part_to_sign():
    profiles = [replace(made.results(0.01)[2], attacker=f"attacker {place}") for place in range(20)]
    document = shown(made.report(results=(*made.results(0.01), *profiles)), brief=True)
    assert "12 further attacks by attackers the controller expects: see the annex." in document.text
    listed = " ".join(text for attrs, text in document.all("th") if attrs.get("scope") == "row")
    assert "(attacker “attacker 7”)" in listed
    assert "(attacker “attacker 8”)" not in listed


def test_a_verdict_about_a_result_that_is_not_there_is_shown_all_the_same():
    report = made.report(made.LEAKY)
    changed = replace(report, given_verdict=report.verdict, results=report.results[1:])
    assert "singling_out" in shown(changed).text
    assert comparison_page({"a": changed, "b": report})


def test_words_of_our_own_are_explained_once():
    words = [text for _, text in shown(made.report()).all("dfn")]
    assert words == ["Release", "Configuration", "headline", "Careful attacker", "Leak seen"]
    compared = Document(comparison_page({"a": made.report(), "b": made.report()}))
    assert [text for _, text in compared.all("dfn")] == [
        "Near copies",
        "Most by",
        "Release",
        "Told apart",
    ]


def test_an_empty_title_does_not_leave_the_page_without_one():
    assert shown(made.report(), title=" \u202e ").all("h1")[0][1] == html.TITLE


def test_the_title_of_the_report_leads_the_page_and_what_it_is_stands_beside():
    report = made.report(title="Visits 2024 <v2> (Example Hospital)")
    document = shown(report)
    assert [text for _, text in document.all("h1")] == ["Visits 2024 <v2> (Example Hospital)"]
    assert document.all("title")[0][1] == f"Visits 2024 <v2> (Example Hospital) · {html.TITLE}"
    assert html.TITLE in document.text
    assert [text for _, text in shown(report, title="Another").all("h1")] == ["Another"]
    assert Report.from_json(report.to_json()).title == report.title
    assert shown(made.report()).text.count(html.TITLE) == 2  # in the head, and once on the page


PAIRS = (
    *((color, "paper") for color in ("ink", "mute", "link", "above", "within", "unclear")),
    *((color, "panel") for color in ("ink", "link")),
    *((f"{state}-ink", f"{state}-block") for state in ("above", "unclear", "within")),
)


def luminance(color):
    digits = color * 2 if len(color) == 3 else color
    parts = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("palette", [0, 1, 2], ids=["light", "dark", "print"])
def test_every_text_stands_out_from_its_ground(palette):
    """WCAG AA asks for a contrast of 4.5."""
    sheet = shown(made.report()).style
    palettes = [found for found in re.findall(r":root\{([^}]*)\}", sheet) if "--paper" in found]
    assert len(palettes) == 3
    colors = dict(re.findall(r"--([\w-]+):#([0-9a-f]+)", palettes[palette]))
    for text, ground in PAIRS:
        lighter, darker = sorted((luminance(colors[text]), luminance(colors[ground])), reverse=True)
        assert (lighter + 0.05) / (darker + 0.05) >= 4.5, (text, ground)


def test_a_signer_reads_from_which_threshold_on_a_risk_is_within():
    text = " ".join(shown(made.report(made.LEAKY)).text.split())
    first = text.partition("The three risks of WP29")[0]
    assert "At which threshold would this be within?" in first
    told = first.partition("At which threshold")[2]
    assert re.search(r"Singling out ?25\.4 ?▲ above threshold ?▲ above threshold", told)
    small = shown(made.report()).text.partition("The three risks of WP29")[0]
    assert small.count("● within threshold") >= 4 * 3


def test_what_was_planted_stands_below_the_risks():
    tried = tuple(
        PositiveControl(
            risk=risk,
            metric="linkability",
            title=f"Attack on {risk}",
            threshold=0.05,
            share=0.1,
            n_planted=200,
            gain=made.estimate(0.098),
            p_value=1e-9,
            seen=risk != "inference",
        )
        for risk in RISKS
    )
    found = made.report(positive=PositiveControls(tried=tried))
    assert found.verdict.risks[2].reason == COULD_NOT_SEE
    text = " ".join(shown(found).text.split())
    assert "10 of 100 training people (200 people, with all of their rows) were planted into this" in text
    assert (
        "Attack on singling out saw 9.8, Attack on linkability saw 9.8, Attack on inference saw 9.8 (at"
        in text
    )
    assert "could not have seen: Attack on inference" in text
    assert Report.from_json(found.to_json()).positive == found.positive
