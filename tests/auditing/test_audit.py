import json
from dataclasses import dataclass, replace
from io import StringIO
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import tabveil
from tabveil.auditing import audit as auditing
from tabveil.auditing import plan
from tabveil.auditing.audit import conduct, load, load_all
from tabveil.auditing.detection import Detection, PlantedTrial, Power
from tabveil.auditing.findings import finding
from tabveil.auditing.plan import NO_CONTROL, checked_control
from tabveil.auditing.report import Report
from tabveil.auditing.request import AuditRequest
from tabveil.core.estimate import Estimate
from tabveil.core.result import Input, Labels, Omission, Result, Scores
from tabveil.core.rng import stream
from tabveil.core.workers import current, tell, working
from tabveil.errors import NotApplicable, ParameterError
from tabveil.metrics.control import ControlCheck
from tabveil.metrics.registry import METRICS, defaults
from tabveil.render.audit.terminal import report_page
from tabveil.render.comparison.side_by_side import comparison
from tabveil.render.console import number

LABELS = Labels(pillar="indicator", wp29="propensity", mechanism="distance")


@dataclass(frozen=True, kw_only=True)
class Draw:
    """What does the generator draw?"""

    name: ClassVar[str] = "draw"
    labels: ClassVar[Labels] = LABELS
    low: float = 0.1

    def __call__(self, split, *, rng):
        tell("drawing", 0.5)
        value = float(rng.random())
        scores = Scores(table="train", rows=np.arange(len(split.train)), values=np.zeros(len(split.train)))
        return Result(
            metric=self.name,
            labels=self.labels,
            risk=Estimate(value=value, low=self.low, high=1, n=len(split.synthetic)),
            details={"threads": current().threads},
            sensitive_scores=(scores,),
        )


@dataclass(frozen=True, kw_only=True)
class Picky:
    """Can this be asked?"""

    name: ClassVar[str] = "picky"
    labels: ClassVar[Labels] = LABELS
    error: type[Exception] = NotApplicable

    def __call__(self, split, *, rng):
        raise self.error("Picky: not here.")


@pytest.fixture
def tables():
    return [tabveil.datasets.hospital(60, seed=seed) for seed in (1, 2, 3)]


def test_tabveil_audit_is_the_function_whatever_was_imported_before(tables):
    import tabveil.auditing.audit  # noqa: PLC0415 - the import is what is tested

    assert callable(tabveil.audit)
    assert isinstance(tabveil.audit(*tables, metrics=[Draw()]), tabveil.Report)


def test_public_names_exist_and_others_do_not():
    for name in tabveil.__all__:
        assert getattr(tabveil, name) is not None
    assert set(tabveil.__all__) <= set(dir(tabveil))
    with pytest.raises(AttributeError, match="no attribute 'audi'"):
        tabveil.audi  # noqa: B018 - the look-up is what is tested


def test_a_metric_draws_from_its_own_stream(tables):
    expected = float(stream(5, "draw").random())
    alone = tabveil.audit(*tables, metrics=[Draw()], seed=5)
    beside = tabveil.audit(*tables, metrics=[Picky(), Draw()], seed=5)
    assert alone["draw"].risk.value == beside["draw"].risk.value == expected
    assert tabveil.audit(*tables, metrics=[Draw()], seed=6)["draw"].risk.value != expected


def test_only_not_applicable_is_caught(tables):
    report = tabveil.audit(*tables, metrics=[Picky(), Draw()])
    assert report.skipped == (Omission(metric="picky", reason="Picky: not here."),)
    assert [result.metric for result in report.results] == ["draw"]
    for error in (ParameterError, ValueError, ZeroDivisionError):
        with pytest.raises(error):
            tabveil.audit(*tables, metrics=[Picky(error=error)])


def test_the_report_says_what_was_audited(tables):
    report = tabveil.audit(*tables, metrics=[Draw()], seed=np.int64(4))
    assert report.version == tabveil.__version__
    assert report.seed == 4
    assert {name: item.rows for name, item in report.inputs.items()} == dict.fromkeys(
        ("train", "synthetic", "control"), 60
    )
    assert report["draw"].seconds > 0
    assert json.loads(report.to_json())["seed"] == 4


def test_without_control_the_report_says_that_little_can_be_concluded(tables):
    assert NO_CONTROL in tabveil.audit(*tables[:2], metrics=[Draw()]).notes
    assert NO_CONTROL not in tabveil.audit(*tables, metrics=[Draw()]).notes


def test_metrics_by_name_class_or_object(tables):
    name = next(iter(METRICS))
    for asked in (
        name,
        [name],
        [name, name],
        METRICS[name],
        [METRICS[name]],
        METRICS[name](),
        [METRICS[name]()],
    ):
        report = tabveil.audit(*tables, metrics=asked)
        assert [item.metric for item in (*report.results, *report.skipped)] == [name]


def test_every_registered_metric_answers_or_says_why_not(tables):
    report = tabveil.audit(*tables)
    answered = {item.metric for item in (*report.results, *report.skipped)}
    assert answered == set(defaults(words=False))  # the others read texts and names, which nobody has here
    assert answered < set(METRICS)


def test_a_quick_audit_leaves_out_the_slow(tables):
    report = tabveil.audit(*tables, quick=True)
    assert {item.metric for item in (*report.results, *report.skipped)} == set(
        defaults(quick=True, words=False)
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"metrics": ["drow"]}, "no metric 'drow'"),
        ({"metrics": ["identical_match_shar"]}, "Did you mean 'identical_match_share'"),
        ({"metrics": []}, "metrics is empty"),
        ({"metrics": [3]}, "got int"),
        ({"seed": -1}, "seed must be >= 0"),
        ({"seed": 1.5}, "whole number, got float"),
        ({"threads": 0}, "threads must be >= 1"),
    ],
)
def test_bad_settings_are_named(tables, settings, message):
    with pytest.raises(ParameterError, match=message):
        tabveil.audit(*tables, **({"metrics": [Draw()]} | settings))


def test_threads_reach_the_metric(tables):
    assert tabveil.audit(*tables, metrics=[Draw()], threads=3)["draw"].details["threads"] == 3


def test_progress_counts_metrics_and_never_goes_back(tables):
    heard = []
    metrics = [Draw(), Picky(), Draw(low=0.2), Draw(low=0.3)]
    tabveil.audit(
        *tables, metrics=metrics, threads=1, progress=lambda doing, share: heard.append((doing, share))
    )
    shares = [share for _, share in heard]
    assert shares == sorted(shares)
    assert heard[-1] == ("done", 1.0)
    assert ("picky", 0.5) in heard  # the control is checked and copies are counted first
    assert ("draw: drawing 50%", 4.5 / 6) in heard


def test_progress_is_by_what_takes_long_and_keeps_what_was_done(tables):
    @dataclass(frozen=True, kw_only=True)
    class Phases(Draw):
        labels: ClassVar[Labels] = replace(LABELS, mechanism="ML")

        def __call__(self, split, *, rng):
            for share in (0.4, 1.0, 0.2):  # begins anew
                tell("working", share)
            return super().__call__(split, rng=rng)

    heard = []
    tabveil.audit(
        *tables,
        metrics=[Draw(), Phases()],
        threads=1,
        progress=lambda doing, share: heard.append((doing, share)),
    )
    quick, slow = 3 / 23, 20 / 23
    shares = [share for doing, share in heard if "working" in doing]
    assert shares == pytest.approx([quick + 0.4 * slow, 1.0, 1.0])
    assert [doing for doing, _ in heard if "working" in doing][-1].endswith("20%")


def test_whoever_listens_hears_the_same_as_one_who_was_given(tables):
    given, around = [], []
    metrics = [Draw(), Picky()]
    tabveil.audit(*tables, metrics=metrics, threads=1, progress=lambda *heard: given.append(heard))
    with working(threads=1, listener=lambda *heard: around.append(heard)):
        tabveil.audit(*tables, metrics=metrics)
    assert given[0] == ("reading the tables", 0.0)
    assert around == given


def test_same_seed_same_json_whatever_the_threads(tables):
    texts = []
    for threads in (1, 2):
        data = json.loads(tabveil.audit(*tables, seed=9, threads=threads).to_json())
        for timed in (data, *data["results"]):
            del timed["seconds"]
        texts.append(json.dumps(data))
    assert texts[0] == texts[1]


def test_inputs_are_not_modified(tables):
    copies = [table.copy(deep=True) for table in tables]
    tabveil.audit(*tables)
    for table, copy in zip(tables, copies, strict=True):
        pd.testing.assert_frame_equal(table, copy)


def test_a_copy_of_train_is_seen_and_fresh_rows_are_not():
    train, fresh, control = (tabveil.datasets.hospital(400, seed=seed) for seed in (1, 2, 3))
    copied = tabveil.audit(train, train, control)
    assert {r.metric for r in copied.results if r.risk and r.risk.low > 0} >= {
        "identical_match_share",
        "distance_to_closest",
        "closest_share",
    }
    clean = tabveil.audit(train, fresh, control)
    assert clean["identical_match_share"].risk.low <= 0
    assert clean["distance_to_closest"].risk.low <= 0


# The page and the notebook


def report(*, low=0.05, notes=(), skipped=(), roles=("train", "synthetic", "control")):
    risk = Estimate(value=0.07, low=low, high=0.09, n=10)
    result = Result(metric="neighbor_distance_ratio", labels=LABELS, risk=risk, attack=risk, control=risk)
    return Report(
        version="1",
        seed=0,
        inputs={role: Input(rows=1000, columns=16, sha256="ab") for role in roles},
        results=(result, Result(metric="silent", labels=LABELS)),
        skipped=skipped,
        notes=notes,
    )


def page(renderable, width=80):
    console = Console(width=width, file=StringIO())
    console.print(renderable)
    return console.file.getvalue()


def test_the_page_fits_80_columns_and_keeps_each_metric_on_one_line():
    text = page(report_page(report(low=-0.123)))
    line = next(line for line in text.splitlines() if line.startswith("neighbor_distance_ratio"))
    assert " ".join(line.split()) == "neighbor_distance_ratio 0.070 -0.123 to 0.090 0.070 0.070 none seen"
    assert max(map(len, text.splitlines())) <= 80


def test_the_page_marks_an_indicator_only_when_the_lower_bound_is_above_zero():
    marked = [f"0.070 {mark}" for mark in ("above zero", "none seen")]
    for low, expected in ((0.0001, marked[0]), (0.0, marked[1]), (-0.01, marked[1])):
        text = " ".join(page(report_page(report(low=low))).split())
        assert [mark for mark in marked if mark in text] == [expected]


def attacked(p_value, **parts):
    """A report of one attack whose interval lies above zero, and reaches beyond the threshold."""
    gain = Estimate(value=0.07, low=0.001, high=0.09, n=10)
    labels = Labels(pillar="attack", wp29="linkability", mechanism="distance")
    attack = Result(metric="linkability", labels=labels, gain=gain, p_value=p_value)
    others = [Result(metric=name, labels=labels, gain=gain, p_value=0.9) for name in ("one", "two")]
    return replace(report(), results=(attack, *others), **parts)


@pytest.mark.parametrize(
    ("p_value", "word", "state"),
    [(1e-6, "leak seen", "above threshold"), (0.02, "hint", "inconclusive")],
)
def test_the_word_for_an_attack_agrees_with_the_verdict(p_value, word, state):
    found = attacked(p_value)
    assert found.verdict.risks[1].state == state
    assert finding(found, "linkability") == word
    line = next(line for line in page(report_page(found)).splitlines() if line.startswith("linkability  0"))
    assert line.rstrip().endswith(word)
    compared = page(comparison({"first": found}))
    assert "first: gain, 95%" in compared
    line = next(line for line in compared.splitlines() if line.startswith("linkability"))
    assert line.split()[-1] == ("first" if word == "leak seen" else "-")


def test_nothing_is_seen_against_a_control_that_does_not_fit():
    faulty = ControlCheck(n_train=100, n_control=100, same_chance=0.0)
    found = attacked(1e-6, control=faulty)
    assert finding(found, "linkability") == "unclear"
    line = next(line for line in page(report_page(found)).splitlines() if line.startswith("linkability  "))
    assert "not known" in line


def test_the_page_says_what_it_is_and_what_it_is_not():
    skipped = (Omission(metric="mmd", reason="mmd: a [red]reason[/red]."),)
    text = " ".join(page(report_page(report(notes=("Column '[bold]' is odd.",), skipped=skipped))).split())
    assert "diagnostics, not evidence of anonymity" in text
    assert "0 = like fresh data, 1 = worst" in text
    assert "- mmd: a [red]reason[/red]." in text
    assert "Column '[bold]' is odd." in text
    assert "silent no answer" in text
    assert "control 1,000 rows" in text
    for word in ("safe", "anonymous", "GDPR"):
        assert word not in text


def test_the_page_without_control_says_so_at_the_top_and_draws_no_comfort_from_silence():
    text = page(report_page(report(low=-0.1, roles=("train", "synthetic"))))
    assert "control    none: little can be concluded" in text
    assert "0.070  unclear" in text
    assert "0.070  none seen" not in text


def test_the_page_names_every_metric_whose_power_was_tried():
    reason = "Not tried, as it fits a model to every release, which takes long: ask for it with --power."
    detections = (
        Detection(metric="one", smallest=0.02, trials=(PlantedTrial(leak=0.02, seen=10, of=10),), people=9),
        Detection(metric="another", smallest=None, trials=(), people=9, reason=reason),
    )
    power = Power(detections=detections, people=9, release_rows=9, repetitions=10)
    text = page(report_page(replace(report(), power=power)))
    assert max(map(len, text.splitlines())) <= 80
    lines = [line.split() for line in text.splitlines()]
    assert ["one", "2%", "of", "rows"] in lines
    assert ["another", "Not", "tried,"] in [line[:3] for line in lines]
    assert reason in " ".join(" ".join(line) for line in lines)


def test_two_releases_stand_side_by_side_in_80_columns():
    text = page(comparison({"clean": report(low=-0.02), "leaky": report()}))
    line = next(line for line in text.splitlines() if line.startswith("neighbor_distance_ratio"))
    assert " ".join(line.split()) == "neighbor_distance_ratio 0.070 -0.020…0.090 0.070 0.050…0.090 leaky"
    assert "not computed" in text
    assert text.count(": risk, 95%") == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0701, "0.070"), (-0.0004, "0.000"), (0.0004, "<0.001"), (1.0, "1.000"), (0.0, "0.000")],
)
def test_numbers_are_short_but_never_round_a_leak_away(value, text):
    assert number(value) == text


def test_the_notebook_shows_everything_escaped():
    shown = report(
        notes=("<script>alert(1)</script> " + "long " * 30,), skipped=(Omission(metric="m", reason="a<b"),)
    )
    html = shown._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert html.count("long") == 30
    assert "a&lt;b" in html
    assert "neighbor_distance_ratio" in html
    assert "0.070" in html
    assert "nan" not in html.lower()


def test_tables_that_were_loaded_are_not_read_again_and_their_control_is_not_checked_again(monkeypatch):
    tables = {
        role: tabveil.datasets.hospital(80, seed=seed)
        for seed, role in enumerate(("train", "synthetic", "control"))
    }
    request = AuditRequest.read(**tables, metrics=["identical_match_share", "singling_out"], seed=3)
    whole = conduct(request)
    loaded = load(request)
    checked = checked_control(request, loaded)
    for name in ("load", "load_releases"):
        monkeypatch.setattr(auditing, name, lambda *_, **__: pytest.fail("read the tables"))
    monkeypatch.setattr(plan, "check_control", lambda *_, **__: pytest.fail("checked the control"))
    again = conduct(request, loaded=loaded, checked=checked)
    assert again.control == checked
    assert _timeless(again) == _timeless(whole)


def test_releases_of_one_train_and_control_stand_on_one_scale():
    train, control, release = (tabveil.datasets.hospital(120, seed=seed) for seed in (1, 2, 3))
    old, absurd = release.copy(), release.copy()
    old.loc[:4, "age"] = 130
    absurd.loc[0, "age"] = 10**9
    fewer = release[release["sex"] != "diverse"]
    releases = {"as it is": release, "old": old, "absurd": absurd, "fewer": fewer}
    request = AuditRequest.read(train=train, synthetic=release, control=control, metrics=["mmd"])
    loaded = load_all(request, releases)
    ages = [tables.split.schema["age"] for tables in loaded.values()]
    assert ages == [ages[0]] * 4
    assert 130 < ages[0].high < 200
    far = [tables for tables in loaded.values() if any("far outside" in note for note in tables.notes)]
    assert far == [loaded["absurd"]]
    alone = load(request)
    assert loaded["as it is"].inputs == alone.inputs
    assert loaded["as it is"].split.schema["outcome"] == alone.split.schema["outcome"]
    assert np.array_equal(
        loaded["as it is"].split.synthetic.values, alone.split.synthetic.values, equal_nan=True
    )


def test_labels_that_only_another_release_has_are_none():
    train, control, release = (tabveil.datasets.hospital(120, seed=seed) for seed in (1, 2, 3))
    request = AuditRequest.read(train=train, synthetic=release, control=control, metrics=["mmd"])
    other = release.assign(outcome="nowhere")
    loaded = load_all(request, {"one": release, "other": other})
    assert loaded["one"].split.schema["outcome"] == load(request).split.schema["outcome"]
    assert "nowhere" in loaded["other"].split.schema["outcome"].labels
    assert not any("no label of synthetic" in note for note in loaded["one"].notes)
    assert any("outcome" in note and "no label of synthetic" in note for note in loaded["other"].notes)


def _timeless(report):
    results = tuple(replace(result, seconds=0.0) for result in report.results)
    return replace(report, seconds=0.0, results=results).to_json()
